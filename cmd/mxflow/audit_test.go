package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func TestInputLine(t *testing.T) {
	value := func(f float64, unit string) verdict.Input {
		return verdict.Input{Path: "x", Value: &f, Unit: unit, N: 3}
	}
	for want, in := range map[string]verdict.Input{
		"x = 99.5 %  n = 3 launches":    value(0.995, "share"),
		"x = 0.995 ms  n = 3 launches":  value(0.995, "ms"),
		"x = 0.995  n = 3 launches":     value(0.995, ""),
		"x = missing: nothing was sent": {Path: "x", Missing: fact("nothing was sent")},
	} {
		if got := inputLine(in); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestVerifyArtifacts: everything that a launch names is looked for.
func TestVerifyArtifacts(t *testing.T) {
	s := newRecordedState(t)
	s.apply(planWith("chat.tg.gain >= 0.10", "chat.tg.gain >= 0.10"), nil)
	gone := func(n int) string { return fmt.Sprintf("%064x", n) }
	s.append(&ledger.Record{Type: "launch", Launch: &ledger.Launch{
		ID: "l", Session: "s", Purpose: "benchmark", Node: "n", Variant: "v", VariantKey: "v", Samples: gone(1), Series: gone(2), Log: gone(3),
		Output: gone(4), Prompts: gone(5), Metadata: gone(6), Trees: map[string]ledger.Tree{"llama": {Path: "src", Diff: gone(7)}},
	}})
	n, bad := (&app{}).verifyArtifacts(s.st)
	if n != 8 || len(bad) != 7 {
		t.Errorf("%d artifacts, bad: %q", n, bad)
	}
	for i, what := range []string{"samples", "series", "output", "prompts", "log", "metadata", "changes to source tree llama"} {
		if i < len(bad) && !strings.Contains(bad[i], what+" of launch l") {
			t.Errorf("%q, want %s", bad[i], what)
		}
	}
}
