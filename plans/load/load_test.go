package load

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/planstest"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestValidPlansDecodeAsRecorded(t *testing.T) {
	for _, path := range fixtures(t, "valid/*.hcl", 1) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			res := Path(path, planstest.Registry(), Options{})
			if !res.OK() {
				t.Fatalf("diagnostics:\n%s", planstest.Text(&res.Findings))
			}
			sameExpectations(t, path, res)
			got := must.Get(json.MarshalIndent(res.Plan, "", "  "))(t)
			golden(t, strings.TrimSuffix(path, ".hcl")+".json", string(got)+"\n")
		})
	}
}

// golden compares a text with what is on record, or records it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
	}
	if want := must.Get(os.ReadFile(path))(t); got != string(want) {
		t.Errorf("%s differs; run with -update and look at the difference.\n%s", path, got)
	}
}

// fixtures are the files in testdata, at least so many.
func fixtures(t *testing.T, pattern string, least int) []string {
	t.Helper()
	paths, _ := filepath.Glob("testdata/" + pattern)
	if len(paths) < least {
		t.Fatalf("%d fixtures", len(paths))
	}
	return paths
}

// expectation is the comment with which a fixture says what is wrong with a line.
var expectation = regexp.MustCompile(`# (?:ERROR|WARNING): (.*?)\s*$`)

// TestInvalidPlansAreExplained compares, for each fixture, line and summary of all
// diagnostics with its comments, and their codes with those listed. A mistake of the whole
// file is expected on line 1; several on one line are separated by " | ".
func TestInvalidPlansAreExplained(t *testing.T) {
	list := codes(t)
	for _, path := range append(fixtures(t, "invalid/*.hcl", 40), fixtures(t, "invalid_yaml/*.yaml", 20)...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			for _, d := range checkExpectations(t, path).DiagnosticsJSON() {
				if d.Code != codeOf(list, d.Summary) && d.Code != "invalid-syntax" && d.Code != "invalid-expression" {
					t.Errorf("%q has the code %q, and testdata/codes.txt lists it under %q", d.Summary, d.Code, codeOf(list, d.Summary))
				}
			}
		})
	}
}

// TestPlansThatMayWasteTimeAreQuestioned is the same for plans that would run: the
// diagnostics are warnings, unless a rule could never be decided.
func TestPlansThatMayWasteTimeAreQuestioned(t *testing.T) {
	for _, path := range fixtures(t, "warnings/*.hcl", 12) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			for _, d := range checkExpectations(t, path).DiagnosticsJSON() {
				if d.Code == "" || (d.Severity == "error") != (d.Summary == "Too few requests") {
					t.Errorf("%s %s: %s", d.Severity, d.Code, d.Summary)
				}
			}
		})
	}
}

func checkExpectations(t *testing.T, path string) *Result {
	t.Helper()
	res := Path(path, planstest.Registry(), Options{})
	if sameExpectations(t, path, res) == 0 {
		t.Error("the fixture expects nothing")
	}
	return res
}

// sameExpectations returns how many diagnostics were expected.
func sameExpectations(t *testing.T, path string, res *Result) int {
	t.Helper()
	src := must.Get(os.ReadFile(path))(t)
	var want, got []string
	for i, line := range strings.Split(string(src), "\n") {
		if m := expectation.FindStringSubmatch(line); m != nil {
			for summary := range strings.SplitSeq(m[1], " | ") {
				want = append(want, fmt.Sprintf("%d: %s", i+1, summary))
			}
		}
	}
	for _, d := range res.Diagnostics {
		got = append(got, fmt.Sprintf("%d: %s", d.Subject.Start.Line, d.Summary))
		if d.Detail == "" {
			t.Errorf("%s says nothing about how to mend it", d.Summary)
		}
	}
	sort.Strings(want)
	sort.Strings(got)
	if w, g := strings.Join(want, "\n"), strings.Join(got, "\n"); w != g {
		t.Errorf("want\n%s\ngot\n%s\n\n%s", w, g, planstest.Text(&res.Findings))
	}
	return len(want)
}

