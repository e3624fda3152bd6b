package launch

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// TestMovedTrees: launches of one benchmark saw one state, the one that the
// variant was resolved with.
func TestMovedTrees(t *testing.T) {
	l, _ := sourceLab(t)
	launch := func(id, hash string) *ledger.Launch {
		return &ledger.Launch{ID: id, Trees: map[string]ledger.Tree{
			"vllm": {Path: "/vllm", Commit: "c", Hash: hash}, "source": {Path: "/clone", Commit: id},
		}}
	}
	v := &variant.Variant{Spec: engine.Spec{Trees: []engine.Tree{{Name: "vllm", Hash: "one"}}}}
	cases := map[string]struct {
		used []*ledger.Launch
		says string
	}{
		"same":           {[]*ledger.Launch{launch("a", "one"), launch("b", "one")}, ""},
		"moved":          {[]*ledger.Launch{launch("a", "one"), launch("b", "two")}, "between launch a and launch b"},
		"moved and back": {[]*ledger.Launch{launch("a", "one"), launch("b", "two"), launch("c", "one")}, "between launch a and launch b"},
		"moved before":   {[]*ledger.Launch{launch("a", "two"), launch("b", "two")}, "before launch a"},
		"none":           {nil, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			why := l.Moved(t.Context(), c.used, []*variant.Variant{v}, nil)
			if (c.says == "") != why.IsZero() || !strings.Contains(why.String(), c.says) {
				t.Errorf("%s", why.String())
			}
		})
	}
}
