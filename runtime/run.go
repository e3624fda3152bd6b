package runtime

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Journal keeps outcomes durably. Append returns when they are safe.
type Journal interface {
	// Latest is the newest recorded outcome of a node; nil if there is none.
	Latest(node string) *ledger.Decision
	// History is every recorded outcome of a node, oldest first.
	History(node string) []*ledger.Decision
	// Waiver is the newest waiver of a gate, whether or not it covers the latest
	// decision; nil if there is none.
	Waiver(node string) *ledger.Waiver
	// Retracted is every decision about a feature that a person withdrew, including
	// features that the plan no longer has.
	Retracted() []*ledger.Decision
	Append(records ...*ledger.Record) error
}

// Runner runs a graph. One goroutine (the one that calls Execute) owns all
// scheduling state, so there are no locks; steps run in goroutines of their own
// and hand their outcome back over a channel.
//
// A node's way:
//
//	waiting ──needs met──▶ ready ──slot──▶ running ──outcome recorded──▶ ended
//	   │                     │                └──ctx cancelled──▶ interrupted
//	   │                     └──keys unchanged──▶ ended (reused)
//	   └──a need can never be met──▶ locked
type Runner struct {
	Plan    *plans.Plan
	Graph   *Graph
	Journal Journal
	// Step returns the step of a node.
	Step func(*Node) (Step, error)
	// Observe receives progress from the scheduling goroutine and from steps' own, so it
	// must be safe for concurrent use.
	Observe func(Event)
	// Rerun forces a node to be decided again.
	Rerun func(*Node) bool
	// Target are the nodes to run; nil runs all. For the others, recorded outcomes are
	// kept if they still hold.
	Target func(*Node) bool
	// Run is the run's ID.
	Run string
	// Parallel limits nodes that run at once; zero is defaultParallel. Host nodes always
	// run one at a time.
	Parallel int
	// Hard is passed to steps; see Scope.Hard.
	Hard context.Context
	// Now is the clock; nil is the wall clock.
	Now func() time.Time
}

// Result is the outcome of a run.
type Result struct {
	// Outcomes by node, recorded or new.
	Outcomes map[string]*ledger.Decision
	// Reused marks those kept from before.
	Reused map[string]bool
	// Locked names each node that was not run, with the root cause.
	Locked map[string]verdict.Reason
	// Waived are the waivers that let later phases proceed after a gate, and Overruled
	// the effect of a waiver on each gate that has one and did not pass, for people.
	Waived    map[string]*ledger.Waiver
	Overruled map[string]verdict.Reason
	// Target is the Runner's.
	Target func(*Node) bool
	// Interrupted is set if the context was cancelled before the end.
	Interrupted bool
}

// defaultParallel nodes decide at once. Those that use the machine under test always run
// one at a time; the others only compute, and the more of them end together, the more
// share one fsync.
const defaultParallel = 64

type state int

const (
	waiting state = iota
	ready
	running
	ended
	locked
)

type finished struct {
	node     *Node
	scope    *Scope
	decision *ledger.Decision
	err      error
	seconds  float64
}

// execution is the state of one Execute.
type execution struct {
	*Runner
	state      map[string]state
	unmet      map[string]int
	dependents map[string][]*Node
	ready      queue
	host       queue // ready, waiting for the host
	running    int
	hostBusy   bool
	done       chan *finished
	result     *Result
	ctx        context.Context
	// outcomes and locks mirror result for steps, which read from their own goroutines;
	// only this one writes.
	outcomes, locks sync.Map
	overrule        *overrule
	fatal           error
}

// Execute runs the graph to its end. An error is a journal that cannot be written or a
// bug in mxflow; everything else is an outcome.
func (r *Runner) Execute(ctx context.Context) (*Result, error) {
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.Parallel <= 0 {
		r.Parallel = defaultParallel
	}
	if r.Hard == nil {
		r.Hard = context.Background()
	}
	e := &execution{
		Runner: r, ctx: ctx,
		state: map[string]state{}, unmet: map[string]int{}, dependents: map[string][]*Node{},
		done:     make(chan *finished, len(r.Graph.Nodes)),
		overrule: r.overrule(),
		result: &Result{
			Outcomes: map[string]*ledger.Decision{}, Reused: map[string]bool{}, Locked: map[string]verdict.Reason{},
			Waived: map[string]*ledger.Waiver{}, Overruled: map[string]verdict.Reason{}, Target: r.Target,
		},
	}
	for _, n := range r.Graph.Nodes {
		e.unmet[n.ID] = len(n.Needs)
		for _, need := range n.Needs {
			e.dependents[need.On] = append(e.dependents[need.On], n)
		}
		if len(n.Needs) == 0 {
			e.push(n)
		}
	}
	return e.loop()
}

