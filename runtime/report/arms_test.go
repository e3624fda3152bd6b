package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestOf: ± is of logs where the mean is, so one launch far off does not dwarf the mean; a share has
// the mean of its rule, and its interval stays within what a share can be.
func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		unit       string
		values     []float64
		mean, std  float64
		low, above float64 // the lower bound, and what the upper one is not above
	}{
		"one far off":         {"tok/s", []float64{1, 1, 1, 16}, 2, 2 * math.Log(16) / 2, 0.2, 100},
		"a share":             {"share", []float64{0.5, 0.98}, 0.74, 0.3394, 0, 1},
		"a share with a zero": {"share", []float64{0, 0.1}, 0.05, 0.0707, 0, 1},
		"above a limit":       {"share", []float64{0.9, 1.3}, 1.1, 0.2828, 0, 1.3},
	} {
		a := &Arm{}
		for _, v := range c.values {
			a.Launches = append(a.Launches, &ledger.Launch{Metrics: map[string]measure.Summary{"chat.x": {Unit: c.unit, Better: measure.Higher, Stats: map[string]float64{"median": v}}}})
		}
		v, ok := a.Of("chat.x", "median")
		if !ok || math.Abs(v.Mean-c.mean) > 1e-3 || math.Abs(v.SD-c.std) > 1e-3 {
			t.Errorf("%s: %v ± %v, want %v ± %v", name, v.Mean, v.SD, c.mean, c.std)
		}
		if v.Low == nil || *v.Low < c.low || *v.High > c.above || !(*v.Low <= v.Mean && v.Mean <= *v.High) {
			t.Errorf("%s: the interval %v is not within %v and %v", name, v, c.low, c.above)
		}
	}
}

// TestArmsStand: of what a session launched, only what a decision read is averaged: not an
// alternative whose session is invalid, a launch that another replaced, nor what a person
// withdrew.
func TestArmsStand(t *testing.T) {
	s := newStory(t)
	s.nodes = []string{"baseline", "feature.draft", "feature.gone"}
	s.begin("r1")
	s.add(baselineOf(set()))
	base := s.launches("s-1", "baseline", set(), 20, 20.4, 19.8, 20.1)
	short := s.launches("s-1", "draft[short]", set("cache=on"), 40, 40.4, 39.8, 282018)
	garbage := s.launches("s-2", "draft[long]", set("cache=long"), 9000, 9000)
	s.feature("draft", true, set("cache=on"), "baseline", base[:3], short[:3], 1, 0.9, func(d *ledger.Decision) {
		d.Session, d.Launches = "s-1", slices.Concat(base, short, garbage)
		d.Alternatives = []ledger.Alternative{{Name: "draft[short]", Set: map[string]string{"cache": "on"}, Verdict: verdict.Pass, Chosen: true}, {Name: "draft[long]", Verdict: verdict.Invalid}}
		d.Evidence[0].Candidate.Name = "draft[short]"
		d.Evidence = append(d.Evidence, ledger.Evidence{Feature: "draft[long]", Candidate: ledger.Arm{Name: "draft[long]"}, Parent: ledger.Arm{Name: "baseline"}})
	})
	gone := s.launches("s-1", "gone", set("moe=routed"), 77, 78)
	s.feature("gone", true, set("moe=routed"), "baseline", base[:2], gone, 3, 2, func(d *ledger.Decision) { d.Session = "s-1" })
	d, _, _ := s.st.Latest("feature.gone")
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: d.Withdraw(ledger.Retraction{Node: d.Node, Reason: "cached prompts", By: "kim"})})
	var got []string
	for _, a := range Arms(s.st) {
		v, _ := a.Of("chat.tg", "median")
		got = append(got, fmt.Sprintf("%s %s %d %s", a.Session, a.Variant, v.N(), v.Bare()))
	}
	if want := "s-1 baseline 3 20.07 ± 0.3|s-1 draft[short] 3 40.07 ± 0.31"; strings.Join(got, "|") != want {
		t.Errorf("%s, want %s", strings.Join(got, "|"), want)
	}
	page := markdown(t, s)
	if !strings.Contains(page, "| chat.tg | 20.07 ± 0.3 tok/s | 40.07 ± 0.31 tok/s | +100% (+93% to +106%) better |") || !strings.Contains(page, "| draft[long] | 2 | ❌ 9000 |") || strings.Contains(page, "282018") {
		t.Errorf("a launch that does not count is averaged:\n%s", page)
	}
}

