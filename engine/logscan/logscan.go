// Package logscan knows logs as bytes: what stands in them (many patterns in one
// pass), their last lines made safe to print, and files that stay bounded while
// an engine writes. It does not know what a line means: kinds do.
package logscan

import (
	"bytes"
	"io"
	"os"
)

// maxScanLine is how much of one line is searched, in bytes; what a line has
// beyond is skipped. Real log lines stay far below; the limit bounds memory
// against an engine that prints without ever ending a line.
const maxScanLine = 1 << 20

// scanChunk is how much of a log is read at once: it stays in a core's cache.
const scanChunk = 128 << 10

// Scan looks for many patterns in the lines of a log in one pass, as a
// stream: memory is bounded whatever the log. Terminal escapes are removed
// before matching, and each redraw of a progress line (\r) is a line by itself.
//
// One automaton over a literal of each pattern says which few patterns may match
// a line; only these are tried. So patterns cost next to nothing on the lines
// that have none of their words.
type Scan struct {
	sought []sought
	// always are patterns without a literal, caseless those that a line outside
	// ASCII may match without having its literal.
	always, caseless []int
	trie             *trie
	words            *automaton // nil until the first line
	matches          []Match    // by number of the glob
	found            []finding  // by number of the expression
	unless           []Glob
	// matched is told of every line that a pattern matches, without its escapes;
	// nil asks for nothing.
	matched func(pattern int, line []byte)

	lines    int
	cut      bool
	kept     bool
	pending  []byte // a line that has not ended yet
	skipping bool   // inside the rest of a line that was cut

	mark       []uint64 // by pattern: the last drawn line that made it a candidate
	drawn      uint64   // number of the drawn line
	candidates []int
	buf        []byte // scratch for a line without escapes
	folded     []byte // scratch for the line in lower case
}

// New compiles the globs; see Glob for what they mean.
func New(globs []string) (*Scan, error) {
	s := &Scan{trie: newTrie()}
	// What stands where a log was cut is looked for in every log.
	s.add(sought{cut: true, glob: mustGlob(logCutWords)}, []string{mustGlob(logCutWords).literal()})
	for _, p := range globs {
		if err := s.addGlob(p); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ScanFile looks for the globs in the log at path. The map holds those that were
// seen, under the glob as given; lines is how many lines the log has. Errors are
// a glob without text and a file that cannot be read.
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

// Unless passes over lines that a glob matches and one of these too. A glob
// without text passes over none.
func (s *Scan) Unless(globs []string) {
	for _, text := range globs {
		if g, err := ParseGlob(text); err == nil {
			s.unless = append(s.unless, g)
		}
	}
}

// Lines is how many lines were read; a last one without its \n counts.
func (s *Scan) Lines() int { return s.lines }

// Cut reports whether lines are missing from the log: its middle was dropped, so
// that what was not seen may have been there all the same.
func (s *Scan) Cut() bool { return s.cut }

// Kept reports that of what is missing the first and last line of each pattern
// stayed, so that what was not seen was not there but for the moment of the cut,
// and what was seen last was said last. How often it was said is not known.
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

// Write scans the next part of a log that comes bit by bit. It cannot fail.
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
