package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// printedSchema is what mxflow schema prints, compiled.
func printedSchema(t *testing.T) (map[string]any, *jsonschema.Schema) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"schema"}, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	doc, err := jsonschema.UnmarshalJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("plan.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("plan.json") // against the dialect's own schema, with every $ref
	if err != nil {
		t.Fatal(err)
	}
	return doc.(map[string]any), s
}

func TestSchemaHoldsTheWholeLanguage(t *testing.T) {
	doc, _ := printedSchema(t)
	defs := doc["$defs"].(map[string]any)
	properties := func(path string) map[string]any {
		body, _ := defs[path].(map[string]any)
		if path == "" {
			body = doc
		}
		p, _ := body["properties"].(map[string]any)
		return p
	}
	n := 0
	load.Describe(steps.Registry()).Walk(func(path string, d *lang.BlockDoc) {
		if len(d.Kinds) > 0 {
			return // its kinds are visited
		}
		for _, a := range d.Attrs {
			if properties(path)[a.Name] == nil {
				t.Errorf("%s.%s is not in the schema", path, a.Name)
			}
			n++
		}
		for _, b := range d.Blocks {
			if properties(path)[b.Type] == nil {
				t.Errorf("block %s.%s is not in the schema", path, b.Type)
			}
		}
	})
	if n < 60 {
		t.Errorf("only %d attributes were looked at", n)
	}
	everyRef(t, doc, defs)
}

// everyRef looks for references to what is not there.
func everyRef(t *testing.T, v any, defs map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		if r, ok := v["$ref"].(string); ok && defs[strings.TrimPrefix(r, "#/$defs/")] == nil {
			t.Errorf("%s leads nowhere", r)
		}
		for _, e := range v {
			everyRef(t, e, defs)
		}
	case []any:
		for _, e := range v {
			everyRef(t, e, defs)
		}
	}
}

const yamlPlan = `
plan: {demo: {summary: "Port ${var.what}"}}
variable:
  what: {type: string, default: gemm}
locals: {lengths: [512, 2048]}
engine:
  embedded:
    tiny:
      settings: {threads: 1}
  openai:
    gb10:
      process: {command: [vllm, serve]}
      ready: {timeout: 15m}
knob:
  moe:
    default: a
    value:
      - a: {env: {MOE: a, OLD: null}, must_see: {log: ["*a*"]}}
      - b: {env: {MOE: b}, must_see: {log: ["*b*"]}}
workload:
  chat: {prompt_tokens: "${local.lengths}", output_tokens: 32, requests: "${var.n}"}
protocol:
  standard:
    level:
      smoke: {expect: Paris}
      benchmark: {workloads: ["${workload.chat}"]}
baseline:
  engine: engine.embedded.tiny
  protocol: ${protocol.standard}
phase:
  - one:
      step: {exec: {backup: {command: [git, tag, x]}}}
      feature:
        f:
          set: {moe: b}
          builds_on: ${accepted}
          hypothesis: {metric: chat.tg, expect: "+10%", because: it is}
          criterion: {decode: {rule: "chat.tg.gain >= 0.1"}}
      gate: {rule: {"decode is faster": {expr: "chat.tg.gain >= 0"}}}
`

// checkedBy is what a schema says of a plan in YAML.
func checkedBy(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestSchemaAcceptsPlansAndFindsMistakes(t *testing.T) {
	_, s := printedSchema(t)
	check := func(text string) error { return checkedBy(t, s, text) }
	if err := check(yamlPlan); err != nil {
		t.Errorf("%#v", err)
	}
	paths, _ := filepath.Glob("../../plans/load/testdata/valid_yaml/*.yaml")
	for _, path := range append(paths, "../../examples/quickstart/plan.yaml") {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !load.Path(path, steps.Registry(), load.Options{}).OK() {
			continue // it is about other kinds than ours
		}
		if err := check(string(src)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, c := range []struct{ old, mistake string }{
		{"requests: \"${var.n}\"", "requests: many"},
		{"requests: \"${var.n}\"", "requests: 0"},
		{"requests: \"${var.n}\"", "request: 3"},
		{"output_tokens: 32", "output_tokens: 1.5"},
		{"threads: 1", "thread: 1"},
		{"  embedded:", "  embeded:"},
		{"smoke: {", "smok: {"},
		{"timeout: 15m", "timeout: 15 minutes"},
		{"default: a\n", "\n"},
		{"gate: {rule: {", "gates: {rule: {"},
		{"command: [vllm, serve]", "command: vllm serve"},
		{"criterion: {decode: {rule: ", "criterion: {decode: {rules: "},
		{"protocol: ${protocol.standard}", "protocol: standard"},
	} {
		text := strings.Replace(yamlPlan, c.old, c.mistake, 1)
		if text == yamlPlan {
			t.Errorf("%q is not in the plan", c.old)
		} else if check(text) == nil {
			t.Error(fmt.Errorf("%q was accepted", c.mistake))
		}
	}
}
