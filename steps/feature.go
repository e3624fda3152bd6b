package steps

import (
	"context"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// decideFeature decides a feature's criteria from its launches, and whether it
// enters the stack. It measures nothing, so a changed threshold costs nothing.
type decideFeature struct {
	lab     *Lab
	feature *plans.Feature
}

func (d *decideFeature) Keys(s *runtime.Scope) (runtime.Keys, error) {
	q := s.Outcome(runtime.QualifyID(d.feature.Name))
	if q == nil {
		return runtime.Keys{}, runtime.ErrUndecided
	}
	parts := []any{"feature", identity(q)}
	if id := runtime.BenchmarkID(d.feature.Name); d.lab.benchmarked(d.feature) {
		b := s.Outcome(id)
		if b == nil {
			return runtime.Keys{}, runtime.ErrUndecided
		}
		parts = append(parts, identity(b))
	}
	least, most := d.lab.Plan.LaunchesOf(readAs(d.feature))
	rules := []any{"feature", decidingVersion, d.feature.Accept, d.lab.settings(d.feature), least, most}
	for _, r := range d.feature.Criteria {
		rules = append(rules, ruleKey(r))
	}
	return runtime.Keys{Measure: runtime.Digest(parts), Decide: runtime.Digest(rules), Claim: claimKey(d.feature)}, nil
}

// identity is what another decision rests on when it rests on d. A benchmark that
// was looked at again by other rules, and made no more launches, is the same one, and so is what another hypothesis was
// held against.
func identity(d *ledger.Decision) string {
	if d.Kind == string(runtime.KindBenchmark) {
		return runtime.Digest(d.Node, d.MeasureKey, d.Verdict, d.Session, d.Launches)
	}
	return runtime.Digest(d.Node, d.MeasureKey, d.DecisionKey, d.DecidedBy(), d.Verdict, d.Accepted, d.Session, d.Launches)
}

// restsOn is what a decision that waited for a node rests on: its identity, or that
// it is locked and why, whatever people say of that. It returns runtime.ErrUndecided
// while it is neither.
func restsOn(s *runtime.Scope, id string) (string, error) {
	if d := s.Outcome(id); d != nil {
		return identity(d), nil
	}
	if why := s.LockedBy(id); !why.IsZero() {
		return runtime.Digest(id, "locked", why.Key()), nil
	}
	return "", runtime.ErrUndecided
}

func (d *decideFeature) Run(_ context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	f := d.feature
	ev, out, err := d.lab.evidenceOf(s, f)
	if err != nil {
		return nil, err
	}
	all := &gates.Evidence{Features: map[string]*gates.Feature{readAs(f): ev}}
	for _, l := range out.Levels {
		if l.Verdict != verdict.Pass {
			out.Reasons = append(out.Reasons, l.Bare())
		}
	}
	d.lab.criteria(f, all, out)
	out.Verdict = whole(out, out.Levels, out.Rules)
	if len(decisive(f)) == 0 {
		out.Reasons = append(out.Reasons, verdict.New(code.NoCriterion))
	}
	d.lab.admit(s, f, out)
	out.Hypothesis = d.lab.claimed(s, f, all, out)
	out.Interference = d.lab.interference(s, f, ev)
	for _, i := range out.Interference {
		out.Reasons = append(out.Reasons, i.Reason())
	}
	return out, nil
}

// whole joins the verdict of a decision from its levels and rules: a gate's from all
// of its rules, a feature's from its levels and from the rules that decide. Where none
// does, nothing was shown.
func whole(d *ledger.Decision, levels []ledger.Level, rules []verdict.Rule) verdict.Verdict {
	gate := runtime.Kind(d.Kind) == runtime.KindGate
	var joined []verdict.Verdict
	deciding := 0
	for _, r := range rules {
		if r.Decides || gate {
			joined = append(joined, r.Verdict)
			deciding++
		}
	}
	if gate {
		return verdict.Join(joined...)
	}
	for _, l := range levels {
		joined = append(joined, l.Verdict)
	}
	if deciding == 0 {
		joined = append(joined, verdict.Inconclusive)
	}
	return verdict.Join(joined...)
}

// criteria decides a feature's criteria: those that let it in share one error
// budget, and each of the others has one of its own.
func (l *Lab) criteria(f *plans.Feature, all *gates.Evidence, out *ledger.Decision) {
	settings := l.settings(f)
	out.Statistics = statistics(settings)
	byName := map[string]verdict.Rule{}
	for _, r := range gates.Decide(decisive(f), all, settings) {
		r.Decides = true
		byName[r.Name] = r
	}
	for _, r := range f.Criteria {
		result, ok := byName[r.Name]
		if !ok {
			result = gates.Decide([]*plans.Rule{r}, all, settings)[0]
			result.Decides = false
		}
		result.Role = verdict.RoleCriterion
		out.Rules = append(out.Rules, result)
		out.Reasons = append(out.Reasons, result.Reason())
	}
}

// admit says whether what was decided enters the stack.
func (l *Lab) admit(s *runtime.Scope, f *plans.Feature, out *ledger.Decision) {
	out.Accepted = out.Verdict == verdict.Pass
	under := f.BuildsOn.Feature
	if !out.Accepted || under == "" {
		return
	}
	if parent := s.Outcome(runtime.FeatureID(under)); parent == nil || !parent.Accepted {
		// What was measured had under it what is not in the stack.
		out.Accepted = false
		why := verdict.New(code.ParentNotAccepted).On(under)
		if !slices.ContainsFunc(out.Reasons, why.Equal) {
			out.Reasons = append(out.Reasons, why)
		}
	}
}
