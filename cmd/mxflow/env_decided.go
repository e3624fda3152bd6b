package main

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// decidedAs says what was decided about a candidate, and with which knob values it was
// measured; empty where nothing was decided.
func decidedAs(st *store.Store, f *plans.Feature) (says string, knobs map[string]string) {
	if f.Of != "" && f.Engine == "" {
		return alternativeAs(st, f)
	}
	d, _, ok := st.Latest(runtime.FeatureID(f.Name))
	switch {
	case !ok || len(d.Variant) == 0:
		return "", nil
	case f.Engine != "":
		return fmt.Sprintf("Decided: %s on engine.%s; %s is %s.", d.Verdict, f.Engine, f.Of, acceptedWord(st, f.Of)), d.Variant
	}
	return fmt.Sprintf("Decided: %s, %s.", d.Verdict, acceptedWord(st, f.Name)), d.Variant
}

// alternativeAs is of a candidate of a feature that chooses: the feature's decision
// has what became of it.
func alternativeAs(st *store.Store, f *plans.Feature) (says string, knobs map[string]string) {
	for _, d := range slices.Backward(st.History(runtime.FeatureID(f.Of))) {
		i := slices.IndexFunc(d.Alternatives, func(alt ledger.Alternative) bool { return alt.Name == f.Name })
		if i < 0 {
			continue // an outcome that was withdrawn does not name them
		}
		for _, ev := range d.Evidence {
			if ev.Feature == f.Name && len(ev.Candidate.Launches) > 0 {
				if l, ok := st.LaunchByID(ev.Candidate.Launches[0]); ok {
					knobs = l.Knobs
				}
			}
		}
		if d.Alternatives[i].Chosen {
			return fmt.Sprintf("Decided: %s, chosen; %s is %s.", d.Alternatives[i].Verdict, f.Of, acceptedWord(st, f.Of)), knobs
		}
		return fmt.Sprintf("Decided: %s, not chosen.", d.Alternatives[i].Verdict), knobs
	}
	return "", nil
}

// acceptedWord is whether a feature stands in the stack.
func acceptedWord(st *store.Store, feature string) string {
	if d, _, ok := st.Latest(runtime.FeatureID(feature)); ok && d.Accepted {
		return "accepted"
	}
	return "not accepted"
}
