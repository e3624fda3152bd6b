package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scaffold"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans/load"
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
		must.Write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func TestFormatWritesWhatChanges(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.hcl": crooked, "b.hcl": straight, "vars.mxvars": "x=1\nlonger = 2\n",
		"plan.yaml": "plan: {p: {summary: s}}\n", "more.yml": "phase:\n    # why\n    a: {}\nengine:\n    b: {c: {}}\n",
		"compose.yaml": "services:   {}\n", "notes.txt": "x=1",
		"below/c.hcl": crooked, ".mxflow/d.hcl": crooked,
	})
	must.Do(t, os.Chmod(filepath.Join(dir, "a.hcl"), 0o640))
	link := filepath.Join(dir, "link.hcl")
	must.Do(t, os.Symlink("a.hcl", link))
	crookedFile := filepath.Join(dir, "a.hcl")
	if code, out, _ := mxflow("fmt", "--check", crookedFile); code != 3 || out != crookedFile+"\n" {
		t.Errorf("--check: exit %d\n%s", code, out)
	}
	must.Equal(t, "what --check leaves", must.Read(t, crookedFile), crooked)
	code, out, errs := mxflow("fmt", dir)
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if !strings.Contains(out, "a.hcl\n") || strings.Contains(out, "b.hcl") || strings.Contains(out, "c.hcl") ||
		strings.Contains(out, "yaml") || !strings.Contains(out, "more.yml\n") {
		t.Errorf("printed\n%s", out)
	}
	must.Equal(t, "a.hcl", must.Read(t, filepath.Join(dir, "a.hcl")), straight)
	if got := must.Read(t, filepath.Join(dir, "more.yml")); got !=
		"engine:\n  b: {c: {}}\n\nphase:\n  # why\n  a: {}\n" {
		t.Errorf("more.yml is %q", got)
	}
	must.Equal(t, "vars.mxvars", must.Read(t, filepath.Join(dir, "vars.mxvars")), "x      = 1\nlonger = 2\n")
	if info, err := os.Stat(filepath.Join(dir, "a.hcl")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*.hcl.*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if code, out, _ = mxflow("fmt", "--check", dir); code != 0 || out != "" {
		t.Errorf("a second time: exit %d\n%s", code, out)
	}
}

func TestFormatRefusesWhatItCannotRead(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.hcl": crooked, "broken.hcl": "plan \"p\" {\n", "deep.hcl": strings.Repeat("a {\n", 200_000),
		"yaml.hcl": "plan: {p: {}}\n",
		"odd.yaml": "plan:\n  ? p\n  : {}\n",
	})
	t.Chdir(dir)
	for args, want := range map[string][]string{
		"broken.hcl deep.hcl yaml.hcl a.hcl": {"broken.hcl:1", "deep.hcl:", "yaml.hcl:1"},
		"odd.yaml":                           {"odd.yaml stays as it is: line 2: a key written with ?"},
		"plan.yaml":                          {"plan.yaml"},
		"none.hcl":                           {"none.hcl"},
		"- a.hcl":                            {"standard input"},
	} {
		code, out, errs := mxflow(append([]string{"fmt"}, strings.Fields(args)...)...)
		if code != 1 || strings.Contains(out, "a.hcl") != strings.HasPrefix(args, "broken") {
			t.Errorf("%s: exit %d\n%s%s", args, code, out, errs)
		}
		for _, text := range want {
			must.Contain(t, args, errs, text)
		}
	}
}

