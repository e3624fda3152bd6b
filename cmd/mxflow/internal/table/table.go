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
	"github.com/charmbracelet/lipgloss/table"
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
	cells := make([][]string, len(rows)+1)
	for i, row := range append([][]string{head}, rows...) {
		cells[i] = make([]string, len(head))
		for col, text := range row[:min(len(head), len(row))] {
			cells[i][col] = shown(strings.ReplaceAll(text, "\t", "    ")) // which is as wide as a terminal likes
		}
	}
	natural := make([]int, len(head))
	for col := range head {
		natural[col] = drawn(cells, col, MaxColumn)
	}
	beside := 1 // how many columns fit as they are
	for used := natural[0]; beside < len(head) && used+columnGap+natural[beside] <= width; beside++ {
		used += columnGap + natural[beside]
	}
	widths, fits := natural, true
	if width > 0 {
		widths, fits = fit(cells, natural, width)
	}
	switch {
	case fits:
		grid(w, cells, widths, colour)
	case beside > 1:
		for from, to := 1, beside; from < len(head); from, to = to, len(head) {
			part := make([][]string, len(cells))
			for i, row := range cells {
				part[i] = append([]string{row[0]}, row[from:to]...)
			}
			if from > 1 {
				fmt.Fprintln(w)
			}
			Draw(w, part[0], part[1:], colour, width)
		}
	default:
		names := 0
		for _, name := range head {
			names = max(names, lipgloss.Width(name))
		}
		for i, row := range cells[1:] {
			if i > 0 {
				fmt.Fprintln(w)
			}
			pairs := [][]string{nil}
			for col, text := range row {
				if text != "" {
					pairs = append(pairs, []string{cells[0][col], text})
				}
			}
			grid(w, pairs, []int{names, max(LeastColumn, width-names-columnGap)}, colour)
		}
	}
}

// grid prints cells, broken at the widths of their columns, below a head unless that is nil: then
// they are pairs of a name and its text.
func grid(w io.Writer, cells [][]string, widths []int, colour bool) {
	on := lipgloss.NewRenderer(w)
	// Whoever calls knows whether w is a terminal in the end. The colours are those that
	// every one has.
	on.SetColorProfile(3) // termenv.Ascii
	if colour {
		on.SetColorProfile(2) // termenv.ANSI
	}
	head, rows := cells[0], cells[1:]
	styles := make([]lipgloss.Style, len(widths))
	for col := range styles {
		styles[col] = on.NewStyle().PaddingRight(columnGap)
		if head != nil && isNumbers(rows, col) {
			styles[col] = styles[col].Align(lipgloss.Right)
		}
	}
	if head == nil { // the same in each of them
		styles[0] = styles[0].Width(widths[0] + columnGap)
	}
	last := len(styles) - 1
	styles[last] = styles[last].PaddingRight(0)
	t := table.New().Border(lipgloss.NormalBorder()).BorderTop(false).BorderBottom(false).BorderLeft(false).
		BorderRight(false).BorderColumn(false).Headers(head...)
	for _, row := range rows {
		line := make([]string, len(row))
		for col, text := range row {
			line[col] = strings.Join(folded(text, widths[col]), "\n")
		}
		t.Row(line...)
	}
	t.StyleFunc(func(row, col int) lipgloss.Style {
		switch {
		case row == table.HeaderRow, head == nil && col == 0:
			return styles[col].Bold(colour)
		case Colour(rows[row][col]) != "":
			return styles[col].Foreground(lipgloss.Color(Colour(rows[row][col])))
		}
		return styles[col]
	})
	for line := range strings.SplitSeq(t.String(), "\n") {
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
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

// Coloured is a text in the colour of a verdict, if the screen has colours. The text says the verdict too:
// a colour alone says nothing.
func Coloured(text, word string, colour bool) string {
	c := Colour(word)
	if !colour || c == "" {
		return text
	}
	return "\x1b[" + strings.Replace("3"+c, "38", "90", 1) + "m" + text + "\x1b[0m"
}

// number is one with its unit, "31.68 tok/s", "+38.2%", "57.9 ± 0.2", "8–16", or the dash of none.
var number = regexp.MustCompile(
	`^(?:[-+~<>]? ?[0-9][0-9.,e+–-]*(?: (?:±|\+/-) [0-9][0-9.e+-]*)?(?: ?(?:%|×|[A-Za-zµ/]{1,6}))?|[–-])?$`)

// isNumbers reports whether a column has nothing else, and so is aligned to the right.
func isNumbers(rows [][]string, col int) bool {
	any := false
	for _, row := range rows {
		for line := range strings.SplitSeq(row[col], "\n") {
			if !number.MatchString(line) {
				return false
			}
		}
		any = any || strings.ContainsAny(row[col], "0123456789")
	}
	return any
}

// drawn is how wide a column comes out whose lines are broken at most characters: words are not,
// and its name is not.
func drawn(cells [][]string, col, most int) int {
	n := lipgloss.Width(cells[0][col])
	for _, row := range cells[1:] {
		for _, line := range folded(row[col], most) {
			n = max(n, lipgloss.Width(line))
		}
	}
	return n
}

// fit makes columns of these widths fit side by side by taking from the widest first. It reports
// whether they do.
func fit(cells [][]string, natural []int, width int) (widths []int, fits bool) {
	widths = slices.Clone(natural)
	least := make([]int, len(widths))
	for col, w := range widths {
		if w > shortColumn {
			least[col] = LeastColumn
		}
		least[col] = drawn(cells, col, least[col])
	}
	for {
		total, most := -columnGap, -1
		for col, w := range widths {
			total += w + columnGap
			if w > least[col] && (most < 0 || w > widths[most]) {
				most = col
			}
		}
		if total <= width || most < 0 {
			return widths, total <= width
		}
		widths[most] = drawn(cells, most, widths[most]-1)
	}
}

// folded are the lines of a cell, broken between words only: a break after a hyphen
// would also part a minus sign from its number.
func folded(text string, most int) (lines []string) {
	for _, l := range strings.Split(text, "\n") {
		if lipgloss.Width(l) > most {
			lines = append(lines, strings.Split(Wrap(l, most), "\n")...)
		} else {
			lines = append(lines, l)
		}
	}
	return lines
}
