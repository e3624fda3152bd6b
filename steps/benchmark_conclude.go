package steps

import (
	"context"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
)

// judged says whether a member's launches count.
func (s *session) judged(m *member) (verdict.Verdict, []verdict.Reason, error) {
	used := m.Took(s.all)
	v, reasons, err := s.lab.valid(used, m.variants, s.ws, m.Rounds)
	if err != nil || v != verdict.Pass {
		return v, reasons, err
	}
	why, err := s.lab.disagree(used, m.variants)
	if err == nil && !why.IsZero() {
		return verdict.Invalid, []verdict.Reason{why}, nil
	}
	return v, reasons, err
}

// conclude is the benchmark level of the member that was asked about.
func (s *session) conclude(ctx context.Context, m *member, out *ledger.Decision, level *ledger.Level) error {
	out.Session = s.id
	used := m.Took(s.all)
	for _, launch := range used {
		out.Launches = append(out.Launches, launch.ID)
	}
	if l := m.broken; l != nil {
		out.Launches = append(out.Launches, l.ID)
		level.Verdict = verdict.Invalid
		level.Reasons = []verdict.Reason{verdict.New(code.LaunchLost, verdict.Int("number", ledger.Numbers(s.all)[l.ID]), verdict.Text("variant", l.Variant)).
			On(l.ID).From(whyNot(l)...)}
		if !l.OK {
			level.Verdict = verdict.Error
			out.LogTail, out.Exit = l.LogTail, l.Exit
		}
		return nil
	}
	if !m.invalid.IsZero() {
		level.Verdict, level.Reasons = verdict.Invalid, []verdict.Reason{m.invalid}
		return nil
	}
	var err error
	if level.Verdict, level.Reasons = s.lab.MovedTrees(ctx, used, m.variants, s.scope.Outcome(runtime.QualifyID(m.Feature.Name))); level.Verdict != "" {
		return nil
	}
	if level.Verdict, level.Reasons, err = s.judged(m); err == nil && level.Verdict == verdict.Pass {
		for i, r := range level.Reasons {
			if r.Code == code.LaunchesPerArm {
				level.Reasons[i] = m.Spared()
			}
		}
		level.Reasons = append(level.Reasons, s.replaced(m)...)
	}
	return err
}

// replaced names launches that do not count, and why.
func (s *session) replaced(m *member) (notes []verdict.Reason) {
	for _, launch := range s.all {
		if m.Has(launch.VariantKey) && !decide.Sound(launch) && launch.Ordinal <= m.Rounds {
			notes = append(notes, verdict.New(code.LaunchReplaced).On(launch.ID).From(whyNot(launch)...))
		}
	}
	return notes
}

// whyNot is why a launch does not count.
func whyNot(l *ledger.Launch) []verdict.Reason {
	if !l.OK {
		return []verdict.Reason{l.Error}
	}
	return l.Invalid
}
