package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// printTable prints columns: coloured, and made to fit, on a terminal only.
func (a *app) printTable(head []string, rows [][]string) {
	drawTable(a.stdout, head, rows, colours(a.stdout), a.fits())
}

// fits is how wide tables may be; 0 for as wide as they are, where no person's
// terminal would break their lines.
func (a *app) fits() int {
	if terminal(a.stdout) {
		return a.width()
	}
	return 0
}

// column is how wide sentences are.
func (a *app) column() int { return min(maxColumn, a.width()) }

// columnBehind is how wide sentences are that stand so far in.
func (a *app) columnBehind(indent int) int {
	if width := a.fits(); width > 0 {
		return min(maxColumn, max(leastColumn, width-indent))
	}
	return maxColumn
}

// drawTable prints columns within a width, or, with a width of 0, as wide as they
// are. Lines break between words only, so that a number is never cut and keeps its
// sign, and nothing is left out.
func drawTable(w io.Writer, head []string, rows [][]string, colour bool, width int) {
	d := drawing{out: w, renderer: lipgloss.NewRenderer(w), colour: colour}
	if !colour {
		d.renderer.SetColorProfile(3) // termenv.Ascii
	}
	t := newColumns(head, rows)
	if width == 0 || t.fit(width, alone) {
		d.grid(t, alone, 0)
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
		d.lines(strings.Repeat(" ", apartIndent), d.each(style, text, folded(text, max(leastColumn, width-apartIndent))))
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
			b.WriteString(d.styled(style, cell(row, col), text) + strings.Repeat(" ", max(0, t.widths[col]-lipgloss.Width(text))+columnGap))
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
			for _, text := range folded(cell(row, col), max(leastColumn, width-names-columnGap)) {
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
	if c, ok := verdictColours[whole]; ok && d.colour {
		style = style.Foreground(lipgloss.Color(c))
	}
	if text == "" {
		return ""
	}
	return style.Render(text)
}
