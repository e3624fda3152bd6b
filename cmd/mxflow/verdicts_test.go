package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/scenario"
)

// TestVerdictsAreOfWhatIsThere: the file has every example and every cheat with a verdict,
// and no case that nobody runs any more.
func TestVerdictsAreOfWhatIsThere(t *testing.T) {
	wanted, err := scenario.Verdicts()
	must.Do(t, err)
	if len(wanted) == 0 {
		t.Fatal("nothing is frozen")
	}
	frozenCases := map[string]bool{}
	for key := range wanted {
		name := scenario.CaseOf(key)
		kind, rest, is := strings.Cut(name, "/")
		var there bool
		switch {
		case !is:
			there = scenario.Path(name) != ""
		case kind == "examples":
			_, err := os.Stat(filepath.Join("..", "..", "examples", rest))
			there = err == nil
		case kind == "cheats":
			there = slices.ContainsFunc(cheats, func(c cheat) bool { return c.name() == rest })
		}
		if !there {
			t.Errorf("%s has %s, which nothing runs: delete its lines", scenario.VerdictsFile, name)
		}
		frozenCases[name] = true
	}
	for _, c := range cheats {
		if c.want != "" && !frozenCases["cheats/"+c.name()] {
			t.Errorf("nothing is frozen of the cheat %s", c.name())
		}
	}
	examples, _ := filepath.Glob(filepath.Join("..", "..", "examples", "*", "plan.*"))
	for _, file := range examples {
		if name := filepath.Base(filepath.Dir(file)); !frozenCases["examples/"+name] {
			t.Errorf("nothing is frozen of the example %s", name)
		}
	}
}
