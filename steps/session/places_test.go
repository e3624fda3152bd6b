package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
)

// standsOn gives a rig's session places that differ in speed by a tenth each, launches of
// a minute, and counts how many go on at once.
func (r *rig) standsOn(places, atOnce int) (most *int) {
	made, under, mu := r.launch, 0, sync.Mutex{}
	most = new(int)
	for i := range places {
		r.places = append(r.places, &ledger.Place{Name: fmt.Sprintf("gpu %d", i)})
	}
	r.atOnce = atOnce
	r.launch = func(ctx context.Context, sl slot, tries []*ledger.Launch) (*ledger.Launch, error) {
		mu.Lock()
		under++
		*most = max(*most, under)
		mu.Unlock()
		defer func() {
			mu.Lock()
			under--
			mu.Unlock()
		}()
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		l, err := made(ctx, sl, tries)
		if err != nil {
			return nil, err
		}
		l.Place = sl.place
		for i, p := range r.places {
			if tg := l.Metrics["w.tg"]; p == sl.place {
				tg.Stats["median"] *= 1 + float64(i)/10
			}
		}
		return l, nil
	}
	return most
}

// wellPlaced checks that every launch was made once, and rounds stood on one place each.
func (r *rig) wellPlaced(t *testing.T) (rounds int) {
	t.Helper()
	on, made := map[int]string{}, map[string]bool{}
	for _, l := range r.all {
		slot := fmt.Sprint(l.VariantKey, l.Ordinal)
		if made[slot] {
			t.Errorf("%s was made twice", slot)
		}
		made[slot] = true
		if on[l.Ordinal] == "" {
			on[l.Ordinal] = l.PlaceName()
		}
		if want := r.places[(l.Ordinal-1)%len(r.places)].Name; l.PlaceName() != want || on[l.Ordinal] != want {
			t.Errorf("%s stood on %q, want %q", slot, l.PlaceName(), want)
		}
	}
	return len(on)
}

// TestSessionSideBySide: rounds stand beside each other, as many as there is room for,
// and are decided as if they had not.
func TestSessionSideBySide(t *testing.T) {
	for _, c := range []struct{ places, atOnce, minutes int }{{1, 1, 12}, {2, 2, 6}, {4, 2, 6}, {4, 4, 3}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, speeds{"base": wobble(100, 0.002), "x": wobble(200, 0.002), "y": wobble(200, 0.002)})
			most := r.standsOn(c.places, c.atOnce)
			began := time.Now()
			if err := r.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began).Minutes(); int(took) != c.minutes || *most != c.atOnce {
				t.Errorf("%d places, %d at once: %v minutes, %d at once", c.places, c.atOnce, took, *most)
			}
			if rounds := r.wellPlaced(t); rounds != 4 {
				t.Errorf("%d rounds", rounds)
			}
			if level, out := r.conclusion(t, 0); level.Verdict != verdict.Pass || len(out.Launches) != 8 {
				t.Errorf("%s with %d launches: %+v", level.Verdict, len(out.Launches), level.Reasons)
			}
		})
	}
}

// TestSessionSideBySideGoesOn: a session that was cut amid rounds that stood side by side
// makes what they lack, and nothing twice.
func TestSessionSideBySideGoesOn(t *testing.T) {
	for minutes := range 3 {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, speeds{"base": wobble(100, 0.002), "x": wobble(200, 0.002), "y": wobble(200, 0.002)})
			r.standsOn(4, 4)
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(minutes)*time.Minute+time.Second)
			if err := r.run(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			cancel()
			again := *r
			again.session = &session{lab: r.lab, scope: r.scope, id: r.id, all: r.all, places: r.places, atOnce: 4, launch: r.launch, ws: r.ws}
			again.members = newRig(t, nil).members
			if err := again.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if rounds := again.wellPlaced(t); rounds != 4 || len(again.all) != 12 {
				t.Errorf("cut after %d minutes: %d rounds with %d launches", minutes, rounds, len(again.all))
			}
		})
	}
}

