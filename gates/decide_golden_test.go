package gates

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// noiseless is launch noise that is recorded and too small to bear on anything, so
// that the first look is at 3 launches.
func noiseless(addresses ...string) Settings {
	s := usual
	s.Noise = map[string]Noise{}
	for _, a := range addresses {
		s.Noise[a] = Noise{SD: 1e-9, DF: 8}
	}
	return s
}

// TestWorkedCases decides the worked cases of the statistics end to end, written
// in every way that says the same.
func TestWorkedCases(t *testing.T) {
	data, err := os.ReadFile("stats/testdata/sequential.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Golden []struct {
			Name                string
			Baseline, Candidate []float64
			Threshold           float64
			EstPct              float64 `json:"est_pct"`
			LowerPct            float64 `json:"lower_pct"`
			UpperPct            float64 `json:"upper_pct"`
			SELog               float64 `json:"se_log"`
			DF                  float64 `json:"df"`
			PPass               float64 `json:"p_pass"`
			PFail               float64 `json:"p_fail"`
			Chance              float64 `json:"projected_chance"`
			Verdict             string
		}
	}
	if err := json.Unmarshal(data, &file); err != nil || len(file.Golden) != 6 {
		t.Fatal(len(file.Golden), err)
	}
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-6*math.Max(1e-3, math.Abs(want)) }
	for _, c := range file.Golden {
		g := c.Threshold
		for _, way := range []struct {
			rule string
			less bool
			// ownNumber turns per cents of speed into the rule's own number.
			own func(pct float64) float64
		}{
			{fmt.Sprintf("chat.tg.gain >= %v", g), false, func(p float64) float64 { return p / 100 }},
			{fmt.Sprintf("chat.tg.change >= %v", g), false, func(p float64) float64 { return p / 100 }},
			{fmt.Sprintf("not (chat.tg.change < %v)", g), false, func(p float64) float64 { return p / 100 }},
			{fmt.Sprintf("%v <= chat.tg.gain", g), false, func(p float64) float64 { return p / 100 }},
			{fmt.Sprintf("chat.tg >= %v * chat.tg.base", 1+g), false, func(p float64) float64 { return p / 100 }},
			{fmt.Sprintf("chat.ttft.gain >= %v", 1-1/(1+g)), true, func(p float64) float64 { return 1 - 1/(1+p/100) }},
			{fmt.Sprintf("chat.ttft.change <= %v", 1/(1+g)-1), true, func(p float64) float64 { return 1/(1+p/100) - 1 }},
		} {
			t.Run(c.Name+"/"+way.rule, func(t *testing.T) {
				ev := with(func(f *Feature) {
					f.Candidate, f.Parent = medians("f", c.Candidate...), medians("baseline", c.Baseline...)
				})
				got := Decide([]*plans.Rule{compiled(t, way.rule)}, ev, upTo(len(c.Baseline)))[0]
				test := got.Comparisons[0].Test
				want := map[string]verdict.Verdict{"PASS": "pass", "FAIL": "fail", "INCONCLUSIVE": "inconclusive"}[c.Verdict]
				if got.Verdict != want || len(test.Looks) == 0 {
					t.Fatalf("%s %+v", got.Verdict, got.Reasons)
				}
				last := test.Looks[len(test.Looks)-1]
				if last.N != len(c.Baseline) || !near(last.SE, c.SELog) || !near(last.DF, c.DF) || !near(last.PPass, c.PPass) || !near(last.PFail, c.PFail) || !near(last.Chance, c.Chance) {
					t.Errorf("%+v", last)
				}
				low, high := way.own(c.LowerPct), way.own(c.UpperPct)
				if low > high {
					low, high = high, low
				}
				if !near(*test.Estimate, way.own(c.EstPct)) || !near(*test.Low, low) || !near(*test.High, high) {
					t.Errorf("%v in %v to %v, want %v to %v", *test.Estimate, *test.Low, *test.High, low, high)
				}
			})
		}
	}
}

// upTo are settings whose only look before the last is at n launches.
func upTo(n int) Settings {
	s := noiseless("chat.tg", "chat.ttft")
	s.Min = n
	return s
}

