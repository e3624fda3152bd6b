// Package logscan handles logs as bytes: what is in them (many patterns in one pass),
// their last lines made safe to print, and files that stay bounded while an engine
// writes. It does not know what a line means: kinds do.
package logscan

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"unicode/utf8"
)

// maxScanLine is how much of one line is searched, in bytes; the rest of a line is
// skipped. Real log lines stay far below; the limit bounds memory against an engine that
// prints without ever ending a line.
const maxScanLine = 1 << 20

// scanChunk is how much of a log is read at once: it fits in a core's cache.
const scanChunk = 128 << 10

// Scan looks for many patterns in the lines of a log in one pass, as a stream: memory is
// bounded whatever the log. Terminal escapes are removed before matching, and each redraw
// of a progress line (\r) is a line by itself. Every pattern is tried on every line.
type Scan struct {
	patterns []pattern
	matches  []Match     // by number of the glob
	found    []lastMatch // by number of the expression
	unless   []Glob
	// after is the last line before a request went to the log's writer, and chosen are
	// the lines up to there that count all the same; see Uses.
	after  int
	chosen []*regexp.Regexp
	// matched is called with every line that a pattern matches, without its escapes, and
	// each with every line, and the same in lower case; either may be nil.
	matched func(pattern int, line []byte)
	each    func(line, folded []byte)

	lines    int
	cut      bool
	kept     bool
	pending  []byte // a line that has not ended yet
	skipping bool   // inside the rest of a line that was cut

	buf    []byte // scratch for a line without escapes
	folded []byte // scratch for the line in lower case
}

