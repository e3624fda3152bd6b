package runtime

import (
	"slices"
	"testing"

	"github.com/mxflow/mxflow/plans"
)

func TestTheBaselineWaitsForWhatAllFeaturesWaitFor(t *testing.T) {
	steps := []*plans.Block{{Kind: "docker_build", Name: "image"}}
	phase := func(name string, after ...string) *plans.Phase {
		return &plans.Phase{Name: name, After: after, Steps: steps}
	}
	with := func(ph *plans.Phase, feature string) *plans.Phase {
		ph.Features = []*plans.Feature{{Name: feature, Phase: ph.Name, BuildsOn: plans.BuildsOn{Kind: plans.OnBaseline}}}
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
		"no features":               {[]*plans.Phase{phase("image")}, nil},
		"a phase beside":            {[]*plans.Phase{phase("image"), with(phase("a"), "one")}, nil},
		"a phase before":            {[]*plans.Phase{phase("image"), with(phase("a", "image"), "one")}, []string{"phase.image"}},
		"a chain before":            {[]*plans.Phase{phase("git"), phase("image", "git"), with(phase("a", "image"), "one"), with(phase("b", "a"), "two")}, []string{"phase.git", "phase.image"}},
		"before one of two":         {[]*plans.Phase{phase("image"), with(phase("a", "image"), "one"), with(phase("b"), "two")}, nil},
		"merely decided for one":    {[]*plans.Phase{phase("image"), with(phase("a", "image"), "one"), decided}, nil},
		"with features of its own":  {[]*plans.Phase{with(phase("a"), "one"), phase("image", "a"), with(phase("b", "image"), "two")}, nil},
		"a gate may need it":        {[]*plans.Phase{gated, with(phase("a", "gated"), "one")}, nil},
		"after a gate, which may":   {[]*plans.Phase{gated, phase("image", "gated"), with(phase("a", "image"), "one")}, nil},
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
