package steps

import (
	"context"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// decideGate decides a phase's exit rules.
type decideGate struct {
	lab   *Lab
	phase *plans.Phase
}

// features are those that the gate's rules read, and those of its phase.
func (g *decideGate) features() []*plans.Feature {
	seen := map[string]bool{}
	var out []*plans.Feature
	add := func(f *plans.Feature) {
		if f != nil && !seen[f.Name] {
			seen[f.Name] = true
			out = append(out, f)
		}
	}
	for _, f := range g.phase.Features {
		add(f)
	}
	for _, r := range g.phase.Gate.Rules {
		if r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if in.Feature != "" {
				add(g.lab.Plan.Feature(in.Feature))
			}
		}
	}
	return out
}

func (g *decideGate) Keys(s *runtime.Scope) (runtime.Keys, error) {
	parts, err := stepIdentities(s, g.phase)
	if err != nil {
		return runtime.Keys{}, err
	}
	for _, f := range g.features() {
		part, err := restsOn(s, runtime.FeatureID(f.Name))
		if err != nil {
			return runtime.Keys{}, err
		}
		parts = append(parts, part)
	}
	rules := []any{"gate", decidingVersion, g.lab.settingsOfGate(g.phase)}
	for _, r := range g.phase.Gate.Rules {
		rules = append(rules, ruleKey(r))
	}
	return runtime.Keys{Measure: runtime.Digest("gate", parts), Decide: runtime.Digest(rules)}, nil
}

func (g *decideGate) Run(_ context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	if d := brokenStep(s, g.phase); d != nil {
		return d, nil
	}
	all := &gates.Evidence{Features: map[string]*gates.Feature{}}
	out := &ledger.Decision{}
	for _, f := range g.features() {
		id := runtime.FeatureID(f.Name)
		d := s.Outcome(id)
		if d == nil {
			all.Features[f.Name] = &gates.Feature{
				Broken: verdict.Invalid, Cause: runtime.FeaturePart(f).NotRun(s.LockedBy(id)),
			}
			out.Evidence = append(out.Evidence, keepEvidence(f.Name, "", all.Features[f.Name]))
			continue
		}
		ev, rests, err := g.lab.evidenceOf(s, f)
		if err != nil {
			return nil, err
		}
		addOutcome(ev, d)
		all.Features[f.Name] = ev
		out.Evidence = append(out.Evidence, keepEvidence(f.Name, rests.Session, ev))
		out.Launches = append(out.Launches, rests.Launches...)
		if rests.LogTail != nil {
			out.LogTail, out.Exit = rests.LogTail, rests.Exit
		}
	}
	settings := g.lab.settingsOfGate(g.phase)
	out.Statistics = statistics(settings)
	for _, result := range gates.Decide(g.phase.Gate.Rules, all, settings) {
		result.Role, result.Decides = verdict.RoleRule, true
		out.Rules = append(out.Rules, result)
		out.Reasons = append(out.Reasons, result.Reason())
	}
	out.Verdict = whole(out, nil, out.Rules)
	return out, nil
}
