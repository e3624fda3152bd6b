package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// TestTutorial follows the tutorial: its blocks, one after the other, are a plan
// without mistakes.
func TestTutorial(t *testing.T) {
	page, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for i, part := range strings.Split(string(page), "```hcl\n") {
		if block, _, found := strings.Cut(part, "```"); i > 0 && found {
			plan.WriteString(block + "\n")
		}
	}
	path := filepath.Join(t.TempDir(), "plan.hcl")
	if err := os.WriteFile(path, []byte(plan.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	res := load.Path(path, steps.Registry(), load.Options{})
	if len(res.Diagnostics) > 0 {
		t.Fatal(res.Diagnostics)
	}
	var out strings.Builder
	if status := run(t.Context(), []string{"plan", path}, &out, &out); status != 0 || !strings.Contains(out.String(), "10 to 18 launches") {
		t.Errorf("plan exits %d and says:\n%s", status, out.String())
	}
}
