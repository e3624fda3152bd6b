package session

import (
	"context"
	"math/bits"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

// PilotSchema is the schema of a pilot.
var PilotSchema = plans.Schema{
	Doc: "Finds out how many launches can run side by side. In each round the baseline is launched in the same place, once alone and once with copies of itself in all other slots of the executor. If it is shown that no speed or time that a rule of the plan reads changes by as much as `within`, and that launches do not vary three times as much, sessions on the baseline's engine use the executor's `slots`; otherwise one launch at a time. Passes either way; the gates of its phase and later ones can read the result: `step.neighbours.slots >= 2`. The result holds until this machine reboots, and for these places.",
	Example: `step "pilot" "neighbours" {
  within = 0.01
}`,
	Attrs: []plans.Attr{
		{Name: "within", Type: plans.Number, Default: 0.01, Min: 0.0001, MinSet: true, Max: 0.5, Doc: "How much numbers may change with neighbours, up or down, as a share. Neighbours that change one by this much pass in at most 5% of pilots."},
		{Name: "launches", Type: plans.Int, Unit: "launches", Min: 6, MinSet: true, Max: 100, Doc: "Launches alone, and as many with neighbours. Without it, three per place and at least 12. It stops early if harm is shown."},
	},
	Finds: func(*plans.Block) []plans.Found { return pilotFinds },
}

// foundSlots is what gates and sessions read of a pilot.
const foundSlots = "slots"

var pilotFinds = []plans.Found{{Name: foundSlots, Unit: "count", Better: "higher", Doc: "How many launches can run side by side."}}

// pilot launches the baseline alone and beside neighbours.
type pilot struct {
	lab   *Lab
	block *plans.Block
}

// Pilot returns the step that determines how many launches may run side by side.
func (l *Lab) Pilot(b *plans.Block) runtime.Step { return &pilot{lab: l, block: b} }

// trial is a pilot with all names resolved.
type trial struct {
	rounds
	plans.Pilot
	ws []*plans.Workload
	// alone, beside and neighbour are the baseline in its three roles.
	alone, beside, neighbour *variant.Variant
	many, slots, highest     int
	// near are the neighbours so far; they belong to no round.
	near []*ledger.Launch
	// make makes one launch.
	make func(ctx context.Context, sl slot, total int, tries []*ledger.Launch) (*ledger.Launch, error)
}

func (p *pilot) trial(s *runtime.Scope) (*trial, error) {
	t := &trial{rounds: rounds{lab: p.lab, scope: s}, ws: p.lab.sent(), slots: p.lab.Plan.Executor.Slots}
	if err := p.block.Decode(&t.Pilot); err != nil {
		return nil, err
	}
	t.many, t.by, t.launch = p.lab.Plan.PilotRounds(t.Pilot), t, t.one
	b := &benchmark{lab: p.lab}
	t.make = func(ctx context.Context, sl slot, total int, tries []*ledger.Launch) (*ledger.Launch, error) {
		return b.one(ctx, s, t.id, sl, total, t.ws, tries)
	}
	for name, v := range map[string]**variant.Variant{decide.PilotAlone: &t.alone, decide.PilotBeside: &t.beside, decide.PilotNeighbour: &t.neighbour} {
		var err error
		if *v, err = p.lab.Resolve(s, name, p.lab.Plan.Baseline.Engine, p.lab.Plan.DefaultKnobs()); err != nil {
			return nil, err
		}
		// A launch beside neighbours does not count as a launch of the baseline
		// elsewhere.
		(*v).Key = runtime.Digest(plans.PilotStep, name, (*v).Key)
	}
	return t, nil
}

// sent are all workloads that sessions of the plan send.
func (l *Lab) sent() (ws []*plans.Workload) {
	var names []string
	of := func(protocol string) {
		if p := l.Plan.Protocol(protocol); p != nil && p.Level(plans.BenchmarkLevel) != nil {
			names = append(names, l.Plan.Sent(p.Level(plans.BenchmarkLevel))...)
		}
	}
	of(l.Plan.Baseline.Protocol)
	for _, ph := range l.Plan.Phases {
		for _, f := range ph.Features {
			of(f.Protocol)
		}
		for _, b := range ph.Steps {
			if b.Kind == plans.MatrixStep {
				names = append(names, l.Plan.Sent(b)...)
			}
		}
	}
	for _, w := range l.Plan.Workloads {
		if slices.Contains(names, w.Name) {
			ws = append(ws, w)
		}
	}
	return ws
}

// Keys: another boot is another machine, on which everything starts over.
func (p *pilot) Keys(s *runtime.Scope) (runtime.Keys, error) {
	t, err := p.trial(s)
	if err != nil {
		return runtime.Keys{}, err
	}
	keys := runtime.Keys{
		Measure: runtime.Digest(plans.PilotStep, p.lab.BenchmarkKey(t.ws, []*variant.Variant{t.alone, t.beside}), p.lab.Boot),
		Decide:  runtime.Digest(plans.PilotStep, decide.Version, t.many, t.Within, decide.PilotKeys(p.lab.Plan)),
	}
	if before := s.Previous; before != nil && p.lab.Store != nil && !p.lab.sameBoot(p.lab.session(before.Session)) {
		keys.Why = verdict.New(code.PilotBoot)
	}
	return keys, nil
}

// Foresee implements runtime.Foreseer.
func (p *pilot) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	t, err := p.going(s)
	if err != nil {
		return nil, nil, err
	}
	out := &ledger.Decision{Session: t.id}
	if t.found().Done {
		return out, nil, nil
	}
	var launches []runtime.PlannedLaunch
	for r := 1; r <= t.many; r++ {
		for _, v := range roundOf([]*variant.Variant{t.alone, t.beside}, r) {
			if !lacks(slot{variant: v, ordinal: r}.of(t.all)) {
				continue
			}
			l := planned(v, ledger.ForBenchmark, p.lab.WorkKey(t.ws))
			l.Sure, l.AtOnce = r <= decide.FewRounds, 1
			if v == t.alone {
				launches = append(launches, l)
				continue
			}
			l.AtOnce = t.slots
			launches = append(launches, slices.Repeat([]runtime.PlannedLaunch{l}, t.slots)...)
		}
	}
	out.Reasons = []verdict.Reason{decide.PilotCosts(p.lab.Plan, t.Pilot)}
	return out, launches, nil
}

