// Package logscan handles logs as bytes: it finds many patterns in one pass, makes the
// last lines safe to print, and keeps files bounded while an engine writes. Package kinds
// knows what a line means.
package logscan

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/mxflow/mxflow/internal/foreign"
)

// maxScanLine is how much of one line is searched, in bytes; the rest of a line is
// skipped. Real log lines stay far below; the limit bounds memory against an engine that
// prints without ever ending a line.
const maxScanLine = 1 << 20

// eachLine calls a function with every line of a log without its terminal escapes, and the
// number of the line as an editor shows it, from 1. Each redraw of a progress line (\r) is
// a line by itself with the same number. It returns how many lines there are; a last one
// without its \n counts.
func eachLine(log io.Reader, do func(number int, line []byte)) (lines int, err error) {
	in := bufio.NewReaderSize(log, maxScanLine)
	var plain []byte
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			lines++
			for drawn := range bytes.SplitSeq(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}) {
				if len(drawn) == 0 {
					continue
				}
				if bytes.IndexByte(drawn, 0x1b) >= 0 {
					plain = foreign.StripANSI(plain[:0], drawn)
					drawn = plain
				}
				do(lines, drawn)
			}
		}
		for err == bufio.ErrBufferFull {
			_, err = in.ReadSlice('\n')
		}
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
	}
}

// Scan looks for many patterns in the lines of a log in one pass, as a stream: memory is
// bounded whatever the log. Every pattern is tried on every line.
type Scan struct {
	patterns []pattern
	matches  []Match     // by number of the glob
	found    []lastMatch // by number of the expression
	unless   []Glob
	// after is the last line before a request went to the log's writer, and chosen are
	// the lines up to there that count all the same; see Uses.
	after  int
	chosen []*regexp.Regexp
	// matched is called with every line that a pattern matches, unless it is nil.
	matched func(pattern, number int, line []byte)

	lines       int
	cut         bool
	hasEvidence bool
}

