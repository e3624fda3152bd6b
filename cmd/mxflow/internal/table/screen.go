package table

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"golang.org/x/term"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/shell"
)

// WidthOf is the width of the first of some writers that is a terminal. COLUMNS counts only where it
// reports none, because a shell does not update it when a window changes; without it, one that
// reports none has 80 columns, and where there is none text has 100.
func WidthOf(writers ...io.Writer) int {
	columns, usual := 0, 100
	for _, w := range writers {
		if Terminal(w) {
			columns, _, _ = term.GetSize(int(Bare(w).(*os.File).Fd()))
			usual = 80
			break
		}
	}
	return max(LeastColumn, cmp.Or(max(0, columns), environColumns(), usual))
}

func environColumns() int {
	n, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	return max(0, n)
}

// Folds reports whether long lines to a writer are broken: for a person, at a terminal or a pipe
// of which COLUMNS says how wide it is.
func Folds(w io.Writer) bool { return Terminal(w) || environColumns() > 0 }

// Terminal reports whether a writer is one.
func Terminal(w io.Writer) bool {
	f, ok := Bare(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Hiding is a writer that takes secrets out of what is written at once. It is the last
// net: what is structured is cleaned before it becomes text.
type Hiding struct {
	To      io.Writer
	Secrets *redact.Redactor
}

func (h Hiding) Write(p []byte) (int, error) {
	if _, err := h.To.Write(h.Secrets.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Bare is what a writer writes to in the end.
func Bare(w io.Writer) io.Writer {
	for {
		switch inner := w.(type) {
		case Hiding:
			w = inner.To
		case foreign.Writer:
			w = inner.To
		case *Folding:
			w = inner.To
		case ASCII:
			w = inner.To
		default:
			return w
		}
	}
}

// Exact is a writer of the same that changes nothing but secrets: for documents whose every
// byte counts.
func Exact(w io.Writer) io.Writer {
	switch w := w.(type) {
	case Hiding:
		return Hiding{Exact(w.To), w.Secrets}
	case foreign.Writer:
		return Exact(w.To)
	case ASCII:
		return w.To
	case *Folding:
		return Exact(w.To)
	}
	return w
}

// Screen is where tables and sentences are printed.
type Screen struct {
	io.Writer
	// Width is its line width; 0 if there is no terminal to wrap for.
	Width  int
	Colour bool
	// Suggest is a command line to run next, of its words, with what the running command was given;
	// nil where nothing was.
	Suggest func(words ...string) string
}

// Command is a command line to run next.
func (s Screen) Command(words ...string) string {
	if s.Suggest == nil {
		return shell.Line(append([]string{"mxflow"}, words...)...)
	}
	return s.Suggest(words...)
}

// Commands prints command lines, each with what it is for where that has room.
func (s Screen) Commands(list [][2]string) {
	width := 0
	for _, l := range list {
		width = max(width, lipgloss.Width(l[0]))
	}
	for _, l := range list {
		line := fmt.Sprintf("  %-*s  %s", width, l[0], l[1])
		if s.Width > 0 && lipgloss.Width(line) > s.Width {
			line = "  " + l[0]
		}
		fmt.Fprintln(s, line)
	}
}

// Table prints columns.
func (s Screen) Table(head []string, rows [][]string) { Draw(s, head, rows, s.Colour, s.Width) }

// Below prints columns, of which the last has rows beneath the others, each in the whole width, where beside
// them it would be broken in less than belowColumn columns.
func (s Screen) Below(head []string, rows [][]string) {
	last := len(head) - 1
	first, texts, names := make([][]string, len(rows)), make([]string, len(rows)), 0
	for i, row := range rows {
		if first[i] = row[:min(last, len(row))]; len(row) > last {
			texts[i] = row[last]
		}
	}
	var b bytes.Buffer
	Draw(&b, head[:last], first, s.Colour, s.Width)
	lines := strings.SplitAfter(b.String(), "\n")
	for _, line := range lines {
		names = max(names, lipgloss.Width(line))
	}
	room, need := s.Width-names-columnGap, 0
	for _, text := range texts {
		need = max(need, lipgloss.Width(text))
	}
	if s.Width == 0 || need <= room || room >= belowColumn || names > s.Width {
		s.Table(head, rows)
		return
	}
	io.WriteString(s, strings.Join(lines[:2], ""))
	for at, i := 2, 0; i < len(rows); i++ {
		height := 1
		for _, cell := range first[i] {
			height = max(height, strings.Count(cell, "\n")+1)
		}
		text := texts[i]
		if line := strings.TrimSuffix(lines[at], "\n"); height == 1 && lipgloss.Width(text) <= room &&
			!strings.Contains(text, "\n") {
			line += strings.Repeat(" ", names-lipgloss.Width(line)+columnGap) + shown(text)
			lines[at] = strings.TrimRight(line, " ") + "\n"
			text = ""
		}
		io.WriteString(s, strings.Join(lines[at:at+height], ""))
		for line := range strings.Lines(text) {
			Paragraph(s, "  ", strings.TrimSuffix(line, "\n"), s.Width)
		}
		at += height
	}
}

// belowColumn is how wide a column of sentences has to be.
const belowColumn = 48

// Sentence prints text in lines broken between words, the later ones indented further,
// and unchanged if there is no terminal to wrap for.
func (s Screen) Sentence(text string) {
	if s.Width == 0 {
		fmt.Fprintln(s, text)
		return
	}
	for i, line := range strings.Split(text, "\n") {
		indent := ""
		if i > 0 {
			indent = "  "
		}
		Paragraph(s, indent, line, min(MaxColumn, s.Width))
	}
}

// Section prints pairs of a name and its text under a title, without the empty ones.
func (s Screen) Section(title string, pairs [][2]string) {
	width := 0
	for _, p := range pairs {
		if p[1] != "" {
			width = max(width, len(p[0]))
		}
	}
	if width == 0 {
		return
	}
	fmt.Fprintf(s, "\n%s\n", title)
	for _, p := range pairs {
		if p[1] != "" {
			fmt.Fprintf(s, "  %-*s  %s\n", width, p[0],
				strings.ReplaceAll(p[1], "\n", "\n"+strings.Repeat(" ", width+4)))
		}
	}
}

// Rows prints a table with its title, unless it is empty.
func (s Screen) Rows(title string, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(s, "\n%s\n\n", title)
	s.Table(head, rows)
}
