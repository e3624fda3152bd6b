package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
)

// ContestTable has a row for each number to beat.
func ContestTable(all []Contest) Table {
	t := Table{Head: []string{"Target", "Metric", "To beat", "Measured", "Times better", "Standing"}}
	for _, c := range all {
		row := []string{c.Name, c.Address, Digits(c.Value), "–", "–", c.Standing}
		if c.Address == "" {
			row[1] = c.Path
		}
		switch {
		case c.Address == "" && c.Value == 0:
			row[2] = "–" // an import names no number
		case c.Unit != "":
			row[2] += " " + c.Unit
		}
		if c.Stat != "" && c.Stat != "median" {
			row[1] += "." + c.Stat
		}
		if c.Mean != nil {
			row[3] = span(*c.Mean, c.Low, c.High, Digits)
		}
		if c.Ratio != nil {
			row[4] = span(*c.Ratio, c.RatioLow, c.RatioHigh, timesText)
		}
		if !c.Note.IsZero() {
			row[5] += ": " + tell.Line(c.Note)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// timesText writes a factor with three digits, and large ones whole.
func timesText(x float64) string {
	if x >= 1000 {
		return Digits(x)
	}
	return fmt.Sprintf("%.3g", x)
}

// span is a number with its interval: "57.9 [56.1, 59.8]".
func span(x float64, low, high *float64, show func(float64) string) string {
	if low == nil || high == nil {
		return show(x)
	}
	return fmt.Sprintf("%s [%s, %s]", show(x), show(*low), show(*high))
}

// measuredIn is whose launches these are: "accepted in session s-1, 6 launches", and
// what of them, where sessions measured different things.
func measuredIn(all []Contest) string {
	var order []string
	of := map[string][]string{}
	for _, c := range all {
		if c.Mean == nil {
			continue
		}
		where := fmt.Sprintf("%s in session %s, %s", c.Variant, c.Session, tell.Launches(len(c.Launches)))
		if of[where] == nil {
			order = append(order, where)
		}
		if !slices.Contains(of[where], c.Address) {
			of[where] = append(of[where], c.Address)
		}
	}
	if len(order) == 1 {
		return order[0]
	}
	for i, where := range order {
		order[i] = verdict.And(of[where]) + " of " + where
	}
	return strings.Join(order, "; ")
}

// ContestNotes say whose launches these are, and what such numbers cannot show.
func ContestNotes(all []Contest) (notes []string) {
	if measured := measuredIn(all); measured != "" {
		notes = append(notes, "Measured: "+measured+"; means over launches with their 95 % intervals. Beaten: the whole interval is better than the target.")
	}
	for _, c := range all {
		notes = append(notes, c.otherwise()...)
	}
	var tools []string
	for _, c := range all {
		tool := c.Tool
		if tool == "" {
			tool = "a tool that the plan does not name"
		}
		if text := fmt.Sprintf("%s by %s", c.Name, tool); !slices.Contains(tools, text) {
			tools = append(tools, text)
		}
	}
	if len(tools) > 0 {
		notes = append(notes, "The targets were measured elsewhere: "+strings.Join(tools, ", ")+". Two tools that use one name for a metric may count and time different things; that they are the same is the plan's claim. The target itself has no interval here.")
	}
	return notes
}

// targets is the standing table.
func (p *page) targets() {
	all := Contests(p.st)
	if len(all) == 0 {
		return
	}
	p.line("## Targets")
	p.line("")
	p.table(ContestTable(all))
	for _, n := range ContestNotes(all) {
		p.line("%s", n)
		p.line("")
	}
}
