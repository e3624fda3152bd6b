package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/yamlbody"
	"github.com/mxflow/mxflow/steps"
)

// TestTutorials follows the pages that write a plan block after block: together they are
// a plan without mistakes, and plan says how many launches it takes.
func TestTutorials(t *testing.T) {
	for page, launches := range map[string]string{
		"tutorial.md":      "11 to 19 launches",
		"your-server.md":   "11 to 19 launches",
		"port-a-kernel.md": "12 to 20 launches",
	} {
		path := filepath.Join(t.TempDir(), "plan.hcl")
		try.Write(t, path, strings.Join(blocks(t, page, "hcl"), "\n"))
		res := load.Path(path, steps.Registry(), load.Options{})
		if len(res.Diagnostics) > 0 {
			t.Errorf("%s: %v", page, res.Diagnostics)
			continue
		}
		if status, out, errs := mxflow("plan", path); status != 0 || !strings.Contains(out, launches) {
			t.Errorf("%s: plan exits %d and says:\n%s%s", page, status, out, errs)
		}
	}
}

// inBoth is a block in HCL of the tutorial, with what follows it.
var inBoth = regexp.MustCompile("(?s)```hcl\n(.*?)```\n(\n<details><summary>In YAML</summary>\n\n```yaml\n.*?```\n\n</details>\n)?")

// TestTutorialInYAML: each block of the tutorial is there in both syntaxes, and those in YAML
// are the same plan. -update writes them.
func TestTutorialInYAML(t *testing.T) {
	const path = "../../docs/tutorial.md"
	names, page := load.Names(steps.Registry()), try.Read(t, path)
	want := inBoth.ReplaceAllStringFunc(page, func(block string) string {
		hcl := inBoth.FindStringSubmatch(block)[1]
		text, err := yamlbody.FromHCL([]byte(hcl), func(attr string) bool { return names[attr] })
		try.OK(t, err)
		return "```hcl\n" + hcl + "```\n\n<details><summary>In YAML</summary>\n\n```yaml\n" + string(text) + "```\n\n</details>\n"
	})
	if page != want && *update {
		try.Write(t, path, want)
	} else if page != want {
		t.Errorf("%s has other blocks in YAML (go test ./cmd/mxflow -run TestTutorialInYAML -update writes them)", path)
	}
	plan := func(syntax, name string) string {
		text := strings.Join(blocks(t, "tutorial.md", syntax), "\n")
		res := load.Bytes(name, []byte(text), steps.Registry(), load.Options{})
		if len(res.Diagnostics) > 0 {
			t.Fatalf("%s: %v", name, res.Diagnostics)
		}
		return res.Plan.Digest()
	}
	if plan("hcl", "plan.hcl") != plan("yaml", "plan.yaml") {
		t.Error("the plan in YAML is another one")
	}
}

// TestLinks: every relative link of a page leads to a file, and to a heading in it where
// it names one.
func TestLinks(t *testing.T) {
	pages := globbed("../../*.md", "../../docs/*.md", "../../docs/*/*.md", "../../docs/*/*/*.md", "../../examples/*/*.md")
	if len(pages) < 20 {
		t.Fatalf("only %d pages were found: the search is wrong", len(pages))
	}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(try.Read(t, page), -1) {
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
			} else if heading != "" && !slices.Contains(headings(try.Read(t, target)), heading) {
				t.Errorf("%s: %s names no heading of %s", page, m[1], target)
			}
		}
	}
}

// globbed are the files that match patterns.
func globbed(patterns ...string) (files []string) {
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern)
		files = append(files, found...)
	}
	return files
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
