package mxflow

import (
	"io/fs"
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
	walk, _, _ = strings.Cut(walk, "\n## ")
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

// TestPagesNameWhatIsThere: tests, files, folders and variables that a page names exist.
func TestPagesNameWhatIsThere(t *testing.T) {
	var code, pages strings.Builder
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		to := map[string]*strings.Builder{".go": &code, ".sh": &code, ".md": &pages}[filepath.Ext(path)]
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "shared"):
			return filepath.SkipDir
		case to == nil:
			return nil
		}
		text, err := os.ReadFile(path)
		to.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const folder, ending = `(?:cmd|docs|engine|examples|gates|internal|plans|runtime|steps)/`, `\.(?:go|js|md|py|txt|hcl|yaml)`
	named := 0
	for pattern, there := range map[string]func(string) bool{
		`\bTest[A-Z]\w+`: func(name string) bool { return strings.Contains(code.String(), "\nfunc "+name) },
		`\bMXFLOW_[A-Z_]*[A-Z]\b`: func(name string) bool {
			return strings.Contains(code.String(), name)
		},
		"`" + folder + `[\w/-]+(?:` + ending + ")?`": func(path string) bool {
			_, err := os.Stat(strings.Trim(path, "`"))
			return err == nil || strings.Contains(path, "KIND")
		},
	} {
		for _, name := range regexp.MustCompile(pattern).FindAllString(pages.String(), -1) {
			named++
			if !there(name) {
				t.Errorf("a page names %s, which does not exist", name)
			}
		}
	}
	if named < 100 {
		t.Errorf("only %d names were found", named)
	}
}
