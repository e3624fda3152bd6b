package load

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/planstest"
)

var kebab = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

func TestCodesAreSound(t *testing.T) {
	names, summaries := map[string]bool{}, map[string]bool{}
	for _, c := range lang.Codes() {
		if !kebab.MatchString(c.Name) || names[c.Name] {
			t.Errorf("%q is no code, or stands twice", c.Name)
		}
		names[c.Name] = true
		if c.Cause == "" || c.Cure == "" {
			t.Errorf("%s lacks its cause or cure", c.Name)
		}
		for _, s := range c.Summaries {
			if summaries[s] {
				t.Errorf("summary %q stands in two places", s)
			}
			summaries[s] = true
			if i := strings.IndexByte(s, '*'); i >= 0 && i < len(s)-1 {
				t.Errorf("in %q, * is not at the end", s)
			}
		}
	}
}

// TestEverySummaryHasACode reads the source for all that diagnostics can be
// called. A summary that is put together counts by how it begins.
func TestEverySummaryHasACode(t *testing.T) {
	var files []*ast.File
	set := token.NewFileSet()
	for _, pattern := range []string{"../*/*.go", "../../steps/*.go"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
	}
	takes := summaryParameters(files)
	found := map[string]token.Position{}
	add := func(given, e ast.Expr) {
		text, ok := beginning(e)
		if !ok {
			return
		}
		found[text] = set.Position(e.Pos())
		if code, ok := beginning(given); ok && code != lang.CodeOf(&hcl.Diagnostic{Summary: text}) {
			t.Errorf("%s: %q is given the code %s, and the manual lists it under %s", set.Position(e.Pos()), text, code, lang.CodeOf(&hcl.Diagnostic{Summary: text}))
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
		if lang.CodeOf(&hcl.Diagnostic{Summary: text}) == lang.OtherCode {
			t.Errorf("%s: the summary %q has no code: add it to the code that explains it in plans/lang/codes_table.go", at, text)
		}
	}
}

// summaryParameters maps functions to the index of their parameter "summary",
// those within others by both names.
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

// eachSummary finds what is passed, assigned or returned as a summary.
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

// beginning is the text that an expression begins with, when it is one.
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

func TestCodesBySummary(t *testing.T) {
	for summary, want := range map[string]string{
		"Unknown knob value":        "unknown-knob-value",
		"Unknown phase":             "unknown-reference",
		"Wrong type for requests":   "wrong-type",
		"Wrong type for variable":   "invalid-variable-value",
		"Missing prompt_tokens":     "missing-attribute",
		"Duplicate baseline block":  "duplicate-name",
		"Invalid duration":          "invalid-duration",
		"Invalid requests":          "invalid-value",
		"Unclosed index brackets":   "unclosed",
		"Extraneous label for plan": "wrong-labels",
		"Nobody ever said this":     lang.OtherCode,
	} {
		if got := lang.CodeOf(&hcl.Diagnostic{Summary: summary}); got != want {
			t.Errorf("%s: %s, want %s", summary, got, want)
		}
	}
	if got := lang.CodeOf(&hcl.Diagnostic{Summary: "x", Extra: ownCode("its-own")}); got != "its-own" {
		t.Errorf("a diagnostic that brings its code has %s", got)
	}
}

type ownCode string

func (c ownCode) DiagnosticCode() string { return string(c) }

// TestFixturesHaveCodes looks at what invalid plans really produce.
func TestFixturesHaveCodes(t *testing.T) {
	paths, _ := filepath.Glob("testdata/invalid/*")
	for _, path := range paths {
		for _, d := range Path(path, planstest.Registry(), Options{}).DiagnosticsJSON() {
			if d.Code == "" || d.Code == lang.OtherCode {
				t.Errorf("%s: %q has no code", path, d.Summary)
			}
		}
	}
}
