package runtime

import (
	"cmp"
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

// Journal is the record. Append returns when what it is given is safe.
type Journal interface {
	// Latest is the newest recorded outcome of a node; nil if there is none.
	Latest(node string) *ledger.Decision
	// Waiver is the newest waiver of a gate, whether or not it covers the latest
	// decision; nil if there is none.
	Waiver(node string) *ledger.Waiver
	Append(records ...*ledger.Record) error
}

// Runner is a plan and its record, and how the work of its nodes is done.
type Runner struct {
	Plan    *plans.Plan
	Graph   *Graph
	Journal Journal
	Step    func(*Node) (Step, error)
	// Observe receives progress from the caller of Execute and from steps' own goroutines,
	// so it must be safe for concurrent use.
	Observe func(Event)
	// Rerun are the nodes that a person wants to be measured or decided again.
	Rerun func(*Node) bool
	// Target are the nodes to run; nil runs all. For the others, recorded outcomes are
	// kept if they still hold.
	Target func(*Node) bool
	Run    string
	// Force is passed to steps; see Scope.Force.
	Force context.Context
	// Now is the clock; nil is the wall clock.
	Now func() time.Time
}

// State is what a plan and its record say of one node.
type State struct {
	Node *Node
	// Decision is its outcome, and Recorded set if that is the newest on record. It is nil
	// if the node is locked or its work is missing, or rests on work that is.
	Decision *ledger.Decision
	Recorded bool
	// Locked is the root cause of a node that cannot run.
	Locked verdict.Reason
	// Why is the reason for its work, or for deciding it again; Launches are those of the
	// work, and Notes what they can show. If is the outcome that it waits for.
	Why      verdict.Reason
	Launches []Launch
	Notes    []verdict.Reason
	If       string
	// Waiver lets later phases proceed after a gate that did not pass. Overruled is the
	// effect of the newest waiver on the verdict, including one that does not cover it.
	Waiver    *ledger.Waiver
	Overruled verdict.Reason
}

// HasWork reports whether a node has work to do.
func (s *State) HasWork() bool {
	return s.Decision == nil && s.Locked.IsZero() && !DecidesAlone(s.Node.Kind)
}

// Reconcile derives the state of each node from the plan and the record, in the graph's
// order: its outcome, why it is locked, or the work that is missing. Nodes that wait for
// missing work are derived as if that passed where possible, so the states are all that
// an apply would do. It changes nothing.
func (r *Runner) Reconcile() ([]*State, error) {
	w := r.walk()
	w.memo = &sync.Map{}
	var out []*State
	for _, n := range r.Graph.Nodes {
		st, _, s, err := w.derive(n)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.ID, err)
		}
		if out = append(out, st); st.Decision != nil || !st.Locked.IsZero() {
			continue
		}
		w.Open[n.ID] = true
		w.Decisions[n.ID] = &ledger.Decision{
			Node: n.ID, Kind: string(n.Kind), Phase: n.Phase, Feature: n.Feature, Verdict: verdict.Pass,
			Variant:  s.variant,
			Accepted: n.Kind == KindFeature && (n.FeatureBlock == nil || !n.FeatureBlock.Trial),
		}
	}
	return out, nil
}

// LockedNodes are the nodes that cannot run, and why, where each of the others has its newest outcome on record.
func (r *Runner) LockedNodes() map[string]verdict.Reason {
	w := r.walk()
	for _, n := range r.Graph.Nodes {
		for _, need := range n.Needs {
			if why := w.lockReason(need); !why.IsZero() {
				w.Locks[n.ID] = why
				break
			}
		}
		if w.Locks[n.ID].IsZero() {
			w.Decisions[n.ID] = r.Journal.Latest(n.ID)
		}
	}
	return w.Locks
}

type Result struct {
	// States are all nodes; those that the run did not come to have neither a decision nor
	// a lock.
	States []*State
	Target func(*Node) bool
	// Interrupted is set if the context was cancelled before the end.
	Interrupted bool
}

