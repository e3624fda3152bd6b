package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/apply"
)

// abShow shows a comparison: the question before, the answer after the run.
type abShow struct {
	apply.Observer
	*app
	q  *ab
	at abPlace
}

func (s *abShow) begin() {
	fmt.Fprintf(s.stdout, "A  %s\nB  %s\n", oneLine(s.q.arms[0].Text), oneLine(s.q.arms[1].Text))
	fmt.Fprintf(s.stdout, "claim: B %s\n", s.q.claim.says(s.q.label()))
	fmt.Fprintln(s.stdout)
}

func (s *abShow) Event(ev runtime.Event) {
	if !s.json {
		ev = rewordAB(ev)
	}
	s.Observer.Event(ev)
}

// End shows how it came out, in the place of the table of an apply.
func (s *abShow) End(res *apply.Result) {
	s.Observer.End(res)
	r := s.q.result(res.Store, res.Summary, res.End, s.at)
	r.Run = res.Run
	r.conclude(s.q, res.End)
	if s.json {
		s.printLine(r)
		return
	}
	s.print(r, res.Took)
}

// rewordAB says events as one who has no plan understands them.
func rewordAB(ev runtime.Event) runtime.Event {
	ev.Variant, ev.Why = armName(ev.Variant), abReason(ev.Why, nil)
	ev.Phase, ev.Feature = "", ""
	switch ev.Type {
	case "node_done", "node_locked", "node_started":
		ev.Type = "" // the result says it
	}
	ev.Node = "ab"
	return ev
}

// armName is A where a plan has the baseline.
func armName(variant string) string {
	if variant == ledger.Baseline {
		return "A"
	}
	return variant
}

// globSees reports whether a line is one of those that a glob means.
func globSees(glob, line string) bool {
	g, err := logscan.ParseGlob(glob)
	return err == nil && g.Match(line)
}

// recordWords are where everything is kept and how to go on from it.
func (s *abShow) recordWords() [][2]string {
	by := s.at.plan
	if s.at.state != filepath.Join(s.at.folder, stateName) {
		by += " --state " + s.at.state
	}
	rows := [][2]string{{"record", s.at.state}, {"every launch", "mxflow show latest " + by}, {"step by step", "mxflow explain feature.B " + by}, {"intact", "mxflow audit verify " + by}}
	if s.q.writePlan != "" {
		rows = append(rows, [2]string{"the plan", fmt.Sprintf("%s; mxflow apply --state %s %s takes over these launches", s.q.writePlan, s.at.state, s.q.writePlan)})
	}
	return rows
}

// print shows a comparison as one would paste it into a pull request: the answer
// first, what it rests on below.
func (s *abShow) print(r *abResult, took time.Duration) {
	word := strings.ToUpper(string(r.Verdict))
	if word == "" {
		word = "OPEN"
	}
	said := wrap(r.Said, s.columnBehind(len(word+"  ")))
	if colours(s.stdout) {
		word = lipgloss.NewRenderer(s.stdout).NewStyle().Bold(true).Foreground(lipgloss.Color(verdictColours[string(r.Verdict)])).Render(word)
	}
	fmt.Fprintf(s.stdout, "\n%s  %s\n", word, said)
	s.numbers(r)
	s.lines("why", tell.Lines(r.Reasons))
	if len(r.LogTail) > 0 {
		fmt.Fprintf(s.stdout, "\nits log ended with\n  | %s\n", strings.Join(r.LogTail, "\n  | "))
	}
	s.launchLines(r)
	s.section("compared", s.compared(r))
	s.also(r)
	s.differing(r)
	s.section("checked", s.checked(r))
	s.lines("to know", r.toKnow())
	s.lines("next", r.Advice)
	s.section("kept", s.recordWords())
	fmt.Fprintf(s.stdout, "\n%s, exit status %d\n", rough(took.Seconds()), r.Exit)
}

// lines prints sentences under a title, one each.
func (s *app) lines(title string, list []string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(s.stdout, "\n%s\n", title)
	for _, l := range list {
		text := imported.Printable(l)
		if !strings.Contains(text, ": mxflow ") { // a command stays whole
			text = strings.ReplaceAll(wrap(text, s.columnBehind(len("  "))), "\n", "\n  ")
		}
		fmt.Fprintf(s.stdout, "  %s\n", text)
	}
}

