package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// manualFolder is a folder with the files that the manual's examples name.
func manualFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, text []byte) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("prompts.jsonl", []byte("{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\n"))
	for name, from := range map[string]string{"llama-benchy.json": "benchy.json", "vllm.json": "vllm.json"} {
		text, err := os.ReadFile("../../engine/measure/imported/testdata/" + from)
		if err != nil {
			t.Fatal(err)
		}
		put("results/"+name, text)
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
			return load.LoadBytes(filepath.Join(dir, "plan.hcl"), []byte(inPlan(path, block)), reg, load.Options{})
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

func TestExamplesOfRepetitionAreValid(t *testing.T) {
	for _, block := range []string{eachExample, dynamicExample} {
		if res := load.LoadBytes("plan.hcl", []byte(inPlan("", block)), steps.Registry(), load.Options{}); !res.OK() {
			t.Error(explained(&res.Findings))
		}
	}
}

func TestExamplesOfTheManualAreValidAndFormatted(t *testing.T) {
	documented(t, func(path string, d *lang.BlockDoc, loadOf func(string) *load.Result) {
		if res := loadOf(d.Example); len(res.Diagnostics) > 0 {
			t.Errorf("%s: the example is refused:\n%s\n%s", path, d.Example, explained(&res.Findings))
		}
		if formatted := string(hclwrite.Format([]byte(d.Example))); formatted != d.Example {
			t.Errorf("%s: the example is not formatted:\n%s", path, formatted)
		}
	})
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
	"phase.feature.set":            true, // or choose
	"knob.value.must_see.log":      true, // or observed
	"workload.prompt_tokens":       true, // or prompt_lengths
	"workload.output_tokens":       true, // or output_lengths
	"workload.prompt_lengths.mean": true, // unless uniform
	"workload.prompt_lengths.std":  true,
	"workload.output_lengths.mean": true,
	"workload.output_lengths.std":  true,
	"knob.value.must_not_see.log":  true,
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
	documented(t, func(path string, d *lang.BlockDoc, loadOf func(string) *load.Result) {
		for _, a := range d.Attrs {
			try := func(v cty.Value) *load.Result { return loadOf(edited(t, d.Example, a.Name, v)) }
			absent := try(cty.NilVal)
			if need := needed(path, a); need == absent.OK() && !elsewhere[path+"."+a.Name] {
				t.Errorf("%s.%s: needed is %v, but without it the plan is valid: %v\n%s", path, a.Name, need, absent.OK(), explained(&absent.Findings))
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
	text, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	ty, err := ctyjson.ImpliedType(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ctyjson.Unmarshal(text, ty)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
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
	case plans.Map, plans.Overrides, plans.Values, plans.Choices, plans.Beaten:
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