func mustLoad(t *testing.T, path string) *plans.Plan {
	t.Helper()
	return sound(t, Path(path, planstest.Registry(), Options{}))
}

func TestBlocksDecodeIntoStructs(t *testing.T) {
	p := mustLoad(t, "testdata/valid/mxfp4.hcl")
	var exec struct {
		Command []string          `json:"command"`
		Env     map[string]string `json:"env"`
		Timeout plans.Dur         `json:"timeout"`
	}
	must.Do(t, p.Phase("branches").Steps[0].Decode(&exec))
	if time.Duration(exec.Timeout) != 30*time.Second || len(exec.Command) != 4 || len(exec.Env) != 1 {
		t.Errorf("%+v", exec)
	}
	must.Equal(t, "default is", p.Protocol("quick").Level("benchmark").Attrs["launches"], 5.0)
	bad := &plans.Block{Kind: "exec", Attrs: map[string]any{"timeout": "soon"}}
	if err := bad.Decode(&exec); err == nil {
		t.Error("a duration that is none was decoded")
	}
	if text, err := plans.Dur(90 * time.Second).MarshalJSON(); err != nil || string(text) != `"1m30s"` {
		t.Errorf("%s %v", text, err)
	}
}

func summaries(r *Result) string {
	var list []string
	for _, d := range r.Diagnostics {
		list = append(list, d.Summary)
	}
	return strings.Join(list, " | ")
}

func loadText(src string) *Result {
	return Bytes("plan.hcl", []byte(src), planstest.Registry(), Options{})
}

// sound is the plan of a text without mistakes.
func sound(t *testing.T, res *Result) *plans.Plan {
	t.Helper()
	if !res.OK() {
		t.Fatal(planstest.Text(&res.Findings))
	}
	return res.Plan
}

// loadFirst loads planstest.RulePlan with a text at the beginning of its first feature.
func loadFirst(text string) *Result {
	return loadText(strings.Replace(planstest.RulePlan, "feature \"first\" {\n", "feature \"first\" {\n"+text, 1))
}

// anEngine makes a plan more than empty, which is a warning.
const anEngine = "engine \"embedded\" \"e\" {}\n"

