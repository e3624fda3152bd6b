package yamlbody

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"gopkg.in/yaml.v3"
)

// Parse reads one YAML document, which must be a mapping. The text is UTF-8 without a
// byte order mark, and of bounded size. Every text with a template in it passes the guard
// before it is parsed.
//
// The node is nil if the text is not YAML, or not like a plan: the diagnostics then say
// why. Duplicate keys are reported and dropped, and the rest is still returned, since
// they hide nothing else.
//
// The YAML parser keeps its own limit of 10,000 levels, at which its recursion is
// harmless, and stays linear in time on hostile text; aliases are not followed while
// parsing.
func Parse(text []byte, filename string, guard Guard) (*Node, hcl.Diagnostics) {
	s := newSource(filename, text)
	if d := s.unusualBreak(); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	var doc yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err := decode(decoder, &doc)
	switch {
	case errors.Is(err, io.EOF), err == nil && len(doc.Content) == 0:
		return nil, hcl.Diagnostics{problem(s.span(0, 0), "plan-empty", "Plan is empty", "The file has only comments. A plan starts with: plan: {name: {summary: what it is for}}.")}
	case err != nil:
		return nil, hcl.Diagnostics{s.syntaxError(err)}
	}
	var second yaml.Node
	if err := decode(decoder, &second); !errors.Is(err, io.EOF) && doc.Content[0].Kind == yaml.MappingNode {
		return nil, hcl.Diagnostics{problem(s.line(max(1, second.Line)), "yaml-shape", "Several documents", "A plan is one YAML document; another starts here. Merge them, or put each into its own file.")}
	}
	b := &builder{source: s, guard: guard, built: map[*yaml.Node]*Node{}}
	root := b.build(doc.Content[0], 0)
	if len(b.diags) == 0 && root.Kind != Map {
		b.fail(s.line(root.Range.Start.Line), "yaml-shape", "Not a mapping", "%s", s.notMapping(root))
	}
	diags := append(b.diags, b.twice...)
	if b.diags.HasErrors() {
		return nil, diags
	}
	return root, diags
}

// decode is Decode that survives a panic of the YAML parser.
func decode(d *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: the parser failed: %v", p)
		}
	}()
	return d.Decode(into)
}

// unusualBreak finds characters that end a line in YAML but in no editor: line numbers
// would differ.
func (s *source) unusualBreak() *hcl.Diagnostic {
	for i, c := range s.text {
		switch {
		case c == '\r' && !strings.HasPrefix(s.text[i:], "\r\n"):
			return problem(s.span(i, i+1), "invalid-yaml", "Unusual line break", "Carriage return without a line feed. Save the file with Unix or Windows line endings.")
		case c == '\u0085', c == '\u2028', c == '\u2029':
			return problem(s.span(i, i+len(string(c))), "invalid-yaml", "Unusual line break", "The invisible character U+%04X ends a line in YAML. Remove it; in double quotes, write it as \"\\u%04x\".", c, c)
		}
	}
	return nil
}

// notMapping tells what to do about a document that is not a mapping.
func (s *source) notMapping(root *Node) string {
	if root.Kind == List {
		return "A plan is a mapping of blocks, such as plan:, engine: and phase:, each at the start of a line. This is a list: remove the hyphens."
	}
	return "A plan is a mapping of blocks, such as plan:, engine: and phase:, each at the start of a line. A colon needs a space after it."
}

// Code is the code of a mistake, as the Extra of its diagnostic.
type Code string

// DiagnosticCode is the code.
func (c Code) DiagnosticCode() string { return string(c) }

func problem(at hcl.Range, code, summary, format string, args ...any) *hcl.Diagnostic {
	detail := format
	if len(args) > 0 {
		detail = fmt.Sprintf(format, args...)
	}
	return &hcl.Diagnostic{Severity: hcl.DiagError, Extra: Code(code), Summary: summary, Detail: detail, Subject: &at}
}
