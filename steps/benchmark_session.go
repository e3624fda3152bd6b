package steps

import (
	"context"
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

// maxReplaced is how often one slot is launched again because the machine
// disturbed it: more, and the machine is not fit to measure on.
const maxReplaced = 2

// session is the interleaved launches of one parent and one or more candidates.
type session struct {
	lab     *Lab
	scope   *runtime.Scope
	id      string
	work    string
	ws      []*plans.Workload
	members []*member
	// launch makes one launch; tries are those of its slot that do not count.
	launch func(ctx context.Context, sl slot, total int, tries []*ledger.Launch) (*ledger.Launch, error)
	// all are its launches so far, also those that do not count.
	all []*ledger.Launch
	// planned is how many launches it would have at most when it went on.
	planned int
	// cut is the round that was the last one when the session went on.
	cut int
}

// run makes launches, round by round, until no rule of a member could still be
// settled by more. A member of which a launch broke drops out, and the others go
// on; all do where it was their parent's.
func (s *session) run(ctx context.Context) error {
	if err := s.looks(); err != nil {
		return err
	}
	s.planned = s.total()
	for round := s.begin(); s.open(); round++ {
		if round > s.cut+s.total() {
			return fmt.Errorf("session %s does not end; this is a mistake in mxflow", s.id)
		}
		for _, v := range roundOf(s.arms(round), round) {
			if !s.wants(v) {
				continue
			}
			if err := s.slot(ctx, slot{variant: v, ordinal: round}); err != nil {
				return err
			}
		}
		if err := s.looks(); err != nil {
			return err
		}
	}
	return nil
}

// begin is the round in which launches go on: the last one where it was cut.
func (s *session) begin() int {
	last := 0
	for _, launch := range s.all {
		last = max(last, launch.Ordinal)
	}
	s.cut = max(1, last)
	return s.cut
}

// joins reports whether a member takes part in a round. In one that was begun
// before, only who was in it then: a launch of its parent that was made without it
// did not stand beside its own.
func (s *session) joins(m *member, round int) bool {
	if !m.Open || round != s.cut || len(s.all) == 0 {
		return m.Open
	}
	own := 0
	for _, launch := range s.all {
		if launch.VariantKey == m.Arms.Candidate.Key {
			own = max(own, launch.Ordinal)
		}
	}
	return own >= round-1
}

// arms are the variants that a round launches, the parent first.
func (s *session) arms(round int) (vs []*variant.Variant) {
	for _, m := range s.members {
		if !s.joins(m, round) {
			continue
		}
		for _, v := range m.variants {
			if !slices.ContainsFunc(vs, func(o *variant.Variant) bool { return o.Key == v.Key }) {
				vs = append(vs, v)
			}
		}
	}
	return vs
}

// wants reports whether somebody still needs a variant: who has it may have
// dropped out in this round.
func (s *session) wants(v *variant.Variant) bool {
	return slices.ContainsFunc(s.members, func(m *member) bool { return m.Open && m.Has(v.Key) })
}

func (s *session) open() bool {
	return slices.ContainsFunc(s.members, func(m *member) bool { return m.Open })
}

// slot launches a variant, again where what it measured does not count for a
// cause that lies in the machine.
func (s *session) slot(ctx context.Context, sl slot) error {
	var tries []*ledger.Launch
	for _, launch := range s.all {
		if launch.VariantKey == sl.variant.Key && launch.Ordinal == sl.ordinal {
			tries = append(tries, launch)
		}
	}
	if slices.ContainsFunc(tries, decide.Sound) {
		return nil
	}
	sl.number = s.slots() + 1
	if len(tries) > 0 {
		sl.number = ledger.Numbers(s.all)[tries[0].ID]
	}
	for made := 0; ; made++ {
		sl.order, sl.crashed = len(s.all)+1, s.crashes(sl.variant)
		launch, err := s.launch(ctx, sl, s.total(), tries)
		if err != nil {
			return err
		}
		s.all, tries = append(s.all, launch), append(tries, launch)
		switch {
		case decide.Sound(launch):
			return nil
		case !launch.OK, !launch.Disturbed, made >= maxReplaced:
			if !launch.OK {
				s.died(launch)
			}
			for _, m := range s.members {
				if m.Open && m.Has(launch.VariantKey) {
					m.broken, m.Open = launch, false
				}
			}
			return nil
		}
	}
}

// looks asks for every member whether it needs more.
func (s *session) looks() error {
	for _, m := range s.members {
		if !m.Open {
			continue
		}
		before := m.Rounds
		if err := m.Look(s.lab.view(s.scope), s.all); err != nil {
			return err
		}
		if m.Rounds == 0 {
			m.Open = true
			continue
		}
		if why := s.lab.otherEnvironment(m.Took(s.all), m.variants); !why.IsZero() {
			m.invalid, m.Open = why, false
			continue
		}
		if m.Rounds > before && m.Rounds >= m.Least && m.Open {
			// What does not count is not worth more launches.
			v, reasons, err := s.judged(m)
			if err != nil {
				return err
			}
			if v != verdict.Pass {
				m.invalid, m.Open = reasons[0], false
			}
		}
	}
	return nil
}
