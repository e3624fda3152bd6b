// Package apply applies a plan: it opens and locks the state directory, stops what a
// killed apply left running, records inputs and outcome, and runs the graph. An observer
// receives everything as facts. The package prints nothing, reads no flags or signals,
// and decides no verdict.
package apply

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/seal"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/launch/remote"
)

type Options struct {
	// Path is the plan's file or folder as named, Loaded its contents, free of errors,
	// and Graph its nodes.
	Path   string
	Loaded *load.Result
	Graph  *runtime.Graph
	// StateDir is created if missing.
	StateDir string
	// Rerun are phases, features or nodes to measure again, or "all".
	Rerun []string
	// Target names the nodes to run, with their dependencies; empty means all.
	Target []string
	// Reuse lets launches of an earlier apply count whose engine cannot be identified.
	Reuse bool
	// Seal, which may be nil, allows a plan and a budget; SealFile is where it is.
	Seal     *seal.Seal
	SealFile string
	// Wait waits while another apply holds the state directory.
	Wait bool
	// Aside marks a run that is none of the plan's own applies.
	Aside bool
	// Reproduces is the record whose decisions the plan is to make again, and Lock what its Lock is
	// stored from; nil of others.
	Reproduces *ledger.Reproduces
	Lock       []byte
	// Tool is the program with its version, for the record.
	Tool string
	// Signer, which may be nil, signs the ledger.
	Signer ledger.Signer
	// Force ends what still runs after ctx has ended: the graceful shutdown of engines.
	Force context.Context
}

type Observer interface {
	// Note is a fact for a person that is not progress of the run.
	Note(verdict.Reason)
	// Begin is called once, before the first event.
	Begin(Start)
	// Event is called from several goroutines, with the time since the start and, if
	// known, to the end.
	Event(runtime.Event)
	// End is called once, when the end is on record and the store is still open.
	End(*Result)
}

// Start is a run that is about to start.
type Start struct {
	Run      string
	Plan     *plans.Plan
	Estimate Estimate
}

type Result struct {
	Run     string
	Summary runtime.Summary
	End     *ledger.End
	Took    time.Duration
	// Exit is its exit status; End's, unless the end could not be recorded.
	Exit int
	// Basis are the launches that its decisions rest on.
	Basis runtime.Basis
	// Left is what the next apply would do, after an interruption.
	Left []*runtime.State
	// Store is open until Run returns.
	Store *store.Store
}

// Run applies a plan. Without a result nothing was started. A result may come with an
// error: what broke, which is in the ledger, or why the end is not on record.
func Run(ctx context.Context, o Options, watch Observer) (*Result, error) {
	forced, targets, err := Named(o.Graph, o.Rerun, o.Target)
	if err != nil {
		return nil, err
	}
	lock, err := o.lock(ctx, watch.Note)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	st, err := store.OpenSigned(o.StateDir, o.Signer)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	for _, n := range st.Notices() {
		watch.Note(verdict.Say("apply.state_notice", "{notice}", verdict.Text("notice", n)))
	}
	if err := SamePlan(st, o.Loaded.Plan); err != nil {
		return nil, err
	}
	if o.Seal != nil {
		limited, counting, done, err := o.underSeal(ctx, report.Spent(st), watch)
		if err != nil {
			return nil, err
		}
		defer done()
		ctx, watch = limited, counting
	}
	for _, n := range MachineChanges(st, o.Loaded.Plan) {
		watch.Note(n)
	}
	r := &run{
		Options: o, id: runID(time.Now()), plan: o.Loaded.Plan, store: st, watch: watch,
		secrets: redact.New(o.Loaded.Plan.Secrets()),
	}
	runner, err := r.begin(lock)
	if r.lab != nil {
		defer r.lab.Launches.Close()
	}
	if r.pool != nil {
		defer r.pool.Close()
	}
	if err != nil {
		return nil, err
	}
	runner.Rerun, runner.Target = forced, targets
	ahead, err := runner.Reconcile()
	if err != nil {
		return nil, err
	}
	for _, n := range r.lab.Variants.Unidentified() {
		watch.Note(n)
	}
	known := LaunchHistoryOf(st)
	estimate := EstimateOf(r.plan, known, ahead)
	clock := newClock(known, piecesOf(r.plan, ahead), st.LaunchByID)
	runner.Observe = func(ev runtime.Event) { watch.Event(clock.at(ev)) }
	watch.Begin(Start{Run: r.id, Plan: r.plan, Estimate: estimate})
	runner.Observe(runtime.Event{Type: "run_started", Run: r.id, Message: r.plan.Name})
	outcome, err := runner.Execute(ctx)
	var next []*runtime.State
	if err == nil && outcome.Interrupted {
		// It is informational: on an error it is left out.
		next, _ = runner.Reconcile()
	}
	return r.end(outcome, err, clock, next)
}

