package recorded

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/runtime/report"
)

// History plots each series downwards, a line per session.
func History(on table.Screen, h *report.History) {
	better := ""
	if h.Better != "" {
		better = fmt.Sprintf(", %s is better", h.Better)
	}
	fmt.Fprintf(on, "%s (%s)%s\n", h.Metric, h.Stat, better)
	changed, plot := false, plotted(on.Width, 64)
	for _, s := range h.Series {
		fmt.Fprintf(on, "\n%s\n", seriesTitle(s))
		low, high := s.Points[0].Value, s.Points[0].Value
		for _, p := range s.Points {
			low, high = min(low, p.Value), max(high, p.Value)
		}
		var rows [][]string
		marks := h.Milestones
		mark := func() {
			rows = append(rows, []string{"milestone", marks[0].Name, "", "", marks[0].Note})
			marks = marks[1:]
		}
		for i, p := range s.Points {
			for len(marks) > 0 && marks[0].At.Before(p.Time) {
				mark()
			}
			for _, c := range s.Changes {
				if c.At == i {
					changed = true
					rows = append(rows, []string{"changed", fmt.Sprintf("p %s", tell.P(c.P)), "", changeText(c), ""})
				}
			}
			rows = append(rows, []string{tell.Second(p.Time), p.Session, fmt.Sprint(p.Launches), tell.Number(p.Value, h.Unit), dot(p.Value, low, high, plot)})
		}
		for len(marks) > 0 {
			mark()
		}
		on.Table([]string{"began", "session", "launches", "value", span(low, high, h.Unit)}, rows)
	}
	if changed {
		fmt.Fprintln(on, "\n"+"A change between sessions is a flag and decides nothing: machine, driver and engine may differ. To decide, measure both in one session.")
	}
}

// span heads the plot: both of its ends, or one if they are equal.
func span(low, high float64, unit string) string {
	if low == high {
		return tell.Number(low, unit)
	}
	return tell.Number(low, "") + " to " + tell.Number(high, unit)
}

func seriesTitle(s report.Series) string {
	title := s.Variant
	if s.Engine != "" {
		title += " on " + s.Engine
	}
	if s.Older > 0 {
		return fmt.Sprintf("%s: the last %d of %d sessions", title, len(s.Points), len(s.Points)+s.Older)
	}
	return fmt.Sprintf("%s: %s", title, tell.Count(len(s.Points), "session"))
}

// changeText is how much a metric changed; for one that was zero, its new value.
func changeText(c report.Change) string {
	if c.Before > 0 {
		return tell.Percent(c.After/c.Before-1, 1)
	}
	return fmt.Sprintf("%s → %s", tell.Number(c.Before, ""), tell.Number(c.After, ""))
}

// plotted is a plot's width in characters, beside columns of a width.
func plotted(width, beside int) int {
	if width > 0 {
		return max(10, min(80, width-beside))
	}
	return 31
}

// dot is a position between two ends, in so many characters.
func dot(x, low, high float64, plotWidth int) string {
	at := 0.0
	if high > low {
		at = (x - low) / (high - low)
	}
	return strings.Repeat("·", int(at*float64(plotWidth-1)+0.5)) + "●"
}