func (e *execution) loop() (*Result, error) {
	for {
		for e.fatal == nil && e.ctx.Err() == nil {
			n := e.pop()
			if n == nil {
				break
			}
			e.start(n)
		}
		if e.running == 0 {
			break
		}
		e.collect(<-e.done)
	}
	if e.ctx.Err() != nil && e.fatal == nil {
		e.result.Interrupted = e.unfinished()
	}
	return e.result, e.fatal
}

func (e *execution) unfinished() bool {
	return slices.ContainsFunc(e.Graph.Nodes, func(n *Node) bool { return e.state[n.ID] != ended && e.state[n.ID] != locked })
}

func (e *execution) push(n *Node) {
	e.state[n.ID] = ready
	if n.Host {
		heap.Push(&e.host, n)
	} else {
		heap.Push(&e.ready, n)
	}
}

// pop takes the next node that may run now; nil if none may. Nodes that only decide come
// first: they take no time and may lock others.
func (e *execution) pop() *Node {
	if len(e.ready) > 0 && e.running < e.Parallel {
		return heap.Pop(&e.ready).(*Node)
	}
	if len(e.host) > 0 && !e.hostBusy && len(e.ready) == 0 {
		return heap.Pop(&e.host).(*Node)
	}
	return nil
}

// start keeps the recorded outcome of a node or runs it.
func (e *execution) start(n *Node) {
	step, err := e.Step(n)
	if err != nil {
		e.fatal = fmt.Errorf("node %s: %w", n.ID, err)
		return
	}
	s := e.scope(n)
	// Nothing else starts meanwhile: this prepares what nodes that use the machine start
	// from, and they run one at a time.
	var unprepared error
	left := e.leftOut(n)
	if p, ok := step.(Preparer); ok && left.IsZero() {
		if unprepared = p.Prepare(e.ctx, s); e.ctx.Err() != nil {
			return
		}
	}
	s.Keys, err = step.Keys(s)
	switch {
	case err == nil:
		s.Choice = e.overrule.choose(n, s, e.Rerun != nil && e.Rerun(n))
	case left.IsZero(): // else it may rest on what is left out too
		e.fatal = fmt.Errorf("node %s: %w", n.ID, err)
		return
	}
	if s.Action != Reuse && !left.IsZero() {
		e.lock(n, left)
		return
	}
	if s.Action != Reuse {
		step = e.overrule.instead(n, s, step)
	}
	if unprepared != nil && s.Action == Reuse {
		// It is unknown whether the earlier decision still holds.
		s.Choice = Choice{Measure, verdict.New(code.NotPrepared), s.Previous.Attempt + 1}
	}
	if s.Action == Reuse {
		e.end(n, s.Previous, true, 0)
		return
	}
	e.state[n.ID] = running
	e.running++
	if n.Host {
		e.hostBusy = true
	}
	e.emit(Event{Type: "node_started", Node: n.ID, Phase: n.Phase, Feature: n.Feature, Action: s.Action, Why: s.Because})
	began := e.Now()
	go func() {
		f := &finished{node: n, scope: s}
		defer func() {
			if p := recover(); p != nil {
				f.decision, f.err = nil, fmt.Errorf("mxflow panicked in %s: %v\n%s", n.ID, p, debug.Stack())
			}
			f.seconds = e.Now().Sub(began).Seconds()
			e.done <- f
		}()
		if f.err = unprepared; f.err == nil {
			f.decision, f.err = step.Run(e.ctx, s)
		}
	}()
}

// scope is what a step sees. It may be read from the step's own goroutine while this one
// continues, so lookups use maps made for that.
func (e *execution) scope(n *Node) *Scope {
	s := &Scope{
		Plan: e.Plan, Node: n, Run: e.Run, Previous: e.Journal.Latest(n.ID),
		Outcome: func(id string) *ledger.Decision {
			d, _ := e.outcomes.Load(id)
			decision, _ := d.(*ledger.Decision)
			return decision
		},
		LockedBy: e.lockedBy(func(id string) verdict.Reason {
			why, _ := e.locks.Load(id)
			reason, _ := why.(verdict.Reason)
			return reason
		}, func(id string) bool { _, ended := e.outcomes.Load(id); return ended }),
		Emit: e.emit, Context: e.ctx, Known: &sync.Map{}, Hard: e.Hard, Rerun: e.Rerun,
	}
	s.Chosen = e.overrule.chosen(s)
	return s
}

// end marks a node as ended and processes its dependents.
func (e *execution) end(n *Node, d *ledger.Decision, reused bool, seconds float64) {
	e.state[n.ID] = ended
	e.result.Outcomes[n.ID] = d
	e.outcomes.Store(n.ID, d)
	e.result.Reused[n.ID] = reused
	ev := Event{Type: "node_done", Node: n.ID, Phase: n.Phase, Feature: n.Feature, Verdict: string(d.Verdict), Reasons: d.Reasons, Findings: d.Findings, Seconds: seconds}
	if waiver := e.overrule.bears(d); !waiver.IsZero() {
		e.result.Overruled[n.ID], ev.Why = waiver, waiver
	}
	if w := e.overrule.covers(d); w != nil {
		e.result.Waived[n.ID], ev.Waiver = w, w
	}
	if reused {
		ev.Action = Reuse
	}
	e.emit(ev)
	e.release(n)
}

