package ci

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// mostComment is below GitHub's limit for a comment, 65,536 characters.
const mostComment = 60_000

// notPlain is what a hidden comment may not hold.
var notPlain = regexp.MustCompile(`[^-_.0-9a-zA-Z]`)

// mostRows limits the rows of ports without a decision in the table of a comment.
const mostRows = 6

// worst orders outcomes for a reader who looks for what to do.
var worst = []string{
	string(verdict.Error), string(verdict.Invalid), string(verdict.Fail), string(verdict.Inconclusive),
	"locked", "not run", "not decided yet",
}

// GitHub writes Markdown for a step summary or a comment: the answer, what ran on both sides, what came
// of each port with the bounds that decided, failures first, or how compared engines compare, and the
// rest folded away. Its first line is invisible: a workflow uses it to find the comment to replace.
func GitHub(w io.Writer, s *report.Summary) error {
	run, p := s.Run, report.Writer{Summary: s}
	plan := strings.ReplaceAll(notPlain.ReplaceAllString(run.Plan, "_"), "--", "__")
	p.Line("<!-- mxflow report: %s -->", report.Raw(plan))
	p.Line("### mxflow %s: %s\n", run.Plan, s.Answer.String())
	if why := s.Unfinished(); why != "" {
		p.Line("**Run %s %s.** The results below are from earlier runs.\n", run.ID, why)
	}
	p.Blocks("####", p.ReproductionBlocks())
	if both := sides(s); len(both) > 0 {
		p.Line("%s\n", strings.Join(both, "\n"))
	}
	table, waiting := commented(s)
	p.Table(table)
	if len(waiting) > 0 {
		p.Line("Not decided: %s.\n", verdict.And(waiting))
	}
	compares := s.Answer.Ports == 0
	if compares {
		p.Comparisons("####", false)
	} else if slices.Contains(table.Head, "Change") {
		p.Line("Bounds: in [ ] those by which a rule decided, in ( ) a 95%% interval.\n")
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

// sides are which engine ran on both sides, by what the record has of it: the baseline's and that of
// the accepted stack, or of each port where nothing is accepted; of a comparison that of each row.
func sides(s *report.Summary) (lines []string) {
	ran := func(launches []*ledger.Launch) string {
		return report.Distinct(launches, func(l *ledger.Launch) string {
			return strings.TrimPrefix(l.Block+verdict.Behind(", ", report.Identity(l)), l.Variant+", ")
		})
	}
	of, engines := map[string][]string{}, []string(nil) // names, by what they ran
	add := func(name, engine string) {
		if engine == "" {
			return
		}
		if of[engine] == nil {
			engines = append(engines, engine)
		}
		of[engine] = append(of[engine], name)
	}
	what, base := "Head", ""
	if p := s.Port(ledger.Baseline); p != nil && s.Answer.Ports > 0 {
		base = ran(p.Launches)
		lines = append(lines, "Base baseline: "+base+".")
	}
	for _, d := range s.InForce() {
		launches := map[string][]*ledger.Launch{}
		for _, id := range d.Launches {
			if l, ok := s.Store.LaunchByID(id); ok {
				launches[l.Variant] = append(launches[l.Variant], l)
			}
		}
		switch {
		case s.Answer.Ports == 0 && len(d.Rows) > 0:
			what = "Engines:"
			for _, r := range d.Rows {
				add(r.Name, ran(launches[r.Name]))
			}
		case d.Kind == ledger.KindFeature && s.Ends.Top == nil:
			for name, own := range sorted.All(launches) {
				if name == d.Feature || strings.HasPrefix(name, d.Feature+"[") {
					add(name, ran(own))
				}
			}
		}
	}
	if top := s.Ends.Top; top != nil {
		add(strings.TrimPrefix(s.Stack.Sum(), ledger.Baseline+" + "), ran(top.Launches))
	}
	for i, engine := range engines {
		names := verdict.And(of[engine])
		if engine == base {
			engine = "the same engine, other knob values"
		}
		if engines[i] = names; engine != names { // a row may be called as what it starts
			engines[i] += ": " + engine
		}
	}
	if len(engines) > 0 {
		lines = append(lines, fmt.Sprintf("%s %s.", what, strings.Join(engines, "; ")))
	}
	return lines
}

// commented is the table of a comment, the worst first: each port with a decision, the accepted stack,
// and what else keeps something from passing. waiting are the ports that it leaves out, none of which
// was decided.
func commented(s *report.Summary) (t report.Table, waiting []string) {
	type row struct {
		place int
		cells []string
	}
	var all []row
	bad, undecided := map[string]bool{}, 0 // phases with a feature that says why its gate did not pass
	for _, r := range s.Rows {
		blocks := r.InForce() && !r.Decided.Verdict.Unlocks()
		shown := r.Feature != "" || blocks && (r.Gate != "" && !bad[r.Gate] || r.Node == ledger.Baseline)
		if r.Gone || !shown {
			continue
		}
		bad[r.Phase] = bad[r.Phase] || !r.Locked.IsZero() || blocks
		name, word, numbers := cmp.Or(r.Feature, r.Node), r.Word(), []string{"–", "–", "–"}
		if r.Decided == nil {
			if undecided++; undecided > mostRows {
				waiting = append(waiting, name)
				continue
			}
		}
		if r.Gate != "" {
			name = "gate " + r.Gate
		}
		place := slices.Index(worst, word)
		if place < 0 {
			place = len(worst)
		} else {
			word = "**" + word + "**"
		}
		why := []string{r.Short()}
		d := r.Decided
		if d != nil && d.Verdict.Decided() && report.DecidingTest(d.Decision) != nil {
			why[0] = r.Brief()
		}
		if d != nil && r.Feature != "" {
			if m := s.Lead(d.Decision); m.Has() {
				numbers = []string{m.Old.Brief(), m.New.Brief(), m.Name() + " " + m.ChangeText()}
			}
			if n := len(d.Findings); n > 0 {
				why = append(why, verdict.Count(n, "finding")+" below")
			}
		}
		text := cmp.Or(strings.Trim(strings.Join(why, "; "), "; "), "–")
		all = append(all, row{place, slices.Concat([]string{name, word}, numbers, []string{text})})
	}
	slices.SortStableFunc(all, func(a, b row) int { return a.place - b.place })
	t.Head = []string{"Port", "Verdict", "Before", "After", "Change", "Why"}
	if s.Answer.Ports == 0 {
		t.Head[0] = "Gate"
	}
	for _, r := range all {
		t.Rows = append(t.Rows, r.cells)
	}
	if c := s.Headline(); c != nil && len(s.Stack.Features) > 1 {
		t.Rows = append(t.Rows, []string{
			"accepted stack", "–", c.Old.Brief(), c.New.Brief(), c.Name() + " " + c.ChangeText(),
			"against the baseline",
		})
	}
	for i := len(t.Head) - 2; i > 1; i-- { // no row of a comparison of engines has these numbers
		if !slices.ContainsFunc(t.Rows, func(row []string) bool { return row[i] != "–" }) {
			t.Head = slices.Delete(t.Head, i, i+1)
			for j := range t.Rows {
				t.Rows[j] = slices.Delete(t.Rows[j], i, i+1)
			}
		}
	}
	return t, waiting
}

// cut cuts a page to GitHub's limit, by whole lines. What matters comes first.
func cut(text string) string {
	if len(text) <= mostComment {
		return text
	}
	return text[:strings.LastIndexByte(text[:mostComment], '\n')+1] + "\nTruncated: mxflow report shows everything.\n"
}
