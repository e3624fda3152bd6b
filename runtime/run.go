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

// Runner runs a graph, one node after the other, each in the goroutine that calls Execute.
// A step may launch engines side by side.
//
// A node's way:
//
//	waiting ──needs met──▶ ready ──turn──▶ running ──outcome recorded──▶ ended
//	   │                     │                └──ctx cancelled──▶ interrupted
//	   │                     └──keys unchanged──▶ ended (reused)
//	   └──a need can never be met──▶ locked
type Runner struct {
	Plan    *plans.Plan
	Graph   *Graph
	Journal Journal
	// Step returns the step of a node.
	Step func(*Node) (Step, error)
	// Observe receives progress from the caller of Execute and from steps' own goroutines,
	// so it must be safe for concurrent use.
	Observe func(Event)
	// Rerun forces a node to be decided again.
	Rerun func(*Node) bool
	// Target are the nodes to run; nil runs all. For the others, recorded outcomes are
	// kept if they still hold.
	Target func(*Node) bool
	// Run is the run's ID.
	Run string
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

type state int

const (
	waiting state = iota
	ready
	ended
	locked
)

// execution is the state of one Execute.
type execution struct {
	*Runner
	state      map[string]state
	unmet      map[string]int
	dependents map[string][]*Node
	deciding   queue // ready nodes that only decide
	working    queue // ready nodes that use the machine
	result     *Result
	ctx        context.Context
	overrule   *overrule
}

// Execute runs the graph to its end. An error is a journal that cannot be written or a
// bug in mxflow; everything else is an outcome.
func (r *Runner) Execute(ctx context.Context) (*Result, error) {
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.Hard == nil {
		r.Hard = context.Background()
	}
	e := &execution{
		Runner: r, ctx: ctx,
		state: map[string]state{}, unmet: map[string]int{}, dependents: map[string][]*Node{},
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
	for ctx.Err() == nil {
		n := e.pop()
		if n == nil {
			break
		}
		if err := e.node(n); err != nil {
			return e.result, err
		}
	}
	e.result.Interrupted = ctx.Err() != nil && e.unfinished()
	return e.result, nil
}

func (e *execution) unfinished() bool {
	return slices.ContainsFunc(e.Graph.Nodes, func(n *Node) bool { return e.state[n.ID] != ended && e.state[n.ID] != locked })
}

func (e *execution) push(n *Node) {
	e.state[n.ID] = ready
	if DecidesAlone(n.Kind) {
		heap.Push(&e.deciding, n)
	} else {
		heap.Push(&e.working, n)
	}
}

// pop takes the next ready node; nil if there is none. Nodes that only decide come first:
// they take no time and may lock others.
func (e *execution) pop() *Node {
	switch {
	case len(e.deciding) > 0:
		return heap.Pop(&e.deciding).(*Node)
	case len(e.working) > 0:
		return heap.Pop(&e.working).(*Node)
	}
	return nil
}

// node keeps the recorded outcome of a node, or runs it and records its outcome. An error
// ends the run.
func (e *execution) node(n *Node) error {
	step, err := e.Step(n)
	if err != nil {
		return fmt.Errorf("node %s: %w", n.ID, err)
	}
	s := e.scope(n)
	var unprepared error
	left := e.leftOut(n)
	if p, ok := step.(Preparer); ok && left.IsZero() {
		if unprepared = p.Prepare(e.ctx, s); e.ctx.Err() != nil {
			return nil
		}
	}
	s.Keys, err = step.Keys(s)
	switch {
	case err == nil:
		s.Choice = e.overrule.choose(n, s, e.Rerun != nil && e.Rerun(n))
	case left.IsZero(): // else it may rest on what is left out too
		return fmt.Errorf("node %s: %w", n.ID, err)
	}
	if s.Action != Reuse && !left.IsZero() {
		e.lock(n, left)
		return nil
	}
	if s.Action != Reuse {
		step = e.overrule.instead(n, s, step)
	}
	if unprepared != nil && s.Action == Reuse {
		// It is unknown whether the earlier decision still holds.
		s.Choice = Choice{Measure, Retry, verdict.Say("not_prepared", "not prepared"), s.Previous.Attempt + 1}
	}
	if s.Action == Reuse {
		e.end(n, s.Previous, true, 0)
		return nil
	}
	e.emit(Event{Type: "node_started", Node: n.ID, Phase: n.Phase, Feature: n.Feature, Action: s.Action, Why: s.Because})
	began := e.Now()
	var d *ledger.Decision
	if err = unprepared; err == nil {
		d, err = e.run(step, s)
	}
	if interrupted(e.ctx, err) {
		return nil
	}
	seconds := e.Now().Sub(began).Seconds()
	d = e.complete(s, d, err)
	d.Seconds = seconds
	if err := e.Journal.Append(&ledger.Record{Type: "decision", Time: e.Now().UTC(), Run: e.Run, Decision: d}); err != nil {
		return fmt.Errorf("cannot record the outcome of %s: %w", n.ID, err)
	}
	e.end(n, d, false, seconds)
	return nil
}

// run runs a step. A panic is an error.
func (e *execution) run(step Step, s *Scope) (d *ledger.Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = nil, fmt.Errorf("mxflow panicked in %s: %v\n%s", s.Node.ID, p, debug.Stack())
		}
	}()
	return step.Run(e.ctx, s)
}

