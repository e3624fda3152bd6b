package gates

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// TestHowTestsEnd goes through every way in which a test ends, with its sentence
// and whether more launches are asked for.
func TestHowTestsEnd(t *testing.T) {
	recorded, quick, two := noiseless("chat.tg"), usual, usual
	quick.Min, quick.Max = 1, 1
	two.Max = 2
	three := recorded
	three.Max = 3
	steady := []float64{31, 31.6, 30.7, 31.2, 31.5, 30.8, 31.3, 31.1}
	for _, c := range []struct {
		name      string
		rule      string
		own, base []float64
		s         Settings
		want      verdict.Verdict
		stop      verdict.Stop
		open      bool
		says      string
	}{
		{"pass", "chat.tg.gain >= 0.10", []float64{38.4, 38.6, 38.5}, []float64{31.58, 31.82, 31.63}, recorded, "pass", "passed", false, "chat.tg.gain is +21.5 %, as wanted (>= +10.0 %): at least +19.3 % shown, 3 launches an arm, p = 0.000007 ≤ 0.002"},
		{"fail", "chat.tg.gain >= 0.10", []float64{29, 28.8, 29.1}, []float64{31.58, 31.82, 31.63}, recorded, "fail", "failed", false, "chat.tg.gain is -8.6 %, wanted >= +10.0 %: shown to be at most -7.4 %, 3 launches an arm, p = 0.000001 ≤ 0.015"},
		{"goes on", "chat.tg.gain >= 0.10", []float64{34.9, 35.1, 35}, []float64{31.58, 31.82, 31.63}, recorded, "inconclusive", "open", true, "chat.tg.gain is +10.5 %, wanted >= +10.0 %: between +8.5 % and +11.6 % after 3 launches an arm of at most 8"},
		{"futile", "chat.tg.gain >= -0.03", []float64{4400, 4650, 4290, 4520}, []float64{4341, 4702, 4470, 4380}, usual, "inconclusive", "futile", false, "between -10.8 % and +7.1 %: 4 launches an arm, and a chance of 3.5 % that more would tell"},
		{"the end", "chat.tg.gain >= 0.03", []float64{32.7, 33.5, 32.2, 33, 33.3, 32.1, 32.9, 32.6}, steady, usual, "inconclusive", "ended", false, "8 launches an arm could not tell"},
		{"nobody looked yet", "chat.tg.gain >= 0.10", []float64{38.4, 38.6, 38.5}, []float64{31.58, 31.82, 31.63}, usual, "inconclusive", "open", true, "chat.tg.gain is +21.5 %, wanted >= +10.0 %: 3 launches an arm, and the first look is at 4"},
		{"one launch", "chat.tg.gain >= 0.10", []float64{38.4}, []float64{31.58}, usual, "inconclusive", "open", true, "1 launch an arm says nothing of how launches differ"},
		{"one launch of one arm", "chat.tg >= 30", []float64{38.4}, []float64{31.58}, usual, "inconclusive", "open", true, "1 launch says nothing of how launches differ"},
		{"one launch is all", "chat.tg.gain >= 0.10", []float64{38.4}, []float64{31.58}, quick, "inconclusive", "ended", false, "1 launch an arm says nothing of how launches differ"},
		{"one launch is all, screened", "chat.tg.gain >= 0.10", []float64{20}, []float64{31.58}, quick, "fail", "screened", false, "chat.tg.gain is -36.7 %, wanted >= +10.0 %: 1 launch an arm, so far off that more are not worth it"},
		{"one launch is all, just not screened", "chat.ttft.change <= 0.10", []float64{31.58}, []float64{45}, quick, "inconclusive", "ended", false, "1 launch an arm"},
		{"one launch is all, latency screened", "chat.ttft.change <= 0.10", []float64{31.58}, []float64{47}, quick, "fail", "screened", false, "so far off"},
		{"one launch is all, a level screened", "chat.tg >= 60", []float64{38}, []float64{47}, quick, "fail", "screened", false, "1 launch, so far off"},
		{"a difference has no screen", "chat.tg.delta >= 60", []float64{38}, []float64{47}, quick, "inconclusive", "ended", false, "1 launch an arm says"},
		{"two launches are all", "chat.tg.gain >= 0.10", []float64{20, 20.1}, []float64{31.58, 31.6}, two, "inconclusive", "ended", false, "2 launches an arm cannot tell, since a verdict takes 4 where no launch noise is recorded"},
		{"three launches, no record", "chat.tg.gain >= 0.10", []float64{38.4, 38.6, 38.5}, []float64{31.58, 31.82, 31.63}, Settings{FalsePass: 0.01, FalseFail: 0.05, Min: 3, Max: 3}, "inconclusive", "ended", false, "a verdict takes 4 where no launch noise is recorded"},
		{"three launches, recorded", "chat.tg.gain >= 0.10", []float64{38.4, 38.6, 38.5}, []float64{31.58, 31.82, 31.63}, three, "pass", "passed", false, "3 launches an arm"},
		{"all values equal", "chat.tg.gain >= 0.10", []float64{38, 38, 38, 38}, []float64{31, 31, 31, 31}, usual, "pass", "passed", false, "at least +22.6 % shown"},
		{"all values equal at the limit", "chat.tg.gain >= 0", []float64{31, 31, 31, 31}, []float64{31, 31, 31, 31}, usual, "inconclusive", "futile", false, "4 launches an arm"},
		{"one arm equal", "chat.tg.gain >= 0.10", []float64{38, 38, 38, 38}, []float64{31, 31.2, 31.1, 30.9}, usual, "pass", "passed", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ev := with(func(f *Feature) { f.Candidate, f.Parent = medians("f", c.own...), medians("baseline", c.base...) })
			got := Decide([]*plans.Rule{compiled(t, c.rule)}, ev, c.s)[0]
			test := got.Comparisons[0].Test
			if got.Verdict != c.want || test.Stop != c.stop || !strings.Contains(tell.Line(got.Reasons[0]), c.says) || len(got.Reasons) != 1 {
				t.Errorf("%s, %s: %q", got.Verdict, test.Stop, tell.Lines(got.Reasons))
			}
			if open := Open([]verdict.Rule{got}); (len(open) == 1 && open[0] == "f") != c.open || !c.open && len(open) > 0 {
				t.Errorf("open %v, wanted %v", open, c.open)
			}
		})
	}
}

