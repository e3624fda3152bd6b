package decide

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// alternative is one decided candidate of a feature.
type alternative struct {
	Feature  *plans.Feature
	Decision *ledger.Decision
	// Gain is how much better than its parent it is in the preferred metric, nil if that
	// was not measured or nothing is preferred.
	Gain *float64
}

// decideCandidate decides the criteria of one candidate from its launches, and whether it
// enters the stack. of is the feature that it is a candidate of.
func decideCandidate(v *View, of, f *plans.Feature) (*alternative, error) {
	out, err := v.measured(f)
	if err != nil {
		return nil, err
	}
	all := evidence(out.Evidence...)
	for _, l := range out.Levels {
		if l.Verdict != verdict.Pass {
			out.Reasons = append(out.Reasons, l.WithoutCauses())
		}
	}
	criteria(v.Plan, f, all, out)
	out.Verdict = JoinVerdicts(out.Kind, out.Levels, out.Rules)
	if len(decisive(f)) == 0 {
		out.Notes = append(out.Notes, verdict.Say("feature.no_criterion", "no criterion decides this feature"))
	}
	v.withholdRelaxed(runtime.FeatureID(f.Name), out, out.Evidence)
	admit(v, f, out)
	out.Hypothesis = decideHypothesis(v, f, all, out)
	return &alternative{Feature: f, Decision: out, Gain: preferredGain(of.Choose, all, Settings(v.Plan, f))}, nil
}

