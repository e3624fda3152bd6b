package logscan

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
)

// Match is where a glob was seen in a log.
type Match struct {
	// Count is how many lines matched, each redraw of a progress line (\r)
	// counting as one.
	Count int
	// FirstLine is the first of them, safe to print and cut at 300 bytes.
	FirstLine string
	// LineNo is its line number as an editor shows it, from 1.
	LineNo int
}

// sought is one pattern of a scan.
type sought struct {
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

func (s *Scan) addGlob(pattern string) error {
	g, err := ParseGlob(pattern)
	if err != nil {
		return err
	}
	s.add(sought{name: pattern, to: len(s.matches), glob: g}, []string{g.literal()})
	s.matches = append(s.matches, Match{})
	return nil
}

// Expressions adds RE2 expressions that belong together and returns the number
// under which Found gives what they say. On each line they are tried in order;
// the first that matches counts. The error names the expression that is wrong.
func (s *Scan) Expressions(exprs []string) (int, error) {
	n := len(s.found)
	for _, text := range exprs {
		re, err := regexp.Compile(text)
		if err != nil {
			return 0, fmt.Errorf("log expression %q: %w", text, err)
		}
		literals, caseless, err := literalsOf(text)
		if err != nil {
			return 0, fmt.Errorf("log expression %q: %w", text, err)
		}
		group := re.SubexpIndex("value")
		if group < 0 {
			group = min(1, re.NumSubexp())
		}
		if caseless {
			s.caseless = append(s.caseless, len(s.sought))
		}
		s.add(sought{name: text, to: n, expr: re, group: group}, literals)
	}
	s.found = append(s.found, finding{})
	return n, nil
}

// add must come before the first line is scanned.
func (s *Scan) add(p sought, literals []string) {
	n := len(s.sought)
	s.sought = append(s.sought, p)
	s.mark = append(s.mark, 0)
	fits := len(literals) > 0
	for _, l := range literals {
		fits = fits && s.trie.add(l, n)
	}
	if !fits {
		s.always = append(s.always, n)
	}
}

// Seen are the globs that matched so far.
func (s *Scan) Seen() map[string]Match {
	seen := make(map[string]Match)
	for _, p := range s.sought {
		if p.expr == nil && !p.cut && s.matches[p.to].Count > 0 {
			seen[p.name] = s.matches[p.to]
		}
	}
	return seen
}

// Found is what the expressions of that number said last; its Count is 0 where
// no line matched.
func (s *Scan) Found(n int) Found { return s.found[n].found() }

// match takes one line as it was drawn.
func (s *Scan) match(line []byte) {
	if s.words == nil {
		s.words = s.trie.compile()
	}
	if bytes.IndexByte(line, 0x1b) >= 0 {
		s.buf = stripANSI(s.buf[:0], line)
		line = s.buf
	}
	s.drawn++
	s.candidates, s.folded = s.candidates[:0], s.folded[:0]
	if s.words.find(line, s.candidate) {
		s.outsideASCII(line)
	}
	for _, n := range s.always {
		s.candidate(n)
	}
	if len(s.candidates) > 0 {
		s.try(line)
	}
}

// outsideASCII adds the candidates of a line that only show when it is folded: of
// all letters outside ASCII two have a lower case within it.
func (s *Scan) outsideASCII(line []byte) {
	for _, n := range s.caseless {
		s.candidate(n)
	}
	if bytes.Contains(line, kelvin) || bytes.Contains(line, dottedI) {
		s.folded = fold(s.folded, line)
		s.words.find(s.folded, s.candidate)
	}
}

// The letters outside ASCII whose lower case is within it, as UTF-8.
var (
	kelvin  = []byte("\u212a") // k
	dottedI = []byte("\u0130") // i
)

// candidate notes a pattern that the line may match, once.
func (s *Scan) candidate(n int) {
	if s.mark[n] != s.drawn {
		s.mark[n] = s.drawn
		s.candidates = append(s.candidates, n)
	}
}

// try matches the line with its candidates, in the order in which they were
// added, which is that of the expressions that belong together.
func (s *Scan) try(line []byte) {
	slices.Sort(s.candidates)
	taken := -1 // the last number of expressions that one matched
	for _, n := range s.candidates {
		p := &s.sought[n]
		if p.expr != nil {
			if p.to != taken && s.found[p.to].take(p, line, s.lines) {
				taken = p.to
				s.tell(n, line)
			}
			continue
		}
		if len(s.folded) == 0 {
			s.folded = fold(s.folded, line)
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
	}
}

func (s *Scan) tell(n int, line []byte) {
	if s.matched != nil {
		s.matched(n, line)
	}
}
