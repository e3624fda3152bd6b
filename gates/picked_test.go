package gates

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// cellOf is a cell of a matrix whose launches had these values of chat.tg.
func cellOf(name string, values ...float64) Arm {
	a := Arm{Name: name}
	for i, v := range values {
		s := summary(v, "tok/s")
		s.Better = measure.Higher
		a.Launches = append(a.Launches, Launch{ID: fmt.Sprintf("%s.%d", name, i+1), Round: i + 1, Metrics: map[string]measure.Summary{"chat.tg": s}})
	}
	return a
}

// about is values near a number, like those of launches of one variant.
func about(v float64, n int) (out []float64) {
	for i := range n {
		out = append(out, v*(1+0.001*float64(i%3-1)))
	}
	return out
}

// onBest is a rule on the one feature, evaluated on the best cell of a matrix.
func onBest(t *testing.T, text string) *plans.Rule {
	r := compiled(t, text)
	inputs := r.Program.Inputs
	for _, leaf := range r.Program.Leaves {
		inputs = append(inputs, leaf.Claim.Input)
	}
	for _, in := range inputs {
		in.Row = &plans.Row{Step: "all", Of: plans.MatrixStep, Pick: plans.PickBest, Address: "chat.tg", Stat: "median"}
		in.Feature = in.Row.Key()
	}
	return r
}

func picked(pick plans.Pick, values string, cells ...Arm) *Feature {
	return (&Picked{By: plans.Row{Step: "all", Of: plans.MatrixStep, Pick: pick, Engine: values, Address: "chat.tg", Stat: "median"}, Cells: cells, Of: len(cells) - 1}).Evidence()
}

// TestBestCell: that some cell is this good is shown by the best one, and refuted only by
// all of them.
func TestBestCell(t *testing.T) {
	base := cellOf("baseline", about(100, 8)...)
	wide := cellOf("kv=wide", 80, 120, 90, 110, 85, 115, 95, 105)
	for name, tt := range map[string]struct {
		cells []Arm
		less  bool
		want  verdict.Verdict
		best  string
	}{
		"the best is shown":                    {[]Arm{cellOf("kv=on", about(110, 8)...), cellOf("kv=slow", about(90, 8)...)}, false, verdict.Pass, "kv=on"},
		"none is":                              {[]Arm{cellOf("kv=on", about(101, 8)...), cellOf("kv=slow", about(90, 8)...)}, false, verdict.Fail, "kv=on"},
		"another may be":                       {[]Arm{cellOf("kv=on", about(101, 8)...), wide}, false, verdict.Inconclusive, "kv=on"},
		"that none is, is shown by all":        {[]Arm{cellOf("kv=on", about(101, 8)...), cellOf("kv=slow", about(90, 8)...)}, true, verdict.Pass, "kv=on"},
		"that none is, is refuted by one":      {[]Arm{cellOf("kv=on", about(110, 8)...), wide}, true, verdict.Fail, "kv=on"},
		"that none is, where another may":      {[]Arm{cellOf("kv=on", about(101, 8)...), wide}, true, verdict.Inconclusive, "kv=on"},
		"that none is, where one is not known": {[]Arm{cellOf("kv=on", about(101, 8)...), cellOf("kv=slow", about(90, 8)...), {Name: "unmeasured"}}, true, verdict.Inconclusive, "kv=on"},
		"one that lacks the metric is out":     {[]Arm{cellOf("kv=on", about(110, 8)...), {Name: "kv=odd", Launches: []Launch{{ID: "odd.1"}}}}, false, verdict.Pass, "kv=on"},
	} {
		measured := slices.DeleteFunc(append([]Arm{base}, tt.cells...), func(a Arm) bool { return a.Name == "unmeasured" })
		ev := picked(plans.PickBest, "", measured...)
		ev.Picked.Left = len(tt.cells) + 1 - len(measured)
		text := "chat.tg.gain >= 0.05"
		if tt.less {
			text = "chat.tg.gain <= 0.05"
		}
		got := Decide([]*plans.Rule{onBest(t, text)}, &Evidence{Features: map[string]*Feature{"matrix.all.best.chat.tg": ev}}, Settings{FalsePass: 0.01, FalseFail: 0.05, Min: 4, Max: 8})[0]
		if got.Verdict != tt.want || ev.Candidate.Name != tt.best {
			t.Errorf("%s: %s by %s, want %s by %s: %+v", name, got.Verdict, ev.Candidate.Name, tt.want, tt.best, got.Reasons)
		}
	}
}

