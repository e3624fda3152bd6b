package load

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/planstest"
)

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
Add: rule "what must hold" { expr = "…"
}.
[gate-without-rules at plan.hcl:4:2]

`
	var b strings.Builder
	must.Do(t, res.WriteDiagnostics(&b, 40, false))
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	var colored strings.Builder
	if err := res.WriteDiagnostics(&colored, 40, true); err != nil || !strings.Contains(colored.String(), "\x1b[1;4mphase.biuld\x1b[0m") {
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
		"feature_criteria":    `Expected in criterion "typo": rule, expr.`,
	} {
		res := Path("testdata/invalid/"+path+".hcl", planstest.Registry(), Options{})
		var details string
		for _, d := range res.Diagnostics {
			details += d.Detail + "\n"
		}
		if !strings.Contains(details, want) {
			t.Errorf("%s: no %q in\n%s", path, want, details)
		}
	}
}

func TestDiagnosticsShowTheValuesInvolved(t *testing.T) {
	res := loadText("plan \"p\" {}\nlocals {\n  list = [1, 2, 3]\n  text = \"is ${local.list}\"\n}\n")
	if s := planstest.Text(&res.Findings); !strings.Contains(s, "with local.list as tuple with 3 elements.") {
		t.Error(s)
	}
}

// TestOneLineIsShown: of a mistake that concerns many lines, or only the end of one.
func TestOneLineIsShown(t *testing.T) {
	for text, want := range map[string]string{
		"plan \"p\" {}\nworkload \"w\" {\n  prompt_tokens = [\n    1,\n    true,\n  ]\n  output_tokens = {\n    a = 1\n  }\n}\n": "   7:   output_tokens = {\n\n",
		"plan \"p\" {}\nlocals {\n  a = 1 +\n}\n":               "   3:   a = 1 +\n\n",
		"plan \"p\" {}\nlocals {\n  a = \"\x1b[2J\u009b\"\n}\n": "  on plan.hcl line 3:\n  (source code not available)\n\n",
	} {
		if got := planstest.Text(&loadText(text).Findings); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	res := Bytes("plan.hcl", []byte(`plan "p" {}
