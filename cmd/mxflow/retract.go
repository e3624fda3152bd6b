package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

func newRetractCommand(a *app) *cobra.Command {
	var by signature
	var vars []load.Given
	var suite string
	c := &cobra.Command{
		Use:   "retract NODE [PLAN]",
		Short: "Withdraw a decided outcome that turned out wrong",
		Long: `Records that an outcome was wrong: who says so, and why. NODE is an address as
status shows it, or the name of a feature or a phase. The outcome becomes invalid,
and with it every gate and feature that rests on it; what comes after them is
locked. What was decided before stays in the record.

An apply does not decide the node again by itself: --rerun does, or a change of what
is measured. When it stands again, what was withdrawn with it is decided again from
recorded launches. Measurements are withdrawn only where NODE names one
(feature.NAME.benchmark, feature.NAME.qualify, baseline).

What rests on the node is known from PLAN, or from the plan of the last run. Where
it cannot be read, everything that was decided later is withdrawn; the next apply
decides again what needed not be.`,
		Example: "  mxflow retract kv_cache --reason 'the prompts were cached' --by kim plan.hcl\n" +
			"  mxflow apply --rerun kv_cache plan.hcl",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := by.check(); err != nil {
				return err
			}
			return recordRetraction(a, args, by, load.Options{Inputs: vars, Suite: suite})
		},
	}
	by.flags(c)
	varFlag(c, &vars)
	suiteFlag(c, &suite)
	a.jsonFlag(c, "print what was withdrawn as JSON")
	return c
}

func recordRetraction(a *app, args []string, by signature, opts load.Options) error {
	st, done, err := writer(a, args[1:])
	if err != nil {
		return err
	}
	defer done()
	node, alternative, err := findArgued(st, args[0])
	if err != nil {
		return err
	}
	if alternative != "" {
		return fmt.Errorf("%s is one of the values that %s chose among, and has no outcome of its own: mxflow retract %s withdraws the choice", alternative, node, shortNode(node))
	}
	d, err := standingOf(st, node)
	if err != nil {
		return fmt.Errorf("there is nothing to retract: %w", err)
	}
	switch {
	case d.Retracted():
		return fmt.Errorf("%s is already invalid: %s. mxflow apply --rerun %s decides it again", node, tell.Line(d.Retraction.Of(node)), rerunName(d.Decision))
	case d.Withdrawn():
		return fmt.Errorf("%s is already invalid: %s. It is decided again once %s is: if it is wrong by itself, retract it then", node, tell.Line(d.Retraction.Of(node)), d.Retraction.Node)
	case !d.Verdict.Decided():
		return fmt.Errorf("%s %s (attempt %d): it unlocks nothing to withdraw", node, tell.Did(d.Verdict), d.Attempt)
	}
	resting, locked, rough := resting(a, st, d, args[1:], opts)
	if a.secrets.Active() {
		st.CleanWith(func(r *ledger.Record) { a.secrets.Clean(r, apply.Identities...) })
	}
	now := time.Now().UTC()
	var records []*ledger.Record
	for _, was := range append([]store.Decided{d}, resting...) {
		withdrawn := was.Withdraw(ledger.Retraction{Node: node, Reason: by.reason, By: by.by})
		records = append(records, &ledger.Record{Type: "decision", Time: now, Run: was.Run, Decision: withdrawn})
	}
	if err := st.Append(records...); err != nil {
		return a.fail(verdict.ExitBroken, err)
	}
	printRetracted(a, d, records, locked, rough)
	return nil
}

// printRetracted says what was withdrawn and what is locked by it.
func printRetracted(a *app, d store.Decided, records []*ledger.Record, locked []string, rough string) {
	root := records[0].Decision
	if a.json {
		out := struct {
			Retracted *ledger.Decision   `json:"retracted"`
			Withdrawn []*ledger.Decision `json:"withdrawn"`
			Locked    []string           `json:"locked"`
		}{root, []*ledger.Decision{}, append([]string{}, locked...)}
		for _, r := range records[1:] {
			out.Withdrawn = append(out.Withdrawn, r.Decision)
		}
		a.printJSON(out)
	} else {
		fmt.Fprintf(a.stdout, "%s was %s and is invalid now (attempt %d): %s.\n", d.Node, report.Withdrawn(root.Retraction), root.Attempt, tell.Line(root.Retraction.Of(d.Node)))
		if len(records) > 1 {
			fmt.Fprintln(a.stdout, "Withdrawn with it:")
			for _, r := range records[1:] {
				fmt.Fprintf(a.stdout, "  %s, which was %s\n", r.Decision.Node, report.Withdrawn(r.Decision.Retraction))
			}
		}
		if len(locked) > 0 {
			fmt.Fprintln(a.stdout, "Locked until it stands again:")
			for _, node := range locked {
				fmt.Fprintf(a.stdout, "  %s\n", node)
			}
		}
		fmt.Fprintf(a.stdout, "An apply leaves it so while nothing that it measures changes; apply --rerun %s decides it again.\n", rerunName(d.Decision))
	}
	if rough != "" {
		fmt.Fprintf(a.stderr, "note: %s: whatever was decided after it is withdrawn, and the next apply decides again what does not rest on it\n", rough)
	}
}

// rerunName is what --rerun takes to measure again what a decision rests on.
func rerunName(d *ledger.Decision) string {
	switch runtime.Kind(d.Kind) {
	case runtime.KindFeature:
		return d.Feature
	case runtime.KindGate, runtime.KindPhase:
		return d.Phase
	}
	return d.Node
}

// resting are the standing decisions that are withdrawn with one, in the order in
// which they were made, and the addresses of steps and measurements that it locks.
// rough says why more than what rests on it is withdrawn; empty where it is not.
func resting(a *app, st *store.Store, root store.Decided, args []string, opts load.Options) (out []store.Decided, locked []string, rough string) {
	rests := map[string]bool{}
	g, err := graphNow(a, st, args, opts)
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
func graphNow(a *app, st *store.Store, args []string, opts load.Options) (*runtime.Graph, error) {
	runs := st.Runs()
	path := runs[len(runs)-1].PlanFile
	if len(args) > 0 {
		path = args[0]
	}
	res := a.loadSilently(path, opts)
	if !res.OK() {
		return nil, fmt.Errorf("what rests on it is not known, since %s cannot be loaded now: mxflow validate says why, and variables that it needs are given with --var", path)
	}
	if err := apply.SamePlan(st, res.Plan); err != nil {
		return nil, err
	}
	return runtime.NewGraph(res.Plan)
}