// numbers is the metric that decides, on both sides, with its bounds.
func (s *abShow) numbers(r *abResult) {
	if r.A.Value == nil || r.B.Value == nil || r.Change == nil {
		return
	}
	text := fmt.Sprintf("%s: A %s, B %s %s, a change of %s", s.q.label(), digits(*r.A.Value, *r.A.Value), digits(*r.B.Value, *r.B.Value), r.Unit, tell.Percent(*r.Change, 1))
	if r.Verdict == verdict.Invalid || r.Verdict == verdict.Error {
		text += ", which does not count"
	} else if r.Low != nil {
		text += fmt.Sprintf(" [%s, %s]", tell.Percent(*r.Low, 1), tell.Percent(*r.High, 1))
	}
	fmt.Fprintln(s.stdout, text)
	if r.Low != nil && r.Verdict.Decided() {
		pass, fail := *r.Low, *r.High
		if s.q.claim.lower() {
			pass, fail = fail, pass
		}
		fmt.Fprintf(s.stdout, "On these launches a claim of %s would just pass, and one of %s just fail.\n", tell.Percent(pass, 1), tell.Percent(fail, 1))
	}
}

// launchLines are the launches of both in their order.
func (s *abShow) launchLines(r *abResult) {
	if len(r.A.Launches)+len(r.B.Launches) == 0 {
		return
	}
	fmt.Fprintf(s.stdout, "\nlaunches (%s, %s; each is the median of %s)\n", s.q.label(), r.Unit, count(s.q.requests, "request"))
	width := 0
	for _, l := range slices.Concat(r.A.Launches, r.B.Launches) {
		width = max(width, len(digits(l.Value, l.Value)))
	}
	type made struct {
		order int
		name  string
	}
	var order []made
	for _, side := range []struct {
		name     string
		launches []abLaunch
	}{{"A", r.A.Launches}, {"B", r.B.Launches}} {
		line := "  " + side.name
		for _, l := range side.launches {
			line += fmt.Sprintf("  %*s", width, digits(l.Value, l.Value))
			order = append(order, made{l.Number, side.name})
		}
		if sd, ok := logSpread(side.launches); ok {
			line += fmt.Sprintf("   they vary by %s", percent(sd))
		}
		if len(side.launches) == 0 {
			line += "  none counts"
		}
		fmt.Fprintln(s.stdout, line)
	}
	slices.SortFunc(order, func(x, y made) int { return x.order - y.order })
	text := "  in the order"
	for i, o := range order {
		if i%4 == 0 {
			text += " "
		}
		text += o.name
	}
	if n := r.A.Replaced + r.B.Replaced - r.A.Broke - r.B.Broke; n > 0 {
		text += fmt.Sprintf("; %s made again because the machine was disturbed", tell.Launches(n))
	}
	fmt.Fprintln(s.stdout, text)
}

// also are other metrics of the same launches.
func (s *abShow) also(r *abResult) {
	var rows [][]string
	against := "B against A"
	for _, m := range r.Metrics {
		text := tell.Percent(m.Change, 1)
		if m.Low != nil {
			against = "B against A [95%]"
			text += fmt.Sprintf(" [%s, %s]", tell.Percent(*m.Low, 1), tell.Percent(*m.High, 1))
		}
		rows = append(rows, []string{"  " + m.Metric, digits(m.A, m.A) + " " + m.Unit, digits(m.B, m.B) + " " + m.Unit, strings.TrimSpace(text + " " + m.Better)})
	}
	if len(rows) > 0 {
		fmt.Fprintln(s.stdout)
		s.printTable([]string{"also measured, not decided", "A", "B", against}, rows)
	}
}

// differing is the table of what differs, and whether it is meant to.
func (s *abShow) differing(r *abResult) {
	var rows [][]string
	for _, d := range r.Differs {
		intended := d.Intended
		if intended == "" {
			intended = "not as far as mxflow knows"
		}
		rows = append(rows, []string{"  " + d.What, imported.Printable(fit(d.A, 40)), imported.Printable(fit(d.B, 40)), intended})
	}
	fmt.Fprintln(s.stdout)
	s.printTable([]string{"what differs", "A", "B", "intended"}, rows)
	if r.Same > 0 {
		fmt.Fprintf(s.stdout, "  %s alike: what the servers say of themselves, and their environments\n", things(r.Same))
	}
}

func things(n int) string {
	if n == 1 {
		return "1 other thing is"
	}
	return fmt.Sprintf("%d other things are", n)
}

