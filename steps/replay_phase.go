package steps

import (
	"reflect"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// phase decides the gate of a phase, or joins the features of one without.
func (c *changed) phase(ph *plans.Phase) WouldBe {
	node := runtime.PhaseID(ph.Name)
	w := WouldBe{Node: node, Kind: string(runtime.KindGate), Recorded: c.recorded(node)}
	if ph.Gate == nil {
		return c.joined(ph, w)
	}
	for _, step := range c.stepsOf(ph) {
		if !step.verdict.Unlocks() {
			w.WouldBe, w.Reasons = step.verdict, []verdict.Reason{step.why}
			return w
		}
	}
	if why := c.unmeasured(ph); !why.IsZero() {
		w.WouldBe, w.Reasons = verdict.Inconclusive, []verdict.Reason{why}
		return w
	}
	w.Rules = gates.Decide(ph.Gate.Rules, &gates.Evidence{Features: c.evidence}, c.lab.settingsOfGate(ph))
	c.openRules(ph, w.Rules)
	w.WouldBe = whole(&ledger.Decision{Kind: w.Kind}, nil, w.Rules)
	w.Reasons = wouldSay(w.Rules)
	for _, name := range readBy(ph) {
		if v := c.doubted[c.evidence[name]]; v != "" && verdict.Join(w.WouldBe, v) != w.WouldBe {
			w.WouldBe = verdict.Join(w.WouldBe, v)
			w.Reasons = append(w.Reasons, verdict.New(code.ReadsDoubted).On(name))
		}
	}
	return w
}

// openRules are the rules of a gate that read what an apply would measure anew, or
// the outcome of a feature that it would go on with: they neither pass nor fail.
func (c *changed) openRules(ph *plans.Phase, rules []verdict.Rule) {
	for i, r := range ph.Gate.Rules {
		if r.Program == nil || i >= len(rules) {
			continue
		}
		for _, in := range r.Program.Inputs {
			kept := c.evidence[in.Feature]
			anew := kept != nil && kept.Broken == verdict.Inconclusive && c.doubted[kept] == verdict.Inconclusive
			outcome := in.Kind == plans.InputFeature && slices.ContainsFunc(c.perhaps, func(p perhaps) bool { return p.feature.Name == in.Feature })
			unsure := c.outcomes[in.Feature].unsure
			if v := &rules[i].Verdict; (anew || outcome || unsure) && (*v == verdict.Pass || *v == verdict.Fail) {
				*v = verdict.Inconclusive
				rules[i].Reasons = append(rules[i].Reasons, verdict.New(code.OutcomeUnknown).On(in.Feature))
			}
		}
	}
}

// readBy are the features that the gate of a phase reads.
func readBy(ph *plans.Phase) (names []string) {
	for _, r := range ph.Gate.Rules {
		if r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if in.Feature != "" && !slices.Contains(names, in.Feature) {
				names = append(names, in.Feature)
			}
		}
	}
	return names
}

// unmeasured says which feature that a gate reads was never measured; no fact where all
// were.
func (c *changed) unmeasured(ph *plans.Phase) verdict.Reason {
	for _, r := range ph.Gate.Rules {
		if r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if in.Feature != "" && c.evidence[in.Feature] == nil {
				return verdict.New(code.ReadsUnmeasured, verdict.Text("feature", in.Feature)).On(r.Name).From(c.outcomes[in.Feature].Reasons...)
			}
		}
	}
	return verdict.Reason{}
}

// joined is a phase without a gate, which passes when its steps and features do.
func (c *changed) joined(ph *plans.Phase, w WouldBe) WouldBe {
	w.Kind = string(runtime.KindPhase)
	var all []verdict.Verdict
	for _, step := range c.stepsOf(ph) {
		all = append(all, step.verdict)
		if step.verdict != verdict.Pass {
			w.Reasons = append(w.Reasons, step.why)
		}
	}
	for _, f := range ph.Features {
		if of := c.outcomes[f.Name]; !of.Locked.IsZero() {
			all = append(all, of.notRun())
			w.Reasons = append(w.Reasons, runtime.FeaturePart(f).NotRun(of.Locked))
			continue
		}
		all = append(all, c.outcomes[f.Name].WouldBe)
		w.Reasons = append(w.Reasons, runtime.FeaturePart(f).Came(c.outcomes[f.Name].WouldBe))
	}
	w.WouldBe = verdict.Join(all...)
	return w
}

// stepsOf are the recorded outcomes of a phase's steps: a step that was never run,
// or is another one than was run, is not known.
func (c *changed) stepsOf(ph *plans.Phase) (out []doubt) {
	for _, b := range ph.Steps {
		d, run, ok := c.store.Latest(runtime.StepID(ph.Name, b.Kind, b.Name))
		step := b.Kind + " " + b.Name
		if !ok {
			out = append(out, doubt{verdict: verdict.Inconclusive, why: verdict.New(code.StepNeverRun).On(step)})
			continue
		}
		recorded := c.planOf(run)
		switch was := stepIn(recorded, ph.Name, b); {
		case recorded.res == nil:
			out = append(out, doubt{verdict: verdict.Inconclusive, why: verdict.New(code.StepUnknown, recorded.lacking()...).On(step).From(recorded.why)})
		case was == nil || !reflect.DeepEqual(was.Attrs, b.Attrs):
			out = append(out, doubt{verdict: verdict.Inconclusive, why: verdict.New(code.StepOther).On(step)})
		default:
			out = append(out, doubt{verdict: d.Verdict, why: verdict.New(code.StepRecorded).On(step).Is(d.Verdict)})
		}
	}
	return out
}

// stepIn is the step of that kind and name in a phase of the recorded plan.
func stepIn(p *recordedPlan, phase string, b *plans.Block) *plans.Block {
	if p.res == nil {
		return nil
	}
	if ph := p.res.Plan.Phase(phase); ph != nil {
		for _, was := range ph.Steps {
			if was.Kind == b.Kind && was.Name == b.Name {
				return was
			}
		}
	}
	return nil
}
