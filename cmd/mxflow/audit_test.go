package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scenario"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestVerifyArtifacts: everything that a launch names is looked for.
func TestVerifyArtifacts(t *testing.T) {
	s := newRecordedState(t)
	s.apply(planWith("chat.tg.gain >= 0.10", "chat.tg.gain >= 0.10"), nil)
	gone := func(n int) string { return fmt.Sprintf("%064x", n) }
	s.append(&ledger.Record{Type: "launch", Launch: &ledger.Launch{
		ID: "l", Session: "s", Purpose: "benchmark", Node: "n", Variant: "v", VariantKey: "v", Samples: gone(1), Series: gone(2), Log: gone(3),
		Output: gone(4), Prompts: gone(5), Metadata: gone(6), Trees: map[string]ledger.Tree{"llama": {Path: "src", Diff: gone(7)}},
	}})
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	try.OK(t, scenario.SignLedger(filepath.Join(s.dir, "ledger"), userKey(t)))
	exit, out, _ := mxflow("audit", "verify", "--json", "--state", s.dir)
	var said struct {
		Artifacts int
		Bad       []string `json:"bad_artifacts"`
	}
	try.OK(t, json.Unmarshal([]byte(out), &said))
	bad := said.Bad
	if exit != verdict.ExitFail || said.Artifacts != 8 || len(bad) != 7 {
		t.Errorf("exit status %d, %d artifacts, bad: %q", exit, said.Artifacts, bad)
	}
	for i, what := range []string{"samples", "series", "output", "prompts", "log", "metadata", "changes to source tree llama"} {
		if i < len(bad) && !strings.Contains(bad[i], what+" of launch l") {
			t.Errorf("%q, want %s", bad[i], what)
		}
	}
}

// TestAuditSaysEachDecisionWhole: what an attempt came to stands with it, whatever the
// attempts before it said, and of a cause nothing is told by words far above.
func TestAuditSaysEachDecisionWhole(t *testing.T) {
	cause := ledger.Level{Name: "benchmark", Verdict: verdict.Invalid, Reasons: facts("launch 1 (baseline): the client woke up to 162 ms late")}.Reason()
	reasons := []verdict.Reason{
		verdict.New(code.Feature).On("attention_backend_flashinfer").Is(verdict.Fail),
		verdict.New(code.FeatureNotRun).On("kv").From(cause),
		verdict.New(code.Rule).On("decode").Is(verdict.Pass).From(fact("chat.tg.gain is +38.2%, as wanted")),
	}
	s := newRecordedState(t)
	for attempt := 1; attempt <= 2; attempt++ {
		s.append(&ledger.Record{Type: "decision", Run: "r", Decision: &ledger.Decision{
			Node: "phase.p", Kind: ledger.KindPhase, Phase: "p", Attempt: attempt, Verdict: verdict.Fail, Reasons: reasons,
		}})
		s.append(&ledger.Record{Type: "decision", Run: "r", Decision: &ledger.Decision{
			Node: "phase.q", Kind: ledger.KindGate, Phase: "q", Attempt: attempt, Verdict: verdict.Invalid, Rules: []ledger.Rule{
				{Name: "a", Role: "rule", Verdict: verdict.Invalid, Inputs: []ledger.Input{{Path: "chat.tg", Missing: cause}}},
				{Name: "b", Role: "rule", Verdict: verdict.Invalid, Inputs: []ledger.Input{{Path: "chat.tg", Missing: cause}}},
			},
		}})
	}
	exit, out, errs := mxflow("audit", "--state", s.dir)
	if exit != 0 {
		t.Error(exit, errs)
	}
	for text, want := range map[string]int{
		reasons[0].String(): 2,
		reasons[1].String(): 2,
		reasons[2].String(): 2,
		"chat.tg = missing: level benchmark is invalid: launch 1 (baseline): the client woke up to 162 ms late": 2,
		"chat.tg = missing: level benchmark is invalid, see above":                                              2,
		"see above": 2,
	} {
		if n := strings.Count(out, text); n != want {
			t.Errorf("%q stands there %d times, want %d:\n%s", text, n, want, out)
		}
	}
}
