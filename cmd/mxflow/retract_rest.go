package main

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// resting are the standing decisions that are withdrawn with one, in the order in
// which they were made, and the addresses of steps and measurements that it locks.
// rough says why more than what rests on it is withdrawn; empty where it is not.
func (a *app) resting(st *store.Store, root store.Decided, args []string, opts load.Options) (out []store.Decided, locked []string, rough string) {
	rests := map[string]bool{}
	g, err := a.graphNow(st, args, opts)
	if err == nil && g.Node(root.Node) == nil {
		err = fmt.Errorf("the plan has no %s", root.Node)
	}
	if err != nil {
		rough = err.Error()
	} else {
		for _, n := range g.Dependents(root.Node, func(id string) *ledger.Decision { d, _, _ := st.Latest(id); return d }) {
			rests[n.ID] = true
		}
	}
	first := st.History(root.Node)[0].Record
	for _, d := range report.Standing(st) {
		switch {
		case d.Node == root.Node || !rests[d.Node] && (rough == "" || d.Record < first):
		case !runtime.DecidesAlone(runtime.Kind(d.Kind)):
			if rests[d.Node] && d.Verdict.Unlocks() {
				locked = append(locked, d.Node)
			}
		case d.Retraction == nil:
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b store.Decided) int { return a.Record - b.Record })
	return out, locked, rough
}

// graphNow is the graph of the plan that a person names, or of that of the last
// run.
func (a *app) graphNow(st *store.Store, args []string, opts load.Options) (*runtime.Graph, error) {
	runs := st.Runs()
	path := runs[len(runs)-1].PlanFile
	if len(args) > 0 {
		path = args[0]
	}
	if err := checkGiven(opts.Inputs); err != nil {
		return nil, err
	}
	opts.Guard = planGuard(a.stderr)
	res := load.Load(path, steps.Registry(), opts)
	a.hide(res.Plan.Secrets())
	if !res.OK() {
		return nil, fmt.Errorf("what rests on it is not known, since %s cannot be loaded now: mxflow validate says why, and variables that it needs are given with --var", path)
	}
	if err := samePlan(st, res.Plan); err != nil {
		return nil, err
	}
	return runtime.NewGraph(res.Plan)
}
