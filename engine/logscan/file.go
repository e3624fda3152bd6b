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
	// defaultLogLimit bounds a log that its launcher does not bound otherwise.
	defaultLogLimit = 256 << 20
	// keptTail is how much of the end survives when the middle is dropped: the
	// last thing an engine says is why it died.
	keptTail = 1 << 20
)

// logCutMark is the line in place of the dropped middle of a log, and
// logCutWords what scans know it by.
const (
	logCutWords = "[mxflow] log limit reached: "
	logCutMark  = logCutWords + "about %d bytes were dropped here"
	// logKeptWords follow where the lines after the mark are what was looked for
	// in the middle.
	logKeptWords = ", all but the first and last line of what is looked for"
)

// File is an engine's output. The engine writes straight into the file, in
// append mode; mxflow only looks now and then whether it has grown too large.
type File struct {
	Path  string
	Out   *os.File
	limit int64
	// keep finds the lines that stay when the log is cut; nil keeps none.
	keep *lineKeeper
}

// Open creates the file, readable to its owner alone (engines print tokens
// and prompts), and moves a log that was there to path.old. A limit of zero is
// 256 MiB; the lines of evidence stay where the middle is dropped.
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

// bound drops the middle of a log that has outgrown its limit: the first half
// stays (what was loaded, which back ends were chosen), then comes a mark, then
// the lines of the middle that are evidence, then the end. In append mode whatever
// the engine writes next follows that. What it writes during the cut is lost,
// therefore "about". Between two looks the file may grow past its limit. An error
// leaves the log as it is: a log too large is better than an engine stopped for
// it.
func (l *File) Bound() {
	info, err := l.Out.Stat()
	if err != nil || info.Size() <= l.limit {
		return
	}
	head, size := l.lineBefore(l.limit/2), info.Size()
	end := make([]byte, min(keptTail, l.limit/4))
	from := head
	// Looking through the middle takes a while, in which the log continues growing;
	// what has come to be dropped too is looked at in further rounds.
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

// lineBefore is where the last line before a place ends, so that what is cut there
// leaves no half of a secret; where that is far off, it is far enough before it.
func (l *File) lineBefore(at int64) int64 {
	near := make([]byte, min(at, 64<<10))
	if _, err := l.Out.ReadAt(near, at-int64(len(near))); err != nil {
		return at
	}
	return at - int64(len(near)-max(0, bytes.LastIndexByte(near, '\n')))
}

func (l *File) Close() { _ = l.Out.Close() }

// Sink is a log file for output that comes through mxflow, as that of a
// container does. It is bounded as every log is: past the limit the middle is
// dropped. It may be written to from several goroutines.
type Sink struct {
	mu   sync.Mutex
	log  *File
	size int64
}

// OpenSink opens the log as Open does.
func OpenSink(path string, limit int64, evidence Evidence) (*Sink, error) {
	log, err := Open(path, limit, evidence)
	if err != nil {
		return nil, err
	}
	return &Sink{log: log}, nil
}

// Write keeps the bytes as they are. It never fails: an engine is not to be held
// up by a disk that is full.
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

// Close ends the writing. What comes later is dropped.
func (s *Sink) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.Close()
}

// Evidence are patterns of a log that somebody will look for: their lines stay
// when the middle of a log that has grown too large is dropped.
type Evidence struct {
	// Globs are as in ParseGlob, Expressions RE2.
	Globs, Expressions []string
}

// maxKeptLine bounds one line that is kept, in bytes.
const maxKeptLine = 4 << 10

// lineKeeper finds in a part of a log the first and the last line of each
// pattern. That is bounded whatever the log, shows that a line was there, and
// leaves the last word to the last line; how many there were is lost.
type lineKeeper struct {
	scan  *Scan
	first map[int]keptLine
	last  map[int]keptLine
}

type keptLine struct {
	number int
	text   []byte
}

// newLineKeeper is nil where there is nothing to keep. A pattern that does not
// compile is left out: whoever looks for it says what is wrong with it.
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

// read looks at the next bytes that will be dropped.
func (k *lineKeeper) read(r io.Reader) error {
	if k == nil {
		return nil
	}
	_, err := io.Copy(k.scan, r)
	return err
}

// lines are what is to be kept, in the order of the log, each with its \n. The
// keeper begins again.
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
