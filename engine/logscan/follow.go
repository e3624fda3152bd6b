package logscan

import (
	"bytes"
	"io"
	"os"

	"github.com/mxflow/mxflow/plans/redact"
)

// Follower reads what is added to a log, for people who wait for an engine.
type Follower struct {
	Path string
	// at is the start of the first line that had not ended.
	at int64
}

// Lines are those added to the log since the last call, each cleaned by Clean and without
// blank ones; of a line redrawn with \r (a progress bar) the last state. A last line that
// has not ended is included, and comes again. If much was added at once, only its end is
// read, as in Tail.
func (f *Follower) Lines() (lines []string) {
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
	if _, rest, ended := bytes.Cut(text, []byte{'\n'}); skipped && ended {
		from, text = from+int64(len(text)-len(rest)), rest
	}
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte{'\n'})
		shown := Clean(lastDrawn(line))
		if ended {
			from += int64(len(text) - len(rest))
		} else {
			shown = redact.Known().Finished(shown)
		}
		if shown != "" {
			lines = append(lines, shown)
		}
		text = rest
	}
	f.at = from
	return lines
}
