package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	crooked  = "plan \"p\" {\nsummary=\"s\" # why\n}\n"
	straight = "plan \"p\" {\n  summary = \"s\" # why\n}\n"
)

// folder writes files into a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFormatWritesWhatChanges(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.hcl": crooked, "b.hcl": straight, "vars.mxvars": "x=1\nlonger = 2\n",
		"plan.yaml": "plan: {p: {summary: s}}\n", "compose.yaml": "services:   {}\n", "notes.txt": "x=1",
		"below/c.hcl": crooked, ".mxflow/d.hcl": crooked,
	})
	link := filepath.Join(dir, "link.hcl")
	if err := os.Symlink("a.hcl", link); err != nil {
		t.Fatal(err)
	}
	code, out, errs := command(t, "fmt", dir)
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if !strings.Contains(out, "a.hcl\n") || strings.Contains(out, "b.hcl") || strings.Contains(out, "c.hcl") || strings.Contains(out, "compose") {
		t.Errorf("printed\n%s", out)
	}
	if got := content(t, filepath.Join(dir, "a.hcl")); got != straight {
		t.Errorf("a.hcl is %q", got)
	}
	if got := content(t, filepath.Join(dir, "vars.mxvars")); got != "x      = 1\nlonger = 2\n" {
		t.Errorf("vars.mxvars is %q", got)
	}
	if info, err := os.Stat(filepath.Join(dir, "a.hcl")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*.hcl.*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, out, _ = command(t, "fmt", "--recursive", dir); !strings.Contains(out, filepath.Join("below", "c.hcl")) || strings.Contains(out, "d.hcl") {
		t.Errorf("--recursive printed\n%s", out)
	}
	if code, out, _ = command(t, "fmt", "--check", "--recursive", dir); code != 0 || out != "" {
		t.Errorf("a second time: exit %d\n%s", code, out)
	}
}

func TestFormatChecks(t *testing.T) {
	dir := folder(t, map[string]string{"a.hcl": crooked})
	path := filepath.Join(dir, "a.hcl")
	code, out, _ := command(t, "fmt", "--check", "--diff", path)
	if code != 3 || !strings.Contains(out, "\n-summary=\"s\" # why\n+  summary = \"s\" # why\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if content(t, path) != crooked {
		t.Error("--check wrote the file")
	}
}

func TestFormatRefusesWhatItCannotRead(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.hcl": crooked, "broken.hcl": "plan \"p\" {\n", "broken.yaml": "plan: [\n", "two.yaml": "plan: {p: {}}\n---\nplan: {q: {}}\n",
		"tab.yaml": "plan:\n\tp: {}\n",
	})
	var paths []string
	for _, name := range []string{"broken.hcl", "broken.yaml", "two.yaml", "tab.yaml", "a.hcl"} {
		paths = append(paths, filepath.Join(dir, name))
	}
	code, out, errs := command(t, append([]string{"fmt"}, paths...)...)
	if code != 1 || !strings.Contains(out, "a.hcl") {
		t.Errorf("exit %d: the good file was not formatted:\n%s", code, out)
	}
	for _, name := range []string{"broken.hcl:1", "broken.yaml:", "two.yaml:2", "tab.yaml:2"} {
		if !strings.Contains(errs, name) {
			t.Errorf("no %s in\n%s", name, errs)
		}
	}
	if code, _, errs := command(t, "fmt", filepath.Join(dir, "none.hcl")); code != 1 || !strings.Contains(errs, "none.hcl") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := command(t, "fmt", "-", paths[0]); code != 1 || !strings.Contains(errs, "standard input") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