// TestChangeIsOfWhatDecided: a change by which a rule decided has that decision's estimate
// and bounds, in its own direction, and the means of its launches; any other its 95% interval.
func TestChangeIsOfWhatDecided(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	launches := func(variant string, values ...float64) (out []*ledger.Launch) {
		for i, v := range values {
			out = append(out, &ledger.Launch{ID: fmt.Sprint(variant, i), Ordinal: i + 1, Metrics: map[string]measure.Summary{"chat.ttft": {Unit: "ms", Better: measure.Lower, Stats: map[string]float64{"median": v}}}})
		}
		return out
	}
	base, own := &Arm{Launches: launches("base", 10, 10, 10, 12)}, &Arm{Launches: launches("own", 9, 9, 9, 10)}
	test := &verdict.Test{
		Form: verdict.Ratio, Relation: "gain", Saved: true, Metric: "chat.ttft", Stat: "median", Launches: []string{"own0", "own1"}, BaseLaunches: []string{"base0", "base1"},
		Estimate: at(0.1), Low: at(0.05), High: at(0.15), Looks: []verdict.Look{{N: 2}},
	}
	for _, c := range []struct {
		tests []*verdict.Test
		low   float64
		want  string
		row   string
	}{
		{[]*verdict.Test{nil, test}, 0.05, "-10.0% [-15.0%, -5.0%] better, by the first 2", "10 → 9 ms -10% better"},
		{[]*verdict.Test{test}, -0.02, "~ -10.0% [-15.0%, +2.0%], by the first 2", "10 → 9 ms ~ -10%"},
		{[]*verdict.Test{{Relation: "gain", Metric: "chat.ttft", Stat: "p99", Estimate: at(1), Low: at(1), High: at(1), Launches: test.Launches, BaseLaunches: test.BaseLaunches}}, 0, "~ -11.7% (95% CI -23.0% to +1.2%)", "10.5 → 9.24 ms ~ -12%"},
		{nil, 0, "~ -11.7% (95% CI -23.0% to +1.2%)", "10.5 → 9.24 ms ~ -12%"},
	} {
		test.Low = &c.low
		by := Tests{}
		for _, t := range c.tests {
			by.add(t)
		}
		column := Column{Cell: "chat", Metric: "ttft", Stat: "median"}
		if got := Compare(own, base, column, by).ChangeText(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		m, _ := (&Port{Arm: own, Parent: base, ports: &Ports{tests: by}}).Row(column)
		if got := m.FromTo() + " " + m.Brief(); got != c.row {
			t.Errorf("a row is %q, want %q", got, c.row)
		}
	}
}

func tgLaunches(values ...float64) (launches []*ledger.Launch) {
	for _, v := range values {
		l := tgLaunch(v)
		l.OK, l.Cells = true, []measure.CellRun{{Cell: "chat", Prompt: 32, Output: 8, Concurrency: 1}}
		s := l.Metrics["chat.tg"]
		s.Better = measure.Higher
		l.Metrics["chat.tg"] = s
		launches = append(launches, l)
	}
	return launches
}

// TestComparisons: numbers as scipy.stats.ttest_ind(log(new), log(old), equal_var=False) has
// them, and none where there is nothing to compare.
func TestComparisons(t *testing.T) {
	old, new := tgLaunches(20, 20.4, 19.8, 20.1), tgLaunches(21, 20.2, 20.9, 20.7)
	d := Comparisons(old, new, true, nil)[0]
	for name, c := range map[string]struct{ got, want float64 }{
		"change": {*d.Change, 0.031077883151470087}, "p": {*d.P, 0.031565737233913205},
		"low": {*d.Low, 0.003898542832265414}, "high": {*d.High, 0.05899307127667031},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s is %.12f, want %.12f", name, c.got, c.want)
		}
	}
	if !d.Significant() || !strings.HasSuffix(d.ChangeText(), " better") {
		t.Errorf("%+v", d)
	}
	if d := Comparisons(old, new, false, nil)[0]; d.Change == nil || d.P != nil || d.Low != nil {
		t.Errorf("machines that differ: %+v", d)
	}
	if d := Comparisons(old, new[:1], true, nil)[0]; d.Change == nil || d.P != nil {
		t.Errorf("one launch: %+v", d)
	}
	zero := tgLaunches(20, 0, 20, 20)
	if d := Comparisons(zero, new, true, nil)[0]; !d.Absolute || math.Abs(*d.Change-5.7) > 1e-9 {
		t.Errorf("a zero: %+v", d)
	}
	for name, c := range map[string]struct {
		change func([]*ledger.Launch)
		why    code.Kind
	}{
		"other work": {func(l []*ledger.Launch) { l[0].Cells[0].Prompt = 64 }, "compare.sent"},
		"lacking":    {func(l []*ledger.Launch) { delete(l[3].Metrics, "chat.tg") }, "compare.lacking"},
		"measured":   {func(l []*ledger.Launch) { l[0].Cells[0].ExactOutput = !l[0].Cells[0].ExactOutput }, code.MeasuredApart.Kind},
	} {
		other := tgLaunches(21, 20.2, 20.9, 20.7)
		c.change(other)
		if d := Comparisons(old, other, true, nil)[0]; d.Why.Kind != c.why || d.Change != nil || d.P != nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestPairs: sides measured in one session are taken from it, and what a name may
// mean is asked where it is several things.
func TestPairs(t *testing.T) {
	s := stacked(t)
	pairs, err := PairsOf(s.st, "baseline", "cache")
	if err != nil || len(pairs) != 1 || pairs[0].Old.Session != "s-1" || pairs[0].New.Session != "s-1" || len(pairs[0].Notes) != 0 {
		t.Fatalf("%+v, %v", pairs, err)
	}
	pairs, err = PairsOf(s.st, "cache", "head")
	if err != nil || len(pairs[0].Notes) != 1 || pairs[0].Notes[0].Kind != "compare.session" {
		t.Fatalf("%+v, %v", pairs, err)
	}
	for _, c := range []struct{ a, b, want string }{
		{"cache", "cache@r1", "the same launches"},
		{"cache", "nope", `no record is named "nope"`},
		{"cache@r9", "cache", `no record is named "cache@r9"`},
		{"cach@r1", "cache", "run r1 did not measure cach"},
	} {
		if _, err := PairsOf(s.st, c.a, c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.a, c.b, err)
		}
	}
	l := tgLaunches(20)[0]
	l.ID, l.Session, l.Purpose, l.Variant, l.Started = "far", "s-3", ledger.ForBenchmark, "far", s.at
	l.Fingerprint = map[string]string{"gpu": "another"}
	s.add(&ledger.Record{Type: "launch", Run: "r1", Launch: l})
	s.stand("s-3", "far", []string{"far"})
	pairs, err = PairsOf(s.st, "cache", "far")
	if err != nil || pairs[0].Notes[0].Kind != "compare.machine" || pairs[0].Metrics[0].P != nil {
		t.Errorf("%+v, %v", pairs, err)
	}
}