// checked are what had to hold before numbers counted.
func (s *abShow) checked(r *abResult) (rows [][2]string) {
	for _, l := range r.levels {
		text := string(l.Verdict)
		if l.Name == "benchmark" && l.Verdict == verdict.Pass {
			text = "pass: the same prompts, coherent answers of equal length, one environment"
			if s.q.coherence == "off" {
				text = "pass: the same prompts, answers of equal length, one environment; answers were not read"
			}
		} else if len(l.Reasons) > 0 && l.Verdict == verdict.Pass {
			text += ": " + fit(imported.Printable(tell.Line(l.Reasons[len(l.Reasons)-1])), maxColumn)
		}
		rows = append(rows, [2]string{l.Name, text})
	}
	if states := cachesOf(slices.Concat(r.A.all, r.B.all)); states != "" {
		rows = append(rows, [2]string{"caches", states + ", each command has its own"})
	}
	if text := testWords(r.test); text != "" {
		rows = append(rows, [2]string{"test", text})
	}
	if s := r.rates; s != nil && r.test != nil {
		text := fmt.Sprintf("a claim that does not hold passes in at most %s of cases, one that holds fails in at most %s", rate(s.FalsePass), rate(s.FalseFail))
		if len(r.Moved) > 0 {
			text += "; here that does not hold, see below"
		}
		rows = append(rows, [2]string{"errors", text})
	}
	return rows
}

// toKnow is what nobody should quote the result without: starts that broke, what
// was asked otherwise before, and what the launches themselves noted.
func (r *abResult) toKnow() (list []string) {
	for _, side := range []struct {
		name string
		*abSide
	}{{"A", &r.A}, {"B", &r.B}} {
		if side.Broke > 0 { // one alone is what the whole result is about
			broke, starts := side.Broke, side.Replaced
			for _, l := range side.all {
				if l.Purpose == ledger.ForBenchmark {
					starts++
				}
				if l.Purpose == ledger.ForBenchmark && !l.OK {
					broke++
				}
			}
			list = append(list, fmt.Sprintf("The server of %s broke in %d of %d starts that were to be measured. Those give no number.", side.name, broke, starts))
		}
	}
	for _, moved := range r.Moved {
		list = append(list, tell.Sentence(moved))
	}
	for _, note := range r.Notes {
		if note.Code != code.LaunchesPerArm && note.Code != code.LaunchReplaced { // of which more is said elsewhere
			list = append(list, tell.Sentence(note))
		}
	}
	return list
}

func rate(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + "%" }

// leastChance is the chance below which its number says nothing more.
const leastChance = 0.001

// chanceLeft is how likely it was that more launches would have told.
func chanceLeft(chance float64) string {
	if chance < leastChance {
		return fmt.Sprintf("more launches would hardly have told (in less than %s of cases)", percent(leastChance))
	}
	return fmt.Sprintf("more launches would have told with a chance of %s", percent(chance))
}

// testWords are how the numbers were decided.
func testWords(t *verdict.Test) string {
	if t == nil || len(t.Looks) == 0 {
		return ""
	}
	how := "t-test on " + tell.Launches(t.Looks[len(t.Looks)-1].N)
	switch t.Form {
	case verdict.Ratio:
		how = "Welch's t-test on the logs of " + tell.Launches(t.Looks[len(t.Looks)-1].N)
	case verdict.Difference:
		how = "Welch's " + how
	}
	look := t.Looks[len(t.Looks)-1]
	text := fmt.Sprintf("%s of each: %s for a pass (%s is enough), %s for a fail (%s is enough)", how, tell.PIs(look.PPass), tell.PLevel(t.Pass), tell.PIs(look.PFail), tell.PLevel(t.Fail))
	switch {
	case t.Stop == verdict.StopScreen:
		text = "screened: one launch of each shows nothing but a difference that is far off, and this one is"
	case look.N == 1:
		text = "none: one launch of each shows nothing but a difference that is far off"
	}
	switch t.Stop {
	case verdict.StopFutile:
		text += "\n" + chanceLeft(look.Chance) + ", so it stopped"
	case verdict.StopPass:
		if len(t.Plan) == 0 || look.N < t.Plan[len(t.Plan)-1] {
			text += "\nit stopped early where it passed, so that the estimate leans upwards: quote the bounds"
		}
	}
	if t.Floor > 0 {
		text += fmt.Sprintf("\nlaunches count as varying by %s at least, as those on record did before", percent(t.Floor))
	}
	if !t.Note.IsZero() {
		text += "\n" + tell.Line(t.Note)
	}
	return text
}
