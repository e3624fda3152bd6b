package load

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/planstest"
	"github.com/mxflow/mxflow/plans/yamlbody"
)

// inYAML is a text in HCL as YAML, or why there is none.
func inYAML(src []byte) ([]byte, error) {
	names := Names(planstest.Registry())
	return yamlbody.FromHCL(src, func(attr string) bool { return names[attr] })
}

// TestMistakesInYAML: each mistake of a plan in HCL is told of the same plan in YAML, by the
// same code, in the same block, and with what to add in YAML.
func TestMistakesInYAML(t *testing.T) {
	paths, _ := filepath.Glob("testdata/invalid/*.hcl")
	codes := func(res *Result) (list []string) {
		for _, d := range res.Diagnostics {
			list = append(list, lang.CodeOf(d))
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	hclCode := regexp.MustCompile(
		`(Add|Write|Set|Name|add|set|such as|as in):? [a-z_]+ ("[^"]*" )?(\{ |= )|‹|›|mxflow_dots`)
	same := 0
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := inYAML(src)
		if err != nil {
			continue // a mistake of HCL's own syntax
		}
		in := Bytes("plan.hcl", src, planstest.Registry(), Options{})
		out := Bytes("plan.yaml", text, planstest.Registry(), Options{})
		if slices.Equal(codes(in), codes(out)) {
			same++
		}
		for _, d := range out.Diagnostics {
			if hclCode.MatchString(d.Detail) {
				t.Errorf("%s: in HCL for a plan in YAML: %s", path, d.Detail)
			}
		}
	}
	if same < len(paths)*3/5 {
		t.Errorf("only %d of %d plans have the same mistakes in YAML", same, len(paths))
	}
}

// TestRemedies are what people and programs read of mistakes in either syntax.
func TestRemedies(t *testing.T) {
	const plan = `plan "p" {}
engine "openai" "a" {}
knob "k" {
  default = "on"
  value "on" {}
  value "off" { env = { A = "b" } }
}
protocol "full" {
  level "kernels" {}
}
baseline {
  engine   = engine.openai.a
  protocol = protocol.full
}
phase "p1" {
  feature "f" {
    set = { k = "off" }
  }
  gate {}
}
`
	text, err := inYAML([]byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"plan.hcl": {
			`Add: criterion "decode" { rule = "workload.tg.gain >= 0.05" }.`, `rule "what must hold" { expr = "…" }`,
			`in phase "p1"`, `in knob "k"`, `in engine "openai" "a"`, `process { command = ["program", "--port", "{port}"] }`,
		},
		"plan.yaml": {
			`Add: criterion: {decode: {rule: workload.tg.gain >= 0.05}}.`, `rule: {what must hold: {expr: …}}`,
			`in phase "p1"`, `in knob "k"`, `in engine "openai" "a"`, `process: {command: [program, "--port", "{port}"]}`,
		},
	} {
		src := text
		if name == "plan.hcl" {
			src = []byte(plan)
		}
		got := planstest.Text(&Bytes(name, src, planstest.Registry(), Options{}).Findings)
		for _, part := range want {
			if !strings.Contains(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(part), " ")) {
				t.Errorf("%s: no %s in\n%s", name, part, got)
			}
		}
	}
}

// TestSyntaxesMeanTheSame: a plan in HCL, written as YAML, is the same plan.
func TestSyntaxesMeanTheSame(t *testing.T) {
	paths, _ := filepath.Glob("testdata/valid/*.hcl")
	if len(paths) == 0 {
		t.Fatal("no plans")
	}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := inYAML(src)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		in := Bytes(path, src, planstest.Registry(), Options{})
		out := Bytes(path+".yaml", text, planstest.Registry(), Options{})
		if in.OK() != out.OK() || in.Plan.Digest() != out.Plan.Digest() {
			t.Errorf("%s means something else in YAML:\n%s\n%s", path, text, planstest.Text(&out.Findings))
		}
		if was, is := strings.Count(string(src), "#"), strings.Count(string(text), "#"); is < was {
			t.Errorf("%s: %d of %d comments are left", path, is, was)
		}
	}
}

// TestForkFlag: what a kind does not know as a setting is a flag of a fork, and the message
// says where flags go, in the syntax of the file.
func TestForkFlag(t *testing.T) {
	const plan = "plan \"p\" {}\nengine \"known\" \"a\" {\n  settings = { mxfp4_layers = \"moe\" }\n}\n"
	text, err := inYAML([]byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	reg := planstest.Registry()
	reg.Engines["known"] = plans.EngineKind{Settings: []plans.Attr{{Name: "dtype", Type: plans.String}}}
	for name, c := range map[string]struct{ src, want string }{
		"plan.hcl": {plan, `args = ["--mxfp4-layers"]`}, "plan.yaml": {string(text), `args: ["--mxfp4-layers"]`},
	} {
		found := Bytes(name, []byte(c.src), reg, Options{}).Findings
		if got := planstest.Text(&found); !strings.Contains(got, c.want) || !strings.Contains(got, "Unknown setting") {
			t.Errorf("%s: no %s in\n%s", name, c.want, got)
		}
	}
}
