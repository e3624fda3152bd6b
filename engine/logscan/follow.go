package logscan

import (
	"bytes"
	"io"
	"os"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/plans/redact"
)

// Follower reads what is added to a log, for people who wait for an engine.
type Follower struct {
	Path string
	// at is the start of the first line that had not ended.
	at int64
}

// tailWindow is how much of a log's end is read at most, in bytes.
const tailWindow = 256 << 10

// Tail is the last lines of a log, oldest first, as those of a Follower; a file that cannot
// be read has no lines.
func Tail(path string, lines int) []string {
	all := (&Follower{Path: path}).read(true)
	return all[max(0, len(all)-max(0, lines)):]
}

// Lines are those added to the log since the last call, each cleaned by Clean and without
// blank ones; of a line redrawn with \r (a progress bar) the last state. A last line that
// has not ended is included, and comes again. If much was added at once, only its end is
// read: the last 256 KiB.
func (f *Follower) Lines() []string { return f.read(false) }

// read is Lines; final is set if the last line does not go on.
func (f *Follower) read(final bool) (lines []string) {
	file, err := os.Open(f.Path)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	from := min(f.at, info.Size()) // its middle may have been dropped
	skipped := info.Size()-from > tailWindow
	if skipped {
		from = info.Size() - tailWindow
	}
	text, err := io.ReadAll(io.NewSectionReader(file, from, tailWindow))
	if err != nil {
		return nil
	}
	begun := false // inside a line
	if skipped {
		_, rest, ended := bytes.Cut(text, []byte{'\n'})
		if begun = !ended; ended {
			from, text = from+int64(len(text)-len(rest)), rest
		}
	}
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte{'\n'})
		line = bytes.TrimRight(line, "\r")
		drawn := string(line[bytes.LastIndexByte(line, '\r')+1:]) // what a terminal would still show
		if begun {
			drawn = redact.Known().WithoutCutStart(drawn)
		}
		shown := foreign.Clean(drawn)
		if ended {
			from += int64(len(text) - len(rest))
		} else if !final {
			shown = redact.Known().WithoutOpenEnd(shown)
		}
		if shown != "" {
			lines = append(lines, shown)
		}
		text = rest
	}
	f.at = from
	return lines
}
