package load

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
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
					t.Errorf("%q has the code %q, and testdata/codes.txt lists it under %q", d.Summary, d.Code,
						codeOf(list, d.Summary))
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
		filepath.Join(dir, "none.hcl"): "Plan file not found", filepath.Join(dir, "empty"): "No plan in folder",
		"/dev/zero": "Plan is too large",
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
		res := Path(filepath.Join(writeFiles(t, map[string]string{c.name: c.text}), c.name),
			planstest.Registry(), Options{})
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
		"parentheses":      summary(lines(many("(", 100), 2000)),
		"open parentheses": many(many("(", 100)+"\n", 2000),
		"braces":           many("a {\n", 20_000),
		"templates":        summary(many(`"${`, 5000)),
		"heredocs":         summary(many("<<A\n${", 5000)),
		"negations":        summary(lines(many("!", 100), 2000)),
		"conditionals":     summary(lines("true ? 1 :", 20_000)),
		"sums":             summary(lines("1 +", 20_000)),
		"nested sums":      summary(many("(", 90) + many(lines("1 +", 100)+"+", 90) + many(")", 90)),
		"indexes":          summary("([" + many("0]\n[", 20_000) + "0])"),
		"splats":           summary("(local" + many("[*]\n", 20_000) + ")"),
		"calls":            summary(lines(many("f(", 90), 1) + "\n" + many("g()", 2000)),
		"if sequences":     summary("<<A\n" + many("%{ if true }\n", 20_000) + "A"),
		"huge exponent":    summary(`"${1e999999999 * 1}"`),
		"huge remainder":   summary("1e900 % 3"),
		"long number":      summary(many("9", 5000)),
		"names":            many("workload \"a\" {\n}\n", 10_000),
		"unknown in rules": unknownRules(2000),
		"attributes": "plan \"p\" {\n" + numbered(10_000, func(i int) string {
			return fmt.Sprintf(" a%d = %d\n", i, i)
		}) + "}\n",
		"types": "variable \"x\" {\n type = " + many("list(", 99) + "any" + many(")", 99) +
			"\n default = []\n}\n",
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
		"sub/plan.hcl": {"serving.json", "sub/prompts.jsonl"},
		filepath.Join(dir, "sub/plan.hcl"): {
			filepath.Join(dir, "serving.json"),
			filepath.Join(dir, "sub/prompts.jsonl"),
		},
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

func TestDiagnosticsForPeople(t *testing.T) {
	res := loadText("plan \"p\" {}\nphase \"build\" {\n\tafter = [phase.biuld]\n\tgate {}\n}\n")
	const want = `Error: Unknown phase

  on plan.hcl line 3, in phase "build":
   3: 	after = [phase.biuld]

There is no phase.biuld. Did you mean
"build"?
[unknown-reference at plan.hcl:3:11]

Error: Gate without rules

  on plan.hcl line 4, in phase "build":
   4: 	gate {}

A gate without rules would always open.
Add: rule "what must hold" { rule = "…"
}.
[gate-without-rules at plan.hcl:4:2]

`
	var b strings.Builder
	must.Do(t, res.WriteDiagnostics(&b, 40, false))
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	var colored strings.Builder
	if err := res.WriteDiagnostics(&colored, 40, true); err != nil ||
		!strings.Contains(colored.String(), "\x1b[1;4mphase.biuld\x1b[0m") {
		t.Errorf("%v\n%s", err, colored.String())
	}
}

