package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// columnsOf are the metrics of all rows, in the order of the rows.
func columnsOf(rows []verdict.Row) (columns []verdict.Cell) {
	for _, r := range rows {
		at := len(columns)
		for _, c := range r.Cells {
			i := slices.IndexFunc(columns, func(o verdict.Cell) bool { return o.Address == c.Address })
			if i < 0 {
				i, columns = at, slices.Insert(columns, at, c)
			}
			at = i + 1 // what follows it in this row comes next, so cells stay together
		}
	}
	return columns
}

func cellOf(cells []verdict.Cell, address string) *verdict.Cell {
	for i := range cells {
		if cells[i].Address == address {
			return &cells[i]
		}
	}
	return nil
}

// columnName is "chat.c16 tg" for chat.c16.tg.
func columnName(c verdict.Cell) string {
	cell, metric := measure.SplitAddress(c.Address)
	return strings.TrimSpace(cell + " " + metric)
}

// rowNotes are the rows without numbers, with the reason, and notes on the others.
func rowNotes(rows []verdict.Row) (notes []string) {
	for _, r := range rows {
		if r.Verdict != verdict.Pass {
			notes = append(notes, fmt.Sprintf("%s %s: %s", r.Name, verdict.Did(r.Verdict), r.Why.String()))
		}
	}
	for _, r := range rows {
		for _, n := range r.Notes {
			notes = append(notes, r.Name+": "+n.String())
		}
	}
	return notes
}

// effectTable is the table of what knob values do to each metric, alone and together.
// Undemonstrated effects are included, to show their bounds.
func effectTable(effects []verdict.Effect) (t Table) {
	if len(effects) == 0 {
		return t
	}
	t.Head = []string{"Metric", "Value", "With", "Change", ""}
	for _, e := range effects {
		with, what := "–", ""
		if e.With != "" {
			with = e.With + "=" + e.WithValue
		}
		switch {
		case e.Low == nil:
			what = "no bounds from so few launches"
		case !e.Significant():
			what = "none shown"
		case (*e.Change > 0) == (e.Better == string(measure.Higher)):
			what = "better"
		default:
			what = "worse"
		}
		if e.Significant() && e.With != "" {
			what += " together than apart"
		}
		t.Rows = append(t.Rows,
			[]string{e.Address, e.Knob + "=" + e.Value, with, verdict.CI(*e.Change, e.Low, e.High, "ratio"), what})
	}
	return t
}

// Best are the cells of a matrix that are best by each metric, as sentences.
func Best(rows []verdict.Row) (lines []string) {
	for _, c := range columnsOf(rows) {
		var best *verdict.Cell
		name := ""
		for _, r := range rows {
			own := cellOf(r.Cells, c.Address)
			if r.Verdict == verdict.Pass && own != nil && own.Speedup != nil &&
				(best == nil || *own.Speedup > *best.Speedup) {
				best, name = own, r.Name
			}
		}
		switch {
		case best == nil:
		case *best.Speedup <= 1:
			lines = append(lines, fmt.Sprintf("%s: no cell is better than the baseline", columnName(c)))
		default:
			lines = append(lines, fmt.Sprintf("%s: %s, %s", columnName(c), name,
				verdict.CI(*best.Speedup, best.SpeedupLow, best.SpeedupHigh, "times")))
		}
	}
	return lines
}

// ResultBlocks are Results as every medium shows them.
func (s *Summary) ResultBlocks() []Block { return blocksOf(s.Results(), gridLegend) }

// CompareBlocks are the tables of a decision that compares engines or cells of a matrix, and with
// effects what knob values do to each metric; none if it compares nothing.
func (s *Summary) CompareBlocks(d *ledger.Decision, effects bool) []Block {
	grids := s.Compared(d)
	if len(grids) == 0 {
		grids = []Grid{{}} // what became of rows without a number is said all the same
	}
	blocks := blocksOf(grids, append(rowNotes(d.Rows), rowLegend)...)
	if t := effectTable(d.Effects); effects && len(t.Rows) > 0 {
		blocks = append(blocks, Block{Title: "What each value does", Table: t, Notes: []string{
			"Best cells: " + strings.Join(Best(d.Rows), "; ") + ". The best of several is optimistic on average: " +
				"confirm it as a feature, on fresh launches.",
			"Changes with simultaneous 95% intervals over all effects on a metric; a pair of values is their " +
				"interaction, beyond the effect of each alone.",
		}})
	}
	return blocks
}

// blocksOf are grids with what they lack, the last with notes on all.
func blocksOf(grids []Grid, notes ...string) (blocks []Block) {
	for _, g := range grids {
		b := Block{Title: g.Title}
		if len(g.Columns) > 0 {
			b.Table = g.Table()
		}
		if lacks := g.lacking(); lacks != "" {
			b.Notes = []string{lacks}
		}
		blocks = append(blocks, b)
	}
	if n := len(blocks); n > 0 {
		blocks[n-1].Notes = append(blocks[n-1].Notes, notes...)
	}
	return blocks
}