func TestFilesThatAreNoPlan(t *testing.T) {
	dir := writeFiles(t, map[string]string{"empty/notes.txt": "no plan"})
	for path, want := range map[string]string{
		filepath.Join(dir, "none.hcl"): "Plan file not found", filepath.Join(dir, "empty"): "No plan in folder", "/dev/zero": "Plan is too large",
	} {
		if res := Path(path, planstest.Registry(), Options{}); summaries(res) != want || res.Plan == nil {
			t.Errorf("%s: got %q, want %q", path, summaries(res), want)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"plan.yaml", "plan: x", "Missing name | Missing plan block"},
		{"empty.hcl", "", "Plan is empty"},
		{"blank.hcl", " \n\t\n", "Plan is empty"},
		{"mark.hcl", "\uFEFF\n", "Plan is empty"},
		{"utf16.hcl", "\xff\xfep\x00l\x00", "Plan is not UTF-8"},
		{"latin1.hcl", "plan \"p\" {\n  summary = \"caf\xe9\"\n}\n", "Plan is not UTF-8"},
		{"nul.hcl", "plan \"p\" {}\n\x00", "Plan has a control character"},
		{"escape.hcl", "plan \"p\" {} # \x1b[2J", "Plan has a control character"},
		{"large.hcl", "plan \"p\" {}\n" + strings.Repeat("# more\n", 200_000), "Plan is too large"},
		{"good.hcl", "plan \"p\" {}\n" + anEngine, ""},
		{"windows.hcl", "plan \"p\" {\r\n  summary = \"s\"\r\n}\r\n" + anEngine, ""},
		{"bom.hcl", "\uFEFFplan \"p\" {}\n" + anEngine, ""},
		{"nothing.hcl", "plan \"p\" {}\nlocals {\n  a = 1\n}\n", "Plan decides nothing"},
	} {
		res := Path(filepath.Join(writeFiles(t, map[string]string{c.name: c.text}), c.name), planstest.Registry(), Options{})
		if got := summaries(res); got != c.want || res.Plan == nil {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		_ = planstest.Text(&res.Findings) // must not stumble over any of these
		if c.name == "latin1.hcl" && (res.DiagnosticsJSON()[0].Line != 2 || res.DiagnosticsJSON()[0].Column != 17) {
			t.Errorf("%s: at %+v", c.name, res.DiagnosticsJSON()[0])
		}
	}
}

// TestPanicsHideNothing: a bug of mxflow is reported beside the mistakes in the plan that
// were found before it, which may have led to it.
func TestPanicsHideNothing(t *testing.T) {
	reg := planstest.Registry()
	kind := reg.Engines["embedded"]
	kind.Check = func(*plans.Engine) []plans.AttrError { panic("a bug") }
	reg.Engines["embedded"] = kind
	res := Bytes("plan.hcl", []byte("plan \"p\" {\n  sumary = \"s\"\n}\n"+anEngine), reg, Options{})
	if got, want := summaries(res), "Internal error while reading the plan | Unsupported argument"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestHostilePlansAreRefusedQuickly has texts that would overflow the stack of the parser, or are all mistakes.
func TestHostilePlansAreRefusedQuickly(t *testing.T) {
	if testing.Short() {
		t.Skip("megabytes of text take minutes under the race detector, and nothing here is concurrent")
	}
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	summary := func(expr string) string { return "plan \"p\" {\n  summary = " + expr + "\n}\n" }
	lines := func(s string, n int) string { return "(" + many(s+"\n", n) + ")" }
	refused(t, "plan.hcl", map[string]string{
		"parentheses":       summary(lines(many("(", 100), 2000)),
		"open parentheses":  many(many("(", 100)+"\n", 2000),
		"brackets":          summary(lines(many("[", 100), 2000)),
		"braces":            many("a {\n", 20_000),
		"templates":         summary(many(`"${`, 5000)),
		"heredocs":          summary(many("<<A\n${", 5000)),
		"negations":         summary(lines(many("!", 100), 2000)),
		"minuses":           summary(lines(many("-", 100), 2000)),
		"conditionals":      summary(lines("true ? 1 :", 20_000)),
		"conditions":        summary(lines("true ? ", 20_000)),
		"sums":              summary(lines("1 +", 20_000)),
		"nested sums":       summary(many("(", 90) + many(lines("1 +", 100)+"+", 90) + many(")", 90)),
		"indexes":           summary("([" + many("0]\n[", 20_000) + "0])"),
		"splats":            summary("(local" + many("[*]\n", 20_000) + ")"),
		"dotted splats":     summary("(local" + many(".*\n", 20_000) + ")"),
		"calls":             summary(lines(many("f(", 90), 1) + "\n" + many("g()", 2000)),
		"if sequences":      summary("<<A\n" + many("%{ if true }\n", 20_000) + "A"),
		"for sequences":     summary("<<A\n" + many("%{ for a in [1,2] }\n", 20_000) + "A"),
		"huge exponent":     summary(`"${1e999999999 * 1}"`),
		"huge remainder":    summary("1e900 % 3"),
		"long number":       summary(many("9", 5000)),
		"names":             many("workload \"a\" {\n}\n", 10_000),
		"unknown in rules":  unknownRules(2000),
		"attributes":        "plan \"p\" {\n" + attributes(10_000) + "}\n",
		"types":             "variable \"x\" {\n type = " + many("list(", 99) + "any" + many(")", 99) + "\n default = []\n}\n",
		"closers":           many(many(")]}", 1000)+"\n", 100),
		"comment":           "/*" + many("*\n", 100_000),
		"mismatched closer": summary(many("(]\n", 50_000)),
	})
}

func TestDescriptionIsWhole(t *testing.T) {
	var repeating []string
	fileDoc.Walk(func(path string, d *lang.BlockDoc) {
		if d.Doc == "" || d.Times == "" {
			t.Errorf("%q lacks its doc, or how often it may stand", path)
		}
		names := map[string]bool{}
		for _, a := range d.Attrs {
			if a.Name == "" || a.Type == "" || names[a.Name] {
				t.Errorf("%q has an attribute %q without name or type, or twice", path, a.Name)
			}
			names[a.Name] = true
			if a.Required && a.Default != nil {
				t.Errorf("%s.%s is required and has a default", path, a.Name)
			}
		}
		for _, label := range d.Labels {
			if label.Name == "" || label.Doc == "" {
				t.Errorf("%q has a label without name or doc", path)
			}
		}
		if d.Repeats && !slices.Contains(repeating, d.Type) {
			repeating = append(repeating, d.Type)
		}
	})
	want := slices.Clone(eval.Generates)
	slices.Sort(want)
	slices.Sort(repeating)
	if !slices.Equal(want, repeating) {
		t.Errorf("described as repeating: %q, decoded so: %q", repeating, want)
	}
}

func TestDescribeReturnsACopy(t *testing.T) {
	d := Describe(planstest.Registry())
	d.Block("workload").Attrs[0].Name = "changed"
	again := Describe(planstest.Registry())
	if again.Block("workload").Attr("changed") != nil {
		t.Error("what a caller changes shows in the next description")
	}
}

// TestEveryExampleIsShown: examples.hcl has no example of a block that is gone.
func TestEveryExampleIsShown(t *testing.T) {
	shown := map[string]bool{}
	Describe(planstest.Registry()).Walk(func(_ string, d *lang.BlockDoc) { shown[d.Example] = true })
	for _, text := range strings.Split(strings.TrimSpace(examples), "\n}\n")[1:] {
		text = strings.TrimSpace(strings.TrimSuffix(text, "\n}")) + "\n}"
		if !shown[text] {
			t.Errorf("not shown:\n%s", text)
		}
	}
}

// Files whose content counts are named once, in the form of the plan's own files, and
// their digest is that of the content.
func TestNamedFiles(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"serving.json":      `{"num_prompts": 1, "duration": 1, "completed": 1, "total_input_tokens": 1, "request_throughput": 1}`,
		"sub/prompts.jsonl": "{\"prompt\": \"a\"}\n",
		"sub/plan.hcl": `plan "p" {}
workload "a" {
  output_tokens = 1
  dataset { file = "prompts.jsonl" }
}
workload "b" {
  output_tokens = 1
  dataset { file = "./prompts.jsonl" }
}
imported "serving" { file = "../serving.json" }
imported "absent" { file = "absent.json" }
`,
	})
	t.Chdir(dir)
	for path, names := range map[string][]string{
		"sub/plan.hcl":                     {"serving.json", "sub/prompts.jsonl"},
		filepath.Join(dir, "sub/plan.hcl"): {filepath.Join(dir, "serving.json"), filepath.Join(dir, "sub/prompts.jsonl")},
	} {
		files := Path(path, planstest.Registry(), Options{}).Plan.NamedFiles()
		if len(files) != len(names) {
			t.Fatalf("%s: %+v", path, files)
		}
		for i, f := range files {
			if f.Name != filepath.ToSlash(names[i]) || len(f.Digest) != 64 {
				t.Errorf("%s: %+v, want the name %s", path, f, names[i])
			}
			if _, err := os.Stat(f.Path); err != nil || !filepath.IsAbs(f.Path) {
				t.Errorf("%s: %s: %v", path, f.Path, err)
			}
		}
	}
}
