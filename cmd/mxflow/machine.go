package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// machineNotes says in what this machine differs from the one of the last apply:
// that is why what was measured there is measured again.
func (a *app) machineNotes(st *store.Store, p *plans.Plan) {
	if st == nil || len(st.Runs()) == 0 {
		return
	}
	last, err := st.Run("latest")
	if err != nil || last.Start == nil {
		return
	}
	then, now := last.Start.Environment, machine.Environment()
	if steps.MachineKey(then, p) == steps.MachineKey(now, p) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(union(then, now))) {
		alone := func(value string) string { return steps.MachineKey(map[string]string{name: value}, p) }
		if alone(then[name]) == alone(now[name]) {
			continue
		}
		fmt.Fprintf(a.stderr, "note: since the last apply, this machine's %s has changed from %s to %s; what was measured before is measured again\n",
			name, orUnknown(then[name]), orUnknown(now[name]))
	}
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}

func orUnknown(s string) string {
	if s == "" {
		return "nothing known"
	}
	return s
}
