package gates

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
)

func TestComparisons(t *testing.T) {
	got := decided(compiled(t, "chat.tg.gain >= 0.1 and levels.smoke in ['fail']"), full())
	gain := *got.Inputs[0].Value
	want := []verdict.Comparison{
		{Text: "chat.tg.gain >= 0.1", Reads: []string{"chat.tg.gain"}, Left: verdict.Num("", gain, "ratio").Value, Op: ">=", Right: verdict.Num("", 0.1, "ratio").Value, Holds: true, Verdict: verdict.Pass},
		{Text: "levels.smoke in ['fail']", Reads: []string{"levels.smoke"}, Left: verdict.Text("", "pass").Value, Op: "in", Right: verdict.List("", []string{"fail"}).Value, Holds: false, Verdict: verdict.Fail},
	}
	if len(got.Comparisons) != len(want) {
		t.Fatalf("%+v", got.Comparisons)
	}
	for i, c := range got.Comparisons {
		if c.Test == nil {
			t.Errorf("%s does not say how it was decided", c.Text)
		}
		if c.Test = nil; !reflect.DeepEqual(c, want[i]) {
			t.Errorf("%+v, want %+v", c, want[i])
		}
	}
	if got.Name != "r" || got.Expr != "chat.tg.gain >= 0.1 and levels.smoke in ['fail']" || got.Source != "plan.hcl:40:14" || !got.Decides {
		t.Errorf("%+v", got)
	}
}

// TestMeasured: the claim of a hypothesis is read like the input of a rule, and nothing
// is reported if nothing can be read.
func TestMeasured(t *testing.T) {
	if got := Measured(nil, &Evidence{}); !got.IsZero() {
		t.Errorf("without a probe: %+v", got)
	}
	rule := compiled(t, "chat.tg.change > 0")
	if got := Measured(rule, &Evidence{}); !got.IsZero() {
		t.Errorf("without evidence: %+v", got)
	}
	if got := Measured(rule, full()); got.Kind != "value.seen" || got.Values["value"].Unit != "ratio" || *got.Values["n"].Number != 4 || *got.Values["base_n"].Number != 4 || got.Values["interval"].To == nil {
		t.Errorf("measured: %+v", got)
	}
}

// TestCrashBound: each crash that a launch counts was one more start besides the launches
// that count, and a bound is written as a number.
func TestCrashBound(t *testing.T) {
	for _, c := range []struct {
		crashes []float64
		rule    string
		want    string
	}{
		{[]float64{0, 0, 0, 0}, "engine.crashes == 0", "below 53% "},
		{[]float64{0, 0}, "engine.crashes <= 2", "below 78% "},
		{[]float64{3, 0, 0, 0}, "engine.crashes <= 3", "below 77% "},
		{[]float64{1, 1}, "engine.crashes <= 2", "below 90% "},
		{[]float64{200, 0}, "engine.crashes <= 200", "below 100% "},
	} {
		ev := with(func(f *Feature) {
			f.Candidate.Launches = f.Candidate.Launches[:len(c.crashes)]
			for i, n := range c.crashes {
				set(&f.Candidate, i, "engine.crashes", "median", n)
			}
		})
		got := decided(compiled(t, c.rule), ev)
		if got.Verdict != verdict.Pass || !strings.Contains(got.Reasons[0].String(), c.want) {
			t.Errorf("%v: %s %q, wanted %q", c.crashes, got.Verdict, verdict.Lines(got.Reasons), c.want)
		}
	}
}

