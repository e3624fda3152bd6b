package main

import (
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
)

const (
	// maxColumn keeps sentences readable; longer ones wrap.
	maxColumn = 96
	// leastColumn is what a column keeps however narrow the terminal: below it,
	// sentences become towers of words.
	leastColumn = 24
	// columnGap is between columns.
	columnGap = 2
)

// columns are a table with how wide each column is drawn.
type columns struct {
	head []string
	rows [][]string
	// natural is how wide a column is by itself, least what it can be folded to, and
	// widths what it is drawn with.
	natural, least, widths []int
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
			least = max(least, widest(folded(cell(row, col), min(natural, leastColumn))))
		}
		t.natural = append(t.natural, natural)
		t.least = append(t.least, least)
		t.widths = append(t.widths, t.drawn(col, maxColumn))
	}
	return t
}

// drawn is how wide a column comes out whose lines are broken at most characters:
// words are not.
func (t *columns) drawn(col, most int) int {
	n := lipgloss.Width(t.head[col])
	for _, row := range t.rows {
		n = max(n, widest(folded(cell(row, col), most)))
	}
	return n
}

// fit makes the columns fit beside each other, without one of them, by taking from
// the widest first. It reports whether they do.
func (t *columns) fit(width, without int) bool {
	for col := range t.head {
		t.widths[col] = t.drawn(col, maxColumn)
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
		if total <= width {
			break
		}
		if most < 0 {
			return false
		}
		t.widths[most]--
	}
	for col, w := range t.widths {
		t.widths[col] = t.drawn(col, w)
	}
	return true
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

// cell is what stands in a row; a tab would be as wide as the terminal likes.
func cell(row []string, col int) string {
	if col < len(row) {
		return strings.ReplaceAll(row[col], "\t", "    ")
	}
	return ""
}

// folded are the lines of a cell, broken between words only: a break after a hyphen
// would also part a minus sign from its number.
func folded(text string, most int) []string {
	var lines []string
	for _, l := range strings.Split(text, "\n") {
		if lipgloss.Width(l) > most {
			lines = append(lines, strings.Split(wrap(l, most), "\n")...)
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