// release starts dependents of a settled node, or locks them.
func (e *execution) release(n *Node) {
	for _, d := range e.dependents[n.ID] {
		if e.state[d.ID] != waiting {
			continue
		}
		if why := e.barred(d, n); !why.IsZero() {
			e.lock(d, why)
			continue
		}
		if e.unmet[d.ID]--; e.unmet[d.ID] == 0 {
			e.push(d)
		}
	}
}

// barred is why d can never run now that n has settled; empty if it may.
func (e *execution) barred(d, n *Node) verdict.Reason {
	for _, need := range d.Needs {
		if need.On != n.ID {
			continue
		}
		why := e.result.Locked[n.ID]
		if outcome := e.result.Outcomes[n.ID]; outcome != nil {
			why = e.overrule.bars(d, need, outcome)
		} else if need.Mode == Settled {
			continue
		}
		if !why.IsZero() {
			return why
		}
	}
	return verdict.Reason{}
}

// lock settles a node that can never run, with the root cause and not the last link of
// the chain.
func (e *execution) lock(n *Node, why verdict.Reason) {
	e.state[n.ID] = locked
	e.result.Locked[n.ID] = why
	e.locks.Store(n.ID, why)
	e.emit(Event{Type: "node_locked", Node: n.ID, Phase: n.Phase, Feature: n.Feature, Why: why})
	e.release(n)
}

func (e *execution) emit(ev Event) {
	if e.Observe == nil {
		return
	}
	ev.Time, ev.Run = e.Now().UTC(), e.Run
	e.Observe(ev)
}

// collect records everything finished by now in one append, so outcomes that end together
// share one fsync, and only then releases dependents.
func (e *execution) collect(first *finished) {
	batch := []*finished{first}
	for {
		select {
		case f := <-e.done:
			batch = append(batch, f)
			continue
		default:
		}
		break
	}
	var records []*ledger.Record
	var kept []*finished
	for _, f := range batch {
		e.running--
		if f.node.Host {
			e.hostBusy = false
		}
		if e.interrupted(f) {
			continue
		}
		e.complete(f)
		records = append(records, &ledger.Record{Type: "decision", Time: e.Now().UTC(), Run: e.Run, Decision: f.decision})
		kept = append(kept, f)
	}
	if len(records) == 0 {
		return
	}
	if err := e.Journal.Append(records...); err != nil {
		e.fatal = fmt.Errorf("cannot record the outcome of %s: %w", kept[0].node.ID, err)
		return
	}
	for _, f := range kept {
		e.end(f.node, f.decision, false, f.seconds)
	}
}

func (e *execution) interrupted(f *finished) bool {
	if f.err == nil || e.ctx.Err() == nil {
		return false
	}
	return errors.Is(f.err, context.Canceled) || errors.Is(f.err, context.DeadlineExceeded)
}

// name adds to a decision what it is about and what it rests on.
func (s *Scope) name(d *ledger.Decision) {
	d.Node, d.Kind, d.Phase, d.Feature = s.Node.ID, string(s.Node.Kind), s.Node.Phase, s.Node.Feature
	d.MeasureKey, d.DecisionKey = s.Keys.Measure, s.Keys.Decide
	d.Attempt, d.Because, d.Supersedes = s.Attempt, s.Because, s.Previous != nil
}

// complete fills in what every decision has in common.
func (e *execution) complete(f *finished) {
	d := f.decision
	if f.err != nil || d == nil || !d.Verdict.Known() {
		d = &ledger.Decision{Verdict: verdict.Error}
		switch {
		case f.err != nil:
			d.Reasons = []verdict.Reason{verdict.OfError(f.err)}
		default:
			d.Reasons = []verdict.Reason{verdict.New(code.NoVerdict)}
		}
		f.decision = d
	}
	s := f.scope
	s.name(d)
	if DecidesAlone(f.node.Kind) && f.err == nil {
		d.Derived = true
	}
	d = e.overrule.retractedBefore(s, d)
	f.decision = d
	d.ClaimKey = s.Keys.Claim
	if d.Of = 0; s.Because.Code == code.HypothesisChanged && d.SameOutcome(s.Previous) {
		// Decisions on it continue to rest on the attempt that decided it.
		d.Of = s.Previous.DecidedBy()
	}
	d.Seconds = f.seconds
}

// queue is a heap of nodes by order, so among ready nodes the first in the plan runs
// first.
type queue []*Node

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].Order < q[j].Order }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*Node)) }
func (q *queue) Pop() any {
	old := *q
	n := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return n
}