// Execute is Reconcile that does the work where it is missing, one node after the other in
// the goroutine of the caller, and records each outcome that is not on record. A step may
// launch engines side by side. An error is a journal that cannot be written or a bug in
// mxflow; everything else is an outcome.
func (r *Runner) Execute(ctx context.Context) (*Result, error) {
	if r.Force == nil {
		r.Force = context.Background()
	}
	w, out := r.walk(), &Result{Target: r.Target}
	w.ctx = ctx
	var failed error
	for _, n := range r.Graph.Nodes {
		st := &State{Node: n}
		if failed == nil && !out.Interrupted {
			now, err := w.decide(n)
			if failed = err; now != nil {
				st = now
			} else {
				out.Interrupted = err == nil
			}
		}
		out.States = append(out.States, st)
	}
	return out, failed
}

// walk is one pass over the graph, with the outcomes of its nodes so far.
type walk struct {
	*Runner
	// ctx ends the work; nil if none is done.
	ctx context.Context
	// at is the instant for waivers: one that expires during an apply holds for all of
	// it, so what unlocks does not depend on how fast launches were.
	at time.Time
	// waived are the phases whose gate is waived as last decided.
	waived map[string]bool

	// NodeOutcomes are those so far.
	NodeOutcomes
	// memo is what steps found out in a walk that does nothing, where no node's work can
	// change what another's sees; nil in an apply.
	memo *sync.Map
}

func (r *Runner) walk() *walk {
	w := &walk{
		Runner: r, at: r.now(), waived: map[string]bool{},
		NodeOutcomes: NodeOutcomes{map[string]*ledger.Decision{}, map[string]verdict.Reason{}, map[string]bool{}},
	}
	for _, n := range r.Graph.Nodes {
		if n.Phase != "" && w.validWaiver(r.Journal.Latest(n.ID)) != nil {
			w.waived[n.Phase] = true
		}
	}
	return w
}

func (r *Runner) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// LockedBy is why a node is locked, which may be that a person named others.
func (w *walk) LockedBy(id string) verdict.Reason {
	if n := w.Graph.Node(id); w.Locks[id].IsZero() && n != nil && w.Decisions[id] == nil {
		return w.excludedBy(n)
	}
	return w.Locks[id]
}

// scope is what a step sees. Goroutines of the step may read it: nothing changes while it
// runs.
func (w *walk) scope(n *Node) *Scope {
	s := &Scope{
		Plan: w.Plan, Node: n, Run: w.Run, Previous: w.Journal.Latest(n.ID), Attempt: 1,
		Forced:   w.Rerun != nil && w.Rerun(n),
		Outcomes: w, Emit: w.emit, Context: w.ctx, Memo: w.memo, Force: w.Force, w: w,
	}
	if s.Memo == nil {
		s.Memo = &sync.Map{}
	}
	if s.Previous != nil {
		s.Attempt = s.Previous.Attempt + 1
	}
	return s
}

