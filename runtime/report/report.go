// Package report turns the contents of a state directory into a page for a team: what was
// decided, by which numbers, on which machine. It decides nothing and measures nothing.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Markdown writes the results page.
func Markdown(w io.Writer, s *Summary) error {
	p, v := &Writer{Summary: s}, s.Run
	p.Line("# Results of plan %s\n", v.Plan)
	p.WriteAnswer()
	state := s.Unfinished()
	if v.Done {
		state = fmt.Sprintf("%s, exit status %d", v.Reason.String(), v.Exit)
	}
	p.Line("Run `%s` of %s: %s.", v.ID, v.Started.UTC().Format("2006-01-02 15:04 MST"), state)
	if s := v.Start; s != nil {
		p.Line("%s, plan digest `%.16s`. Machine: %s.\n", s.Tool, s.PlanDigest, verdict.Pairs(s.Environment, " ", ", "))
	}
	p.Line("%s\n", p.Setup())
	p.Blocks("##", p.ReproductionBlocks())
	if blocks := p.ResultBlocks(); len(blocks) > 0 {
		p.Line("## Results\n")
		p.Blocks("###", blocks)
	}
	p.Gates("## Gates")
	for _, d := range p.InForce() {
		if d.Kind == ledger.KindFeature || d.Kind == ledger.KindCriteria {
			p.feature(d.Decision)
		}
	}
	p.WriteStack()
	p.Blocks("##", p.TargetBlocks())
	p.Blocks("##", p.NightBlocks(0))
	p.Comparisons("##", true)
	p.Line("%s\n", Raw(Legend))
	p.Line("Every launch: `%s`. A decision with every look at its launches: `%s`. To repeat this: `%s`.",
		Raw(Reading(p.Store, v, "show", "--all", "latest")), Raw(Reading(p.Store, v, "explain", first(p.Summary))),
		Raw(Applied(p.Store, v)))
	_, err := io.WriteString(w, p.String())
	return err
}

// first is the feature or gate that a reader asks about first: what did not pass, or the first of them.
func first(s *Summary) string {
	name := ledger.Baseline
	for _, r := range slices.Backward(s.Rows) {
		if r.InForce() && (r.Feature != "" || r.Gate != "") &&
			(!r.Decided.Verdict.Unlocks() || name == ledger.Baseline || s.Rows.At(name).Decided.Verdict.Unlocks()) {
			name = r.Node
		}
	}
	if s.Ends.Pair != nil && s.Rows.At(name).Decided.Verdict.Unlocks() {
		return "stack" // its total
	}
	return name
}

// WriteAnswer is the result in one sentence, and the command that measures what it lacks.
func (p *Writer) WriteAnswer() {
	p.Line("**%s**\n", verdict.FullStop(p.Answer.String()))
	if p.Ends.Command != "" {
		p.Line("%s\n\n```sh\n%s\n```\n", Raw(Apart), Raw(p.Ends.Command))
	}
}

// Legend explains the numbers of a feature's table.
const Legend = meansAre + ". A rule's bound is the largest threshold that would also have passed (for a fail, the " +
	"smallest that would also have failed); bounds are rounded outward. " + wordsAre

// feature is one port: its rules by the numbers that decided them, and one table.
func (p *Writer) feature(d *ledger.Decision) {
	p.Line("## %s: %s\n", strings.TrimPrefix(d.Node, "feature."), Word(d, false))
	p.Rules(d)
	if port := p.PortOf(d); port != nil && d.Kind == ledger.KindFeature {
		p.Table(p.Own(port, true))
		for _, b := range p.TrafficBlocks(port) {
			p.Line("%s. %s\n", b.Title, b.Notes[0])
			p.Table(b.Table)
		}
	}
}

