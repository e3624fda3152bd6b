// Package mxflow has no code: this folder holds the rules for all of it, such as who may import whom.
package mxflow

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

const module = "github.com/mxflow/mxflow/"

// allowed lists, for a package and all below it, which of our packages it may depend on: the
// directions of docs/internals/architecture.md. The commands and the steps may import
// everything below.
var allowed = map[string][]string{
	"internal": {},
	"engine":   {},
	"plans":    {"engine/measure/imported"},
	"gates":    {"plans"},
	"runtime":  {"plans", "gates", "engine/trace", "engine/logscan"},
	"steps":    {"plans", "gates", "runtime", "engine"},
}

// vocabulary lies below all of it: what a metric is, what statistics say, what a verdict and
// a reason are, what traffic was recorded, what is secret.
var vocabulary = []string{"engine/measure", "engine/load/traffic", "gates/stats", "gates/verdict", "internal"}

// forbidden lists, for a package and all below it, what it may not depend on.
var forbidden = map[string][]string{
	"engine":         {"github.com/hashicorp/hcl", "github.com/expr-lang"},
	"gates":          {"github.com/hashicorp/hcl", "github.com/zclconf/go-cty"},
	"runtime":        {"github.com/hashicorp/hcl", "github.com/zclconf/go-cty"},
	"engine/measure": {"github.com", "golang.org", "gonum.org"},
	// The results of other tools are read by programs.
	"engine/measure/imported": {"github.com/hashicorp", "github.com/expr-lang"},
	// Deciding is the same wherever it happens: nothing of a machine, a file or a plan's syntax reaches it.
	"runtime/decide": {
		"github.com/hashicorp/hcl", "github.com/zclconf/go-cty", module + "engine",
		module + "runtime/store",
	},
	"runtime/replay": {module + "engine"},
	"gates/stats":    {module + "plans", module + "runtime", module + "steps", module + "engine"},
	"gates/verdict":  {module + "plans", module + "runtime", module + "steps", module + "engine"},
	// Who checks the record depends on nothing that measured or decided it.
	"cmd/mxflow/internal/audit": {
		module + "steps/launch", module + "steps/levels", module + "steps/session", module + "runtime/replay",
		module + "engine/kinds", module + "engine/run", module + "engine/docker", module + "plans/load",
		"github.com/hashicorp/hcl",
	},
	// An agent's tools reach neither a command nor a key.
	"cmd/mxflow/internal/agents": {"github.com/spf13/cobra", module + "runtime/signing"},
}

// except are packages that may depend on what is forbidden to the room that they are in.
var except = map[string]string{
	"engine/measure/imported": "engine/measure",
	"runtime/replay":          "runtime", // reads recorded plans
}

func TestImportDirections(t *testing.T) {
	out := must.Get(exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...").Output())(t)
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p struct {
			ImportPath    string
			Imports, Deps []string
		}
		must.Do(t, dec.Decode(&p))
		name := strings.TrimPrefix(p.ImportPath, module)
		for room, prefixes := range forbidden {
			for _, dep := range p.Deps {
				if below(name, room) && except[name] != room && underAny(dep, prefixes) &&
					!underAny(dep, ours(vocabulary)) {
					t.Errorf("%s depends on %s", name, dep)
				}
			}
		}
		top, _, _ := strings.Cut(name, "/")
		may, limited := allowed[top]
		limited = limited && !below(name, "internal/testing") // which only tests import
		for _, imported := range p.Imports {
			ourOther := strings.HasPrefix(imported, module)
			if limited && ourOther && !underAny(imported, ours(append([]string{top}, may...))) &&
				!underAny(imported, ours(vocabulary)) {
				t.Errorf("%s imports %s: the directions in this test do not allow it", name, imported)
			}
			if imported == "github.com/spf13/cobra" && below(name, "cmd/mxflow/internal") &&
				!below(name, "cmd/mxflow/internal/audit") {
				t.Errorf("%s imports cobra: flags and exit statuses are the command's", name)
			}
		}
	}
}

// builtOn are the packages that the project is to be built on.
var builtOn = []string{
	"github.com/hashicorp/hcl/v2", "github.com/expr-lang/expr", "gopkg.in/yaml.v3", "github.com/docker/docker/client",
}

// TestBuiltOn: each is a direct requirement, and imported by code that is no test.
func TestBuiltOn(t *testing.T) {
	out := must.Get(exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, "./...").Output())(t)
	imported := strings.Fields(string(out))
	mod := must.Get(exec.Command("go", "mod", "edit", "-json").Output())(t)
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	must.Do(t, json.Unmarshal(mod, &file))
	for _, path := range builtOn {
		if !slices.ContainsFunc(imported, func(p string) bool { return below(p, path) }) {
			t.Errorf("no code imports %s", path)
		}
		direct := false
		for _, r := range file.Require {
			direct = direct || !r.Indirect && below(path, r.Path)
		}
		if !direct {
			t.Errorf("%s is no direct requirement of go.mod", path)
		}
	}
}

func below(name, room string) bool { return name == room || strings.HasPrefix(name, room+"/") }

