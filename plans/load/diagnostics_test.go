package load

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

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
		must.Contain(t, path, details, want)
	}
}

// TestOneLineIsShown: of a mistake that concerns many lines, or only the end of one; with the values involved.
func TestOneLineIsShown(t *testing.T) {
	for text, want := range map[string]string{
		"plan \"p\" {}\nworkload \"w\" {\n  prompt_tokens = [\n    1,\n    true,\n  ]\n  output_tokens = {\n    a = 1\n  }\n}\n": "   7:   output_tokens = {\n\n",
		"plan \"p\" {}\nlocals {\n  list = [1, 2, 3]\n  text = \"is ${local.list}\"\n}\n":                                        "with local.list as tuple with 3 elements.",
		"plan \"p\" {}\nlocals {\n  a = 1 +\n}\n":                                                                                "   3:   a = 1 +\n\n",
		"plan \"p\" {}\nlocals {\n  a = \"\x1b[2J\u009b\"\n}\n":                                                                  "  on plan.hcl line 3:\n  (source code not available)\n\n",
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
					t.Errorf("%s: %q has the code %s; testdata/codes.txt says %q", set.Position(n.Pos()), summary, code, listed)
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
	if got := lang.CodeOf(&hcl.Diagnostic{Summary: "Invalid operand", Expression: hcl.StaticExpr(cty.True, hcl.Range{})}); got != "invalid-expression" {
		t.Errorf("what the evaluator finds has %s", got)
	}
	if got := lang.CodeOf(&hcl.Diagnostic{Summary: "x", Extra: ownCode("its-own")}); got != "its-own" {
		t.Errorf("a diagnostic that brings its code has %s", got)
	}
}

type ownCode string

func (c ownCode) DiagnosticCode() string { return string(c) }
