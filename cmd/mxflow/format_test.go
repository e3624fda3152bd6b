package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/planstest"
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
		"plan.yaml": "plan: {p: {summary: s}}\n", "more.yml": "phase:\n    # why\n    a: {}\nengine:\n    b: {c: {}}\n", "compose.yaml": "services:   {}\n", "notes.txt": "x=1",
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
	if !strings.Contains(out, "a.hcl\n") || strings.Contains(out, "b.hcl") || strings.Contains(out, "c.hcl") || strings.Contains(out, "yaml") || !strings.Contains(out, "more.yml\n") {
		t.Errorf("printed\n%s", out)
	}
	if got := content(t, filepath.Join(dir, "a.hcl")); got != straight {
		t.Errorf("a.hcl is %q", got)
	}
	if got := content(t, filepath.Join(dir, "more.yml")); got != "engine:\n  b: {c: {}}\n\nphase:\n  # why\n  a: {}\n" {
		t.Errorf("more.yml is %q", got)
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
	if code, out, _ = command(t, "fmt", "--check", dir); code != 0 || out != "" {
		t.Errorf("a second time: exit %d\n%s", code, out)
	}
}

func TestFormatChecks(t *testing.T) {
	dir := folder(t, map[string]string{"a.hcl": crooked})
	path := filepath.Join(dir, "a.hcl")
	code, out, _ := command(t, "fmt", "--check", path)
	if code != 3 || out != path+"\n" {
		t.Errorf("exit %d\n%s", code, out)
	}
	if content(t, path) != crooked {
		t.Error("--check wrote the file")
	}
}

func TestFormatRefusesWhatItCannotRead(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.hcl": crooked, "broken.hcl": "plan \"p\" {\n", "deep.hcl": strings.Repeat("a {\n", 200_000), "yaml.hcl": "plan: {p: {}}\n",
	})
	var paths []string
	for _, name := range []string{"broken.hcl", "deep.hcl", "yaml.hcl", "a.hcl"} {
		paths = append(paths, filepath.Join(dir, name))
	}
	code, out, errs := command(t, append([]string{"fmt"}, paths...)...)
	if code != 1 || !strings.Contains(out, "a.hcl") {
		t.Errorf("exit %d: the good file was not formatted:\n%s", code, out)
	}
	for _, name := range []string{"broken.hcl:1", "deep.hcl:", "yaml.hcl:1"} {
		if !strings.Contains(errs, name) {
			t.Errorf("no %s in\n%s", name, errs)
		}
	}
	odd := filepath.Join(dir, "odd.yaml")
	if err := os.WriteFile(odd, []byte("plan:\n  ? p\n  : {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := command(t, "fmt", odd); code != 1 || !strings.Contains(errs, "odd.yaml stays as it is: line 2: a key written with ?") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := command(t, "fmt", "plan.yaml"); code != 1 || !strings.Contains(errs, "plan.yaml") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := command(t, "fmt", filepath.Join(dir, "none.hcl")); code != 1 || !strings.Contains(errs, "none.hcl") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := command(t, "fmt", "-", paths[0]); code != 1 || !strings.Contains(errs, "standard input") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestFormattingKeepsWhatAPlanSays(t *testing.T) {
	paths, _ := filepath.Glob("../../plans/load/testdata/valid/*.hcl")
	if len(paths) == 0 {
		t.Fatal("no plans")
	}
	for _, path := range paths {
		src := content(t, path)
		before := load.Bytes(path, []byte(src), planstest.Registry(), load.Options{})
		spoiled := strings.ReplaceAll(strings.ReplaceAll(src, "  ", "\t "), " = ", "=")
		after := load.Bytes(path, layout(t, path, []byte(spoiled)), planstest.Registry(), load.Options{})
		if before.Plan.Digest() != after.Plan.Digest() {
			t.Errorf("%s means something else now", path)
		}
	}
	paths, _ = filepath.Glob("../../plans/load/testdata/valid_yaml/*.yaml")
	if len(paths) == 0 {
		t.Fatal("no plans in YAML")
	}
	for _, path := range paths {
		src := content(t, path)
		before := load.Bytes(path, []byte(src), planstest.Registry(), load.Options{})
		out, problems, err := formatPlan(path, []byte(src))
		if problems != nil || err != nil {
			t.Errorf("%s: %v %v", path, problems, err)
			continue
		}
		if after := load.Bytes(path, out, planstest.Registry(), load.Options{}); before.Plan.Digest() != after.Plan.Digest() {
			t.Errorf("%s means something else now:\n%s", path, out)
		}
	}
}

// TestFormatHeredoc: what a heredoc holds stays as it is, and moves nothing else.
func TestFormatHeredoc(t *testing.T) {
	const text = `plan "p" {}
locals {
  t = <<-EOT
      mxflow_heredoc0

      ${join(
        ", ",
        ["a", <<X
    inner ${upper(
"x")}
X
        ]
      )}
    EOT
  after   =   {
    a = 1
  }
  u = <<EOT
EOT
}
`
	want := strings.Replace(text, "after   =   {", "after = {", 1)
	if got, problems, _ := formatPlan("plan.hcl", []byte(text)); problems != nil || string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
