package runtime

import (
	"container/heap"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func (e *execution) push(n *Node) {
	e.state[n.ID] = ready
	if n.Host {
		heap.Push(&e.host, n)
	} else {
		heap.Push(&e.ready, n)
	}
}

// pop takes the next node that may run now; nil when none may. Nodes that only
// decide come first: they take no time and may lock what would.
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
	// Nothing else starts meanwhile: what is prepared is what nodes that use the
	// machine start from, and they go one at a time.
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
		// It is not known whether what was decided still holds.
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

// scope is what a step sees. It may be read from the step's own goroutine while
// this one goes on, so lookups go through maps made for that.
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

// end marks a node as ended and looks at what waited for it.
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

// release lets dependents of a settled node go, or locks them.
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

// barred says why d can never run now that n has settled; empty when it may.
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

// lock settles a node that can never run, with the root cause and not the last
// link of the chain.
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
