package table

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// atEnd matches a command line that ends a text, behind what it is for.
var atEnd = regexp.MustCompile(`(?s)[:;] (mxflow [a-z].*)$`)

// Wrap breaks a paragraph at width columns, between words only, and never between a
// number and what makes it one: "-3.0%", "≥ 12", "4.2 ± 0.1". A command line at its end stays whole.
func Wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	text = shown(text)
	var command []string
	if at := atEnd.FindStringSubmatchIndex(text); at != nil {
		text, command = text[:at[2]], []string{text[at[2]:]}
	}
	for _, word := range append(together(strings.Fields(text)), command...) {
		n := lipgloss.Width(word)
		switch {
		case column == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// paragraphColumn is where a paragraph wraps at the latest.
const paragraphColumn = 92

// Paragraph prints a text within a width, its later lines a little further in.
func Paragraph(w io.Writer, indent, text string, width int) {
	const further = "  "
	wrapped := Wrap(text, min(paragraphColumn, width-len(further))-len(indent))
	fmt.Fprintln(w, indent+strings.ReplaceAll(wrapped, "\n", "\n"+indent+further))
}

// together joins the words that no line may end between.
func together(words []string) (out []string) {
	for i, word := range words {
		deviates := word == "±" || word == "+/-"
		if i > 0 && (strings.HasPrefix(word, "%") || deviates && endsNumber(words[i-1]) || relates(words[i-1])) {
			out[len(out)-1] += " " + word
			continue
		}
		out = append(out, word)
	}
	return out
}

func endsNumber(word string) bool { return strings.ContainsAny(word[len(word)-1:], "0123456789%") }

// relates reports whether a word says how the number behind it is meant: ">=", "(<", "±", "n".
func relates(word string) bool {
	switch strings.TrimLeft(word, "([") {
	case "n", "=", "==", "!=", "<", "<=", ">", ">=", "≤", "≥", "≠", "±", "+/-", "×", "≈":
		return true
	}
	return false
}

// Fit cuts a line that would wrap: a display that rewrites one line cannot take
// back two.
func Fit(s string, columns int) string {
	s = shown(s)
	if columns < 10 || lipgloss.Width(s) <= columns {
		return s
	}
	cut := 0
	for i := range s {
		if lipgloss.Width(s[:i])+lipgloss.Width(Plain("…")) > columns {
			break
		}
		cut = i
	}
	return s[:cut] + Plain("…")
}

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
		line = []byte(Plain(string(line)))
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
	if copied.MatchString(text[len(head):]) { // a command behind its name
		return text
	}
	lines := strings.Split(Wrap(text[len(head):], max(LeastColumn, min(width-rest, MaxColumn))), "\n")
	return head + strings.Join(lines, "\n"+strings.Repeat(" ", rest))
}
