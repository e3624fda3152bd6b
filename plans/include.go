package plans

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// maxFiles is how many files one plan may be made of.
const maxFiles = 100

// readPlan reads the file at path, or every plan file of the folder at path in
// lexical order, and what they include.
func (l *loader) readPlan(path string) {
	if !isFolder(path) {
		l.readFile(path, nil)
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		l.unreadable = true
		l.fail(startOf(path), "Cannot read plan folder", "%v", err)
		return
	}
	for _, e := range entries {
		if !e.IsDir() && isPlanFile(e.Name()) && !strings.HasPrefix(e.Name(), ".") {
			l.readFile(filepath.Join(path, e.Name()), nil)
		}
	}
	if len(l.order) == 0 && !l.unreadable {
		l.unreadable = true
		l.fail(startOf(path), "No plan in folder", "There is no plan file (*.hcl, *.yaml, *.yml) in %q. Name a plan, or a folder that holds one.", path)
	}
	l.severalPlans(path)
}

// readFile reads one file; from is where it is included.
func (l *loader) readFile(path string, from *hcl.Range) {
	path = filepath.Clean(path)
	if l.haveFile(path) {
		return
	}
	text, diag := readSource(path, "plan")
	if diag != nil {
		if from != nil {
			diag.Summary, diag.Subject = "Cannot include file", from
		}
		l.unreadable = true
		l.diags = append(l.diags, diag)
		return
	}
	l.addSource(path, text, from)
}

// haveFile reports whether a file is part of the plan already, by whatever path:
// each file counts once, however often it is included.
func (l *loader) haveFile(path string) bool {
	info, err := os.Stat(path)
	for _, known := range l.order {
		if known == path {
			return true
		}
		if other, errKnown := os.Stat(known); err == nil && errKnown == nil && os.SameFile(info, other) {
			return true
		}
	}
	return false
}

// addSource parses a file and follows its includes.
func (l *loader) addSource(name string, text []byte, from *hcl.Range) {
	if len(l.order) == maxFiles {
		at := startOf(name)
		if from != nil {
			at = *from
		}
		l.unreadable = true
		l.fail(at, "Too many files", "A plan is made of up to %d files.", maxFiles)
		return
	}
	l.at("the text of "+name, hcl.Range{Filename: name})
	s, diags := parse(name, text)
	s.from = from
	l.sources[name], l.order = s, append(l.order, name)
	l.diags = append(l.diags, diags...)
	if s.body == nil || brokenSyntax(diags) {
		l.unreadable = true
		return
	}
	l.open = append(l.open, name)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	for _, e := range l.includes(s.body) {
		l.include(name, e)
	}
}

// includes are the paths in the include attribute. It is read before anything
// is known that an expression could refer to, so it is plain text.
func (l *loader) includes(body hcl.Body) []element {
	content, _, _ := body.PartialContent(includeSchema)
	a := content.Attributes["include"]
	if a == nil {
		return nil
	}
	v, diags := a.Expr.Value(nil)
	elems, isList := l.elements(a.Expr, v)
	if diags.HasErrors() || !isList {
		l.unreadable = true
		l.fail(a.Expr.Range(), "Invalid include", `include is a list of paths in quotes, such as ["engines.hcl", "../team/protocols.hcl"]. It is read first, so variables and functions cannot be used in it.`)
		return nil
	}
	return elems
}

func (l *loader) include(in string, e element) {
	if e.v.IsNull() || e.v.Type() != cty.String || strings.TrimSpace(e.v.AsString()) == "" {
		l.unreadable = true
		l.fail(e.at, "Invalid include", `Each element of include is the path of a file, in quotes and relative to this one, such as "engines.hcl".`)
		return
	}
	path := filepath.FromSlash(e.v.AsString())
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(in), path)
	}
	if circle := l.circle(path); circle != "" {
		l.unreadable = true
		l.fail(e.at, "Cycle of includes", "A file cannot include itself: %s. Remove this include; each file of a plan sees all blocks of the others anyway.", circle)
		return
	}
	l.readFile(path, &e.at)
}

// circle is the chain of includes that leads from path back to it, empty where
// there is none.
func (l *loader) circle(path string) string {
	info, err := os.Stat(path)
	for i, name := range l.open {
		other, errOpen := os.Stat(name)
		if filepath.Clean(path) == filepath.Clean(name) || err == nil && errOpen == nil && os.SameFile(info, other) {
			return fmt.Sprint(strings.Join(append(append([]string(nil), l.open[i:]...), name), " → "))
		}
	}
	return ""
}

// planBlocks are the blocks of all files together. Only a file that the user
// named may hold the plan block: included files are there to be shared.
func (l *loader) planBlocks() (all hcl.Blocks) {
	for _, name := range l.order {
		s := l.sources[name]
		content := l.content(s.body, rootSchema, "a plan")
		for _, b := range content.Blocks {
			if b.Type == "plan" && s.from != nil {
				l.fail(b.DefRange, "Plan block in an included file", "A plan has one plan block, in the file that is applied. Remove it here, so that several plans can include this file.")
				continue
			}
			all = append(all, b)
		}
	}
	return all
}

var includeSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "include"}}}
