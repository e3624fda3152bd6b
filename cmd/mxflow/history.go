package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime/report"
)

func newHistoryCommand(a *app) *cobra.Command {
	variant := ""
	c := &cobra.Command{
		Use:   "history METRIC [PLAN]",
		Short: "Show a metric over all runs, with the points at which it changed",
		Long: "METRIC is an address as rules have it, without what it is compared with: chat.tg,\n" +
			"chat.ttft.p99, engine.memory_gb, levels.stress.e2e. Each session is a point, the mean\n" +
			"of its launches that count, and each variant a series, whatever its engine was built of\n" +
			"at the time. Changes are found by E-divisive means with a permutation test (p ≤ 0.05).\n\n" +
			"Sessions differ in more than the variant: a change is a flag and decides nothing.",
		Example: "  mxflow history chat.tg\n" +
			"  mxflow history chat.ttft.p99 plan.hcl --variant baseline\n" +
			"  mxflow history chat.tg --json",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			a.fold()
			st, err := a.reader(args[1:])
			if err != nil {
				return err
			}
			defer st.Close()
			h, err := report.HistoryOf(st, args[0])
			if err != nil {
				known := report.Recorded(st)
				return fmt.Errorf("%w.%s", err, lang.DidYouMean(args[0], known))
			}
			if variant != "" {
				var names []string
				for _, s := range h.Series {
					names = append(names, s.Variant)
				}
				h.Series = slices.DeleteFunc(h.Series, func(s report.Series) bool { return s.Variant != variant })
				if len(h.Series) == 0 {
					return fmt.Errorf("no variant %q has %s: use %s.%s", variant, args[0], strings.Join(names, ", "), lang.DidYouMean(variant, names))
				}
			}
			if a.json {
				a.printJSON(h)
				return nil
			}
			a.printHistory(h)
			return nil
		},
	}
	c.Flags().StringVar(&variant, "variant", "", "show this `NAME` alone: baseline, or a feature")
	a.jsonFlag(c, "print as JSON")
	return c
}

// printHistory draws each series down the page, a line for each session.
func (a *app) printHistory(h *report.History) {
	better := ""
	if h.Better != "" {
		better = fmt.Sprintf(", %s is better", h.Better)
	}
	fmt.Fprintf(a.stdout, "%s (%s)%s\n", h.Metric, h.Stat, better)
	changed, plot := false, a.plotted(64)
	for _, s := range h.Series {
		fmt.Fprintf(a.stdout, "\n%s\n", seriesTitle(s))
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
		a.printTable([]string{"began", "session", "launches", "value", span(low, high, h.Unit)}, rows)
	}
	if changed {
		fmt.Fprintln(a.stdout, "\n"+"A change between sessions is a flag and decides nothing: machine, driver and engine may differ. To decide, measure both in one session.")
	}
}

// span heads the plot: both of its ends, once where they are one.
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

// changeText is by how much a metric changed; of one that was nothing, what it is.
func changeText(c report.Change) string {
	if c.Before > 0 {
		return tell.Percent(c.After/c.Before-1, 1)
	}
	return fmt.Sprintf("%s → %s", tell.Number(c.Before, ""), tell.Number(c.After, ""))
}

// plotted is how many characters a plot has, beside columns that take so many.
func (a *app) plotted(beside int) int {
	if width := a.fits(); width > 0 {
		return max(10, min(80, width-beside))
	}
	return 31
}

// dot is a place between two ends, of so many characters.
func dot(x, low, high float64, plotWidth int) string {
	at := 0.0
	if high > low {
		at = (x - low) / (high - low)
	}
	return strings.Repeat("·", int(at*float64(plotWidth-1)+0.5)) + "●"
}
