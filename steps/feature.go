package steps

import (
	"context"
	"fmt"
	"maps"
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
	rules := []any{"feature", decidingVersion, d.feature.Accept, d.feature.Hypothesis}
	for _, r := range d.feature.Criteria {
		rules = append(rules, ruleKey(r))
	}
	return runtime.Keys{Measure: digest(parts), Decide: digest(rules)}, nil
}

// identity is what another decision rests on when it rests on d.
func identity(d *ledger.Decision) string {
	return digest(d.Node, d.MeasureKey, d.DecisionKey, d.Attempt, d.Verdict, d.Accepted, d.Session, d.Launches)
}

func (d *decideFeature) Run(_ context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	f := d.feature
	ev, out, err := d.lab.evidenceOf(s, f)
	if err != nil {
		return nil, err
	}
	all := &gates.Evidence{Features: map[string]*gates.Feature{f.Name: ev}}
	var decisive []verdict.Verdict
	for _, l := range out.Levels {
		decisive = append(decisive, l.Verdict)
		if l.Verdict != verdict.Pass {
			out.Reasons = append(out.Reasons, fmt.Sprintf("level %s: %s", l.Name, l.Verdict))
		}
	}
	accept := map[string]bool{}
	for _, name := range f.Accept {
		accept[name] = true
	}
	decided := 0
	for _, r := range f.Criteria {
		result := gates.Eval(r, all)
		result.Role, result.Decides = "criterion", accept[r.Name]
		out.Rules = append(out.Rules, result)
		if result.Decides {
			decisive = append(decisive, result.Verdict)
			decided++
		}
		out.Reasons = append(out.Reasons, fmt.Sprintf("criterion %s: %s%s", r.Name, result.Verdict, first(result.Reasons)))
	}
	out.Verdict = verdict.Join(decisive...)
	if decided == 0 {
		out.Verdict = verdict.Join(out.Verdict, verdict.Inconclusive)
		out.Reasons = append(out.Reasons, "no criterion decides over this feature")
	}
	out.Accepted = out.Verdict == verdict.Pass
	if under := f.BuildsOn.Feature; out.Accepted && under != "" {
		if parent := s.Outcome(runtime.FeatureID(under)); parent == nil || !parent.Accepted {
			// What was measured had under it what is not in the stack.
			out.Accepted = false
			out.Reasons = append(out.Reasons, fmt.Sprintf("not accepted into the stack, because %s, which it builds on, is not in it", under))
		}
	}
	if h := f.Hypothesis; h != nil {
		out.Hypothesis = &ledger.Hypothesis{Metric: h.Metric, Expect: h.Expect, Because: h.Because, Measured: gates.Measured(h.Probe, all)}
	}
	return out, nil
}

func first(reasons []string) string {
	if len(reasons) == 0 {
		return ""
	}
	return ": " + strings.Join(reasons, "; ")
}

// evidenceOf gathers what rules on a feature may read, and a decision that
// names where it came from.
func (l *Lab) evidenceOf(s *runtime.Scope, f *plans.Feature) (*gates.Feature, *ledger.Decision, error) {
	a, err := l.armsOf(s, f)
	if err != nil {
		return nil, nil, err
	}
	ev := &gates.Feature{Levels: map[string]verdict.Verdict{}, Knobs: a.candidate.knobs}
	out := &ledger.Decision{Variant: maps.Clone(a.candidate.knobs)}
	for _, id := range []string{runtime.QualifyID(f.Name), runtime.BenchmarkID(f.Name)} {
		d := s.Outcome(id)
		if d == nil {
			continue
		}
		out.Levels = append(out.Levels, d.Levels...)
		out.Launches = append(out.Launches, d.Launches...)
		if d.LogTail != nil {
			out.LogTail, out.Exit = d.LogTail, d.Exit
		}
		if d.Session != "" {
			out.Session = d.Session
		}
		for _, level := range d.Levels {
			ev.Levels[level.Name] = level.Verdict
		}
		if d.Verdict != verdict.Pass && ev.Broken == "" {
			ev.Broken, ev.Cause = broken(d)
		}
	}
	if out.Session == "" && ev.Broken == "" {
		ev.Broken, ev.Cause = verdict.Invalid, "protocol "+f.Protocol+" has no benchmark level, so nothing was measured"
	}
	if ev.Broken != "" {
		return ev, out, nil
	}
	if err := l.fillArms(ev, a, out.Session, out.Launches); err != nil {
		return nil, nil, err
	}
	return ev, out, nil
}

// broken is the verdict that measurements of an unqualified variant have: a
// level that failed makes them invalid, whatever number they show; a harness
// that broke remains an error.
func broken(d *ledger.Decision) (verdict.Verdict, string) {
	cause := ""
	for _, level := range d.Levels {
		if level.Verdict != verdict.Pass {
			cause = fmt.Sprintf("level %s is %s%s", level.Name, level.Verdict, first(level.Reasons))
			break
		}
	}
	if cause == "" {
		cause = fmt.Sprintf("%s is %s%s", d.Node, d.Verdict, first(d.Reasons))
	}
	if d.Verdict == verdict.Error {
		return verdict.Error, cause
	}
	if d.Verdict == verdict.Inconclusive {
		return verdict.Inconclusive, cause
	}
	return verdict.Invalid, cause
}

// fillArms sorts the launches that the decision rests on by variant.
func (l *Lab) fillArms(ev *gates.Feature, a arms, session string, ids []string) error {
	launches, err := l.session(session)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	ev.Candidate.Name, ev.Parent.Name, ev.Root.Name = a.candidate.name, a.parent.name, "baseline"
	for _, launch := range launches {
		if !wanted[launch.ID] || !launch.OK {
			continue
		}
		g := gates.Launch{ID: launch.ID, Samples: samplesOf(launch.Samples, launch.Output), Metrics: launch.Metrics, Stale: !fresh(launch.Engine), Observed: saidBy(launch), Unobserved: launch.Unobserved}
		if launch.VariantKey == a.candidate.key {
			ev.Candidate.Launches = append(ev.Candidate.Launches, g)
		}
		if launch.VariantKey == a.parent.key {
			ev.Parent.Launches = append(ev.Parent.Launches, g)
		}
		if launch.VariantKey == a.root.key {
			ev.Root.Launches = append(ev.Root.Launches, g)
		}
	}
	return nil
}
