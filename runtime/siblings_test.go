package runtime

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans"
)

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
		"different parents":   {[]*plans.Feature{feature("w"), feature("x"), feature("y", on("w")), feature("z", on("x"))}, "w x|y|z"},
		"on what is accepted": {[]*plans.Feature{feature("x", onAccepted), feature("y", onAccepted)}, "x|y"},
		"alternatives of one": {[]*plans.Feature{feature("x", onAccepted, choosing("1", "2")), feature("y", onAccepted)}, "x[1] x[2]|y"},
		"a choice beside":     {[]*plans.Feature{feature("x", choosing("1", "2")), feature("y")}, "x[1] x[2] y"},
		"confirmations":       {[]*plans.Feature{feature("x", confirmedOn("big")), feature("y", confirmedOn("big"))}, "x y"},
		"more than a session": {many, "f0 f1[a] f1[b] f1[c] f2 f3 f4 f5|f6 f7 f8 f9 f10"},
	} {
		p := planOf(c.features...)
		g, err := NewGraph(p)
		if err != nil {
			t.Fatal(err)
		}
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
		if got := strings.Join(groups, "|"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
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
