package runtime

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

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
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := text.String(); got != string(want) {
		t.Errorf("graphs differ from %s; run with -update and look at the difference.\n%s", golden, got)
	}
}

// TestSiblingsMakeNoCycle: what waits for its siblings never waits for itself,
// whoever builds on whom.
func TestSiblingsMakeNoCycle(t *testing.T) {
	p := planOf(
		feature("a"), feature("b", on("a")), feature("c", on("a"), at(3)), feature("d", onAccepted, at(1), choosing("1", "2")),
		feature("e", on("d"), at(2)), feature("f", on("d")), feature("g", at(9), choosing("1", "2"), confirmedOn("big")),
		feature("h", on("g")), feature("i", onAccepted, at(10)), feature("j", at(11)),
	)
	if _, err := NewGraph(p); err != nil {
		t.Error(err)
	}
}
