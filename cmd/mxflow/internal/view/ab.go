package view

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/questions/ab"
)

// AB shows a comparison of two commands: the question before, the answer after the run.
type AB struct {
	apply.Observer
	Question *ab.Question
	Place    ab.Place
	// Screen is called each time: loading a plan adds the redaction of its secrets.
	Screen func() table.Screen
	// JSON prints the result for programs; nil if it is for people.
	JSON func(any)

	on table.Screen
}

// Ask prints the question, before anything is started.
func (s *AB) Ask() {
	s.on = s.Screen()
	fmt.Fprintf(s.on, "A  %s\nB  %s\nclaim: B %s\n", oneLine(s.Question.Arms[0].Text), oneLine(s.Question.Arms[1].Text),
		s.Question.Claim.Says(s.Question.Label()))
	s.row("on record: ", s.Question.Noise.String(), "")
	s.row("warning: ", s.Question.Doubt.String(), "")
	fmt.Fprintln(s.on)
}

func (s *AB) Event(ev runtime.Event) {
	if s.JSON == nil {
		ev = s.Question.Reword(ev)
	}
	s.Observer.Event(ev)
}

// End prints the result, in place of an apply's table.
func (s *AB) End(res *apply.Result) {
	s.Observer.End(res)
	r := s.Question.Result(res.Store, res.Summary, res.End, s.Place)
	r.Run, r.Basis = res.Run, res.Basis
	r.Conclude(s.Question, res.End)
	if s.JSON != nil {
		s.JSON(r)
		return
	}
	s.on = s.Screen()
	s.print(r, res.Took)
}

// print prints the answer first, then the launches behind it, what was proven about them,
// and what to do next.
func (s *AB) print(r *ab.Result, took time.Duration) {
	fmt.Fprintln(s.on)
	if reused := r.Basis.String(); reused != "" {
		s.row("", reused+"; --rerun measures again", "")
	}
	word := cmp.Or(strings.ToUpper(string(r.Verdict)), "OPEN")
	s.row(word+"  ", r.Said, table.Coloured(word, string(r.Verdict), s.on.Colour)+"  ")
	s.numbers(r)
	if r.Accuracy != nil && len(r.Accuracy.Reasons) > 0 {
		s.row("", r.Accuracy.Reasons[0].String(), "")
	}
	for _, why := range r.Reasons {
		s.row("why       ", why.String(), "")
	}
	if len(r.LogTail) > 0 {
		fmt.Fprintf(s.on, "its log ended with\n  | %s\n", strings.Join(r.LogTail, "\n  | "))
	}
	fmt.Fprintln(s.on)
	s.launches(r)
	s.proven(r)
	for _, note := range caveats(r) {
		s.row("note      ", note, "")
	}
	by := []string{"mxflow", "explain", "feature.B", s.Place.Plan}
	if s.Place.State != filepath.Join(filepath.Dir(s.Place.Plan), store.DirName) {
		by = append(by, "--state", s.Place.State)
	}
	fmt.Fprintln(s.on)
	for _, advice := range r.Advice {
		s.row("next      ", advice, "")
	}
	fmt.Fprintf(s.on, "the test  %s\n", shell.Line(by...))
	fmt.Fprintf(s.on, "%s, exit status %d\n", verdict.Rough(took.Seconds()), r.Exit)
}

// row prints a name and its text, wrapped beside the name; none without a text. drawn is
// the name in colour.
func (s *AB) row(name, text, drawn string) {
	if text == "" {
		return
	}
	text = foreign.Line(text)
	if s.on.Width > 0 {
		text = table.Wrap(text, max(table.LeastColumn, min(table.MaxColumn, s.on.Width-len(name))))
	}
	fmt.Fprintln(s.on, cmp.Or(drawn, name)+strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(name))))
}

// numbers is the deciding metric on both sides, with its bounds in words.
func (s *AB) numbers(r *ab.Result) {
	if r.A.Value == nil || r.B.Value == nil || r.Change == nil {
		return
	}
	change, bounds := verdict.Faster(*r.Change), ""
	if r.Low != nil && r.Verdict.Decided() {
		passed, failed := "passed", "failed"
		if s.Question.Claim.Lower() {
			passed, failed = failed, passed
		}
		is, low, high := verdict.FasterWithin(*r.Change, *r.Low, *r.High)
		change = is
		bounds = fmt.Sprintf(". A claim of %s or lower would have %s, %s or higher %s.", low, passed, high, failed)
	}
	text := fmt.Sprintf("%s: A %s, B %s: %s%s", s.Question.Label(),
		verdict.Short(*r.A.Value, ""), verdict.Short(*r.B.Value, r.Unit), change, bounds)
	s.row("", text, "")
}

