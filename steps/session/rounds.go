package session

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// session is the interleaved launches of several arms: of features and what they are
// compared with, of compared engines, or of combinations of knobs. Its rounds run one
// after the other, or side by side if the plan's executor has places for them: arms are
// compared within rounds.
type session struct {
	lab *Lab
	// view is what decisions on it see; scope is nil in a replay.
	view  *decide.View
	scope *runtime.Scope
	id    string
	// work identifies what is sent, ws.
	work string
	ws   []*plans.Workload
	// prompts is the digest of those that all arms are sent; empty if each is sent its own.
	prompts string
	// members are what is decided of it; they may share arms.
	members []*member
	// proofs are the launches in which the parent was asked about the answers.
	proofs []*ledger.Launch
	// planned is the maximum number of launches when it was resumed.
	planned int

	// launch makes one launch in place of make; nil outside of tests.
	launch func(ctx context.Context, sl slot, tries []*ledger.Launch) (*ledger.Launch, error)
	// places are where rounds run in turn, and atOnce how many run at a time; none and 1
	// without an executor.
	places []*ledger.Place
	atOnce int
	// placeFor is where a round runs that other machines make, given where it was started;
	// nil if this one makes it.
	placeFor func(ctx context.Context, round int, begun []*ledger.Place) (*ledger.Place, error)

	// mu guards what follows, and members, while rounds run side by side.
	mu sync.Mutex
	// all are the launches so far, also those that do not count.
	all []*ledger.Launch
	// running is how many run now.
	running int
	// cut is the round that was the last one when the session was resumed.
	cut int
}