// scope is what a step sees. Goroutines of the step may read it: nothing changes while it
// runs.
func (e *execution) scope(n *Node) *Scope {
	s := &Scope{
		Plan: e.Plan, Node: n, Run: e.Run, Previous: e.Journal.Latest(n.ID),
		Outcome:  func(id string) *ledger.Decision { return e.result.Outcomes[id] },
		LockedBy: e.lockedBy(func(id string) verdict.Reason { return e.result.Locked[id] }, func(id string) bool { return e.result.Outcomes[id] != nil }),
		Emit:     e.emit, Context: e.ctx, Known: &sync.Map{}, Hard: e.Hard, Rerun: e.Rerun,
	}
	s.Chosen = e.overrule.chosen(s)
	return s
}

// end marks a node as ended and processes its dependents.
func (e *execution) end(n *Node, d *ledger.Decision, reused bool, seconds float64) {
	e.state[n.ID] = ended
	e.result.Outcomes[n.ID] = d
	e.result.Reused[n.ID] = reused
	ev := Event{Type: "node_done", Node: n.ID, Phase: n.Phase, Feature: n.Feature, Verdict: string(d.Verdict), Reasons: d.Why(), Findings: d.Findings, Seconds: seconds}
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

// interrupted reports whether an error of a step only means that the run was cancelled.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// name adds to a decision what it is about and what it rests on.
func (s *Scope) name(d *ledger.Decision) {
	d.Node, d.Kind, d.Phase, d.Feature = s.Node.ID, string(s.Node.Kind), s.Node.Phase, s.Node.Feature
	d.MeasureKey, d.DecisionKey = s.Keys.Measure, s.Keys.Decide
	d.Attempt, d.Because, d.Supersedes = s.Attempt, s.Because, s.Previous != nil
}

// complete fills in what every decision has in common.
func (e *execution) complete(s *Scope, d *ledger.Decision, err error) *ledger.Decision {
	if err != nil || d == nil || !d.Verdict.Known() {
		d = &ledger.Decision{Verdict: verdict.Error}
		switch {
		case err != nil:
			d.Reasons = []verdict.Reason{verdict.OfError(err)}
		default:
			d.Reasons = []verdict.Reason{verdict.Say("no_verdict", "the step returned no verdict (a bug in mxflow)")}
		}
	}
	s.name(d)
	if DecidesAlone(s.Node.Kind) && err == nil {
		d.Derived = true
	}
	d = e.overrule.retractedBefore(s, d)
	d.ClaimKey = s.Keys.Claim
	if d.Of = 0; s.Why == HypothesisChanged && d.SameOutcome(s.Previous) {
		// Decisions on it continue to rest on the attempt that decided it.
		d.Of = s.Previous.DecidedBy()
	}
	return d
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
