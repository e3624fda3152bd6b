package runtime

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
)

var update = flag.Bool("update", false, "rewrite golden files")

// graphText lists nodes in order with what they need.
func graphText(g *Graph) string {
	var b strings.Builder
	words := map[Mode]string{Passed: "passed", Decided: "decided", Ended: "ended", Settled: "settled"}
	for _, n := range g.Nodes {
		fmt.Fprintf(&b, "%s (%s)\n", n.ID, n.Kind)
		var seen []Need
		for _, need := range n.Needs {
			if !slices.Contains(seen, need) {
				seen = append(seen, need)
				fmt.Fprintf(&b, "  %s %s\n", need.On, words[need.Mode])
			}
		}
	}
	return b.String()
}

// TestGraphsOfFeatures holds the graphs of features that choose and are confirmed,
// and of siblings, against those that were looked at.
func TestGraphsOfFeatures(t *testing.T) {
	cases := []struct {
		name string
		plan *plans.Plan
	}{
		{"one feature", planOf(feature("x"))},
		{"siblings", planOf(feature("x"), feature("y"), feature("child", on("x")))},
		{"nothing to benchmark", planOf(feature("x", by("bare"), choosing("1", "2")))},
		{"choice", planOf(feature("x", choosing("1", "2")), feature("after", onAccepted))},
		{"confirmed", planOf(feature("x", confirmedOn("big", "small")), feature("child", on("x")))},
		{"choice that is confirmed", planOf(feature("x", choosing("1", "2"), confirmedOn("big")))},
	}
	var text strings.Builder
	for _, c := range cases {
		g, err := NewGraph(c.plan)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, n := range g.Nodes {
			if n.FeatureBlock != nil && n.Feature != c.plan.Feature(n.Feature).Name {
				t.Errorf("%s: node %s belongs to feature %q, which rules do not know", c.name, n.ID, n.Feature)
			}
		}
		fmt.Fprintf(&text, "-- %s --\n%s", c.name, graphText(g))
	}
	const golden = "testdata/graphs.txt"
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(text.String()), 0o644))
	}
	want := must.Get(os.ReadFile(golden))(t)
	must.Equal(t, golden, text.String(), string(want))
}

// TestSiblingsMakeNoCycle: what waits for its siblings never waits for itself, whoever builds on whom.
func TestSiblingsMakeNoCycle(t *testing.T) {
	p := planOf(
		feature("a"), feature("b", on("a")), feature("c", on("a"), at(3)),
		feature("d", onAccepted, at(1), choosing("1", "2")),
		feature("e", on("d"), at(2)), feature("f", on("d")),
		feature("g", at(9), choosing("1", "2"), confirmedOn("big")),
		feature("h", on("g")), feature("i", onAccepted, at(10)), feature("j", at(11)),
	)
	must.Get(NewGraph(p))(t)
}

