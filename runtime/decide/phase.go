package decide

import (
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func decideGate(v *View, ph *plans.Phase) (*ledger.Decision, error) {
	if d := brokenStep(v, ph); d != nil {
		return d, nil
	}
	out := &ledger.Decision{}
	for _, f := range gateFeatures(v.Plan, ph) {
		read, rests, err := outcomeOf(v, f)
		if err != nil {
			return nil, err
		}
		out.Evidence = append(out.Evidence, read)
		out.Launches = append(out.Launches, rests.Launches...)
		if rests.LogTail != nil {
			out.LogTail, out.Exit = rests.LogTail, rests.Exit
		}
	}
	for _, row := range rowsRead(ph) {
		read, launches, err := v.row(ph, row)
		if err != nil {
			return nil, err
		}
		out.Evidence = append(out.Evidence, read)
		for _, id := range launches {
			if !slices.Contains(out.Launches, id) { // rows share the reference's
				out.Launches = append(out.Launches, id)
			}
		}
	}
	all, settings := evidence(out.Evidence...), settingsOfGate(v.Plan, ph)
	out.Statistics = &settings
	for _, result := range gates.Decide(ph.Gate.Rules, all, settings) {
		result.Role, result.Decides = verdict.RoleRule, true
		out.Rules = append(out.Rules, result)
	}
	out.Notes = append(out.Notes, marks(out.Evidence, settings)...)
	out.Verdict = JoinVerdicts(string(runtime.KindGate), nil, out.Rules)
	v.withholdRelaxed(runtime.PhaseID(ph.Name), out, out.Evidence)
	return out, nil
}

// outcomeOf is what a gate may read of a feature with its outcome, and its source. Of one
// without an outcome it may read nothing.
func outcomeOf(v *View, f *plans.Feature) (gates.Feature, *ledger.Decision, error) {
	id := runtime.FeatureID(f.Name)
	d := v.Outcome(id)
	if d == nil {
		why := runtime.FeaturePart(f).NotRun(v.LockedBy(id))
		root := gates.Arm{Name: ledger.Baseline}
		return gates.Feature{Name: f.Name, Root: root, Broken: verdict.Invalid, Cause: why}, &ledger.Decision{}, nil
	}
	rests, err := v.measured(f)
	if err != nil {
		return gates.Feature{}, nil, err
	}
	read := rests.Evidence[0]
	read.Name, read.Outcome, read.Accepted = f.Name, d.Verdict, d.Accepted
	return read, rests, nil
}

// decidePhase decides a phase without a gate: it passes when its steps and features pass.
func decidePhase(v *View, ph *plans.Phase) (*ledger.Decision, error) {
	if d := brokenStep(v, ph); d != nil {
		return d, nil
	}
	out := &ledger.Decision{}
	var verdicts []verdict.Verdict
	var evidence []gates.Feature
	for _, b := range ph.Steps {
		verdicts = append(verdicts, verdict.Pass)
		out.Reasons = append(out.Reasons, runtime.StepPart(b).Outcome(verdict.Pass))
	}
	for _, f := range ph.Features {
		id := runtime.FeatureID(f.Name)
		came, why := verdict.Invalid, runtime.FeaturePart(f).NotRun(v.LockedBy(id))
		if d := v.Outcome(id); d != nil {
			came = d.Verdict
			evidence = append(evidence, slices.DeleteFunc(slices.Clone(d.Evidence), func(e gates.Feature) bool {
				return e.Name != f.Name
			})...)
			if v.LockedBy(id).IsZero() {
				why = runtime.FeaturePart(f).Outcome(d.Verdict)
			}
		}
		verdicts = append(verdicts, came)
		out.Reasons = append(out.Reasons, why)
	}
	out.Verdict = verdict.Join(verdicts...)
	v.withholdRelaxed(runtime.PhaseID(ph.Name), out, evidence)
	return out, nil
}

// brokenStep is the outcome of a phase with a step that did not pass or was not run: its
// features were never run, so rules have nothing to read. It is nil if all passed.
func brokenStep(v *View, ph *plans.Phase) *ledger.Decision {
	for _, b := range ph.Steps {
		id := runtime.StepID(ph.Name, b.Kind, b.Name)
		switch d := v.Outcome(id); {
		case d == nil:
			return &ledger.Decision{
				Verdict: verdict.Invalid,
				Reasons: []verdict.Reason{runtime.StepPart(b).NotRun(v.LockedBy(id))},
			}
		case !d.Verdict.Unlocks():
			return &ledger.Decision{
				Verdict: d.Verdict, LogTail: d.LogTail, Exit: d.Exit,
				Reasons: append([]verdict.Reason{runtime.StepPart(b).AloneOutcome(d.Verdict)}, d.Why()...),
			}
		}
	}
	return nil
}
