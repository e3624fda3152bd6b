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
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// inAnyOrder are the functions that walk over a map whose effects the rule of orderFree does
// not see to be free of its order, with why they are.
var inAnyOrder = map[string]string{
	"gates.withdrawStale": "union keeps its names sorted",
	"steps/decide.gapOf":  "the smallest and the largest of what is collected",
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
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
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
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
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

// orderFree reports whether the body of a walk does nothing but what comes to the same in any
// order: it puts things into maps and sets constants, counts and adds whole numbers, takes the
// smallest and largest, appends to what the function sorts, ends with a constant.
func (w *mapWalk) orderFree(loop *ast.RangeStmt) bool {
	free, results := true, map[string]bool{}
	var statement func(s ast.Stmt)
	statements := func(list []ast.Stmt) {
		for _, s := range list {
			statement(s)
		}
	}
	statement = func(s ast.Stmt) {
		switch s := s.(type) {
		case nil, *ast.EmptyStmt, *ast.DeclStmt:
		case *ast.BlockStmt:
			statements(s.List)
		case *ast.IfStmt:
			statement(s.Init)
			statement(s.Body)
			statement(s.Else)
		case *ast.SwitchStmt:
			statement(s.Init)
			statement(s.Body)
		case *ast.TypeSwitchStmt:
			statement(s.Body)
		case *ast.CaseClause:
			statements(s.Body)
		case *ast.ForStmt:
			statement(s.Init)
			statement(s.Post)
			statement(s.Body)
		case *ast.RangeStmt:
			statement(s.Body)
		case *ast.BranchStmt:
			free = free && s.Tok != token.GOTO
		case *ast.IncDecStmt:
		case *ast.ReturnStmt:
			text := ""
			for _, r := range s.Results {
				free = free && w.constant(r)
				text += types.ExprString(r) + ","
			}
			if results[text] = true; len(results) > 1 {
				free = false
			}
		case *ast.ExprStmt:
			call, ok := s.X.(*ast.CallExpr)
			sorts := ok && strings.HasPrefix(w.called(call), "slices.Sort") && w.within(call.Args[0], loop)
			free = free && ok && (sorts || w.called(call) == "delete")
		case *ast.AssignStmt:
			for i, left := range s.Lhs {
				right := s.Rhs[min(i, len(s.Rhs)-1)]
				free = free && (w.within(left, loop) || w.toTheSame(s.Tok, left, right, loop))
			}
		default:
			free = false
		}
	}
	statement(loop.Body)
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
			sorted = sorted || types.ExprString(call.Args[0]) == name && (strings.HasPrefix(called, "slices.Sort") || strings.HasPrefix(called, "sort."))
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
