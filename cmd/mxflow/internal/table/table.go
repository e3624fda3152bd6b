// Package table draws tables and paragraphs for a terminal of some width. It knows the
// width of text and the colours of verdicts, and nothing about the contents.
package table

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/redact"
)

const (
	// MaxColumn keeps sentences readable; longer ones wrap.
	MaxColumn = 96
	// LeastColumn is the minimum width of a column however narrow the terminal: below it,
	// sentences become towers of words.
	LeastColumn = 16
	// shortColumn is the width up to which a column may be broken at every word.
	shortColumn = 24
	// columnGap is the space between columns.
	columnGap = 2
)

// Draw prints columns within a width, or at their full width if that is 0: side by side
// where they fit, else in two tables with the same first column, or if that is too wide for
// it, a line for each cell. Lines break only between words, so a number is
// never cut and keeps its sign, and nothing is left out.
func Draw(w io.Writer, head []string, rows [][]string, colour bool, width int) {
	d := drawing{out: w, renderer: lipgloss.NewRenderer(w), colour: colour}
	// Whoever calls knows whether w is a terminal in the end. The colours are those that
	// every one has.
	d.renderer.SetColorProfile(3) // termenv.Ascii
	if colour {
		d.renderer.SetColorProfile(2) // termenv.ANSI
	}
	t := newColumns(head, rows)
	whole := slices.Clone(t.widths)
	if width == 0 || t.fit(width) {
		d.grid(t, width)
		return
	}
	at := 0
	for used := whole[0]; at+1 < len(whole) && used+columnGap+whole[at+1] <= width; at++ {
		used += columnGap + whole[at+1]
	}
	if at == 0 {
		d.records(t, width)
		return
	}
	part := func(from int) (of [][]string) {
		for _, row := range append([][]string{head}, rows...) {
			if from > 0 {
				of = append(of, append([]string{cell(row, 0)}, row[min(from, len(row)):]...))
			} else {
				of = append(of, row[:min(at+1, len(row))])
			}
		}
		return of
	}
	for i, table := range [][][]string{part(0), part(at + 1)} {
		if i > 0 {
			fmt.Fprintln(w)
		}
		Draw(w, table[0], table[1:], colour, width)
	}
}

// drawing is a table on its way to where it is printed.
type drawing struct {
	out      io.Writer
	renderer *lipgloss.Renderer
	colour   bool
}

// grid prints a line for each row.
func (d *drawing) grid(t *columns, width int) {
	d.row(t, t.head, d.renderer.NewStyle().Bold(d.colour))
	line := 0
	for _, n := range t.widths {
		line += n + columnGap
	}
	if width > 0 {
		line = min(line, width)
	}
	fmt.Fprintln(d.out, strings.Repeat("─", line))
	for _, row := range t.rows {
		d.row(t, row, d.renderer.NewStyle())
	}
}

func (d *drawing) row(t *columns, row []string, style lipgloss.Style) {
	var cells [][]string
	height := 1
	for col := range t.head {
		cells = append(cells, folded(cell(row, col), t.widths[col]))
		height = max(height, len(cells[col]))
	}
	for i := range height {
		line := ""
		for col, of := range cells {
			text := ""
			if i < len(of) {
				text = of[i]
			}
			gap := strings.Repeat(" ", max(0, t.widths[col]-lipgloss.Width(text)))
			text = d.styled(style, cell(row, col), text)
			if t.numbers[col] {
				text, gap = gap+text, ""
			}
			line += text + gap + strings.Repeat(" ", columnGap)
		}
		fmt.Fprintln(d.out, strings.TrimRight(line, " "))
	}
}

// records prints a line for each cell, behind the name of its column.
func (d *drawing) records(t *columns, width int) {
	names := 0
	for _, name := range t.head {
		names = max(names, lipgloss.Width(name))
	}
	for i, row := range t.rows {
		if i > 0 {
			fmt.Fprintln(d.out)
		}
		for col, name := range t.head {
			if cell(row, col) == "" {
				continue
			}
			for _, text := range folded(cell(row, col), max(LeastColumn, width-names-columnGap)) {
				pad := strings.Repeat(" ", names-lipgloss.Width(name)+columnGap)
				line := d.renderer.NewStyle().Bold(d.colour).Render(name) + pad +
					d.styled(d.renderer.NewStyle(), cell(row, col), text)
				fmt.Fprintln(d.out, strings.TrimRight(line, " "))
				name = ""
			}
		}
	}
}

// styled colours a verdict; text is a line of the whole cell.
func (d *drawing) styled(style lipgloss.Style, whole, text string) string {
	if c := Colour(whole); c != "" && d.colour {
		style = style.Foreground(lipgloss.Color(c))
	}
	if text == "" {
		return ""
	}
	return style.Render(text)
}