// derive is what the record says of a node, given those before it.
func (w *walk) derive(n *Node) (*State, Step, *Scope, error) {
	st, s := &State{Node: n}, w.scope(n)
	for _, need := range n.Needs {
		if st.Locked = w.lockReason(need); !st.Locked.IsZero() {
			w.Locks[n.ID] = st.Locked
			return st, nil, s, nil
		}
		if w.Open[need.On] && need.Mode != Settled {
			st.condition(need, w.Graph.Node(need.On))
		}
	}
	step, err := w.Step(n)
	if err != nil {
		return nil, nil, nil, err
	}
	left, p := w.excludedBy(n), s.Previous
	var unprepared error
	if pre, ok := step.(Preparer); ok && left.IsZero() && w.ctx != nil {
		unprepared = pre.Prepare(w.ctx, s)
	}
	if DecidesAlone(n.Kind) && w.assumes(n) && !left.IsZero() {
		st.Locked, w.Locks[n.ID] = left, left
		return st, nil, s, nil
	}
	if DecidesAlone(n.Kind) && w.assumes(n) {
		if st.Why = verdict.Say("first", "first"); p != nil {
			st.Why = verdict.Say("evidence_changed", "evidence changed")
		}
		if w.invalid(n) {
			st.Decision = &ledger.Decision{
				Node: n.ID, Kind: string(n.Kind), Verdict: verdict.Invalid,
				Variant: w.variant(n),
			}
			w.Decisions[n.ID] = st.Decision
		}
		s.variant = w.variant(n)
		return st, step, s, nil
	}
	if DecidesAlone(n.Kind) {
		s.Key = w.basis(n)
	}
	d, err := step.Derive(s)
	if err != nil && left.IsZero() {
		return nil, nil, nil, err
	} else if err != nil { // it may rest on what is left out too
		d = &Derived{}
	}
	s.Key, s.RulesKey, s.variant = d.Key, d.RulesKey, d.Variant
	if unprepared != nil {
		// It is unknown whether the earlier outcome still holds.
		st.Decision, st.Why = s.brokenOutcome(unprepared), verdict.Say("not_prepared", "not prepared")
		st.Decision.Because = st.Why
		return st, step, s, w.ctx.Err()
	}
	st.Decision, st.Why, st.Launches, st.Notes = d.Outcome, d.Why, d.Launches, d.Notes
	if o := st.Decision; o != nil && o != p {
		s.name(o)
		o.Because = d.Why
		switch why := o.Changed(p); {
		case s.Forced:
			o.Because = verdict.Say("rerun", "--rerun")
		case why.IsZero():
			st.Decision = p
		case o.Because.IsZero():
			o.Because = why
		}
		if st.Decision != p {
			st.Why = o.Because
		}
	}
	st.Recorded = st.Decision != nil && st.Decision == p
	if !left.IsZero() && !st.Recorded {
		*st = State{Node: n, Locked: left}
		w.Locks[n.ID] = left
		return st, nil, s, nil
	}
	if st.Decision != nil {
		w.Decisions[n.ID] = st.Decision
		st.Waiver, st.Overruled = w.validWaiver(st.Decision), w.waiverEffect(st.Decision)
	}
	return st, step, s, nil
}

// condition is an open outcome that a node depends on.
func (st *State) condition(need Need, on *Node) {
	switch {
	case on.Kind == KindCriteria && on.ID == FirstID(on.Feature):
		st.If = FeatureID(on.Feature) + " passes on the first engine"
	case st.If != "" && on.Kind != KindCriteria:
		// Confirmations depend on more than their phase does.
	case need.Mode == Decided:
		st.If = on.ID + " is decided"
	default:
		st.If = on.ID + " passes"
	}
}

// decide derives a node's outcome, does the work that is missing for it, and records it;
// nil if it was interrupted. An error ends the run.
func (w *walk) decide(n *Node) (*State, error) {
	if w.ctx.Err() != nil {
		return nil, nil
	}
	st, step, s, err := w.derive(n)
	switch {
	case w.ctx.Err() != nil:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("node %s: %w", n.ID, err)
	case !st.Locked.IsZero():
		w.emit(Event{Type: "node_locked", Node: n.ID, Phase: n.Phase, Feature: n.Feature, Why: st.Locked})
		return st, nil
	}
	done := Event{Type: "node_done", Node: n.ID, Phase: n.Phase, Feature: n.Feature}
	if st.Recorded {
		done.Action = Reuse
	} else {
		began := w.now()
		if st.Decision == nil {
			w.emit(Event{
				Type: "node_started", Node: n.ID, Phase: n.Phase, Feature: n.Feature,
				Action: Measure, Why: st.Why,
			})
			d, err := w.do(step, s)
			if w.ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
				return nil, nil
			}
			switch {
			case err != nil:
				d = s.brokenOutcome(err)
			case d == nil || !d.Verdict.Known():
				d = s.brokenOutcome(errors.New("the step returned no verdict (a bug in mxflow)"))
			}
			out := *d
			s.name(&out)
			out.Because, st.Decision = st.Why, &out
		}
		done.Seconds = w.now().Sub(began).Seconds()
		st.Decision.Seconds = done.Seconds
		record := &ledger.Record{Type: "decision", Time: w.now().UTC(), Run: w.Run, Decision: st.Decision}
		if err := w.Journal.Append(record); err != nil {
			return nil, fmt.Errorf("cannot record the outcome of %s: %w", n.ID, err)
		}
		w.Decisions[n.ID] = st.Decision
		st.Waiver, st.Overruled = w.validWaiver(st.Decision), w.waiverEffect(st.Decision)
	}
	d := st.Decision
	done.Decision, done.Verdict, done.Reasons, done.Findings = d, string(d.Verdict), d.Why(), d.Findings
	done.Why, done.Waiver = st.Overruled, st.Waiver
	w.emit(done)
	return st, nil
}

