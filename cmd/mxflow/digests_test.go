package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// TestExamplesKeepTheirDigests holds the digest of every example plan: a digest
// that moves makes recorded plans look changed.
func TestExamplesKeepTheirDigests(t *testing.T) {
	paths, err := filepath.Glob("../../examples/*/plan.*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	var b strings.Builder
	for _, path := range paths {
		res := load.Path(path, steps.Registry(), load.Options{})
		if !res.OK() {
			t.Fatalf("%s: %v", path, res.Diagnostics)
		}
		fmt.Fprintf(&b, "%s %s\n", res.Plan.Digest(), strings.TrimSuffix(filepath.ToSlash(path[len("../../examples/"):]), "/plan.hcl"))
	}
	golden := filepath.Join("testdata", "digests.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || b.String() != string(want) {
		t.Errorf("digests of the examples moved (%v):\n%s\nwant\n%s", err, b.String(), want)
	}
}
