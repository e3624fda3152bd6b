// Package comparison shows the result of comparing two commands: in words, on a
// terminal and as Markdown for a pull request. It knows no flags and decides nothing.
package comparison

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/ab"
	"github.com/mxflow/mxflow/steps/apply"
)

// Show shows a comparison: the question before, the answer after the run.
type Show struct {
	apply.Observer
	Question *ab.Question
	Place    ab.Place
	// Screen is called each time: loading a plan adds the redaction of its secrets.
	Screen func() table.Screen
	// JSON prints the result for programs; nil if it is for people.
	JSON func(any)
	// Markdown selects the same in a block to paste.
	Markdown bool

	on table.Screen
}

// Ask prints the question, before anything is started.
func (s *Show) Ask() {
	s.on = s.Screen()
	fmt.Fprintf(s.on, "A  %s\nB  %s\n", oneLine(s.Question.Arms[0].Text), oneLine(s.Question.Arms[1].Text))
	fmt.Fprintf(s.on, "claim: B %s\n", s.Question.Claim.Says(s.Question.Label()))
	fmt.Fprintln(s.on)
}

func (s *Show) Event(ev runtime.Event) {
	if s.JSON == nil {
		ev = ab.Reword(ev)
	}
	s.Observer.Event(ev)
}

// End prints the result, in place of an apply's table.
func (s *Show) End(res *apply.Result) {
	s.Observer.End(res)
	r := s.Question.Result(res.Store, res.Summary, res.End, s.Place)
	r.Run, r.Basis = res.Run, res.Basis
	conclude(r, s.Question, res.End)
	if s.JSON != nil {
		s.JSON(r)
		return
	}
	if s.on = s.Screen(); !s.Markdown {
		s.print(r, res.Took)
		return
	}
	var text strings.Builder
	s.on = table.Screen{Writer: &text}
	s.print(r, res.Took)
	fmt.Fprintf(s.Screen(), "**%s** %s\n\n```text%s```\n", upper(r.Verdict), report.Inert(r.Said), strings.ReplaceAll(text.String(), "```", "'''"))
}

// upper is a verdict as a headline.
func upper(v verdict.Verdict) string { return cmp.Or(strings.ToUpper(string(v)), "OPEN") }

// recordWords are where everything is kept and how to continue.
func (s *Show) recordWords() [][2]string {
	by := s.Place.Plan
	if s.Place.State != filepath.Join(s.Place.Folder, store.DirName) {
		by += " --state " + s.Place.State
	}
	rows := [][2]string{{"reproduce", oneLine(s.Question.CommandLine)}, {"record", s.Place.State}, {"every launch", "mxflow show latest " + by}, {"step by step", "mxflow explain feature.B " + by}, {"intact", "mxflow audit verify " + by}}
	if s.Question.WritePlan != "" {
		rows = append(rows, [2]string{"the plan", fmt.Sprintf("%s; mxflow apply --state %s %s takes over these launches", s.Question.WritePlan, s.Place.State, s.Question.WritePlan)})
	}
	return rows
}

// print prints a comparison for pasting into a pull request: the answer first, its
// evidence below.
func (s *Show) print(r *ab.Result, took time.Duration) {
	word := upper(r.Verdict)
	said := r.Said
	if width, rest := s.on.Width, len(word+"  "); width > 0 { // coloured text is not folded
		said = strings.ReplaceAll(table.Wrap(said, min(table.MaxColumn, width-rest)), "\n", "\n"+strings.Repeat(" ", rest))
	}
	if s.on.Colour {
		word = lipgloss.NewRenderer(s.on.Writer).NewStyle().Bold(true).Foreground(lipgloss.Color(table.Colour(string(r.Verdict)))).Render(word)
	}
	if reused := r.Basis.String(); reused != "" {
		fmt.Fprintf(s.on, "\n%s", reused)
	}
	fmt.Fprintf(s.on, "\n%s  %s\n", word, said)
	s.numbers(r)
	s.on.Sentences("why", verdict.Lines(r.Reasons))
	if len(r.LogTail) > 0 {
		fmt.Fprintf(s.on, "\nits log ended with\n  | %s\n", strings.Join(r.LogTail, "\n  | "))
	}
	s.launchLines(r)
	s.on.Section("compared", s.compared(r))
	s.also(r)
	s.differing(r)
	s.on.Section("checked", s.checked(r))
	s.on.Sentences("notes", toKnow(r))
	s.on.Sentences("next", r.Advice)
	s.on.Section("kept", s.recordWords())
	fmt.Fprintf(s.on, "\n%s, exit status %d\n", verdict.Rough(took.Seconds()), r.Exit)
}

