package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// TestExamplesConvert writes each example in YAML and back, and gives both to
// the commands.
func TestExamplesConvert(t *testing.T) {
	examples, _ := filepath.Glob("../../examples/*/plan.hcl")
	if len(examples) == 0 {
		t.Fatal("no examples")
	}
	for _, path := range examples {
		dir := t.TempDir()
		inYAML, back := filepath.Join(dir, "plan.yaml"), filepath.Join(dir, "plan.hcl")
		for _, args := range [][]string{
			{"convert", path, "--to", "yaml", "--out", inYAML},
			{"convert", inYAML, "--to", "hcl", "--out", back},
			{"validate", inYAML},
			{"graph", inYAML},
			{"validate", back},
		} {
			if code, _, errs := command(t, args...); code != 0 {
				t.Fatalf("%v: exit %d: %s", args, code, errs)
			}
		}
		want := load.Path(path, steps.Registry(), load.Options{})
		for _, other := range []string{inYAML, back} {
			got := load.Path(other, steps.Registry(), load.Options{})
			if got.Plan.Digest() != want.Plan.Digest() {
				t.Errorf("%s is another plan than %s", other, path)
			}
		}
	}
}

func TestConvertRefuses(t *testing.T) {
	dir := folder(t, map[string]string{
		"plan.yaml": "plan: {p: {summary: s}}\n", "broken.yaml": "plan:\n\tp: 1\n", "broken.hcl": "plan {\n", "there.hcl": "x\n",
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{at("plan.yaml"), "--to", "json"}, "use hcl or yaml"},
		{[]string{at("plan.yaml"), "--to", "yaml"}, "yaml already"},
		{[]string{at("plan.yaml"), "--out", at("there.hcl")}, "already exists with other content"},
		{[]string{at("none.yaml")}, "no such file"},
		{[]string{at("broken.yaml")}, "Tab in indentation"},
		{[]string{at("broken.hcl")}, "Unclosed"},
	} {
		code, out, errs := command(t, append([]string{"convert"}, c.args...)...)
		if code != 1 || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%v: exit %d, %q, %q", c.args, code, out, errs)
		}
	}
	code, out, _ := command(t, "convert", at("plan.yaml"))
	if code != 0 || out != "plan \"p\" {\n  summary = \"s\"\n}\n" {
		t.Errorf("exit %d: %q", code, out)
	}
}

// TestManualOfYAML loads the whole plan in the manual.
func TestManualOfYAML(t *testing.T) {
	page := content(t, "../../docs/yaml.md")
	_, rest, _ := strings.Cut(page, "```yaml\n")
	plan, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("no plan in the page")
	}
	path := filepath.Join(folder(t, map[string]string{"plan.yaml": plan}), "plan.yaml")
	if code, _, errs := command(t, "validate", path); code != 0 {
		t.Fatal(errs)
	}
}
