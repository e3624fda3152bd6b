package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/lipgloss/table"
)

// printTable prints columns, coloured on a terminal only.
func (a *app) printTable(head []string, rows [][]string) {
	most := maxColumn
	if terminal(a.stdout) {
		most = lastColumn(head, rows, a.width())
	}
	drawTable(a.stdout, head, rows, colours(a.stdout), most)
}

// column is how wide sentences are.
func (a *app) column() int { return min(maxColumn, a.width()) }

// leastColumn is what the last column keeps on however narrow a terminal.
const leastColumn = 24

// lastColumn is how wide the last column may be for a table to fit into a terminal.
func lastColumn(head []string, rows [][]string, width int) int {
	for col := range head[:len(head)-1] {
		width -= max(lipgloss.Width(head[col]), widest(rows, col)) + 2
	}
	return min(maxColumn, max(leastColumn, width-2))
}

func writeTable(w io.Writer, head []string, rows [][]string, colour bool) {
	drawTable(w, head, rows, colour, maxColumn)
}

func drawTable(w io.Writer, head []string, rows [][]string, colour bool, most int) {
	renderer := lipgloss.NewRenderer(w)
	if !colour {
		renderer.SetColorProfile(3) // termenv.Ascii
	}
	cell := renderer.NewStyle().PaddingRight(2)
	rows = folded(rows, len(head)-1, most)
	t := table.New().Headers(head...).Rows(rows...).
		Border(lipgloss.NormalBorder()).BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		BorderColumn(false).BorderRow(false).
		StyleFunc(func(row, col int) lipgloss.Style {
			s := cell
			if row == table.HeaderRow {
				return s.Bold(colour)
			}
			if row < len(rows) && col < len(rows[row]) {
				s = s.MaxWidth(maxColumn + 2)
				if col == len(head)-1 {
					s = cell.Width(min(most, max(lipgloss.Width(head[col]), widest(rows, col))) + 2)
				}
				if c, ok := verdictColours[rows[row][col]]; ok && colour {
					s = s.Foreground(lipgloss.Color(c))
				}
			}
			return s
		})
	fmt.Fprintln(w, trimRight(t.String()))
}

// maxColumn keeps the reasons readable; longer ones wrap.
const maxColumn = 96

// folded breaks one column's lines between words only: lipgloss would also break
// after a hyphen, and so between a minus sign and its number.
func folded(rows [][]string, col, most int) [][]string {
	out := slices.Clone(rows)
	for i, r := range rows {
		if col >= len(r) || lipgloss.Width(r[col]) <= most {
			continue
		}
		lines := strings.Split(r[col], "\n")
		for j, l := range lines {
			if lipgloss.Width(l) > most {
				lines[j] = wrap(l, most)
			}
		}
		out[i] = slices.Clone(r)
		out[i][col] = strings.Join(lines, "\n")
	}
	return out
}

func widest(rows [][]string, col int) int {
	n := 4
	for _, r := range rows {
		for _, line := range strings.Split(r[col], "\n") {
			n = max(n, lipgloss.Width(line))
		}
	}
	return n
}

func trimRight(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}
