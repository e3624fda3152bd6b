package yamlbody

import (
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"gopkg.in/yaml.v3"
)

var (
	parserLine    = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// drip gives a parser one byte at a time, and so knows how far it has read.
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

// syntaxError explains an error of the YAML parser, with its place and the remedy. The
// parser names a line at best, often that of the construct around the mistake; how far it
// had read tells more. Errors of yaml.v3 are sentences without a code: the usual mistakes
// must be recognised by their wording, and any other wording is quoted unchanged.
func (s *source) syntaxError(err error) *hcl.Diagnostic {
	d := &drip{text: s.text}
	_ = decode(yaml.NewDecoder(d), &yaml.Node{})
	at := max(0, min(d.read, len(s.text))-overread)
	line := s.pos(at).Line
	message := parserLine.ReplaceAllString(err.Error(), "")
	switch {
	case strings.Contains(message, "exceeded max depth"):
		return problem(s.span(at, at+1), "nested-too-deeply", "Nested too deep", "Lists and mappings may be nested up to %d deep. Split this up.", maxNesting)
	case strings.Contains(message, "cannot start any token"):
		from := s.lines[line-1]
		indent := s.text[from : len(s.text)-len(strings.TrimLeft(s.text[from:], " \t"))]
		if tab := strings.IndexByte(indent, '\t'); tab >= 0 {
			return problem(s.span(from+tab, from+len(indent)), "yaml-tab", "Tab in indentation", "YAML is indented with spaces only. Replace the tab.")
		}
		return problem(s.span(at, at+1), "invalid-yaml", "Value starts with a special character", "A YAML value cannot start with %q. Put the text in quotes.", s.text[at:min(at+1, len(s.text))])
	case strings.Contains(message, "mapping values are not allowed"):
		colon := max(0, strings.LastIndexByte(s.text[:min(at+1, len(s.text))], ':'))
		return problem(s.span(colon, colon+1), "invalid-yaml", "Colon out of place", "A key is not allowed here. If the colon is part of a text, put the text in quotes. Otherwise this line is indented too far, or the line above lacks its colon.")
	case strings.Contains(message, "unexpected end of stream"):
		return problem(s.line(s.contextLine()-1), "yaml-not-closed", "Quotes are not closed", "A text that starts on this line has no closing quotes.")
	case strings.Contains(message, "expected ',' or"):
		return problem(s.line(s.contextLine()), "yaml-not-closed", "Bracket is not closed", "A [ or { on this line is not closed, or its elements are not separated by commas. Inside brackets, put text with brackets or ${ } in quotes.")
	case unknownAnchor.MatchString(message):
		name := unknownAnchor.FindStringSubmatch(message)[1]
		from := max(0, strings.LastIndex(s.text[:d.read], "*"+name))
		return problem(s.span(from, from+1+len(name)), "yaml-alias", "Unknown alias", "A value that starts with * is a YAML alias, but there is no anchor &%s above. If the * is part of a text, put the text in quotes.", name)
	case strings.Contains(message, "expected comment or line break"):
		to := max(0, min(d.read-overread+1, len(s.text)))
		from := s.lines[s.pos(to).Line-1]
		from += max(0, strings.LastIndexAny(s.text[from:to], "|>"))
		return problem(s.span(from, from+1), "invalid-yaml", "Text must start on the next line", "A value that starts with | or > is a text on the lines below. If the character is part of the text, as in a comparison, put the text in quotes.")
	}
	return problem(s.line(line), "invalid-yaml", "Invalid YAML", "The YAML parser says: %s. It was reading this line, or one just above: check indentation, and put text with special characters in quotes.", strings.TrimSuffix(message, "."))
}

// contextLine is the first line of the construct that the parser was reading. The
// parser's own number is right only if something is above, so the text is read again one
// line lower. Its scanner counts one line more than its parser.
func (s *source) contextLine() int {
	err := decode(yaml.NewDecoder(strings.NewReader("\n"+s.text)), &yaml.Node{})
	if err == nil {
		return 1
	}
	m := parserLine.FindStringSubmatch(err.Error())
	n, _ := strconv.Atoi(m[1])
	return max(1, n)
}
