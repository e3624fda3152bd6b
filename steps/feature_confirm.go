package steps

import (
	"context"
	"fmt"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
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
// the very same. Empty where it is another one, and for what is no confirmation.
func (l *Lab) confirmsNothing(s *runtime.Scope, f *plans.Feature, candidate *variant) (string, error) {
	if f == nil || f.Engine == "" {
		return "", nil
	}
	first, err := l.armsOf(s, l.Plan.Feature(f.Of))
	if err != nil || first.candidate.key != candidate.key {
		return "", err
	}
	return fmt.Sprintf("with the knobs of %s, engine.%s is started just as engine.%s is, so this would confirm nothing", first.candidate.name, f.Engine, first.candidate.engine), nil
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
	return runtime.Keys{Measure: digest(parts), Decide: digest("confirmed", confirmingVersion), Claim: claimKey(j.feature)}, nil
}

// confirmingVersion changes when the same outcomes would be joined in another way.
const confirmingVersion = 1

func (j *joinConfirmed) Run(_ context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	id := runtime.FirstID(j.feature.Name)
	decided := s.Outcome(id)
	if decided == nil {
		return nil, fmt.Errorf("feature %s was not decided on the first engine: %s", j.feature.Name, s.LockedBy(id))
	}
	// What rules on the feature read is what the first engine showed.
	out := *decided
	out.Retraction, out.Confirmations = nil, nil
	verdicts := []verdict.Verdict{decided.Verdict}
	var says []string
	for _, c := range j.feature.Confirm {
		id := runtime.FeatureID(c.Name)
		d := s.Outcome(id)
		kept := ledger.Confirmation{Engine: c.Engine, Node: id}
		switch without := verdict.Join(verdicts...); {
		case d == nil && !without.Unlocks():
			kept.Reason = fmt.Sprintf("not tried on engine.%s: it is %s without that", c.Engine, without)
		case d == nil:
			kept.Verdict = verdict.Invalid
			kept.Reason = fmt.Sprintf("not confirmed on engine.%s: %s", c.Engine, s.LockedBy(id))
		case d.Verdict.Unlocks():
			kept.Verdict = d.Verdict
			kept.Reason = fmt.Sprintf("confirmed on engine.%s", c.Engine)
		default:
			against, _ := d.Against()
			kept.Verdict = d.Verdict
			kept.Reason = ledger.NotConfirmed(c.Engine, d.Verdict, against)
			if d.LogTail != nil {
				out.LogTail, out.Exit = d.LogTail, d.Exit
			}
		}
		if kept.Verdict != "" {
			verdicts = append(verdicts, kept.Verdict)
		}
		says = append(says, kept.Reason)
		out.Confirmations = append(out.Confirmations, kept)
	}
	out.Verdict = verdict.Join(verdicts...)
	out.Reasons = append(says, decided.Reasons...)
	j.lab.admit(s, j.feature, &out)
	return &out, nil
}
