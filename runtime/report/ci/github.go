package ci

import (
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// mostComment is below GitHub's limit for a comment, 65,536 characters.
const mostComment = 60_000

// notPlain is what a hidden comment may not hold.
var notPlain = regexp.MustCompile(`[^-_.0-9a-zA-Z]`)

// GitHub writes Markdown for a step summary or a comment: what got worse and how to
// reproduce it, then the gates and features as the page of results has them. Its first line is
// invisible: a workflow uses it to find the comment to replace.
func GitHub(w io.Writer, st *store.Store, moved report.Moved, now time.Time) error {
	run, err := newest(st)
	if err != nil {
		return err
	}
	p := report.NewWriter(st, nil)
	plan := strings.ReplaceAll(notPlain.ReplaceAllString(run.Plan, "_"), "--", "__")
	p.Line("<!-- mxflow report: %s -->", report.Raw(plan))
	p.Line("### mxflow: %s, %s\n", run.Plan, report.Raw(report.GatedNow(st, now).Line()))
	if why := broken(st, run); why != "" {
		p.Line("**%s.** The results below are from earlier runs.\n", why)
	}
	worse := report.Table{Head: []string{"Feature", "Metric", "Was", "Is", "Change"}}
	for _, d := range report.Standing(st) {
		if d.Kind == ledger.KindFeature && moved != nil {
			for _, m := range moved(d.Decision) {
				if !m.Better {
					worse.Rows = append(worse.Rows, append([]string{d.Feature}, report.Movements([]gates.Movement{m}).Rows[0][:4]...))
				}
			}
		}
	}
	if len(worse.Rows) > 0 {
		p.Line("#### What got worse\n")
		p.Table(worse)
	}
	p.Line("#### How to reproduce\n\n```sh\n%s\n```\n", report.Raw(strings.ReplaceAll(command(run), "```", "` ` `")))
	if s := run.Start; s != nil {
		p.Line("Run `%s`, %s, plan digest `%.16s`. %s.\n", report.Raw(run.ID), s.Tool, report.Raw(s.PlanDigest), verdict.Pairs(s.Environment, " ", ", "))
	}
	p.Gates()
	p.Features()
	_, err = io.WriteString(w, cut(p.String()))
	return err
}

// cut cuts a page to GitHub's limit, by whole lines. What matters comes first.
func cut(text string) string {
	if len(text) <= mostComment {
		return text
	}
	return text[:strings.LastIndexByte(text[:mostComment], '\n')+1] + "\nTruncated: mxflow report shows everything.\n"
}