func TestTheBaselineWaitsForWhatAllFeaturesWaitFor(t *testing.T) {
	steps := []*plans.Block{{Kind: "docker_build", Name: "image"}}
	phase := func(name string, after ...string) *plans.Phase {
		return &plans.Phase{Name: name, After: after, Steps: steps}
	}
	with := func(ph *plans.Phase, feature string) *plans.Phase {
		ph.Features = []*plans.Feature{
			{Name: feature, Phase: ph.Name, BuildsOn: plans.BuildsOn{Kind: plans.OnBaseline}},
		}
		return ph
	}
	gated := phase("gated")
	gated.Gate = &plans.Gate{}
	decided := with(phase("b"), "two")
	decided.AfterDecided = []string{"image"}
	tests := map[string]struct {
		phases []*plans.Phase
		want   []string
	}{
		"a phase before": {
			[]*plans.Phase{phase("image"), with(phase("a", "image"), "one")},
			[]string{"phase.image"},
		},
		"a chain before": {[]*plans.Phase{
			phase("git"), phase("image", "git"),
			with(phase("a", "image"), "one"), with(phase("b", "a"), "two"),
		}, []string{"phase.git", "phase.image"}},
		"before one of two": {[]*plans.Phase{
			phase("image"), with(phase("a", "image"), "one"),
			with(phase("b"), "two"),
		}, nil},
		"merely decided for one": {[]*plans.Phase{phase("image"), with(phase("a", "image"), "one"), decided}, nil},
		"with features of its own": {[]*plans.Phase{
			with(phase("a"), "one"), phase("image", "a"),
			with(phase("b", "image"), "two"),
		}, nil},
		"after a gate, which may": {
			[]*plans.Phase{gated, phase("image", "gated"), with(phase("a", "image"), "one")},
			nil,
		},
		"steps of the phase itself": {[]*plans.Phase{with(phase("a"), "one")}, nil},
	}
	for name, tc := range tests {
		p := &plans.Plan{Baseline: &plans.Baseline{}, Phases: tc.phases}
		g, err := NewGraph(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, need := range g.Node(BaselineID).Needs {
			got = append(got, need.On)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: the baseline waits for %q, want %q", name, got, tc.want)
		}
	}
}

// The address of every node of a candidate leads back to it, also with dots in its name.
func TestCandidateOf(t *testing.T) {
	for _, name := range []string{"gemm", "spec[v1.2]", "gemm@production", "size[x.first]"} {
		for _, id := range []string{FeatureID(name), QualifyID(name), BenchmarkID(name), FirstID(name)} {
			must.Equal(t, id, CandidateOf(id), name)
		}
	}
	for _, id := range []string{BaselineID, PhaseID("feature.x"), StepID("one", "exec", "gemm")} {
		must.Equal(t, id, CandidateOf(id), "")
	}
}

// feature is one for graphs, changed as a case needs it.
func feature(name string, change ...func(*plans.Feature)) *plans.Feature {
	f := &plans.Feature{Name: name, Phase: "a", Protocol: "quick", BuildsOn: plans.BuildsOn{Kind: plans.OnBaseline}}
	for _, c := range change {
		c(f)
	}
	return f
}

func on(parent string) func(*plans.Feature) {
	return func(f *plans.Feature) { f.BuildsOn = plans.BuildsOn{Kind: plans.OnFeature, Feature: parent} }
}

func onAccepted(f *plans.Feature) { f.BuildsOn = plans.BuildsOn{Kind: plans.OnAccepted} }

func by(protocol string) func(*plans.Feature) {
	return func(f *plans.Feature) { f.Protocol = protocol }
}

func at(priority int) func(*plans.Feature) {
	return func(f *plans.Feature) { f.Priority = priority }
}

func choosing(values ...string) func(*plans.Feature) {
	return func(f *plans.Feature) {
		for _, v := range values {
			a := *f
			a.Name, a.Of, a.Alternatives = fmt.Sprintf("%s[%s]", f.Name, v), f.Name, nil
			f.Alternatives = append(f.Alternatives, &a)
		}
	}
}

func confirmedOn(engines ...string) func(*plans.Feature) {
	return func(f *plans.Feature) {
		for _, e := range engines {
			c := *f
			c.Name, c.Of, c.Engine, c.Alternatives, c.Confirm = f.Name+"@"+e, f.Name, "vllm."+e, nil, nil
			f.Confirm = append(f.Confirm, &c)
		}
	}
}

// planOf is a plan of one phase with features.
func planOf(features ...*plans.Feature) *plans.Plan {
	bench := []*plans.Block{{Kind: "benchmark"}}
	return &plans.Plan{
		Baseline:  &plans.Baseline{Protocol: "quick"},
		Protocols: []*plans.Protocol{{Name: "quick", Levels: bench}, {Name: "slow", Levels: bench}, {Name: "bare"}},
		Phases:    []*plans.Phase{{Name: "a", Features: features}},
	}
}

func TestSiblings(t *testing.T) {
	many := make([]*plans.Feature, 0, maxSiblings+3)
	for i := range cap(many) {
		many = append(many, feature(fmt.Sprintf("f%d", i)))
	}
	many[1] = feature("f1", choosing("a", "b", "c"))
	for name, c := range map[string]struct {
		features []*plans.Feature
		want     string
	}{
		"one parent":          {[]*plans.Feature{feature("x"), feature("y")}, "x y"},
		"by priority":         {[]*plans.Feature{feature("x", at(2)), feature("y", at(1))}, "y x"},
		"another protocol":    {[]*plans.Feature{feature("x"), feature("y", by("slow")), feature("z")}, "x z|y"},
		"one parent by name":  {[]*plans.Feature{feature("x"), feature("y", on("x")), feature("z", on("x"))}, "x|y z"},
		"on what is accepted": {[]*plans.Feature{feature("x", onAccepted), feature("y", onAccepted)}, "x|y"},
		"alternatives of one": {[]*plans.Feature{
			feature("x", onAccepted, choosing("1", "2")),
			feature("y", onAccepted),
		}, "x[1] x[2]|y"},
		"confirmations": {
			[]*plans.Feature{feature("x", confirmedOn("big")), feature("y", confirmedOn("big"))},
			"x y",
		},
		"more than a session": {many, "f0 f1[a] f1[b] f1[c] f2 f3 f4 f5|f6 f7 f8 f9 f10"},
	} {
		p := planOf(c.features...)
		g := must.Get(NewGraph(p))(t)
		var groups []string
		for _, group := range sessions(p.Phases[0]) {
			var names []string
			for _, f := range group {
				names = append(names, f.Name)
			}
			groups = append(groups, strings.Join(names, " "))
			for _, f := range group {
				if got := g.Siblings(f); fmt.Sprint(got) != fmt.Sprint(group) {
					t.Errorf("%s: siblings of %s are %v", name, f.Name, got)
				}
			}
		}
		must.Equal(t, name, strings.Join(groups, "|"), c.want)
		for _, f := range c.features {
			for _, other := range f.Confirm {
				if got := g.Siblings(other); len(got) != 1 || got[0] != other {
					t.Errorf("%s: %s has the siblings %v", name, other.Name, got)
				}
			}
			if len(f.Alternatives) > 0 && fmt.Sprint(g.Siblings(f)) != fmt.Sprint(g.Siblings(f.Alternatives[0])) {
				t.Errorf("%s: %s and its alternative have other siblings", name, f.Name)
			}
		}
	}
	lost := feature("lost", func(f *plans.Feature) { f.Phase = "nowhere" })
	if got := (&Graph{}).Siblings(lost); len(got) != 1 || got[0] != lost {
		t.Errorf("a feature outside of the plan has the siblings %v", got)
	}
}

// checkNames compares which nodes names stand for, and that what stands for none is unknown.
func checkNames(t *testing.T, g *Graph, nodes func(*Graph, []string) (func(*Node) bool, []string),
	wants map[string][]string,
) {
	t.Helper()
	for name, want := range wants {
		is, unknown := nodes(g, []string{name})
		var got []string
		for _, n := range g.Nodes {
			if is(n) {
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

// TestTargetNodes: what is named, and what that rests on; not the siblings that a benchmark only waits for.
func TestTargetNodes(t *testing.T) {
	g := must.Get(NewGraph(planOf(feature("x", choosing("1", "2")), feature("y"), feature("z", on("y")))))(t)
	y := []string{BaselineID, BenchmarkID("y"), FeatureID("y"), QualifyID("y")}
	checkNames(t, g, TargetNodes, map[string][]string{
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
	})
	if target, unknown := TargetNodes(g, nil); target != nil || unknown != nil {
		t.Error("naming nothing leaves something out")
	}
}

// TestTarget: what is left out is not run, keeps what is recorded of it, and a gate that is left out is no pass.
func TestTarget(t *testing.T) {
	g := graphOf(t,
		node(BaselineID, KindQualify), node("a", KindBenchmark, Need{BaselineID, Passed}),
		node("b", KindBenchmark, Need{BaselineID, Passed}),
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
				t.Errorf("--target %s: %s is %q, and the preview said %q", step.target, n.ID, res.Locked[n.ID].Kind,
					preview[i].Locked.Kind)
			}
			if res.Locked[n.ID].Kind == code.NotTargeted.Kind {
				left = append(left, n.ID)
			}
		}
		if got := Summarise(res.Result).Verdict; got != step.want || !slices.Equal(steps.started, step.started) ||
			!slices.Equal(left, step.left) {
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
	checkNames(t, g, RerunNodes, map[string][]string{
		"all":       all,
		"baseline":  {"baseline"},
		"y":         {QualifyID("y"), BenchmarkID("y"), FeatureID("y")},
		"x[2]":      {QualifyID("x[2]"), BenchmarkID("x[2]")},
		"feature.y": {"feature.y"},
		"":          nil,
		"phase.":    nil,
		"z":         nil,
	})
}