// numbers is the deciding metric, on both sides, with its bounds.
func (s *Show) numbers(r *ab.Result) {
	if r.A.Value == nil || r.B.Value == nil || r.Change == nil {
		return
	}
	change := verdict.Interval(*r.Change, r.Low, r.High, "ratio")
	fmt.Fprintf(s.on, "%s: A %s, B %s, a change of %s\n", s.Question.Label(), verdict.Number(*r.A.Value, ""), verdict.Number(*r.B.Value, r.Unit), change)
	if r.Low != nil && r.Verdict.Decided() {
		low, high := "pass", "fail"
		if s.Question.Claim.Lower() {
			low, high = high, low
		}
		fmt.Fprintf(s.on, "Decision bounds: a threshold of %s or lower would %s here, %s or higher would %s. A threshold chosen from these needs fresh launches.\n",
			verdict.Percent(*r.Low, 1), low, verdict.Percent(*r.High, 1), high)
	}
}

// launchLines are the launches of both in order.
func (s *Show) launchLines(r *ab.Result) {
	if len(r.A.Launches)+len(r.B.Launches) == 0 {
		return
	}
	fmt.Fprintf(s.on, "\nlaunches (%s, %s; each is the median of %s)\n", s.Question.Label(), r.Unit, verdict.Count(s.Question.Requests, "request"))
	width := 0
	for _, l := range slices.Concat(r.A.Launches, r.B.Launches) {
		width = max(width, len(verdict.Number(l.Value, "")))
	}
	type made struct {
		order int
		name  string
	}
	var order []made
	for _, side := range []struct {
		name     string
		launches []ab.Launch
	}{{"A", r.A.Launches}, {"B", r.B.Launches}} {
		line, values := "  "+side.name, []float64(nil)
		for _, l := range side.launches {
			line += fmt.Sprintf("  %*s", width, verdict.Number(l.Value, ""))
			order, values = append(order, made{l.Number, side.name}), append(values, l.Value)
		}
		if s, err := stats.SampleOf(values); err == nil && len(values) > 1 {
			line += fmt.Sprintf("   they vary by %s", percent(s.SD/s.Mean))
		}
		if len(side.launches) == 0 {
			line += "  none count"
		}
		fmt.Fprintln(s.on, line)
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
		text += fmt.Sprintf("; %s repeated because the machine was disturbed", verdict.Launches(n))
	}
	fmt.Fprintln(s.on, text)
}

// compared is what was measured, for readers who have not seen the command line: the
// commands, what they were sent, the machine.
func (s *Show) compared(r *ab.Result) [][2]string {
	return [][2]string{
		{"A", oneLine(s.Question.Arms[0].Text)},
		{"B", oneLine(s.Question.Arms[1].Text)},
		{"load", sentWords(s.Question)},
		{"both", sharedWords(r, s.Question)},
		{"machine", foreign.Line(machineWords(slices.Concat(r.A.All, r.B.All)))},
	}
}

// sentWords is what a launch was sent.
func sentWords(q *ab.Question) string {
	text := fmt.Sprintf("%s in", verdict.Count(q.PP, "token"))
	if q.Depth > 0 {
		text += fmt.Sprintf(" after %d tokens of context", q.Depth)
	}
	text += fmt.Sprintf(", %d out, %d at a time; %s per launch after %d warm-up", q.TG, max(q.Concurrency, 1), verdict.Count(q.Requests, "request"), q.Warmup)
	if q.API != "completions" && q.API != "" {
		text += "; " + q.API
	}
	return text
}

