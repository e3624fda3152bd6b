package ci

import (
	"fmt"
	"io"
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

// marker is the first line of a page for GitHub, invisible in Markdown: a workflow uses
// it to find the comment to replace.
func marker(plan string) string {
	return fmt.Sprintf("<!-- mxflow report: %s -->", strings.ReplaceAll(strings.Map(plain, plan), "--", "__"))
}

func plain(r rune) rune {
	if r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
		return r
	}
	return '_'
}

// GitHub writes Markdown for a step summary or a comment: what got worse and how to
// reproduce it, then the gates and features as the page of results has them.
func GitHub(w io.Writer, st *store.Store, moved report.Moved, now time.Time) error {
	run, err := newest(st)
	if err != nil {
		return err
	}
	p := &page{}
	p.line("%s\n### mxflow: %s, %s\n", marker(run.Plan), report.Inert(run.Plan), report.GatedNow(st, now).Line())
	if why := broken(st, run); why != "" {
		p.line("**%s.** The results below are from earlier runs.\n", report.Inert(why))
	}
	var worse [][]string
	for _, d := range report.Standing(st) {
		if d.Kind == ledger.KindFeature && moved != nil {
			for _, m := range moved(d.Decision) {
				if !m.Better {
					worse = append(worse, append([]string{d.Feature}, report.Movements([]gates.Movement{m}).Rows[0][:4]...))
				}
			}
		}
	}
	if len(worse) > 0 {
		p.line("#### What got worse\n")
		p.table(report.Table{Head: []string{"Feature", "Metric", "Was", "Is", "Change"}, Rows: worse})
	}
	p.line("#### How to reproduce\n\n```sh\n%s\n```\n", strings.ReplaceAll(command(run), "```", "` ` `"))
	if s := run.Start; s != nil {
		p.line("Run `%s`, %s, plan digest `%.16s`. %s.\n", run.ID, report.Inert(s.Tool), s.PlanDigest, report.Inert(verdict.Pairs(s.Environment, " ", ", ")))
	}
	if err := report.Sections(p, st, nil, report.Gates, report.Features); err != nil {
		return err
	}
	_, err = io.WriteString(w, p.cut())
	return err
}

type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) table(t report.Table) { p.WriteString(t.Markdown()) }

// cut cuts the page to GitHub's limit, by whole lines. What matters comes first.
func (p *page) cut() string {
	text := p.String()
	if len(text) <= mostComment {
		return text
	}
	text = text[:strings.LastIndexByte(text[:mostComment], '\n')+1]
	return text + "\nTruncated: mxflow report shows everything.\n"
}