// decideAlternatives decides each candidate of a feature by its criteria. One pass is enough,
// so a choice is an or: each alternative gets its part of the false pass rate, and a fail
// requires all to fail, which needs no correction.
func decideAlternatives(v *View, f *plans.Feature) (all []*alternative, err error) {
	for _, candidate := range runtime.Candidates(f) {
		a, err := decideCandidate(v, f, candidate)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// decideFeature decides the criteria of a feature on one engine. If it chooses, it admits the
// best alternative that passes. It measures nothing, so a changed threshold costs
// nothing.
func decideFeature(v *View, f *plans.Feature) (*ledger.Decision, error) {
	all, err := decideAlternatives(v, f)
	if err != nil {
		return nil, err
	}
	best := bestOf(all)
	if f.Choose == nil {
		return best.Decision, nil
	}
	out := *best.Decision
	out.Verdict = verdictOfChoice(all)
	out.Accepted = out.Verdict == verdict.Pass && best.Decision.Accepted
	out.Reasons = append([]verdict.Reason{chosen(f.Choose, all, best, out.Verdict)}, out.Reasons...)
	out.Launches, out.Evidence = nil, slices.Clone(out.Evidence)
	for _, c := range all {
		for _, id := range c.Decision.Launches {
			if !slices.Contains(out.Launches, id) {
				out.Launches = append(out.Launches, id)
			}
		}
		out.Alternatives = append(out.Alternatives, ledger.Alternative{
			Name: c.Feature.Name, Set: maps.Clone(c.Feature.Set), Verdict: c.Decision.Verdict,
			Chosen:  c == best && out.Verdict == verdict.Pass,
			Reasons: c.Decision.Reasons, Rules: c.Decision.Rules, Notes: c.Decision.Notes,
		})
		for _, e := range c.Decision.Evidence {
			// Under its own name too, so every alternative can be decided again.
			e.Name = c.Feature.Name
			out.Evidence = append(out.Evidence, e)
		}
	}
	if f.Hypothesis != nil {
		out.Hypothesis = decideHypothesis(v, f, evidence(best.Decision.Evidence...), &out)
	}
	return &out, nil
}

// Rules decides rules: those that decide share one error budget, and each of the others
// has its own.
func Rules(rules []*plans.Rule, decides func(i int) bool, ev gates.Evidence, s gates.Settings) []verdict.Rule {
	var deciding []*plans.Rule
	for i, r := range rules {
		if decides(i) {
			deciding = append(deciding, r)
		}
	}
	together := gates.Decide(deciding, ev, s)
	out := make([]verdict.Rule, len(rules))
	for i, r := range rules {
		if decides(i) {
			out[i], together = together[0], together[1:]
			continue
		}
		out[i] = gates.Decide([]*plans.Rule{r}, ev, s)[0]
		out[i].Decides = false
	}
	return out
}

func criteria(p *plans.Plan, f *plans.Feature, all gates.Evidence, out *ledger.Decision) {
	settings := Settings(p, f)
	out.Statistics = &settings
	admits := func(i int) bool { return slices.Contains(f.Accept, f.Criteria[i].Name) }
	for _, result := range Rules(f.Criteria, admits, all, settings) {
		result.Role = verdict.RoleCriterion
		out.Rules = append(out.Rules, result)
	}
	out.Notes = append(out.Notes, marks(out.Evidence, settings)...)
	out.Findings = gates.Findings(f.Criteria, out.Rules, all, settings)
}

// admit decides whether the outcome enters the stack.
func admit(v *View, f *plans.Feature, out *ledger.Decision) {
	out.Accepted = out.Verdict == verdict.Pass
	refuse := func(why verdict.Reason) {
		out.Accepted = false
		if !slices.ContainsFunc(out.Notes, why.Equal) {
			out.Notes = append(out.Notes, why)
		}
	}
	if !out.Accepted {
		return
	}
	if f.Trial {
		refuse(verdict.Say("feature.trial", "a trial, which never enters the stack (accept = [])"))
	}
	if under := f.BuildsOn.Feature; under != "" {
		if parent := v.Outcome(runtime.FeatureID(under)); parent == nil || !parent.Accepted {
			// It was measured on top of something that is not in the stack.
			refuse(verdict.Say("feature.parent_not_accepted",
				"not accepted: its parent {subject} is not in the stack").On(under))
		}
	}
}

// preferredGain is the gain in the metric by which a choice picks its winner, from the
// evidence on one alternative; nil if that was not measured.
func preferredGain(c *plans.Choose, ev gates.Evidence, s gates.Settings) *float64 {
	if c == nil || c.Probe == nil {
		return nil
	}
	rule := gates.Decide([]*plans.Rule{c.Probe}, ev, s)[0]
	if len(rule.Inputs) != 1 {
		return nil
	}
	return rule.Inputs[0].Value
}

// verdictOfChoice is the verdict of a choice: pass if one passes, fail if all that count fail.
// An invalid alternative drops out; if all are, nothing was shown. One whose engine or
// harness broke may still be the best.
func verdictOfChoice(all []*alternative) verdict.Verdict {
	of := map[verdict.Verdict]int{}
	for _, c := range all {
		of[c.Decision.Verdict]++
	}
	switch n := len(all) - of[verdict.Invalid]; {
	case of[verdict.Pass] > 0:
		return verdict.Pass
	case n == 0:
		return verdict.Invalid
	case of[verdict.Fail]+of[verdict.Inconclusive] < n:
		return verdict.Error
	case of[verdict.Fail] == n:
		return verdict.Fail
	}
	return verdict.Inconclusive
}

// bestOf is the winner: among those that pass, the one with the largest gain in the
// preferred metric. If none passes it is the one to show and build on, in the order
// inconclusive, fail, broken. The plan's order breaks ties.
func bestOf(all []*alternative) *alternative {
	rising := []verdict.Verdict{verdict.Invalid, verdict.Fail, verdict.Inconclusive, verdict.Pass} // after what broke
	rank := func(c *alternative) int { return slices.Index(rising, c.Decision.Verdict) }
	gain := func(c *alternative) float64 {
		if c.Gain == nil {
			return math.Inf(-1)
		}
		return *c.Gain
	}
	return slices.MaxFunc(all, func(a, b *alternative) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(gain(a), gain(b)))
	})
}

// chosen is the choice as a fact. Its gains are of all launches, and a criterion on the
// same metric reads those up to the look that decided it.
func chosen(choose *plans.Choose, all []*alternative, best *alternative, v verdict.Verdict) verdict.Reason {
	value := func(c *alternative) string { return c.Feature.Set[choose.Knob] }
	gain := func(c *alternative) (args []verdict.Arg) {
		if c.Gain != nil {
			args = append(args, verdict.Num("gain", *c.Gain, "ratio"))
		}
		return args
	}
	came := func(c *alternative) verdict.Reason {
		return verdict.Say("choice.alternative", "{subject} {verdict}{gain? {gain}}",
			gain(c)...).On(value(c)).Is(c.Decision.Verdict)
	}
	var others []verdict.Reason
	rivals := 0
	for _, c := range all {
		if c == best {
			continue
		}
		if c.Decision.Verdict == verdict.Pass {
			rivals++
		}
		others = append(others, came(c))
	}
	metric := verdict.Text("metric", choose.Prefer)
	if v != verdict.Pass {
		over := ""
		if best.Gain != nil {
			over = "yes"
		}
		return verdict.Say("choice.none_wins",
			"no alternative of {knob} passes: {causes:list}{over? ({metric} over all launches)}; reported below: "+
				"{subject}",
			verdict.Text("knob", choose.Knob), metric, verdict.Text("over", over)).On(best.Feature.Name).
			From(append([]verdict.Reason{came(best)}, others...)...)
	}
	args := append(gain(best), metric)
	if rivals > 0 && best.Gain == nil {
		args = append(args, verdict.Text("first", "yes"))
	}
	return verdict.Say("choice.wins",
		"{subject} wins{gain? {gain}} in {metric}{gain? over all launches}; {causes:list}{first?; {metric} was "+
			"not measured: the first in plan order is taken}",
		args...).On(value(best)).From(others...)
}