// TestTestsExplainThemselves: what a test says about itself is what was tested.
func TestTestsExplainThemselves(t *testing.T) {
	s := noiseless("chat.tg")
	s.Noise["chat.tg"] = verdict.Noise{SD: 0.004, DF: 9}
	ev := full()
	ev.Features["f"].Candidate.Launches = append(ev.Features["f"].Candidate.Launches, medians("f", 1, 1, 1, 1, 38.5).Launches[4])
	got := Decide([]*plans.Rule{compiled(t, "chat.tg.gain >= 0.10"), compiled(t, "chat.tg.gain < 0.5")}, ev, s)[0]
	test := got.Comparisons[0].Test
	if test.Metric != "chat.tg" || test.Stat != "median" || test.Unit != "tok/s" || test.Arm != "f" || test.Against != "baseline" || !test.More {
		t.Errorf("%+v", test)
	}
	if test.Threshold != 0.10 || math.Abs(test.Theta-math.Log(1.1)) > 1e-15 || test.Pass != 0.002 || test.Fail != 0.0075 || !slices.Equal(test.Share, []verdict.Share{{Of: verdict.ShareAll, N: 2}}) || test.Relation != "gain" || test.Saved || test.Negated {
		t.Errorf("%+v", test)
	}
	if test.Floor != 0.004 || test.FloorDF != 9 || fmt.Sprint(test.Plan) != "[2 3 4 6 8]" || test.First != 2 || test.Stop != verdict.StopPass || len(test.Looks) != 2 {
		t.Errorf("%+v", test)
	}
	if len(test.Values) != 4 || len(test.Base) != 4 || fmt.Sprint(test.Launches, test.BaseLaunches, test.Rounds, test.Unpaired) != "[f.1 f.2 f.3 f.4] [baseline.1 baseline.2 baseline.3 baseline.4] [1 2 3 4] [f.5]" {
		t.Errorf("%+v", test)
	}
	if text := got.Reasons[0].String(); !strings.Contains(text, "3 launches per arm") || !strings.HasSuffix(text, "so not counted: f.5") {
		t.Error(text)
	}
	// It survives being written: nothing in it is infinite.
	data := must.Get(json.Marshal(got))(t)
	var back verdict.Rule
	if err := json.Unmarshal(data, &back); err != nil || fmt.Sprint(*back.Comparisons[0].Test.Low) != fmt.Sprint(*test.Low) {
		t.Error(err, back)
	}
}

