package runtime

import (
	"slices"
	"testing"
)

// TestRerunNodes: a name stands for what it names and nothing else; an empty one, as
// an unset variable of a script gives it, names nothing.
func TestRerunNodes(t *testing.T) {
	p := planOf(feature("x", choosing("1", "2")), feature("y"))
	g, err := NewGraph(p)
	if err != nil {
		t.Fatal(err)
	}
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
