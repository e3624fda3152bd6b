package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// manualFolder is a folder with the files that the manual's examples name.
func manualFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	questions := ""
	for i := range 300 {
		questions += fmt.Sprintf("{\"question\": \"%d * 7?\", \"answer\": \"%d\"}\n", i, 7*i)
	}
	const imported = "../../engine/measure/imported/testdata/"
	for name, text := range map[string]string{
		"job.yaml": "apiVersion: batch/v1\nkind: Job\nspec: {template: {spec: {containers: [{name: " +
			"engine, image: vllm}]}}}\n",
		"gsm8k.jsonl":               questions,
		"prompts.jsonl":             "{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\n",
		"results/runs.json":         `{"runs": [{"name": "short", "tok_s": 41.5}, {"name": "long", "tok_s": 20}]}`,
		"results/llama-benchy.json": must.Read(t, imported+"benchy.json"),
		"results/vllm.json":         must.Read(t, imported+"vllm.json"),
	} {
		must.Write(t, filepath.Join(dir, name), text)
	}
	return dir
}

// documented visits every block that has an example, and loads it as given.
func documented(t *testing.T, visit func(path string, d *lang.BlockDoc, loadOf func(block string) *load.Result)) {
	reg := steps.Registry()
	dir := manualFolder(t)
	n := 0
	load.Describe(reg).Walk(func(path string, d *lang.BlockDoc) {
		switch {
		case path == "" || len(d.Kinds) > 0 && d.Example == "":
			return
		case d.Example == "" || d.Doc == "":
			t.Errorf("%s has no example or no doc", path)
			return
		}
		n++
		visit(path, d, func(block string) *load.Result {
			return load.Bytes(filepath.Join(dir, "plan.hcl"), []byte(inPlan(path, block)), reg, load.Options{})
		})
	})
	if n < 25 {
		t.Errorf("only %d blocks were visited", n)
	}
}

func explained(res *lang.Findings) string {
	var b strings.Builder
	_ = res.WriteDiagnostics(&b, 0, false)
	return b.String()
}

