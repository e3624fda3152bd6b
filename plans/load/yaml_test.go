package load

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/yamlbody"
)

func loadYAML(src string) *Result {
	return Bytes("plan.yaml", []byte(src), planstest.Registry(), Options{})
}

// TestDiagnosticsPointIntoYAML renders mistakes in each style of scalar.
func TestDiagnosticsPointIntoYAML(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"plan:\n  p:\n    summary: x ${local.b}\n", "   3:     summary: x ${\x1b[1;4mlocal.b\x1b[0m}\n"},
		{"plan:\n  p:\n    summary: >-\n      x\n      é ${local.b}\n", "   3:     summary: \x1b[1;4m>-\x1b[0m\n"},
		{
			"plan: {p: {}}\nlocals: {a: [1, \"\\u00e9 ${local.b}\"]}\n",
			"   2: locals: {a: [1, \x1b[1;4m\"\\u00e9 ${local.b}\"]}\x1b[0m\n",
		},
		{"\uFEFFplan: {p: {sum: 1}}\r\n", "   1: plan: {p: {\x1b[1;4msum\x1b[0m: 1}}\n"},
	} {
		var b strings.Builder
		if err := loadYAML(c.src).WriteDiagnostics(&b, 0, true); err != nil || !strings.Contains(b.String(), c.want) {
			t.Errorf("%q: %v\n%s\nwant\n%s", c.src, err, b.String(), c.want)
		}
	}
}

// TestAdviceIsInTheLanguageOfTheFile: what a file without a plan is told to add can be pasted into it.
func TestAdviceIsInTheLanguageOfTheFile(t *testing.T) {
	for _, name := range []string{"plan.yaml", "plan.yml", "plan.hcl"} {
		for _, src := range []string{"", "\n", "# later\n", "locals: {a: 1}\n", "locals {\n}\n"} {
			res := Bytes(name, []byte(src), planstest.Registry(), Options{})
			text := planstest.Text(&res.Findings)
			if strings.Contains(text, "in a file named as") || strings.Contains(text, "Not a mapping") {
				continue
			}
			other := "plan.hcl"
			if name == other {
				other = "plan.yaml"
			}
			if want := lang.Beginning(name); !strings.Contains(text, want) ||
				strings.Contains(text, lang.Beginning(other)) {
				t.Errorf("%s with %q: no %s in\n%s", name, src, want, text)
				continue
			}
			if res = Bytes(name, []byte(lang.Beginning(name)+"\n"), planstest.Registry(), Options{}); !res.OK() {
				t.Errorf("the advice is no plan:\n%s", planstest.Text(&res.Findings))
			}
		}
	}
}

// TestHostileYAMLIsRefusedQuickly has texts that would overflow a stack, fill the memory or keep the machine busy.
func TestHostileYAMLIsRefusedQuickly(t *testing.T) {
	many := strings.Repeat
	const head = "plan: {p: {}}\nlocals:\n"
	lines := func(s string) string { return many(s, 8000) + "\n" }
	refused(t, "plan.yaml", map[string]string{
		"brackets":    many(lines("["), 100),
		"closed":      head + "  a: " + many("[", 8000) + "\n    " + many("]", 8000) + "\n",
		"mappings":    many("{a: \n", 30_000),
		"questions":   many(lines("? "), 10),
		"anchors":     many(lines("&a "), 40),
		"aliases":     many(lines("*a "), 40),
		"quotes":      many(lines(`"`), 100),
		"open quote":  "a: \"" + many("x\n", 400_000),
		"documents":   many("---\n", 50_000),
		"comments":    many("- #\n#\n", 30_000),
		"indented":    many(" ", 8000) + "a:\n",
		"parentheses": head + "  a: ${" + many("(", 5000) + "\n",
		"templates":   head + "  a: " + many("${\"", 4000) + "\n",
		"negations":   head + "  a: ${" + many("!", 20_000) + "true}\n",
		"types": "plan: {p: {}}\nvariable: {x: {default: [], type: " + many("list(", 3000) + "any" +
			many(")", 3000) + "}}\n",
		"references":    head + "  a: 1\nbaseline: {engine: " + many("(", 5000) + "}\n",
		"alias of much": head + "  a: &a \"" + many("x", 9000) + "\"\n  b: [" + many("*a,\n   ", 5000) + "]\n",
		"merges": head + "  a0: &a0 {x: 1}\n" + numbered(600, func(i int) string {
			return fmt.Sprintf("  m%s%d: &a%d {<<: [*a%d, *a%d], y%d: 1}\n", many("x", i%50), i, i, i-1, i-1, i)
		}),
		"keys": head + numbered(15_000, func(i int) string {
			return "  \"${local.x}" + strconv.Itoa(i) + "\": 1\n"
		}),
		"same keys": head + many("  a: 1\n", 20_000),
		"unknown keys": "plan: {p: {}}\n" + numbered(2000, func(i int) string {
			return "k" + strconv.Itoa(i) + ": 1\n"
		}),
		"long number":   head + "  a: " + many("9", 9000) + "\n",
		"huge exponent": head + "  a: ${1e999999999 * 1}\n",
		"tags":          many("- !a x\n", 20_000),
	})
}

