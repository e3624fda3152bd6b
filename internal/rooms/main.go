// Rooms prints the packages below a folder as a table: how many files and lines
// each has, tests not counted, how many names it exports, and which type has most
// methods. It knows Go source text alone: nothing is built, and no rule is set.
//
//	go run ./internal/rooms [FOLDER]
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// room is one package.
type room struct {
	path                   string
	files, lines, exported int
	methods                map[string]int
}

func main() {
	rooms, err := read(append(os.Args, ".")[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
	show(rooms)
}

// read reads all packages below a folder, in the order of their paths.
func read(root string) ([]*room, error) {
	byPath := map[string]*room{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		r := byPath[dir]
		if r == nil {
			r = &room{path: filepath.ToSlash(dir), methods: map[string]int{}}
			byPath[dir] = r
		}
		return r.add(path)
	})
	rooms := make([]*room, 0, len(byPath))
	for _, r := range byPath {
		rooms = append(rooms, r)
	}
	slices.SortFunc(rooms, func(a, b *room) int { return cmp.Compare(a.path, b.path) })
	return rooms, err
}

// add counts one file.
func (r *room) add(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	r.files++
	r.lines += bytes.Count(text, []byte("\n"))
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				r.methods[receiver(d.Recv.List[0].Type)]++
			} else if d.Name.IsExported() {
				r.exported++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					r.export(s.Name)
				case *ast.ValueSpec:
					r.export(s.Names...)
				}
			}
		}
	}
	return nil
}

func (r *room) export(names ...*ast.Ident) {
	for _, n := range names {
		if n.IsExported() {
			r.exported++
		}
	}
}

// receiver is the name of a method's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

func show(rooms []*room) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "package\tfiles\tlines\texported\tmost methods")
	total := room{path: fmt.Sprintf("%d packages", len(rooms))}
	for _, r := range rooms {
		largest := ""
		for name, n := range r.methods {
			if most := r.methods[largest]; n > most || n == most && name < largest {
				largest = name
			}
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\n", r.path, r.files, r.lines, r.exported, strings.TrimPrefix(fmt.Sprintf("%s %d", largest, r.methods[largest]), " 0"))
		total.files += r.files
		total.lines += r.lines
		total.exported += r.exported
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t\n", total.path, total.files, total.lines, total.exported)
	w.Flush()
}
