package steps

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// lock is what an apply would stop at before it came to a node.
type lock struct {
	why verdict.Reason
	// unsure is set where an apply would find out whether it stops there.
	unsure bool
}

// locked is what an apply of this plan would stop at before it came to a node; of a
// feature, to the first node that measures it. There is no fact where it would come to it.
// The baseline is the evidence's: what was measured against another one is doubted
// by itself.
func (c *changed) locked(n *runtime.Node) lock {
	if n == nil {
		return lock{}
	}
	var unsure lock
	for _, need := range n.Needs {
		by := c.bars(need)
		if !by.why.IsZero() && !by.unsure {
			return by
		}
		if unsure.why.IsZero() {
			unsure = by
		}
	}
	return unsure
}

// bars says why what a node needs keeps an apply from it, as the outcomes of this
// plan are; no fact where it does not.
func (c *changed) bars(need runtime.Need) lock {
	on := c.graph.Node(need.On)
	if on == nil || need.Mode == runtime.Settled {
		return lock{}
	}
	switch on.Kind {
	case runtime.KindStep:
		// Those before it in its phase are what it needs.
		for i, step := range c.stepsOf(on.PhaseBlock) {
			if !step.verdict.Unlocks() {
				b := on.PhaseBlock.Steps[i]
				return lock{wouldBe(runtime.StepID(on.Phase, b.Kind, b.Name), step.verdict), step.verdict != verdict.Fail}
			}
			if on.PhaseBlock.Steps[i] == on.StepBlock {
				break
			}
		}
	case runtime.KindGate, runtime.KindPhase:
		return c.outcomes["phase "+on.Phase].bars(need, runtime.PhaseID(on.Phase))
	case runtime.KindFeature:
		return c.outcomes[on.Feature].bars(need, on.ID)
	}
	return lock{}
}

// bars says why an outcome does not meet a need.
func (w WouldBe) bars(need runtime.Need, id string) lock {
	unmet := need.Mode == runtime.Passed && !w.WouldBe.Unlocks() || need.Mode == runtime.Decided && !w.WouldBe.Decided()
	switch {
	case !w.Locked.IsZero():
		return lock{w.Locked, w.unsure}
	case unmet:
		return lock{wouldBe(id, w.WouldBe), w.WouldBe != verdict.Fail}
	}
	return lock{}
}

func wouldBe(node string, v verdict.Verdict) verdict.Reason {
	return verdict.New(code.WouldBe).On(node).Is(v)
}

// lock says of an outcome that an apply would not come to it. What it would be by what
// was measured stays: whoever mends what is below it wants to know.
func (w *WouldBe) lock(by lock) {
	if by.why.IsZero() {
		return
	}
	w.Locked, w.unsure, w.Accepted = by.why, by.unsure, false
	w.Reasons = append([]verdict.Reason{verdict.New(code.NotReached).From(by.why)}, w.Reasons...)
}

// notRun is what comes of a locked feature for what reads it.
func (w WouldBe) notRun() verdict.Verdict {
	if w.unsure {
		return verdict.Inconclusive
	}
	return verdict.Invalid
}

// notRun takes their evidence from the features that the gate of a phase reads and
// that an apply would not come to, as there would be none.
func (c *changed) notRun(ph *plans.Phase) {
	if ph.Gate == nil {
		return
	}
	for _, name := range readBy(ph) {
		kept, of := c.evidence[name], c.outcomes[name]
		if kept == nil || of.Locked.IsZero() {
			continue
		}
		if !of.unsure {
			kept.Outcome = ""
		}
		kept.Broken, kept.Cause = of.notRun(), runtime.FeaturePart(c.plan.Feature(name)).NotRun(of.Locked)
		c.doubted[kept] = verdict.Join(c.doubted[kept], of.notRun())
	}
}
