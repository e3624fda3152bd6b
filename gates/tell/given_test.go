package tell

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// given is where a code is passed to something.
type given struct {
	at, folder string
	// args are the arguments in the call; open means that there may be others, known only
	// at run time. made is set if verdict.New itself is called.
	args       []string
	open, made bool
	// by is the name of what is called, which may be a function of another folder that
	// adds its own arguments.
	by string
}

// all is the folder of codes that are chosen in one place and made into reasons in
// another.
const all = ""

// TestPhrasesAskForWhatIsGiven: a phrase names no argument that is never given, and what
// it always says is given wherever its reason is made.
func TestPhrasesAskForWhatIsGiven(t *testing.T) {
	calls, folders, functions := callsIn(t, "../..")
	for name, c := range codes(t) {
		if len(calls[name]) == 0 {
			t.Errorf("no reason has code.%s", name)
			continue
		}
		template, ok := catalogue[c].(string)
		if !ok {
			continue
		}
		always, ever := asked(template)
		anywhere := map[string]bool{}
		for _, call := range calls[name] {
			for _, arg := range call.args {
				anywhere[arg] = true
			}
			if !call.made || call.open {
				maps.Copy(anywhere, folders[call.folder])
				if !call.made {
					maps.Copy(anywhere, functions[call.by])
				}
				continue
			}
			for _, arg := range always {
				if !slices.Contains(call.args, arg) {
					t.Errorf("%s: code.%s is told with {%s}, which is not given", call.at, name, arg)
				}
			}
		}
		for _, arg := range ever {
			if !anywhere[arg] {
				t.Errorf("code.%s is told with {%s}, which nobody gives", name, arg)
			}
		}
	}
}

// asked are the arguments that a template always says, and all that it names.
func asked(template string) (always, ever []string) {
	for i := 0; i < len(template); i++ {
		if template[i] != '{' {
			continue
		}
		end := closing(template, i)
		inner := template[i+1 : end]
		name := regexp.MustCompile(`^[a-z0-9_]+`).FindString(inner)
		rest := inner[len(name):]
		known := name != "subject" && name != "verdict" && name != "causes"
		if known {
			ever = append(ever, name)
		}
		if strings.HasPrefix(rest, "?") || strings.HasPrefix(rest, "!") {
			_, below := asked(rest[1:])
			ever = append(ever, below...)
		} else if known && !strings.Contains(template, "{"+name+"!") {
			always = append(always, name)
		}
		i = end
	}
	return always, ever
}

// callsIn are the places of a module that pass on a code, by its name, and all arguments
// that are given in each folder, and by functions of each name.
func callsIn(t *testing.T, root string) (calls map[string][]given, folders, functions map[string]map[string]bool) {
	t.Helper()
	calls, folders, functions = map[string][]given{}, map[string]map[string]bool{all: {}}, map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		folder := filepath.Dir(path)
		if folders[folder] == nil {
			folders[folder] = map[string]bool{}
		}
		taken := map[ast.Node]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			if arg := argOf(n); arg != "" {
				folders[folder][arg], folders[all][arg] = true, true
			}
			switch n := n.(type) {
			case *ast.FuncDecl:
				name := n.Name.Name
				if functions[name] == nil {
					functions[name] = map[string]bool{}
				}
				ast.Inspect(n, func(n ast.Node) bool {
					if arg := argOf(n); arg != "" {
						functions[name][arg] = true
					}
					return true
				})
			case *ast.CallExpr:
				if len(n.Args) == 0 || codeOf(n.Args[0]) == "" {
					return true
				}
				taken[n.Args[0]] = true
				g := given{at: files.Position(n.Pos()).String(), folder: folder, open: n.Ellipsis.IsValid(), made: called(n) == "New", by: called(n)}
				for _, a := range n.Args[1:] {
					if arg := argOf(a); arg != "" {
						g.args = append(g.args, arg)
					} else {
						g.open = true
					}
				}
				calls[codeOf(n.Args[0])] = append(calls[codeOf(n.Args[0])], g)
			case *ast.SelectorExpr:
				// A code that is only chosen: its reason is made elsewhere. In tell,
				// codes only have phrases.
				if name := codeOf(n); name != "" && !taken[n] && filepath.Base(folder) != "tell" {
					calls[name] = append(calls[name], given{folder: all, open: true})
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return calls, folders, functions
}

// codeOf is X of code.X.
func codeOf(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "code" && s.Sel.Name != "Code" {
		return s.Sel.Name
	}
	return ""
}

// called is the name of what is called.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// argOf is the name of an argument: verdict.Text("path", …), or a call that makes one by
// its name, args["path"], verdict.Arg{Name: "path"}. It is empty for anything else.
func argOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		if called(n) == "Err" {
			return "error"
		}
		if len(n.Args) > 0 {
			return literal(n.Args[0])
		}
	case *ast.IndexExpr:
		return literal(n.Index)
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Name" {
			return literal(n.Value)
		}
	case *ast.CompositeLit:
		if len(n.Elts) > 0 {
			return argOf(n.Elts[0])
		}
	}
	return ""
}

func literal(e ast.Expr) string {
	l, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	text, _ := strconv.Unquote(l.Value)
	return text
}
