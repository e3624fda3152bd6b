package steps

import (
	"maps"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// evidenceOf gathers what rules on a feature may read, and a decision that names
// where it came from. It returns runtime.ErrUndecided while it is not known which
// variants those are, and an error for a launch that is not on record: deciding
// without it would decide something else.
func (l *Lab) evidenceOf(s *runtime.Scope, f *plans.Feature) (*gates.Feature, *ledger.Decision, error) {
	f, err := l.standsFor(s, f)
	if err != nil {
		return nil, nil, err
	}
	a, err := l.armsOf(s, f)
	if err != nil {
		return nil, nil, err
	}
	ev := &gates.Feature{Levels: map[string]verdict.Verdict{}, Knobs: a.candidate.Knobs}
	out := &ledger.Decision{Variant: maps.Clone(a.candidate.Knobs)}
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
		ev.Broken, ev.Cause = verdict.Invalid, verdict.New(code.NoBenchmark).On(f.Protocol)
	}
	ev.Candidate.Name, ev.Parent.Name, ev.Root.Name = a.candidate.Name, a.parent.Name, ledger.Baseline
	if ev.Broken == "" {
		var rests []*ledger.Launch
		for _, id := range out.Launches {
			launch, ok := l.Store.LaunchByID(id)
			if !ok {
				return nil, nil, &verdict.Fault{Reason: verdict.New(code.LaunchUnrecorded, verdict.Text("feature", f.Name)).On(id)}
			}
			if launch.Session == out.Session {
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
func broken(d *ledger.Decision) (verdict.Verdict, verdict.Reason) {
	var cause verdict.Reason
	for _, level := range d.Levels {
		if level.Verdict != verdict.Pass {
			cause = level.Reason()
			break
		}
	}
	if cause.IsZero() {
		cause = verdict.New(code.Outcome).On(d.Node).Is(d.Verdict).From(d.Reasons...)
	}
	if d.Verdict == verdict.Error {
		return verdict.Error, cause
	}
	if d.Verdict == verdict.Inconclusive {
		return verdict.Inconclusive, cause
	}
	return verdict.Invalid, cause
}
