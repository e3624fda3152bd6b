package load

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

// readPlan reads the file at path, or every plan file of the folder at path in
// lexical order, and what they include.
func (l *loader) readPlan(path string) {
	if !lang.IsFolder(path) {
		l.readFile(path, nil)
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		l.unreadable = true
		l.Fail(lang.StartOf(path), "plan-folder", "Cannot read plan folder", "%v", err)
		return
	}
	for _, e := range entries {
		if !e.IsDir() && lang.IsSource(e.Name()) && !strings.HasPrefix(e.Name(), ".") {
			l.readFile(filepath.Join(path, e.Name()), nil)
		}
	}
	if len(l.Order) == 0 && !l.unreadable {
		l.unreadable = true
		l.Fail(lang.StartOf(path), "plan-folder", "No plan in folder",
			"There is no plan file (*.hcl, *.yaml, *.yml) in %q. Name a plan, or a folder that holds one.", path)
	}
	// Merged, everything that several plans share would be a duplicate.
	var plansIn []*hcl.Block
	for _, name := range l.Order {
		if s := l.Sources[name]; s.Body != nil && s.From == nil {
			content, _, _ := s.Body.PartialContent(
				&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "plan", LabelNames: []string{"name"}}}})
			plansIn = append(plansIn, content.Blocks[:min(1, len(content.Blocks))]...)
		}
	}
	if len(plansIn) > 1 {
		l.unreadable = true
		names := plans.Names(plansIn, func(b *hcl.Block) string { return filepath.Base(b.DefRange.Filename) })
		l.Fail(plansIn[1].DefRange, "several-plans", "Several plans in a folder",
			"%s of %q each have a plan block, so there is more than one plan here. Name one: %s or %s.",
			verdict.And(names), path, filepath.Join(path, names[0]), filepath.Join(path, names[1]))
	}
}

// readFile reads one file; from is where it is included.
func (l *loader) readFile(path string, from *hcl.Range) {
	path = filepath.Clean(path)
	for _, known := range l.Order {
		// Each file counts once, however often it is included, by whatever path.
		if known == path || plans.SameFile(known, path) {
			return
		}
	}
	text, diag := lang.ReadSource(path, "plan")
	if diag != nil {
		if from != nil {
			diag.Summary, diag.Extra, diag.Subject = "Cannot include file", lang.Coded("include"), from
		}
		l.unreadable = true
		l.Diags = append(l.Diags, diag)
		return
	}
	l.addSource(path, text, from)
}

func (l *loader) addSource(name string, text []byte, from *hcl.Range) {
	s, diags := lang.Parse(name, text)
	s.From = from
	l.Sources[name], l.Order = s, append(l.Order, name)
	l.Diags = append(l.Diags, diags...)
	if s.Body == nil || lang.BrokenSyntax(diags) {
		l.unreadable = true
		return
	}
	// What it includes is read before anything is known that an expression could refer to.
	content, _, _ := s.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "include"}}})
	a := content.Attributes["include"]
	if a == nil {
		return
	}
	v, diags := a.Expr.Value(nil)
	paths, isList := eval.Elements(a.Expr, v)
	if diags.HasErrors() || !isList {
		l.unreadable = true
		l.Fail(a.Expr.Range(), "include", "Invalid include",
			`include is a list of paths in quotes, such as ["engines.hcl", "../team/protocols.hcl"]. It is read first, so variables and functions cannot be used in it.`)
		return
	}
	for _, e := range paths {
		text, ok := lang.Plain(e.V).(string)
		if !ok || strings.TrimSpace(text) == "" {
			l.unreadable = true
			l.Fail(e.At, "include", "Invalid include",
				`Each element of include is the path of a file, in quotes and relative to this one, such as "engines.hcl".`)
			continue
		}
		path := filepath.FromSlash(text)
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), path)
		}
		l.readFile(path, &e.At)
	}
}

// fileBlocks are the blocks of all files together. Only a file that the user
// named may hold the plan block: included files are there to be shared.
func (l *loader) fileBlocks() (all hcl.Blocks) {
	replaced := l.replaced()
	for _, name := range l.Order {
		s := l.Sources[name]
		content := l.Content(s.Body, fileDoc.Schema(), eval.WholePlan)
		for _, b := range content.Blocks {
			if slices.Contains(replaced, b.Type) && filepath.Base(name) != verdict.Question {
				continue
			}
			if b.Type == "plan" && s.From != nil {
				l.Fail(b.DefRange, "include", "Plan block in an included file",
					"A plan has one plan block, in the file that is applied. Remove it here, so several plans can "+
						"include this file.")
				continue
			}
			all = append(all, b)
		}
	}
	return all
}

// replaced are the types of blocks that a question has in place of the plan's.
func (l *loader) replaced() (types []string) {
	q := l.Sources[filepath.Join(l.plan.Dir, verdict.Question)]
	if l.opts.Question == "" || q == nil {
		return nil
	}
	types = []string{"baseline", "phase"}
	if len(l.Content(q.Body, fileDoc.Schema(), eval.WholePlan).Blocks.OfType("decision")) > 0 {
		types = append(types, "decision")
	}
	return types
}

// readNamed reads a file that the plan names, with at most that many bytes, and returns
// the SHA-256 of its content in hexadecimal. Errors start with the name, to become part
// of a sentence.
func readNamed(p *plans.Plan, name string, most int64) (data []byte, digest string, err error) {
	path := p.Abs(name)
	cannot := func(err error) error {
		if err != nil {
			err = fmt.Errorf("cannot read %s: %w", name, lang.Reason(err))
		}
		return err
	}
	info, err := os.Stat(path) // first, since opening a pipe may block forever
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("%s does not exist: the path is relative to the plan's folder", name)
	case err != nil:
		return nil, "", cannot(err)
	case !info.Mode().IsRegular():
		return nil, "", fmt.Errorf("%s is not a regular file", name)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, "", cannot(err)
	}
	defer file.Close()
	buffer := bytes.NewBuffer(make([]byte, 0, min(info.Size(), most)+bytes.MinRead)) // of all of it, and no more
	_, err = buffer.ReadFrom(io.LimitReader(file, most+1))
	data = buffer.Bytes()
	if err == nil && int64(len(data)) > most {
		return nil, "", fmt.Errorf("%s exceeds the limit of %d MiB: use a smaller file", name, most>>20)
	}
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:]), cannot(err)
}
