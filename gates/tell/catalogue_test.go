package tell

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// codes are the constants of package code with their values.
func codes(t *testing.T) map[string]code.Code {
	t.Helper()
	files, err := filepath.Glob("../verdict/code/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no codes", err)
	}
	all := map[string]code.Code{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, ident := range spec.Names {
				literal, ok := spec.Values[i].(*ast.BasicLit)
				if !ok {
					t.Fatalf("%s: the code %s is no text", name, ident.Name)
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				all[ident.Name] = code.Code(text)
			}
			return true
		})
	}
	return all
}

// TestEveryCodeHasAPhrase also checks that every phrase has a code, and that no two codes
// are equal.
func TestEveryCodeHasAPhrase(t *testing.T) {
	form := regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$`)
	named := map[code.Code]string{}
	for name, c := range codes(t) {
		if other := named[c]; other != "" {
			t.Errorf("%s and %s are both %q", other, name, c)
		}
		named[c] = name
		if !form.MatchString(string(c)) {
			t.Errorf("%s is %q, which is not how codes are written", name, c)
		}
		if catalogue[c] == nil {
			t.Errorf("code.%s (%q) has no phrase", name, c)
		}
	}
	for c := range catalogue {
		if named[c] == "" {
			t.Errorf("there is a phrase for %q, and no such code", c)
		}
	}
}

// TestPhrasesFill: whatever a reason holds, it is told without a brace left over and
// without giving up.
func TestPhrasesFill(t *testing.T) {
	x, y := 1.5, 2.5
	values := []verdict.Args{nil}
	for _, v := range []verdict.Value{
		{Text: "text"},
		{Number: &x, Unit: "ratio"},
		{Number: &x, Unit: "count"},
		{Number: &x, To: &y, Unit: "GB"},
		{List: []string{"a", "b", "c"}},
		{List: []string{}},
		{Numbers: []float64{1, 2}, Unit: "p"},
	} {
		values = append(values, argsOf(t, v))
	}
	cause := verdict.New(code.Broken, verdict.Text("error", "cause"))
	for c := range catalogue {
		var all []verdict.Reason
		for _, args := range values {
			r := verdict.Reason{Code: c, Args: args}
			all = append(all, r, r.On("subject").Is(verdict.Fail), r.On("subject").From(cause, cause))
		}
		for _, r := range all {
			func() {
				defer func() {
					if why := recover(); why != nil {
						t.Errorf("%s: %v, with %d arguments and %d causes", c, why, len(r.Args), len(r.Causes))
					}
				}()
				if text := Line(r); strings.ContainsAny(text, "{}") {
					t.Errorf("%s: %q", c, text)
				}
			}()
		}
	}
}

// argsOf makes a value for every argument that the sources of this package name.
func argsOf(t *testing.T, v verdict.Value) verdict.Args {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	args := verdict.Args{}
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range argName.FindAllSubmatch(source, -1) {
			args[string(m[1])+string(m[2])] = v
		}
	}
	return args
}

var argName = regexp.MustCompile(`Args\["([a-z0-9_]+)"\]|\{([a-z0-9_]+)[}:?!|]`)