// TestHowTestsEnd covers every way in which a test ends, with its sentence and whether
// more launches are requested.
func TestHowTestsEnd(t *testing.T) {
	recorded, quick, two := noiseless("chat.tg"), usual, usual
	quick.Min, quick.Max = 1, 1
	two.Max = 2
	known := usual
	known.Noise = map[string]verdict.Noise{"chat.tg": {SD: 0.004, DF: 16}}
	knownTwo, knownThree := known, known
	knownTwo.Max, knownThree.Min = 2, 3
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
		{"pass", "chat.tg.gain >= 0.10", []float64{38.4, 38.6, 38.5}, []float64{31.58, 31.82, 31.63}, recorded, "pass", "passed", false, "chat.tg.gain +21.5% (required ≥ +10%, lower bound +19.3%, 3 launches per arm)"},
		{"fail", "chat.tg.gain >= 0.10", []float64{29, 28.8, 29.1}, []float64{31.58, 31.82, 31.63}, recorded, "fail", "failed", false, "chat.tg.gain -8.6% (required ≥ +10%, upper bound -7.4%, 3 launches per arm)"},
		{"goes on", "chat.tg.gain >= 0.10", []float64{34.9, 35.1, 35}, []float64{31.58, 31.82, 31.63}, recorded, "inconclusive", "open", true, "chat.tg.gain +10.5% (required ≥ +10%, bounds +8.5% to +11.6%, 3 of up to 8 launches per arm: undecided"},
		{"futile", "chat.tg.gain >= -0.03", []float64{4400, 4650, 4290, 4520}, []float64{4341, 4702, 4470, 4380}, usual, "inconclusive", "futile", false, "bounds -10.8% to +7.1%, 4 launches per arm: undecided, more had a 3.5% chance of deciding"},
		{"the end", "chat.tg.gain >= 0.03", []float64{32.7, 33.5, 32.2, 33, 33.3, 32.1, 32.9, 32.6}, steady, usual, "inconclusive", "ended", false, "8 launches per arm: undecided"},
		{"nobody looked yet", "chat.tg.gain >= 0.10", []float64{38.4, 38.6, 38.5}, []float64{31.58, 31.82, 31.63}, usual, "inconclusive", "open", true, "chat.tg.gain +21.5% (required ≥ +10%, 3 launches per arm: undecided, first look at 4"},
		{"one launch", "chat.tg.gain >= 0.10", []float64{38.4}, []float64{31.58}, usual, "inconclusive", "open", true, "1 launch per arm: launch-to-launch variance unknown"},
		{"one launch of one arm", "chat.tg >= 30", []float64{38.4}, []float64{31.58}, usual, "inconclusive", "open", true, "1 launch: launch-to-launch variance unknown"},
		{"one launch is all", "chat.tg.gain >= 0.10", []float64{38.4}, []float64{31.58}, quick, "inconclusive", "ended", false, "1 launch per arm: launch-to-launch variance unknown"},
		{"one launch is all, screened", "chat.tg.gain >= 0.10", []float64{20}, []float64{31.58}, quick, "fail", "screened", false, "chat.tg.gain -36.7% (required ≥ +10%, 1 launch per arm: too far off, more would not help"},
		{"one launch is all, just not screened", "chat.ttft.change <= 0.10", []float64{31.58}, []float64{45}, quick, "inconclusive", "ended", false, "1 launch per arm"},
		{"one launch is all, latency screened", "chat.ttft.change <= 0.10", []float64{31.58}, []float64{47}, quick, "fail", "screened", false, "too far off"},
		{"one launch is all, a level screened", "chat.tg >= 60", []float64{38}, []float64{47}, quick, "fail", "screened", false, "1 launch: too far off"},
		{"a difference has no screen", "chat.tg.delta >= 60", []float64{38}, []float64{47}, quick, "inconclusive", "ended", false, "1 launch per arm"},
		{"two launches are all", "chat.tg.gain >= 0.10", []float64{20, 20.1}, []float64{31.58, 31.6}, two, "inconclusive", "ended", false, "2 launches per arm: a verdict needs 4 where no launch-to-launch variance is recorded"},
		{"two launches, clear", "chat.tg.gain >= 0.10", []float64{48.4, 48.6}, []float64{31.58, 31.82}, known, "pass", "passed", false, "chat.tg.gain +53.0% (required ≥ +10%, lower bound +26.5%, clear at 2 launches per arm: 82 recorded standard deviations from the threshold)"},
		{"two launches, clearly not", "chat.tg.gain >= 0.10", []float64{20, 20.1}, []float64{31.58, 31.6}, known, "fail", "failed", false, "clear at 2 launches per arm"},
		{"two launches, less clear", "chat.tg.gain >= 0.10", []float64{38.4, 38.6}, []float64{31.58, 31.82}, known, "inconclusive", "open", true, "2 of up to 8 launches per arm: undecided"},
		{"two launches that differ", "chat.tg.gain >= 0.10", []float64{48.4, 49.6}, []float64{31.58, 31.82}, known, "inconclusive", "open", true, "2 of up to 8 launches per arm: undecided"},
		{"two launches that differ, and no more", "chat.tg.gain >= 0.10", []float64{48.4, 49.6}, []float64{31.58, 31.82}, knownTwo, "inconclusive", "ended", false, "2 launches per arm: a verdict needs 3"},
		{"two launches of one arm", "chat.tg >= 10", []float64{48.4, 48.5}, []float64{31.58, 31.82}, known, "inconclusive", "open", true, "2 launches: undecided, first look at 3"},
		{"two launches, and the plan wants three", "chat.tg.gain >= 0.10", []float64{48.4, 48.6}, []float64{31.58, 31.82}, knownThree, "inconclusive", "open", true, "first look at 3"},
		{"three launches, no record", "chat.tg.gain >= 0.10", []float64{38.4, 38.6, 38.5}, []float64{31.58, 31.82, 31.63}, Settings{FalsePass: 0.01, FalseFail: 0.05, Min: 3, Max: 3}, "inconclusive", "ended", false, "a verdict needs 4 where no launch-to-launch variance is recorded"},
		{"three launches, recorded", "chat.tg.gain >= 0.10", []float64{38.4, 38.6, 38.5}, []float64{31.58, 31.82, 31.63}, three, "pass", "passed", false, "3 launches per arm"},
		{"all values equal", "chat.tg.gain >= 0.10", []float64{38, 38, 38, 38}, []float64{31, 31, 31, 31}, usual, "pass", "passed", false, "lower bound +14.8%"},
		{"all values equal at the limit", "chat.tg.gain >= 0", []float64{31, 31, 31, 31}, []float64{31, 31, 31, 31}, usual, "inconclusive", "futile", false, "4 launches per arm"},
		{"one arm equal", "chat.tg.gain >= 0.10", []float64{38, 38, 38, 38}, []float64{31, 31.2, 31.1, 30.9}, usual, "pass", "passed", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ev := with(func(f *Feature) { f.Candidate, f.Parent = medians("f", c.own...), medians("baseline", c.base...) })
			got := Decide(compileAll(t, c.rule), ev, c.s)[0]
			test := got.Comparisons[0].Test
			if got.Verdict != c.want || test.Stop != c.stop || !strings.Contains(got.Reasons[0].String(), c.says) || len(got.Reasons) != 1 {
				t.Errorf("%s, %s: %q", got.Verdict, test.Stop, verdict.Lines(got.Reasons))
			}
			if open := Open([]verdict.Rule{got}); (len(open) == 1 && open[0] == "f") != c.open || !c.open && len(open) > 0 {
				t.Errorf("open %v, wanted %v", open, c.open)
			}
		})
	}
}

