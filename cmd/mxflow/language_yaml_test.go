package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/convert"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// TestManualInYAML writes every example of the manual in YAML and back: the
// schema accepts it, fmt leaves it alone after once, and all are the same plan.
func TestManualInYAML(t *testing.T) {
	_, schema := printedSchema(t)
	reg := steps.Registry()
	dir := manualFolder(t)
	loadIn := func(name string, text []byte) *load.Result {
		return load.LoadBytes(filepath.Join(dir, name), text, reg, load.Options{Inputs: []load.Given{}})
	}
	texts := map[string]string{}
	for i, text := range enginesExamples(t) {
		texts[fmt.Sprintf("engines.md, example %d", i+1)] = text
	}
	documented(t, func(path string, d *lang.BlockDoc, _ func(string) *load.Result) {
		texts[path] = inPlan(path, d.Example)
	})
	for name, text := range texts {
		want := loadIn("plan.hcl", []byte(text))
		if !want.OK() {
			t.Errorf("%s is no valid plan: %s", name, explained(&want.Findings))
			continue
		}
		inYAML, problems := convert.ToYAML("plan.hcl", []byte(text), reg)
		if problems != nil {
			t.Errorf("%s: %s", name, explained(problems))
			continue
		}
		if err := checkedBy(t, schema, string(inYAML)); err != nil {
			t.Errorf("%s: the schema refuses it: %v\n%s", name, err, inYAML)
		}
		formatted := layout(t, "plan.yaml", inYAML)
		back, problems := convert.ToHCL("plan.yaml", inYAML, reg)
		if problems != nil {
			t.Errorf("%s: %s\n%s", name, explained(problems), inYAML)
			continue
		}
		layout(t, "plan.hcl", back)
		for file, other := range map[string][]byte{"plan.yaml": inYAML, "laid-out.yaml": formatted, "back.hcl": back} {
			got := loadIn(file, other)
			if !got.OK() || got.Plan.Digest() != want.Plan.Digest() {
				t.Errorf("%s: %s is another plan:\n%s\n%s", name, file, other, explained(&got.Findings))
			}
		}
	}
}

// layout is a file as fmt writes it, which changes nothing a second time.
func layout(t *testing.T, name string, text []byte) []byte {
	t.Helper()
	once, problems := convert.Format(name, text)
	if problems != nil {
		t.Errorf("%s\n%s", explained(problems), text)
		return text
	}
	if twice, problems := convert.Format(name, once); problems != nil || !bytes.Equal(once, twice) {
		t.Errorf("%s is formatted in two ways:\n%s\n%s", name, once, twice)
	}
	return once
}

const partsInYAML = `
plan: {parts: }
engine:
  vllm:
    boxed:
      model: m
      docker: {image: "vllm:dev", gpus: all, volumes: {/a: /b}}
      gpu:
      metadata: {commands: {clocks: nvidia-smi -q}}
      observe:
        tactic: {log: "tactic (\\S+)", type: string}
        fallbacks: {log: slow path, type: count}
      tree:
        - a: {path: .}
        - b: {path: .., freeze: true}
    forked:
      model: m
      settings: {layers: all, max_num_seqs: 2, enforce_eager: maybe}
      profile: {settings: {layers: --layers, enforce_eager: --eager}}
      exec: {container: dev}
      caches: {state: cold, dir: /c, mount: /c}
  openai:
    far:
      endpoint: {url: "http://box.example:8000"}
    near:
      settings:
      process: [{command: [serve]}]
  command:
    bench:
      process: {command: [bench]}
      output: {format: last_line}
      run: {timeout: 5m}
      metric:
        tg: {jq: .tg, unit: tok/s, better: higher}
knob:
  revision:
    default: main
    value:
      main: {}
      wip: {source: {ref: wip, build: [[make]]}}
`

// TestSchemaKnowsParts gives the schema and the loader the same plans: what is
// wrong for one is wrong for the other.
func TestSchemaKnowsParts(t *testing.T) {
	_, schema := printedSchema(t)
	try := func(text string) (byLoader, bySchema error) {
		res := load.LoadBytes("plan.yaml", []byte(text), steps.Registry(), load.Options{})
		if !res.OK() {
			byLoader = fmt.Errorf("%s", explained(&res.Findings))
		}
		return byLoader, checkedBy(t, schema, text)
	}
	if byLoader, bySchema := try(partsInYAML); byLoader != nil || bySchema != nil {
		t.Fatalf("the plan is refused:\n%v\n%v", byLoader, bySchema)
	}
	for _, c := range []struct{ old, mistake string }{
		{`docker: {image: "vllm:dev", `, `docker: {imagee: "vllm:dev", `},
		{`docker: {image: "vllm:dev", `, `docker: {pull: sometimes, `},
		{"docker: {", "doker: {"},
		{`volumes: {/a: /b}}`, `port: 70000}`},
		{"endpoint: {url: ", "endpoint: {insecure: "},
		{"endpoint: {", "endpoint: {far: {"},
		{"fallbacks: {log: slow path, type: count}", "log: slow path"},
		{"type: count", "type: counts"},
		{", type: count", ""},
		{"{state: cold, ", "{"},
		{"freeze: true", "freeze: 1"},
		{"source: {ref: wip, ", "source: {"},
		{"source: {ref", "docker: {ref"},
		{"metric:\n", "metrics:\n"},
		{"better: higher", "better: more"},
		{"timeout: 5m", "timeout: soon"},
		{"profile: {", "tree: {"},
		{"settings: {layers: --layers, ", "settings: {layers: [--layers], "},
	} {
		text := strings.Replace(partsInYAML, c.old, c.mistake, 1)
		if c.mistake == "endpoint: {far: {" {
			text = strings.Replace(text, `8000"}`, `8000"}}`, 1)
		}
		if text == partsInYAML {
			t.Errorf("%q is not in the plan", c.old)
			continue
		}
		if byLoader, bySchema := try(text); byLoader == nil || bySchema == nil {
			t.Errorf("%q: the loader says %v, the schema %v", c.mistake, byLoader, bySchema)
		}
	}
}
