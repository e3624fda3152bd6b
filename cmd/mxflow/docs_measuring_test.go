package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// TestMeasuringManual: what the manual of measuring shows, taken together, is a
// valid plan.
func TestMeasuringManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/measuring.md")
	if err != nil {
		t.Fatal(err)
	}
	text := "plan \"shown\" {}\n"
	parts := strings.Split(string(page), "```hcl\n")[1:]
	for i, part := range parts {
		block, _, closed := strings.Cut(part, "\n```")
		if !closed {
			t.Fatalf("example %d is not closed", i+1)
		}
		text += block + "\n\n"
	}
	if len(parts) < 3 {
		t.Fatalf("only %d examples were found: the search is wrong", len(parts))
	}
	res := load.LoadBytes(filepath.Join(manualFolder(t), "measuring.hcl"), []byte(text), steps.Registry(), load.Options{Inputs: []load.Given{}})
	if !res.OK() {
		t.Errorf("%s\n%v", text, res.Diagnostics)
	}
}
