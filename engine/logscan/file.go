package logscan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mxflow/mxflow/internal/redact"
)

const (
	// defaultLogLimit bounds a log for which its launcher sets no other bound.
	defaultLogLimit = 256 << 20
	// tailLimit is how much of the end survives when the middle is dropped: the
	// last thing an engine says is why it died.
	tailLimit = 1 << 20
)

// cutMark is the line that replaces the dropped middle of a log, and cutWords how
// scans recognise it.
const (
	cutWords = "[mxflow] log limit reached: "
	cutMark  = cutWords + "about %d bytes were dropped here"
	// evidenceWords follow if the lines after the mark are lines of the middle that
	// matched the evidence patterns.
	evidenceWords = ", all but the first and last line of what is looked for"
)

// File is an engine's output. A process writes straight into Out, in append mode, and
// mxflow calls Bound now and then; what comes through mxflow is written by Write.
type File struct {
	Path  string
	Out   *os.File
	limit int64
	// keep finds the lines that stay when the log is cut; nil keeps none.
	keep *lineKeeper

	mu      sync.Mutex
	written int64
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

// Bound drops the middle of a log that has outgrown its limit: the first half stays (what
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
	head := l.lineBefore(l.limit / 2)
	dropped, tail := head, min(tailLimit, l.limit/4)
	// Reading through the middle takes a while, and the log keeps growing meanwhile; what
	// must then be dropped as well is read in further rounds.
	for range 4 {
		to := l.lineBefore(info.Size() - tail)
		if to <= dropped {
			break
		}
		if err := l.keep.read(io.NewSectionReader(l.Out, dropped, to-dropped)); err != nil {
			return
		}
		dropped = to
		if info, err = l.Out.Stat(); err != nil {
			return
		}
	}
	end, err := io.ReadAll(io.NewSectionReader(l.Out, dropped, l.limit/2))
	if err != nil {
		return
	}
	if err := l.Out.Truncate(head); err != nil {
		return
	}
	text := fmt.Appendf(nil, "\n"+cutMark, dropped-head)
	if l.keep != nil {
		text = append(text, evidenceWords...)
	}
	text = append(append(text, '\n'), l.keep.lines()...)
	_, _ = l.Out.Write(append(text, redact.ProcessSecrets().WithoutCutStart(string(end))...))
}

// lineBefore is the end of the last line before a position, so a cut there leaves no
// half of a secret; if that is far off, a position far enough before it.
func (l *File) lineBefore(at int64) int64 {
	near := make([]byte, min(at, 64<<10))
	if _, err := l.Out.ReadAt(near, at-int64(len(near))); err != nil {
		return at
	}
	return at - int64(len(near)-max(0, bytes.LastIndexByte(near, '\n')))
}

// Write adds output that comes through mxflow, such as a container's, unchanged. Several
// goroutines may write. It never fails: a full disk must not hold up an engine.
func (l *File) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, _ := l.Out.Write(p)
	if l.written += int64(n); l.written > l.limit {
		l.Bound()
		if info, err := l.Out.Stat(); err == nil {
			l.written = info.Size()
		}
	}
	return len(p), nil
}

// Close ends the writing. Anything later is dropped.
func (l *File) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.Out.Close()
}

// Evidence are log patterns that will be looked for later: their lines stay when the
// middle of an oversized log is dropped.
type Evidence struct {
	// Globs have the syntax of ParseGlob, Expressions that of RE2.
	Globs, Expressions []string
}

// evidenceLimit bounds a line of evidence, in bytes.
const evidenceLimit = 4 << 10

// lineKeeper finds the first and the last line of each pattern in a part of a log. That
// is bounded whatever the log, shows that a line was there, and leaves the last word to
// the last line; how many there were is lost.
type lineKeeper struct {
	scan        *Scan
	first, last map[int]evidenceLine // by pattern
}

// evidenceLine is a line by its number; redraws of one line share it.
type evidenceLine struct {
	number int
	text   string
}

// newLineKeeper is nil if there is nothing to keep. A pattern that does not compile is
// left out: the scan that looks for it reports the error.
func newLineKeeper(e Evidence) *lineKeeper {
	k := &lineKeeper{scan: &Scan{}, first: map[int]evidenceLine{}, last: map[int]evidenceLine{}}
	for _, g := range e.Globs {
		_ = k.scan.addGlob(g)
	}
	for _, x := range e.Expressions {
		_, _ = k.scan.Add(Expressions{Any: []string{x}})
	}
	if len(k.scan.patterns) == 0 {
		return nil
	}
	k.scan.matched = func(pattern, number int, line []byte) {
		found := evidenceLine{number, redact.ProcessSecrets().Cut(string(line), evidenceLimit)}
		if _, seen := k.first[pattern]; !seen {
			k.first[pattern] = found
		}
		k.last[pattern] = found
	}
	return k
}

// read scans the next bytes that will be dropped.
func (k *lineKeeper) read(r io.Reader) error {
	if k == nil {
		return nil
	}
	return k.scan.Read(r)
}

// lines are the lines to keep, in log order, each with its \n. The keeper starts over.
func (k *lineKeeper) lines() (out []byte) {
	if k == nil {
		return nil
	}
	all := slices.AppendSeq(slices.Collect(maps.Values(k.first)), maps.Values(k.last))
	slices.SortFunc(all, func(a, b evidenceLine) int {
		return cmp.Or(a.number-b.number, strings.Compare(a.text, b.text))
	})
	for _, line := range slices.Compact(all) {
		out = append(append(out, line.text...), '\n')
	}
	clear(k.first)
	clear(k.last)
	return out
}
