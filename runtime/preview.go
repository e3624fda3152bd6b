package runtime

import (
	"fmt"
	"sync"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Foreseer is a step that can say in advance what it will do.
type Foreseer interface {
	// Foresee returns the outcome if all goes well, as far as later nodes read it, and
	// the launches still to be made for it. It has a verdict only if that is certain.
	Foresee(s *Scope) (*ledger.Decision, []PlannedLaunch, error)
}

// PlannedLaunch is one launch that an apply would make.
type PlannedLaunch struct {
	Variant    string `json:"variant"`
	VariantKey string `json:"variant_key"`
	Engine     string `json:"engine"`
	// Model is what the engine's command loads, and Work the key of what is sent.
	Model   string `json:"model,omitempty"`
	Work    string `json:"work,omitempty"`
	Purpose string `json:"purpose"`
	// Alone is set if no other launch of its node can run beside it.
	Alone bool `json:"alone,omitempty"`
	// Paced is how long its levels take by the clock, however fast the engine is;
	// seconds.
	Paced float64 `json:"paced_s,omitempty"`
	// Sure is set if it is made in any case: others are only made while they could still
	// settle a rule.
	Sure bool `json:"sure,omitempty"`
}

// Planned is what an apply would do with one node.
type Planned struct {
	Node *Node
	Choice
	// Verdict is the recorded one if it is reused, and otherwise the certain outcome, if
	// any.
	Verdict verdict.Verdict
	// If is set if it depends on outcomes that do not exist yet.
	If string
	// Locked is the root cause if it cannot run.
	Locked verdict.Reason
	// Overruled is the effect of a waiver of the gate on its recorded verdict.
	Overruled verdict.Reason
	Launches  []PlannedLaunch
	// Notes are what the launches can show.
	Notes []verdict.Reason
}

// Preview returns what an apply would do with each node, in order, assuming that
// everything undecided passes if it can. It changes nothing.
func (r *Runner) Preview() ([]Planned, error) {
	p := &preview{runner: r, overrule: r.overrule(), outcomes: map[string]*ledger.Decision{}, locked: map[string]verdict.Reason{}, open: map[string]bool{}}
	var out []Planned
	for _, n := range r.Graph.Nodes {
		planned, err := p.node(n)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.ID, err)
		}
		out = append(out, planned)
	}
	return out, nil
}

type preview struct {
	runner   *Runner
	overrule *overrule
	outcomes map[string]*ledger.Decision
	locked   map[string]verdict.Reason
	// open nodes have an assumed outcome.
	open map[string]bool
}

func (p *preview) node(n *Node) (Planned, error) {
	out := Planned{Node: n}
	for _, need := range n.Needs {
		if why := p.bars(n, need); !why.IsZero() {
			out.Locked = why
			p.locked[n.ID] = why
			return out, nil
		}
		// Confirmations depend on more than their phase does.
		if criteria := p.kind(need.On) == KindCriteria; p.open[need.On] && need.Mode != Settled && (out.If == "" || criteria) {
			out.If = p.condition(need)
		}
	}
	step, err := p.runner.Step(n)
	if err != nil {
		return out, err
	}
	s := p.scope(n)
	s.Keys, err = step.Keys(s)
	left := p.runner.leftOut(n)
	switch {
	case err == nil:
		s.Choice = p.overrule.choose(n, s, p.runner.Rerun != nil && p.runner.Rerun(n))
	case left.IsZero(): // else it may rest on what is left out too
		return out, err
	}
	if s.Action != Reuse && !left.IsZero() {
		out.Locked, p.locked[n.ID] = left, left
		return out, nil
	}
	out.Choice = s.Choice
	if s.Action == Reuse {
		out.Verdict = s.Previous.Verdict
		out.Overruled = p.overrule.bears(s.Previous)
		p.outcomes[n.ID] = s.Previous
		return out, nil
	}
	if s.Why == HypothesisChanged {
		p.outcomes[n.ID] = s.Previous // which it stays
		return out, nil
	}
	if by := withdrawnBelow(n, p.overrule, s.Outcome); by != nil {
		p.outcomes[n.ID] = &ledger.Decision{Node: n.ID, Kind: string(n.Kind), Verdict: verdict.Invalid, Retraction: by.Retraction}
		return out, nil
	}
	foreseen := &ledger.Decision{}
	if f, ok := step.(Foreseer); ok {
		if foreseen, out.Launches, err = f.Foresee(s); err != nil {
			return out, err
		}
	}
	s.name(foreseen)
	if !DecidesAlone(n.Kind) {
		out.Notes = foreseen.Why()
	} else if foreseen.Verdict != "" {
		foreseen = p.overrule.retractedBefore(s, foreseen)
	}
	if out.Verdict = foreseen.Verdict; out.Verdict == "" {
		p.open[n.ID] = true
		foreseen.Verdict, foreseen.Accepted = verdict.Pass, n.Kind == KindFeature && (n.FeatureBlock == nil || !n.FeatureBlock.Trial)
	}
	p.outcomes[n.ID] = foreseen
	return out, nil
}

// condition is an open node that a node depends on.
func (p *preview) condition(need Need) string {
	on := need.On
	if p.kind(on) == KindCriteria && on == FirstID(p.runner.Graph.Node(on).Feature) {
		return FeatureID(p.runner.Graph.Node(on).Feature) + " passes on the first engine"
	}
	if need.Mode == Decided {
		return on + " is decided"
	}
	return on + " passes"
}

func (p *preview) kind(id string) Kind {
	if n := p.runner.Graph.Node(id); n != nil {
		return n.Kind
	}
	return ""
}

func (p *preview) bars(n *Node, need Need) verdict.Reason {
	if why := p.locked[need.On]; !why.IsZero() && need.Mode != Settled {
		return why
	}
	d := p.outcomes[need.On]
	if d == nil {
		if need.Mode == Settled {
			return verdict.Reason{}
		}
		return verdict.Say("undecided", "{subject} is undecided").On(need.On)
	}
	return p.overrule.bars(n, need, d)
}

func (p *preview) scope(n *Node) *Scope {
	s := &Scope{
		Plan: p.runner.Plan, Node: n, Run: p.runner.Run, Previous: p.runner.Journal.Latest(n.ID),
		Outcome:  func(id string) *ledger.Decision { return p.outcomes[id] },
		LockedBy: p.runner.lockedBy(func(id string) verdict.Reason { return p.locked[id] }, func(id string) bool { return p.outcomes[id] != nil }),
		Assumed:  func(id string) bool { return p.open[id] },
		Emit:     func(Event) {}, Known: &sync.Map{}, Hard: p.runner.Hard, Rerun: p.runner.Rerun,
	}
	s.Chosen = p.overrule.chosen(s)
	return s
}
