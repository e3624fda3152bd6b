package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scaffold"
	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/yamlbody"
	"github.com/mxflow/mxflow/steps"
)

// TestExamplesInYAML: these examples have the same plan in both syntaxes, with each way to
// apply it: results of one count for the other. -update writes plan.yaml from plan.hcl.
func TestExamplesInYAML(t *testing.T) {
	names := load.Names(steps.Registry())
	usage := regexp.MustCompile(`(?m)^(#.*)plan\.hcl`)
	_, schema := printedSchema(t)
	for _, name := range []string{"quickstart", "mxfp4_v2", "frameworks", "protocol"} {
		e := examplePlan{name: name, file: filepath.Join("..", "..", "examples", name, "plan.hcl")}
		e.read(t)
		path := strings.TrimSuffix(e.file, ".hcl") + ".yaml"
		if *update {
			text, err := yamlbody.FromHCL([]byte(e.text), func(attr string) bool { return names[attr] })
			try.OK(t, err)
			head := scaffold.YAMLSchema +
				"\n# plan.hcl in YAML: the same plan, so results of one count for the other. The schema is\n" +
				"# printed by mxflow schema.\n#\n"
			text = append([]byte(head), usage.ReplaceAll(text, []byte("${1}plan.yaml"))...)
			if text, err = yamlbody.Format(text, load.TopLevel()); err == nil {
				err = os.WriteFile(path, text, 0o644)
			}
			try.OK(t, err)
		}
		options := []load.Options{{}}
		if len(e.args) > 0 {
			if e.args[0] != "--var" || len(e.args) != 2 {
				t.Fatalf("%s: %v", e.file, e.args)
			}
			name, value, _ := strings.Cut(e.args[1], "=")
			options = append(options, load.Options{Vars: map[string]string{name: value}})
		}
		for _, o := range options {
			in, out := load.Path(e.file, steps.Registry(), o), load.Path(path, steps.Registry(), o)
			if len(in.Diagnostics)+len(out.Diagnostics) > 0 || in.Plan.Digest() != out.Plan.Digest() {
				t.Errorf("%s is another plan than plan.hcl (go test ./cmd/mxflow -run TestExamplesInYAML -update writes it): %v",
					path, out.Diagnostics)
			}
		}
		if err := checkedBy(t, schema, try.Read(t, path)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if code, out, errs := mxflow("fmt", "--check", path); code != 0 {
			t.Errorf("%s is not formatted: %s%s", path, out, errs)
		}
	}
}