// launches are the commands with their launches, and the test.
func (s *AB) launches(r *ab.Result) {
	for i, side := range []ab.Side{r.A, r.B} {
		var values []float64
		for _, l := range side.Launches {
			values = append(values, l.Value)
		}
		s.row(string(rune('A'+i))+"         ", oneLine(s.Question.Arms[i].Text), "")
		text := verdict.Value{Numbers: values}.String()
		if of, err := stats.SampleOf(values); err == nil && len(values) > 1 {
			text += fmt.Sprintf(" %s, varying by %s", r.Unit, percent(of.SD/of.Mean))
		}
		s.row("          ", text, "")
	}
	s.row("test      ", testWords(r), "")
	q := s.Question
	if q.Of != nil {
		s.row("load      ", "that of "+q.Of.File, "")
		return
	}
	text := fmt.Sprintf("pp%d tg%d", q.PP, q.TG)
	if q.Depth > 0 {
		text += fmt.Sprintf(" @ d%d", q.Depth)
	}
	if q.SLO != "" {
		s.row("load      ", text+", rates in search of the capacity under "+q.SLO, "")
		return
	}
	s.row("load      ", fmt.Sprintf("%s, %d at a time, %s + %d warm-up per launch", text, max(q.Concurrency, 1),
		verdict.Count(q.Requests, "request"), q.Warmup), "")
}

// proven is what else changed, what differs, and the levels that both had to pass.
func (s *AB) proven(r *ab.Result) {
	var also, differs, checked []string
	tested := 0.0
	for _, d := range r.Metrics {
		if d.P != nil {
			tested++
		}
	}
	for _, d := range r.Metrics { // each by itself, so one in 20 would be there by chance
		if d.Change != nil && d.P != nil && *d.P*tested <= 0.05 && d.Better != measure.Neither {
			also = append(also, strings.TrimSpace(d.Cell+" "+d.Metric)+" "+d.Brief())
		}
	}
	for _, d := range r.Differs {
		intended := cmp.Or(strings.TrimPrefix(d.Intended, "yes: "), "not declared")
		differs = append(differs,
			fmt.Sprintf("%s %s → %s (%s)", d.What, table.Fit(d.A, 40), table.Fit(d.B, 40), intended))
	}
	if r.Same > 0 {
		differs = append(differs, fmt.Sprintf("%d settings are the same", r.Same))
	}
	for _, l := range r.Levels {
		text := l.Name + " " + string(l.Verdict)
		switch {
		case l.Verdict != verdict.Pass || l.Name == plans.EvalLevel:
		case l.Name != "benchmark" && len(l.Reasons) > 0:
			text = l.Name + ": " + table.Fit(verdict.Brief(l.Reasons[len(l.Reasons)-1]), table.MaxColumn)
		case l.Name == "benchmark" && s.Question.Answers == "unchecked":
			text = "same prompts, answers of equal length (not checked)"
		case l.Name == "benchmark":
			text = "same prompts, the same model's answers, of equal length"
		}
		checked = append(checked, text)
	}
	s.row("also      ", verdict.Behind("not decided: ", strings.Join(also, ", ")), "")
	s.row("differs   ", strings.Join(differs, "; "), "")
	s.row("checked   ", strings.Join(checked, "; "), "")
}

// caveats belong to any quote of the result: starts that broke, what was asked before, and
// the launches' notes.
func caveats(r *ab.Result) (list []string) {
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
			list = append(list,
				fmt.Sprintf("The server of %s crashed in %d of %d measured starts, which have no numbers.",
					side.name, broke, starts))
		}
	}
	var why []verdict.Reason // what disturbed launches, which one note counts
	for _, note := range r.Notes {
		if note.Kind == code.LaunchReplaced.Kind {
			why = append(why, note.Causes...)
		}
	}
	for _, note := range slices.Concat(r.Tries, r.Notes) {
		switch note.Kind {
		case code.LaunchesPerArm.Kind, code.LaunchReplaced.Kind: // reported in more detail elsewhere
			continue
		case code.LaunchesReplaced.Kind:
			if r.A.Replaced+r.B.Replaced == r.A.Broke+r.B.Broke { // as above
				continue
			}
			note = note.From(why...)
		}
		list = append(list, verdict.Sentence(note))
	}
	return list
}

// testWords are how the numbers were decided.
func testWords(r *ab.Result) string {
	t := r.Test
	if t.N() == 0 {
		return ""
	}
	look := t.Looks[len(t.Looks)-1]
	if look.N == 1 {
		return "none: one launch of each only shows what is far beyond the threshold"
	}
	text := fmt.Sprintf("%d of up to %d launches each: %s for a pass (needs ≤ %s), %s for a fail (needs ≤ %s)", look.N,
		r.Most,
		verdict.PIs(look.PPass), verdict.PLevel(t.Pass), verdict.PIs(look.PFail), verdict.PLevel(t.Fail))
	switch {
	case t.Near(look):
		text += "; too near the threshold for so few launches"
	case t.Stop == stats.Futile:
		text += fmt.Sprintf("; stopped early: more launches had a %s chance of deciding",
			map[bool]string{true: "tiny", false: verdict.Digits(look.Chance, "share", -1)}[look.Chance < 0.001])
	}
	if s := r.Rates; s != nil {
		text += fmt.Sprintf(". A false claim passes at most %s of the time, a true one fails at most %s",
			verdict.Number(s.FalsePass, "share"), verdict.Number(s.FalseFail, "share"))
	}
	if r.Beyond > 0 {
		text += fmt.Sprintf(". %s of each made for an earlier claim do not count here", verdict.Launches(r.Beyond))
	}
	return text + verdict.Behind(". ", verdict.Capital(t.TwoSpeeds().String())) + verdict.Behind(". ", t.Note.String())
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// percent is an unsigned percentage: "19.3%", with more digits for a small one.
func percent(share float64) string {
	return strings.TrimPrefix(verdict.Percent(math.Abs(share), 1), "+")
}