// sharedWords is what both servers reported alike: their version first.
func sharedWords(r *ab.Result, q *ab.Question) string {
	var version string
	var same []string
	seen := map[string]bool{}
	for _, p := range q.Kind.Observe {
		if p.Consequence || seen[p.Name] {
			continue
		}
		seen[p.Name] = true
		if text, is := alike(r, p.Name); is {
			same = append(same, p.Name+" "+text)
		}
	}
	if text, is := alike(r, "version"); is {
		version = " " + text
	}
	if version == "" && len(same) == 0 {
		return ""
	}
	return foreign.Line(strings.Join(append([]string{q.Kind.Name + version}, same...), ", "))
}

// alike is what both servers reported alike under a name.
func alike(r *ab.Result, name string) (text string, is bool) {
	a, inA := ab.Reported(r.A.All, name)
	b, inB := ab.Reported(r.B.All, name)
	return strings.Trim(a, `"`), inA && inB && a == b
}

// machineWords are what launches ran on, as far as all agree.
func machineWords(launches []*ledger.Launch) string {
	var parts []string
	for _, e := range []struct{ name, format string }{{"gpu", "%s"}, {"driver", "driver %s"}, {"cpu", "%s"}, {"cores", "%s cores"}, {"mem_gib", "%s GiB"}, {"os", "%s"}} {
		if v := ab.Entries(launches, e.name); v != "" && !strings.Contains(v, ab.UnknownEntry) {
			parts = append(parts, fmt.Sprintf(e.format, v))
		}
	}
	return strings.Join(parts, ", ")
}

// also are other metrics of the same launches.
func (s *Show) also(r *ab.Result) {
	if len(r.Metrics) > 0 {
		t := report.ComparisonTable(r.Metrics, "A", "B")
		t.Head[0] = "also measured, not decided"
		for i := range t.Rows {
			t.Rows[i][0] = "  " + t.Rows[i][0]
		}
		fmt.Fprintln(s.on)
		s.on.Table(t.Head, t.Rows)
	}
}

// differing is the table of differences, and whether they are intended.
func (s *Show) differing(r *ab.Result) {
	var rows [][]string
	for _, d := range r.Differs {
		intended := d.Intended
		if intended == "" {
			intended = "not declared"
		}
		rows = append(rows, []string{"  " + d.What, foreign.Line(table.Fit(d.A, 40)), foreign.Line(table.Fit(d.B, 40)), intended})
	}
	fmt.Fprintln(s.on)
	s.on.Table([]string{"what differs", "A", "B", "intended"}, rows)
	if r.Same > 0 {
		fmt.Fprintf(s.on, "  %s alike: what the servers report, and their environments\n", things(r.Same))
	}
}

func things(n int) string {
	if n == 1 {
		return "1 other thing is"
	}
	return fmt.Sprintf("%d other things are", n)
}

// checked are the conditions for numbers to count.
func (s *Show) checked(r *ab.Result) (rows [][2]string) {
	for _, l := range r.Levels {
		text := string(l.Verdict)
		if l.Name == "benchmark" && l.Verdict == verdict.Pass {
			text = "pass: the same prompts, the same model's answers, of equal length, one environment"
			if s.Question.Answers == "unchecked" {
				text = "pass: the same prompts, answers of equal length, one environment; answers were not checked"
			}
		} else if len(l.Reasons) > 0 && l.Verdict == verdict.Pass {
			text += ": " + table.Fit(foreign.Line(l.Reasons[len(l.Reasons)-1].String()), table.MaxColumn)
		}
		rows = append(rows, [2]string{l.Name, text})
	}
	if states := ab.Caches(slices.Concat(r.A.All, r.B.All)); states != "" {
		rows = append(rows, [2]string{"caches", states + ", each command has its own"})
	}
	if tunes, any := ab.Reported(r.A.All, "tune"); any {
		of, _ := ab.Reported(r.B.All, "tune")
		rows = append(rows, [2]string{"tune", "A " + tunes + "; B " + of})
	}
	if text := testWords(r.Test); text != "" {
		if r.Beyond > 0 {
			text += fmt.Sprintf("\n%s of each made for an earlier claim are listed, but affect neither the change nor its bounds", verdict.Launches(r.Beyond))
		}
		rows = append(rows, [2]string{"test", text})
	}
	if s := r.Rates; s != nil && r.Test != nil {
		rows = append(rows, [2]string{"errors", fmt.Sprintf("a false claim passes in at most %s of cases, a true one fails in at most %s", rate(s.FalsePass), rate(s.FalseFail))})
	}
	return rows
}

