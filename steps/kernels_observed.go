package steps

import (
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// observes reports whether any of the evidence is an observation.
func observes(wanted []variant.Evidence) bool {
	return slices.ContainsFunc(wanted, func(e variant.Evidence) bool { return len(e.MustObserve)+len(e.MustNotObserve) > 0 })
}

// judgeObserved adds to the verdict over the log what was observed: each value
// that must be seen, and none that must not. What is not observed proves nothing,
// either way.
func judgeObserved(wanted []variant.Evidence, seen map[string]ledger.Observed, not map[string]verdict.Reason, v verdict.Verdict, reasons []verdict.Reason) (verdict.Verdict, []verdict.Reason) {
	own := verdict.Pass
	var against, proofs []verdict.Reason
	for _, e := range wanted {
		look := func(want map[string]any, must bool) {
			for _, what := range slices.Sorted(maps.Keys(want)) {
				o, ok := seen[what]
				name, is, from := verdict.Text("name", what), verdict.Text("is", o.String()), verdict.Text("from", o.From)
				switch {
				case !ok:
					own = verdict.Join(own, verdict.Inconclusive)
					against = append(against, e.Fact(code.NotObserved, name).From(orUnasked(not[what])))
				case must && o.Value != want[what]:
					own = verdict.Fail
					against = append(against, e.Fact(code.ObservedOther, name, is, from, verdict.Text("must", ledger.Observed{Value: want[what], Unit: o.Unit}.String())))
				case !must && o.Value == want[what]:
					own = verdict.Fail
					against = append(against, e.Fact(code.WronglyObserved, name, is, from))
				default:
					proofs = append(proofs, e.Fact(code.Observed, name, is, from))
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

func orUnasked(why verdict.Reason) verdict.Reason {
	if why.IsZero() {
		return verdict.New(code.Unasked)
	}
	return why
}
