package mxflow

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// goFiles calls f with each of the project's Go files, parsed with its comments.
func goFiles(t *testing.T, f func(name, text string, set *token.FileSet, file *ast.File)) {
	must.Do(t, filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" {
			return err
		}
		text, set := must.Read(t, name), token.NewFileSet()
		f(name, text, set, must.Get(parser.ParseFile(set, name, text, parser.ParseComments))(t))
		return nil
	}))
}

// TestLines: a line of Go has at most 120 columns, a tab being four, without what raw
// strings quote on it.
func TestLines(t *testing.T) {
	goFiles(t, func(name, text string, set *token.FileSet, file *ast.File) {
		var quoted []*ast.BasicLit
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, is := n.(*ast.BasicLit); is && lit.Value[0] == '`' {
				quoted = append(quoted, lit)
			}
			return true
		})
		for _, lit := range slices.Backward(quoted) {
			from, to := set.Position(lit.Pos()).Offset, set.Position(lit.End()).Offset
			text = text[:from] + strings.Repeat("\n", strings.Count(text[from:to], "\n")) + text[to:]
		}
		for i, line := range strings.Split(text, "\n") {
			if wide := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); wide > 120 {
				t.Errorf("%s:%d has %d columns, and more than 120 are not read: break it", name, i+1, wide)
			}
		}
	})
}

// TestDocCommentsBeginWithTheName: the first word of a comment on a function or a type is its
// name, behind an article or none, so a comment does not survive a change of the name.
func TestDocCommentsBeginWithTheName(t *testing.T) {
	goFiles(t, func(name, _ string, set *token.FileSet, file *ast.File) {
		check := func(of *ast.Ident, doc *ast.CommentGroup) {
			words := strings.Fields(doc.Text())
			if len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
				words = words[1:]
			}
			if len(words) > 0 && strings.TrimRight(words[0], ",:.'s") != strings.TrimRight(of.Name, "s") {
				t.Errorf("%s: the comment on %s begins with %q", set.Position(of.Pos()), of.Name, words[0])
			}
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if !strings.HasSuffix(name, "_test.go") && d.Name.Name != "init" {
					check(d.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, is := spec.(*ast.TypeSpec); is && s.Doc != nil {
						check(s.Name, s.Doc)
					} else if is && len(d.Specs) == 1 {
						check(s.Name, d.Doc)
					}
				}
			}
		}
	})
}