// underAny reports whether the import path is one of the paths or below one.
func underAny(path string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return below(path, p)
	})
}

func ours(names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = module + name
	}
	return paths
}

// TestPagesNameWhatIsThere: tests, files, folders, functions and variables that a page names exist.
func TestPagesNameWhatIsThere(t *testing.T) {
	code, all, pages := map[string]string{}, "", ""
	must.Do(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "shared"):
			return filepath.SkipDir
		case ext != ".go" && ext != ".sh" && ext != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if ext == ".md" {
			pages += string(text)
		} else {
			code[filepath.Dir(path)] += string(text)
		}
		return err
	}))
	for _, text := range code {
		all += text
	}
	const folder, ending = `(?:cmd|docs|engine|examples|gates|internal|plans|runtime|steps)/`,
		`\.(?:go|js|md|py|txt|hcl|yaml)`
	for pattern, there := range map[string]func(string) bool{
		`\bTest[A-Z]\w+`:          func(name string) bool { return strings.Contains(all, "\nfunc "+name) },
		`\bMXFLOW_[A-Z_]*[A-Z]\b`: func(name string) bool { return strings.Contains(all, name) },
		"`(?:plans|gates|steps|runtime)[a-z/]*\\.[A-Za-z]+`": func(name string) bool {
			room, function, _ := strings.Cut(strings.Trim(name, "`"), ".")
			declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type )` + function + `\b`)
			_, err := os.Stat(strings.Trim(name, "`")) // a file
			return err == nil || declared.MatchString(code[room])
		},
		"`" + folder + `[\w/-]+(?:` + ending + ")?`": func(path string) bool {
			_, err := os.Stat(strings.Trim(path, "`"))
			return err == nil || strings.Contains(path, "KIND")
		},
	} {
		names := regexp.MustCompile(pattern).FindAllString(pages, -1)
		if len(names) < 10 {
			t.Errorf("only %d names like %s were found", len(names), pattern)
		}
		for _, name := range names {
			if !there(name) {
				t.Errorf("a page names %s, which does not exist", name)
			}
		}
	}
}

// inAnyOrder are the functions that walk over a map whose effects the rule of orderFree does
// not see to be free of its order, with why they are.
var inAnyOrder = map[string]string{
	"gates.withdrawStale":  "union keeps its names sorted",
	"runtime/decide.gapOf": "the smallest and the largest of what is collected",
}

// TestNothingHangsOnTheOrderOfAMap: a key, a digest, a choice of one element or a list that
// follows from a map's order is another one each time. Whoever walks over a map does only what
// comes to the same in any order, or sorts its keys.
func TestNothingHangsOnTheOrderOfAMap(t *testing.T) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	exports, own := map[string]string{}, []listed{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p listed
		must.Do(t, dec.Decode(&p))
		if exports[p.ImportPath] = p.Export; strings.HasPrefix(p.ImportPath, module) {
			own = append(own, p)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	walked, unused := 0, map[string]bool{}
	for name := range inAnyOrder {
		unused[name] = true
	}
	for _, p := range own {
		var files []*ast.File
		for _, name := range p.GoFiles {
			file := must.Get(parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0))(t)
			files = append(files, file)
		}
		info := &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
			Defs: map[*ast.Ident]types.Object{},
		}
		must.Get((&types.Config{Importer: imports}).Check(p.ImportPath, fset, files, info))(t)
		for _, file := range files {
			for _, decl := range file.Decls {
				name := strings.TrimPrefix(p.ImportPath, module)
				if f, ok := decl.(*ast.FuncDecl); ok {
					name += "." + f.Name.Name
				}
				w := mapWalk{info: info, in: decl}
				ast.Inspect(decl, w.node)
				walked += w.maps
				for _, at := range w.wrong {
					if delete(unused, name); inAnyOrder[name] == "" {
						t.Errorf("%s: %s hangs on the order of a map: sort the keys", fset.Position(at), name)
					}
				}
			}
		}
	}
	if walked < 100 {
		t.Errorf("only %d walks over maps were found", walked)
	}
	for name := range unused {
		t.Errorf("%s is free of order by the rule, or gone: remove it from inAnyOrder", name)
	}
}

// mapWalk looks at the walks over maps in one declaration.
type mapWalk struct {
	info  *types.Info
	in    ast.Node
	maps  int
	wrong []token.Pos
	// calls are those whose order is taken away by the call around them.
	calls []ast.Node
}

func (w *mapWalk) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.RangeStmt:
		_, isMap := w.info.TypeOf(n.X).Underlying().(*types.Map)
		if call, ok := n.X.(*ast.CallExpr); ok && w.ofMap(call) {
			w.calls, isMap = append(w.calls, call), true
		}
		if isMap {
			if w.maps++; n.Key != nil && !w.orderFree(n) {
				w.wrong = append(w.wrong, n.Pos())
			}
		}
	case *ast.AssignStmt:
		if w.sortedAfter(types.ExprString(n.Lhs[0]), n) {
			ast.Inspect(n.Rhs[0], func(n ast.Node) bool {
				w.calls = append(w.calls, n)
				return true
			})
		}
	case *ast.CallExpr:
		switch name := w.called(n); {
		case strings.HasPrefix(name, "slices.Sorted"), name == "maps.Insert", name == "maps.Collect":
			for _, arg := range n.Args {
				w.calls = append(w.calls, arg)
			}
		case w.ofMap(n):
			if w.maps++; !slices.Contains(w.calls, ast.Node(n)) {
				w.wrong = append(w.wrong, n.Pos())
			}
		}
	}
	return true
}