// do does the work of a step. A panic is an error.
func (w *walk) do(step Step, s *Scope) (d *ledger.Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = nil, fmt.Errorf("mxflow panicked in %s: %v\n%s", s.Node.ID, p, debug.Stack())
		}
	}()
	return step.Do(w.ctx, s)
}

// brokenOutcome is the outcome of a node whose work broke.
func (s *Scope) brokenOutcome(err error) *ledger.Decision {
	d := &ledger.Decision{Verdict: verdict.Error, Reasons: []verdict.Reason{verdict.OfError(err)}}
	s.name(d)
	return d
}

// name adds to a decision its node and its basis.
func (s *Scope) name(d *ledger.Decision) {
	d.Node, d.Kind, d.Phase, d.Feature = s.Node.ID, string(s.Node.Kind), s.Node.Phase, s.Node.Feature
	d.MeasureKey, d.DecisionKey = cmp.Or(d.MeasureKey, s.Key), s.RulesKey
	d.Attempt, d.Supersedes = s.Attempt, s.Previous != nil
}

func (w *walk) emit(ev Event) {
	if w.Observe == nil || w.ctx == nil {
		return
	}
	ev.Time, ev.Run = w.now().UTC(), w.Run
	w.Observe(ev)
}

// basis identifies the evidence of a decision: the work below it, and the outcomes of
// decisions below it. A benchmark judged again, or another hypothesis, leaves it as it
// is.
func (w *walk) basis(n *Node) string {
	var parts []any
	for _, need := range n.Needs {
		d := w.Decisions[need.On]
		switch {
		case d == nil:
			parts = append(parts, need.On, w.Locks[need.On].Key())
		case DecidesAlone(Kind(d.Kind)) || Kind(d.Kind) == KindBenchmark:
			parts = append(parts, need.On, d.MeasureKey, d.Verdict, d.Accepted, d.Session, d.Launches, d.Statistics)
			for _, r := range d.Rules {
				// by other rules it is another decision, and no waiver of what rests on it stays
				parts = append(parts, r.Name, r.Expr)
				for _, c := range r.Comparisons {
					parts = append(parts, c.Op, c.Right)
				}
			}
		default:
			parts = append(parts, need.On, d.Attempt)
		}
	}
	return Digest(parts...)
}

// assumes reports whether a decision would rest on an outcome that is only assumed.
func (w *walk) assumes(n *Node) bool {
	if slices.ContainsFunc(n.Needs, func(need Need) bool { return w.Open[need.On] }) {
		return true
	}
	return slices.ContainsFunc(reads(n), func(id string) bool { return w.Open[id] })
}