// TestYAMLPlansAreThoseInHCL loads plans that are written in both syntaxes.
func TestYAMLPlansAreThoseInHCL(t *testing.T) {
	n := 0
	paths, _ := filepath.Glob("testdata/valid_yaml/*.yaml")
	for _, inYAML := range paths {
		inHCL := filepath.Join("testdata", "valid", strings.TrimSuffix(filepath.Base(inYAML), ".yaml")+".hcl")
		if _, err := os.Stat(inHCL); err != nil {
			continue
		}
		n++
		want, got := mustLoad(t, inHCL), mustLoad(t, inYAML)
		if a, b := planstest.Decoded(t, want), planstest.Decoded(t, got); a != b || want.Digest() != got.Digest() {
			t.Errorf("%s is another plan: in HCL\n%s\nin YAML\n%s", inYAML, a, b)
		}
	}
	if n < 5 {
		t.Errorf("only %d plans are in both", n)
	}
}

// TestPlansMixSyntaxes includes HCL in YAML and YAML in HCL.
func TestPlansMixSyntaxes(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"a.yaml":   "include: [team.hcl]\nplan: {p: {summary: \"${local.b}\"}}\nlocals:\n  a: ${local.b}\n",
		"team.hcl": "include = [\"more.yml\"]\nlocals {\n b = \"x${local.c}\"\n}\n",
		"more.yml": "locals: {c: \"1\", \"on\": 2}\n",
		"b.hcl":    "include = [\"more.yml\"]\nplan \"p\" {\n summary = \"x${local.c}\"\n}\n",
		"bad.hcl":  "include = [\"tab.yaml\"]\nplan \"p\" {}\n",
		"tab.yaml": "locals:\n\ta: 1\n",
	})
	for _, name := range []string{"a.yaml", "b.hcl"} {
		res := Path(filepath.Join(dir, name), planstest.Registry(), Options{})
		if !res.OK() || res.Plan.Summary != "x1" {
			t.Errorf("%s: %q\n%s", name, res.Plan.Summary, planstest.Text(&res.Findings))
		}
	}
	res := Path(filepath.Join(dir, "bad.hcl"), planstest.Registry(), Options{})
	if got := summaries(res); got != "Tab in indentation" ||
		!strings.Contains(planstest.Text(&res.Findings), "tab.yaml:2:1") {
		t.Error(planstest.Text(&res.Findings))
	}
}

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
		src := must.Get(os.ReadFile(path))(t)
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

// remediesPlan has mistakes whose remedies are written in the language of the file.
//
//go:embed testdata/plans/remedies.hcl
var remediesPlan string

// TestRemedies are what people and programs read of mistakes in either syntax.
func TestRemedies(t *testing.T) {
	text := must.Get(inYAML([]byte(remediesPlan)))(t)
	for name, want := range map[string][]string{
		"plan.hcl": {
			`Add: criterion "decode" { rule = "workload.tg.gain >= 0.05" }.`, `rule "what must hold" { rule = "…" }`,
			`in phase "p1"`, `in knob "k"`, `in engine "openai" "a"`,
			`process { command = ["program", "--port", "{port}"] }`,
		},
		"plan.yaml": {
			`Add: criterion: {decode: {rule: workload.tg.gain >= 0.05}}.`, `rule: {what must hold: {rule: …}}`,
			`in phase "p1"`, `in knob "k"`, `in engine "openai" "a"`,
			`process: {command: [program, "--port", "{port}"]}`,
		},
	} {
		src := text
		if name == "plan.hcl" {
			src = []byte(remediesPlan)
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
	for _, path := range fixtures(t, "valid/*.hcl", 1) {
		src := must.Get(os.ReadFile(path))(t)
		text := must.Get(inYAML(src))(t)
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
	text := must.Get(inYAML([]byte(plan)))(t)
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