// going is the trial with the session that it continues.
func (p *pilot) going(s *runtime.Scope) (*trial, error) {
	t, err := p.trial(s)
	if err == nil {
		t.id = p.lab.sessionID(s, t.many*(1+t.slots))
		t.resume(p.lab.session(t.id))
	}
	return t, err
}

// resume loads the earlier launches.
func (t *trial) resume(have []*ledger.Launch) {
	for _, l := range have {
		if l.VariantKey == t.neighbour.Key {
			t.near = append(t.near, l)
		} else {
			t.all = append(t.all, l)
		}
	}
}

// found is the result of the launches so far.
func (t *trial) found() decide.Piloted {
	return decide.Pilot(t.lab.Plan, t.Pilot, slices.Concat(t.all, t.near))
}

// Run implements runtime.Step.
func (p *pilot) Run(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	began := time.Now()
	t, err := p.going(s)
	if err != nil {
		return nil, err
	}
	if t.places, err = p.lab.Places(ctx, []*variant.Variant{t.alone}); err != nil {
		return nil, err
	}
	out := &ledger.Decision{Session: t.id}
	if len(t.places) < t.slots {
		return p.keep(s, began, oneSlot(), out)
	}
	if err := t.run(ctx, 1); err != nil {
		return nil, err
	}
	for _, l := range slices.Concat(t.all, t.near) {
		out.Launches = append(out.Launches, l.ID)
	}
	return p.keep(s, began, t.found(), out)
}

// keep records the number of slots as a launch, so gates read it like other steps'
// numbers.
func (p *pilot) keep(s *runtime.Scope, began time.Time, found decide.Piloted, out *ledger.Decision) (*ledger.Decision, error) {
	out.Verdict, out.Reasons = found.Verdict, found.Reasons
	if found.Verdict != verdict.Pass {
		return out, nil
	}
	id := "step-" + runtime.ShortID(s.Run, s.Node.ID, s.Attempt)
	out.Launches = append(out.Launches, id)
	return out, p.lab.Keep(s, &ledger.Launch{
		ID: id, Session: id, Purpose: ledger.ForStep, Node: s.Node.ID, Variant: p.block.Name, Ordinal: 1, Order: 1, OK: true,
		Started: began.UTC(), Seconds: time.Since(began).Seconds(), Metrics: slotsFound(p.block, found),
	})
}

// oneSlot is the result of a pilot whose baseline cannot run twice at once.
func oneSlot() decide.Piloted {
	return decide.Piloted{Done: true, Slots: 1, Verdict: verdict.Pass, Reasons: []verdict.Reason{verdict.New(code.PilotSlots, verdict.Int("slots", 1)).From(verdict.New(code.PilotOnePlace))}}
}