// reads are the nodes whose outcomes the rules of a gate read.
func reads(n *Node) (ids []string) {
	if n.Kind != KindGate {
		return nil
	}
	for _, r := range n.PhaseBlock.Gate.Rules {
		for _, in := range r.Inputs() {
			switch {
			case in.Row != nil && *in.Row == plans.BaselineRow:
				ids = append(ids, BaselineID)
			case in.Row != nil:
				ids = append(ids, StepID(in.Row.Phase, in.Row.Kind(), in.Row.Step))
			case in.Feature != "":
				ids = append(ids, FeatureID(in.Feature))
			}
		}
	}
	return ids
}

// invalid reports whether a decision can only be invalid, whatever open outcomes come to:
// an outcome that does not count allows none that counts.
func (w *walk) invalid(n *Node) bool {
	uncounted := func(id string) bool { d := w.Decisions[id]; return d != nil && d.Verdict == verdict.Invalid }
	never := func(id string) bool { return uncounted(id) || !w.Locks[id].IsZero() }
	switch n.Kind {
	case KindFeature, KindCriteria:
		if n.Kind == KindFeature && len(n.FeatureBlock.Confirm) > 0 {
			return slices.ContainsFunc(n.Needs, func(need Need) bool {
				on := w.Graph.Node(need.On)
				return on != nil && on.Kind == KindCriteria && uncounted(need.On)
			})
		}
		return !slices.ContainsFunc(Candidates(n.FeatureBlock), func(f *plans.Feature) bool {
			return !uncounted(QualifyID(f.Name)) && !uncounted(BenchmarkID(f.Name))
		})
	case KindGate:
		return slices.ContainsFunc(reads(n), never)
	case KindPhase:
		return slices.ContainsFunc(n.PhaseBlock.Features, func(f *plans.Feature) bool {
			return never(FeatureID(f.Name))
		})
	}
	return false
}

// variant is the variant of the first candidate of a feature's node that may count.
func (w *walk) variant(n *Node) (v map[string]string) {
	if n.FeatureBlock == nil {
		return nil
	}
	for _, f := range slices.Backward(Candidates(n.FeatureBlock)) {
		if q := w.Decisions[QualifyID(f.Name)]; q != nil && (v == nil || q.Verdict != verdict.Invalid) {
			v = q.Variant
		}
	}
	if d := w.Decisions[FirstID(n.Feature)]; n.Kind == KindFeature && d != nil {
		v = d.Variant
	}
	return v
}

// DecidesAlone reports whether nodes of a kind follow from recorded evidence alone.
func DecidesAlone(k Kind) bool {
	switch k {
	case KindFeature, KindCriteria, KindGate, KindPhase:
		return true
	}
	return false
}

type Summary struct {
	// Verdict is the worst of all evaluated gates, and of what kept gates from being
	// evaluated. Locked work never improves it.
	Verdict verdict.Verdict
	Rows    []*State
}

// Summarise joins a result. A baseline that is not qualified keeps every gate from being
// evaluated, so it counts as one. If a gate was left out, everything that a person named
// counts in its place.
func Summarise(r *Result) Summary {
	s := Summary{Rows: r.States}
	var vs []verdict.Verdict
	leftOut := slices.ContainsFunc(r.States, func(st *State) bool {
		return Waivable(st.Node.Kind) && st.Locked.Kind == code.NotTargeted.Kind
	})
	if leftOut {
		// Nothing shows that these gates pass.
		vs = append(vs, verdict.Inconclusive)
	}
	var baseline *ledger.Decision
	for _, st := range r.States {
		n, d := st.Node, st.Decision
		if d == nil {
			continue
		}
		if n.ID == BaselineID {
			baseline = d
		}
		switch {
		case !Waivable(n.Kind) && !(n.ID == BaselineID && !d.Verdict.Unlocks()) && !(leftOut && r.Target(n)):
		case st.Waiver != nil:
			vs = append(vs, verdict.Waived)
		default:
			vs = append(vs, d.Verdict)
		}
	}
	if len(vs) == 0 && baseline != nil {
		vs = append(vs, baseline.Verdict)
	}
	s.Verdict = verdict.Join(vs...)
	return s
}
