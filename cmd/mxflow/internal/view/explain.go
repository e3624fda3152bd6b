package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// argument is where an explanation is printed. Rules mostly read the same launches, which
// are printed once.
type argument struct {
	table.Screen
	launches map[string]bool
	told     verdict.Page
	defined  bool // what p is
}

// Print writes an explanation: the answer, the rules on a line each, and the data and the
// test of those that decided.
func (e *Explanation) Print(on table.Screen) {
	p := &argument{Screen: on, launches: map[string]bool{}}
	if !e.Locked.IsZero() {
		fmt.Fprintf(p, "%s: locked\n\n", e.Node)
		p.say("", verdict.Lines(e.Causes)...)
		if len(e.Attempts) > 0 {
			fmt.Fprint(p, "\nEarlier decisions about it no longer hold (--attempt N explains them):\n")
			p.attempts(e.Attempts)
		}
		return
	}
	d := e.Decision
	name, came, rule := nodeName(e.Node), d.Decision, report.Deciding(d.Decision)
	of := e.of
	for _, alt := range d.Alternatives {
		if alt.Name == e.Alternative {
			came = report.OfAlternative(d.Decision, alt)
			name, of, rule = alt.Name, alt.Name, report.Deciding(came)
		}
	}
	text := name + " " + verdict.Did(came.Verdict)
	if report.Word(came, false) == "accepted" {
		text = name + " is accepted"
	}
	if rule != nil {
		text += ": " + report.RuleBrief(*rule) + after(d.Decision, *rule)
	}
	p.say("", verdict.FullStop(text))
	p.facts(e)
	for i, proof := range e.Evidence {
		if i == 0 {
			fmt.Fprint(p, "\nEvidence:\n")
		}
		p.say("  ", verdict.Stopped(proof))
	}
	for i, r := range e.Rules {
		if i == 0 {
			fmt.Fprintln(p)
		}
		line := fmt.Sprintf("  %-12s  %s", r.Verdict, strings.TrimPrefix(r.Of+": ", ": ")+report.RuleBrief(r.Rule))
		if !r.Decides {
			line += " (recorded, does not decide)"
		}
		fmt.Fprintln(p, line)
	}
	for _, r := range e.Rules {
		decided := rule != nil && r.Name == rule.Name && r.Role == rule.Role && r.Of == of
		asked := r.Of == "" || e.Alternative != "" || r.Of == of
		open := r.Decides && r.Verdict != verdict.Pass && (r.Of == "" || e.Alternative != "")
		tested := slices.ContainsFunc(r.Comparisons, func(c verdict.Comparison) bool {
			// beside a t-test, a rate of crashes with a bound that its line lacks
			return c.Test != nil && (c.Test.Form != verdict.Exact || verdict.Holds(c.Test.Remarks, code.Crashed.Kind))
		})
		if decided || open || asked && tested {
			p.rule(r)
		}
	}
	p.beside(e)
}

// Total is the name of the stack's total for explain.
const Total = "stack"

// ExplainTotal prints how far the accepted stack is from the baseline: by which launches, and by which
// test, with its data.
func ExplainTotal(on table.Screen, s *report.Summary) {
	p := &argument{Screen: on, launches: map[string]bool{}}
	p.say("", verdict.FullStop(cmp.Or(s.Total(), "Nothing is accepted, so there is no total")))
	pair, c := s.Ends.Pair, s.Headline()
	if s.Ends.Command != "" {
		fmt.Fprintf(p, "\n%s\n  %s\n", report.Apart, s.Ends.Command)
	}
	if pair == nil || c == nil {
		return
	}
	p.say("  ", "by "+pair.Title())
	if d, r := s.TotalRule(); r != nil {
		p.say("  ", fmt.Sprintf("decided %s by %s, run %s", verdict.Second(d.Time), nodeName(d.Node), d.Run))
		p.rule(rule{Rule: *r})
		return
	}
	p.say("  ", "No rule decided it: its bounds are a 95% interval by Welch's t-test on the logarithms of both arms' "+
		"launches.")
	p.data(&verdict.Test{
		Metric: c.Address(), Stat: c.Stat, Unit: c.Unit, Arm: pair.New.Variant, Against: pair.Old.Variant,
		Values: c.New.Values, Base: c.Old.Values,
	})
}