// TestSessionSideBySideBreaks: what ends one round ends those beside it.
func TestSessionSideBySideBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, speeds{"base": wobble(100, 0.002), "x": wobble(200, 0.002), "y": wobble(200, 0.002)})
		r.standsOn(4, 4)
		made, full := r.launch, errors.New("no space left on device")
		r.launch = func(ctx context.Context, sl slot, tries []*ledger.Launch) (*ledger.Launch, error) {
			if sl.ordinal == 3 {
				return nil, full
			}
			return made(ctx, sl, tries)
		}
		if err := r.run(t.Context()); !errors.Is(err, full) || len(r.all) != 0 {
			t.Errorf("%v, %d launches", err, len(r.all))
		}
	})
}

// TestSessionPlaceLost: a round whose place was lost begins anew on another, and no pair
// of arms that stood apart counts.
func TestSessionPlaceLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, speeds{"base": wobble(100, 0.002), "x": wobble(200, 0.002), "y": wobble(200, 0.002)})
		r.standsOn(2, 2)
		made, mu, alive, lost := r.launch, sync.Mutex{}, slices.Clone(r.places), 0
		r.stand = func(_ context.Context, round int, _ []*ledger.Place) (*ledger.Place, error) {
			mu.Lock()
			defer mu.Unlock()
			return alive[(round-1)%2], nil
		}
		other := &ledger.Place{Name: "gpu 7"}
		r.places = append(r.places, other)
		r.launch = func(ctx context.Context, sl slot, tries []*ledger.Launch) (*ledger.Launch, error) {
			l, err := made(ctx, sl, tries)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && sl.ordinal == 2 && lost == 0 && len(r.countedLaunches(2)) == 2 {
				lost++
				l.OK, l.Error, l.Failure, l.Metrics = false, verdict.New(code.LaunchGone), ledger.FailureLost, nil
				alive[1] = other
			}
			return l, err
		}
		if err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if lost != 1 || len(r.all) != 15 {
			t.Errorf("%d lost, %d launches", lost, len(r.all))
		}
		for i, m := range r.members {
			on := map[int]string{}
			for _, l := range m.DecidingLaunches(r.all) {
				if on[l.Ordinal] == "" {
					on[l.Ordinal] = l.PlaceName()
				}
				if on[l.Ordinal] != l.PlaceName() {
					t.Errorf("round %d of member %d ran on %s and %s", l.Ordinal, i, on[l.Ordinal], l.PlaceName())
				}
			}
			if len(on) != 4 || on[2] != other.Name {
				t.Errorf("member %d: rounds on %v", i, on)
			}
		}
	})
}

// TestSessionPlacesLost: a launch that is lost each time ends its member, and no other.
func TestSessionPlacesLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, speeds{"base": wobble(100, 0.002), "x": wobble(200, 0.002), "y": wobble(200, 0.002)})
		r.standsOn(1, 1)
		made := r.launch
		r.stand = func(context.Context, int, []*ledger.Place) (*ledger.Place, error) { return r.places[0], nil }
		r.launch = func(ctx context.Context, sl slot, tries []*ledger.Launch) (*ledger.Launch, error) {
			l, err := made(ctx, sl, tries)
			if sl.variant.Name == "x" {
				l.OK, l.Error, l.Failure, l.Metrics = false, verdict.New(code.LaunchGone), ledger.FailureLost, nil
			}
			return l, err
		}
		if err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, l := range r.all {
			if decide.Lost(l) {
				n++
			}
		}
		if n != 3 {
			t.Errorf("%d lost", n)
		}
		if level, _ := r.conclusion(t, 0); level.Verdict != verdict.Error {
			t.Errorf("%s", level.Verdict)
		}
		if level, _ := r.conclusion(t, 1); level.Verdict != verdict.Pass {
			t.Errorf("%s: %v", level.Verdict, level.Reasons)
		}
	})
}
