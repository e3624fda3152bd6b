package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// wideTable is the maximum of metric columns in one table of a comparison; more are split
// by cell.
const wideTable = 5

// Table is a table of text.
type Table struct {
	Head []string
	Rows [][]string
}

// RowTables are the tables of a comparison of engines, or one table per cell of the
// workloads if one would be too wide. Every number is a mean over launches with its 95%
// interval, and below it how many times better than the reference it is.
func RowTables(rows []verdict.Row) []Table {
	columns := columnsOf(rows)
	groups := [][]verdict.Cell{columns}
	if len(columns) > wideTable {
		groups = byCell(columns)
	}
	var out []Table
	for _, group := range groups {
		out = append(out, tableOf(rows, group))
	}
	return out
}

// columnsOf are the metrics of all rows, in the order of the rows.
func columnsOf(rows []verdict.Row) (columns []verdict.Cell) {
	for _, r := range rows {
		for i, c := range r.Cells {
			if find(columns, c.Address) != nil {
				continue
			}
			// After its predecessor in this row, so cells stay together.
			at := len(columns)
			if i > 0 {
				at = 1 + slices.IndexFunc(columns, func(o verdict.Cell) bool { return o.Address == r.Cells[i-1].Address })
			}
			columns = slices.Insert(columns, at, c)
		}
	}
	return columns
}

func byCell(columns []verdict.Cell) (groups [][]verdict.Cell) {
	for _, c := range columns {
		if n := len(groups); n > 0 && cellName(groups[n-1][0]) == cellName(c) {
			groups[n-1] = append(groups[n-1], c)
		} else {
			groups = append(groups, []verdict.Cell{c})
		}
	}
	return groups
}

func cellName(c verdict.Cell) string {
	cell, _ := measure.SplitAddress(c.Address)
	return cell
}

func tableOf(rows []verdict.Row, columns []verdict.Cell) Table {
	what := "Engine"
	if slices.ContainsFunc(rows, func(r verdict.Row) bool { return r.Reference && r.Name == ledger.Baseline }) {
		what = "Cell"
	}
	t := Table{Head: []string{what, "Launches"}}
	for _, c := range columns {
		t.Head = append(t.Head, fmt.Sprintf("%s (%s)", columnName(c), c.Unit))
	}
	for _, r := range rows {
		name := r.Name
		if r.Reference {
			name += " (reference)"
		}
		row := []string{name, fmt.Sprint(r.N)}
		for _, c := range columns {
			row = append(row, cellText(find(r.Cells, c.Address)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func find(cells []verdict.Cell, address string) *verdict.Cell {
	for i := range cells {
		if cells[i].Address == address {
			return &cells[i]
		}
	}
	return nil
}

func cellText(c *verdict.Cell) string {
	if c == nil {
		return "–"
	}
	text := verdict.CI(c.Mean, c.Low, c.High, "")
	if c.Speedup != nil {
		text += "\n" + verdict.CI(*c.Speedup, c.SpeedupLow, c.SpeedupHigh, "times")
	}
	return text
}

// RowNotes are the rows without numbers, with the reason, and notes on the others.
func RowNotes(rows []verdict.Row) (notes []string) {
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

// RowLegend explains how to read the numbers.
const RowLegend = "Means over launches with their 95% intervals; × is the improvement over the reference: for every metric, more than 1 is better. Tokens are counted by each engine's own tokenizer."

// Effects is the table of what knob values do to each metric, alone and together.
// Undemonstrated effects are included, to show their bounds.
func Effects(effects []verdict.Effect) (t Table) {
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
		case !e.Shown():
			what = "none shown"
		case (*e.Change > 0) == (e.Better == string(measure.Higher)):
			what = "better"
		default:
			what = "worse"
		}
		if e.Shown() && e.With != "" {
			what += " together than apart"
		}
		t.Rows = append(t.Rows, []string{e.Address, e.Knob + "=" + e.Value, with, verdict.CI(*e.Change, e.Low, e.High, "ratio"), what})
	}
	return t
}

// Best are the cells of a matrix that are best by each metric, as sentences.
func Best(rows []verdict.Row) (lines []string) {
	for _, c := range columnsOf(rows) {
		var best *verdict.Cell
		name := ""
		for _, r := range rows {
			if own := find(r.Cells, c.Address); own != nil && own.Speedup != nil && (best == nil || *own.Speedup > *best.Speedup) {
				best, name = own, r.Name
			}
		}
		switch {
		case best == nil:
		case *best.Speedup <= 1:
			lines = append(lines, fmt.Sprintf("%s: no cell is better than the baseline", columnName(c)))
		default:
			lines = append(lines, fmt.Sprintf("%s: %s, %s", columnName(c), name, verdict.CI(*best.Speedup, best.SpeedupLow, best.SpeedupHigh, "times")))
		}
	}
	return lines
}

const (
	// EffectsLegend explains how to read the effects.
	EffectsLegend = "Changes with simultaneous 95% intervals over all effects on a metric; a pair of values is their interaction, beyond the effect of each alone."
	// BestLegend explains how reliable the best is.
	BestLegend = "The best of several is optimistic on average: confirm it as a feature, on fresh launches."
)

// comparisons are the steps that compare engines.
func (p *page) comparisons() {
	for _, d := range Standing(p.st) {
		if len(d.Rows) > 0 {
			p.comparison(d.Decision)
		}
	}
}

func (p *page) comparison(d *ledger.Decision) {
	name := d.Node[strings.LastIndexByte(d.Node, '.')+1:]
	p.para("## Comparison %s: %s", name, d.Verdict)
	for _, t := range RowTables(d.Rows) {
		p.table(t)
	}
	for _, n := range RowNotes(d.Rows) {
		p.line("- %s", strings.ReplaceAll(n, "\n", " "))
	}
	p.line("")
	p.para("%s", RowLegend)
	if t := Effects(d.Effects); len(t.Rows) > 0 {
		p.para("Best cells: %s. %s", strings.Join(Best(d.Rows), "; "), BestLegend)
		p.table(t)
		p.para("%s", EffectsLegend)
	}
}

// columnName is "chat.c16 tg" for chat.c16.tg.
func columnName(c verdict.Cell) string {
	cell, metric := measure.SplitAddress(c.Address)
	return strings.TrimSpace(cell + " " + metric)
}
