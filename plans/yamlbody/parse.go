package yamlbody

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
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
	d := &drip{text: "\n" + s.text}
	docs, err := documents(yaml.NewDecoder(d))
	switch {
	case len(docs) == 0 && err != nil:
		return nil, hcl.Diagnostics{s.syntaxError(err, d.read-1)}
	case len(docs) == 0 || len(docs[0].Content) == 0:
		return nil,
			hcl.Diagnostics{problem(s.span(0, 0), "plan-empty", "Plan is empty",
				"The file has only comments. A plan starts with: plan: {name: {summary: what it is for}}.")}
	}
	root := docs[0].Content[0]
	if root.Kind == yaml.MappingNode && (len(docs) > 1 || err != nil) {
		second := s.line(1)
		if len(docs) > 1 {
			second = s.line(docs[1].Line - 1)
		}
		return nil,
			hcl.Diagnostics{problem(second, "yaml-shape", "Several documents",
				"A plan is one YAML document; another starts here. Merge them, or put each into its own file.")}
	}
	b := &builder{source: s, guard: guard, built: map[*yaml.Node]*Node{}}
	n := b.build(root, 0)
	if len(b.diags) == 0 && n.Kind != yaml.MappingNode {
		hint := "A colon needs a space after it."
		if n.Kind == yaml.SequenceNode {
			hint = "This is a list: remove the hyphens."
		}
		b.fail(s.line(n.Range.Start.Line), "yaml-shape", "Not a mapping",
			"A plan is a mapping of blocks, such as plan:, engine: and phase:, each at the start of a line. %s", hint)
	}
	if b.diags.HasErrors() {
		return nil, append(b.diags, b.twice...)
	}
	return n, b.twice
}

// documents reads up to two documents, and survives a panic of the YAML parser.
func documents(d *yaml.Decoder) (docs []*yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: the parser failed: %v", p)
		}
	}()
	for len(docs) < 2 {
		doc := &yaml.Node{}
		if err := d.Decode(doc); errors.Is(err, io.EOF) {
			return docs, nil
		} else if err != nil {
			return docs, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// drip gives the parser one byte at a time, and so knows how far it has read. Its text
// begins with an empty line, since the parser's errors on the first one have no number.
type drip struct {
	text string
	read int
}

func (d *drip) Read(p []byte) (int, error) {
	if d.read == len(d.text) {
		return 0, io.EOF
	}
	p[0] = d.text[d.read]
	d.read++
	return 1, nil
}

// overread is how far the YAML scanner reads beyond what it decides on.
const overread = 4

var (
	parserLine    = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
	tabIndent     = regexp.MustCompile(`(?m)^ *\t[ \t]*`)
)

// syntaxError explains an error of the YAML parser, with its place and the remedy. The
// parser names a line at best, often that of the construct around the mistake; how far it
// had read tells more. Errors of yaml.v3 are sentences without a code: the usual mistakes
// must be recognised by their wording, and any other wording is quoted unchanged.
func (s *source) syntaxError(err error, read int) *hcl.Diagnostic {
	at := max(0, min(read, len(s.text))-overread)
	line := s.pos(at).Line
	message := parserLine.ReplaceAllString(err.Error(), "")
	// The first line of the construct that the parser was reading; its scanner counts one more.
	construct, _ := strconv.Atoi(parserLine.FindStringSubmatch(err.Error())[1])
	switch {
	case strings.Contains(message, "exceeded max depth"):
		return problem(s.span(at, at+1), "nested-too-deeply", "Nested too deep",
			"Lists and mappings may be nested up to %d deep. Split this up.", maxNesting)
	case strings.Contains(message, "cannot start any token"), strings.Contains(message, "tab character"):
		// Behind a plain value the scanner has read the value alone, and the tab is on a line below.
		from := s.lines[line-1]
		tab := tabIndent.FindStringIndex(s.text[from:])
		if tab != nil && (tab[0] == 0 || strings.Contains(message, "tab character")) {
			return problem(s.span(from+tab[0], from+tab[1]), "yaml-tab", "Tab in indentation",
				"YAML is indented with spaces only. Replace the tab.")
		}
		return problem(s.span(at, at+1), "invalid-yaml", "Value starts with a special character",
			"A YAML value cannot start with %q. Put the text in quotes.", s.text[at:min(at+1, len(s.text))])
	case strings.Contains(message, "mapping values are not allowed"):
		colon := max(0, strings.LastIndexByte(s.text[:min(at+1, len(s.text))], ':'))
		return problem(s.span(colon, colon+1), "invalid-yaml", "Colon out of place",
			"A key is not allowed here. If the colon is part of a text, put the text in quotes. Otherwise this line "+
				"is indented too far, or the line above lacks its colon.")
	case strings.Contains(message, "unexpected end of stream"):
		return problem(s.line(construct-1), "yaml-not-closed", "Quotes are not closed",
			"A text that starts on this line has no closing quotes.")
	case strings.Contains(message, "expected ',' or"):
		return problem(s.line(construct), "yaml-not-closed", "Bracket is not closed",
			"A [ or { on this line is not closed, or its elements are not separated by commas. Inside brackets, put "+
				"text with brackets or ${ } in quotes.")
	case unknownAnchor.MatchString(message):
		name := unknownAnchor.FindStringSubmatch(message)[1]
		from := max(0, strings.LastIndex(s.text[:min(read, len(s.text))], "*"+name))
		return problem(s.span(from, from+1+len(name)), "yaml-alias", "Unknown alias",
			"A value that starts with * is a YAML alias, but there is no anchor &%s above. If the * is part of a "+
				"text, put the text in quotes.", name)
	case strings.Contains(message, "expected comment or line break"):
		to := min(at+1, len(s.text))
		from := s.lines[s.pos(to).Line-1]
		from += max(0, strings.LastIndexAny(s.text[from:to], "|>"))
		return problem(s.span(from, from+1), "invalid-yaml", "Text must start on the next line",
			"A value that starts with | or > is a text on the lines below. If the character is part of the text, as "+
				"in a comparison, put the text in quotes.")
	}
	return problem(s.line(line), "invalid-yaml", "Invalid YAML",
		"The YAML parser says: %s. It was reading this line, or one just above: check indentation, and put text with "+
			"special characters in quotes.", strings.TrimSuffix(message, "."))
}

// Code is the code of a mistake, as the Extra of its diagnostic.
type Code string

func (c Code) DiagnosticCode() string { return string(c) }

func problem(at hcl.Range, code, summary, format string, args ...any) *hcl.Diagnostic {
	detail := fmt.Sprintf(format, args...)
	return &hcl.Diagnostic{Severity: hcl.DiagError, Extra: Code(code), Summary: summary, Detail: detail, Subject: &at}
}
