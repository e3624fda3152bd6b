package logscan

import (
	"bytes"
	"io"
	"os"
)

// tailWindow is how much of a log's end Tail reads at most, in bytes.
const tailWindow = 256 << 10

// Tail is the last lines of a log, oldest first, each safe to print: escape
// sequences are gone, invalid UTF-8 is replaced, a line is cut at 300 bytes.
// Blank lines are left out, and of a line that was redrawn with \r (a progress
// bar) the last state is kept. At most the last 256 KiB are read, whatever the
// size of the file; a file that cannot be read has no lines.
func Tail(path string, lines int) []string {
	if lines <= 0 {
		return nil
	}
	window, whole := readEnd(path)
	var tail []string
	for len(window) > 0 && len(tail) < lines {
		cut := bytes.LastIndexByte(window, '\n')
		if cut < 0 && !whole && len(tail) > 0 {
			break // the window begins inside this line
		}
		if line := Clean(lastDrawn(window[cut+1:])); line != "" {
			tail = append(tail, line)
		}
		window = window[:max(cut, 0)]
	}
	for i, j := 0, len(tail)-1; i < j; i, j = i+1, j-1 {
		tail[i], tail[j] = tail[j], tail[i]
	}
	return tail
}

// readEnd reads the last tailWindow bytes; whole says that this is all of it.
func readEnd(path string) (window []byte, whole bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, true
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, true
	}
	from := max(0, info.Size()-tailWindow)
	window, err = io.ReadAll(io.NewSectionReader(f, from, tailWindow))
	if err != nil {
		return nil, true
	}
	return window, from == 0
}

// lastDrawn is what a terminal would still show of a line redrawn with \r.
func lastDrawn(line []byte) []byte {
	line = bytes.TrimRight(line, "\r")
	return line[bytes.LastIndexByte(line, '\r')+1:]
}
