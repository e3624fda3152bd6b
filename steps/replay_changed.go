package steps

import (
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/store"
)

// WouldBe is what a node would have come to by another plan, on the launches that
// were recorded.
type WouldBe struct {
	Node string `json:"node"`
	Kind string `json:"kind"`
	// Recorded is what stands, empty where the node was never decided.
	Recorded verdict.Verdict `json:"recorded,omitempty"`
	WouldBe  verdict.Verdict `json:"would_be"`
	Accepted bool            `json:"accepted,omitempty"`
	// Locked is why an apply of this plan would not come to the node: WouldBe is what
	// it would be if it did. RecordedLocked is why it is locked since the last apply,
	// which report.Locked knows.
	Locked         verdict.Reason `json:"locked,omitzero"`
	RecordedLocked verdict.Reason `json:"recorded_locked,omitzero"`
	// Unmeasured says that an apply of this plan would measure something first that
	// never was.
	Unmeasured bool             `json:"unmeasured,omitempty"`
	Reasons    []verdict.Reason `json:"reasons,omitempty"`
	Rules      []verdict.Rule   `json:"rules,omitempty"`

	// open says that an apply would go on measuring what was measured, or may.
	open bool
	// unsure says that it is locked by what an apply would find out.
	unsure bool
}

// changed is a replay with another plan.
type changed struct {
	*Replay
	plan *plans.Plan
	lab  *Lab
	// evidence by feature, with the outcomes of this plan, which are by feature, and
	// for phases by "phase" and name.
	evidence map[string]*gates.Feature
	outcomes map[string]WouldBe
	// entered is what each feature that this plan accepts so far sets.
	entered []map[string]string
	// doubted is what the evidence of a feature may come to at best, where that is
	// not of what this plan asks for.
	doubted map[*gates.Feature]verdict.Verdict
	perhaps []perhaps
	graph   *runtime.Graph
	notes   []verdict.Reason
}

// With decides every feature and gate of another plan on the recorded evidence.
// Nothing is measured: a rule that needs what was not measured says so, and where
// launches ended because the recorded rules were decided, they may be too few.
func (r *Replay) With(p *plans.Plan) (out []WouldBe, notes []verdict.Reason) {
	c := &changed{
		Replay: r, plan: p, lab: NewLab(p, nil),
		evidence: map[string]*gates.Feature{}, outcomes: map[string]WouldBe{}, doubted: map[*gates.Feature]verdict.Verdict{},
	}
	r.probing = true
	g, err := runtime.NewGraph(p)
	if err != nil {
		return []WouldBe{{Kind: string(runtime.KindGate), WouldBe: verdict.Error, Reasons: []verdict.Reason{verdict.OfError(err)}}}, nil
	}
	c.graph = g
	// In the order in which an apply comes to them, whichever they are written in.
	for _, n := range g.Nodes {
		switch n.Kind {
		case runtime.KindFeature:
			w := c.feature(n.FeatureBlock)
			if by := c.locked(c.graph.Node(runtime.QualifyID(runtime.Candidates(n.FeatureBlock)[0].Name))); !by.why.IsZero() {
				if w.Accepted {
					c.entered = c.entered[:len(c.entered)-1]
					c.evidence[n.Feature].Accepted = false
				}
				w.lock(by)
			}
			c.outcomes[n.Feature] = w
			c.remember(n.FeatureBlock, w)
			out = append(out, w)
		case runtime.KindGate, runtime.KindPhase:
			by := c.locked(n)
			if by.why.IsZero() {
				c.notRun(n.PhaseBlock)
			}
			w := c.phase(n.PhaseBlock)
			w.lock(by)
			c.outcomes["phase "+n.Phase] = w
			out = append(out, w)
		}
	}
	return out, c.notes
}

// standing is the newest decision about a node that rests on evidence: what was
// retracted since, or broke afterwards, leaves the launches as they are.
func (r *Replay) standing(node string) (d store.Decided, ok bool) {
	history := r.store.History(node)
	for i := len(history) - 1; i >= 0; i-- {
		if len(history[i].Evidence) > 0 {
			return history[i], true
		}
	}
	return d, false
}

// doubts are what speaks against evidence that is decided by nevertheless: it tells
// what the other plan would have come to, and not that it would pass today.
func (c *changed) doubts(node string, replayed Replayed) (said []verdict.Reason) {
	if n := len(replayed.Differences); n > 0 {
		said = append(said, verdict.New(code.RawDiffer, verdict.Int("differences", n)))
	}
	if d, _, ok := c.store.Latest(node); ok && d.Retraction != nil {
		said = append(said, verdict.New(code.RetractedStays).From(d.Retraction.Of(node)))
	}
	return said
}

// never is the outcome of a node without evidence, which no rule can decide.
func (c *changed) never(node, kind string) WouldBe {
	w := WouldBe{Node: node, Kind: kind, WouldBe: verdict.Inconclusive, Unmeasured: true, Reasons: []verdict.Reason{verdict.New(code.NeverMeasured)}}
	if d, _, ok := c.store.Latest(node); ok {
		w.Recorded, w.Unmeasured, w.Reasons = d.Verdict, false, []verdict.Reason{verdict.New(code.NothingKept).Is(d.Verdict).From(first(d.Reasons)...)}
	}
	return w
}

// recorded is the verdict that stands for a node.
func (c *changed) recorded(node string) verdict.Verdict {
	if d, _, ok := c.store.Latest(node); ok {
		return d.Verdict
	}
	return ""
}
