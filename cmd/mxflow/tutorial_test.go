package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// TestTutorials follows the pages that write a plan block after block: together they are
// a plan without mistakes, and plan says how many launches it takes.
func TestTutorials(t *testing.T) {
	for page, launches := range map[string]string{
		"tutorial.md":      "11 to 19 launches",
		"port-a-kernel.md": "12 to 20 launches",
	} {
		path := filepath.Join(t.TempDir(), "plan.hcl")
		if err := os.WriteFile(path, []byte(strings.Join(blocks(t, page, "hcl"), "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		res := load.Path(path, steps.Registry(), load.Options{})
		if len(res.Diagnostics) > 0 {
			t.Errorf("%s: %v", page, res.Diagnostics)
			continue
		}
		var out strings.Builder
		if status := run(t.Context(), []string{"plan", path}, &out, &out); status != 0 || !strings.Contains(out.String(), launches) {
			t.Errorf("%s: plan exits %d and says:\n%s", page, status, out.String())
		}
	}
}

// TestLinks: every relative link of a page leads to a file, and to a heading in it where
// it names one.
func TestLinks(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md", "../../docs/*/*/*.md", "../../examples/*/*.md"} {
		found, _ := filepath.Glob(pattern)
		pages = append(pages, found...)
	}
	if len(pages) < 20 {
		t.Fatalf("only %d pages were found: the search is wrong", len(pages))
	}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(content(t, page), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			name, heading, _ := strings.Cut(m[1], "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s leads nowhere", page, m[1])
			} else if heading != "" && !slices.Contains(headings(content(t, target)), heading) {
				t.Errorf("%s: %s names no heading of %s", page, m[1], target)
			}
		}
	}
}

// headings are the anchors of a page, as GitHub makes them.
func headings(page string) (list []string) {
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for line := range strings.Lines(page) {
		if title := strings.TrimLeft(line, "#"); title != line {
			anchor := dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			list = append(list, strings.ReplaceAll(anchor, " ", "-"))
		}
	}
	return list
}
