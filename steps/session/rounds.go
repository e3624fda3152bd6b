package session

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

// rounds are the interleaved launches of several arms: of features, or of compared
// engines and combinations. They run one after the other, or side by side if the plan's
// executor has places for them: arms are compared within rounds.
type rounds struct {
	lab   *Lab
	scope *runtime.Scope
	id    string
	by    demand
	// launch makes one launch; tries are those of its slot that do not count.
	launch func(ctx context.Context, sl slot, total int, tries []*ledger.Launch) (*ledger.Launch, error)
	// places are where rounds run in turn, and atOnce how many run at a time; none and 1
	// without an executor.
	places []*ledger.Place
	atOnce int
	// stand is where a round runs that other machines make, given where it was started;
	// nil if this one makes it.
	stand func(ctx context.Context, round int, begun []*ledger.Place) (*ledger.Place, error)

	// mu guards what follows, and what demands, while rounds run side by side.
	mu sync.Mutex
	// all are the launches so far, also those that do not count.
	all []*ledger.Launch
	// under is how many run now.
	under int
	// cut is the round that was the last one when the session was resumed.
	cut int
}

// demand tells which launches of rounds are needed.
type demand interface {
	// last is the last round that is needed; less than round if that one is not.
	last(round int) (int, error)
	// arms are the variants that a round still launches or has launched, the parent
	// first.
	arms(round int) []*variant.Variant
	// needs reports whether a launch is still needed: its arm may have dropped out in
	// this round.
	needs(ctx context.Context, sl slot) (bool, error)
	// fill completes a slot that is about to be launched, and returns how many launches
	// there are in all.
	fill(sl *slot, tries []*ledger.Launch) (total int)
	// again reports whether a launch that broke is repeated.
	again(l *ledger.Launch) bool
	// done receives a launch that counts, or that nothing replaces.
	done(sl slot, l *ledger.Launch) error
}

// run makes rounds from round on, as long as they are needed.
func (s *rounds) run(ctx context.Context, round int) error {
	for {
		last, err := s.by.last(round)
		if err != nil || last < round {
			return err
		}
		n := min(s.sideBySide(), last-round+1)
		together, ctx := errgroup.WithContext(ctx)
		for r := round; r < round+n; r++ {
			together.Go(func() error { return s.round(ctx, r) })
		}
		if err := together.Wait(); err != nil {
			return err
		}
		round += n
	}
}

// divide gets the places that the plan's executor has for some variants.
func (s *rounds) divide(ctx context.Context, vs []*variant.Variant) (err error) {
	x := s.lab.Plan.Executor
	if x == nil {
		return nil
	}
	if s.places, err = s.lab.Places(ctx, vs); err != nil {
		return err
	}
	if x.Elsewhere() {
		s.stand = s.elsewhere
	}
	if len(s.places) > 0 || x.Elsewhere() {
		s.atOnce = x.Slots
	}
	return nil
}

// elsewhere is where rounds run that other machines make: on a place where they were
// started, as long as something makes launches there, or in turn.
func (s *rounds) elsewhere(ctx context.Context, round int, begun []*ledger.Place) (*ledger.Place, error) {
	n := s.scope.Node
	return s.lab.Elsewhere.Stand(ctx, (round-1)%s.lab.Plan.Executor.Slots, begun, func(what verdict.Reason) {
		s.scope.Emit(runtime.Event{Type: "note", Node: n.ID, Phase: n.Phase, Feature: n.Feature, Why: what})
	})
}

// sideBySide is how many rounds run at a time.
func (s *rounds) sideBySide() int { return max(1, s.atOnce) }

// round launches its arms, one after the other on one place. If that is lost with what
// makes launches there, the round restarts on another.
func (s *rounds) round(ctx context.Context, round int) error {
	for again := true; again; {
		again = false
		s.mu.Lock()
		arms, on := roundOf(s.by.arms(round), round), s.place(round)
		s.mu.Unlock()
		if s.stand != nil {
			begun := of(s.begun(round), arms)
			if decide.Together(begun, len(arms)) != nil {
				return nil
			}
			var places []*ledger.Place
			for _, l := range begun {
				places = append(places, l.Place)
			}
			var err error
			if on, err = s.stand(ctx, round, places); err != nil {
				return err
			}
		}
		for _, v := range arms {
			lost, err := s.slot(ctx, slot{variant: v, ordinal: round, place: on})
			if err != nil {
				return err
			}
			if again = lost; lost {
				break
			}
		}
	}
	return nil
}

