package steps

import (
	"fmt"
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
	if why := c.unmeasured(ph); why != "" {
		w.WouldBe, w.Reasons = verdict.Inconclusive, []string{why}
		return w
	}
	w.Rules = gates.Decide(ph.Gate.Rules, &gates.Evidence{Features: c.evidence}, c.lab.settingsOfGate(ph))
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
	for _, b := range ph.Steps {
		v := c.recorded(runtime.StepID(ph.Name, b.Kind, b.Name))
		if v == "" {
			v = verdict.Inconclusive
			w.Reasons = append(w.Reasons, fmt.Sprintf("step %s %s was never run", b.Kind, b.Name))
		}
		all = append(all, v)
	}
	for _, f := range ph.Features {
		all = append(all, c.outcomes[f.Name].WouldBe)
		w.Reasons = append(w.Reasons, fmt.Sprintf("feature %s: %s", f.Name, c.outcomes[f.Name].WouldBe))
	}
	w.WouldBe = verdict.Join(all...)
	return w
}