// say prints texts that are not empty, each in lines of the screen's width.
func (p *argument) say(indent string, texts ...string) {
	for _, t := range texts {
		switch {
		case t == "":
		case p.Width == 0:
			fmt.Fprintln(p, indent+t)
		default:
			table.Paragraph(p, indent, t, p.Width)
		}
	}
}

// after is how many of the planned launches a rule took, as the end of a sentence.
func after(d *ledger.Decision, r verdict.Rule) string {
	most := 0
	for _, ev := range d.Evidence {
		most = max(most, ev.Max)
	}
	if most == 0 && d.Statistics != nil {
		most = d.Statistics.Max
	}
	for _, c := range r.Comparisons {
		if n := c.Test.N(); n > 0 && n < most && c.Test.Against != "" {
			return fmt.Sprintf(", after %d of up to %s per arm", n, verdict.Launches(most))
		} else if n > 0 && c.Test.Against != "" {
			return fmt.Sprintf(", after %s per arm", verdict.Launches(n))
		}
	}
	return ""
}

// facts prints when and on what it was decided, what people did about it, and what decided
// it other than rules.
func (p *argument) facts(e *Explanation) {
	d := e.Decision
	text := fmt.Sprintf("decided %s, run %s, attempt %d (%s)", verdict.Second(d.Time), d.Run, d.Attempt,
		d.Because.String())
	if len(e.Engines) > 0 {
		text += ", on " + verdict.And(e.Engines)
	}
	p.say("  ", text)
	if s := d.Statistics; s != nil {
		share := ""
		if s.Alternatives > 1 {
			share = fmt.Sprintf(", shared by %d alternatives", s.Alternatives)
		}
		p.say("  ", fmt.Sprintf("at most %s of false claims pass%s, at most %s of true ones fail",
			verdict.Number(s.FalsePass, "share"), share, verdict.Number(s.FalseFail, "share")))
	}
	for _, mark := range d.Marks() {
		p.say("  ", "note: "+mark.String())
	}
	for _, c := range d.Confirmations {
		text := c.Reason.String()
		if c.Verdict != "" {
			text = fmt.Sprintf("on %s: %s; %s", c.Engine, c.Verdict, p.Command("explain", c.Node))
		}
		p.say("  ", "confirm: "+text)
	}
	for _, m := range e.Marks {
		p.say("  ", verdict.Sentence(m))
	}
	for _, l := range d.Levels {
		if l.Verdict != verdict.Pass || len(e.Rules) == 0 {
			p.say("  ",
				p.told.Unprinted(verdict.Say("level.came", "level {subject}: {verdict}").On(cmp.Or(l.Of, l.Name)).
					Is(l.Verdict).From(verdict.Few(l.Reasons, 3)...))...)
		}
	}
	if len(e.Rules) == 0 {
		p.say("  ", p.told.Unprinted(d.Why()...)...)
	}
	if d.Exit != nil && *d.Exit >= 0 {
		fmt.Fprintf(p, "  exit status %d\n", *d.Exit)
	}
	if len(d.LogTail) > 0 {
		fmt.Fprintf(p, "  the log ended with:\n  | %s\n", strings.Join(d.LogTail, "\n  | "))
	}
}

