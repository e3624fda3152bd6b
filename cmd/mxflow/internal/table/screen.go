package table

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/mxflow/mxflow/internal/shell"
)

// Screen is where tables and sentences are printed.
type Screen struct {
	io.Writer
	// Width is its line width; 0 if there is no terminal to wrap for. Lines is how many
	// it shows at once.
	Width, Lines int
	Colour       bool
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

// On is the same for another writer.
func (s Screen) On(w io.Writer) Screen {
	s.Writer = w
	return s
}

// Table prints columns.
func (s Screen) Table(head []string, rows [][]string) { Draw(s, head, rows, s.Colour, s.Width) }

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
