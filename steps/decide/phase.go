package decide

import (
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func Gate(v *View, ph *plans.Phase) (*ledger.Decision, error) {
	if d := brokenStep(v, ph); d != nil {
		return d, nil
	}
	all := &gates.Evidence{Features: map[string]*gates.Feature{}}
	out := &ledger.Decision{}
	for _, f := range GateFeatures(v.Plan, ph) {
		read, ev, rests, err := outcomeOf(v, f)
		if err != nil {
			return nil, err
		}
		all.Features[f.Name] = read
		out.Evidence = append(out.Evidence, ev)
		out.Launches = append(out.Launches, rests.Launches...)
		if rests.LogTail != nil {
			out.LogTail, out.Exit = rests.LogTail, rests.Exit
		}
	}
	for _, row := range RowsRead(ph) {
		read, ev, launches, err := v.row(ph, row)
		if err != nil {
			return nil, err
		}
		all.Features[row.Key()] = read
		out.Evidence = append(out.Evidence, ev)
		for _, id := range launches {
			if !slices.Contains(out.Launches, id) { // rows share the reference's
				out.Launches = append(out.Launches, id)
			}
		}
	}
	settings := SettingsOfGate(v.Plan, ph)
	out.Statistics = statistics(settings)
	for _, result := range gates.Decide(ph.Gate.Rules, all, settings) {
		result.Role, result.Decides = verdict.RoleRule, true
		out.Rules = append(out.Rules, result)
	}
	out.Notes = append(out.Notes, marks(all, settings, out.Evidence)...)
	out.Verdict = JoinVerdicts(string(runtime.KindGate), nil, out.Rules)
	v.withholdRelaxed(runtime.PhaseID(ph.Name), out, out.Evidence)
	return out, nil
}

// outcomeOf is what a gate may read of a feature with its outcome, as rules read it and as
// it is recorded, and its source. Of one without an outcome it may read nothing.
func outcomeOf(v *View, f *plans.Feature) (*gates.Feature, ledger.Evidence, *ledger.Decision, error) {
	id := runtime.FeatureID(f.Name)
	d := v.Outcome(id)
	if d == nil {
		ev := ledger.Evidence{Feature: f.Name, Root: ledger.Arm{Name: ledger.Baseline}, Broken: verdict.Invalid, Cause: runtime.FeaturePart(f).NotRun(v.LockedBy(id))}
		read, err := assembled(ev, v.launch)
		return read, ev, &ledger.Decision{}, err
	}
	found, err := v.measured(f)
	if err != nil {
		return nil, ledger.Evidence{}, nil, err
	}
	read, ev := found.Evidence, ledger.Evidence{}
	if len(found.Rests.Evidence) > 0 { // none in a replay
		ev = found.Rests.Evidence[0]
	}
	read.Outcome, read.Accepted = d.Verdict, d.Accepted
	ev.Feature, ev.Outcome, ev.Accepted, ev.Broken, ev.Cause = f.Name, read.Outcome, read.Accepted, read.Broken, read.Cause
	return read, ev, found.Rests, nil
}

// Phase decides a phase without a gate: it passes when its steps and features pass.
func Phase(v *View, ph *plans.Phase) (*ledger.Decision, error) {
	if d := brokenStep(v, ph); d != nil {
		return d, nil
	}
	out := &ledger.Decision{}
	var verdicts []verdict.Verdict
	var evidence []ledger.Evidence
	for _, b := range ph.Steps {
		verdicts = append(verdicts, verdict.Pass)
		out.Reasons = append(out.Reasons, runtime.StepPart(b).Outcome(verdict.Pass))
	}
	for _, f := range ph.Features {
		id := runtime.FeatureID(f.Name)
		came, why := verdict.Invalid, runtime.FeaturePart(f).NotRun(v.LockedBy(id))
		if d := v.Outcome(id); d != nil {
			came = d.Verdict
			evidence = append(evidence, slices.DeleteFunc(slices.Clone(d.Evidence), func(e ledger.Evidence) bool { return e.Feature != f.Name })...)
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
