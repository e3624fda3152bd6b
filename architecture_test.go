package mxflow

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWalkOfARule: the walk in docs/internals/architecture.md names functions that exist.
func TestWalkOfARule(t *testing.T) {
	text, err := os.ReadFile("docs/internals/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, walk, _ := strings.Cut(string(text), "## The walk of a rule\n")
	walk, _, _ = strings.Cut(walk, "\n| form of a rule")
	named := regexp.MustCompile("`((?:plans|gates|steps|runtime)[a-z/]*)\\.([A-Za-z]+)`").FindAllStringSubmatch(walk, -1)
	if steps := regexp.MustCompile(`(?m)^\d+\. `).FindAllString(walk, -1); len(named) < 12 || len(steps) > 15 {
		t.Fatalf("the walk names %d functions in %d steps", len(named), len(steps))
	}
	for _, m := range named {
		files, _ := filepath.Glob(m[1] + "/*.go")
		found := false
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type )`+m[2]+`\b`).Match(src)
		}
		if !found {
			t.Errorf("there is no %s.%s", m[1], m[2])
		}
	}
}
