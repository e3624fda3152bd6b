package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/replay"
)

// mostListed limits the decisions that agree, and the differences of one decision.
const mostListed = 40

// Replay prints what came out differently, a line for each decision if there are few, and
// once what holds for several of them.
func Replay(on table.Screen, out *replay.Agreement) {
	rows, differences := [][]string{}, [][]string{}
	var said []string
	for _, d := range out.Decisions {
		if d.Outcome != replay.Agrees || len(out.Decisions) <= mostListed {
			rows = append(rows, []string{
				d.Node, fmt.Sprint(d.Attempt), string(d.Recorded),
				string(cmp.Or(d.Verdict, "–")), string(d.Outcome), string(d.Rules),
			})
		}
		for i, diff := range d.Differences {
			if i == mostListed {
				differences = append(differences,
					[]string{d.Node, fmt.Sprint(d.Attempt), fmt.Sprintf("and %d more", len(d.Differences)-i)})
				break
			}
			differences = append(differences,
				[]string{d.Node, fmt.Sprint(d.Attempt), diff.Rule, diff.What, diff.Recorded, diff.Replayed})
		}
		if !d.Why.IsZero() && d.Outcome != replay.Agrees && d.Outcome != replay.Differs {
			said = append(said, fmt.Sprintf("%s, attempt %d, %s: %s.", d.Node, d.Attempt, d.Outcome,
				strings.TrimSuffix(d.Why.String(), ".")))
		}
		for _, n := range verdict.Lines(d.Notes) {
			if !slices.Contains(said, n) {
				said = append(said, n)
			}
		}
	}
	if len(rows) > 0 {
		on.Table([]string{"node", "attempt", "recorded", "replayed", "outcome", "rules from"}, rows)
		fmt.Fprintln(on)
	}
	if len(differences) > 0 {
		on.Table([]string{"node", "attempt", "rule", "what", "recorded", "replayed"}, differences)
		fmt.Fprintln(on)
	}
	if more := len(said) - mostListed; more > 0 {
		said = append(said[:mostListed], fmt.Sprintf("And %d more notes; --json has all.", more))
	}
	for _, text := range said {
		on.Sentence(text)
	}
	agree := out.Counts[replay.Agrees]
	switch {
	case out.Agrees:
		fmt.Fprintf(on, "Everything agrees: %s with %s.\n", verdict.Count(agree, "decision"),
			verdict.Count(out.Numbers, "number"))
	case agree > 0:
		fmt.Fprintf(on, "%s of %d agree.\n", verdict.Count(agree, "decision"), len(out.Decisions))
	}
	var only []string
	for _, what := range slices.Sorted(maps.Keys(out.Unreplayed)) {
		only = append(only, fmt.Sprintf("%s (%s)", what, strings.Join(out.Unreplayed[what], ", ")))
	}
	if len(only) > 0 {
		on.Sentence("Not replayed, known only from the ledger: " + strings.Join(only, "; ") + ".")
	}
}