// begun are the launches of a round that count.
func (s *rounds) begun(round int) (begun []*ledger.Launch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.all {
		if l.Ordinal == round && decide.Sound(l) {
			begun = append(begun, l)
		}
	}
	return begun
}

// place is where a round runs: in turn, or where it was started.
func (s *rounds) place(round int) *ledger.Place {
	if len(s.places) == 0 {
		return nil
	}
	if i := slices.IndexFunc(s.all, func(l *ledger.Launch) bool { return l.Ordinal == round && l.Place != nil }); i >= 0 {
		return s.all[i].Place
	}
	return s.places[(round-1)%len(s.places)]
}

// slot launches a variant, again if its measurement does not count for a reason in the
// machine. A launch lost with its place is left to the round, which continues elsewhere.
func (s *rounds) slot(ctx context.Context, sl slot) (lost bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if needed, err := s.by.needs(ctx, sl); err != nil || !needed {
		return false, err
	}
	tries := sl.of(s.all)
	if slices.ContainsFunc(tries, func(l *ledger.Launch) bool { return decide.Sound(l) && l.Place.Same(sl.place) }) {
		return false, nil
	}
	for made := 0; ; made++ {
		total := s.by.fill(&sl, tries)
		s.under++
		s.mu.Unlock()
		launch, err := s.launch(ctx, sl, total, tries)
		s.mu.Lock()
		s.under--
		if err != nil {
			return false, err
		}
		s.all, tries = append(s.all, launch), append(tries, launch)
		switch {
		case decide.Sound(launch):
			return false, s.by.done(sl, launch)
		case decide.Lost(launch) && losses(tries) <= decide.MaxReplaced:
			return true, nil
		case s.by.again(launch), launch.OK && launch.Disturbed && made < decide.MaxReplaced:
		default:
			return decide.Lost(launch), s.by.done(sl, launch)
		}
	}
}

// losses is how many of the launches were lost.
func losses(launches []*ledger.Launch) (n int) {
	for _, l := range launches {
		if decide.Lost(l) {
			n++
		}
	}
	return n
}

// slot is one planned launch of a session.
type slot struct {
	variant *variant.Variant
	// ordinal counts the launches of the variant, order those of the session, and number
	// those that do not replace others; all from 1.
	ordinal, order, number int
	// least is the minimum number of launches of the session.
	least int
	// crashed are its starts that crashed since its last launch that counts.
	crashed []*ledger.Launch
	// body is the seed of the first launch of its round; empty for that launch itself.
	body string
	// draw is the seed of its texts.
	draw ledger.Draw
	// place is where it runs, nil without an executor.
	place *ledger.Place
	// prompts is the digest of those that all arms are sent; empty if each is sent its
	// own.
	prompts string
}

// of returns the launches of the slot.
func (sl slot) of(launches []*ledger.Launch) (own []*ledger.Launch) {
	for _, l := range launches {
		if l.VariantKey == sl.variant.Key && l.Ordinal == sl.ordinal {
			own = append(own, l)
		}
	}
	return own
}

// roundOf returns the arms in the order of a round, counted from 1 and reversed by the
// Thue–Morse sequence: ABBA BAAB for two arms. Linear or quadratic drift over the session
// then affects all arms alike.
func roundOf(arms []*variant.Variant, round int) []*variant.Variant {
	out := slices.Clone(arms)
	if bits.OnesCount(uint(round-1))%2 == 1 {
		slices.Reverse(out)
	}
	return out
}

// launchID names a launch by its session, variant and ordinal, and marks a replacement.
func launchID(session string, sl slot, before int) string {
	id := fmt.Sprintf("%s.%s.%d", session, sl.variant.Name, sl.ordinal)
	if before > 0 {
		id += fmt.Sprintf("r%d", before)
	}
	return id
}
