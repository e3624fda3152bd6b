package runtime

import (
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// TestTargetNodes: what is named, and what that rests on; not the siblings that a
// benchmark only waits for.
func TestTargetNodes(t *testing.T) {
	g := must.Get(NewGraph(planOf(feature("x", choosing("1", "2")), feature("y"), feature("z", on("y")))))(t)
	y := []string{BaselineID, BenchmarkID("y"), FeatureID("y"), QualifyID("y")}
	for name, want := range map[string][]string{
		"baseline":       {BaselineID},
		QualifyID("y"):   {BaselineID, QualifyID("y")},
		"y":              y,
		BenchmarkID("y"): {BaselineID, BenchmarkID("y"), QualifyID("y")},
		"z":              append([]string{BenchmarkID("z"), FeatureID("z"), QualifyID("z")}, y...),
		"x[2]":           {BaselineID, BenchmarkID("x[2]"), QualifyID("x[2]")},
		"x": {
			BaselineID, FeatureID("x"), BenchmarkID("x[1]"), BenchmarkID("x[2]"), QualifyID("x[1]"), QualifyID("x[2]"),
		},
		"nothing": nil,
		"":        nil,
	} {
		target, unknown := TargetNodes(g, []string{name})
		var got []string
		for _, n := range g.Nodes {
			if target(n) {
				got = append(got, n.ID)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || (want == nil) != (len(unknown) == 1) {
			t.Errorf("%q: %q and unknown %q, want %q", name, got, unknown, want)
		}
	}
	if target, unknown := TargetNodes(g, nil); target != nil || unknown != nil {
		t.Error("naming nothing leaves something out")
	}
}

// TestTarget: what is left out is not run, keeps what is recorded of it, and a gate
// that is left out is no pass.
func TestTarget(t *testing.T) {
	g := graphOf(t,
		node(BaselineID, KindQualify), node("a", KindBenchmark, Need{BaselineID, Passed}), node("b", KindBenchmark, Need{BaselineID, Passed}),
		node("gate", KindGate, Need{"a", Settled}, Need{"b", Settled}),
	)
	named := func(name string) func(*Node) bool {
		target, _ := TargetNodes(g, []string{name})
		return target
	}
	journal, steps := newMemory(), &verdicts{of: map[string]verdict.Verdict{"b": verdict.Fail}}
	for _, step := range []struct {
		target  string
		started []string
		want    verdict.Verdict
		left    []string
	}{
		{"a", []string{BaselineID, "a"}, verdict.Inconclusive, []string{"b", "gate"}},
		{BaselineID, nil, verdict.Inconclusive, []string{"b", "gate"}},
		{"b", []string{"b"}, verdict.Fail, []string{"gate"}},
		{"gate", nil, verdict.Pass, nil},
		{"a", nil, verdict.Pass, nil},
	} {
		steps.started = nil
		r := runnerOf(g, journal, steps.step)
		r.Target = named(step.target)
		preview := must.Get(r.Reconcile())(t)
		res := execute(t, r)
		var left []string
		for i, n := range g.Nodes {
			if res.Locked[n.ID].Kind != preview[i].Locked.Kind {
				t.Errorf("--target %s: %s is %q, and the preview said %q", step.target, n.ID, res.Locked[n.ID].Kind, preview[i].Locked.Kind)
			}
			if res.Locked[n.ID].Kind == code.NotTargeted.Kind {
				left = append(left, n.ID)
			}
		}
		if got := Summarise(res.Result).Verdict; got != step.want || !slices.Equal(steps.started, step.started) || !slices.Equal(left, step.left) {
			t.Errorf("--target %s: %s, ran %q, left out %q, want %+v", step.target, got, steps.started, left, step)
		}
	}
}

// TestRerunNodes: a name stands for what it names and nothing else; an empty one, as
// an unset variable of a script gives it, names nothing.
func TestRerunNodes(t *testing.T) {
	p := planOf(feature("x", choosing("1", "2")), feature("y"))
	g := must.Get(NewGraph(p))(t)
	var all []string
	for _, n := range g.Nodes {
		all = append(all, n.ID)
	}
	for name, want := range map[string][]string{
		"all":       all,
		"baseline":  {"baseline"},
		"y":         {QualifyID("y"), BenchmarkID("y"), FeatureID("y")},
		"x[2]":      {QualifyID("x[2]"), BenchmarkID("x[2]")},
		"feature.y": {"feature.y"},
		"":          nil,
		"phase.":    nil,
		"z":         nil,
	} {
		forced, unknown := RerunNodes(g, []string{name})
		var got []string
		for _, n := range g.Nodes {
			if forced(n) {
				got = append(got, n.ID)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || (want == nil) != (len(unknown) == 1) {
			t.Errorf("%q: %q and unknown %q, want %q", name, got, unknown, want)
		}
	}
}
