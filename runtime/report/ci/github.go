package ci

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/tell"
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

// GitHub writes Markdown for a step summary or a comment: the verdict of each gate, the
// numbers that decided with their bounds, what got worse, and how to reproduce it.
func GitHub(w io.Writer, st *store.Store, moved report.Moved, now time.Time) error {
	run, err := newest(st)
	if err != nil {
		return err
	}
	p := &page{}
	p.line("%s", marker(run.Plan))
	var gateRows, ruleRows, worse [][]string
	var decided []*ledger.Decision
	told := tell.Page{}
	for _, r := range report.Rows(st) {
		if !followed(r) {
			continue
		}
		isGate := r.Node == "phase."+r.Phase || r.Node == ledger.Baseline
		word, why := "**not decided**", "not reached"
		switch d := r.Decided; {
		case d != nil:
			o := report.OverruledOf(d.Decision, st.Waiver(d.Node), now)
			word = sign(d.Verdict) + " " + o.Word()
			decided = append(decided, d.Decision)
			if isGate {
				why = strings.Join(report.Told(&told, d.Decision, d.Reasons), "\n")
			}
			if note := o.Note(); note != "" {
				word += ", " + note
			}
			if len(o.Reasons) > 0 && !slices.EqualFunc(o.Reasons, d.Reasons, verdict.Reason.Equal) {
				why = lines(o.Reasons) + "\n" + why
			}
			if d.Kind == ledger.KindFeature && moved != nil {
				for _, m := range moved(d.Decision) {
					if !m.Better {
						worse = append(worse, append([]string{d.Feature}, report.Movements([]gates.Movement{m}).Rows[0][:4]...))
					}
				}
			}
		case !r.Locked.IsZero():
			word, why = "🔒 locked", tell.Line(r.Locked)
		}
		if isGate {
			gateRows = append(gateRows, []string{r.Node, word, why})
		}
	}
	p.line("### mxflow: %s, %s\n", report.Inert(run.Plan), report.GatedNow(st, now).Line())
	if why := broken(st, run); why != "" {
		p.line("**%s.** The results below are from earlier runs.\n", report.Inert(why))
	}
	p.table(report.Table{Head: []string{"Gate", "Verdict", "Why"}, Rows: gateRows})
	if len(worse) > 0 {
		p.line("#### What got worse\n")
		p.table(report.Table{Head: []string{"Feature", "Metric", "Was", "Is", "Change"}, Rows: worse})
	}
	p.line("#### How to reproduce\n\n```sh\n%s\n```\n", strings.ReplaceAll(command(run), "```", "` ` `"))
	if s := run.Start; s != nil {
		p.line("Run `%s`, %s, plan digest `%.16s`. %s.\n", run.ID, report.Inert(s.Tool), s.PlanDigest, report.Inert(tell.Pairs(s.Environment, " ", ", ")))
	}
	for _, d := range decided {
		for _, rule := range d.Rules {
			evidence := strings.Join(report.Told(&told, d, rule.Reasons), "\n")
			ruleRows = append(ruleRows, []string{d.Node, rule.Name, "`" + rule.Expr + "`", string(rule.Verdict), evidence})
		}
	}
	if len(ruleRows) > 0 {
		p.line("#### Every rule\n")
		p.table(report.Table{Head: []string{"Node", "Rule", "Expression", "Verdict", "Evidence"}, Rows: ruleRows})
	}
	_, err = io.WriteString(w, p.cut())
	return err
}

// sign is a symbol for a verdict, recognized before words are read.
func sign(v verdict.Verdict) string {
	switch v {
	case verdict.Pass:
		return "✅"
	case verdict.Waived, verdict.Inconclusive:
		return "⚠️"
	}
	return "❌"
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
