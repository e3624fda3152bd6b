package main

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps"
)

var update = flag.Bool("update", false, "rewrite generated docs")

// TestDocs keeps the generated pages in step with the code.
func TestDocs(t *testing.T) {
	for path, want := range map[string]string{
		"../../docs/kinds.md":   kindsPage(),
		"../../docs/metrics.md": metricsPage(),
	} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s is out of date (%v): go test ./cmd/mxflow -run TestDocs -update", path, err)
		}
	}
}

const generated = "<!-- Generated: go test ./cmd/mxflow -run TestDocs -update -->\n\n"

func metricsPage() string {
	var b strings.Builder
	b.WriteString("# Metrics\n\n" + generated)
	b.WriteString("Every metric is derived from raw samples, and can be derived again. Those of a request are addressed below a workload\n(`chat.tg`), those of a launch below `engine` (`engine.startup_s`).\n\n")
	for _, m := range measure.Catalogue() {
		better := string(m.Better)
		if better == "" {
			better = "neither"
		}
		fmt.Fprintf(&b, "## %s\n\n%s, better: %s, one value per %s. Needs %s.\n\n%s\n\n", m.Name, m.Unit, better, m.Scope, m.Evidence, m.Definition)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func kindsPage() string {
	var b strings.Builder
	r := steps.Registry()
	b.WriteString("# Levels, steps and engine kinds\n\n" + generated)
	b.WriteString("## Levels\n\n")
	for _, name := range inOrder(r.Levels) {
		schemaSection(&b, fmt.Sprintf("level %q", name), r.Levels[name].Doc, r.Levels[name].Attrs)
	}
	b.WriteString("## Steps\n\n")
	for _, name := range inOrder(r.Steps) {
		schemaSection(&b, fmt.Sprintf("step %q \"name\"", name), r.Steps[name].Doc, r.Steps[name].Attrs)
	}
	b.WriteString("## Engine kinds\n\n")
	for _, name := range inOrder(r.Engines) {
		schemaSection(&b, fmt.Sprintf("engine %q \"name\"", name), r.Engines[name].Doc, r.Engines[name].Settings)
	}
	b.WriteString("### Environment of the embedded engine\n\n| variable | values | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, s := range embedded.Switches() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", s.Env, strings.Join(s.Values, "` `"), s.Default, s.Doc)
	}
	return b.String()
}

func schemaSection(b *strings.Builder, title, doc string, attrs []plans.Attr) {
	fmt.Fprintf(b, "### %s\n\n%s\n\n", title, doc)
	if len(attrs) == 0 {
		return
	}
	b.WriteString("| attribute | type | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, a := range attrs {
		value := ""
		switch {
		case a.Required:
			value = "required"
		case a.Default != nil:
			value = fmt.Sprintf("`%v`", a.Default)
		}
		kind := string(a.Type)
		if a.Unit != "" {
			kind += ", " + a.Unit
		}
		if len(a.OneOf) > 0 {
			kind += ": " + strings.Join(a.OneOf, ", ")
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", a.Name, kind, value, a.Doc)
	}
	b.WriteString("\n")
}

func inOrder[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// TestReadmePlan: the plan that the README shows is a whole one.
func TestReadmePlan(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```hcl\n")
	plan, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the README shows no plan")
	}
	res := plans.LoadBytes("README.md", []byte(plan), steps.Registry(), plans.Options{})
	if !res.OK() {
		t.Error(res.Diagnostics)
	}
}
