package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// printedSchema is what mxflow schema prints, compiled.
func printedSchema(t *testing.T) (map[string]any, *jsonschema.Schema) {
	t.Helper()
	code, out, errs := mxflow("schema")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
	try.OK(t, err)
	c := jsonschema.NewCompiler()
	try.OK(t, c.AddResource("plan.json", doc))
	s, err := c.Compile("plan.json") // against the dialect's own schema, with every $ref
	try.OK(t, err)
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
}

// checkedBy is what a schema says of a plan in YAML.
func checkedBy(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var doc any
	try.OK(t, yaml.Unmarshal([]byte(text), &doc))
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(asJSON(t, doc)))
	try.OK(t, err)
	return s.Validate(v)
}

// TestSchemaFindsMistakes gives the schema and the loader the same plans: what is wrong for one is wrong
// for the other.
func TestSchemaFindsMistakes(t *testing.T) {
	_, schema := printedSchema(t)
	whole := try.Read(t, "testdata/plans/schema.yaml")
	try := func(text string) (byLoader, bySchema error) {
		res := load.Bytes("plan.yaml", []byte(text), steps.Registry(), load.Options{})
		if !res.OK() {
			byLoader = errors.New(explained(&res.Findings))
		}
		return byLoader, checkedBy(t, schema, text)
	}
	if byLoader, bySchema := try(whole); byLoader != nil || bySchema != nil {
		t.Fatalf("the plan is refused:\n%v\n%v", byLoader, bySchema)
	}
	for _, path := range globbed("../../plans/load/testdata/valid_yaml/*.yaml", "../../examples/quickstart/plan.yaml") {
		if !load.Path(path, steps.Registry(), load.Options{}).OK() {
			continue // it is about other kinds than ours
		}
		text, err := os.ReadFile(path)
		if err = errors.Join(err, checkedBy(t, schema, string(text))); err != nil {
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
		{`docker: {image: "vllm:dev", `, `docker: {imagee: "vllm:dev", `},
		{`docker: {image: "vllm:dev", `, `docker: {pull: sometimes, `},
		{"docker: {", "doker: {"},
		{`volumes: {/a: /b}}`, `port: 70000}`},
		{"endpoint: {url: ", "endpoint: {insecure: "},
		{`endpoint: {url: "http://box.example:8000"}`, `endpoint: {far: {url: "http://box.example:8000"}}`},
		{"fallbacks: {log: slow path, type: count}", "log: slow path"},
		{"type: count", "type: counts"},
		{", type: count", ""},
		{"{state: cold, ", "{"},
		{"paths: [csrc]", "paths: csrc"},
		{"{ref: wip, ", "{"},
		{"source: {vllm: {ref", "docker: {vllm: {ref"},
		{"metric:\n", "metrics:\n"},
		{"better: higher", "better: more"},
		{"timeout: 5m", "timeout: soon"},
		{"profile: {", "tree: {"},
		{"profile: {ready_path: ", "profile: {ready: "},
	} {
		text := strings.Replace(whole, c.old, c.mistake, 1)
		if text == whole {
			t.Errorf("%q is not in the plan", c.old)
		} else if byLoader, bySchema := try(text); byLoader == nil || bySchema == nil {
			t.Errorf("%q: the loader says %v, the schema %v", c.mistake, byLoader, bySchema)
		}
	}
}
