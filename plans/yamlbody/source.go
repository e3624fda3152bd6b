package yamlbody

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// source is the text of a file with the offsets of its lines.
type source struct {
	filename string
	text     string
	lines    []int
}

func newSource(filename string, text []byte) *source {
	s := &source{filename: filename, text: string(text), lines: []int{0}}
	for i := range len(s.text) {
		if s.text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

func (s *source) pos(offset int) hcl.Pos {
	offset = max(0, min(offset, len(s.text)))
	line := sort.SearchInts(s.lines, offset+1)
	return hcl.Pos{Line: line, Column: 1 + utf8.RuneCountInString(s.text[s.lines[line-1]:offset]), Byte: offset}
}

// offset is where a value begins, after its anchor. The YAML parser counts the line that
// drip puts before the text.
func (s *source) offset(line, column int) int {
	if line--; line < 1 || line > len(s.lines) {
		return len(s.text)
	}
	at := s.lines[line-1]
	for ; column > 1 && at < len(s.text) && s.text[at] != '\n'; column-- {
		_, size := utf8.DecodeRuneInString(s.text[at:])
		at += size
	}
	if strings.HasPrefix(s.text[at:], "&") {
		rest := strings.TrimLeftFunc(s.text[at:], func(c rune) bool { return !strings.ContainsRune(" \t\r\n", c) })
		at = len(s.text) - len(strings.TrimLeft(rest, " \t\r\n"))
	}
	return at
}

func (s *source) span(from, to int) hcl.Range {
	return hcl.Range{Filename: s.filename, Start: s.pos(from), End: s.pos(max(from, to))}
}

// line is the range of the text on a line, without white space around it; lines count
// from 1.
func (s *source) line(n int) hcl.Range {
	n = max(1, min(n, len(s.lines)))
	text, _, _ := strings.Cut(s.text[s.lines[n-1]:], "\n")
	from := s.lines[n-1] + len(text) - len(strings.TrimLeft(text, " \t"))
	return s.span(from, s.lines[n-1]+len(strings.TrimRight(text, " \t\r")))
}

// scalar is the place of the scalar that begins at an offset, with its quotes; of one that
// is not written just as it is read, what is on its first line.
func (s *source) scalar(at int, value string, quotes int) hcl.Range {
	if s.asWritten(at+quotes, value) {
		return s.span(at, at+len(value)+2*quotes)
	}
	line, _, _ := strings.Cut(s.text[at:], "\n")
	return s.span(at, at+len(strings.TrimRight(line, " \r")))
}

// asWritten reports whether the file has a text at an offset just as it is.
func (s *source) asWritten(at int, text string) bool {
	return at <= len(s.text) && strings.HasPrefix(s.text[at:], text) && !strings.Contains(text, "\n")
}
