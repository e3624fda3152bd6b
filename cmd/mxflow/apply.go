package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

func (a *app) applyCommand() *cobra.Command {
	var vars []load.Given
	var rerun []string
	var suite string
	c := &cobra.Command{
		Use:   "apply PLAN",
		Short: "Start the engine, measure, decide rules, unlock phases",
		Long: `Runs a plan to its end. What was decided before and is unchanged is kept: killed
or interrupted, apply again goes on where it stopped. Changed thresholds are
decided again from recorded launches, without measuring.

The first Ctrl-C stops the engine in order and records the interruption; the
second stops at once. Everything is kept in .mxflow beside the plan.

Exit status: 0 every gate passed, 1 usage, plan or environment error, 2 a gate
failed or is invalid, 3 inconclusive, 4 the engine or mxflow broke, 130
interrupted.`,
		Example: "  mxflow apply plan.hcl\n  mxflow apply --var threads=2 plan.hcl\n  mxflow apply --suite quick plan.hcl\n  mxflow apply --rerun phase.cutlass plan.hcl\n  mxflow apply --json plan.hcl > events.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.apply(c.Context(), args[0], vars, suite, rerun)
		},
	}
	varFlag(c, &vars)
	suiteFlag(c, &suite)
	c.Flags().StringArrayVar(&rerun, "rerun", nil, "measure again: a phase, a feature, a node's address, or all (repeatable)")
	a.jsonFlag(c, "stream events as JSON, one object a line")
	return c
}

func (a *app) apply(ctx context.Context, path string, vars []load.Given, suite string, rerun []string) error {
	if a.streaming = true; a.json {
		a.printLine(runtime.Event{Type: "version", Time: time.Now().UTC(), Stream: streamVersion, Tool: "mxflow " + version})
	}
	p, g, loaded, err := a.load(path, vars, suite)
	if err != nil {
		return err
	}
	forced, unknown := runtime.RerunNodes(g, rerun)
	if len(unknown) > 0 {
		return fmt.Errorf("--rerun %s: there is no such phase, feature or node; see mxflow graph %s", unknown[0], path)
	}
	dir := a.stateDir(path)
	lock, err := store.Lock(dir)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	st, err := store.Open(dir)
	if err != nil {
		return err
	}
	defer st.Close()
	for _, n := range st.Notices() {
		fmt.Fprintln(a.stderr, "note:", n)
	}
	if err := samePlan(st, p); err != nil {
		return err
	}
	a.machineNotes(st, p)
	return a.run(ctx, path, p, g, loaded, st, lock, forced)
}

// samePlan refuses the state directory of another plan: their nodes would have
// the same addresses, and each apply would throw away what the other decided.
func samePlan(st *store.Store, p *plans.Plan) error {
	runs := st.Runs()
	if len(runs) == 0 || runs[len(runs)-1].Plan == p.Name {
		return nil
	}
	return fmt.Errorf("the state directory %s belongs to plan %q and this is plan %q: give it one of its own with --state, or put it into another folder",
		st.Dir(), runs[len(runs)-1].Plan, p.Name)
}

// run is one apply on an open state directory.
func (a *app) run(ctx context.Context, path string, p *plans.Plan, g *runtime.Graph, loaded *load.Result, st *store.Store, lock *store.DirLock, forced func(*runtime.Node) bool) error {
	owner := ownerOf(st.Dir())
	if err := a.cleanUp(st, owner); err != nil {
		return err
	}
	run := runID(time.Now())
	runDir, err := st.RunDir(run)
	if err != nil {
		return err
	}
	lab, err := a.lab(p, g, st, owner, runDir)
	if err != nil {
		return err
	}
	sum, sums, err := a.putSources(st, loaded)
	if err != nil {
		return err
	}
	inputs, err := a.inputsOf(st, loaded)
	if err != nil {
		return err
	}
	if err := lock.Begin(run); err != nil {
		return err
	}
	err = st.Append(&ledger.Record{Type: "run", Time: time.Now().UTC(), Run: run, RunStart: &ledger.RunStart{
		Plan: p.Name, PlanFile: path, PlanDigest: p.Digest(), PlanSource: sum, PlanSources: sums, Tool: "mxflow " + version,
		Environment: machine.Environment(), BootID: machine.BootID(), Targets: steps.Targets(p), Hypotheses: steps.Hypotheses(p), Nodes: nodesOf(g), Inputs: inputs,
	}})
	if err != nil {
		return err
	}
	runner := &runtime.Runner{Plan: p, Graph: g, Journal: runtime.StoreJournal(st), Step: lab.Step, Rerun: forced, Run: run}
	soft, hard, release := signals(ctx, a.stderr)
	defer release()
	runner.Hard = hard
	preview, err := runner.Preview()
	if err != nil {
		return err
	}
	progress := a.newProgress(p, run, estimate(p, st, preview))
	runner.Observe = progress.event
	if a.reword != nil {
		runner.Observe = func(ev runtime.Event) { progress.event(a.reword(ev)) }
	}
	progress.begin()
	result, err := runner.Execute(soft)
	return a.finish(st, g, run, result, err, progress)
}

// finish records the end of a run and prints the table.
func (a *app) finish(st *store.Store, g *runtime.Graph, run string, result *runtime.Result, runErr error, progress progress) error {
	outcome := runtime.Summarise(g, result)
	end := &ledger.End{Verdict: outcome.Verdict, Exit: outcome.Verdict.ExitCode(), Reason: verdict.New(code.Finished), Locked: result.Locked}
	switch {
	case runErr != nil:
		end.Verdict, end.Exit, end.Reason = verdict.Error, verdict.ExitBroken, verdict.OfError(runErr)
	case result.Interrupted:
		end.Verdict, end.Exit, end.Reason = "", verdict.ExitInterrupted, verdict.New(code.Interrupted)
	}
	err := st.Append(&ledger.Record{Type: "end", Time: time.Now().UTC(), Run: run, End: end})
	progress.end(outcome, end)
	if a.ending != nil {
		a.ending(st, run, outcome, end)
	}
	a.exit = end.Exit
	if runErr != nil {
		return runErr
	}
	return a.fail(verdict.ExitBroken, err)
}

// nodesOf are the addresses of all nodes in the order of the graph.
func nodesOf(g *runtime.Graph) (ids []string) {
	for _, n := range g.Nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

// runID sorts by time and is unique.
func runID(now time.Time) string {
	var b [3]byte
	if _, err := rand.Read(b[:]); err != nil {
		return now.UTC().Format("20060102T150405.000000")
	}
	return now.UTC().Format("20060102T150405-") + hex.EncodeToString(b[:])
}
