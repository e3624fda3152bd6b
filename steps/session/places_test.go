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
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
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
		err := minute(ctx)
		mu.Lock()
		defer mu.Unlock()
		if under--; err != nil {
			return nil, err
		}
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

// minute is how long a launch takes.
func minute(ctx context.Context) error {
	select {
	case <-time.After(time.Minute):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
			r := newRig(t, fast(0.002))
			most := r.standsOn(c.places, c.atOnce)
			began := time.Now()
			must.Do(t, r.run(t.Context()))
			if took := time.Since(began).Minutes(); int(took) != c.minutes || *most != c.atOnce {
				t.Errorf("%d places, %d at once: %v minutes, %d at once", c.places, c.atOnce, took, *most)
			}
			must.Equal(t, "rounds", r.wellPlaced(t), 4)
			if level, out := r.conclusion(t, 0); level.Verdict != verdict.Pass || len(out.Launches) != 8 {
				t.Errorf("%s with %d launches: %+v", level.Verdict, len(out.Launches), level.Reasons)
			}
		})
	}
}

// TestSessionSideBySideBreaks: what ends one round ends those beside it.
func TestSessionSideBySideBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, fast(0.002))
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
		r := newRig(t, fast(0.002))
		r.standsOn(2, 2)
		made, mu, alive, lost := r.launch, sync.Mutex{}, slices.Clone(r.places), 0
		r.placeFor = func(_ context.Context, round int, _ []*ledger.Place) (*ledger.Place, error) {
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
		must.Do(t, r.run(t.Context()))
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
