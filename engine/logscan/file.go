package logscan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mxflow/mxflow/plans/redact"
)

const (
	// defaultLogLimit bounds a log for which its launcher sets no other bound.
	defaultLogLimit = 256 << 20
	// keptTail is how much of the end survives when the middle is dropped: the
	// last thing an engine says is why it died.
	keptTail = 1 << 20
)

// logCutMark is the line that replaces the dropped middle of a log, and logCutWords how
// scans recognise it.
const (
	logCutWords = "[mxflow] log limit reached: "
	logCutMark  = logCutWords + "about %d bytes were dropped here"
	// logKeptWords follow if the lines after the mark are those of the middle that
	// matched the evidence patterns.
	logKeptWords = ", all but the first and last line of what is looked for"
)

// File is an engine's output. The engine writes straight into the file, in append mode;
// mxflow only checks now and then whether it has grown too large.
type File struct {
	Path  string
	Out   *os.File
	limit int64
	// keep finds the lines that stay when the log is cut; nil keeps none.
	keep *lineKeeper
}

// Open creates the file, readable only by its owner (engines print tokens and prompts),
// and moves an existing log to path.old. A limit of zero means 256 MiB; the lines of
// evidence stay when the middle is dropped.
func Open(path string, limit int64, evidence Evidence) (*File, error) {
	if path == "" {
		return nil, errors.New("no log file given")
	}
	if limit <= 0 {
		limit = defaultLogLimit
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if err := os.Rename(path, path+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &File{Path: path, Out: f, limit: limit, keep: newLineKeeper(evidence)}, nil
}

// bound drops the middle of a log that has outgrown its limit: the first half stays (what
// was loaded, which back ends were chosen), then comes a mark, then the lines of the
// middle that are evidence, then the end. In append mode whatever the engine writes next
// follows that. What it writes during the cut is lost, hence "about". Between two checks
// the file may grow past its limit. An error leaves the log unchanged: a log that is too
// large is better than an engine stopped for it.
func (l *File) Bound() {
	info, err := l.Out.Stat()
	if err != nil || info.Size() <= l.limit {
		return
	}
	head, size := l.lineBefore(l.limit/2), info.Size()
	end := make([]byte, min(keptTail, l.limit/4))
	from := head
	// Reading through the middle takes a while, and the log keeps growing meanwhile; what
	// must then be dropped as well is read in further rounds.
	for range 4 {
		to := size - int64(len(end))
		if err := l.keep.read(io.NewSectionReader(l.Out, from, to-from)); err != nil {
			return
		}
		if info, err = l.Out.Stat(); err != nil {
			return
		}
		if from = to; info.Size() == size {
			break
		}
		size = info.Size()
	}
	n, err := l.Out.ReadAt(end, from)
	if err != nil {
		return
	}
	dropped := from - head
	if err := l.Out.Truncate(head); err != nil {
		return
	}
	mark := fmt.Appendf(nil, "\n"+logCutMark, dropped)
	if l.keep != nil {
		mark = append(mark, logKeptWords...)
	}
	mark = append(append(mark, '\n'), l.keep.lines()...)
	_, _ = l.Out.Write(append(mark, redact.Known().Begun(string(end[:n]))...))
}

// lineBefore is the end of the last line before a position, so that a cut there leaves no
// half of a secret; if that is far off, a position far enough before it.
func (l *File) lineBefore(at int64) int64 {
	near := make([]byte, min(at, 64<<10))
	if _, err := l.Out.ReadAt(near, at-int64(len(near))); err != nil {
		return at
	}
	return at - int64(len(near)-max(0, bytes.LastIndexByte(near, '\n')))
}

func (l *File) Close() { _ = l.Out.Close() }

// Sink is a log file for output that comes through mxflow, such as a container's. It is
// bounded like every log: past the limit the middle is dropped. Several goroutines may
// write to it.
type Sink struct {
	mu   sync.Mutex
	log  *File
	size int64
}

// OpenSink opens the log like Open.
func OpenSink(path string, limit int64, evidence Evidence) (*Sink, error) {
	log, err := Open(path, limit, evidence)
	if err != nil {
		return nil, err
	}
	return &Sink{log: log}, nil
}

// Write writes the bytes unchanged. It never fails: a full disk must not hold up an
// engine.
func (s *Sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := s.log.Out.Write(p)
	if s.size += int64(n); s.size > s.log.limit {
		s.log.Bound()
		if info, err := s.log.Out.Stat(); err == nil {
			s.size = info.Size()
		}
	}
	return len(p), nil
}

// Path is the file.
func (s *Sink) Path() string { return s.log.Path }

// Close ends the writing. Anything later is dropped.
func (s *Sink) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.Close()
}

// Evidence are log patterns that will be looked for later: their lines stay when the
// middle of an oversized log is dropped.
type Evidence struct {
	// Globs have the syntax of ParseGlob, Expressions that of RE2.
	Globs, Expressions []string
}

// maxKeptLine bounds a kept line, in bytes.
const maxKeptLine = 4 << 10

// lineKeeper finds the first and the last line of each pattern in a part of a log. That
// is bounded whatever the log, shows that a line was there, and leaves the last word to
// the last line; how many there were is lost.
type lineKeeper struct {
	scan  *Scan
	first map[int]keptLine
	last  map[int]keptLine
}

type keptLine struct {
	number int
	text   []byte
}

// newLineKeeper is nil if there is nothing to keep. A pattern that does not compile is
// left out: the scan that looks for it reports the error.
func newLineKeeper(e Evidence) *lineKeeper {
	k := &lineKeeper{first: map[int]keptLine{}, last: map[int]keptLine{}}
	k.scan, _ = New(nil)
	for _, g := range e.Globs {
		_ = k.scan.addGlob(g)
	}
	for _, x := range e.Expressions {
		_, _ = k.scan.Expressions([]string{x})
	}
	if len(k.scan.patterns) == 1 { // the mark of a cut, which every scan looks for
		return nil
	}
	k.scan.matched = func(pattern int, line []byte) {
		if k.scan.patterns[pattern].cut {
			return
		}
		kept := keptLine{k.scan.lines, []byte(redact.Known().Cut(string(line), maxKeptLine))}
		if _, seen := k.first[pattern]; !seen {
			k.first[pattern] = kept
		}
		k.last[pattern] = kept
	}
	return k
}

// read scans the next bytes that will be dropped.
func (k *lineKeeper) read(r io.Reader) error {
	if k == nil {
		return nil
	}
	_, err := io.Copy(k.scan, r)
	return err
}

// lines are the lines to keep, in log order, each with its \n. The keeper starts over.
func (k *lineKeeper) lines() []byte {
	if k == nil {
		return nil
	}
	k.scan.flush()
	byNumber := map[int]map[string]bool{}
	for _, found := range []map[int]keptLine{k.first, k.last} {
		for _, line := range found {
			if byNumber[line.number] == nil {
				byNumber[line.number] = map[string]bool{}
			}
			byNumber[line.number][string(line.text)] = true
		}
	}
	clear(k.first)
	clear(k.last)
	var out bytes.Buffer
	for _, n := range slices.Sorted(maps.Keys(byNumber)) {
		for _, text := range slices.Sorted(maps.Keys(byNumber[n])) {
			out.WriteString(text + "\n")
		}
	}
	return out.Bytes()
}