// toKnow is what belongs to any quote of the result: starts that broke, what was asked
// otherwise before, and the launches' notes.
func toKnow(r *ab.Result) (list []string) {
	for _, side := range []struct {
		name string
		*ab.Side
	}{{"A", &r.A}, {"B", &r.B}} {
		if side.Broke > 0 { // one alone is the subject of the whole result
			broke, starts := side.Broke, side.Replaced
			for _, l := range side.All {
				if l.Purpose == ledger.ForBenchmark {
					starts++
				}
				if l.Purpose == ledger.ForBenchmark && !l.OK {
					broke++
				}
			}
			list = append(list, fmt.Sprintf("The server of %s crashed in %d of %d measured starts, which have no numbers.", side.name, broke, starts))
		}
	}
	for _, try := range r.Tries {
		list = append(list, verdict.Sentence(try))
	}
	for _, note := range r.Notes {
		if note.Kind != code.LaunchesPerArm.Kind && note.Kind != code.LaunchReplaced.Kind { // reported in more detail elsewhere
			list = append(list, verdict.Sentence(note))
		}
	}
	return list
}

func rate(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + "%" }

// leastChance is the chance below which its exact number is meaningless.
const leastChance = 0.001

// chanceLeft is how likely it was that more launches would have decided.
func chanceLeft(chance float64) string {
	if chance < leastChance {
		return fmt.Sprintf("more launches had less than a %s chance of deciding", percent(leastChance))
	}
	return fmt.Sprintf("more launches had a %s chance of deciding", percent(chance))
}

// testWords are how the numbers were decided.
func testWords(t *verdict.Test) string {
	if t == nil || len(t.Looks) == 0 {
		return ""
	}
	how := "t-test on " + verdict.Launches(t.Looks[len(t.Looks)-1].N)
	switch t.Form {
	case verdict.Ratio:
		how = "Welch's t-test on the logarithms of " + verdict.Launches(t.Looks[len(t.Looks)-1].N)
	case verdict.Difference:
		how = "Welch's " + how
	}
	look := t.Looks[len(t.Looks)-1]
	text := fmt.Sprintf("%s of each: %s for a pass (required ≤ %s), %s for a fail (required ≤ %s)", how, verdict.PIs(look.PPass), verdict.PLevel(t.Pass), verdict.PIs(look.PFail), verdict.PLevel(t.Fail))
	switch {
	case t.Near(look):
		text += "; too near the threshold for so few launches, as starts may have two speeds"
	case t.Stop == verdict.StopScreen:
		text = "screened: one launch of each only shows a difference far beyond the threshold, as here"
	case look.N == 1:
		text = "none: one launch of each only shows a difference far beyond the threshold"
	}
	switch t.Stop {
	case verdict.StopFutile:
		text += "\n" + chanceLeft(look.Chance) + ", so it stopped"
	case verdict.StopPass:
		if len(t.Plan) == 0 || look.N < t.Plan[len(t.Plan)-1] {
			text += "\nstopped early at a pass, so the estimate is slightly optimistic: quote the bounds"
		}
	}
	if t.Floor > 0 {
		text += fmt.Sprintf("\nlaunches are taken to vary by at least %s, as earlier ones on record did", percent(t.Floor))
	}
	if !t.Note.IsZero() {
		text += "\n" + t.Note.String()
	}
	return text
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