// Rules are a feature's hypothesis, its levels and rules, each by what decided it, and what
// no rule reads.
func (p *Writer) Rules(d *ledger.Decision) {
	for _, mark := range d.Marks() {
		p.Line("%s\n", verdict.Sentence(mark))
	}
	if d.Hypothesis != nil {
		p.Line("%s\n", ExpectedBecause(d.Hypothesis))
	}
	var passed, levels []string
	for _, l := range d.Levels {
		if l.Verdict == verdict.Pass {
			passed = append(passed, l.Name)
			continue
		}
		levels = append(levels, l.Name+" "+string(l.Verdict))
	}
	if len(passed) > 0 {
		levels = append([]string{strings.Join(passed, ", ") + " passed"}, levels...)
	}
	if len(levels) > 0 {
		p.Line("Levels: %s.\n", strings.Join(levels, "; "))
	}
	p.Table(p.criteria(d))
	if evidence := Proofs(p.Store, d); len(evidence) > 0 {
		p.Line("Evidence:\n")
		p.List(verdict.Lines(evidence))
	}
	p.List(verdict.Lines(d.Findings))
}

// criteria is a table of a feature's rules: the value that each was held against, what it wanted, and
// the number that decided.
func (p *Writer) criteria(d *ledger.Decision) Table {
	t := Table{Head: []string{"Criterion", "Verdict", "Baseline", "Target", "Actual"}}
	port, told := p.PortOf(d), map[string]bool{}
	for _, r := range d.Rules {
		is, wanted, bound := r.Parts()
		row := []string{r.Name, string(r.Verdict), "–", cmp.Or(wanted, "`"+r.Expr+"`"), cmp.Or(is, bound, "–")}
		if !r.Decides {
			row[1] += " (recorded only)"
		}
		switch cause := untested(r); {
		case !cause.IsZero() && told[cause.Key()]:
			row[4] = "not tested, as above"
		case !cause.IsZero():
			row[4], told[cause.Key()] = "not tested: "+
				strings.Join(ReasonLines(&p.told, d, []verdict.Reason{cause}), "; "), true
		case r.Deciding() != nil:
			t := r.Deciding().Test
			row[4] = fmt.Sprintf("%s (%s)", is, bound)
			cell, metric := measure.SplitAddress(t.Metric)
			switch before, after := decidedBy(t, t.Base), decidedBy(t, t.Values); {
			case t.Against != "" && t.Relation != "base" && before != "":
				row[2], row[4] = before, after+": "+row[4]
			case port != nil:
				row[2] = port.Value(Column{cell, metric, t.Stat}).Old.Brief()
			}
		case is == "" && r.Verdict != verdict.Pass:
			row[4] = strings.Join(ReasonLines(&p.told, d, r.Reasons), "; ")
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// decidedBy is the mean of an arm's values at the look that decided; empty without any.
func decidedBy(t *verdict.Test, values []float64) string {
	of := stats.ArithmeticSampleOf
	if t.Form == verdict.Ratio || t.Form == verdict.LogLevel {
		of = stats.SampleOf
	}
	if n := t.N(); n > 0 {
		values = values[:min(n, len(values))]
	}
	s, err := of(values)
	if err != nil {
		return ""
	}
	return verdict.Short(s.Mean, t.Unit)
}

// Causes are why the rules of a decision could not be tested, each once, or else what it
// follows from.
func Causes(d *ledger.Decision) (causes []verdict.Reason) {
	for _, r := range d.Rules {
		if cause := untested(r); !cause.IsZero() && !slices.ContainsFunc(causes, cause.Equal) {
			causes = append(causes, cause)
		}
	}
	if len(causes) == 0 {
		return d.Why()
	}
	return append(causes, d.Marks()...)
}

// untested is why a rule could not be tested, as others of its feature could not.
func untested(r verdict.Rule) verdict.Reason {
	if len(r.Reasons) == 1 && r.Reasons[0].Kind == code.Missing.Kind && len(r.Reasons[0].Causes) == 1 {
		return r.Reasons[0].Causes[0]
	}
	return verdict.Reason{}
}

// Comparisons are the steps that compare engines, or cells of a matrix, below headings of a level; with
// effects also what knob values do there.
func (p *Writer) Comparisons(level string, effects bool) {
	for _, d := range p.InForce() {
		if len(d.Rows) > 0 {
			p.Line("%s Comparison %s: %s\n", Raw(level), d.Node[strings.LastIndexByte(d.Node, '.')+1:], d.Verdict)
			p.Blocks(level+"#", p.CompareBlocks(d.Decision, effects))
		}
	}
}

// Why is why a decision came out as it did, a line each: its reasons, its rules by the numbers that
// decided them, or in full by all that they found, and its notes.
func Why(page *verdict.Page, d *ledger.Decision, full bool) []string {
	lines := ReasonLines(page, d, d.Reasons)
	for _, r := range d.Rules {
		text := r.Brief()
		if full || r.Deciding() == nil {
			text = strings.TrimSuffix(r.Name+": "+strings.Join(ReasonLines(page, d, r.Reasons), "; "), ": ")
		}
		lines = append(lines, text)
	}
	if lines = append(lines, ReasonLines(page, d, d.Notes)...); !full {
		return lines
	}
	for _, l := range d.Levels {
		if len(d.Rules)+len(d.Reasons) == 0 {
			lines = append(lines, l.Name+" "+string(l.Verdict))
		}
	}
	return append(lines, verdict.Lines(d.Findings)...)
}

// Gates are the phases in the plan's order, and the baseline and steps that did not pass,
// each by what decided it, below a title.
func (p *Writer) Gates(title string) {
	t := Table{Head: []string{"Phase", "Verdict", "Why"}}
	for _, r := range p.Summary.Rows {
		switch {
		case r.InForce() && (r.Gate != "" || r.Node == ledger.Baseline && !r.Decided.Verdict.Unlocks()):
			d, o := r.Decided.Decision, r.Overruled
			var why []string
			if o.State != "" && !slices.EqualFunc(o.Reasons, d.Why(), verdict.Reason.Equal) {
				why = append(why, verdict.Semicolons(o.Reasons))
			}
			why = append(why, Why(&p.told, d, false)...)
			t.Rows = append(t.Rows, []string{cmp.Or(r.Gate, r.Node), "**" + r.Word() + "**", strings.Join(why, "\n")})
		case !r.Locked.IsZero() && r.Gate != "":
			t.Rows = append(t.Rows, []string{r.Gate, r.Word(), r.Locked.String()})
		}
	}
	if len(t.Rows) > 0 {
		p.Line("%s\n", title)
	}
	p.Table(t)
}

// quoted leaves one quote of an answer in a reason, and counts the others.
func quoted(r verdict.Reason) verdict.Reason {
	causes := make([]verdict.Reason, len(r.Causes))
	for i, c := range r.Causes {
		causes[i] = quoted(c)
	}
	if len(causes) > 1 && causes[0].Kind == code.AnswerGarbage.Kind {
		causes = verdict.Few(causes, 1)
	}
	return r.From(causes...)
}

// unquoted leaves the answers themselves out, for a row.
func unquoted(r verdict.Reason) verdict.Reason {
	var causes []verdict.Reason
	for _, c := range r.Causes {
		if c.Kind != code.AnswerGarbage.Kind {
			causes = append(causes, unquoted(c))
		}
	}
	return r.From(causes...)
}

// ReasonLines are a decision's reasons as lines: its own tests' findings every time, what
// prevented them once per page.
func ReasonLines(page *verdict.Page, d *ledger.Decision, reasons []verdict.Reason) []string {
	reasons = slices.Clone(reasons)
	for i, r := range reasons {
		reasons[i] = quoted(r)
	}
	if lines := page.Each(reasons...); !TestsDecided(d) {
		return lines
	}
	return verdict.Lines(reasons)
}

// TestsDecided reports whether a decision follows from its own tests: every rule that did
// not pass has a comparison whose test did not. Everything else has a cause below it.
func TestsDecided(d *ledger.Decision) bool {
	if len(d.Rules) == 0 {
		return false
	}
	for _, l := range d.Levels {
		if l.Verdict != verdict.Pass {
			return false
		}
	}
	for _, r := range d.Rules {
		tested := r.Verdict == verdict.Pass
		for _, c := range r.Comparisons {
			t := c.Test
			tested = tested || c.Verdict != verdict.Pass && t != nil && t.Form != verdict.Exact
		}
		if !tested {
			return false
		}
	}
	return true
}
