package steps

import (
	"context"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// decider makes the step that decides a feature's criteria on one engine.
func (l *Lab) decider(f *plans.Feature) runtime.Step {
	if f.Choose != nil {
		return &decideChoice{lab: l, feature: f}
	}
	return &decideFeature{lab: l, feature: f}
}

// decideOn decides a feature's criteria on one of several engines. It admits
// nothing into the stack: that is for all of them together.
type decideOn struct{ runtime.Step }

func (d *decideOn) Run(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	out, err := d.Step.Run(ctx, s)
	if out != nil {
		out.Accepted = false
	}
	return out, err
}

// Foresee implements runtime.Foreseer.
func (d *decideOn) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	if f, ok := d.Step.(runtime.Foreseer); ok {
		return f.Foresee(s)
	}
	return &ledger.Decision{}, nil, nil
}

// confirmsNothing says why a confirmation could only repeat what is known: with its
// knobs the other engine comes out as the first one, so that its launches would be
// the very same. No fact where it is another one, and for what is no confirmation.
func (l *Lab) confirmsNothing(s *runtime.Scope, f *plans.Feature, candidate *variant.Variant) (verdict.Reason, error) {
	if f == nil || f.Engine == "" {
		return verdict.Reason{}, nil
	}
	first, err := l.armsOf(s, l.Plan.Feature(f.Of))
	if err != nil || first.candidate.Key != candidate.Key {
		return verdict.Reason{}, err
	}
	return verdict.New(code.ConfirmsNothing, verdict.Text("engine", f.Engine), verdict.Text("first", first.candidate.Engine)).On(first.candidate.Name), nil
}

// joinConfirmed decides a feature from what was decided on the baseline's engine
// and on those that confirm it.
type joinConfirmed struct {
	lab     *Lab
	feature *plans.Feature
}

func (j *joinConfirmed) ids() []string {
	ids := []string{runtime.FirstID(j.feature.Name)}
	for _, c := range j.feature.Confirm {
		ids = append(ids, runtime.FeatureID(c.Name))
	}
	return ids
}

func (j *joinConfirmed) Keys(s *runtime.Scope) (runtime.Keys, error) {
	parts := []any{"confirmed"}
	for _, id := range j.ids() {
		part, err := restsOn(s, id)
		if err != nil {
			return runtime.Keys{}, err
		}
		parts = append(parts, part)
	}
	return runtime.Keys{Measure: runtime.Digest(parts), Decide: runtime.Digest("confirmed", confirmingVersion), Claim: claimKey(j.feature)}, nil
}

// confirmingVersion changes when the same outcomes would be joined in another way.
const confirmingVersion = 1

func (j *joinConfirmed) Run(_ context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	id := runtime.FirstID(j.feature.Name)
	decided := s.Outcome(id)
	if decided == nil {
		return nil, &verdict.Fault{Reason: verdict.New(code.FirstUndecided).On(j.feature.Name).From(s.LockedBy(id))}
	}
	// What rules on the feature read is what the first engine showed.
	out := *decided
	out.Retraction, out.Confirmations = nil, nil
	verdicts := []verdict.Verdict{decided.Verdict}
	var reasons []verdict.Reason
	for _, c := range j.feature.Confirm {
		id := runtime.FeatureID(c.Name)
		d := s.Outcome(id)
		kept := ledger.Confirmation{Engine: c.Engine, Node: id}
		switch without := verdict.Join(verdicts...); {
		case d == nil && !without.Unlocks():
			kept.Reason = verdict.New(code.NotTried, verdict.Text("without", string(without))).On(c.Engine)
		case d == nil:
			kept.Verdict = verdict.Invalid
			kept.Reason = verdict.New(code.ConfirmationNotRun).On(c.Engine).Is(verdict.Invalid).From(s.LockedBy(id))
		case d.Verdict.Unlocks():
			kept.Verdict = d.Verdict
			kept.Reason = verdict.New(code.Confirmed).On(c.Engine).Is(d.Verdict)
		default:
			kept.Verdict = d.Verdict
			kept.Reason = verdict.New(code.NotConfirmed).On(c.Engine).Is(d.Verdict).From(against(d)...)
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
	j.lab.admit(s, j.feature, &out)
	return &out, nil
}

// against are the reasons of a decision that speak against it: all but those of what
// passed.
func against(d *ledger.Decision) []verdict.Reason {
	return slices.DeleteFunc(slices.Clone(d.Reasons), func(r verdict.Reason) bool { return r.Verdict == verdict.Pass })
}
