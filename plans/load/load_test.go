package load

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
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
	paths, _ := filepath.Glob("testdata/valid/*.hcl")
	if len(paths) == 0 {
		t.Fatal("no fixtures")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			res := Path(path, planstest.Registry(), Options{})
			if !res.OK() {
				t.Fatalf("diagnostics:\n%s", planstest.Text(&res.Findings))
			}
			sameExpectations(t, path, res)
			got := must.Get(json.MarshalIndent(res.Plan, "", "  "))(t)
			got = append(got, '\n')
			golden := strings.TrimSuffix(path, ".hcl") + ".json"
			if *update {
				must.Do(t, os.WriteFile(golden, got, 0o644))
			}
			want := must.Get(os.ReadFile(golden))(t)
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs from what was decoded; run with -update and look at the difference.\n%s", golden, got)
			}
		})
	}
}

// expectation is the comment with which a fixture says what is wrong with a line.
var expectation = regexp.MustCompile(`# (?:ERROR|WARNING): (.*?)\s*$`)

// TestInvalidPlansAreExplained compares, for each fixture, line and summary of all
// diagnostics with its comments. A mistake of the whole file is expected on line 1;
// several on one line are separated by " | ".
func TestInvalidPlansAreExplained(t *testing.T) {
	paths, _ := filepath.Glob("testdata/invalid/*.hcl")
	if len(paths) < 40 {
		t.Fatalf("%d fixtures", len(paths))
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { checkExpectations(t, path) })
	}
}

// TestPlansThatMayWasteTimeAreQuestioned is the same for plans that would run: the
// diagnostics are warnings, unless a rule could never be decided.
func TestPlansThatMayWasteTimeAreQuestioned(t *testing.T) {
	paths, _ := filepath.Glob("testdata/warnings/*.hcl")
	if len(paths) < 12 {
		t.Fatalf("%d fixtures", len(paths))
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			checkExpectations(t, path)
			for _, d := range Path(path, planstest.Registry(), Options{}).DiagnosticsJSON() {
				if d.Code == "" || (d.Severity == "error") != (d.Summary == "Too few requests") {
					t.Errorf("%s %s: %s", d.Severity, d.Code, d.Summary)
				}
			}
		})
	}
}

// checkExpectations compares the diagnostics of a fixture with what it expects.
func checkExpectations(t *testing.T, path string) {
	t.Helper()
	if sameExpectations(t, path, Path(path, planstest.Registry(), Options{})) == 0 {
		t.Error("the fixture expects nothing")
	}
}