// edited is the example with one attribute changed, or left out.
func edited(t *testing.T, example, attr string, v cty.Value) string {
	t.Helper()
	file, diags := hclwrite.ParseConfig([]byte(example), "example", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	body := file.Body().Blocks()[0].Body()
	if v == cty.NilVal {
		body.RemoveAttribute(attr)
	} else {
		body.SetAttributeValue(attr, v)
	}
	return string(file.Bytes())
}

// elsewhere are attributes that are looked at when something else needs them.
var elsewhere = map[string]bool{
	"variable.default":                   true, // a value has to come from somewhere
	"variable.validation.error_message":  true, // only when the condition is not met
	"protocol.level.smoke.expect":        true, // this or pattern
	"protocol.level.benchmark.workloads": true, // a command has none
	"phase.step.compare.workloads":       true, // commands have none
}

// conditional are attributes that a block may do without in another form than
// its example has: the description says what is needed there.
var conditional = map[string]bool{
	"engine.observe.log":           true, // or another source
	"engine.metric.unit":           true, // or as
	"engine.metric.better":         true,
	"phase.feature.set":            true, // or choose
	"report.columns":               true, // or table
	"workload.prompt_tokens":       true, // or prompt_lengths
	"workload.output_tokens":       true, // or output_lengths
	"workload.prompt_lengths.mean": true, // unless uniform
	"workload.prompt_lengths.std":  true,
	"workload.output_lengths.mean": true,
	"workload.output_lengths.std":  true,
	"knob.value.must_see.log":      true, // or another source
	"knob.value.must_not_see.log":  true,
	"executor.local.devices":       true, // or slots
}

// needed reports whether the example at a path is refused without an attribute.
func needed(path string, a plans.Attr) bool {
	if kind, ok := kinds.Lookup(strings.TrimPrefix(path, "engine.")); ok && a.Name == "model" {
		// Their examples are started by the kind's command, or one like it.
		return kinds.NeedsModel(kind.Command)
	}
	return a.Required || conditional[path+"."+a.Name]
}

// TestDescriptionAgreesWithDecoders puts into each attribute its default, and
// what its description does not allow: the manual says what decoders do.
func TestDescriptionAgreesWithDecoders(t *testing.T) {
	t.Parallel()
	documented(t, func(path string, d *lang.BlockDoc, loadOf func(string) *load.Result) {
		for _, a := range d.Attrs {
			try := func(v cty.Value) *load.Result { return loadOf(edited(t, d.Example, a.Name, v)) }
			absent := try(cty.NilVal)
			if need := needed(path, a); need == absent.OK() && !elsewhere[path+"."+a.Name] {
				t.Errorf("%s.%s: needed is %v, but without it the plan is valid: %v\n%s", path, a.Name, need,
					absent.OK(), explained(&absent.Findings))
			}
			for _, term := range slices.Concat(a.Excludes, a.Requires, a.Unless) {
				name, _, _ := strings.Cut(term, "=")
				if d.Attr(name) == nil && d.Block(name) == nil {
					t.Errorf("%s.%s: there is no %s beside it", path, a.Name, name)
				}
			}
			if a.Default != nil {
				given := try(value(t, a.Default))
				if same, other := asJSON(t, absent.Plan), asJSON(t, given.Plan); absent.OK() && same != other {
					t.Errorf("%s.%s: its default is not %v:\n%s\n%s", path, a.Name, a.Default, same, other)
				}
			}
			if elsewhere[path+"."+a.Name] {
				continue
			}
			for _, wrong := range notAllowed(a) {
				if res := try(wrong); res.OK() {
					t.Errorf("%s.%s accepts %#v", path, a.Name, wrong)
				}
			}
		}
	})
}

func value(t *testing.T, plain any) cty.Value {
	t.Helper()
	text := []byte(asJSON(t, plain))
	ty, err := ctyjson.ImpliedType(text)
	must.Do(t, err)
	v, err := ctyjson.Unmarshal(text, ty)
	must.Do(t, err)
	return v
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must.Do(t, err)
	return string(text)
}

// notAllowed are values that an attribute must refuse by its description.
func notAllowed(a plans.Attr) (list []cty.Value) {
	text, number, truth := cty.StringVal("x7"), cty.NumberIntVal(7), cty.True
	texts := cty.ListVal([]cty.Value{text})
	object := cty.ObjectVal(map[string]cty.Value{"x7": text})
	switch a.Type {
	case plans.String, plans.RuleText:
		list = []cty.Value{number, truth, texts, object}
	case plans.Bool, plans.Condition:
		list = []cty.Value{text, number, texts}
	case plans.Number, plans.Duration, plans.Numbers:
		list = []cty.Value{text, truth, texts}
	case plans.Int, plans.Ints:
		list = []cty.Value{text, truth, texts, cty.NumberFloatVal(1.5)}
	case plans.Strings, plans.Refs:
		list = []cty.Value{text, number, object, cty.ListVal([]cty.Value{number})}
	case plans.Map, plans.Overrides, plans.Values, plans.Choices, plans.Beaten, plans.Factors:
		list = []cty.Value{text, number, texts}
	case plans.Reference:
		list = []cty.Value{text, number}
	}
	if a.MinSet {
		list = append(list, cty.NumberFloatVal(a.Min-1))
	}
	if a.Max != 0 {
		list = append(list, cty.NumberFloatVal(a.Max+1))
	}
	if len(a.OneOf) > 0 {
		list = append(list, text)
	}
	return list
}

// scaffolding is a plan around the block under test; a block of it gives way
// to one of the same name.
var scaffolding = []string{
	`plan "scaffold" {}`,
	`engine "embedded" "tiny" {}`,
	`knob "moe_kernel" {
  default = "marlin"
  value "marlin" {
    must_see { log = ["*Marlin*"] }
  }
  value "gemm" {
    env = { MOE = "gemm" }
    must_see { log = ["*CUTLASS*"] }
  }
}`,
	`workload "chat" {
  prompt_tokens = 2048
  output_tokens = 32
}`,
	`protocol "standard" {
  level "smoke" { expect = "Paris" }
  level "kernels" {}
  level "benchmark" { workloads = [workload.chat] }
}`,
	`baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}`,
}

// around holds what a block has to stand in, by path; %s is the block.
var around = map[string]string{
	"report.table":    "report {\n%s\n}",
	"watch.criterion": "watch {\n%s\n}",
	"engine.process":  "engine \"openai\" \"wrapped\" {\n%s\n}",
	"engine.ready":    "engine \"embedded\" \"wrapped\" {\n%s\n}",
	"engine.run":      wrappedCommand,
	"engine.output":   wrappedCommand,
	"engine.metric":   "engine \"command\" \"wrapped\" {\nprocess {\ncommand = [\"true\"]\n}\n%s\n}",
	"engine.caches":   wrappedServer,
	"engine.compose":  wrappedServer,
	"engine.docker":   wrappedServer,
	"engine.endpoint": wrappedServer,
	"engine.exec":     wrappedServer,
	"engine.gpu":      wrappedServer,
	"engine.metadata": wrappedServer,
	"engine.observe":  wrappedServer,
	"engine.profile":  wrappedServer,
	"engine.profiler": wrappedServer,
	"engine.source":   wrappedServer,
	"engine.tree":     wrappedServer,
	"phase.step.compare": "engine \"embedded\" \"plain\" {}\nengine \"embedded\" \"cached\" {}\nphase " +
		"\"wrapped\" {\n%s\n}",
	"engine.stop":             "engine \"embedded\" \"wrapped\" {\n%s\n}",
	"workload.dataset":        "workload \"wrapped\" {\nwarmup = 1\noutput_tokens = 8\n%s\n}",
	"workload.output_lengths": "workload \"wrapped\" {\nprompt_tokens = 8\n%s\n}",
	"workload.prompt_lengths": "workload \"wrapped\" {\noutput_tokens = 8\n%s\n}",
	"workload.slo":            "workload \"wrapped\" {\nprompt_tokens = 8\noutput_tokens = 8\n%s\n}",
	"workload.capacity": "workload \"wrapped\" {\nprompt_tokens = 8\noutput_tokens = 8\nslo {\nttft = " +
		"\"1s\"\n}\n%s\n}",
	"variable.validation": "variable \"model\" {\ndefault = \"small\"\n%s\n}",
	"knob.value": "knob \"wrapped\" {\ndefault = \"other\"\nvalue \"other\" {\nmust_see { log = " +
		"[\"*other*\"] }\n}\n%s\n}",
	"knob.value.source": "engine \"vllm\" \"built\" {\nmodel = \"m\"\nsource \"vllm\" {\nrepo = \"r\"\nref " +
		"= \"main\"\n}\n}\nknob \"wrapped\" {\ndefault = \"v\"\nvalue \"v\" {\nmust_see { log = [\"*v*\"] }\n%s\n}\n}",
	"knob.value.must_see":       "knob \"wrapped\" {\ndefault = \"v\"\nvalue \"v\" {\n%s\n}\n}",
	"knob.value.must_see.lines": "knob \"wrapped\" {\ndefault = \"v\"\nvalue \"v\" {\nmust_see {\n%s\n}\n}\n}",
	"knob.value.must_see.kernels": "protocol \"standard\" {\nlevel \"kernels\" {}\nlevel \"profile\" {}\n}\nknob " +
		"\"wrapped\" {\ndefault = \"v\"\nvalue \"v\" {\nmust_see {\n%s\n}\n}\n}",
	"knob.value.must_not_see": "knob \"wrapped\" {\ndefault = \"v\"\nvalue \"v\" {\n%s\n}\n}",
	"protocol.level":          "protocol \"wrapped\" {\n%s\n}",
	"phase.step.matrix":       wrappedKnobs,
	"phase.step":              "phase \"wrapped\" {\n%s\n}",
	"phase.feature":           "phase \"wrapped\" {\n%s\n}",
	"phase.gate":              "phase \"wrapped\" {\n" + wrappedFeature + "\n%s\n}",
	"phase.gate.rule":         "phase \"wrapped\" {\n" + wrappedFeature + "\ngate {\n%s\n}\n}",
	"phase.feature.hypothesis": "phase \"wrapped\" {\nfeature \"f\" {\nset = { moe_kernel = \"gemm\" }\ncriterion " +
		"\"c\" { rule = \"chat.tg.gain >= 0\" }\n%s\n}\n}",
	"phase.feature.confirm": "engine \"vllm\" \"production\" {\nmodel = \"openai/gpt-oss-120b\"\n}\nphase " +
		"\"wrapped\" {\nfeature \"f\" {\nset = { moe_kernel = \"gemm\" }\ncriterion \"decode\" { rule = " +
		"\"chat.tg.gain >= 0\" }\n%s\n}\n}",
	"phase.feature.criterion": "phase \"wrapped\" {\nfeature \"f\" {\nset = { moe_kernel = \"gemm\" }\n%s\n}\n}",
}

// wrappedKnobs are those that the example of a matrix combines.
const wrappedKnobs = `knob "kv_cache" {
  default = "off"
  value "off" {
    must_see { log = ["*recompute*"] }
  }
  value "on" {
    must_see { log = ["*kvcache*"] }
  }
}
knob "experts" {
  default = "all"
  value "all" {
    must_see { log = ["*moe_all*"] }
  }
  value "routed" {
    must_see { log = ["*moe_routed*"] }
  }
}
phase "wrapped" {
%s
}`

const wrappedCommand = `engine "command" "wrapped" {
  process {
    command = ["true"]
  }
  metric "seconds" {
    jq     = ".s"
    unit   = "s"
    better = "lower"
  }
  %s
}`

// wrappedServer is an engine that every launcher can start.
const wrappedServer = `engine "vllm" "wrapped" {
  model = "openai/gpt-oss-20b"
  %s
}`

const wrappedFeature = `feature "f" {
  set = { moe_kernel = "gemm" }
  criterion "c" { rule = "chat.tg.gain >= 0" }
}`

// inPlan is a whole plan with a block where its path says.
func inPlan(path, block string) string {
	for p := path; p != ""; p = p[:max(0, strings.LastIndexByte(p, '.'))] {
		if frame := around[p]; frame != "" {
			block = fmt.Sprintf(frame, block)
			break
		}
	}
	plan := ""
	header, _, _ := strings.Cut(block, "{")
	for _, part := range scaffolding {
		if !strings.HasPrefix(part, header) &&
			!(strings.HasPrefix(header, "plan ") && strings.HasPrefix(part, "plan ")) {
			plan += part + "\n"
		}
	}
	return plan + block + "\n"
}

// TestManual: every example of the manual is a valid plan, stays the same when formatted, and is left
// alone after once.
func TestManual(t *testing.T) {
	reg := steps.Registry()
	dir := manualFolder(t)
	loaded := func(text []byte) *load.Result {
		return load.Bytes(filepath.Join(dir, "plan.hcl"), text, reg, load.Options{Inputs: []load.Given{}})
	}
	texts := map[string]string{"for_each": inPlan("", eachExample), "dynamic": inPlan("", dynamicExample)}
	for i, text := range enginesExamples(t) {
		texts[fmt.Sprintf("engines.md, example %d", i+1)] = text
	}
	documented(t, func(path string, d *lang.BlockDoc, loadOf func(string) *load.Result) {
		texts[path] = inPlan(path, d.Example)
		if res := loadOf(d.Example); len(res.Diagnostics) > 0 {
			t.Errorf("%s: the example is not without a warning:\n%s\n%s", path, d.Example, explained(&res.Findings))
		}
		must.Equal(t, path, string(hclwrite.Format([]byte(d.Example))), d.Example)
	})
	for name, text := range texts {
		want := loaded([]byte(text))
		if !want.OK() {
			t.Errorf("%s is no valid plan: %s", name, explained(&want.Findings))
			continue
		}
		formatted := layout(t, "plan.hcl", []byte(text))
		if got := loaded(formatted); !got.OK() || got.Plan.Digest() != want.Plan.Digest() {
			t.Errorf("%s is another plan when formatted:\n%s\n%s", name, formatted, explained(&got.Findings))
		}
	}
}

// TestManualOfYAML: the manual's plan in HCL and in YAML is one plan.
func TestManualOfYAML(t *testing.T) {
	_, section, _ := strings.Cut(must.Read(t, "../../docs/language.md"), "\n## YAML\n")
	digest := func(name, fence string) string {
		_, rest, _ := strings.Cut(section, fence+"\n")
		plan, _, _ := strings.Cut(rest, "```\n")
		res := load.Bytes(name, []byte(plan), steps.Registry(), load.Options{})
		if !res.OK() {
			t.Fatalf("%s\n%s", explained(&res.Findings), plan)
		}
		return res.Plan.Digest()
	}
	if digest("plan.hcl", "```hcl") != digest("plan.yaml", "```yaml") {
		t.Error("the plan in YAML is another one than that in HCL")
	}
}

// layout is a file as fmt writes it, which changes nothing a second time.
func layout(t *testing.T, name string, text []byte) []byte {
	t.Helper()
	once, problems, err := formatPlan(name, text)
	must.Do(t, err)
	if problems != nil {
		t.Errorf("%s\n%s", explained(problems), text)
		return text
	}
	if twice, problems, _ := formatPlan(name, once); problems != nil || !bytes.Equal(once, twice) {
		t.Errorf("%s is formatted in two ways:\n%s\n%s", name, once, twice)
	}
	return once
}

// printedSchema is what mxflow schema prints, compiled.
func printedSchema(t *testing.T) (map[string]any, *jsonschema.Schema) {
	t.Helper()
	code, out, errs := mxflow("schema")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
	must.Do(t, err)
	c := jsonschema.NewCompiler()
	must.Do(t, c.AddResource("plan.json", doc))
	s, err := c.Compile("plan.json") // against the dialect's own schema, with every $ref
	must.Do(t, err)
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
	must.Do(t, yaml.Unmarshal([]byte(text), &doc))
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(asJSON(t, doc)))
	must.Do(t, err)
	return s.Validate(v)
}

// TestSchemaFindsMistakes gives the schema and the loader the same plans: what is wrong for one is wrong
// for the other.
func TestSchemaFindsMistakes(t *testing.T) {
	_, schema := printedSchema(t)
	whole := must.Read(t, "testdata/plans/schema.yaml")
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
