package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// replaysWith decides what is recorded by another plan, and checks the exit status
// and what is said, which it returns with single spaces.
func (s *recordedState) replaysWith(t *testing.T, plan string, exit int, want []string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "changed.hcl")
	if err := os.WriteFile(path, []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	got, out, errs := mxflow(slices.Concat([]string{"audit", "replay", "--state", s.dir, "--plan", path}, args)...)
	if got != exit {
		t.Errorf("exit status %d, want %d", got, exit)
	}
	said := evenly(out + errs)
	for _, w := range want {
		if !strings.Contains(said, evenly(w)) {
			t.Errorf("%q is missing", w)
		}
	}
	if t.Failed() {
		t.Log(out + errs)
	}
	return said
}