// TestScales: a claim and its mirror are decided alike, and a claim and its denial
// against each other, whatever form they have.
func TestScales(t *testing.T) {
	up, down := []float64{44, 44.1, 44.05, 43.9}, []float64{40, 40.1, 39.95, 40}
	for _, c := range []struct {
		rule, form string
		want       verdict.Verdict
	}{
		{"chat.tg.gain >= 0.05", "ratio", "pass"},
		{"chat.tg.gain <= 0.05", "ratio", "fail"},
		{"chat.tg.change < 0.2", "ratio", "pass"},
		{"chat.tg.change > 0.2", "ratio", "fail"},
		{"chat.ttft.gain > 0.05", "ratio", "pass"},
		{"chat.ttft.gain < 0.05", "ratio", "fail"},
		{"chat.ttft.change <= -0.05", "ratio", "pass"},
		{"chat.ttft.change >= -0.05", "ratio", "fail"},
		{"chat.tg.delta >= 2", "difference", "pass"},
		{"chat.tg.delta <= 2", "difference", "fail"},
		{"chat.ttft.delta < 0", "difference", "pass"},
		{"chat.tg >= 43", "log level", "pass"},
		{"chat.tg <= 43", "log level", "fail"},
		{"chat.tg.base < 41", "log level", "pass"},
		{"chat.tg.base > 41", "log level", "fail"},
		{"chat.ttft <= 24", "log level", "pass"},
		{"chat.tg > 0", "level", "pass"},
		{"chat.tg < 0", "level", "fail"},
		{"chat.tg.cv < 0.2", "level", "pass"},
		{"chat.tg.root.gain > 1", "ratio", "pass"},
		{"chat.tg >= 0.97 * chat.tg.base", "ratio", "pass"},
		{"chat.tg - chat.tg.base > 2", "difference", "pass"},
		{"chat.tg.p50 > 43", "log level", "pass"},
		{"engine.memory_gb.change <= 0.05", "range", "pass"},
		{"engine.memory_gb.change >= 0.05", "range", "fail"},
		{"engine.memory_gb.gain >= 0.05", "range", "fail"},
		{"engine.memory_gb.delta < 0.5", "range", "pass"},
		{"engine.memory_gb < 1.5", "range", "fail"},
		{"engine.crashes == 0", "exact", "pass"},
		{"levels.kernels == 'fail'", "exact", "fail"},
	} {
		ev := with(func(f *Feature) { f.Candidate, f.Parent = medians("f", up...), medians("baseline", down...) })
		got := decided(compiled(t, c.rule), ev)
		if got.Verdict != c.want || string(got.Comparisons[0].Test.Form) != c.form {
			t.Errorf("%s: %s by %s: %v", c.rule, got.Verdict, got.Comparisons[0].Test.Form, got.Reasons)
		}
		denied := map[verdict.Verdict]verdict.Verdict{"pass": "fail", "fail": "pass"}[c.want]
		if got := decided(compiled(t, "not ("+c.rule+")"), ev); got.Verdict != denied {
			t.Errorf("not (%s): %s: %v", c.rule, got.Verdict, got.Reasons)
		}
		if got := decided(compiled(t, "not (not ("+c.rule+"))"), ev); got.Verdict != c.want {
			t.Errorf("not not %s: %s", c.rule, got.Verdict)
		}
	}
}

// TestMirrors: what says the same is decided the same, of any launches, and what
// says the opposite against it, but for who bears the stricter level.
func TestMirrors(t *testing.T) {
	same := [][]string{
		{"chat.tg.gain >= 0.03", "0.03 <= chat.tg.gain", "chat.tg.change >= 0.03", "not (chat.tg.gain < 0.03)", "chat.tg >= 1.03 * chat.tg.base", "chat.tg / 1.03 >= chat.tg.base"},
		{"chat.ttft.gain >= 0.03", "chat.ttft.change <= -0.03", "chat.ttft <= 0.97 * chat.ttft.base"},
		{"chat.tg.delta > 1", "chat.tg - chat.tg.base > 1", "1 < chat.tg.delta"},
		{"chat.tg > 32", "not (chat.tg <= 32)", "2 * chat.tg > 64"},
	}
	r := rand.New(rand.NewPCG(6, 5))
	for range 60 {
		n := 3 + r.IntN(6)
		own, base := make([]float64, n), make([]float64, n)
		for i := range own {
			own[i], base[i] = 32+0.3*r.NormFloat64(), 31+0.3*r.NormFloat64()
		}
		ev := with(func(f *Feature) { f.Candidate, f.Parent = medians("f", own...), medians("baseline", base...) })
		for _, ways := range same {
			first := decided(compiledOnce(t, ways[0]), ev)
			for _, way := range ways[1:] {
				got := decided(compiledOnce(t, way), ev)
				if got.Verdict != first.Verdict || len(got.Open) != len(first.Open) || got.Comparisons[0].Test.Stop != first.Comparisons[0].Test.Stop {
					t.Fatalf("%s and %s differ: %q %q", ways[0], way, tell.Lines(first.Reasons), tell.Lines(got.Reasons))
				}
			}
			// With levels exchanged, a denial is the mirror of what it denies.
			yes := first.Comparisons[0].Test
			no := decided(compiledOnce(t, "not ("+ways[0]+")"), ev).Comparisons[0].Test
			for i := range min(len(yes.Looks), len(no.Looks)) {
				a, b := yes.Looks[i], no.Looks[i]
				if math.Abs(a.PPass-b.PFail) > 1e-12 || a.SE != b.SE || math.Abs(a.Estimate+b.Estimate) > 1e-12 {
					t.Fatalf("%+v %+v", a, b)
				}
			}
		}
	}
}