// TestCountsOnlyGrow: a count that is not reached yet may still be, and one that exceeded
// what is required cannot come back, so no launch is made for it.
func TestCountsOnlyGrow(t *testing.T) {
	for _, c := range []struct {
		rule string // with 4 launches of 10 requests, and up to 8
		want verdict.Verdict
	}{
		{"chat.tg.n <= 3", "fail"},
		{"chat.tg.n < 4", "fail"},
		{"chat.tg.n <= 4", "inconclusive"}, // the plan allows 8,
		{"chat.tg.base.n < 4", "fail"},
		{"chat.tg.n >= 5", "inconclusive"},
		{"chat.tg.n >= 4", "pass"},
		{"not (chat.tg.n > 3)", "fail"},
		{"not (chat.tg.n < 5)", "inconclusive"},
		{"chat.tg.n == 3", "inconclusive"},
		{"chat.tg.n == 4", "inconclusive"},
		{"not (chat.tg.n == 4)", "inconclusive"},
		{"chat.tg.n in [3, 5]", "inconclusive"},
		{"chat.tg.n not in [4, 5]", "inconclusive"},
		{"chat.tg.n_requests <= 39", "fail"},
		{"chat.tg.n_requests <= 40", "inconclusive"},
		{"chat.tg.n_requests >= 40", "pass"},
		{"2 * chat.tg.n <= 6", "fail"},
		{"chat.tg.n > 1 * chat.tg.base.n", "inconclusive"}, // both may still grow
	} {
		got := decided(compiled(t, c.rule), full())
		if open := len(got.Open) > 0; got.Verdict != c.want || open != (c.want == verdict.Inconclusive) {
			t.Errorf("%s: %s, open %v, wanted %s: %q", c.rule, got.Verdict, got.Open, c.want, verdict.Lines(got.Reasons))
		}
	}
	// The plan allows no more: what is counted is all that there will be.
	last := usual
	last.Max = 4
	for rule, want := range map[string]verdict.Verdict{"chat.tg.n >= 6": "fail", "chat.tg.n_requests <= 40": "pass", "chat.tg.n == 4": "pass"} {
		if got := Decide(compileAll(t, rule), full(), last)[0]; got.Verdict != want || len(got.Open) > 0 {
			t.Errorf("%s of 4: %s, open %v, wanted %s", rule, got.Verdict, got.Open, want)
		}
	}
	one := with(func(f *Feature) { f.Candidate.Launches = f.Candidate.Launches[:1] })
	if got := decided(compiled(t, "chat.tg.n < 1"), one); got.Verdict != verdict.Inconclusive {
		t.Errorf("one launch decides: %s: %q", got.Verdict, verdict.Lines(got.Reasons))
	}
}