// Colour is that of a verdict, with what people decided about it; empty for another word.
func Colour(word string) string {
	word, overruled, _ := strings.Cut(word, ", ")
	c := map[string]string{
		"pass": "2", "accepted": "2", "waived": "6", "fail": "1", "invalid": "5", "error": "1", "inconclusive": "3",
		"locked": "8", "not run": "8",
	}[word]
	switch overruled {
	case "":
		return c
	case "waived":
		return "6"
	}
	return ""
}

// columns are a table with how wide each column is drawn.
type columns struct {
	head []string
	rows [][]string
	// least is what a column can be folded to, and widths what it is drawn with.
	least, widths []int
	// numbers are the columns that have nothing else, which are aligned to the right.
	numbers []bool
}

// number is one with its unit, "31.68 tok/s", "+38.2%", "57.9 ± 0.2", "8–16", or the dash of none.
var number = regexp.MustCompile(
	`^(?:[-+~<>]? ?[0-9][0-9.,e+–-]*(?: ± [0-9][0-9.e+-]*)?(?: ?(?:%|×|[A-Za-zµ/]{1,6}))?|[–-])?$`)

func (t *columns) isNumbers(col int) bool {
	any := false
	for _, row := range t.rows {
		text := cell(row, col)
		if !number.MatchString(text) {
			return false
		}
		any = any || strings.ContainsAny(text, "0123456789")
	}
	return any
}

func newColumns(head []string, rows [][]string) *columns {
	t := &columns{head: head, rows: rows}
	for col := range head {
		natural, least := t.drawn(col, MaxColumn), 0
		if natural > shortColumn {
			least = LeastColumn
		}
		t.widths, t.least = append(t.widths, natural), append(t.least, t.drawn(col, least))
		t.numbers = append(t.numbers, t.isNumbers(col))
	}
	return t
}

// drawn is how wide a column comes out whose lines are broken at most characters:
// words are not.
func (t *columns) drawn(col, most int) int {
	n := widest(folded(t.head[col], most))
	for _, row := range t.rows {
		n = max(n, widest(folded(cell(row, col), most)))
	}
	return n
}

// fit makes the columns fit side by side by taking from the widest first. It reports
// whether they do.
func (t *columns) fit(width int) bool {
	for {
		total, most := -columnGap, -1
		for col, w := range t.widths {
			total += w + columnGap
			if w > t.least[col] && (most < 0 || w > t.widths[most]) {
				most = col
			}
		}
		if total <= width {
			return true
		}
		if most < 0 {
			return false
		}
		t.widths[most] = t.drawn(most, t.widths[most]-1)
	}
}

// cell is what stands in a row; a tab would be as wide as the terminal likes. What is
// cut or broken is found by no later look for secrets.
func cell(row []string, col int) string {
	if col < len(row) {
		return foreign.Printable(redact.ProcessSecrets().Text(strings.ReplaceAll(row[col], "\t", "    ")))
	}
	return ""
}

// folded are the lines of a cell, broken between words only: a break after a hyphen
// would also part a minus sign from its number.
func folded(text string, most int) []string {
	var lines []string
	for _, l := range strings.Split(text, "\n") {
		if lipgloss.Width(l) > most {
			lines = append(lines, strings.Split(Wrap(l, most), "\n")...)
		} else {
			lines = append(lines, l)
		}
	}
	return lines
}

func widest(lines []string) int {
	n := 0
	for _, l := range lines {
		n = max(n, lipgloss.Width(l))
	}
	return n
}

// atEnd matches a command line that ends a text, behind what it is for.
var atEnd = regexp.MustCompile(`(?s)[:;] (mxflow [a-z].*)$`)

// Wrap breaks a paragraph at width columns, between words only, and never between a
// number and what makes it one: "-3.0%", "≥ 12", "4.2 ± 0.1". A command line at its end stays whole.
func Wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	text = foreign.Printable(redact.ProcessSecrets().Text(text))
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
		if i > 0 && (strings.HasPrefix(word, "%") || word == "±" && endsNumber(words[i-1]) || relates(words[i-1])) {
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
	case "n", "=", "==", "!=", "<", "<=", ">", ">=", "≤", "≥", "≠", "±", "×", "≈":
		return true
	}
	return false
}

// Fit cuts a line that would wrap: a display that rewrites one line cannot take
// back two.
func Fit(s string, columns int) string {
	s = foreign.Printable(redact.ProcessSecrets().Text(s))
	if columns < 10 || lipgloss.Width(s) <= columns {
		return s
	}
	cut := 0
	for i := range s {
		if lipgloss.Width(s[:i]) >= columns {
			break
		}
		cut = i
	}
	return s[:cut] + "…"
}
