package logscan

import (
	"bytes"
	"io"
	"os"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/redact"
)

// tailWindow is how much of a log's end is read at most, in bytes.
const tailWindow = 256 << 10

// Tail is the last lines of a log, oldest first, each cleaned by Clean and without blank ones; of
// a line redrawn with \r (a progress bar) the last state. A file that cannot be read has no lines.
func Tail(path string, lines int) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	from := max(0, info.Size()-tailWindow)
	text, err := io.ReadAll(io.NewSectionReader(file, from, tailWindow))
	if err != nil {
		return nil
	}
	begun := from > 0 // inside a line
	if _, rest, ended := bytes.Cut(text, []byte{'\n'}); begun && ended {
		begun, text = false, rest
	}
	var all []string
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte{'\n'})
		line = bytes.TrimRight(line, "\r")
		drawn := string(line[bytes.LastIndexByte(line, '\r')+1:]) // what a terminal would still show
		if begun {
			drawn = redact.ProcessSecrets().WithoutCutStart(drawn)
		}
		shown := foreign.Clean(drawn)
		if !ended { // the engine may be writing it
			shown = redact.ProcessSecrets().WithoutOpenEnd(shown)
		}
		if shown != "" {
			all = append(all, shown)
		}
		text = rest
	}
	return all[max(0, len(all)-max(0, lines)):]
}
