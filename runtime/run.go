package runtime

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Journal keeps outcomes durably. Append returns when they are safe.
type Journal interface {
	// Latest is the newest recorded outcome of a node; nil when there is none.
	Latest(node string) *ledger.Decision
	// History is every recorded outcome of a node, oldest first.
	History(node string) []*ledger.Decision
	// Waiver is the newest waiver of a gate, whether or not it covers what was
	// decided last; nil when there is none.
	Waiver(node string) *ledger.Waiver
	// Retracted is every decision about a feature that a person withdrew, also about
	// those that the plan does not have any more.
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
	// Step makes the step of a node.
	Step func(*Node) (Step, error)
	// Observe receives progress from the scheduling goroutine and from steps'
	// own, so it must be safe to call from several at once.
	Observe func(Event)
	// Rerun forces a node to be decided again.
	Rerun func(*Node) bool
	// Target are the nodes that are run; nil runs all. Of the others, what is recorded
	// is kept where it still holds.
	Target func(*Node) bool
	// Run is the run's ID.
	Run string
	// Parallel bounds nodes that run at once; zero is defaultParallel.
	// Host nodes run one at a time whatever it is.
	Parallel int
	// Hard is handed to steps; see Scope.Hard.
	Hard context.Context
	// Now is the clock; nil is the wall clock.
	Now func() time.Time
}

// Result is how a run ended.
type Result struct {
	// Outcomes by node, recorded or new.
	Outcomes map[string]*ledger.Decision
	// Reused says which of them were kept from before.
	Reused map[string]bool
	// Locked names each node that was not run, with the root cause.
	Locked map[string]verdict.Reason
	// Waived are the waivers by which what comes after a gate went on, and
	// Overruled what a waiver means for each gate that has one and did not pass,
	// for people.
	Waived    map[string]*ledger.Waiver
	Overruled map[string]verdict.Reason
	// Target is the Runner's.
	Target func(*Node) bool
	// Interrupted is set when the context was cancelled before the end.
	Interrupted bool
}

// defaultParallel nodes decide at once. Those that use the machine under test go
// one at a time whatever it is; the others only think, and the more of them end
// together, the more share one fsync.
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
	// outcomes and locks mirror result for steps, which read from their own
	// goroutines; only this one writes.
	outcomes, locks sync.Map
	overrule        *overrule
	fatal           error
}

// Execute runs the graph to its end. An error is a journal that cannot be
// written or a mistake in mxflow; everything else is an outcome.
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