func TestDiagnosticsForPrograms(t *testing.T) {
	res := loadText("plan \"p\" {\n  summary = var.x\n}\n")
	got := must.Get(json.Marshal(res.DiagnosticsJSON()))(t)
	const want = `[{"severity":"error","code":"unknown-reference","summary":"Unknown variable","detail":"There is no var.x. The plan declares no variable.",` +
		`"file":"plan.hcl","line":2,"column":13,"end_line":2,"end_column":18,"snippet":"  summary = var.x"}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if empty, _ := json.Marshal(loadText("plan \"p\" {}\n" + anEngine).DiagnosticsJSON()); string(empty) != "[]" {
		t.Errorf("no diagnostics encode as %s", empty)
	}
}

// TestDetailsNameTheWholeStory checks details where the summary alone does not help.
func TestDetailsNameTheWholeStory(t *testing.T) {
	for path, want := range map[string]string{
		"phase_cycle":         "phase.a (after) → phase.c (after_decided) → phase.b (after) → phase.a",
		"feature_cycle":       "feature.a → feature.b → feature.a",
		"feature_phase_cycle": "phase.one (feature.a builds on feature.b) → phase.two (after) → phase.one",
		"local_cycle":         "local.a → local.b → local.c → local.a",
		"workload_names":      `A rule would read "full-pipe" as a subtraction. Write "full_pipe".`,
		"workload_twice":      `The workload "chat" is already declared on line 2.`,
		"engine_kind":         `There is no engine kind "embeded". Did you mean "embedded"?`,
		"feature_set":         `If you meant the text, write it in quotes: "on".`,
		"phase_order":         "Write phase.b, without quotes.",
		"feature_unproven":    `cache = "on" (feature.cached) has none`,
		"root_unknown_block":  `Did you mean "workload"?`,
		"feature_criteria":    `Expected in criterion "typo": rule.`,
	} {
		res := Path("testdata/invalid/"+path+".hcl", planstest.Registry(), Options{})
		var details string
		for _, d := range res.Diagnostics {
			details += d.Detail + "\n"
		}
		must.Contain(t, path, details, want)
	}
}

// TestOneLineIsShown: of a mistake that concerns many lines, or only the end of one; with the values involved.
func TestOneLineIsShown(t *testing.T) {
	for text, want := range map[string]string{
		"plan \"p\" {}\nworkload \"w\" {\n  prompt_tokens = [\n    1,\n    true,\n  ]\n  output_tokens = {\n    a = " +
			"1\n  }\n}\n": "   7:   output_tokens = {\n\n",
		"plan \"p\" {}\nlocals {\n  list = [1, 2, 3]\n  text = \"is ${local.list}\"\n}\n": "with local.list as tuple " +
			"with 3 elements.",
		"plan \"p\" {}\nlocals {\n  a = 1 +\n}\n": "   3:   a = 1 +\n\n",
		"plan \"p\" {}\nlocals {\n  a = \"\x1b[2J\u009b\"\n}\n": "  on plan.hcl line 3:\n " +
			" (source code not available)\n\n",
	} {
		if got := planstest.Text(&loadText(text).Findings); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

var kebab = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

// coded is a paragraph of testdata/codes.txt: a code, and the summaries of the diagnostics
// that have it. One that ends in … stands for all with that beginning.
type coded struct {
	code      string
	summaries []string
}

// codes are those of the list, each once and with diagnostics, and each of these once.
func codes(t *testing.T) (list []coded) {
	t.Helper()
	page, seen := must.Get(os.ReadFile("testdata/codes.txt"))(t), map[string]bool{}
	for paragraph := range strings.SplitSeq(string(page), "\n\n") {
		lines := strings.Split(strings.TrimSpace(paragraph), "\n")
		if !kebab.MatchString(lines[0]) || len(lines) == 1 {
			t.Errorf("%q is not a code, or has no diagnostics", lines[0])
		}
		for _, line := range lines {
			if seen[line] {
				t.Errorf("%q is listed twice", line)
			}
			seen[line] = true
		}
		list = append(list, coded{lines[0], strings.Split(strings.Join(lines[1:], "\n")[1:], "\n\t")})
	}
	return list
}

// codeOf is the code under which a summary is listed: by its exact words, or else by the longest beginning.
func codeOf(list []coded, summary string) (code string) {
	longest := 0
	for _, e := range list {
		for _, s := range e.summaries {
			beginning, open := strings.CutSuffix(s, "…")
			switch {
			case s == summary:
				return e.code
			case open && strings.HasPrefix(summary, beginning) && len(beginning) > longest:
				code, longest = e.code, len(beginning)
			}
		}
	}
	return code
}

// TestEverySummaryHasACode reads the sources for all that diagnostics can say: a summary
// stands behind its code. A composed one counts by its beginning.
func TestEverySummaryHasACode(t *testing.T) {
	list, set := codes(t), token.NewFileSet()
	inner, _ := filepath.Glob("../*/*.go")
	steps, _ := filepath.Glob("../../steps/*.go")
	found := map[string]bool{}
	for _, path := range append(inner, steps...) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(set, path, nil, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			side := sideBySide(n)
			for i := 1; i < len(side); i++ {
				code, summary := beginning(side[i-1]), beginning(side[i])
				is := strings.Contains(code, "-") && kebab.MatchString(code)
				if !is || summary == "" || !unicode.IsUpper(rune(summary[0])) {
					continue
				}
				found[summary] = true
				if listed := codeOf(list, summary); listed != code {
					t.Errorf("%s: %q has the code %s; testdata/codes.txt says %q", set.Position(n.Pos()),
						summary, code, listed)
				}
			}
			return true
		})
	}
	if len(found) < 200 {
		t.Errorf("only %d summaries found: the search is wrong", len(found))
	}
}

// sideBySide are the expressions that stand next to each other in a node.
func sideBySide(n ast.Node) (list []ast.Expr) {
	switch n := n.(type) {
	case *ast.CallExpr:
		return n.Args
	case *ast.ReturnStmt:
		return n.Results
	case *ast.AssignStmt:
		return n.Rhs
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				e = pair.Value
			}
			list = append(list, e)
		}
	}
	return list
}

// beginning is the text that an expression begins with.
func beginning(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return beginning(e.X)
	case *ast.CallExpr:
		if sel, ok := e.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sprintf" {
			return beginning(e.Args[0])
		}
	}
	return ""
}

// TestCodesOfTheParsers: what the parsers report has a code of ours where the mistake is
// ours as well, and else tells whether parser or evaluator found it.
func TestCodesOfTheParsers(t *testing.T) {
	for summary, want := range map[string]string{
		"Extraneous label for plan": "wrong-labels",
		"Missing name for feature":  "wrong-labels",
		"Unsupported block type":    "unknown-block",
		"Attribute redefined":       "attribute-twice",
		"Unclosed index brackets":   "invalid-syntax",
	} {
		must.Equal(t, summary, lang.CodeOf(&hcl.Diagnostic{Summary: summary}), want)
	}
	if got := lang.CodeOf(&hcl.Diagnostic{
		Summary:    "Invalid operand",
		Expression: hcl.StaticExpr(cty.True, hcl.Range{}),
	}); got != "invalid-expression" {
		t.Errorf("what the evaluator finds has %s", got)
	}
	if got := lang.CodeOf(&hcl.Diagnostic{Summary: "x", Extra: ownCode("its-own")}); got != "its-own" {
		t.Errorf("a diagnostic that brings its code has %s", got)
	}
}

type ownCode string

func (c ownCode) DiagnosticCode() string { return string(c) }