// TestEffectArms: effects of values are computed from cells that differ in them; from
// cells that do not show an effect, none is.
func TestEffectArms(t *testing.T) {
	cells := []Arm{cellOf("baseline", about(100, 4)...), cellOf("kv=on", about(150, 4)...), cellOf("moe=gemm", about(120, 4)...), cellOf("kv=on+moe=gemm", about(198, 4)...)}
	ratio := func(f *Feature) float64 {
		own, _ := measureOf(f.Candidate)
		base, _ := measureOf(f.Parent)
		return own / base
	}
	for name, tt := range map[string]struct {
		values string
		cells  []Arm
		want   float64
	}{
		"alone, over both":  {"kv=on", cells, math.Sqrt(1.5 * 1.65)},
		"together":          {"moe=gemm+kv=on", cells, 1.1},
		"one of two cells":  {"kv=on", cells[:2], 1.5},
		"a pair of three":   {"kv=on+moe=gemm", cells[:3], 0},
		"never by itself":   {"kv=on", []Arm{cells[0], cells[3]}, 0},
		"not in any of all": {"kv=off", cells, 0},
	} {
		f := picked(plans.PickEffect, tt.values, tt.cells...)
		switch {
		case tt.want == 0 && f.Broken != verdict.Inconclusive:
			t.Errorf("%s: %s", name, f.Broken)
		case tt.want != 0 && (f.Broken != "" || math.Abs(ratio(f)-tt.want) > 1e-9):
			t.Errorf("%s: %v (%s), want %v", name, ratio(f), f.Cause.Code, tt.want)
		}
		if first, _ := measureOf(f.Parent); tt.want != 0 && math.Abs(first-100) > 0.2 {
			t.Errorf("%s: stands at %v, want the baseline's 100", name, first)
		}
	}
}

// measureOf is the geometric mean of an arm's launches.
func measureOf(a Arm) (float64, int) {
	sum := 0.0
	for _, l := range a.Launches {
		sum += math.Log(l.Metrics["chat.tg"].Stats["median"])
	}
	return math.Exp(sum / float64(len(a.Launches))), len(a.Launches)
}

// TestRatesOfTheBest: of cells that are all at the threshold hardly one in a hundred
// passes, however many there are to pick from and however differently they vary.
func TestRatesOfTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rule := []*plans.Rule{onBest(t, "chat.tg.gain >= 0.05")}
	const times = 2000
	for _, n := range []int{1, 7, 31} {
		passes := 0
		for range times {
			draw := func(name string, mean, sd float64) Arm {
				values := make([]float64, 6)
				for i := range values {
					values[i] = mean * math.Exp(sd*rng.NormFloat64())
				}
				return cellOf(name, values...)
			}
			cells := []Arm{draw("baseline", 100, 0.01)}
			for i := range n {
				cells = append(cells, draw(fmt.Sprintf("kv=%d", i), 105, 0.01*math.Pow(4, float64(i%3)-1)))
			}
			ev := &Evidence{Features: map[string]*Feature{"matrix.all.best.chat.tg": picked(plans.PickBest, "", cells...)}}
			if Decide(rule, ev, Settings{FalsePass: 0.01, FalseFail: 0.05, Min: 4, Max: 6})[0].Verdict == verdict.Pass {
				passes++
			}
		}
		if passes > times/50 {
			t.Errorf("best of %d: %d of %d passed, want about 1%% at most", n, passes, times)
		}
		t.Logf("best of %d: %.2f%% passed", n, 100*float64(passes)/times)
	}
}