// rule prints the data and the test of a rule, and what would have changed its verdict.
func (p *argument) rule(r rule) {
	fmt.Fprintln(p)
	p.say("", fmt.Sprintf("%s: %s (%s)", r.Name, r.Expr, r.Where()))
	reasons, tested := slices.Clone(r.Reasons), false
	for _, c := range r.Comparisons {
		if len(r.Comparisons) > 1 {
			p.say(" ", fmt.Sprintf("%s: %s", c.Text, c.Verdict))
		}
		switch t := c.Test; {
		case t == nil:
			p.say("  ",
				verdict.Sentence(verdict.Say("found.untestable",
					"found {left~right} against {right~left}, which could not be tested",
					verdict.Arg{Name: "left", Value: c.Left}, verdict.Arg{Name: "right", Value: c.Right})))
		default:
			tested = true
			p.say("  ", how(t))
			p.data(t)
			p.looks(t)
			p.say("  ", conclusions(t)...)
			for _, line := range p.told.Unprinted(t.TwoSpeeds()) {
				p.say("  ", verdict.Capital(verdict.FullStop(line)))
			}
		}
	}
	for _, in := range r.Inputs {
		if !in.Missing.IsZero() {
			p.say("  ",
				p.told.Each(verdict.Say("explain.is_missing", "{subject} is missing").On(in.Path).From(in.Missing))...)
			reasons = slices.DeleteFunc(reasons, in.Absence().Equal)
		}
	}
	if !tested {
		p.say("  ", p.told.Unprinted(reasons...)...)
	}
	if len(r.Open) > 0 {
		p.say("  ", "More launches of "+verdict.And(r.Open)+" could still settle it.")
	}
}

// how names the test; on exact values there is none.
func how(t *verdict.Test) string {
	logs, drift := "", " Interleaving does not protect it from drift."
	if t.Form == verdict.Ratio || t.Form == verdict.LogLevel {
		logs = "the logarithms of "
	}
	two, within := t.Form == verdict.Ratio || t.Form == verdict.Difference, len(t.Places) > 0
	switch {
	case t.Form == verdict.Exact && verdict.Holds(t.Remarks, code.Crashed.Kind):
		return "No t-test: starts that crashed are counted; a few clean starts do not rule out a crash."
	case t.Form == verdict.Exact && t.Each == "pair":
		return "No t-test: it must hold for every launch against every launch of the other arm."
	case t.Form == verdict.Exact && t.Each != "":
		return "No t-test: it must hold for every launch."
	case t.Form == verdict.Exact:
		return ""
	case t.Form == verdict.Range:
		return "No t-test, because it hardly varies: the full range of the launches against the limit."
	case two && within:
		return "One-sample t-test on the differences between " + logs + "the arms within each round."
	case two:
		return "Welch's t-test on " + logs + "both arms' launches."
	case within:
		return "One-sample t-test on " + logs + "one arm's launches, by their spread around each place's mean." + drift
	}
	return "One-sample t-test on " + logs + "one arm's launches." + drift
}

// data prints the launches of a test by arm, in the order of their rounds.
func (p *argument) data(t *verdict.Test) {
	key := fmt.Sprint(t.Metric, t.Stat, t.Unit, t.Launches, t.BaseLaunches)
	if len(t.Values)+len(t.Base) == 0 || p.launches[key] {
		return
	}
	p.launches[key] = true
	width := max(len(t.Against), len(t.Arm))
	for _, arm := range []struct {
		name   string
		values []float64
	}{{t.Against, t.Base}, {t.Arm, t.Values}} {
		if len(arm.values) > 0 {
			p.say("    ",
				fmt.Sprintf("%-*s %s %s", width, arm.name, verdict.Value{Numbers: arm.values}.String(), t.Unit))
		}
	}
}