func TestFormattingKeepsWhatAPlanSays(t *testing.T) {
	hcl, _ := filepath.Glob("../../plans/load/testdata/valid/*.hcl")
	yaml, _ := filepath.Glob("../../plans/load/testdata/valid_yaml/*.yaml")
	if len(hcl) == 0 || len(yaml) == 0 {
		t.Fatal("no plans")
	}
	for _, path := range slices.Concat(hcl, yaml) {
		text := must.Read(t, path)
		digest := func(text string) string {
			return load.Bytes(path, []byte(text), planstest.Registry(), load.Options{}).Plan.Digest()
		}
		spoiled := text
		if strings.HasSuffix(path, ".hcl") {
			spoiled = strings.NewReplacer("  ", "\t ", " = ", "=").Replace(text)
		}
		if out := string(layout(t, path, []byte(spoiled))); digest(text) != digest(out) {
			t.Errorf("%s means something else now:\n%s", path, out)
		}
	}
}

// TestFormatHeredoc: what a heredoc holds stays as it is, and a file is refused where that would
// move what follows.
func TestFormatHeredoc(t *testing.T) {
	const text = `plan "p" {}
locals {
  t = <<-EOT
      x { (

      ${join(", ", ["a"])} [
    EOT
  after   =   {
    a = 1
  }
  u = <<EOT
EOT
}
`
	want := strings.Replace(text, "after   =   {", "after = {", 1)
	got, problems, err := formatPlan("plan.hcl", []byte(text))
	if problems != nil || err != nil || string(got) != want {
		t.Errorf("got\n%s\nwant\n%s%v", got, want, err)
	}
	path := filepath.Join(t.TempDir(), "plan.hcl")
	for _, several := range []string{"join(\n\", \", [\"a\"])", "join(\", \", [<<X\na\nX\n])"} {
		refused := strings.Replace(text, `join(", ", ["a"])`, several, 1)
		must.Write(t, path, refused)
		if code, out, errs := mxflow("fmt", path); code != 1 || out != "" ||
			!strings.Contains(errs, path+":6 stays as it is: ") {
			t.Errorf("exit %d: %s%s", code, out, errs)
		}
		must.Equal(t, "what is refused", must.Read(t, path), refused)
	}
}

func TestScaffoldsAreValidAndFormatted(t *testing.T) {
	for i := range 2 * len(scaffold.Kinds()) {
		kind, args, name := scaffold.Kinds()[i/2], []string(nil), "plan.hcl"
		if i%2 == 1 {
			args, name = []string{"--yaml"}, "plan.yaml"
		}
		dir := filepath.Join(t.TempDir(), "new", "port")
		code, out, errs := mxflow(append([]string{"init", "--kind", kind, dir}, args...)...)
		path := filepath.Join(dir, name)
		if code != 0 || !strings.Contains(out, "mxflow validate "+path+"  ") {
			t.Fatalf("%s: exit %d\n%s%s", kind, code, out, errs)
		}
		if code, out, errs = mxflow("validate", path); code != 0 || errs != "" {
			t.Errorf("%s: validate exits %d\n%s%s", kind, code, out, errs)
		}
		if code, out, errs = mxflow("fmt", "--check", path); code != 0 {
			t.Errorf("%s: fmt --check exits %d\n%s%s", kind, code, out, errs)
		}
		if written := must.Read(t, path); strings.Contains(written, "\n\n\n") ||
			strings.Contains(written, "<no value>") {
			t.Errorf("%s:\n%s", kind, written)
		}
	}
}

func TestInitOverwritesNothing(t *testing.T) {
	dir := folder(t, map[string]string{"plan.hcl": "mine"})
	if code, _, errs := mxflow("init", dir); code != 1 || !strings.Contains(errs, "not overwritten") {
		t.Errorf("exit %d: %s", code, errs)
	}
	must.Equal(t, "the plan", must.Read(t, filepath.Join(dir, "plan.hcl")), "mine")
	if code, _, errs := mxflow("init", "--kind", "vlm", dir); code != 1 ||
		!strings.Contains(errs, `Did you mean "vllm"?`) {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// init takes a folder. One that is named like a plan was meant as the file.
func TestInitTakesAFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.hcl")
	code, _, errs := mxflow("init", path)
	if code != 1 || !strings.Contains(errs, "mxflow init "+filepath.Dir(path)) {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s: %v", path, err)
	}
}
