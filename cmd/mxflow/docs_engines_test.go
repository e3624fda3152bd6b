package main

import (
	"os"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps"
)

// TestEnginesManual: every plan that the manual of engines shows is valid. One
// without a plan block is the part that matters.
func TestEnginesManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/engines.md")
	if err != nil {
		t.Fatal(err)
	}
	// A key stands in the environment.
	t.Setenv("MXFLOW_VAR_key", "a-key-of-the-test")
	shown := 0
	for i, part := range strings.Split(string(page), "```hcl\n")[1:] {
		text, _, closed := strings.Cut(part, "\n```")
		if !closed {
			t.Fatalf("example %d is not closed", i+1)
		}
		if !strings.Contains(text, "\nplan \"") && !strings.HasPrefix(text, "plan \"") {
			text = "plan \"shown\" {}\n" + text
		}
		shown++
		res := plans.LoadBytes("engines.md", []byte(text), steps.Registry(), plans.Options{Inputs: []plans.Given{}})
		if !res.OK() {
			t.Errorf("example %d:\n%s\n%v", i+1, text, res.Diagnostics)
		}
	}
	if shown < 5 {
		t.Errorf("only %d examples were found: the search is wrong", shown)
	}
}
