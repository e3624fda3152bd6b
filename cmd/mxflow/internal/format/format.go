// Package format lays out plan files without changing what they mean.
package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/plans/lang"
)

// Plan formats a plan file, or a variable file, in the one way of all plans. The meaning
// of the text does not change. Text with syntax errors is not touched: the result is then
// nil, and the diagnostics say where.
func Plan(filename string, src []byte) ([]byte, *lang.Findings) {
	if !lang.IsYAML(filename) && len(bytes.TrimSpace(src)) == 0 {
		return src, nil // an empty variable file is not a mistake
	}
	s, diags := lang.Parse(filename, src)
	switch {
	case lang.IsYAML(filename) && !diags.HasErrors():
		return formatYAML(filename, s.Text)
	case lang.IsYAML(filename), lang.BrokenSyntax(diags):
		return nil, problems(filename, s.Text, diags)
	}
	return formatHCL(src), nil
}

// formatHCL formats as the HCL package does, which keeps what heredocs hold, but counts the
// brackets of expressions in it as if they were outside: so it is given none of it.
func formatHCL(src []byte) []byte {
	mark := "mxflow_heredoc"
	for bytes.Contains(src, []byte(mark)) {
		mark += "_"
	}
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos) // which was parsed before
	var without []byte
	var back []string
	at, from, depth := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOHeredoc:
			if depth++; depth == 1 {
				from = t.Range.End.Byte
			}
		case hclsyntax.TokenCHeredoc:
			if depth--; depth == 0 {
				own := fmt.Sprintf("%s%d\n", mark, len(back))
				back = append(back, own, string(src[from:t.Range.Start.Byte]))
				without = slices.Concat(without, src[at:from], []byte(own))
				at = t.Range.Start.Byte
			}
		}
	}
	out := hclwrite.Format(append(without, src[at:]...))
	return []byte(strings.NewReplacer(back...).Replace(string(out)))
}

// problems are Findings of one text.
func problems(filename string, src []byte, diags hcl.Diagnostics) *lang.Findings {
	return &lang.Findings{Diagnostics: diags, Files: map[string]*hcl.File{filename: {Bytes: src}}}
}

// blankMark replaces an empty line while a file passes through the YAML package, which
// keeps comments but not empty lines.
const blankMark = "#mxflow:blank"

// formatYAML formats the document as the YAML package does, two spaces deep, with its
// comments and empty lines. The output is parsed again, and discarded if it is not the
// same document.
func formatYAML(filename string, src []byte) ([]byte, *lang.Findings) {
	doc, err := oneDocument(src)
	if err != nil || doc == nil {
		return src, nil // the parser above has reported both
	}
	// An empty line inside a multi-line text is part of it: if keeping empty lines
	// changes the text, they are given up.
	for _, prepare := range []func([]byte) []byte{markBlanks, func(text []byte) []byte { return text }} {
		if out, ok := settledYAML(src, doc, prepare); ok {
			return out, nil
		}
	}
	return nil, problems(filename, src, hcl.Diagnostics{{
		Severity: hcl.DiagError, Extra: lang.Coded("cannot-format"), Summary: "Cannot format this YAML",
		Detail:  "Formatting would change the meaning of the file, so it was left unchanged.",
		Subject: lang.StartOf(filename).Ptr(),
	}})
}

// settledYAML formats text repeatedly until nothing changes any more: comments in odd
// places move once or twice before they settle.
func settledYAML(text []byte, doc *yaml.Node, prepare func([]byte) []byte) ([]byte, bool) {
	const most = 8
	for range most {
		out, ok := reencode(prepare(text), doc)
		if !ok || bytes.Equal(out, text) {
			return out, ok
		}
		text = out
	}
	return nil, false
}

// oneDocument parses a file with one document; nil if it has none.
func oneDocument(src []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
		return &doc, nil
	case err != nil:
		return nil, err
	}
	return nil, errors.New("several documents")
}

// reencode formats src, and reports whether it still means want.
func reencode(src []byte, want *yaml.Node) ([]byte, bool) {
	doc, err := oneDocument(src)
	if err != nil || doc == nil {
		return nil, false
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if enc.Encode(doc) != nil || enc.Close() != nil {
		return nil, false
	}
	out := unmarkBlanks(b.Bytes())
	again, err := oneDocument(out)
	return out, err == nil && again != nil && sameYAML(again, want)
}

// sameYAML compares what two nodes mean.
func sameYAML(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || a.Value != b.Value || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameYAML(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// markBlanks replaces the first of each run of empty lines by a comment.
func markBlanks(src []byte) []byte {
	lines := strings.Split(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n")
	var b strings.Builder
	for i, line := range lines {
		switch {
		case strings.TrimSpace(line) != "":
			b.WriteString(line + "\n")
		case i > 0 && i < len(lines)-1 && strings.TrimSpace(lines[i-1]) != "":
			b.WriteString(indentOf(lines[i+1:]) + blankMark + "\n")
		}
	}
	return []byte(b.String())
}

// indentOf is the indentation of the next line with text: a comment there belongs to it.
func indentOf(lines []string) string {
	for _, line := range lines {
		if text := strings.TrimLeft(line, " "); strings.TrimSpace(text) != "" {
			return line[:len(line)-len(text)]
		}
	}
	return ""
}

var blankLines = regexp.MustCompile(`(?m)^[ ]*` + blankMark + `$\n?`)

// unmarkBlanks turns the marks back into empty lines, at most one in a row and none at
// the ends.
func unmarkBlanks(out []byte) []byte {
	text := blankLines.ReplaceAllString(string(out), "\n")
	for strings.Contains(text, "\n\n\n") {
		text = strings.ReplaceAll(text, "\n\n\n", "\n\n")
	}
	return []byte(strings.Trim(text, "\n") + "\n")
}