// New compiles the globs; see Glob for their syntax.
func New(globs []string) (*Scan, error) {
	s := &Scan{}
	for _, p := range globs {
		if err := s.addGlob(p); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Unless skips lines that match both a glob of the scan and one of these. A glob without
// text skips none.
func (s *Scan) Unless(globs []string) {
	for _, text := range globs {
		if g, err := ParseGlob(text); err == nil {
			s.unless = append(s.unless, g)
		}
	}
}

// Uses sets which lines show that something was used: those behind the line after, and of
// those up to there the ones that an expression matches. Without it, all do.
func (s *Scan) Uses(after int, chosen []string) error {
	s.after = after
	for _, text := range chosen {
		re, err := regexp.Compile(text)
		if err != nil {
			return fmt.Errorf("log expression %q: %w", text, err)
		}
		s.chosen = append(s.chosen, re)
	}
	return nil
}

// Lines is how many lines were read; a last one without its \n counts.
func (s *Scan) Lines() int { return s.lines }

// Cut reports whether lines are missing from the log: its middle was dropped, so what was
// not seen may have been there all the same.
func (s *Scan) Cut() bool { return s.cut }

// HasEvidence reports whether the first and last line of each pattern survived in the missing
// part: then what was not seen was not there, except at the moment of the cut, and what
// was seen last was the last. How often it occurred is not known.
func (s *Scan) HasEvidence() bool { return s.hasEvidence }

func (s *Scan) File(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.Read(f)
}

// Read scans r to its end; the next Read continues behind it.
func (s *Scan) Read(r io.Reader) error {
	before := s.lines
	lines, err := eachLine(r, func(number int, line []byte) { s.match(before+number, line) })
	s.lines += lines
	return err
}

// Match is where a glob was seen in a log.
type Match struct {
	// Count is how many lines matched, each redraw of a progress line (\r)
	// counting as one.
	Count int
	// FirstLine is the first of them, safe to print and cut at 300 bytes.
	FirstLine string
	// LineNo is its line number as an editor shows it, from 1.
	LineNo int
	// Used is how many of them show a use (see Uses). UsedLine and UsedNo are the first
	// of those; UsedNo is 0 if none does. Chosen means that an expression made it count.
	Used     int
	UsedLine string
	UsedNo   int
	Chosen   bool
}

type pattern struct {
	name string
	// to is the number of its Match or lastMatch.
	to   int
	glob Glob
	// expr is nil for a glob; group is the number of the group with the value.
	expr  *regexp.Regexp
	group int
}

func (s *Scan) addGlob(text string) error {
	g, err := ParseGlob(text)
	if err != nil {
		return err
	}
	s.patterns = append(s.patterns, pattern{name: text, to: len(s.matches), glob: g})
	s.matches = append(s.matches, Match{})
	return nil
}

// Expressions are RE2 expressions that belong together: on each line they are tried in
// order, and the first that matches counts.
type Expressions struct {
	Any []string
	// First is set if the first line that matches counts, not the last. Anew is an
	// expression for a line that takes back all matches before it; empty if there is none.
	First bool
	Anew  string
	// Each is set if all lines count; see Extract.Values.
	Each bool
}

// Add adds expressions and returns the number under which LastMatch returns their result. The
// error names the invalid expression.
func (s *Scan) Add(e Expressions) (int, error) {
	last := lastMatch{first: e.First, each: e.Each}
	var err error
	if e.Anew != "" {
		if last.anew, err = regexp.Compile(e.Anew); err != nil {
			return 0, fmt.Errorf("log expression %q: %w", e.Anew, err)
		}
	}
	var patterns []pattern
	for _, text := range e.Any {
		re, err := regexp.Compile(text)
		if err != nil {
			return 0, fmt.Errorf("log expression %q: %w", text, err)
		}
		group := re.SubexpIndex("value")
		if group < 0 {
			group = min(1, re.NumSubexp())
		}
		patterns = append(patterns, pattern{name: text, to: len(s.found), expr: re, group: group})
	}
	s.patterns, s.found = append(s.patterns, patterns...), append(s.found, last)
	return len(s.found) - 1, nil
}

// Matches are the globs that have matched so far.
func (s *Scan) Matches() map[string]Match {
	seen := make(map[string]Match)
	for _, p := range s.patterns {
		if p.expr == nil && s.matches[p.to].Count > 0 {
			seen[p.name] = s.matches[p.to]
		}
	}
	return seen
}

// LastMatch is the last result of the expressions of that number; its Count is 0 if no line
// matched.
func (s *Scan) LastMatch(n int) Extract { return s.found[n].extract() }

// match tries all patterns on one line as drawn, in the order in which they were added,
// which is that of the expressions that belong together.
func (s *Scan) match(number int, line []byte) {
	if bytes.HasPrefix(line, []byte(cutWords)) {
		s.cut, s.hasEvidence = true, bytes.Contains(line, []byte(evidenceWords))
	}
	lower := bytes.ToLower(line)
	for n := range s.found {
		if f := &s.found[n]; f.count > 0 && f.anew != nil && f.anew.Match(line) {
			f.count, f.by, f.values = 0, nil, nil
		}
	}
	here := func(g Glob) bool { return g.matchLower(lower) }
	taken := -1 // the last number of expressions that one matched
	for n := range s.patterns {
		p := &s.patterns[n]
		if p.expr != nil {
			if p.to == taken || !s.found[p.to].take(p, line, number) {
				continue
			}
			taken = p.to
		} else if !here(p.glob) || slices.ContainsFunc(s.unless, here) {
			continue
		}
		if s.matched != nil {
			s.matched(n, number, line)
		}
		if p.expr != nil {
			continue
		}
		m := &s.matches[p.to]
		if m.Count++; m.Count == 1 {
			m.FirstLine, m.LineNo = foreign.Clean(line), number
		}
		early := number <= s.after
		if early && !slices.ContainsFunc(s.chosen, func(re *regexp.Regexp) bool { return re.Match(line) }) {
			continue
		}
		if m.Used++; m.Used == 1 {
			m.UsedLine, m.UsedNo, m.Chosen = foreign.Clean(line), number, early
		}
	}
}

// Extract is the last line that one of several expressions matched, or the first.
type Extract struct {
	Count int
	// Value is the group called "value", else the first group; Grouped is false if the
	// expression has none.
	Value   string
	Grouped bool
	// Values are the different values of all lines, as seen first, at most mostValues; nil
	// unless Each is set.
	Values []string
	// Line is the last line that matched, safe to print and cut to 300 bytes around
	// the value, LineNo its number as an editor shows it, from 1.
	Line   string
	LineNo int
	// At and To delimit the value in Line, or the whole match if there is no group; both
	// are 0 if that is not known.
	At, To int
	Whole  bool
}

// mostValues bounds the memory for an engine that prints ever new values.
const mostValues = 16

// lastMatch is an Extract while the log is scanned: the line is kept raw, as far as Clean
// reads, and made safe once.
type lastMatch struct {
	count, number int
	line, value   []byte
	grouped       bool
	by            *pattern
	first, each   bool
	values        []string
	anew          *regexp.Regexp // nil if there is none
}

// take records what a line says, if it matches.
func (f *lastMatch) take(p *pattern, line []byte, number int) bool {
	at := p.expr.FindSubmatchIndex(line)
	if at == nil {
		return false
	}
	if f.count++; f.first && f.count > 1 {
		return true
	}
	f.number, f.grouped, f.by = number, p.group > 0, p
	f.line = append(f.line[:0], line[:min(len(line), foreign.WorkLimit+1)]...)
	f.value = f.value[:0]
	if from, to := at[2*p.group], at[2*p.group+1]; f.grouped && from >= 0 {
		f.value = append(f.value, line[from:min(to, from+foreign.WorkLimit+1)]...)
	}
	if f.each && len(f.values) < mostValues {
		if value := foreign.Clean(f.value); !slices.Contains(f.values, value) {
			f.values = append(f.values, value)
		}
	}
	return true
}

func (f *lastMatch) extract() Extract {
	found := Extract{
		Count: f.count, Value: foreign.Clean(f.value), Grouped: f.grouped, Values: f.values,
		LineNo: f.number,
	}
	if f.by == nil {
		return found
	}
	// What is cut is already clean, so no part of a secret is left.
	line := foreign.CleanTo(f.line, foreign.WorkLimit)
	if at := f.by.expr.FindStringSubmatchIndex(line); at != nil && at[2*f.by.group] >= 0 {
		found.At, found.To = at[2*f.by.group], at[2*f.by.group+1]
	}
	found.Whole = len(line) <= foreign.LineLimit
	found.Line, found.At, found.To = around(line, found.At, found.To)
	return found
}

// around is a line cut to foreign.LineLimit, with the part from at to to and what is around it;
// and the position of that part afterwards.
func around(line string, at, to int) (cut string, from, until int) {
	const ellipsis, width = "…", foreign.LineLimit - 2*len("…")
	if len(line) <= foreign.LineLimit {
		return line, at, to
	}
	start, before := 0, ""
	if to > width {
		start, before = max(0, min(at-width/2, len(line)-width)), ellipsis
	}
	for !utf8.RuneStart(line[start]) {
		start++
	}
	end, after := min(start+width, len(line)), ""
	if end < len(line) {
		after = ellipsis
	}
	for end < len(line) && !utf8.RuneStart(line[end]) {
		end--
	}
	cut = before + line[start:end] + after
	if from, until = at-start+len(before), min(to, end)-start+len(before); from >= until {
		return cut, 0, 0
	}
	return cut, from, until
}
