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

	"github.com/mxflow/mxflow/cmd/mxflow/internal/inert"
	"github.com/mxflow/mxflow/plans/redact"
)

const (
	// MaxColumn keeps sentences readable; longer ones wrap.
	MaxColumn = 96
	// LeastColumn is the minimum width of a column however narrow the terminal: below it,
	// sentences become towers of words.
	LeastColumn = 24
	// tightColumn is the minimum if there would otherwise be no room beside the others.
	tightColumn = 16
	// columnGap is the space between columns.
	columnGap = 2
)

// Draw prints columns within a width, or at their full width if that is 0. Lines break
// only between words, so a number is never cut and keeps its sign, and nothing is left
// out but columns that may be spared, the last first.
func Draw(w io.Writer, head []string, rows [][]string, colour bool, width int, spare ...string) {
	d := drawing{out: w, renderer: lipgloss.NewRenderer(w), colour: colour}
	// Whoever calls knows whether w is a terminal in the end. The colours are those that
	// every one has.
	d.renderer.SetColorProfile(3) // termenv.Ascii
	if colour {
		d.renderer.SetColorProfile(2) // termenv.ANSI
	}
	t := newColumns(head, rows)
	if width == 0 || t.fit(width, alone) {
		d.grid(t, alone, width)
		return
	}
	for i := len(head) - 1; i > 0; i-- {
		if slices.Contains(spare, head[i]) {
			Draw(w, without(head, i), each(rows, func(row []string) []string { return without(row, i) }), colour, width, spare...)
			return
		}
	}
	if names, at := t.split(width); at > 0 {
		Draw(w, head[:at], each(rows, func(row []string) []string { return row[:min(at, len(row))] }), colour, width)
		fmt.Fprintln(w)
		below := func(row []string) []string { return slices.Concat(row[:min(names, len(row))], row[min(at, len(row)):]) }
		Draw(w, below(head), each(rows, below), colour, width)
		return
	}
	if t.tighten(width) {
		d.grid(t, alone, width)
		return
	}
	for _, apart := range t.byLength() {
		room := width
		if apart == 0 {
			room -= apartIndent
		}
		if t.fit(room, apart) {
			d.grid(t, apart, width)
			return
		}
	}
	d.records(t, width)
}

// split is the column at which a table of quantities goes on below itself, behind the
// names of its rows again, which are the first columns: a number that is broken, or far
// from those it is compared with, reads worse. It is 0 for other tables, and where that is
// no help.
func (t *columns) split(width int) (names, at int) {
	for names < len(t.head) && (names == 0 || !t.quantities(names)) {
		names++
	}
	used := -columnGap
	for col, n := range t.natural {
		if col > names && !t.quantities(col) {
			return 0, 0
		}
		if used += columnGap + n; used > width && at == 0 {
			at = col
		}
	}
	if at <= names {
		return 0, 0
	}
	return names, at
}

// quantities reports whether each line of a column begins with a number, or says how many
// values there are of it.
func (t *columns) quantities(col int) bool {
	for _, row := range t.rows {
		for _, line := range strings.Split(cell(row, col), "\n") {
			if line != "" && !strings.ContainsAny(line[:1], "+-~<>0123456789") && !strings.HasPrefix(line, "–") && !strings.HasPrefix(line, "n ") {
				return false
			}
		}
	}
	return true
}

func each(rows [][]string, of func([]string) []string) (out [][]string) {
	for _, row := range rows {
		out = append(out, of(row))
	}
	return out
}

// without is a row without a column.
func without(row []string, col int) []string {
	if col >= len(row) {
		return row
	}
	return slices.Delete(slices.Clone(row), col, col+1)
}

// drawing is a table on its way to where it is printed.
type drawing struct {
	out      io.Writer
	renderer *lipgloss.Renderer
	colour   bool
}

const (
	// alone is no column: all stand beside each other.
	alone = -1
	// apartIndent is how far in the rest of a row stands below its first line.
	apartIndent = 4
)

// grid prints a line for each row, where all columns but one have room beside each
// other: the first column stands above the others then, any other one below them.
func (d *drawing) grid(t *columns, apart, width int) {
	d.row(t, t.head, apart, width, d.renderer.NewStyle().Bold(d.colour))
	line := 0
	for col := range t.head {
		if col != apart {
			line += t.widths[col] + columnGap
		}
	}
	if width > 0 {
		line = min(line, width)
	}
	fmt.Fprintln(d.out, strings.Repeat("─", line))
	for _, row := range t.rows {
		d.row(t, row, apart, width, d.renderer.NewStyle())
	}
}

func (d *drawing) row(t *columns, row []string, apart, width int, style lipgloss.Style) {
	beside, text := d.beside(t, row, apart, style), cell(row, max(0, apart))
	switch {
	case apart == alone || text == "" && apart > 0:
		d.lines("", beside)
	case apart == 0:
		d.lines("", d.each(style, text, folded(text, width)))
		d.lines(strings.Repeat(" ", apartIndent), beside)
	default:
		d.lines("", beside)
		d.lines(strings.Repeat(" ", apartIndent), d.each(style, text, folded(text, max(LeastColumn, width-apartIndent))))
	}
}

