package steps

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
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
	rules := []any{"feature", decidingVersion, d.feature.Accept, d.feature.Hypothesis, d.lab.settings(d.feature), least, most}
	for _, r := range d.feature.Criteria {
		rules = append(rules, ruleKey(r))
	}
	return runtime.Keys{Measure: digest(parts), Decide: digest(rules)}, nil
}

// identity is what another decision rests on when it rests on d. A benchmark that
// was looked at again by other rules, and made no more launches, is the same one.
func identity(d *ledger.Decision) string {
	if d.Kind == string(runtime.KindBenchmark) {
		return digest(d.Node, d.MeasureKey, d.Verdict, d.Session, d.Launches)
	}
	return digest(d.Node, d.MeasureKey, d.DecisionKey, d.Attempt, d.Verdict, d.Accepted, d.Session, d.Launches)
}

// restsOn is what a decision that waited for a node rests on: its identity, or that
// it is locked and why. It returns runtime.ErrUndecided while it is neither.
func restsOn(s *runtime.Scope, id string) (string, error) {
	if d := s.Outcome(id); d != nil {
		return identity(d), nil
	}
	if why := s.LockedBy(id); why != "" {
		return id + " is locked: " + why, nil
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
	var joined []verdict.Verdict
	for _, l := range out.Levels {
		joined = append(joined, l.Verdict)
		if l.Verdict != verdict.Pass {
			out.Reasons = append(out.Reasons, fmt.Sprintf("level %s: %s", l.Name, l.Verdict))
		}
	}
	d.lab.criteria(f, all, out)
	decided := 0
	for _, r := range out.Rules {
		if r.Decides {
			joined = append(joined, r.Verdict)
			decided++
		}
	}
	out.Verdict = verdict.Join(joined...)
	if decided == 0 {
		out.Verdict = verdict.Join(out.Verdict, verdict.Inconclusive)
		out.Reasons = append(out.Reasons, "no criterion decides over this feature")
	}
	d.lab.admit(s, f, out)
	out.Hypothesis = d.lab.claimed(s, f, all, out)
	out.Interference = d.lab.interference(s, f, ev)
	for _, i := range out.Interference {
		out.Reasons = append(out.Reasons, i.Says())
	}
	return out, nil
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
		result.Role = "criterion"
		out.Rules = append(out.Rules, result)
		out.Reasons = append(out.Reasons, fmt.Sprintf("criterion %s: %s%s", r.Name, result.Verdict, because(result.Reasons)))
	}
}

// because are reasons as they stand behind what they explain: ": one; another", and
// nothing where there are none.
func because(reasons []string) string {
	if len(reasons) == 0 {
		return ""
	}
	return ": " + strings.Join(reasons, "; ")
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
		why := fmt.Sprintf("not accepted into the stack, because %s, which it builds on, is not in it", under)
		if !slices.Contains(out.Reasons, why) {
			out.Reasons = append(out.Reasons, why)
		}
	}
}
