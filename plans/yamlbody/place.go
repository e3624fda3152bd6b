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

// pos is the position of an offset.
func (s *source) pos(offset int) hcl.Pos {
	offset = max(0, min(offset, len(s.text)))
	line := sort.SearchInts(s.lines, offset+1)
	return hcl.Pos{Line: line, Column: 1 + utf8.RuneCountInString(s.text[s.lines[line-1]:offset]), Byte: offset}
}

// offset is the offset of a line and column as the YAML parser counts them.
func (s *source) offset(line, column int) int {
	if line < 1 || line > len(s.lines) {
		return len(s.text)
	}
	at := s.lines[line-1]
	for ; column > 1 && at < len(s.text) && s.text[at] != '\n'; column-- {
		_, size := utf8.DecodeRuneInString(s.text[at:])
		at += size
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
	from, to := s.lines[n-1], len(s.text)
	if n < len(s.lines) {
		to = s.lines[n] - 1
	}
	text := s.text[from:to]
	from += len(text) - len(strings.TrimLeft(text, " \t"))
	return s.span(from, s.lines[n-1]+len(strings.TrimRight(text, " \t\r")))
}

// skipAnchor is the offset of a value after the anchor at an offset, if there is one.
func (s *source) skipAnchor(at int) int {
	if !strings.HasPrefix(s.text[at:], "&") {
		return at
	}
	rest := strings.TrimLeftFunc(s.text[at:], func(c rune) bool { return !strings.ContainsRune(" \t\r\n", c) })
	return len(s.text) - len(strings.TrimLeft(rest, " \t\r\n"))
}

// scalarRange is the place of the scalar that begins at an offset; of one over several
// lines that is not quoted, its first line.
func (s *source) scalarRange(at int, text string, quoted bool) hcl.Range {
	rest := s.text[at:]
	if quoted && rest != "" {
		for i := 1; i < len(rest); i++ {
			switch {
			case rest[0] == '"' && rest[i] == '\\', rest[0] == '\'' && strings.HasPrefix(rest[i:], "''"):
				i++
			case rest[i] == rest[0]:
				return s.span(at, at+i+1)
			}
		}
	}
	if asWritten(rest, text) {
		return s.span(at, at+len(text))
	}
	line, _, _ := strings.Cut(rest, "\n")
	return s.span(at, at+len(strings.TrimRight(line, " \r")))
}

// closing finds the end of a list or mapping whose last element ends at an offset: after
// its bracket, if it has one.
func (s *source) closing(at int, bracket byte) int {
	for i := at; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == bracket:
			return i + 1
		case c == '#':
			for i < len(s.text) && s.text[i] != '\n' {
				i++
			}
		case !strings.ContainsRune(" \t\r\n,", rune(c)):
			return at
		}
	}
	return at
}
