package table

import (
	"bytes"
	"io"
	"regexp"
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// Folding is a writer for people: it breaks long lines between words, and aligns the rest
// below the text of the first. A command to copy, a log line and coloured text stay
// unchanged.
type Folding struct {
	To    io.Writer
	Width int
	// inside is set while a line is not at its end.
	inside bool
}

func (f *Folding) Write(p []byte) (int, error) {
	var out bytes.Buffer
	for line := range bytes.Lines(p) {
		text, whole := bytes.CutSuffix(line, []byte("\n"))
		if whole && !f.inside && lipgloss.Width(string(text)) > f.Width {
			line = []byte(fold(string(text), f.Width) + "\n")
		}
		f.inside = !whole
		out.Write(line)
	}
	if _, err := f.To.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// named matches a name followed by a gap and its text, the time of an event, or the start
// of a list item.
var named = regexp.MustCompile(`^ *(?:\[ *[0-9.]+s\] |\S+(?: \S+){0,3}  +|- )`)

// copied matches what somebody may copy, or what somebody else wrote.
var copied = regexp.MustCompile(`^ *(\| |\$ |# |mxflow [a-z]|[A-Z]  )`)

func fold(text string, width int) string {
	if copied.MatchString(text) || strings.Contains(text, "\x1b") {
		return text
	}
	first := len(text) - len(strings.TrimLeft(text, " "))
	first, rest := first, first+len("  ")
	if n := lipgloss.Width(named.FindString(text)); n > 0 && n <= width/2 {
		first, rest = n, n
	}
	head := text
	for i := range text { // the column, in bytes
		if lipgloss.Width(text[:i]) == first {
			head = text[:i]
			break
		}
	}
	lines := strings.Split(Wrap(text[len(head):], max(LeastColumn, min(width-rest, MaxColumn))), "\n")
	return head + strings.Join(lines, "\n"+strings.Repeat(" ", rest))
}