// ofMap reports whether a call is an iterator over a map.
func (w *mapWalk) ofMap(call *ast.CallExpr) bool {
	return slices.Contains([]string{"maps.Keys", "maps.Values", "maps.All"}, w.called(call))
}

// called is the function of a package that a call calls, as in "slices.Sort".
func (w *mapWalk) called(call *ast.CallExpr) string {
	if of, ok := call.Fun.(*ast.SelectorExpr); ok {
		if f, ok := w.info.Uses[of.Sel].(*types.Func); ok && f.Pkg() != nil && f.Signature().Recv() == nil {
			return f.Pkg().Name() + "." + f.Name()
		}
	}
	if id, ok := call.Fun.(*ast.Ident); ok {
		if _, builtin := w.info.Uses[id].(*types.Builtin); builtin {
			return id.Name
		}
	}
	return ""
}

// orderFree reports whether the body of a walk does nothing but what comes to the same in any order: it puts things
// into maps and sets constants, counts and adds whole numbers, takes the smallest and largest, appends to what the
// function sorts, ends with a constant.
func (w *mapWalk) orderFree(loop *ast.RangeStmt) bool {
	free, results := true, map[string]bool{}
	ast.Inspect(loop.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BranchStmt:
			free = free && n.Tok != token.GOTO
		case *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.SelectStmt, *ast.LabeledStmt:
			free = false
		case *ast.ReturnStmt:
			text := ""
			for _, r := range n.Results {
				free = free && w.constant(r)
				text += types.ExprString(r) + ","
			}
			results[text] = true
			free = free && len(results) == 1
		case *ast.ExprStmt:
			call, ok := n.X.(*ast.CallExpr)
			sorts := ok && strings.HasPrefix(w.called(call), "slices.Sort") && w.within(call.Args[0], loop)
			free = free && ok && (sorts || w.called(call) == "delete")
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				right := n.Rhs[min(i, len(n.Rhs)-1)]
				free = free && (w.within(left, loop) || w.toTheSame(n.Tok, left, right, loop))
			}
		}
		return free
	})
	return free
}

// within reports whether a variable is one of the walk's own.
func (w *mapWalk) within(e ast.Expr, loop *ast.RangeStmt) bool {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			e = x.X
			continue
		case *ast.IndexExpr:
			e = x.X
			continue
		case *ast.Ident:
			obj := w.info.ObjectOf(x)
			return x.Name == "_" || obj != nil && obj.Pos() >= loop.Pos() && obj.Pos() < loop.End()
		}
		return false
	}
}

func (w *mapWalk) toTheSame(tok token.Token, left, right ast.Expr, loop *ast.RangeStmt) bool {
	if at, ok := left.(*ast.IndexExpr); ok {
		if _, isMap := w.info.TypeOf(at.X).Underlying().(*types.Map); isMap {
			return true
		}
	}
	basic, _ := w.info.TypeOf(left).Underlying().(*types.Basic)
	switch tok {
	case token.ADD_ASSIGN, token.OR_ASSIGN, token.SUB_ASSIGN:
		return basic != nil && basic.Info()&types.IsInteger != 0
	case token.ASSIGN:
	default:
		return false
	}
	name := types.ExprString(left)
	switch right := ast.Unparen(right).(type) {
	case *ast.BinaryExpr: // all = all && one
		return (right.Op == token.LAND || right.Op == token.LOR) && types.ExprString(right.X) == name
	case *ast.CallExpr:
		switch w.called(right) {
		case "min", "max":
			return slices.ContainsFunc(right.Args, func(a ast.Expr) bool { return types.ExprString(a) == name })
		case "append":
			return types.ExprString(right.Args[0]) == name && w.sortedAfter(name, loop)
		}
	}
	return w.constant(right)
}

// sortedAfter reports whether a list is sorted after the walk, or the statement, that makes it.
func (w *mapWalk) sortedAfter(name string, loop ast.Node) (sorted bool) {
	ast.Inspect(w.in, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && call.Pos() > loop.End() && len(call.Args) > 0 {
			called := w.called(call)
			sorted = sorted || types.ExprString(call.Args[0]) == name &&
				(strings.HasPrefix(called, "slices.Sort") || strings.HasPrefix(called, "sort."))
		}
		return !sorted
	})
	return sorted
}

func (w *mapWalk) constant(e ast.Expr) bool {
	if tv := w.info.Types[e]; tv.Value != nil || tv.IsNil() {
		return true
	}
	lit, ok := e.(*ast.CompositeLit)
	return ok && len(lit.Elts) == 0
}
