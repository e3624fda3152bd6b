package ci

import (
	"cmp"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
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
	"locked", "open",
}

// GitHub writes Markdown for a step summary or a comment: the answer, what came of each
// feature, failures first, and the rest folded away. Its first line is invisible: a workflow
// uses it to find the comment to replace.
func GitHub(w io.Writer, st *store.Store, now time.Time) error {
	run, err := newest(st)
	if err != nil {
		return err
	}
	p := report.NewWriter(st, nil)
	plan := strings.ReplaceAll(notPlain.ReplaceAllString(run.Plan, "_"), "--", "__")
	p.Line("<!-- mxflow report: %s -->", report.Raw(plan))
	p.Line("### mxflow %s: %s\n", run.Plan, report.AnswerOf(st, now).String())
	if why := broken(st, run); why != "" {
		p.Line("**%s.** The results below are from earlier runs.\n", why)
	}
	rows, left := commented(st, p.Ports(), now)
	p.Table(report.Table{Head: []string{"Feature", "Before", "After", "Gain", "Verdict"}, Rows: rows})
	if left > 0 {
		p.Line("And %d more, below.\n", left)
	}
	p.Line("<details><summary>Gates, rules, and how to reproduce this</summary>\n")
	p.Gates("#### Gates")
	for _, d := range report.DecisionsInForce(st) {
		if d.Kind == ledger.KindFeature {
			p.Line("#### %s: %s\n", d.Feature, d.Verdict)
			p.Rules(d.Decision)
		}
	}
	p.Line("```sh\n%s\n```\n", report.Raw(strings.ReplaceAll(report.Applied(st, run), "```", "` ` `")))
	if s := run.Start; s != nil {
		p.Line("Run `%s`, %s, plan digest `%.16s`. %s.", report.Raw(run.ID), s.Tool, report.Raw(s.PlanDigest),
			verdict.Pairs(s.Environment, " ", ", "))
	}
	_, err = io.WriteString(w, cut(p.String())+"\n</details>\n")
	return err
}

// commented are the rows of a comment, the worst first, and how many more there are: each
// feature, and what else keeps something from passing.
func commented(st *store.Store, ports *report.Ports, now time.Time) (rows [][]string, left int) {
	type row struct {
		place int
		cells []string
	}
	var all []row
	bad := map[string]bool{} // phases with a feature that says why its gate did not pass
	for _, r := range report.Rows(st) {
		feature, isFeature := report.FeatureNode(r.Node)
		phase, isPhase := report.PhaseNode(r.Node)
		name, word, cells := cmp.Or(feature, r.Node), "open", []string{"–", "–", "–"}
		switch d := r.Decided; {
		case r.Gone:
			continue
		case isFeature && !r.Locked.IsZero():
			word = "locked"
		case d != nil && (isFeature || !d.Verdict.Unlocks() && (isPhase && !bad[phase] || r.Node == ledger.Baseline)):
			o := report.OverruledOf(d.Decision, st.Waiver(r.Node), now)
			if word = o.Word(); d.Accepted && d.Verdict.Unlocks() {
				word += ", accepted"
			}
		case !isFeature:
			continue
		}
		if isPhase {
			name = "gate " + phase
		}
		bad[r.Phase] = bad[r.Phase] || isFeature && !r.Locked.IsZero() || r.Decided != nil &&
			!r.Decided.Verdict.Unlocks()
		place := slices.Index(worst, word)
		if isFeature && r.Decided != nil {
			if port := ports.For(r.Decided.Decision); port != nil {
				if m, has := port.Lead(r.Decided.Decision); has {
					cells = []string{m.Before(), m.After(), m.Name() + " " + m.Brief()}
				}
			}
		}
		if place < 0 {
			place = len(worst)
		} else {
			word = "**" + word + "**"
		}
		if why := report.Short(r); why != "" {
			word += ": " + why
		}
		if r.Decided != nil && isFeature && len(r.Decided.Findings) > 0 {
			word += "; " + verdict.Count(len(r.Decided.Findings), "finding") + " below"
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