// slotsFound is the result, by address.
func slotsFound(b *plans.Block, found decide.Piloted) map[string]measure.Summary {
	f := pilotFinds[0]
	summary, _ := measure.Metric{Unit: f.Unit, Better: measure.Better(f.Better)}.Summary([]float64{float64(found.Slots)})
	return map[string]measure.Summary{plans.FoundAddress(b.Name, f.Name): summary}
}

// sideBySide is how many rounds on some variants run at a time: as many as the executor
// has slots, if the plan has no pilot or the pilot has shown it; one for a variant that
// was in no pilot.
func (l *Lab) sideBySide(s *runtime.Scope, vs []*variant.Variant) int {
	ph, b := l.Plan.PilotOf()
	switch {
	case l.Plan.Executor == nil:
		return 1
	case b == nil:
		return l.Plan.Executor.Slots
	}
	if slices.ContainsFunc(vs, func(v *variant.Variant) bool { return v.Engine != l.Plan.Baseline.Engine }) {
		return 1
	}
	node := runtime.StepID(ph.Name, b.Kind, b.Name)
	if s.Assumed != nil && s.Assumed(node) {
		return l.Plan.Executor.Slots
	}
	d := s.Outcome(node)
	if d == nil || d.Verdict != verdict.Pass || l.Store == nil {
		return 1
	}
	for _, id := range d.Launches {
		if found, ok := l.Store.LaunchByID(id); ok && found.Purpose == ledger.ForStep {
			return max(1, min(int(found.Metrics[plans.FoundAddress(b.Name, foundSlots)].Stats["median"]), l.Plan.Executor.Slots))
		}
	}
	return 1
}

// last implements demand: one round after the other.
func (t *trial) last(int) (int, error) {
	if t.found().Done {
		return 0, nil
	}
	return t.many, nil
}

// arms implements demand.
func (t *trial) arms(int) []*variant.Variant { return []*variant.Variant{t.alone, t.beside} }

// needs implements demand: a broken launch ends the pilot.
func (t *trial) needs(context.Context, slot) (bool, error) {
	return !t.found().Done, nil
}

// fill implements demand. Neighbours are numbered after the launch that they run beside.
func (t *trial) fill(sl *slot, _ []*ledger.Launch) (total int) {
	first := (sl.ordinal - 1) * (1 + t.slots)
	turned := bits.OnesCount(uint(sl.ordinal-1))%2 == 1
	switch {
	case turned == (sl.variant == t.beside):
		sl.number = first + 1
	case turned:
		sl.number = first + t.slots + 1
	default:
		sl.number = first + 2
	}
	sl.order, sl.least = t.next(), decide.FewRounds*(1+t.slots)
	return t.many * (1 + t.slots)
}

// next is the number of a launch among all of the pilot.
func (t *trial) next() int {
	for _, l := range slices.Concat(t.all, t.near) {
		t.highest = max(t.highest, l.Order)
	}
	t.highest++
	return t.highest
}

// again implements demand.
func (t *trial) again(*ledger.Launch) bool { return false }

// done implements demand.
func (t *trial) done(slot, *ledger.Launch) error { return nil }

// one makes one launch, and its neighbours beside it: all start at once, as rounds of a
// session do, and do the same.
func (t *trial) one(ctx context.Context, sl slot, total int, tries []*ledger.Launch) (made *ledger.Launch, err error) {
	if sl.variant == t.alone {
		return t.make(ctx, sl, total, tries)
	}
	together, ctx := errgroup.WithContext(ctx)
	together.Go(func() (err error) {
		made, err = t.make(ctx, sl, total, tries)
		return err
	})
	for i := 1; i < t.slots; i++ {
		t.mu.Lock()
		n := slot{variant: t.neighbour, ordinal: (sl.ordinal-1)*(t.slots-1) + i, place: t.besidePlace(sl.place, i), number: sl.number + i, least: sl.least, order: t.next()}
		before := n.of(t.near)
		t.mu.Unlock()
		together.Go(func() error {
			l, err := t.make(ctx, n, total, before)
			if err != nil {
				return err
			}
			t.mu.Lock()
			defer t.mu.Unlock()
			t.near = append(t.near, l)
			return nil
		})
	}
	return made, together.Wait()
}

// besidePlace is the i-th place after one, in turn.
func (t *trial) besidePlace(of *ledger.Place, i int) *ledger.Place {
	at := slices.IndexFunc(t.places, func(p *ledger.Place) bool { return p.Name == of.Name })
	return t.places[(at+i)%len(t.places)]
}
