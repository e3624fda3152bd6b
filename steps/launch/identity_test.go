package launch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
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
		"same":  {[]*ledger.Launch{launch("a", "one"), launch("b", "one")}, ""},
		"moved": {[]*ledger.Launch{launch("a", "one"), launch("b", "two")}, "between launch a and launch b"},
		"moved and back": {
			[]*ledger.Launch{launch("a", "one"), launch("b", "two"), launch("c", "one")},
			"between launch a and launch b",
		},
		"moved before": {[]*ledger.Launch{launch("a", "two"), launch("b", "two")}, "before launch a"},
		"none":         {nil, ""},
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

// TestMovedPackages: a package that was installed anew between two launches makes them no
// launches of one thing, unless the plan accepts that packages differ.
func TestMovedPackages(t *testing.T) {
	for _, accepted := range []string{"", "packages"} {
		l, _ := sourceLab(t)
		l.Variants.Plan.Baseline = &plans.Baseline{AcceptFingerprint: []string{accepted}}
		file := filepath.Join(t.TempDir(), "site-packages", "kern", "__init__.py")
		root := source.Root{Dir: filepath.Dir(filepath.Dir(file)), Holds: source.HoldsPackages}
		var launches []*ledger.Launch
		for _, text := range []string{"one", "one", "two"} {
			must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
			must.Write(t, file, text)
			l.Variants.Read.Forget()
			text, err := json.Marshal(source.Used{Named: l.Variants.Read.Take(source.Code{Roots: []source.Root{root}})})
			must.Do(t, err)
			sum, err := l.Store.Put(text)
			must.Do(t, err)
			launches = append(launches, &ledger.Launch{ID: string('a' + rune(len(launches))), Files: sum})
		}
		if why := l.Moved(t.Context(), launches[:2], nil, nil); !why.IsZero() {
			t.Errorf("%q accepted, nothing moved: %s", accepted, why)
		}
		why := l.Moved(t.Context(), launches, nil, nil).String()
		named := strings.HasPrefix(why, "site-packages/kern changed between launch a and launch c, in __init__.py")
		if named != (accepted == "") || !named && why != "" {
			t.Errorf("%q accepted: %s", accepted, why)
		}
	}
}
