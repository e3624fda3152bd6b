package decide

import (
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/plans"
)

// Settings are the plan's settings for rules on a feature.
func Settings(p *plans.Plan, f *plans.Feature) gates.Settings {
	s := gateSettings(p)
	if f.Of != "" && f.Engine == "" {
		if of := p.Feature(f.Of); of != nil {
			s.Alternatives = len(of.Alternatives)
		}
	}
	return s
}

func gateSettings(p *plans.Plan) gates.Settings {
	d := p.Decision
	return gates.Settings{FalsePass: d.FalsePass, FalseFail: d.FalseFail, Min: d.Min, Max: d.Max, Version: Version}
}

// settingsOfGate are the settings for a gate's rules. A rule that reads a feature that
// chooses reads the best of several, which is as likely to be luck there as in the choice
// itself.
func settingsOfGate(p *plans.Plan, ph *plans.Phase) gates.Settings {
	s := gateSettings(p)
	for _, other := range p.Phases {
		for _, f := range other.Features {
			if ph.Gate != nil && reads(ph.Gate.Rules, f.Name) {
				s.Alternatives = max(s.Alternatives, len(f.Alternatives))
			}
		}
	}
	return s
}

// ruleName is the name by which rules read a candidate: an alternative and a confirmation
// represent their feature.
func ruleName(f *plans.Feature) string {
	if f.Of != "" {
		return f.Of
	}
	return f.Name
}

// decisive are the criteria that admit a feature.
func decisive(f *plans.Feature) (rules []*plans.Rule) {
	for _, r := range f.Criteria {
		if slices.Contains(f.Accept, r.Name) {
			rules = append(rules, r)
		}
	}
	return rules
}

// inputs returns all inputs of rules, except those of rules that were not compiled.
func inputs(rules []*plans.Rule) (all []*plans.Input) {
	for _, r := range rules {
		all = append(all, r.Inputs()...)
	}
	return all
}

func reads(rules []*plans.Rule, feature string) bool {
	return slices.ContainsFunc(inputs(rules), func(in *plans.Input) bool { return in.Feature == feature })
}

// featuresReadBy returns the features that a phase's gate reads.
func featuresReadBy(ph *plans.Phase) (names []string) {
	for _, in := range inputs(ph.Gate.Rules) {
		if in.Feature != "" && !slices.Contains(names, in.Feature) {
			names = append(names, in.Feature)
		}
	}
	return names
}

// gateFeatures returns the features of a phase, and the others that its gate reads.
func gateFeatures(p *plans.Plan, ph *plans.Phase) (out []*plans.Feature) {
	add := func(f *plans.Feature) {
		if f != nil && !slices.ContainsFunc(out, func(o *plans.Feature) bool { return o.Name == f.Name }) {
			out = append(out, f)
		}
	}
	for _, f := range ph.Features {
		add(f)
	}
	for _, name := range featuresReadBy(ph) {
		add(p.Feature(name))
	}
	return out
}

// Reading returns all rules whose decision rests on a feature's launches: its criteria,
// its hypothesis, and those of gates.
func Reading(p *plans.Plan, f *plans.Feature) []*plans.Rule {
	rules := slices.Clone(f.Criteria)
	if f.Hypothesis != nil {
		rules = append(rules, f.Hypothesis.Probe)
	}
	return append(rules, p.GateRules(ruleName(f))...)
}

// ruleReads reports whether a rule reads something of a feature.
func ruleReads(p *plans.Plan, f *plans.Feature, which func(*plans.Input) bool) bool {
	return slices.ContainsFunc(inputs(Reading(p, f)), func(in *plans.Input) bool {
		return in.Feature == ruleName(f) && which(in)
	})
}

// ReadsRoot reports whether a rule compares with the baseline.
func ReadsRoot(p *plans.Plan, f *plans.Feature) bool {
	return ruleReads(p, f, func(in *plans.Input) bool { return in.Against == plans.Root })
}

// ReadsCrashes reports whether a rule reads how often the engine crashed.
func ReadsCrashes(p *plans.Plan, f *plans.Feature) bool {
	return ruleReads(p, f, func(in *plans.Input) bool { return in.Metric == "crashes" })
}

// Benchmarked reports whether a feature's protocol has a benchmark.
func Benchmarked(p *plans.Plan, f *plans.Feature) bool {
	protocol := p.Protocol(f.Protocol)
	return protocol != nil && protocol.Level(plans.BenchmarkLevel) != nil
}
