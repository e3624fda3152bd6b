package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/store"
)

// givenThen says which variables had another value when the plan was applied last,
// as far as its record tells.
func givenThen(st *store.Store, loaded *plans.Result) []string {
	if st == nil || len(st.Runs()) == 0 {
		return nil
	}
	runs := st.Runs()
	v, err := st.Run(runs[len(runs)-1].ID)
	if err != nil || v.Start == nil || v.Start.Inputs == nil || v.Start.PlanDigest == loaded.Plan.Digest() {
		return nil
	}
	now := loaded.Inputs()
	var then []string
	for _, name := range slices.Sorted(maps.Keys(v.Start.Inputs.Variables)) {
		if text := v.Start.Inputs.Variables[name]; text != now.Variables[name] {
			then = append(then, name+" = "+oneLine(text))
		}
	}
	if len(then) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("It was applied with %s: give that again (--var, --var-file) for what was measured.", strings.Join(then, ", "))}
}
