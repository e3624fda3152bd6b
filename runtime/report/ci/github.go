package ci

import (
	"cmp"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// mostComment is below GitHub's limit for a comment, 65,536 characters.
const mostComment = 60_000

// notPlain is what a hidden comment may not hold.
var notPlain = regexp.MustCompile(`[^-_.0-9a-zA-Z]`)

// mostRows limits the table of a comment.
const mostRows = 6

// worst orders outcomes for a reader who looks for what to do.
var worst = []string{
	string(verdict.Error), string(verdict.Invalid), string(verdict.Fail), string(verdict.Inconclusive),
	"locked", "not run", "not decided yet",
}

// GitHub writes Markdown for a step summary or a comment: the answer, what came of each
// feature, failures first, and the rest folded away. Its first line is invisible: a workflow
// uses it to find the comment to replace.
func GitHub(w io.Writer, s *report.Summary) error {
	run, p := s.Run, report.Writer{Summary: s}
	plan := strings.ReplaceAll(notPlain.ReplaceAllString(run.Plan, "_"), "--", "__")
	p.Line("<!-- mxflow report: %s -->", report.Raw(plan))
	p.Line("### mxflow %s: %s\n", run.Plan, s.Answer.String())
	if why := s.Unfinished(); why != "" {
		p.Line("**Run %s %s.** The results below are from earlier runs.\n", run.ID, why)
	}
	rows, left := commented(s)
	p.Table(report.Table{Head: []string{"Feature", "Before", "After", "Gain", "Verdict"}, Rows: rows})
	if left > 0 {
		p.Line("And %d more, below.\n", left)
	}
	p.Blocks("####", p.NightBlocks(14))
	p.Line("<details><summary>Gates, rules, and how to reproduce this</summary>\n")
	p.Gates("#### Gates")
	for _, d := range s.InForce() {
		if d.Kind == ledger.KindFeature {
			p.Line("#### %s: %s\n", d.Feature, report.Word(d.Decision, false))
			p.Rules(d.Decision)
		}
	}
	p.Line("```sh\n%s\n```\n", report.Raw(strings.ReplaceAll(report.Applied(s.Store, run), "```", "` ` `")))
	if s := run.Start; s != nil {
		p.Line("Run `%s`, %s, plan digest `%.16s`. %s.", report.Raw(run.ID), s.Tool, report.Raw(s.PlanDigest),
			verdict.Pairs(s.Environment, " ", ", "))
	}
	_, err := io.WriteString(w, cut(p.String())+"\n</details>\n")
	return err
}

// commented are the rows of a comment, the worst first, and how many more there are: each
// feature, and what else keeps something from passing.
func commented(s *report.Summary) (rows [][]string, left int) {
	type row struct {
		place int
		cells []string
	}
	var all []row
	bad := map[string]bool{} // phases with a feature that says why its gate did not pass
	for _, r := range s.Rows {
		blocks := r.InForce() && !r.Decided.Verdict.Unlocks()
		shown := r.Feature != "" || blocks && (r.Gate != "" && !bad[r.Gate] || r.Node == ledger.Baseline)
		if r.Gone || !shown {
			continue
		}
		bad[r.Phase] = bad[r.Phase] || !r.Locked.IsZero() || blocks
		name, word, cells := cmp.Or(r.Feature, r.Node), r.Word(), []string{"–", "–", "–"}
		if r.Gate != "" {
			name = "gate " + r.Gate
		}
		place := slices.Index(worst, word)
		if place < 0 {
			place = len(worst)
		} else {
			word = "**" + word + "**"
		}
		word += verdict.Behind(": ", r.Short())
		if d := r.Decided; d != nil && r.Feature != "" {
			if m := s.Lead(d.Decision); m.Has() {
				cells = []string{m.Old.Brief(), m.New.Brief(), m.Name() + " " + m.ChangeText()}
			}
			if n := len(d.Findings); n > 0 {
				word += "; " + verdict.Count(n, "finding") + " below"
			}
		}
		all = append(all, row{place, append(append([]string{name}, cells...), word)})
	}
	slices.SortStableFunc(all, func(a, b row) int { return a.place - b.place })
	for _, r := range all[:min(mostRows, len(all))] {
		rows = append(rows, r.cells)
	}
	return rows, len(all) - len(rows)
}

// cut cuts a page to GitHub's limit, by whole lines. What matters comes first.
func cut(text string) string {
	if len(text) <= mostComment {
		return text
	}
	return text[:strings.LastIndexByte(text[:mostComment], '\n')+1] + "\nTruncated: mxflow report shows everything.\n"
}