// sameExpectations returns how many diagnostics were expected.
func sameExpectations(t *testing.T, path string, res *Result) int {
	t.Helper()
	src := must.Get(os.ReadFile(path))(t)
	var want, got []string
	for i, line := range strings.Split(string(src), "\n") {
		if m := expectation.FindStringSubmatch(line); m != nil {
			for _, summary := range strings.Split(m[1], " | ") {
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

func mustLoad(t testing.TB, path string) *plans.Plan {
	t.Helper()
	res := Path(path, planstest.Registry(), Options{})
	if !res.OK() {
		t.Fatal(planstest.Text(&res.Findings))
	}
	return res.Plan
}

func TestLookups(t *testing.T) {
	p := mustLoad(t, "testdata/valid/mxfp4.hcl")
	if p.Engine("embedded.tiny") == nil || p.Engine("tiny") != nil {
		t.Error("engine")
	}
	if p.Knob("moe_kernel").Value("gemm") == nil || p.Knob("moe_kernel").Value("x") != nil || p.Knob("x") != nil {
		t.Error("knob")
	}
	if p.Workload("chat") == nil || p.Workload("x") != nil {
		t.Error("workload")
	}
	if p.Protocol("standard").Level("kernels") == nil || p.Protocol("quick").Level("kernels") != nil || p.Protocol("x") != nil {
		t.Error("protocol")
	}
	if p.Phase("cutlass") == nil || p.Phase("x") != nil {
		t.Error("phase")
	}
	if p.Feature("sinks_again").Phase != "sinks" || p.Feature("x") != nil {
		t.Error("feature")
	}
	if f := p.Feature("cutlass_grouped_gemm"); f.Protocol != "standard" {
		t.Errorf("protocol of a feature that names none: %q", f.Protocol)
	}
}

func TestCells(t *testing.T) {
	for _, c := range []struct {
		w    plans.Workload
		want string
	}{
		{plans.Workload{Name: "w", PromptTokens: []int{8}, OutputTokens: []int{4}}, "[w=pp8 tg4]"},
		{plans.Workload{Name: "w", PromptTokens: []int{8}, OutputTokens: []int{4}, OutputList: true}, "[w.o4=pp8 tg4]"},
		{plans.Workload{Name: "w", PromptTokens: []int{8, 2}, OutputTokens: []int{4}, PromptList: true}, "[w.p8=pp8 tg4 w.p2=pp2 tg4]"},
		{
			plans.Workload{Name: "w", PromptTokens: []int{8}, OutputTokens: []int{4, 5}, PromptList: true, OutputList: true},
			"[w.p8.o4=pp8 tg4 w.p8.o5=pp8 tg5]",
		},
	} {
		var got []string
		for _, cell := range c.w.Cells() {
			got = append(got, cell.Address+"="+cell.Label)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
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
	var bench struct {
		Workloads []string `json:"workloads"`
		Launches  int      `json:"launches"`
	}
	must.Do(t, p.Protocol("standard").Level("benchmark").Decode(&bench))
	if !reflect.DeepEqual(bench.Workloads, []string{"chat", "lengths"}) || bench.Launches != 6 {
		t.Errorf("%+v", bench)
	}
	if got := p.Protocol("quick").Level("benchmark").Attrs["launches"]; got != 5.0 {
		t.Errorf("default is %v (%T)", got, got)
	}
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

// anEngine makes a plan more than empty, which is a warning.
const anEngine = "engine \"embedded\" \"e\" {}\n"

func TestFilesThatAreNoPlan(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "none.hcl"), "Plan file not found"},
		{t.TempDir(), "No plan in folder"},
		{write("plan.yaml", "plan: x"), "Missing name | Missing plan block"},
		{write("empty.hcl", ""), "Plan is empty"},
		{write("blank.hcl", " \n\t\n"), "Plan is empty"},
		{write("mark.hcl", "\uFEFF\n"), "Plan is empty"},
		{write("utf16.hcl", "\xff\xfep\x00l\x00"), "Plan is not UTF-8"},
		{write("latin1.hcl", "plan \"p\" {\n  summary = \"caf\xe9\"\n}\n"), "Plan is not UTF-8"},
		{write("nul.hcl", "plan \"p\" {}\n\x00"), "Plan has a control character"},
		{write("escape.hcl", "plan \"p\" {} # \x1b[2J"), "Plan has a control character"},
		{write("large.hcl", "plan \"p\" {}\n"+strings.Repeat("# more\n", 200_000)), "Plan is too large"},
		{write("good.hcl", "plan \"p\" {}\n"+anEngine), ""},
		{write("windows.hcl", "plan \"p\" {\r\n  summary = \"s\"\r\n}\r\n"+anEngine), ""},
		{write("bom.hcl", "\uFEFFplan \"p\" {}\n"+anEngine), ""},
		{write("nothing.hcl", "plan \"p\" {}\nlocals {\n  a = 1\n}\n"), "Plan decides nothing"},
		{"/dev/zero", "Plan is too large"},
	} {
		res := Path(c.path, planstest.Registry(), Options{})
		if got := summaries(res); got != c.want {
			t.Errorf("%s: got %q, want %q", c.path, got, c.want)
		}
		if res.Plan == nil {
			t.Errorf("%s: no plan", c.path)
		}
		_ = planstest.Text(&res.Findings) // must not stumble over any of these
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

func TestMistakesInTheTextArePlaced(t *testing.T) {
	res := loadText("plan \"p\" {\n  summary = \"caf\xe9\"\n}\n")
	if d := res.DiagnosticsJSON()[0]; d.Line != 2 || d.Column != 17 {
		t.Errorf("at %d:%d", d.Line, d.Column)
	}
}

// TestHostilePlansAreRefusedQuickly has texts that would overflow the stack of the
// parser, or are all mistakes.
func TestHostilePlansAreRefusedQuickly(t *testing.T) {
	if testing.Short() {
		t.Skip("megabytes of text take minutes under the race detector, and nothing here is concurrent")
	}
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	summary := func(expr string) string { return "plan \"p\" {\n  summary = " + expr + "\n}\n" }
	lines := func(s string, n int) string { return "(" + many(s+"\n", n) + ")" }
	for name, src := range map[string]string{
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
		"names":             many("workload \"a\" {\n}\n", 50_000),
		"unknown in rules":  unknownRules(9000),
		"attributes":        "plan \"p\" {\n" + attributes(40_000) + "}\n",
		"types":             "variable \"x\" {\n type = " + many("list(", 99) + "any" + many(")", 99) + "\n default = []\n}\n",
		"closers":           many(many(")]}", 1000)+"\n", 100),
		"comment":           "/*" + many("*\n", 400_000),
		"mismatched closer": summary(many("(]\n", 50_000)),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			res := loadText(src)
			if took := time.Since(start); took > planstest.Hang {
				t.Errorf("took %v", took)
			}
			if res.OK() {
				t.Error("was accepted")
			}
			if s := summaries(res); strings.Contains(s, "Internal error") {
				t.Error(planstest.Text(&res.Findings))
			}
		})
	}
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

func TestDescriptionKnowsKinds(t *testing.T) {
	d := Describe(planstest.Registry())
	if d.Block("protocol").Block("level").Kinds["smoke"].Attr("expect") == nil {
		t.Error("level smoke")
	}
	if d.Block("phase").Block("step").Kinds["exec"].Attr("command") == nil {
		t.Error("step exec")
	}
	engines := d.Block("engine").Kinds
	if engines["openai"].Settings != nil || len(engines["embedded"].Settings) != 4 {
		t.Error("settings of engine kinds")
	}
}

func BenchmarkLoadMxfp4(b *testing.B) {
	src := must.Get(os.ReadFile("testdata/valid/mxfp4.hcl"))(b)
	for b.Loop() {
		Bytes("plan.hcl", src, planstest.Registry(), Options{})
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
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"sub/prompts.jsonl": "{\"prompt\": \"a\"}\n",
		"sub/plan.hcl": `plan "p" {}
workload "a" {
  output_tokens = 1
  dataset {
    file = "prompts.jsonl"
  }
}
workload "b" {
  output_tokens = 1
  dataset {
    file = "./prompts.jsonl"
  }
}
imported "serving" {
  file = "../serving.json"
}
imported "absent" {
  file = "absent.json"
}
`,
	} {
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	result := []byte(`{"num_prompts": 1, "duration": 1, "completed": 1, "total_input_tokens": 1, "request_throughput": 1}`)
	must.Do(t, os.WriteFile("serving.json", result, 0o644))
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