// run makes launches, round by round, until no member needs more. An arm with a launch
// that does not count and is not replaced drops out, with the members that need it, and
// the others continue.
func (s *session) run(ctx context.Context) error {
	s.cut = 1
	for _, launch := range s.all {
		s.cut = max(s.cut, launch.Ordinal)
	}
	// It resumes in the last round, and in those that ran in parallel with it.
	for round := max(1, s.cut-s.sideBySide()+1); ; {
		if err := s.lookAtMembers(); err != nil {
			return err
		}
		s.reportLooks()
		if s.planned == 0 {
			s.planned = s.total()
		}
		if !s.open() {
			return nil
		}
		if round > s.cut+s.total() {
			return fmt.Errorf("session %s does not end; this is a bug in mxflow", s.id)
		}
		// Rounds beyond the next look are made if there is room for them, which would be
		// idle otherwise.
		last := round
		for _, m := range s.members {
			if m.Open {
				last = max(last, m.Most)
			}
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

// divide gets the places that the plan's executor has for its arms.
func (s *session) divide(ctx context.Context) (err error) {
	x := s.lab.Variants.Plan.Executor
	if x == nil {
		return nil
	}
	var vs []*variant.Variant
	for _, m := range s.members {
		vs = append(vs, m.launchedVariants()...)
	}
	if s.places, err = s.lab.Launches.Places(ctx, vs); err != nil {
		return err
	}
	if x.IsRemote() {
		s.placeFor = s.remotePlace
	}
	if len(s.places) > 0 || x.IsRemote() {
		s.atOnce = x.Slots
	}
	return nil
}

// remotePlace is where rounds run that other machines make: on a place where they were
// started, as long as something makes launches there, or in turn.
func (s *session) remotePlace(ctx context.Context, round int, begun []*ledger.Place) (*ledger.Place, error) {
	n := s.scope.Node
	return s.lab.Launches.Elsewhere.Stand(ctx, (round-1)%s.lab.Variants.Plan.Executor.Slots, begun,
		func(what verdict.Reason) {
			s.scope.Emit(runtime.Event{Type: "note", Node: n.ID, Phase: n.Phase, Feature: n.Feature, Why: what})
		})
}

// sideBySide is how many rounds run at a time.
func (s *session) sideBySide() int { return max(1, s.atOnce) }

// memberInRound reports whether a member takes part in a round. In one started before, only
// features that were in it then: a launch of their parent made without them did not run
// beside their own.
func (s *session) memberInRound(m *member, round int) bool {
	if !m.Open || round > s.cut || len(s.all) == 0 {
		return m.Open
	}
	own := 0
	for _, launch := range s.all {
		if launch.VariantKey == m.Arms.Candidate.Key {
			own = max(own, launch.Ordinal)
		}
	}
	return own >= round-s.sideBySide()
}

// arms are the variants that a round launches, the parent first.
func (s *session) arms(round int) (vs []*variant.Variant) {
	for _, m := range s.members {
		if !s.memberInRound(m, round) {
			continue
		}
		for _, v := range m.launchedVariants() {
			if !slices.ContainsFunc(vs, func(o *variant.Variant) bool { return o.Key == v.Key }) {
				vs = append(vs, v)
			}
		}
	}
	return vs
}

// needsVariant reports whether a member still needs a variant: its member may have dropped out
// in this round.
func (s *session) needsVariant(v *variant.Variant) bool {
	return slices.ContainsFunc(s.members, func(m *member) bool { return m.Open && m.Has(v.Key) })
}

func (s *session) open() bool {
	return slices.ContainsFunc(s.members, func(m *member) bool { return m.Open })
}

// round launches its arms, one after the other on one place. If that is lost with what
// makes launches there, the round restarts on another.
func (s *session) round(ctx context.Context, round int) error {
	for restart := true; restart; {
		restart = false
		s.mu.Lock()
		arms, on := roundOrder(s.arms(round), round), s.place(round)
		s.mu.Unlock()
		if s.placeFor != nil {
			begun := launchesOf(s.countedLaunches(round), arms)
			if decide.Together(begun, len(arms)) != nil {
				return nil
			}
			var places []*ledger.Place
			for _, l := range begun {
				places = append(places, l.Place)
			}
			var err error
			if on, err = s.placeFor(ctx, round, places); err != nil {
				return err
			}
		}
		for _, v := range arms {
			lost, err := s.slot(ctx, slot{variant: v, ordinal: round, place: on})
			if err != nil {
				return err
			}
			if restart = lost; lost {
				break
			}
		}
	}
	return nil
}

func (s *session) countedLaunches(round int) (begun []*ledger.Launch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.all {
		if l.Ordinal == round && decide.Usable(l) {
			begun = append(begun, l)
		}
	}
	return begun
}

// place is where a round runs: in turn, or where it was started.
func (s *session) place(round int) *ledger.Place {
	if len(s.places) == 0 {
		return nil
	}
	if i := slices.IndexFunc(s.all, func(l *ledger.Launch) bool {
		return l.Ordinal == round && l.Place != nil
	}); i >= 0 {
		return s.all[i].Place
	}
	return s.places[(round-1)%len(s.places)]
}

// slot launches a variant, and replaces the launch as decide.Replaced says. One lost with
// its place is left to the round, which continues elsewhere.
func (s *session) slot(ctx context.Context, sl slot) (lost bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tries := sl.launchesOf(s.all)
	if !s.needsVariant(sl.variant) ||
		slices.ContainsFunc(tries, func(l *ledger.Launch) bool { return decide.Usable(l) && l.Place.Same(sl.place) }) {
		return false, nil
	}
	for {
		if sl.number == 0 {
			sl.number = s.slots() + s.running + 1
		}
		if len(tries) > 0 {
			sl.number = ledger.Numbers(s.all)[tries[0].ID]
		}
		sl.order = len(s.all) + s.running + 1
		s.running++
		s.mu.Unlock()
		make := s.make
		if s.launch != nil {
			make = s.launch
		}
		launch, err := make(ctx, sl, tries)
		s.mu.Lock()
		s.running--
		if err != nil {
			return false, err
		}
		s.all, tries = append(s.all, launch), append(tries, launch)
		switch {
		case decide.Usable(launch):
			return false, s.checkKnobEvidence(launch, sl.variant)
		case decide.Replaced(tries):
			if decide.Lost(launch) {
				return true, nil
			}
		case slices.ContainsFunc(s.members, func(m *member) bool {
			return m.Open && decide.MayCrashAgain(m.Arms.Candidate, m.Arms.Parent, s.all)
		}): // the latest launch crashed: repeating it would decide a member
		default:
			s.dropArm(launch)
			return decide.Lost(launch), nil
		}
	}
}

// slots is how many launches replace no other.
func (s *session) slots() (n int) {
	for _, made := range s.launchCounts() {
		n += made
	}
	return n
}

// launchCounts is how many launches of each variant replace no other.
func (s *session) launchCounts() map[string]int {
	made := map[string]int{}
	for i, launch := range s.all {
		if !slices.ContainsFunc(s.all[:i], func(o *ledger.Launch) bool {
			return o.VariantKey == launch.VariantKey && o.Ordinal == launch.Ordinal
		}) {
			made[launch.VariantKey]++
		}
	}
	return made
}

// total is the maximum number of launches of the session, with those of arms that dropped
// out or came before.
func (s *session) total() int { return s.launches(func(m *member) int { return m.Most }) }

func (s *session) launches(open func(*member) int) (n int) {
	most := s.launchCounts()
	for _, m := range s.members {
		want := m.Rounds
		if m.Open {
			want = open(m)
		}
		for _, v := range m.launchedVariants() {
			most[v.Key] = max(most[v.Key], want)
		}
	}
	for _, rounds := range most {
		n += rounds
	}
	return n
}

// missing are the launches that members lack at most, each once. Those up to a member's next look are sure.
func (s *session) missing() (out []runtime.Launch) {
	planned := map[string]bool{}
	for _, m := range s.members {
		if !m.Open {
			continue
		}
		next := m.NextLook(s.view, s.id, s.work)
		for round := m.Rounds + 1; round <= m.Most; round++ {
			for _, v := range m.launchedVariants() {
				id := launchID(v.Key, slot{variant: v, ordinal: round}, 0)
				if planned[id] ||
					slices.ContainsFunc(slot{variant: v, ordinal: round}.launchesOf(s.all), decide.Usable) {
					continue
				}
				planned[id] = true
				l := plannedLaunch(v, ledger.ForBenchmark, s.work)
				l.Sure = round <= next
				out = append(out, l)
			}
		}
	}
	return out
}

// make makes one launch: start, warm up, send every cell of every workload, stop.
func (s *session) make(ctx context.Context, sl slot, tries []*ledger.Launch) (*ledger.Launch, error) {
	s.mu.Lock()
	id := launchID(s.id, sl, len(tries))
	for n := len(tries) + 1; slices.ContainsFunc(s.all, func(l *ledger.Launch) bool { return l.ID == id }); n++ {
		id = launchID(s.id, sl, n) // another variant had this name before
	}
	ev := runtime.Event{
		Level: plans.BenchmarkLevel, Variant: sl.variant.Name, LaunchID: id, Launch: sl.number, Again: len(tries),
		Launches: s.total(), LaunchesLeast: s.launches(func(m *member) int { return m.NextLook(s.view, s.id, s.work) }),
	}
	record := &ledger.Launch{
		ID: ev.LaunchID, Session: s.id, Purpose: ledger.ForBenchmark, Ordinal: sl.ordinal, Order: sl.order, OK: true,
		Work: s.work, Draw: s.lab.Launches.Draws.Next(), Place: sl.place,
	}
	if sl.variant.Command == nil {
		record.Prompts = s.prompts
	}
	if slices.ContainsFunc(s.ws, func(w *plans.Workload) bool { return w.SameTexts }) {
		record.Body = record.Draw.Seed // of the first launch of its round
		if i := slices.IndexFunc(s.all, func(l *ledger.Launch) bool { return l.Ordinal == sl.ordinal }); i >= 0 {
			record.Body = cmp.Or(s.all[i].Draw.Seed, record.Body)
		}
	}
	s.mu.Unlock()
	n := s.scope.Node
	with := measuring{Event: ev}
	if s.lab.Launches.Store != nil {
		with.Crashed = decide.Crashes(s.lab.Launches.Store.Records(), sl.variant.Key)
	}
	with.Event.Node, with.Event.Phase, with.Event.Feature = n.ID, n.Phase, n.Feature
	for _, w := range s.ws {
		with.Workloads = append(with.Workloads, w.Name)
	}
	if len(tries) > 0 {
		last := tries[len(tries)-1]
		why := decide.WhyNot(last)
		if decide.Usable(last) {
			why = []verdict.Reason{verdict.Say("place.left", "{subject} was lost before the round was complete").
				On(last.PlaceName())}
		}
		record.Replaces, ev.Why = last.ID, verdict.New(code.LaunchAgain).On(last.ID).From(why...)
	}
	err := s.lab.Launches.Report(s.scope, ev, sl.variant, record, func() error {
		_, err := measures.Make(ctx, s.lab, s.lab.Launches, s.scope, sl.variant, record, with)
		return err
	})
	return record, err
}

type slot struct {
	variant *variant.Variant
	// ordinal counts the launches of the variant, order those of the session, and number
	// those that do not replace others; all from 1.
	ordinal, order, number int
	// place is where it runs, nil without an executor.
	place *ledger.Place
}

func (sl slot) launchesOf(launches []*ledger.Launch) (own []*ledger.Launch) {
	for _, l := range launches {
		if l.VariantKey == sl.variant.Key && l.Ordinal == sl.ordinal {
			own = append(own, l)
		}
	}
	return own
}

func launchesOf(launches []*ledger.Launch, vs []*variant.Variant) []*ledger.Launch {
	return slices.DeleteFunc(slices.Clone(launches), func(l *ledger.Launch) bool {
		return !slices.ContainsFunc(vs, func(v *variant.Variant) bool { return v.Key == l.VariantKey })
	})
}

// roundOrder returns the arms in the order of a round, counted from 1 and reversed by the
// Thue–Morse sequence: ABBA BAAB for two arms. Linear or quadratic drift over the session
// then affects all arms alike.
func roundOrder(arms []*variant.Variant, round int) []*variant.Variant {
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