// beside are the lines of a row without the column that stands apart.
func (d *drawing) beside(t *columns, row []string, apart int, style lipgloss.Style) (lines []string) {
	var cells [][]string
	height := 1
	for col := range t.head {
		cells = append(cells, folded(cell(row, col), t.widths[col]))
		if col != apart {
			height = max(height, len(cells[col]))
		}
	}
	for i := range height {
		var b strings.Builder
		for col, of := range cells {
			if col == apart {
				continue
			}
			text := ""
			if i < len(of) {
				text = of[i]
			}
			gap := strings.Repeat(" ", max(0, t.widths[col]-lipgloss.Width(text)))
			text = d.styled(style, cell(row, col), text)
			if t.numbers[col] {
				text, gap = gap+text, ""
			}
			b.WriteString(text + gap + strings.Repeat(" ", columnGap))
		}
		lines = append(lines, b.String())
	}
	return lines
}

func (d *drawing) lines(indent string, lines []string) {
	for _, l := range lines {
		fmt.Fprintln(d.out, strings.TrimRight(indent+l, " "))
	}
}

func (d *drawing) each(style lipgloss.Style, whole string, lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, d.styled(style, whole, l))
	}
	return out
}

// records prints a line for each cell, behind the name of its column: for terminals
// that are narrower than the columns beside each other.
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
				line := d.renderer.NewStyle().Bold(d.colour).Render(name) + pad + d.styled(d.renderer.NewStyle(), cell(row, col), text)
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
		"pass": "2", "accepted": "2", "waived": "6", "fail": "1", "invalid": "5", "error": "1", "inconclusive": "3", "locked": "8", "not run": "8",
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
	// natural is how wide a column is by itself, least what it can be folded to, and
	// widths what it is drawn with.
	natural, least, widths []int
	// numbers are the columns that have nothing else, which stand to the right.
	numbers []bool
}

// number is one with its unit, "31.68 tok/s", "+38.2%", "57.9 ± 0.2", "8–16", or the dash of none.
var number = regexp.MustCompile(`^(?:[-+~<>]? ?[0-9][0-9.,e+–-]*(?: ± [0-9][0-9.e+-]*)?(?: ?(?:%|×|[A-Za-zµ/]{1,6}))?|[–-])?$`)

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
	for col, name := range head {
		least := lipgloss.Width(name)
		natural := least
		for _, row := range rows {
			natural = max(natural, widest(strings.Split(cell(row, col), "\n")))
		}
		for _, row := range rows {
			least = max(least, widest(folded(cell(row, col), min(natural, LeastColumn))))
		}
		t.natural = append(t.natural, natural)
		t.least = append(t.least, least)
		t.widths = append(t.widths, t.drawn(col, MaxColumn))
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

// fit makes the columns fit beside each other, without one of them, by taking from
// the widest first. It reports whether they do.
func (t *columns) fit(width, without int) bool {
	for col := range t.head {
		t.widths[col] = t.drawn(col, MaxColumn)
	}
	for {
		total, most := 0, -1
		for col, w := range t.widths {
			if col == without {
				continue
			}
			total += w + columnGap
			if w > t.least[col] && (most < 0 || w > t.widths[most]) {
				most = col
			}
		}
		if total-columnGap <= width {
			return true
		}
		if most < 0 {
			return false
		}
		t.widths[most] = t.drawn(most, t.widths[most]-1)
	}
}

// tighten makes all columns fit beside each other by breaking what is short too, heads
// among it, and then by making what is long narrower than reads well: a column on lines
// of its own reads worse. Where that does not do, nothing is changed.
func (t *columns) tighten(width int) bool {
	least := slices.Clone(t.least)
	for _, long := range []bool{false, true} {
		for col, n := range t.natural {
			most := 0
			switch {
			case n > LeastColumn && !long:
				continue
			case n > LeastColumn:
				most = tightColumn
			}
			t.least[col] = widest(folded(t.head[col], most))
			for _, row := range t.rows {
				t.least[col] = max(t.least[col], widest(folded(cell(row, col), most)))
			}
		}
		if t.fit(width, alone) {
			return true
		}
	}
	t.least = least
	return false
}

// byLength are the columns in the order in which they are set apart where not all
// have room: those with words to break first, and of these the longest.
func (t *columns) byLength() []int {
	var out []int
	for col := range t.head {
		out = append(out, col)
	}
	breaks := func(col int) bool { return t.natural[col] > t.least[col] }
	slices.SortStableFunc(out, func(a, b int) int {
		if breaks(a) != breaks(b) {
			if breaks(a) {
				return -1
			}
			return 1
		}
		return t.natural[b] - t.natural[a]
	})
	return out
}

// cell is what stands in a row; a tab would be as wide as the terminal likes. What is
// cut or broken is found by no later look for secrets.
func cell(row []string, col int) string {
	if col < len(row) {
		return inert.Text(redact.Known().Text(strings.ReplaceAll(row[col], "\t", "    ")))
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

// Wrap breaks a paragraph at width columns, between words only, and never between a
// number and what makes it one: "-3.0%", "≥ 12", "4.2 ± 0.1".
func Wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range together(strings.Fields(inert.Text(redact.Known().Text(text)))) {
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
	s = inert.Text(redact.Known().Text(s))
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
