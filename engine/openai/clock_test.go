package openai

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A wall clock that is set while a request runs must not change what was
// measured. Times of events are differences of monotonic readings: time.Since of
// the send. Nobody in this module subtracts a sample's Sent, which is a wall clock
// once it was stored.
func TestSentIsNeverSubtracted(t *testing.T) {
	c := serve(t, script(completion("a", ""), end))
	s, err := c.Stream(t.Context(), Request{Prompt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.Sent.String(), "m=") {
		t.Errorf("the send has no monotonic reading: %v", s.Sent)
	}
	files := 0
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		set := token.NewFileSet()
		file, err := goparser.ParseFile(set, path, nil, goparser.SkipObjectResolution)
		if err != nil {
			return nil // the compiler says it better
		}
		files++
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "Sub" && f.Sel.Name != "Since" && f.Sel.Name != "Until" {
				return true
			}
			for _, e := range append(call.Args, f.X) {
				if s, ok := e.(*ast.SelectorExpr); ok && s.Sel.Name == "Sent" {
					t.Errorf("%s: the wall clock of a sample is subtracted", set.Position(call.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || files < 50 {
		t.Errorf("%d files read, %v", files, err)
	}
}