// New compiles the globs; see Glob for their syntax.
func New(globs []string) (*Scan, error) {
	s := &Scan{}
	// The marks of a cut log are looked for in every log.
	s.patterns = append(s.patterns, pattern{cut: true, glob: mustGlob(logCutWords)})
	for _, p := range globs {
		if err := s.addGlob(p); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ScanFile looks for the globs in the log at path. The map holds those that were seen,
// under the glob as given; lines is how many lines the log has. Errors are a glob without
// text and a file that cannot be read.
func ScanFile(path string, globs []string) (seen map[string]Match, lines int, err error) {
	s, err := New(globs)
	if err != nil {
		return nil, 0, err
	}
	if err := s.File(path); err != nil {
		return nil, 0, err
	}
	return s.Seen(), s.Lines(), nil
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

// Kept reports whether the first and last line of each pattern survived in the missing
// part: then what was not seen was not there, except at the moment of the cut, and what
// was seen last was the last. How often it occurred is not known.
func (s *Scan) Kept() bool { return s.kept }

// File scans the file at path.
func (s *Scan) File(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.Read(f)
}

// Read scans r to its end.
func (s *Scan) Read(r io.Reader) error {
	buf := make([]byte, scanChunk)
	for {
		n, err := r.Read(buf)
		s.feed(buf[:n])
		if err == io.EOF {
			s.flush()
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Write scans the next part of a log that arrives piece by piece. It cannot fail.
func (s *Scan) Write(p []byte) (int, error) {
	s.feed(p)
	return len(p), nil
}

func (s *Scan) feed(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			s.more(p)
			return
		}
		switch {
		case s.skipping:
			s.skipping = false
		case len(s.pending) > 0:
			s.more(p[:end])
			s.flush()
			s.skipping = false
		default:
			s.whole(p[:min(end, maxScanLine)])
		}
		p = p[end+1:]
	}
}

// more adds to the line that has not ended yet.
func (s *Scan) more(p []byte) {
	if s.skipping {
		return
	}
	s.pending = append(s.pending, p[:min(len(p), maxScanLine-len(s.pending))]...)
	if len(s.pending) == maxScanLine {
		s.flush()
		s.skipping = true
	}
}

// flush takes what there is of the last line as a line.
func (s *Scan) flush() {
	if len(s.pending) > 0 {
		s.whole(s.pending)
		s.pending = s.pending[:0]
	}
}

// whole takes one line without its \n.
func (s *Scan) whole(line []byte) {
	s.lines++
	for {
		drawn, rest, more := bytes.Cut(line, []byte{'\r'})
		if len(drawn) > 0 {
			s.match(drawn)
		}
		if !more {
			return
		}
		line = rest
	}
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

// pattern is one pattern of a scan.
type pattern struct {
	name string
	// to is the number of its Match or Found.
	to   int
	glob Glob
	// expr is nil for a glob; group is the number of the group with the value.
	expr  *regexp.Regexp
	group int
	cut   bool
}

func mustGlob(pattern string) Glob {
	g, err := ParseGlob(pattern)
	if err != nil {
		panic(err) // a constant of this package
	}
	return g
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

// Expressions adds RE2 expressions that belong together and returns the number under
// which Found returns their result. On each line they are tried in order; the first that
// matches counts. The error names the invalid expression.
func (s *Scan) Expressions(exprs []string) (int, error) {
	n := len(s.found)
	for _, text := range exprs {
		re, err := regexp.Compile(text)
		if err != nil {
			return 0, fmt.Errorf("log expression %q: %w", text, err)
		}
		group := re.SubexpIndex("value")
		if group < 0 {
			group = min(1, re.NumSubexp())
		}
		s.patterns = append(s.patterns, pattern{name: text, to: n, expr: re, group: group})
	}
	s.found = append(s.found, lastMatch{})
	return n, nil
}

// Seen are the globs that have matched so far.
func (s *Scan) Seen() map[string]Match {
	seen := make(map[string]Match)
	for _, p := range s.patterns {
		if p.expr == nil && !p.cut && s.matches[p.to].Count > 0 {
			seen[p.name] = s.matches[p.to]
		}
	}
	return seen
}

// Narrow says which of the lines count that the expressions of that number match: the
// first instead of the last, and only those after the last that anew matches, if it is
// not empty.
func (s *Scan) Narrow(n int, first bool, anew string) (err error) {
	s.found[n].first = first
	if anew != "" {
		if s.found[n].anew, err = regexp.Compile(anew); err != nil {
			return fmt.Errorf("log expression %q: %w", anew, err)
		}
	}
	return nil
}

// Found is the last result of the expressions of that number; its Count is 0 if no line
// matched.
func (s *Scan) Found(n int) Found { return s.found[n].found() }

// match tries all patterns on one line as drawn, in the order in which they were added,
// which is that of the expressions that belong together.
func (s *Scan) match(line []byte) {
	if bytes.IndexByte(line, 0x1b) >= 0 {
		s.buf = stripANSI(s.buf[:0], line)
		line = s.buf
	}
	s.folded = fold(s.folded[:0], line)
	for n := range s.found {
		if f := &s.found[n]; f.count > 0 && f.anew != nil && f.anew.Match(line) {
			f.count, f.by = 0, nil
		}
	}
	if s.each != nil {
		s.each(line, s.folded)
	}
	taken := -1 // the last number of expressions that one matched
	for n := range s.patterns {
		p := &s.patterns[n]
		if p.expr != nil {
			if p.to != taken && s.found[p.to].take(p, line, s.lines) {
				taken = p.to
				s.tell(n, line)
			}
			continue
		}
		if !p.glob.matchFolded(s.folded) || slices.ContainsFunc(s.unless, func(g Glob) bool { return g.matchFolded(s.folded) }) {
			continue
		}
		s.tell(n, line)
		if p.cut {
			s.cut, s.kept = true, bytes.Contains(line, []byte(logKeptWords))
			continue
		}
		m := &s.matches[p.to]
		if m.Count++; m.Count == 1 {
			m.FirstLine, m.LineNo = Clean(line), s.lines
		}
		if early := s.lines <= s.after; !early || s.chooses(line) {
			if m.Used++; m.Used == 1 {
				m.UsedLine, m.UsedNo, m.Chosen = Clean(line), s.lines, early
			}
		}
	}
}

func (s *Scan) chooses(line []byte) bool {
	return slices.ContainsFunc(s.chosen, func(re *regexp.Regexp) bool { return re.Match(line) })
}

func (s *Scan) tell(n int, line []byte) {
	if s.matched != nil {
		s.matched(n, line)
	}
}

// Found is the last line that one of several expressions matched, or the first (see
// Narrow).
type Found struct {
	// Count is how many lines matched.
	Count int
	// Value is the group called "value", else the first group; Grouped is false if the
	// expression has none.
	Value   string
	Grouped bool
	// Line is the last line that matched, safe to print and cut to 300 bytes around
	// the value, LineNo its number as an editor shows it, from 1.
	Line   string
	LineNo int
	// At and To delimit the value in Line, or the whole match if there is no group; both
	// are 0 if that is not known.
	At, To int
	// Whole means that Line is the whole line.
	Whole bool
}

// lastMatch is a Found while the log is scanned: the line is kept raw, as far as Clean
// reads, and made safe once.
type lastMatch struct {
	count, number int
	line, value   []byte
	grouped       bool
	by            *pattern
	first         bool           // the first line counts
	anew          *regexp.Regexp // a line that it matches takes all before back; nil: none does
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
	f.line = append(f.line[:0], line[:min(len(line), cleanedBytes+1)]...)
	f.value = f.value[:0]
	if from, to := at[2*p.group], at[2*p.group+1]; f.grouped && from >= 0 {
		f.value = append(f.value, line[from:min(to, from+cleanedBytes+1)]...)
	}
	return true
}

func (f *lastMatch) found() Found {
	found := Found{Count: f.count, Value: Clean(f.value), Grouped: f.grouped, LineNo: f.number}
	if f.by == nil {
		return found
	}
	// What is cut is already clean, so that no part of a secret is left.
	line := CleanTo(f.line, cleanedBytes)
	if at := f.by.expr.FindStringSubmatchIndex(line); at != nil && at[2*f.by.group] >= 0 {
		found.At, found.To = at[2*f.by.group], at[2*f.by.group+1]
	}
	found.Whole = len(line) <= maxLineBytes
	found.Line, found.At, found.To = around(line, found.At, found.To)
	return found
}

// around is a line cut to maxLineBytes, with as much of the part from at to to, and of
// the text before and behind it, as fits; and the position of that part afterwards.
func around(line string, at, to int) (cut string, from, until int) {
	const ellipsis = "…"
	if len(line) <= maxLineBytes {
		return line, at, to
	}
	start := 0
	if to > maxLineBytes*2/3 {
		start = max(0, min(at-maxLineBytes/2, len(line)-maxLineBytes+len(ellipsis)))
	}
	for start > 0 && !utf8.RuneStart(line[start]) {
		start++
	}
	cut = line[start:]
	before := ""
	if start > 0 {
		before = ellipsis
	}
	if most := maxLineBytes - len(before); len(cut) > most {
		end := most - len(ellipsis)
		for !utf8.RuneStart(cut[end]) {
			end--
		}
		cut = cut[:end] + ellipsis
	}
	cut = before + cut
	from, until = at-start+len(before), min(to-start+len(before), len(cut))
	if from >= until {
		return cut, 0, 0
	}
	return cut, from, until
}
