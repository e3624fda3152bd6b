package steps

import (
	"context"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// joinPhase decides a phase without a gate: it passes when its steps and
// features pass.
type joinPhase struct {
	lab   *Lab
	phase *plans.Phase
}

func (j *joinPhase) Keys(s *runtime.Scope) (runtime.Keys, error) {
	parts, err := stepIdentities(s, j.phase)
	if err != nil {
		return runtime.Keys{}, err
	}
	for _, f := range j.phase.Features {
		part, err := restsOn(s, runtime.FeatureID(f.Name))
		if err != nil {
			return runtime.Keys{}, err
		}
		parts = append(parts, part)
	}
	return runtime.Keys{Measure: runtime.Digest("phase", parts), Decide: runtime.Digest("phase")}, nil
}

func (j *joinPhase) Run(_ context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	if d := brokenStep(s, j.phase); d != nil {
		return d, nil
	}
	out := &ledger.Decision{}
	var verdicts []verdict.Verdict
	for _, b := range j.phase.Steps {
		verdicts = append(verdicts, verdict.Pass)
		out.Reasons = append(out.Reasons, runtime.StepPart(b).Came(verdict.Pass))
	}
	for _, f := range j.phase.Features {
		id := runtime.FeatureID(f.Name)
		d := s.Outcome(id)
		if d == nil {
			verdicts = append(verdicts, verdict.Invalid)
			out.Reasons = append(out.Reasons, runtime.FeaturePart(f).NotRun(s.LockedBy(id)))
			continue
		}
		verdicts = append(verdicts, d.Verdict)
		out.Reasons = append(out.Reasons, runtime.FeaturePart(f).Came(d.Verdict))
	}
	out.Verdict = verdict.Join(verdicts...)
	return out, nil
}

// stepIdentities are what the end of a phase rests on of its steps, for its key.
func stepIdentities(s *runtime.Scope, ph *plans.Phase) ([]any, error) {
	var parts []any
	for _, b := range ph.Steps {
		part, err := restsOn(s, runtime.StepID(ph.Name, b.Kind, b.Name))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// brokenStep is the outcome of a phase one of whose steps did not pass, or was not
// run: its features were never run, so there is nothing for a rule to read. It is
// nil where all passed.
func brokenStep(s *runtime.Scope, ph *plans.Phase) *ledger.Decision {
	for _, b := range ph.Steps {
		id := runtime.StepID(ph.Name, b.Kind, b.Name)
		switch d := s.Outcome(id); {
		case d == nil:
			return &ledger.Decision{
				Verdict: verdict.Invalid,
				Reasons: []verdict.Reason{runtime.StepPart(b).NotRun(s.LockedBy(id))},
			}
		case !d.Verdict.Unlocks():
			return &ledger.Decision{
				Verdict: d.Verdict, LogTail: d.LogTail, Exit: d.Exit,
				Reasons: append([]verdict.Reason{runtime.StepPart(b).Alone(d.Verdict)}, d.Reasons...),
			}
		}
	}
	return nil
}
