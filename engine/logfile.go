package engine

import (
	"errors"
	"fmt"
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

// logCutMark is the line that stands where the middle of a log was dropped.
const logCutMark = "[mxflow] log limit reached: about %d bytes were dropped here\n"

// logFile is an engine's output. The engine writes straight into the file, in
// append mode; mxflow only looks now and then whether it has grown too large.
type logFile struct {
	path  string
	file  *os.File
	limit int64
}

// openLog creates the file, readable to its owner alone (engines print tokens
// and prompts), and moves a log that was there to path.old.
func openLog(path string, limit int64) (*logFile, error) {
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
	return &logFile{path: path, file: f, limit: limit}, nil
}

// bound drops the middle of a log that has outgrown its limit: the first half
// stays (what was loaded, which back ends were chosen), then comes a mark, then
// the end. In append mode whatever the engine writes next follows that. What it
// writes during the cut is lost, therefore "about". Between two looks the file
// may grow past its limit. An error leaves the log as it is: a log too large is
// better than an engine stopped for it.
func (l *logFile) bound() {
	info, err := l.file.Stat()
	if err != nil || info.Size() <= l.limit {
		return
	}
	head := l.limit / 2
	end := make([]byte, min(keptTail, l.limit/4))
	n, err := l.file.ReadAt(end, info.Size()-int64(len(end)))
	if err != nil {
		return
	}
	dropped := info.Size() - head - int64(n)
	if err := l.file.Truncate(head); err != nil {
		return
	}
	mark := fmt.Appendf(nil, "\n"+logCutMark, dropped)
	_, _ = l.file.Write(append(mark, end[:n]...))
}

func (l *logFile) close() { _ = l.file.Close() }
