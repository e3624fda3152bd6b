package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

var update = flag.Bool("update", false, "rewrite generated docs")

// TestDocs keeps the generated pages in step with the code.
func TestDocs(t *testing.T) {
	for path, want := range map[string]string{
		"../../docs/embedded.md": embeddedPage(),
		"../../docs/metrics.md":  metricsPage(),
		"../../docs/language.md": languagePage(),
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
	b.WriteString("Every metric is derived from raw samples and readings. Those of a request or of a cell are addressed below a workload\n(`chat.tg`, `chat.c16.tg_total`), those of a launch below `engine` (`engine.startup_s`), those of the machine below\n`gpu` and `host`. All but those of a request have one value per launch. Where nothing is sent, to a command, the windows\nof `gpu` and `host` are its run, or [what it marks](engines.md#command-engines-a-benchmark-that-is-a-script).\n\n")
	scope := measure.Scope("")
	for _, m := range measure.Catalogue() {
		if m.Scope != scope {
			scope = m.Scope
			fmt.Fprintf(&b, "## %s\n\n", map[measure.Scope]string{
				measure.PerRequest: "Of each request", measure.PerCell: "Of each cell of a workload", measure.PerLaunch: "Of each launch", measure.PerGPU: "Of the GPUs", measure.PerHost: "Of the host",
			}[scope])
		}
		path, definition := m.Path(), m.Definition
		if stem, numbered := strings.CutPrefix(m.Name, "accept_pos"); numbered {
			if stem != "0" {
				continue // explained with the first
			}
			path += " … accept_pos7"
			definition = strings.ReplaceAll(definition, "position 0", "that position")
		}
		better := string(m.Better)
		if better == "" {
			better = "neither"
		}
		fmt.Fprintf(&b, "### %s\n\n%s, better: %s. Needs %s.\n\n%s\n\n", path, m.Unit, better, m.Evidence, definition)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// embeddedPage is what language.md does not say of the engine inside mxflow.
func embeddedPage() string {
	var b strings.Builder
	b.WriteString("# The embedded engine\n\n" + generated)
	b.WriteString("A small decoder in pure Go, shaped like gpt-oss, with constructed weights: `mxflow engine serve`. With it\nthe whole tool can be tried and tested anywhere.\n\n## Flags\n\n")
	for _, s := range embedded.Settings() {
		fmt.Fprintf(&b, "- `--%s` (default %s): %s\n", strings.ReplaceAll(s.Name, "_", "-"), s.Default, s.Doc)
	}
	b.WriteString("\n## Environment\n\n")
	for _, s := range embedded.Switches() {
		fmt.Fprintf(&b, "- `%s` (`%s`, default %s): %s\n", s.Env, strings.Join(s.Values, "`, `"), s.Default, s.Doc)
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
	res := load.Bytes("README.md", []byte(plan), steps.Registry(), load.Options{})
	if !res.OK() {
		t.Error(res.Diagnostics)
	}
}

// enginesExamples are the plans that the manual of engines shows. One without a
// plan block is the part that matters, and gets one.
func enginesExamples(t *testing.T) (list []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/engines.md")
	if err != nil {
		t.Fatal(err)
	}
	// A key stands in the environment.
	t.Setenv("MXFLOW_VAR_key", "a-key-of-the-test")
	for i, part := range strings.Split(string(page), "```hcl\n")[1:] {
		text, _, closed := strings.Cut(part, "\n```")
		if !closed {
			t.Fatalf("example %d is not closed", i+1)
		}
		if !strings.Contains(text, "\nplan \"") && !strings.HasPrefix(text, "plan \"") {
			text = "plan \"shown\" {}\n" + text
		}
		list = append(list, text)
	}
	if len(list) < 15 {
		t.Fatalf("only %d examples were found: the search is wrong", len(list))
	}
	return list
}

// TestEnginesManual: every plan that the manual of engines shows is valid.
func TestEnginesManual(t *testing.T) {
	for i, text := range enginesExamples(t) {
		res := load.Bytes("engines.md", []byte(text), steps.Registry(), load.Options{Inputs: []load.Given{}})
		if !res.OK() {
			t.Errorf("example %d:\n%s\n%v", i+1, text, res.Diagnostics)
		}
	}
}

const languageHead = `# The blocks of a plan

` + generated + `Every block, its attributes, and an example. How blocks work together, and
how rules are written, is in [plan-reference.md](plan-reference.md); metrics are in
[metrics.md](metrics.md), mistakes in [diagnostics.md](diagnostics.md).

Attributes that are not required may be left out, or be ` + "`null`" + `. In [YAML](yaml.md) block
types are keys, and labels the keys below them.

`

// languagePage is the reference of the plan language.
func languagePage() string {
	var b strings.Builder
	b.WriteString(languageHead)
	doc := load.Describe(steps.Registry())
	b.WriteString("Optional, any number of each unless marked: 1 exactly one, + at least one, ? at most one.\n\n```\n")
	outline(&b, doc, 0)
	b.WriteString("```\n\n")
	lists := make(map[string]string)
	for _, block := range doc.Blocks {
		blockSection(&b, "", block, lists)
	}
	repetition(&b, doc)
	fmt.Fprintf(&b, "\n## Functions\n\nExpressions may call these. They do what Terraform's functions of the same name do;\n`file` and `templatefile` read below the plan's folder, `env` reads the environment.\nThere is none that depends on the time or on chance.\n\n```\n%s\n```\n", strings.Join(functionSignatures(), "\n"))
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// repetition is the section on what generates blocks.
func repetition(b *strings.Builder, doc *lang.BlockDoc) {
	var words []string
	var attrs []plans.Attr
	doc.Walk(func(path string, d *lang.BlockDoc) {
		if d.Repeats && (len(words) == 0 || words[len(words)-1] != "`"+d.Type+"`") {
			words, attrs = append(words, "`"+d.Type+"`"), d.RepeatAttrs()
		}
	})
	fmt.Fprintf(b, "## Blocks that make blocks\n\nBlocks of type %s also have these attributes ([rules](plan-reference.md#generated-blocks)):\n\n", strings.Join(words, ", "))
	attrList(b, attrs)
	fmt.Fprintf(b, "```hcl\n%s\n```\n\n", eachExample)
	b.WriteString("Blocks within another one are made by `dynamic`. In its content, the element has\nthe name of the block's type:\n\n")
	fmt.Fprintf(b, "```hcl\n%s\n```\n", dynamicExample)
}

const (
	eachExample = `workload "depth" {
  for_each      = { short = 512, long = 8192 } # makes depth_short and depth_long
  prompt_tokens = each.value
  output_tokens = 32
}`
	dynamicExample = `knob "batch" {
  default = "b8"

  dynamic "value" {
    for_each = [8, 16, 32]
    labels   = ["b${value.value}"]
    content {
      args = ["--batch", tostring(value.value)]
      must_see {
        log = ["*batch size ${value.value}*"]
      }
    }
  }
}`
)

// outline shows which block stands in which.
func outline(b *strings.Builder, d *lang.BlockDoc, depth int) {
	for _, block := range d.Blocks {
		mark := map[plans.Times]string{plans.Once: " 1", plans.AtLeast1: " +", plans.AtMost1: " ?"}[block.Times]
		fmt.Fprintf(b, "%s%s%s\n", strings.Repeat("  ", depth), header(block), mark)
		outline(b, block, depth+1)
	}
}

// header is a block's first line without the brace.
func header(d *lang.BlockDoc) string {
	words := []string{d.Type}
	for _, label := range d.Labels {
		words = append(words, fmt.Sprintf("%q", label.Name))
	}
	return strings.Join(words, " ")
}

// blockSection describes a block and those in it. Which stand in it, and how often,
// is in the outline. Lists are the attributes already written, with the block that has them.
func blockSection(b *strings.Builder, parent string, d *lang.BlockDoc, lists map[string]string) {
	title := "## "
	if parent != "" {
		title = "### "
	}
	fmt.Fprintf(b, "%s%s\n\n%s", title, header(d), d.Doc)
	for _, label := range d.Labels {
		fmt.Fprintf(b, " `%s`: %s", label.Name, label.Doc)
	}
	b.WriteString("\n\n")
	example(b, d)
	attrs := d.Attrs
	if d.Open != nil {
		attrs = append(slices.Clone(attrs), *d.Open)
	}
	var list strings.Builder
	attrList(&list, attrs)
	if of := lists[list.String()]; of != "" && list.Len() > 0 {
		fmt.Fprintf(b, "It has the attributes of `%s`.\n\n", of)
	} else {
		lists[list.String()] = d.Type
		b.WriteString(list.String())
	}
	for _, kind := range inOrder(d.Kinds) {
		kindSection(b, d, kind)
	}
	for _, block := range d.Blocks {
		blockSection(b, d.Type, block, lists)
	}
}

// kindSection is a body that the first label chooses.
func kindSection(b *strings.Builder, d *lang.BlockDoc, kind string) {
	k := d.Kinds[kind]
	rest := ""
	for _, label := range k.Labels[1:] {
		rest += fmt.Sprintf(" %q", label.Name)
	}
	fmt.Fprintf(b, "### %s %q%s\n\n%s\n\n", d.Type, kind, rest, k.Doc)
	example(b, k)
	if d.Type != "engine" {
		attrList(b, k.Attrs)
		for _, block := range k.Blocks {
			blockSection(b, d.Type, block, map[string]string{})
		}
		return
	}
	switch {
	case k.Settings == nil:
		b.WriteString("Any setting is accepted.\n\n")
	case len(k.Settings) == 0:
		b.WriteString("It has no settings: what the server understands goes into its command or `args`.\n\n")
	default:
		b.WriteString("Its settings:\n\n")
		attrList(b, k.Settings)
	}
}

func example(b *strings.Builder, d *lang.BlockDoc) {
	if d.Example != "" {
		fmt.Fprintf(b, "```hcl\n%s\n```\n\n", d.Example)
	}
}

// attrList writes a line for each attribute.
func attrList(b *strings.Builder, attrs []plans.Attr) {
	for _, a := range attrs {
		fmt.Fprintf(b, "- `%s` (%s", a.Name, a.TypeText())
		switch {
		case a.Required:
			b.WriteString(", required")
		case a.Default != nil:
			text, _ := json.Marshal(a.Default)
			fmt.Fprintf(b, ", default `%s`", text)
		}
		fmt.Fprintf(b, "): %s\n", a.Doc)
	}
	if len(attrs) > 0 {
		b.WriteString("\n")
	}
}

// functionSignatures are the functions that expressions may call, each with the names of
// its arguments: "join(separator, lists…)".
func functionSignatures() (list []string) {
	functions := eval.NewScope("").Functions()
	for _, name := range inOrder(functions) {
		var args []string
		for _, p := range functions[name].Params() {
			args = append(args, p.Name)
		}
		if p := functions[name].VarParam(); p != nil {
			args = append(args, p.Name+"…")
		}
		list = append(list, name+"("+strings.Join(args, ", ")+")")
	}
	return list
}

func inOrder[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// TestMeasuringManual: what the manual of measuring shows, taken together, is a
// valid plan.
func TestMeasuringManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/measuring.md")
	if err != nil {
		t.Fatal(err)
	}
	text := "plan \"shown\" {}\n"
	parts := strings.Split(string(page), "```hcl\n")[1:]
	for i, part := range parts {
		block, _, closed := strings.Cut(part, "\n```")
		if !closed {
			t.Fatalf("example %d is not closed", i+1)
		}
		text += block + "\n\n"
	}
	if len(parts) < 3 {
		t.Fatalf("only %d examples were found: the search is wrong", len(parts))
	}
	res := load.Bytes(filepath.Join(manualFolder(t), "measuring.hcl"), []byte(text), steps.Registry(), load.Options{Inputs: []load.Given{}})
	if !res.OK() {
		t.Errorf("%s\n%v", text, res.Diagnostics)
	}
}
