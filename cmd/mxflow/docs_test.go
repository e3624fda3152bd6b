package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

var update = flag.Bool("update", false, "rewrite generated docs")

// TestDocs keeps the generated pages in step with the code.
func TestDocs(t *testing.T) {
	for path, want := range map[string]string{
		"../../docs/embedded.md":    embeddedPage(),
		"../../docs/metrics.md":     metricsPage(),
		"../../docs/language.md":    languagePage(),
		"../../docs/diagnostics.md": diagnosticsPage(),
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
	b.WriteString("Every metric is derived from raw samples and readings, and can be derived again. Those of a request or of a cell are\naddressed below a workload (`chat.tg`, `chat.c16.tg_total`), those of a launch below `engine` (`engine.startup_s`), and\nthose of the machine below `gpu` and `host`. All but those of a request have one value a launch.\n\n")
	scope := measure.Scope("")
	for _, m := range measure.Catalogue() {
		if m.Scope != scope {
			scope = m.Scope
			fmt.Fprintf(&b, "## %s\n\n", map[measure.Scope]string{
				measure.PerRequest: "Of each request", measure.PerCell: "Of each cell of a workload", measure.PerLaunch: "Of each launch", measure.PerGPU: "Of the GPUs", measure.PerHost: "Of the host",
			}[scope])
		}
		better := string(m.Better)
		if better == "" {
			better = "neither"
		}
		fmt.Fprintf(&b, "### %s\n\n%s, better: %s. Needs %s.\n\n%s\n\n", m.Path(), m.Unit, better, m.Evidence, m.Definition)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// embeddedPage is what language.md does not say of the engine inside mxflow.
func embeddedPage() string {
	var b strings.Builder
	b.WriteString("# The embedded engine\n\n" + generated)
	b.WriteString("A small decoder in pure Go, shaped like gpt-oss, with constructed weights: `mxflow engine serve`. It is there so that\nthe whole tool can be tried and tested anywhere, and is no product of its own.\n\n## Flags\n\n| flag | default | meaning |\n| --- | --- | --- |\n")
	for _, s := range embedded.Settings() {
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", strings.ReplaceAll(s.Name, "_", "-"), s.Default, s.Doc)
	}
	b.WriteString("\n## Environment\n\n| variable | values | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, s := range embedded.Switches() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", s.Env, strings.Join(s.Values, "` `"), s.Default, s.Doc)
	}
	return b.String()
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
	res := load.LoadBytes("README.md", []byte(plan), steps.Registry(), load.Options{})
	if !res.OK() {
		t.Error(res.Diagnostics)
	}
}
