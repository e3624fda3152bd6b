package steps

import (
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// settings are how rules are decided by the plan: those of a gate where f is nil.
func (l *Lab) settings(f *plans.Feature) gates.Settings {
	s := GateSettings(l.Plan)
	if f != nil && f.Of != "" && f.Engine == "" {
		if of := l.Plan.Feature(f.Of); of != nil {
			s.Alternatives = len(of.Alternatives)
		}
	}
	return s
}

// GateSettings are how a plan's gates decide.
func GateSettings(p *plans.Plan) gates.Settings {
	d := p.Decision
	return gates.Settings{FalsePass: d.FalsePass, FalseFail: d.FalseFail, Min: d.Min, Max: d.Max}
}

// settingsOfGate are how a gate's rules are decided. What reads a feature that
// chooses reads the best of several, which is as often lucky there as in the
// choice itself.
func (l *Lab) settingsOfGate(ph *plans.Phase) gates.Settings {
	s := GateSettings(l.Plan)
	for _, other := range l.Plan.Phases {
		for _, f := range other.Features {
			if ph.Gate != nil && readsFeature(ph.Gate.Rules, f.Name) {
				s.Alternatives = max(s.Alternatives, len(f.Alternatives))
			}
		}
	}
	return s
}

// statistics are the settings as a decision records them.
func statistics(s gates.Settings) *ledger.Statistics {
	return &ledger.Statistics{FalsePass: s.FalsePass, FalseFail: s.FalseFail, Min: s.Min, Max: s.Max, Alternatives: s.Alternatives, Version: decidingVersion}
}

// SettingsOf is the way back.
func SettingsOf(s *ledger.Statistics) gates.Settings {
	return gates.Settings{FalsePass: s.FalsePass, FalseFail: s.FalseFail, Min: s.Min, Max: s.Max, Alternatives: s.Alternatives}
}

// rulesReading are all rules whose decision rests on a feature's launches: its
// criteria, its claim, and those of gates.
func (l *Lab) rulesReading(f *plans.Feature) []*plans.Rule {
	rules := slices.Clone(f.Criteria)
	if f.Hypothesis != nil {
		rules = append(rules, f.Hypothesis.Probe)
	}
	for _, ph := range l.Plan.Phases {
		if ph.Gate == nil {
			continue
		}
		for _, r := range ph.Gate.Rules {
			if readsFeature([]*plans.Rule{r}, readAs(f)) {
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// decidingKey is what decides how many launches a benchmark takes: asking for
// more continues the session, and so does a rule that needs more. No launch is made
// for a claim.
func (l *Lab) decidingKey(f *plans.Feature) []any {
	least, most := l.Plan.LaunchesOf(readAs(f))
	parts := []any{"launches", decidingVersion, least, most, l.settings(f), f.Accept}
	for _, r := range l.rulesReading(f) {
		if r != nil && (f.Hypothesis == nil || r != f.Hypothesis.Probe) {
			parts = append(parts, ruleKey(r))
		}
	}
	return parts
}