// confirmed decides a feature from the decisions on the baseline's engine and on those
// that confirm it.
func confirmed(v *View, f *plans.Feature) (*ledger.Decision, error) {
	id := runtime.FirstID(f.Name)
	decided := v.Outcome(id)
	if decided == nil {
		return nil, &verdict.Fault{Reason: verdict.Say("feature.first_undecided",
			"feature {subject} is undecided on the first engine").On(f.Name).From(v.LockedBy(id))}
	}
	// Rules on the feature read what the first engine showed.
	out := *decided
	out.Confirmations = nil
	verdicts := []verdict.Verdict{decided.Verdict}
	var reasons []verdict.Reason
	for _, c := range f.Confirm {
		id := runtime.FeatureID(c.Name)
		d := v.Outcome(id)
		kept := ledger.Confirmation{Engine: c.Engine, Node: id}
		switch without := verdict.Join(verdicts...); {
		case d == nil && !without.Unlocks():
			kept.Reason = verdict.New(code.NotTried, verdict.Text("without", string(without))).On(c.Engine)
		case d == nil:
			kept.Verdict = verdict.Invalid
			kept.Reason = verdict.New(code.ConfirmationNotRun).On(c.Engine).Is(verdict.Invalid).From(v.LockedBy(id))
		case d.Verdict.Unlocks():
			kept.Verdict = d.Verdict
			kept.Reason = verdict.New(code.Confirmed).On(c.Engine).Is(d.Verdict)
		default:
			kept.Verdict = d.Verdict
			// The reasons leave out what passed.
			against := slices.DeleteFunc(d.Why(), func(r verdict.Reason) bool { return r.Verdict == verdict.Pass })
			kept.Reason = verdict.New(code.NotConfirmed).On(c.Engine).Is(d.Verdict).From(against...)
			if d.LogTail != nil {
				out.LogTail, out.Exit = d.LogTail, d.Exit
			}
		}
		if kept.Verdict != "" {
			verdicts = append(verdicts, kept.Verdict)
		}
		reasons = append(reasons, kept.Reason)
		out.Confirmations = append(out.Confirmations, kept)
	}
	out.Verdict = verdict.Join(verdicts...)
	out.Reasons = append(reasons, decided.Reasons...)
	admit(v, f, &out)
	return &out, nil
}

// decideHypothesis is the outcome of a feature's hypothesis; nil if it has none.
func decideHypothesis(v *View, f *plans.Feature, all gates.Evidence, rests *ledger.Decision) *ledger.Hypothesis {
	h := f.Hypothesis
	if h == nil {
		return nil
	}
	out := &ledger.Hypothesis{
		Metric: h.Metric, Expect: h.Expect, Because: h.Because,
		Measured: gates.Measured(h.Probe, all),
	}
	settings := gateSettings(v.Plan)
	settings.Alternatives = len(f.Alternatives)
	outcome, rule := gates.DecideHypothesis(h.Probe, decisive(f), all, settings)
	out.Outcome, out.Test = outcome, &rule
	out.PostHoc = postHoc(v, f, rests)
	return out
}

// postHoc reports whether a hypothesis was added after its measurement: no run that
// started before the first launch had it in its plan. The ledger proves the order,
// whatever the plan says today.
func postHoc(v *View, f *plans.Feature, rests *ledger.Decision) bool {
	if rests.Session == "" {
		return false
	}
	for _, r := range v.records() {
		switch {
		case r.RunStart != nil && r.RunStart.Hypotheses[f.Name] == f.Hypothesis.Digest():
			return false
		case r.Launch != nil && r.Launch.Session == rests.Session:
			return true
		}
	}
	return false
}

// Hypotheses are the digests of a plan's hypotheses, by feature, as a run records them
// before it measures anything.
func Hypotheses(p *plans.Plan) map[string]string {
	out := map[string]string{}
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			if f.Hypothesis != nil {
				out[f.Name] = f.Hypothesis.Digest()
			}
		}
	}
	return out
}
