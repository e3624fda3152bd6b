package main

import (
	"os"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// enginesExamples are the plans that the manual of engines shows. One without a
// plan block is the part that matters, and gets one.
func enginesExamples(t *testing.T) (list []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/engines.md")
	if err != nil {
		t.Fatal(err)
	}
	// A key stands in the environment.
	t.Setenv("MXFLOW_VAR_key", "a-key-of-the-test")
	for i, part := range strings.Split(string(page), "```hcl\n")[1:] {
		text, _, closed := strings.Cut(part, "\n```")
		if !closed {
			t.Fatalf("example %d is not closed", i+1)
		}
		if !strings.Contains(text, "\nplan \"") && !strings.HasPrefix(text, "plan \"") {
			text = "plan \"shown\" {}\n" + text
		}
		list = append(list, text)
	}
	if len(list) < 15 {
		t.Fatalf("only %d examples were found: the search is wrong", len(list))
	}
	return list
}

// TestEnginesManual: every plan that the manual of engines shows is valid.
func TestEnginesManual(t *testing.T) {
	for i, text := range enginesExamples(t) {
		res := load.LoadBytes("engines.md", []byte(text), steps.Registry(), load.Options{Inputs: []load.Given{}})
		if !res.OK() {
			t.Errorf("example %d:\n%s\n%v", i+1, text, res.Diagnostics)
		}
	}
}
