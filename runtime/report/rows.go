package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
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

const (
	// EffectsLegend explains how to read the effects.
	EffectsLegend = "Changes with simultaneous 95% intervals over all effects on a metric; a pair of values is their " +
		"interaction, beyond the effect of each alone."
	// BestLegend explains how reliable the best is.
	BestLegend = "The best of several is optimistic on average: confirm it as a feature, on fresh launches."
)

// Comparisons are the steps that compare engines, or cells of a matrix.
func (p *Writer) Comparisons() {
	for _, d := range p.InForce() {
		if len(d.Rows) == 0 {
			continue
		}
		p.Line("## Comparison %s: %s\n", d.Node[strings.LastIndexByte(d.Node, '.')+1:], d.Verdict)
		p.Grids(p.Compared(d.Decision), "###")
		p.List(RowNotes(d.Rows))
		p.Line("%s\n", Raw(RowLegend))
		if t := Effects(d.Effects); len(t.Rows) > 0 {
			p.Line("Best cells: %s. %s\n", strings.Join(Best(d.Rows), "; "), BestLegend)
			p.Table(t)
			p.Line("%s\n", EffectsLegend)
		}
	}
}

// Grids are tables of results below their titles, each with what it lacks.
func (p *Writer) Grids(grids []Grid, level string) {
	for _, g := range grids {
		if g.Title != "" {
			p.Line("%s %s\n", Raw(level), g.Title)
		}
		if len(g.Columns) > 0 {
			p.Table(g.Table())
		}
		if lacks := g.Lacking(); lacks != "" {
			p.Line("%s\n", lacks)
		}
	}
}