// TestCountsOnlyGrow: a count that is not reached yet may be, and one that went
// beyond what is wanted cannot come back, so that no launch is made for it.
func TestCountsOnlyGrow(t *testing.T) {
	for _, c := range []struct {
		rule string // with 4 launches of 10 requests, and up to 8
		want verdict.Verdict
	}{
		{"chat.tg.n <= 3", "fail"},
		{"chat.tg.n < 4", "fail"},
		{"chat.tg.n <= 4", "pass"},
		{"3 >= chat.tg.n", "fail"},
		{"chat.tg.base.n < 4", "fail"},
		{"chat.tg.n >= 5", "inconclusive"},
		{"5 <= chat.tg.n", "inconclusive"},
		{"chat.tg.n >= 4", "pass"},
		{"not (chat.tg.n >= 3)", "fail"},
		{"not (chat.tg.n > 3)", "fail"},
		{"not (chat.tg.n < 5)", "inconclusive"},
		{"chat.tg.n == 3", "fail"},
		{"3 == chat.tg.n", "fail"},
		{"chat.tg.n == 4", "pass"},
		{"chat.tg.n == 6", "inconclusive"},
		{"not (chat.tg.n == 4)", "inconclusive"},
		{"chat.tg.n in [1, 2, 3]", "fail"},
		{"chat.tg.n in [3, 5]", "inconclusive"},
		{"chat.tg.n not in [4, 5]", "inconclusive"},
		{"chat.tg.n_requests <= 39", "fail"},
		{"chat.tg.n_requests > 40", "inconclusive"},
		// What is worked out of counts is left open, whichever way it may go.
		{"chat.tg.n - chat.tg.base.n > 0", "inconclusive"},
		{"2 * chat.tg.n <= 6", "inconclusive"},
	} {
		got := decided(compiled(t, c.rule), full())
		if open := len(got.Open) > 0; got.Verdict != c.want || open != (c.want == verdict.Inconclusive) {
			t.Errorf("%s: %s, open %v, wanted %s: %q", c.rule, got.Verdict, got.Open, c.want, tell.Lines(got.Reasons))
		}
	}
	one := with(func(f *Feature) { f.Candidate.Launches = f.Candidate.Launches[:1] })
	if got := decided(compiled(t, "chat.tg.n < 1"), one); got.Verdict != verdict.Inconclusive {
		t.Errorf("one launch decides: %s: %q", got.Verdict, tell.Lines(got.Reasons))
	}
}