variable "token" {
  type      = string
  sensitive = true
}
workload "w" {
  prompt_tokens = length(var.token) > 3 ? var.token : -1
  output_tokens = var.token + 1
  output_tokens = 1
}
`), planstest.Registry(), Options{Vars: map[string]string{"token": "hunter2-hunter2"}})
	if res.OK() {
		t.Fatal("the plan is accepted")
	}
	if s := planstest.Text(&res.Findings) + fmt.Sprint(res.DiagnosticsJSON()); strings.Contains(s, "hunter2") {
		t.Error(s)
	}
}

var kebab = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

// coded is a paragraph of testdata/codes.txt: a code, and the summaries of the
// diagnostics that have it. One that ends in … stands for all with that beginning that
// are listed nowhere else.
type coded struct {
	code      string
	summaries []string
}

func codes(t *testing.T) (list []coded) {
	t.Helper()
	page := must.Get(os.ReadFile("testdata/codes.txt"))(t)
	for _, paragraph := range strings.Split(string(page), "\n\n") {
		lines := strings.Split(strings.TrimSpace(paragraph), "\n")
		c := coded{code: lines[0]}
		for _, line := range lines[1:] {
			c.summaries = append(c.summaries, strings.TrimPrefix(line, "\t"))
		}
		list = append(list, c)
	}
	return list
}

// codeOf is the code under which a summary is listed: by its exact words, or else by the
// longest beginning.
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

func TestListOfCodesIsSound(t *testing.T) {
	names, summaries := map[string]bool{}, map[string]bool{}
	for _, c := range codes(t) {
		if !kebab.MatchString(c.code) || names[c.code] {
			t.Errorf("%q is not a code, or is listed twice", c.code)
		}
		names[c.code] = true
		if len(c.summaries) == 0 {
			t.Errorf("%s lacks the diagnostics that have it", c.code)
		}
		for _, s := range c.summaries {
			if summaries[s] {
				t.Errorf("summary %q is listed twice", s)
			}
			summaries[s] = true
		}
	}
}

// TestEverySummaryHasACode reads the source for all summaries that diagnostics can have.
// A composed summary counts by its beginning.
func TestEverySummaryHasACode(t *testing.T) {
	var files []*ast.File
	set := token.NewFileSet()
	for _, pattern := range []string{"../*/*.go", "../../steps/*.go"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f := must.Get(parser.ParseFile(set, path, nil, 0))(t)
			files = append(files, f)
		}
	}
	takes := summaryParameters(files)
	list := codes(t)
	found := map[string]token.Position{}
	add := func(given, e ast.Expr) {
		text, ok := beginning(e)
		if !ok {
			return
		}
		found[text] = set.Position(e.Pos())
		if code, ok := beginning(given); ok && code != codeOf(list, text) {
			t.Errorf("%s: %q is given the code %s, and testdata/codes.txt lists it under %s", set.Position(e.Pos()), text, code, codeOf(list, text))
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			eachSummary(d, takes, add)
		}
	}
	if len(found) < 100 {
		t.Errorf("only %d summaries found: the search is wrong", len(found))
	}
	for text, at := range found {
		if codeOf(list, text) == "" {
			t.Errorf("%s: the summary %q is not in testdata/codes.txt: add it below its code", at, text)
		}
	}
}

// summaryParameters maps functions to the index of their parameter "summary"; functions
// within others have both names.
func summaryParameters(files []*ast.File) map[string]int {
	takes := map[string]int{}
	note := func(name string, ty *ast.FuncType) {
		i := 0
		for _, field := range ty.Params.List {
			for _, n := range field.Names {
				if n.Name == "summary" {
					takes[name] = i
				}
				i++
			}
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			outer, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			note(outer.Name.Name, outer.Type)
			ast.Inspect(outer, func(n ast.Node) bool {
				if n, ok := n.(*ast.AssignStmt); ok {
					if lit, ok := n.Rhs[0].(*ast.FuncLit); ok {
						if id, ok := n.Lhs[0].(*ast.Ident); ok {
							note(outer.Name.Name+" "+id.Name, lit.Type)
						}
					}
				}
				return true
			})
		}
	}
	return takes
}

// eachSummary finds expressions that are passed, assigned or returned as a summary.
func eachSummary(d ast.Decl, takes map[string]int, add func(code, summary ast.Expr)) {
	outer := ""
	if f, ok := d.(*ast.FuncDecl); ok {
		outer = f.Name.Name + " "
		returnedSummaries(f, add)
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name := ""
			switch fun := n.Fun.(type) {
			case *ast.Ident:
				name = fun.Name
			case *ast.SelectorExpr:
				name = fun.Sel.Name
			}
			i, ok := takes[outer+name]
			if !ok {
				i, ok = takes[name]
			}
			if ok && i > 0 && i < len(n.Args) {
				add(n.Args[i-1], n.Args[i])
			}
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok && strings.EqualFold(id.Name, "summary") {
				add(nil, n.Value)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if sel, ok := left.(*ast.SelectorExpr); ok && strings.EqualFold(sel.Sel.Name, "summary") && i < len(n.Rhs) {
					add(nil, n.Rhs[i])
				}
			}
		}
		return true
	})
}

func returnedSummaries(f *ast.FuncDecl, add func(code, summary ast.Expr)) {
	if f.Type.Results == nil || f.Body == nil || len(f.Type.Results.List) == 0 {
		return
	}
	first := f.Type.Results.List[0]
	if len(first.Names) < 2 || first.Names[1].Name != "summary" {
		return
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) > 1 {
			add(r.Results[0], r.Results[1])
		}
		return true
	})
}

// beginning is the text that an expression begins with, if it begins with one.
func beginning(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && text != ""
	case *ast.BinaryExpr:
		return beginning(e.X)
	case *ast.CallExpr:
		if sel, ok := e.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sprintf" {
			return beginning(e.Args[0])
		}
	}
	return "", false
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
		if got := lang.CodeOf(&hcl.Diagnostic{Summary: summary}); got != want {
			t.Errorf("%s: %s; want %s", summary, got, want)
		}
	}
	if got := lang.CodeOf(&hcl.Diagnostic{Summary: "Invalid operand", Expression: hcl.StaticExpr(cty.True, hcl.Range{})}); got != "invalid-expression" {
		t.Errorf("what the evaluator finds has %s", got)
	}
	if got := lang.CodeOf(&hcl.Diagnostic{Summary: "x", Extra: ownCode("its-own")}); got != "its-own" {
		t.Errorf("a diagnostic that brings its code has %s", got)
	}
}

type ownCode string

func (c ownCode) DiagnosticCode() string { return string(c) }

// TestFixturesHaveCodes checks what invalid plans really produce.
func TestFixturesHaveCodes(t *testing.T) {
	list := codes(t)
	paths, _ := filepath.Glob("testdata/invalid/*")
	for _, path := range paths {
		for _, d := range Path(path, planstest.Registry(), Options{}).DiagnosticsJSON() {
			if d.Code != codeOf(list, d.Summary) && d.Code != "invalid-syntax" && d.Code != "invalid-expression" {
				t.Errorf("%s: %q has the code %q, and testdata/codes.txt lists it under %q", path, d.Summary, d.Code, codeOf(list, d.Summary))
			}
		}
	}
}
