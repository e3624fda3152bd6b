package logscan

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	// defaultLogLimit bounds a log that its launcher does not bound otherwise.
	defaultLogLimit = 256 << 20
	// keptTail is how much of the end survives when the middle is dropped: the
	// last thing an engine says is why it died.
	keptTail = 1 << 20
)

// logCutMark is the line that stands where the middle of a log was dropped, and
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
		return nil, errors.New("no log file was named")
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
	head, size := l.limit/2, info.Size()
	end := make([]byte, min(keptTail, l.limit/4))
	from := head
	// Looking through the middle takes a while, in which the log goes on growing;
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
	_, _ = l.Out.Write(append(mark, end[:n]...))
}

func (l *File) Close() { _ = l.Out.Close() }
