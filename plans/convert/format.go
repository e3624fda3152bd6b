package convert

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/plans/lang"
)

// Format lays a plan file, or a file of variables, out in the one way that all
// plans have. What the text means does not change. Text with syntax errors is
// not touched: the result is then nil, and the diagnostics say where.
func Format(filename string, src []byte) ([]byte, *lang.Findings) {
	if lang.IsYAML(filename) {
		return formatYAML(filename, src)
	}
	return formatHCL(filename, src)
}

// formatHCL looks for syntax errors while it formats, so that refusing broken
// text takes no time of its own.
func formatHCL(filename string, src []byte) ([]byte, *lang.Findings) {
	if len(bytes.TrimSpace(src)) == 0 {
		return src, nil // an empty file of variables is none's mistake
	}
	if !shallow(src) {
		if _, diag := lang.CheckSource(filename, src); diag != nil {
			return nil, problems(filename, src, diag)
		}
	}
	formatted := make(chan []byte, 1)
	go func() { formatted <- hclwrite.Format(src) }()
	_, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	out := <-formatted
	if lang.BrokenSyntax(diags) {
		return nil, unread(filename, src, diags)
	}
	return out, nil
}

// shallow tells text that can drive neither parser nor formatter to excess, by
// counting alone: nesting is at most the number of characters that nest, and
// what the formatter adds to a line at most twice that. All plans but the very
// largest are shallow, and need no look at their tokens first.
func shallow(src []byte) bool {
	const most, mostAdded = 50_000, 100_000_000
	nesting := 0
	for _, c := range src {
		switch c {
		case '(', '[', '{', '!', '-', '?':
			nesting++
		}
	}
	return len(src) <= lang.MaxSource && nesting <= most && nesting*bytes.Count(src, []byte("\n")) <= mostAdded
}

// unread is problems of text that cannot be parsed.
func unread(filename string, src []byte, diags hcl.Diagnostics) *lang.Findings {
	if other := lang.OtherSyntax(filename, src); other != nil {
		return problems(filename, src, other)
	}
	return problems(filename, src, diags...)
}

// problems are Findings of one text.
func problems(filename string, src []byte, diags ...*hcl.Diagnostic) *lang.Findings {
	return &lang.Findings{Diagnostics: diags, Files: map[string]*hcl.File{filename: {Bytes: src}}}
}

// blankMark stands for an empty line while a file passes through the YAML
// package, which keeps comments but not the lines between them.
const blankMark = "#mxflow:blank"

// formatYAML writes the document as the YAML package does, two spaces deep,
// with its comments and empty lines. Whatever comes out is read again, and
// given up where it is not the same document.
func formatYAML(filename string, src []byte) ([]byte, *lang.Findings) {
	s := &lang.Source{Name: filename, Text: src}
	if diag := lang.CheckText(filename, src); diag != nil {
		return nil, problems(filename, src, diag)
	}
	if _, diags := s.ParseTree(); diags.HasErrors() {
		return nil, unread(filename, src, diags)
	}
	src = s.Text
	doc, err := oneDocument(src)
	if err != nil || doc == nil {
		return src, nil // the reader above has seen to both
	}
	// An empty line inside a text that goes over several lines is part of it:
	// where keeping empty lines changes the text, they are given up.
	for _, prepare := range []func([]byte) []byte{markBlanks, func(text []byte) []byte { return text }} {
		if out, ok := settledYAML(src, doc, prepare); ok {
			return out, nil
		}
	}
	return nil, problems(filename, src, &hcl.Diagnostic{
		Severity: hcl.DiagError, Extra: lang.Coded("cannot-convert"), Summary: "Cannot format this YAML",
		Detail:  "Formatting would change the meaning of the file, so it was left unchanged.",
		Subject: lang.StartOf(filename).Ptr(),
	})
}

// settledYAML writes text again until that changes nothing any more: comments in
// odd places move once or twice before they have found theirs.
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

// oneDocument reads a file that holds one document; nil where it holds none.
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

// reencode writes src again, and reports whether it still says what want says.
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

// markBlanks puts a comment in the place of the first of each run of empty
// lines.
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

// indentOf is the white space before the next line that has text: a comment
// there belongs to it.
func indentOf(lines []string) string {
	for _, line := range lines {
		if text := strings.TrimLeft(line, " "); strings.TrimSpace(text) != "" {
			return line[:len(line)-len(text)]
		}
	}
	return ""
}

var blankLines = regexp.MustCompile(`(?m)^[ ]*` + blankMark + `$\n?`)

// unmarkBlanks makes the marks empty lines again, one at most in a row and none
// at the ends.
func unmarkBlanks(out []byte) []byte {
	text := blankLines.ReplaceAllString(string(out), "\n")
	for strings.Contains(text, "\n\n\n") {
		text = strings.ReplaceAll(text, "\n\n\n", "\n\n")
	}
	return []byte(strings.Trim(text, "\n") + "\n")
}
