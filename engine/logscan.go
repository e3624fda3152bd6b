package engine

import (
	"bytes"
	"io"
	"os"
)

// maxScanLine is how much of one line is searched, in bytes; what a line has
// beyond is skipped. Real log lines stay far below; the limit bounds memory
// against an engine that prints without ever ending a line.
const maxScanLine = 1 << 20

// Match is where a pattern was seen in a log.
type Match struct {
	// Count is how many lines matched, each redraw of a progress line (\r)
	// counting as one.
	Count int
	// FirstLine is the first of them, safe to print and cut at 300 bytes.
	FirstLine string
	// LineNo is its line number as an editor shows it, from 1.
	LineNo int
}

// LogScan looks for many patterns in the lines of a log in one pass, as a
// stream: memory is bounded whatever the log. Terminal escapes are removed
// before matching.
type LogScan struct {
	patterns []string
	globs    []Glob
	matches  []Match
	lines    int
	buf      []byte // scratch for a line without escapes
	folded   []byte // scratch for the line in lower case
}

// NewLogScan compiles the patterns; see Glob for what they mean.
func NewLogScan(patterns []string) (*LogScan, error) {
	s := &LogScan{patterns: patterns, matches: make([]Match, len(patterns))}
	for _, p := range patterns {
		g, err := ParseGlob(p)
		if err != nil {
			return nil, err
		}
		s.globs = append(s.globs, g)
	}
	return s, nil
}

// ScanLog looks for the patterns in the log at path. The map holds those that
// were seen, under the pattern as given; lines is how many lines the log has.
// Errors are a pattern without text and a file that cannot be read.
func ScanLog(path string, patterns []string) (seen map[string]Match, lines int, err error) {
	s, err := NewLogScan(patterns)
	if err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if err := s.Read(f); err != nil {
		return nil, 0, err
	}
	return s.Seen(), s.Lines(), nil
}

// Seen are the patterns that matched so far.
func (s *LogScan) Seen() map[string]Match {
	seen := make(map[string]Match)
	for i, m := range s.matches {
		if m.Count > 0 {
			seen[s.patterns[i]] = m
		}
	}
	return seen
}

// Lines is how many lines were read; a last one without its \n counts.
func (s *LogScan) Lines() int { return s.lines }

// Read scans r to its end.
func (s *LogScan) Read(r io.Reader) error {
	buf := make([]byte, maxScanLine)
	have, skipping := 0, false // skipping: inside the rest of a cut line
	for {
		n, err := r.Read(buf[have:])
		have += n
		rest := buf[:have]
		for {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				break
			}
			if !skipping {
				s.line(rest[:end])
			}
			skipping = false
			rest = rest[end+1:]
		}
		if len(rest) == len(buf) || err != nil {
			if !skipping && len(rest) > 0 {
				s.line(rest)
			}
			skipping = true
			rest = rest[:0]
		}
		have = copy(buf, rest)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// line takes one line without its \n.
func (s *LogScan) line(line []byte) {
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

func (s *LogScan) match(line []byte) {
	if bytes.IndexByte(line, 0x1b) >= 0 {
		s.buf = stripANSI(s.buf[:0], line)
		line = s.buf
	}
	s.folded = fold(s.folded[:0], line)
	for i, g := range s.globs {
		if !g.matchFolded(s.folded) {
			continue
		}
		m := &s.matches[i]
		if m.Count++; m.Count == 1 {
			m.FirstLine, m.LineNo = cleanLine(line), s.lines
		}
	}
}
