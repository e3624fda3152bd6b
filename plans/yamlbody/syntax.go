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
// had read tells more. Errors of yaml.v3 are sentences without a code: the mistake must
// be recognised by its wording, and any other wording is quoted unchanged.
func (s *source) syntaxError(err error) *hcl.Diagnostic {
	d := &drip{text: s.text}
	_ = decode(yaml.NewDecoder(d), &yaml.Node{})
	at := max(0, min(d.read, len(s.text))-overread)
	message := parserLine.ReplaceAllString(err.Error(), "")
	switch {
	case strings.Contains(message, "exceeded max depth"):
		return problem(s.span(at, at+1), "nested-too-deeply", "Nested too deep", "Lists and mappings may be nested up to %d deep. Split this up.", maxNesting)
	case strings.Contains(message, "cannot start any token"):
		return s.badStart(at)
	case strings.Contains(message, "mapping values are not allowed"):
		colon := strings.LastIndexByte(s.text[:min(at+1, len(s.text))], ':')
		return problem(s.span(max(0, colon), max(0, colon)+1), "invalid-yaml", "Colon out of place", "A key is not allowed here. If the colon is part of a text, put the text in quotes. Otherwise this line is indented too far, or the line above lacks its colon.")
	case strings.Contains(message, "unexpected end of stream"):
		return problem(s.line(s.contextLine(true)), "yaml-not-closed", "Quotes are not closed", "A text that starts on this line has no closing quotes.")
	case strings.Contains(message, "expected ',' or"):
		return s.unclosed()
	case unknownAnchor.MatchString(message):
		name := unknownAnchor.FindStringSubmatch(message)[1]
		from := max(0, strings.LastIndex(s.text[:d.read], "*"+name))
		return problem(s.span(from, from+1+len(name)), "yaml-alias", "Unknown alias", "A value that starts with * is a YAML alias, but there is no anchor &%s above. If the * is part of a text, put the text in quotes.", name)
	case strings.Contains(message, "alphabetic or numeric character"):
		from := max(0, strings.LastIndexAny(s.text[:d.read], "*&"), s.lastOnLine(d.read, "*&"))
		return problem(s.span(from, from+1), "yaml-alias", "Not an alias", "A value that starts with * or & is a YAML alias or anchor. If the character is part of a text, put the text in quotes.")
	case strings.Contains(message, "escape"), strings.Contains(message, "hexdecimal"), strings.Contains(message, "character code"):
		from := max(0, strings.LastIndexByte(s.text[:d.read], '\\'))
		return problem(s.span(from, from+2), "invalid-yaml", "Unknown escape", `In double quotes, a backslash starts an escape. Write \\ for a backslash, or use single quotes.`)
	case strings.Contains(message, "expected comment or line break"):
		from := max(0, s.lastOnLine(d.read-overread+1, "|>"))
		return problem(s.span(from, from+1), "invalid-yaml", "Text must start on the next line", "A value that starts with | or > is a text on the lines below. If the character is part of the text, as in a comparison, put the text in quotes.")
	case strings.Contains(message, "directive"):
		return problem(s.line(s.pos(at).Line), "invalid-yaml", "Directive in plan", "A line that starts with %% is a YAML directive, which plans do not use. If it is part of a text, indent it or put the text in quotes.")
	case strings.Contains(message, "could not find expected ':'"):
		return problem(s.line(s.contextLine(true)), "invalid-yaml", "Line without a colon", "This line is neither a key followed by a colon and a space, nor the rest of a value, which would be indented further than its key.")
	case strings.Contains(message, "expected key"), strings.Contains(message, "expected '-' indicator"):
		return problem(s.line(s.problemLine(message, at)), "invalid-yaml", "Line out of place", "This line does not fit the lines around it. Align the keys of a mapping, or the hyphens of a list, in one column; put nothing after closing quotes or brackets.")
	}
	return problem(s.line(s.pos(at).Line), "invalid-yaml", "Invalid YAML", "The YAML parser says: %s. It was reading this line, or one just above.", strings.TrimSuffix(message, "."))
}

// badStart explains a character that no value can start with.
func (s *source) badStart(at int) *hcl.Diagnostic {
	line := s.pos(at).Line
	from := s.lines[line-1]
	indent := s.text[from : from+len(s.text[from:])-len(strings.TrimLeft(s.text[from:], " \t"))]
	if tab := strings.IndexByte(indent, '\t'); tab >= 0 {
		return problem(s.span(from+tab, from+len(indent)), "yaml-tab", "Tab in indentation", "YAML is indented with spaces only. Replace the tab.")
	}
	if at < len(s.text) && s.text[at] == '\t' {
		return problem(s.span(at, at+1), "yaml-tab", "Tab in indentation", "A tab is not allowed here. Replace it with spaces.")
	}
	return problem(s.span(at, at+1), "invalid-yaml", "Value starts with a special character", "A YAML value cannot start with %q. Put the text in quotes.", s.text[at:min(at+1, len(s.text))])
}

// unclosed explains a list or mapping in brackets that does not continue.
func (s *source) unclosed() *hcl.Diagnostic {
	line := s.contextLine(false)
	text := s.lineText(line)
	if strings.Contains(text, "${") || strings.Contains(text, "%{") {
		return problem(s.line(line), "invalid-yaml", "Brackets in brackets", "Inside [ ] and { }, put a text with ${ } in quotes.")
	}
	return problem(s.line(line), "yaml-not-closed", "Bracket is not closed", "A [ or { on this line is not closed, or its elements are not separated by commas. Inside brackets, put text that contains brackets in quotes.")
}

// contextLine is the first line of the construct that the parser was reading. The
// parser's own number is right only if something is above, so the text is read again one
// line lower. Its scanner counts lines differently from its parser.
func (s *source) contextLine(scanner bool) int {
	err := decode(yaml.NewDecoder(strings.NewReader("\n"+s.text)), &yaml.Node{})
	if err == nil {
		return 1
	}
	m := parserLine.FindStringSubmatch(err.Error())
	if m == nil || m[1] == "" {
		return 1
	}
	n, _ := strconv.Atoi(m[1])
	if scanner {
		n--
	}
	return max(1, n)
}

// problemLine is the first line after which the text can be cut off and still has the
// same mistake: the parser has read beyond it, but not far.
func (s *source) problemLine(message string, at int) int {
	last := s.pos(at).Line
	for n := max(1, last-5); n < last; n++ {
		err := decode(yaml.NewDecoder(strings.NewReader(s.text[:s.lines[n]])), &yaml.Node{})
		if err != nil && strings.HasSuffix(err.Error(), message) {
			return n
		}
	}
	return last
}

// lastOnLine is the last of some characters before an offset, on its line; -1 if there is
// none.
func (s *source) lastOnLine(at int, chars string) int {
	at = max(0, min(at, len(s.text)))
	from := s.lines[s.pos(at).Line-1]
	found := strings.LastIndexAny(s.text[from:at], chars)
	if found < 0 {
		return -1
	}
	return from + found
}
