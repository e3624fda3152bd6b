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
	"github.com/mxflow/mxflow/runtime/store"
)

// decideAgain decides the rules of a decision, and the whole from them.
func (r *Replay) decideAgain(out *Replayed, d store.Decided, rules replayRules) {
	settings := SettingsOf(d.Statistics)
	var verdicts []verdict.Verdict
	for _, part := range rules.parts {
		again := decideLike(part, settings, runtime.Kind(d.Kind) == runtime.KindGate)
		r.compareRules(out, part.recorded, again, d.Run)
		levels := d.Levels
		if part.alternative != nil {
			levels = levelsRead(part.evidence.Features[d.Feature])
		}
		v := whole(d.Decision, levels, again)
		verdicts = append(verdicts, v)
		if alt := part.alternative; alt != nil && v != alt.Verdict {
			out.differ(alt.Name, "verdict", string(alt.Verdict), string(v))
		}
	}
	out.Again = verdicts[0]
	if len(d.Alternatives) > 0 {
		out.Again = r.chooseAgain(out, d, rules, verdicts)
	}
	for _, c := range d.Confirmations {
		// Each was decided by itself, and is replayed by itself.
		if c.Verdict != "" {
			out.Again = verdict.Join(out.Again, c.Verdict)
		}
	}
	if out.Again != d.Verdict {
		out.differ("decision", "verdict", string(d.Verdict), string(out.Again))
	}
	if rules.from == RulesOfPlan {
		r.claimAgain(out, d, rules)
	}
}

// decideLike decides rules as they were: those that decide share one error budget,
// and each criterion that is only recorded has one of its own.
func decideLike(part rulePart, settings gates.Settings, gate bool) []verdict.Rule {
	var deciding []*plans.Rule
	for i, rec := range part.recorded {
		if rec.Decides || gate {
			deciding = append(deciding, part.rules[i])
		}
	}
	together := gates.Decide(deciding, part.evidence, settings)
	out := make([]verdict.Rule, len(part.recorded))
	for i, rec := range part.recorded {
		if rec.Decides || gate {
			out[i], together = together[0], together[1:]
		} else {
			out[i] = gates.Decide([]*plans.Rule{part.rules[i]}, part.evidence, settings)[0]
		}
		out[i].Decides = rec.Decides
	}
	return out
}

// levelsRead are the levels that a feature's evidence names, in no order.
func levelsRead(f *gates.Feature) (levels []ledger.Level) {
	if f == nil {
		return nil
	}
	for name, v := range f.Levels {
		levels = append(levels, ledger.Level{Name: name, Verdict: v})
	}
	return levels
}

// chooseAgain chooses among alternatives again. Which of them is best can be told
// where the plan is at hand, which says by what metric.
func (r *Replay) chooseAgain(out *Replayed, d store.Decided, rules replayRules, verdicts []verdict.Verdict) verdict.Verdict {
	var all []*alternative
	for i, part := range rules.parts {
		all = append(all, &alternative{feature: &plans.Feature{Name: part.alternative.Name}, decision: &ledger.Decision{Verdict: verdicts[i]}})
	}
	total := verdictOf(all)
	plan := r.planOf(d.Run)
	f := plan.res.Plan.Feature(d.Feature)
	if !plan.exact || f == nil || f.Choose == nil || f.Choose.Probe == nil {
		out.note(verdict.New(code.BestUnknown).On(d.Feature))
		return total
	}
	for i, part := range rules.parts {
		all[i].gain = preferred(f.Choose, part.evidence, SettingsOf(d.Statistics))
	}
	best := better(all)
	for i, part := range rules.parts {
		alt := part.alternative
		if chosen := all[i] == best && total == verdict.Pass; chosen != alt.Chosen {
			out.differ(alt.Name, "chosen", yesNo(alt.Chosen), yesNo(chosen))
		}
		if all[i] == best && !reflect.DeepEqual(alt.Rules, d.Rules) {
			out.differ("decision", "rules", "of another alternative", "of "+alt.Name)
		}
	}
	return total
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// claimAgain decides the hypothesis again.
func (r *Replay) claimAgain(out *Replayed, d store.Decided, rules replayRules) {
	h := d.Hypothesis
	f := r.planOf(d.Run).res.Plan.Feature(d.Feature)
	if h == nil || h.Test == nil || f == nil || f.Hypothesis == nil || f.Hypothesis.Probe == nil {
		return
	}
	at := max(0, slices.IndexFunc(rules.parts, func(p rulePart) bool { return p.alternative != nil && reflect.DeepEqual(p.alternative.Rules, d.Rules) }))
	outcome, rule, _ := gates.Claimed(f.Hypothesis.Probe, rules.parts[at].evidence, SettingsOf(d.Statistics))
	if outcome != h.Outcome {
		out.differ("hypothesis", "outcome", h.Outcome, outcome)
	}
	rule.Decides = h.Test.Decides
	r.compareRules(out, []verdict.Rule{*h.Test}, []verdict.Rule{rule}, d.Run)
}
