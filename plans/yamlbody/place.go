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

// lineText is the text of a line, counted from 1.
func (s *source) lineText(n int) string {
	r := s.line(n)
	return s.text[r.Start.Byte:r.End.Byte]
}

// skipProperties is the offset of a value after the anchor at an offset, if there is
// one.
func (s *source) skipProperties(at int) int {
	if at >= len(s.text) || s.text[at] != '&' {
		return at
	}
	for at < len(s.text) && !strings.ContainsRune(" \t\r\n", rune(s.text[at])) {
		at++
	}
	for at < len(s.text) && strings.ContainsRune(" \t\r\n", rune(s.text[at])) {
		at++
	}
	return at
}

// scalar finds where the scalar that begins at an offset ends.
func (s *source) scalar(at int, text string, style Style) (from, to int) {
	rest := s.text[at:]
	switch {
	case text == "" && style == Plain, rest == "":
		return at, at
	case rest[0] == '"' && style == Quoted:
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				return at, at + i + 1
			}
		}
	case rest[0] == '\'' && style == Quoted:
		for i := 1; i < len(rest); i++ {
			if rest[i] == '\'' {
				if i+1 < len(rest) && rest[i+1] == '\'' {
					i++
					continue
				}
				return at, at + i + 1
			}
		}
	case style == Plain && strings.HasPrefix(rest, text):
		return at, at + len(text)
	}
	if offsets := align(rest, text, style); offsets != nil {
		return at, at + offsets[len(text)]
	}
	end := strings.IndexByte(rest, '\n')
	if end < 0 {
		end = len(rest)
	}
	return at, at + len(strings.TrimRight(rest[:end], " \r"))
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