// lockEvery is how often a lock held by another apply is retried.
const lockEvery = 100 * time.Millisecond

// lock locks the state directory, waiting for another apply if requested.
func (o *Options) lock(ctx context.Context, note func(verdict.Reason)) (*store.DirLock, error) {
	for said := false; ; {
		lock, err := store.Lock(o.StateDir)
		var held *store.HeldError
		if err == nil || !errors.As(err, &held) {
			return lock, err
		}
		if !o.Wait {
			return nil, fmt.Errorf("%w; wait for it (apply --wait), stop it, or use another state directory", err)
		}
		if !said && held.Holder != nil {
			said = true
			note(verdict.Say("state.wait",
				"waiting for process {pid}, which is using {subject} (Ctrl-C to stop waiting)",
				verdict.Int("pid", held.Holder.PID)).On(o.StateDir))
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(lockEvery):
		}
	}
}

// Named are the nodes that --rerun names, and those that --target does with their
// dependencies, nil if it names none.
func Named(g *runtime.Graph, rerun, target []string) (forced, targets func(*runtime.Node) bool, err error) {
	unknown := func(flag, name string) error {
		var names []string
		for _, n := range g.Nodes {
			names = append(names, n.Phase, n.Feature, n.ID)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
		slices.Sort(names)
		return fmt.Errorf("%s %s: no such phase, feature or node.%s", flag, name,
			lang.Suggest(name, slices.Compact(names)))
	}
	forced, not := runtime.RerunNodes(g, rerun)
	if len(not) > 0 {
		return nil, nil, unknown("--rerun", not[0])
	}
	if targets, not = runtime.TargetNodes(g, target); len(not) > 0 {
		return nil, nil, unknown("--target", not[0])
	}
	return forced, targets, nil
}

// run is one apply on an open state directory.
type run struct {
	Options
	id      string
	plan    *plans.Plan
	store   *store.Store
	watch   Observer
	secrets *redact.Redactor
	// pool makes launches on other machines, nil if the plan has none made there.
	pool *remote.Pool
	lab  *steps.Lab
}

// begin cleans up after earlier runs and records the inputs of this one.
func (r *run) begin(lock *store.DirLock) (*runtime.Runner, error) {
	owner := Owner(r.store.Dir())
	if err := r.cleanUp(owner); err != nil {
		return nil, err
	}
	runDir, err := r.store.RunDir(r.id)
	if err != nil {
		return nil, err
	}
	lab, err := NewLab(Wiring{
		Plan: r.plan, Graph: r.Graph, Store: r.store, Owner: owner, RunDir: runDir, Run: r.id,
		Reuse: r.Reuse, Note: r.watch.Note,
	})
	r.lab = lab
	if err != nil {
		return nil, err
	}
	if r.pool, err = r.newPool(owner); err != nil {
		return nil, err
	}
	if r.pool != nil {
		lab.Launches.Elsewhere = r.pool
	}
	sum, sums, err := putSources(r.store, r.Loaded, redact.OnlyWhole(r.plan.Secrets()))
	if err != nil {
		return nil, err
	}
	inputs, err := inputsOf(r.store, r.Loaded)
	if err != nil {
		return nil, err
	}
	if err := lock.Begin(r.id); err != nil {
		return nil, err
	}
	start := &ledger.RunStart{
		Plan: r.plan.Name, PlanFile: r.Path, PlanDigest: r.plan.Digest(), PlanSource: sum,
		PlanSources: sums, Tool: r.Tool,
		Environment: machine.Environment(), BootID: machine.BootID(), Targets: decide.Targets(r.plan),
		Hypotheses: decide.Hypotheses(r.plan), Inputs: inputs,
		Goals: decide.Goals(r.plan), Aside: r.Aside,
	}
	if r.Seal != nil {
		start.Seal = r.Seal.Digest
	}
	if r.Reproduces != nil {
		of := *r.Reproduces
		if of.Lock, err = r.store.Put(r.Lock); err != nil {
			return nil, err
		}
		start.Reproduces = &of
	}
	if start.Rules, err = seal.Rules(r.plan); err != nil { // a file that judges cannot be read: nothing is paid
		start.Rules = ""
	}
	lab.Launches.Draws, start.Draws = ledger.NewDraws()
	if lab.Variants.Since != r.id {
		start.Since = lab.Variants.Since
	}
	for _, n := range r.Graph.Nodes {
		start.Nodes = append(start.Nodes, n.ID)
	}
	if err := r.store.Append(&ledger.Record{Type: "run", Time: time.Now().UTC(), Run: r.id, RunStart: start}); err !=
		nil {
		return nil, err
	}
	return &runtime.Runner{
		Plan: r.plan, Graph: r.Graph, Journal: r.store.Journal(), Step: lab.Step, Run: r.id,
		Force: r.Force,
	}, nil
}

func (r *run) end(outcome *runtime.Result, broke error, clock *clock, next []*runtime.State) (*Result, error) {
	s := runtime.Summarise(outcome)
	end := &ledger.End{
		Verdict: s.Verdict, Exit: s.Verdict.ExitCode(), Reason: verdict.New(code.Finished),
		Locked: map[string]verdict.Reason{},
	}
	for _, st := range outcome.States {
		if !st.Locked.IsZero() {
			end.Locked[st.Node.ID] = st.Locked
		}
	}
	switch {
	case broke != nil:
		end.Verdict, end.Exit, end.Reason = verdict.Error, verdict.ExitBroken, verdict.OfError(broke)
	case outcome.Interrupted:
		end.Verdict, end.Exit, end.Reason = "", verdict.ExitInterrupted, verdict.New(code.Interrupted)
	}
	err := r.store.Append(&ledger.Record{Type: "end", Time: time.Now().UTC(), Run: r.id, End: end})
	res := &Result{
		Run: r.id, Summary: s, End: end, Exit: end.Exit, Took: time.Since(clock.began),
		Basis: basisOf(r.store, r.id, s.Rows), Left: next, Store: r.store,
	}
	r.watch.Event(clock.at(runtime.Event{
		Type: "run_done", Run: r.id, Verdict: string(end.Verdict), Exit: &end.Exit,
		Why: end.Reason, Basis: &res.Basis, Reward: report.RewardOf(r.store, r.id),
	}))
	r.watch.End(res)
	if broke != nil {
		return res, broke
	}
	if err != nil {
		res.Exit = verdict.ExitBroken
	}
	return res, err
}

// basisOf are the launches that the rows of a run rest on.
func basisOf(st *store.Store, run string, rows []*runtime.State) (b runtime.Basis) {
	seen := map[string]bool{}
	for _, row := range rows {
		if row.Decision == nil {
			continue
		}
		for _, id := range row.Decision.Launches {
			launch, ok := st.LaunchByID(id)
			if !ok || seen[id] {
				continue
			}
			if seen[id] = true; st.Origin(launch).Run == run {
				b.New++
				continue
			}
			if b.Old++; b.From.IsZero() || launch.Started.Before(b.From) {
				b.From = launch.Started
			}
			if launch.Started.After(b.To) {
				b.To = launch.Started
			}
		}
	}
	return b
}

// runID sorts by time and is unique.
func runID(now time.Time) string {
	var b [3]byte
	if _, err := rand.Read(b[:]); err != nil {
		return now.UTC().Format("20060102T150405.000000")
	}
	return now.UTC().Format("20060102T150405-") + hex.EncodeToString(b[:])
}
