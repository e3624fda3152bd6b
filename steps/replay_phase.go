package steps

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
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
			w.WouldBe, w.Reasons = step.verdict, []string{step.why}
			return w
		}
	}
	if why := c.unmeasured(ph); why != "" {
		w.WouldBe, w.Reasons = verdict.Inconclusive, []string{why}
		return w
	}
	w.Rules = gates.Decide(ph.Gate.Rules, &gates.Evidence{Features: c.evidence}, c.lab.settingsOfGate(ph))
	c.openRules(ph, w.Rules)
	w.WouldBe = whole(&ledger.Decision{Kind: w.Kind}, nil, w.Rules)
	w.Reasons = wouldSay(w.Rules)
	for _, name := range readBy(ph) {
		if v := c.doubted[c.evidence[name]]; v != "" && verdict.Join(w.WouldBe, v) != w.WouldBe {
			w.WouldBe = verdict.Join(w.WouldBe, v)
			w.Reasons = append(w.Reasons, fmt.Sprintf("it reads feature %s, of whose evidence nothing passes here", name))
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
				rules[i].Reasons = append(rules[i].Reasons, fmt.Sprintf("what would have become of feature %s is not known", in.Feature))
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

// unmeasured says which feature that a gate reads was never measured.
func (c *changed) unmeasured(ph *plans.Phase) string {
	for _, r := range ph.Gate.Rules {
		if r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if in.Feature != "" && c.evidence[in.Feature] == nil {
				return fmt.Sprintf("rule %q reads feature %s: %s", r.Name, in.Feature, strings.Join(c.outcomes[in.Feature].Reasons, "; "))
			}
		}
	}
	return ""
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
		if of := c.outcomes[f.Name]; of.Locked != "" {
			all = append(all, of.notRun())
			w.Reasons = append(w.Reasons, runtime.FeatureSubject(f).NotRun(of.Locked))
			continue
		}
		all = append(all, c.outcomes[f.Name].WouldBe)
		w.Reasons = append(w.Reasons, runtime.FeatureSubject(f).Came(c.outcomes[f.Name].WouldBe))
	}
	w.WouldBe = verdict.Join(all...)
	return w
}

// stepsOf are the recorded outcomes of a phase's steps: a step that was never run,
// or is another one than was run, is not known.
func (c *changed) stepsOf(ph *plans.Phase) (out []doubt) {
	for _, b := range ph.Steps {
		d, run, ok := c.store.Latest(runtime.StepID(ph.Name, b.Kind, b.Name))
		step := fmt.Sprintf("step %s %s", b.Kind, b.Name)
		if !ok {
			out = append(out, doubt{verdict: verdict.Inconclusive, why: step + " was never run: an apply would run it, and what would come out is not known"})
			continue
		}
		recorded := c.planOf(run)
		switch was := stepIn(recorded, ph.Name, b); {
		case recorded.res == nil:
			out = append(out, doubt{verdict: verdict.Inconclusive, why: "whether " + step + " is what was run is not known: " + strings.TrimRight(recorded.why, ".") + recorded.giveAgain()})
		case was == nil || !reflect.DeepEqual(was.Attrs, b.Attrs):
			out = append(out, doubt{verdict: verdict.Inconclusive, why: step + " is not what was run: an apply would run it, and what would come out is not known"})
		default:
			out = append(out, doubt{verdict: d.Verdict, why: fmt.Sprintf("%s is %s, as recorded", step, d.Verdict)})
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
