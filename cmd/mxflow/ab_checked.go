package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

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

func rate(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + " %" }

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
