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
		out.Reasons = append(out.Reasons, fmt.Sprintf("criterion %s: %s%s", r.Name, result.Verdict, first(result.Reasons)))
	}
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
	f, err := l.standsFor(s, f)
	if err != nil {
		return nil, nil, err
	}
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
	ev.Candidate.Name, ev.Parent.Name, ev.Root.Name = a.candidate.name, a.parent.name, "baseline"
	if ev.Broken == "" {
		var rests []*ledger.Launch
		for _, id := range out.Launches {
			if launch, ok := l.Store.LaunchByID(id); ok && launch.Session == out.Session {
				rests = append(rests, launch)
			}
		}
		l.fillArms(ev, a, f, rests)
	}
	out.Evidence = []ledger.Evidence{keepEvidence(readAs(f), out.Session, ev)}
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
