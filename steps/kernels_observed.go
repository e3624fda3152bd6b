package steps

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// observes reports whether any of the evidence is an observation.
func observes(wanted []evidence) bool {
	return slices.ContainsFunc(wanted, func(e evidence) bool { return len(e.MustObserve)+len(e.MustNotObserve) > 0 })
}

// judgeObserved adds to the verdict over the log what was observed: each value
// that must be seen, and none that must not. What is not observed proves nothing,
// either way.
func judgeObserved(wanted []evidence, seen map[string]ledger.Observed, not map[string]string, v verdict.Verdict, reasons []string) (verdict.Verdict, []string) {
	own := verdict.Pass
	var against, proofs []string
	for _, e := range wanted {
		name := fmt.Sprintf("%s = %q", e.Knob, e.Value)
		look := func(want map[string]any, must bool) {
			for _, what := range slices.Sorted(maps.Keys(want)) {
				o, ok := seen[what]
				wanted := ledger.Observed{Value: want[what], Unit: o.Unit}
				switch {
				case !ok:
					own = verdict.Join(own, verdict.Inconclusive)
					against = append(against, fmt.Sprintf("%s is unproven: %s was not observed: %s", name, what, orUnasked(not[what])))
				case must && o.Value != want[what]:
					own = verdict.Fail
					against = append(against, fmt.Sprintf("%s: %s must be %s, and the engine says %s (%s)", name, what, wanted, o, o.From))
				case !must && o.Value == want[what]:
					own = verdict.Fail
					against = append(against, fmt.Sprintf("%s: %s must not be %s, and the engine says so (%s)", name, what, wanted, o.From))
				default:
					proofs = append(proofs, fmt.Sprintf("%s: observed %s %s (%s)", name, what, o, o.From))
				}
			}
		}
		look(e.MustObserve, true)
		look(e.MustNotObserve, false)
	}
	switch {
	case v == verdict.Pass && own == verdict.Pass:
		return v, append(reasons, proofs...)
	case v == verdict.Pass:
		return own, against // what the log proves is not what is missing
	}
	return verdict.Join(v, own), append(against, reasons...)
}

func orUnasked(why string) string {
	if why == "" {
		return "this engine has no observation of that name"
	}
	return why
}

// scanEvidence looks for the evidence in the engine's log.
func scanEvidence(path string, globs []string) (*logscan.Scan, error) {
	scan, err := logscan.New(globs)
	if err == nil {
		err = scan.File(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the engine's log cannot be searched: %w", err)
	}
	return scan, nil
}
