package view

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/decide"
)

// Noise is how much launches varied of a plan's baseline and copies of it.
type Noise struct {
	Type    string          `json:"type"`
	Run     string          `json:"run"`
	Session string          `json:"session,omitempty"`
	Verdict verdict.Verdict `json:"verdict"`
	Exit    int             `json:"exit"`
	decide.AA
}

// Print prints the spreads as a table, what arms showed, and what was varied.
func (n *Noise) Print(on table.Screen) {
	fmt.Fprintln(on)
	if n.Verdict != verdict.Pass {
		on.Sentence(fmt.Sprintf("Not measured to its end: %s. The same command goes on.", n.Verdict))
	}
	if len(n.Metrics) == 0 {
		return
	}
	share := func(x *float64, none string) string {
		switch {
		case x == nil:
			return "–"
		case *x < 5e-5:
			return none
		case *x > 1:
			return ">100%"
		}
		return verdict.Digits(*x, "ratio", 0)[1:]
	}
	head := []string{"metric", "mean", "requests", "launches", "arms", "boots"}
	for _, launches := range decide.ResolvedAt {
		head = append(head, fmt.Sprint(launches))
	}
	var rows [][]string
	var differed []string
	pairs := 0
	for _, m := range n.Metrics {
		row := []string{m.Metric, verdict.Number(m.Mean, m.Unit)}
		for _, x := range []*float64{m.Requests, m.Launches, m.Arms, m.Boots} {
			row = append(row, share(x, "none"))
		}
		for _, launches := range decide.ResolvedAt {
			row = append(row, share(m.Resolves[launches], "<0.1%")) // launches alike resolve all but rounding
		}
		rows = append(rows, row)
		if pairs += m.Pairs; m.Differed > 0 {
			differed = append(differed, fmt.Sprintf("%s in %d of %d pairs", m.Metric, m.Differed, m.Pairs))
		}
	}
	on.Table(head, rows)
	fmt.Fprintln(on, `
requests   standard deviation within a launch
launches   between launches of an arm, which decides
arms       between arms beyond that, boots likewise (none: launches explain it)
2, 4, 8    the smallest effect that so many launches per arm resolve in 8 of 10
           cases, by the noise on record; 2 and 4 include a margin, as a server may
           start at one of two speeds, of which so few starts can miss one`)
	fmt.Fprintln(on)
	switch {
	case pairs == 0:
		on.Sentence("The arms were not compared: a test takes 3 launches of each.")
	case len(differed) == 0:
		on.Sentence("No arm was shown to be better than another, in " + verdict.Count(pairs, "comparison") +
			" at the plan's error rates.")
	default:
		on.Sentence("Arms that do not differ were shown to differ, as a change that does nothing would be: " +
			strings.Join(differed, ", ") +
			". Their caches or tunes are not alike, or launches are not fresh.")
	}
	on.Sentence(
		fmt.Sprintf(
			"%s of %d arms, %s, %s on record. A tune is in launches if each draws its own, in arms if it is pinned. "+
				"The machine and what is sent were not varied.",
			verdict.Count(n.Launches, "launch"), n.Arms, verdict.Count(n.Tunes, "tune"),
			verdict.Count(n.Boots, "boot")))
}
