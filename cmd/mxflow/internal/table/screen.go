package table

import (
	"fmt"
	"io"
	"strings"
)

// Screen is what tables and sentences are printed on.
type Screen struct {
	io.Writer
	// Width is that of its lines; 0 where nobody's terminal would break them. Lines is how
	// many it shows at once.
	Width, Lines int
	Colour       bool
}

// On is the same for another writer.
func (s Screen) On(w io.Writer) Screen {
	s.Writer = w
	return s
}

// Table prints columns, without those that may be spared where not all have room.
func (s Screen) Table(head []string, rows [][]string, spare ...string) {
	Draw(s, head, rows, s.Colour, s.Width, spare...)
}

// Sentence prints text in lines that break between words, the later ones a little further
// in, and as it is where nobody's terminal would break it.
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
