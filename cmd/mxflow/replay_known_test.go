package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestReplayMissesNoise: a record that leaves out launch noise which was known had
// no floor under its spread, and does not agree although all its numbers do.
func TestReplayMissesNoise(t *testing.T) {
	for _, c := range []struct {
		forgets bool
		exit    int
		want    string
	}{
		{false, 0, "Everything agrees: 4 decisions"},
		{true, 2, "chat.tg before session s-2 none"},
	} {
		s := newRecordedState(t)
		s.apply(planWith(tenPercent, tenPercent), nil)
		s.session("s-1", steadyBase, noisyGain)
		s.decide("s-1")
		s.forgets = c.forgets
		s.session("s-2", steadyBase[:4], clearGain[:4])
		s.decide("s-2")
		exit, out, errs := mxflow("audit", "replay", "--state", s.dir)
		if exit != c.exit || !strings.Contains(evenly(out), c.want) {
			t.Errorf("forgets %v: exit status %d, want %d with %q\n%s%s", c.forgets, exit, c.exit, c.want, out, errs)
		}
	}
}

// TestReplayOfNoiseOfOneEngine: another engine's launches tell nothing of noise.
func TestReplayOfNoiseOfOneEngine(t *testing.T) {
	s := newRecordedState(t)
	s.apply(planWith(tenPercent, tenPercent), nil)
	s.session("s-1", steadyBase, noisyGain)
	for i := range 8 {
		s.append(&ledger.Record{Type: "launch", Launch: &ledger.Launch{
			ID: fmt.Sprintf("s-x.%d", i), Session: "s-x", Purpose: ledger.ForBenchmark, Node: "feature.routed.benchmark", Variant: "other", VariantKey: "other",
			Work: "w", Ordinal: i + 1, Order: i + 1, Started: s.at, OK: true,
			Metrics: map[string]measure.Summary{"chat.tg": {Unit: "tok/s", Stats: map[string]float64{"median": 30 + float64(i%2)}}},
		}})
	}
	s.session("s-2", steadyBase[:4], clearGain[:4])
	s.decide("s-2")
	if exit, out, errs := mxflow("audit", "replay", "--state", s.dir); exit != 0 {
		t.Errorf("exit status %d\n%s%s", exit, out, errs)
	}
}

// TestReplayChangedSaysWhatItCannotCompare: sensitive variables are in no record, so that what was started may not be what the recorded plan says now.
func TestReplayChangedSaysWhatItCannotCompare(t *testing.T) {
	plan := strings.NewReplacer(
		"prompt_tokens = 64", "prompt_tokens = var.tokens",
		"engine \"embedded\"", "variable \"tokens\" {\n  type = number\n  default = 32\n}\nengine \"embedded\"",
	).Replace(planWith(tenPercent, tenPercent))
	s := newRecordedState(t)
	s.sealed = true
	s.apply(plan, map[string]string{"tokens": "64"})
	once(s)
	path := filepath.Join(t.TempDir(), "changed.hcl")
	if err := os.WriteFile(path, []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, given := range [][]string{nil, {"--var", "tokens=64"}} {
		_, out, errs := mxflow(append([]string{"audit", "replay", "--state", s.dir, "--plan", path}, given...)...)
		if said := strings.Contains(evenly(out), "without var.tokens, which no run records"); said != (given == nil) {
			t.Errorf("with %q: it says so: %v\n%s%s", given, said, out, errs)
		}
	}
}

// TestReplayChangedSaysWhatWasRetracted: launches that a person took back are still
// what another plan would have decided by, and no apply would let them pass.
func TestReplayChangedSaysWhatWasRetracted(t *testing.T) {
	plan := planWith(tenPercent, tenPercent)
	s := newRecordedState(t)
	s.apply(plan, nil)
	once(s)
	d, _, _ := s.st.Latest("feature.routed")
	s.append(&ledger.Record{Type: "decision", Decision: d.Withdraw(ledger.Retraction{Node: d.Node, Reason: "wrong prompts", By: "kim"})})
	path := filepath.Join(t.TempDir(), "changed.hcl")
	if err := os.WriteFile(path, []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	_, out, errs := mxflow("audit", "replay", "--state", s.dir, "--plan", path)
	if want := "retracted by kim: wrong prompts: an apply does not let these launches pass again"; !strings.Contains(evenly(out), want) {
		t.Errorf("%q is missing\n%s%s", want, out, errs)
	}
}
