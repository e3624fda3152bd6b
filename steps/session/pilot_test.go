package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

// room is made-up launches of a pilot, each of a minute, and what stood beside each.
type room struct {
	mu    sync.Mutex
	on    map[string]string // by place, what stands there
	most  map[string]int    // by launch, how many there were at most, with it
	trial *trial
}

func (r *room) make(ctx context.Context, sl slot, _ int, tries []*ledger.Launch) (*ledger.Launch, error) {
	id := launchID("s", sl, len(tries))
	r.mu.Lock()
	if beside := r.on[sl.place.Name]; beside != "" {
		r.mu.Unlock()
		return nil, fmt.Errorf("%s and %s stand on %s", id, beside, sl.place.Name)
	}
	r.on[sl.place.Name] = id
	for _, of := range r.on {
		r.most[of] = max(r.most[of], len(r.on))
	}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.on, sl.place.Name)
	}()
	select {
	case <-time.After(time.Minute):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	tg := 100 * (1 + 0.001*math.Sin(float64(sl.order*sl.order)))
	return &ledger.Launch{
		ID: id, Variant: sl.variant.Name, VariantKey: sl.variant.Key, Ordinal: sl.ordinal, Order: sl.order, Place: sl.place, OK: true, Purpose: ledger.ForBenchmark,
		Metrics: map[string]measure.Summary{"w.tg": {Stats: map[string]float64{"median": tg}}},
	}, nil
}

func newRoom(places, slots int, have []*ledger.Launch) *room {
	r := &room{on: map[string]string{}, most: map[string]int{}}
	arm := func(name string) *variant.Variant { return &variant.Variant{Name: name, Key: name} }
	plan := &plans.Plan{Executor: &plans.Executor{Kind: plans.LocalExecutor, PerLaunch: 1, Slots: slots}}
	for i := range places {
		plan.Executor.Devices = append(plan.Executor.Devices, fmt.Sprint(i))
	}
	lab := &Lab{}
	lab.Plan = plan
	t := &trial{
		rounds: rounds{lab: lab, scope: &runtime.Scope{}, id: "s"}, Pilot: plans.Pilot{Within: 0.01, Launches: 12}, many: 12, slots: slots,
		alone: arm(decide.PilotAlone), beside: arm(decide.PilotBeside), neighbour: arm(decide.PilotNeighbour), make: r.make,
	}
	t.by, t.launch = t, t.one
	t.resume(have)
	for i := range places {
		t.places = append(t.places, &ledger.Place{Name: fmt.Sprintf("gpu %d", i)})
	}
	r.trial = t
	return r
}

// complete checks that each launch was made once, one of each arm on the place of its round,
// alone or beside as many as there are slots for.
func (r *room) complete(t *testing.T) {
	t.Helper()
	made, orders := map[string]int{}, map[int]bool{}
	for _, l := range slices.Concat(r.trial.all, r.trial.near) {
		made[l.Variant]++
		if orders[l.Order] {
			t.Errorf("two launches have order %d", l.Order)
		}
		orders[l.Order] = true
		want := r.trial.slots
		if l.Variant == decide.PilotAlone {
			want = 1
		}
		if most, here := r.most[l.ID]; here && most != want {
			t.Errorf("%s stood with %d, want %d", l.ID, most, want)
		}
		if place := r.trial.places[(l.Ordinal-1)%len(r.trial.places)].Name; l.Variant != decide.PilotNeighbour && l.On() != place {
			t.Errorf("%s stood on %s, want %s", l.ID, l.On(), place)
		}
	}
	if made[decide.PilotAlone] != 12 || made[decide.PilotBeside] != 12 {
		t.Errorf("%v", made)
	}
	if got := r.trial.found(); !got.Done || got.Slots != r.trial.slots {
		t.Errorf("%+v", got)
	}
}

func TestPilotSideBySide(t *testing.T) {
	for _, c := range []struct{ places, slots int }{{2, 2}, {4, 4}, {4, 2}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRoom(c.places, c.slots, nil)
			began := time.Now()
			if err := r.trial.run(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began).Minutes(); took != 24 {
				t.Errorf("%d places, %d slots: %v minutes", c.places, c.slots, took)
			}
			r.complete(t)
		})
	}
}