// looks prints the interim tests: estimate, both p values beside their levels, and what
// followed.
func (p *argument) looks(t *verdict.Test) {
	var rows [][]string
	for i, l := range t.Looks {
		row := []string{fmt.Sprint(l.N), "–", "–", "–", came(t, i)}
		if l.Own != nil {
			row[1] = verdict.Number(*l.Own, t.OwnUnit())
		}
		if l.DF > 0 {
			row[2], row[3] = verdict.P(l.PPass), verdict.P(l.PFail)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return
	}
	var b strings.Builder
	table.Draw(&b, []string{"launches", "estimate", "p for a pass", "p for a fail", ""}, rows, false, max(0, p.Width-4))
	for line := range strings.Lines(b.String()) {
		fmt.Fprint(p, "    "+line)
	}
	if t.Pass != 0 || t.Fail != 0 {
		text := fmt.Sprintf("A pass needs p ≤ %s, a fail p ≤ %s", verdict.PLevel(t.Pass), verdict.PLevel(t.Fail))
		for _, why := range t.Wider() {
			text += "; " + why.String()
		}
		if text += "."; !p.defined {
			p.defined, text = true,
				text+" p for a pass is how often launches at least this good would occur if the rule did not hold, p "+
					"for a fail how often ones at least this bad would if it did."
		}
		p.say("  ", text)
	}
}

// came is the consequence of the look at i; a test ends with its last one.
func came(t *verdict.Test, i int) string {
	l, last := t.Looks[i], i == len(t.Looks)-1
	switch {
	case last && t.Stop == stats.Screened:
		return "fail: far beyond the threshold"
	case l.DF == 0 && l.N == 2 && t.First == 2:
		return "not clear after two"
	case l.DF == 0:
		return "no test yet"
	case t.Near(l):
		return "too near for " + verdict.Launches(l.N)
	case !last, t.Stop == stats.Open:
		return "continue"
	}
	return map[stats.Outcome]string{
		stats.Passed: "pass", stats.Failed: "fail", stats.Futile: "stopped early", stats.Ended: "last look",
	}[t.Stop]
}

// conclusions are what bears on a test's numbers, why it ended without a verdict, and what
// would have changed it.
func conclusions(t *verdict.Test) (lines []string) {
	if t.Form == verdict.Range {
		any, open := "every launch", ""
		if t.Against != "" {
			any, open = "the difference of any two launches", ", and a limit in between is undecided"
		}
		return []string{fmt.Sprintf("So %s is between %s and %s; the limit is %s%s.", any,
			verdict.AtLeast(*t.Low, t.OwnUnit()), verdict.AtMost(*t.High, t.OwnUnit()),
			verdict.Planned(t.Threshold, t.OwnUnit()), open)}
	}
	if len(t.Unpaired) > 0 {
		lines = append(lines, verdict.Sentence(verdict.New(code.NotPaired, verdict.List("launches", t.Unpaired))))
	}
	more := verdict.Reason{}
	for _, r := range t.Remarks {
		if r.Kind == code.Settles.Kind || r.Kind == code.SettlesNever.Kind {
			more = r
		} else {
			lines = append(lines, verdict.Sentence(r))
		}
	}
	switch {
	case t.Form == verdict.Exact:
	case len(t.Looks) == 0:
		recorded := verdict.Launches(len(t.Values))
		if t.Against != "" {
			recorded = fmt.Sprintf("%d against %s", len(t.Values), verdict.Launches(len(t.Base)))
		}
		lines = append(lines, fmt.Sprintf("Still open: %s recorded, first look not reached.", recorded))
	case t.Stop == stats.Screened:
		lines = append(lines,
			"One launch per arm shows only what is far beyond the threshold; it is not a test of launch-to-launch "+
				"variance.")
	case t.Stop == stats.Futile:
		chance := verdict.Digits(t.Looks[len(t.Looks)-1].Chance, "share", -1)
		lines = append(lines, fmt.Sprintf("Stopped early: more launches had a %s chance of deciding.", chance))
	case t.Stop == stats.Ended:
		lines = append(lines, "Undecided at the maximum of launches.")
	case t.Stop == stats.Open:
		lines = append(lines, "Still open.")
	case len(t.Values) > t.N():
		lines = append(lines,
			fmt.Sprintf("Later launches were made for other comparisons (%d of this arm are recorded) and do not "+
				"change it.", len(t.Values)))
	}
	return append(lines, verdict.Sentence(t.Note), change(t), verdict.Sentence(more))
}

// change is what would have changed the verdict: other thresholds on the same launches,
// or another estimate with the same spread; empty if nothing is known of it.
func change(t *verdict.Test) string {
	if t.Low == nil || t.High == nil {
		return ""
	}
	size := max(math.Abs(*t.Low), math.Abs(*t.High))
	if t.OwnUnit() == "ratio" {
		size = max(size, 1) // of a change of nothing
	}
	if math.Abs(*t.Low-*t.High) <= 1e-6*size {
		return "" // nothing varied by more than rounding
	}
	own := func(x float64) string { return verdict.Number(x, t.OwnUnit()) }
	pass, fail, upTo := verdict.AtLeast(*t.Low, t.OwnUnit()), verdict.AtMost(*t.High, t.OwnUnit()), "up to"
	if !t.More {
		pass, fail, upTo = fail, pass, "down to"
	}
	if t.Stop == stats.Passed {
		return fmt.Sprintf("A threshold %s %s would also have passed here; from %s it would have failed; in between, "+
			"more launches would follow.", upTo, pass, fail)
	}
	text := fmt.Sprintf("A threshold %s %s would have passed here; from %s it would have failed.", upTo, pass, fail)
	if t.Needed != nil {
		text += fmt.Sprintf(" With launches this scattered, the estimate would have had to reach %s to pass.",
			own(*t.Needed))
	}
	return text
}

// beside prints what accompanies the rules: alternatives, other changes, the hypothesis,
// earlier attempts, and notes.
func (p *argument) beside(e *Explanation) {
	d := e.Decision
	var alternatives []string
	for _, alt := range d.Alternatives {
		text := alt.Name + " " + string(alt.Verdict)
		if alt.Chosen {
			text += ", chosen"
		}
		alternatives = append(alternatives, text)
	}
	if len(alternatives) > 0 {
		fmt.Fprintln(p)
		p.say("", fmt.Sprintf("Alternatives, of which at most one enters the stack: %s. One of them: %s",
			strings.Join(alternatives, "; "), p.Command("explain", d.Alternatives[0].Name)))
	}
	var moved []string
	for _, m := range e.Moved {
		if m.Change == nil {
			continue
		}
		moved = append(moved, fmt.Sprintf("%s %s", m.Metric, verdict.Faster(*m.Change)))
	}
	if len(moved) > 0 {
		fmt.Fprintln(p)
		p.say("", "Changed metrics, over all workloads: "+strings.Join(moved, ", ")+".")
	}
	for i, f := range d.Findings {
		if i == 0 {
			fmt.Fprint(p, "\nNot read by any rule:\n")
		}
		p.say("  ", verdict.Stopped(f))
	}
	if d.Hypothesis != nil {
		fmt.Fprintln(p)
		p.say("", report.ExpectedBecause(d.Hypothesis))
	}
	if len(e.Attempts) > 1 {
		fmt.Fprint(p, "\nAttempts:\n")
		p.attempts(e.Attempts)
	}
	for i, note := range p.told.Unprinted(e.Notes...) {
		if i == 0 {
			fmt.Fprintln(p)
		}
		p.say("", verdict.Capital(verdict.FullStop(note)))
	}
}

func (p *argument) attempts(attempts []attempt) {
	for _, t := range attempts {
		mark, session := " ", ""
		if t.Explained {
			mark = "*"
		}
		if t.Session != "" {
			session = ", session " + t.Session
		}
		fmt.Fprintf(p, "%s %d  %s  %s (%s)%s\n", mark, t.Attempt, verdict.Minute(t.Time), t.word,
			t.Because.String(), session)
	}
}
