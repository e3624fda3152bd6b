package runtime

import (
	"fmt"
	"testing"
)

// TestReduced: what follows from other needs is left out, and what asks more is not.
func TestReduced(t *testing.T) {
	g := &Graph{byID: map[string]*Node{}}
	for i, n := range []*Node{
		{ID: "a"},
		{ID: "b", Needs: []Need{{"a", Passed}}},
		{ID: "c", Needs: []Need{{"a", Passed}, {"b", Ended}, {"b", Ended}}},
		{ID: "asks more", Needs: []Need{{"b", Passed}, {"c", Passed}}},
		{ID: "twice", Needs: []Need{{"b", Ended}, {"b", Passed}}},
		{ID: "waits", Needs: []Need{{"b", Settled}}},
		{ID: "behind", Needs: []Need{{"a", Passed}, {"waits", Passed}}},
		{ID: "waits too", Needs: []Need{{"b", Settled}, {"waits", Passed}}},
	} {
		n.Order = i
		g.Nodes, g.byID[n.ID] = append(g.Nodes, n), n
	}
	for id, want := range map[string]string{
		"a": "[]", "b": "[{a 0}]", "c": "[{b 2}]",
		"asks more": "[{b 0} {c 0}]", "twice": "[{b 0}]", "waits": "[{b 3}]",
		"behind": "[{waits 0}]", "waits too": "[{waits 0}]",
	} {
		if got := fmt.Sprint(g.Reduced(g.byID[id])); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}