// TestPilotGoesOn: one that was cut makes what it lacks.
func TestPilotGoesOn(t *testing.T) {
	for minutes := range 8 {
		synctest.Test(t, func(t *testing.T) {
			r := newRoom(4, 4, nil)
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(minutes)*time.Minute+time.Second)
			defer cancel()
			if err := r.trial.run(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			again := newRoom(4, 4, slices.Concat(r.trial.all, r.trial.near))
			if err := again.trial.run(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			again.complete(t)
		})
	}
}

// TestPilotKeysByBoot: what was found holds for this boot alone.
func TestPilotKeysByBoot(t *testing.T) {
	l := labOf(t, variantPlan)
	l.Plan.Executor = &plans.Executor{Kind: plans.LocalExecutor, PerLaunch: 1, Slots: 2, Bind: true}
	block := &plans.Block{Kind: plans.PilotStep, Name: "n", Attrs: map[string]any{"within": 0.01}}
	l.Plan.Phases[0].Steps = append(l.Plan.Phases[0].Steps, block)
	keys := func() runtime.Keys {
		k, err := (&pilot{lab: l, block: block}).Keys(&runtime.Scope{})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first := keys()
	for name, change := range map[string]func(){
		"another boot":    func() { l.Boot = "other" },
		"another machine": func() { l.MachineKey = "other" },
		"other slots":     func() { l.Plan.Executor.Slots = 3 },
		"no binding":      func() { l.Plan.Executor.Bind = false },
	} {
		before := keys()
		if change(); keys().Measure == before.Measure {
			t.Errorf("%s is measured alike", name)
		}
	}
	block.Attrs["within"] = 0.02
	if k := keys(); k.Decide == first.Decide {
		t.Error("another bound decides alike")
	}
}

// TestSideBySideAfterPilot: without an outcome, with one that is no pass, and of an engine
// that was in no pilot, launches go on one after the other.
func TestSideBySideAfterPilot(t *testing.T) {
	l := labOf(t, variantPlan)
	baseline := []*variant.Variant{{Engine: l.Plan.Baseline.Engine}}
	if got := l.sideBySide(&runtime.Scope{}, baseline); got != 1 {
		t.Errorf("without an executor: %d", got)
	}
	l.Plan.Executor = &plans.Executor{Kind: plans.LocalExecutor, PerLaunch: 1, Slots: 4}
	if got := l.sideBySide(&runtime.Scope{}, baseline); got != 4 {
		t.Errorf("without a pilot: %d", got)
	}
	block := &plans.Block{Kind: plans.PilotStep, Name: "n"}
	l.Plan.Phases[0].Steps = append(l.Plan.Phases[0].Steps, block)
	outcome := &ledger.Decision{Verdict: verdict.Pass, Launches: []string{"found"}}
	s := &runtime.Scope{Outcome: func(id string) *ledger.Decision {
		if id != runtime.StepID(l.Plan.Phases[0].Name, block.Kind, block.Name) {
			return nil
		}
		return outcome
	}}
	var err error
	if l.Store, err = store.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	defer l.Store.Close()
	found := &ledger.Launch{ID: "found", Session: "found", Purpose: ledger.ForStep, Node: "n", Variant: "n", Ordinal: 1, Order: 1, OK: true, Metrics: slotsFound(block, decide.Piloted{Slots: 3})}
	if err := l.Store.Append(&ledger.Record{Type: "launch", Time: time.Now(), Run: "r", Launch: found}); err != nil {
		t.Fatal(err)
	}
	if got := l.sideBySide(s, baseline); got != 3 {
		t.Errorf("after a pilot: %d", got)
	}
	if got := l.sideBySide(s, []*variant.Variant{baseline[0], {Engine: "vllm.other"}}); got != 1 {
		t.Errorf("with another engine: %d", got)
	}
	outcome.Verdict = verdict.Error
	if got := l.sideBySide(s, baseline); got != 1 {
		t.Errorf("after one that broke: %d", got)
	}
	outcome = nil
	if got := l.sideBySide(s, baseline); got != 1 {
		t.Errorf("before one: %d", got)
	}
	s.Assumed = func(string) bool { return true }
	if got := l.sideBySide(s, baseline); got != 4 {
		t.Errorf("in a preview: %d", got)
	}
}
