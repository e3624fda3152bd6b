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

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// tableOf is a comparison of three engines in four rounds that goes on with some launches.
// Launches are made up and take a minute; spoil changes one.
func tableOf(all []*ledger.Launch, places int, spoil func(l *ledger.Launch)) *table {
	it := &comparison{compareConfig: compareConfig{Launches: 4}, session: "s-1", have: all}
	t := &table{
		rounds: rounds{id: it.session, all: slices.Clone(all), atOnce: places}, comparison: it,
		entries: map[*variant.Variant]*gates.Contender{}, out: &ledger.Decision{}, broke: map[*variant.Variant]bool{},
	}
	for _, name := range []string{"reference", "a", "b"} {
		v := &variant.Variant{Name: name, Key: name}
		it.variants, t.entries[v] = append(it.variants, v), &gates.Contender{Arm: gates.Arm{Name: name}}
	}
	it.slots = interleave(it.variants, it.Launches)
	for i := range places {
		t.places = append(t.places, &ledger.Place{Name: fmt.Sprintf("gpu %d", i)})
	}
	t.by, t.launch = t, func(ctx context.Context, sl slot, _ int, tries []*ledger.Launch) (*ledger.Launch, error) {
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		l := &ledger.Launch{ID: launchID(t.id, sl, len(tries)), VariantKey: sl.variant.Key, Variant: sl.variant.Name, Ordinal: sl.ordinal, Order: sl.order, OK: true, Place: sl.place}
		if spoil != nil {
			spoil(l)
		}
		return l, nil
	}
	t.resume()
	return t
}

// TestTable: rounds of a comparison stand side by side as those of a session of features
// do, and one after the other as they were planned.
func TestTable(t *testing.T) {
	for _, c := range []struct{ places, minutes int }{{0, 12}, {1, 12}, {2, 6}, {4, 3}} {
		synctest.Test(t, func(t *testing.T) {
			rows, began := tableOf(nil, c.places, nil), time.Now()
			if err := rows.measure(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := int(time.Since(began).Minutes()); took != c.minutes || len(rows.all) != 12 || len(rows.out.Launches) != 12 {
				t.Errorf("%d places: %d minutes, %d launches", c.places, took, len(rows.all))
			}
			orders := map[int]bool{}
			for i, l := range rows.all {
				if orders[l.Order] {
					t.Errorf("two launches are number %d", l.Order)
				}
				orders[l.Order] = true
				switch {
				case c.places > 0 && l.On() != fmt.Sprintf("gpu %d", (l.Ordinal-1)%c.places):
					t.Errorf("%s stood on %q", l.ID, l.On())
				case c.places < 2 && (l.Order != i+1 || l.VariantKey != rows.slots[i].variant.Key):
					t.Errorf("launch %d is %s, of order %d", i+1, l.ID, l.Order)
				}
			}
			for v, e := range rows.entries {
				for i, l := range e.Launches {
					if l.Round != i+1 {
						t.Errorf("launch %d of %s is of round %d", i+1, v.Name, l.Round)
					}
				}
			}
		})
	}
}

// TestTableGoesOn: a comparison that was cut amid rounds makes what they lack.
func TestTableGoesOn(t *testing.T) {
	for minutes := range 3 {
		synctest.Test(t, func(t *testing.T) {
			rows := tableOf(nil, 4, nil)
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(minutes)*time.Minute+time.Second)
			defer cancel()
			if err := rows.measure(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			rows = tableOf(rows.all, 4, nil)
			if err := rows.measure(t.Context()); err != nil {
				t.Fatal(err)
			}
			slices.Sort(rows.out.Launches)
			if n := len(slices.Compact(slices.Clone(rows.out.Launches))); n != 12 || len(rows.all) != 12 {
				t.Errorf("cut after %d minutes: %d launches on record, %d count", minutes, len(rows.all), n)
			}
			for v, e := range rows.entries {
				if e.Broken != "" || len(e.Launches) != 4 {
					t.Errorf("%s: %s with %d launches", v.Name, e.Broken, len(e.Launches))
				}
			}
		})
	}
}

// TestTableReplaces: what the machine disturbed is launched again, also in another apply;
// an engine that dies drops out with its row, and is not.
func TestTableReplaces(t *testing.T) {
	disturb := func(l *ledger.Launch) { l.Disturbed, l.Invalid = true, verdict.Because(code.MachineDisturbed) }
	for _, c := range []struct {
		name     string
		spoil    func(l *ledger.Launch)
		launches int // in one apply
		more     int // where another one goes on
		broken   verdict.Verdict
		counted  int // of row b
	}{
		{"disturbed once", func(l *ledger.Launch) {
			if l.ID == "s-1.b.2" {
				disturb(l)
			}
		}, 13, 0, "", 4},
		{"disturbed each time", func(l *ledger.Launch) {
			if l.Variant == "b" && l.Ordinal == 2 {
				disturb(l)
			}
		}, 14, 1, "", 4},
		{"died", func(l *ledger.Launch) {
			if l.Variant == "b" && l.Ordinal == 2 {
				l.OK, l.Error = false, verdict.New(code.EngineDied)
			}
		}, 10, 0, verdict.Error, 1},
	} {
		for _, again := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				rows, want := tableOf(nil, 1, c.spoil), c.launches
				if again {
					want += c.more
					ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute+time.Second) // b is the first of round 2
					defer cancel()
					if err := rows.measure(ctx); !errors.Is(err, context.DeadlineExceeded) {
						t.Fatal(err)
					}
					rows = tableOf(rows.all, 1, c.spoil)
				}
				if err := rows.measure(t.Context()); err != nil {
					t.Fatal(err)
				}
				e := rows.entries[rows.variants[2]]
				if len(rows.all) != want || e.Broken != c.broken || len(e.Launches) != c.counted {
					t.Errorf("%s, in two applies %v: %d launches, row is %q with %d", c.name, again, len(rows.all), e.Broken, len(e.Launches))
				}
				if e := rows.entries[rows.variants[1]]; e.Broken != "" || len(e.Launches) != 4 {
					t.Errorf("%s: the row beside it is %q with %d", c.name, e.Broken, len(e.Launches))
				}
			})
		}
	}
}

// TestTablePlaceLost: a round of rows whose place is lost begins anew on another, without
// the rows that broke, also in another apply. Each row rests on launches that stood with
// those of the others, and on each once.
func TestTablePlaceLost(t *testing.T) {
	for _, c := range []struct {
		name string
		// lost are launches that are lost with their place, died such as the engine died in.
		lost, died []string
		launches   int
		// counted are how many of each row count, broken which verdict b has.
		counted int
		broken  verdict.Verdict
		// moved are the rounds that count somewhere else than where they began.
		moved []int
	}{
		// Round 2 is b, a, reference.
		{"the last of a round", []string{"s-1.reference.2"}, nil, 12 + 3, 4, "", []int{2}},
		{"the first of a round", []string{"s-1.b.2"}, nil, 12 + 1, 4, "", []int{2}},
		{"twice", []string{"s-1.a.2", "s-1.a.2r1"}, nil, 12 + 2 + 2, 4, "", []int{2}},
		{"beside a row that broke", []string{"s-1.reference.2"}, []string{"s-1.b.2"}, 12 - 3 + 2, 0, verdict.Error, []int{2}},
		{"a row each time", []string{"s-1.b.2", "s-1.b.2r1", "s-1.b.2r2"}, nil, 12 - 2 + 2, 1, verdict.Error, nil},
	} {
		for cut := range 8 {
			synctest.Test(t, func(t *testing.T) {
				places, mu := 2, sync.Mutex{}
				alive := []*ledger.Place{{Name: "gpu 0"}, {Name: "gpu 1"}}
				spoil := func(l *ledger.Launch) {
					mu.Lock()
					defer mu.Unlock()
					switch {
					case slices.Contains(c.lost, l.ID):
						l.OK, l.Error, l.Failure = false, verdict.New(code.LaunchGone), ledger.FailureLost
						alive[slices.Index(alive, l.Place)] = &ledger.Place{Name: fmt.Sprintf("gpu %d", places)}
						places++
					case slices.Contains(c.died, l.ID):
						l.OK, l.Error = false, verdict.New(code.EngineDied)
					}
				}
				going := func(all []*ledger.Launch) *table {
					rows := tableOf(all, 2, spoil)
					rows.stand = func(_ context.Context, round int, begun []*ledger.Place) (*ledger.Place, error) {
						mu.Lock()
						defer mu.Unlock()
						for _, p := range alive {
							if slices.ContainsFunc(begun, p.Same) {
								return p, nil
							}
						}
						return alive[(round-1)%2], nil
					}
					return rows
				}
				rows := going(nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(cut)*time.Minute+time.Second)
				defer cancel()
				if err := rows.measure(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				rows = going(rows.all)
				if err := rows.measure(t.Context()); err != nil {
					t.Fatal(err)
				}
				on := map[int]string{}
				for i, v := range rows.variants {
					e, want, broken := rows.entries[v], 4, verdict.Verdict("")
					if v.Name == "b" {
						want, broken = c.counted, c.broken
					}
					if e.Broken != broken || len(e.Launches) != want {
						t.Errorf("%s, cut after %d minutes: %s is %q with %d", c.name, cut, v.Name, e.Broken, len(e.Launches))
					}
					for _, l := range rows.used[v] {
						if i == 0 {
							on[l.Ordinal] = l.On()
						}
						if on[l.Ordinal] != l.On() {
							t.Errorf("%s, cut after %d minutes: %s stood on %s, the reference on %s", c.name, cut, l.ID, l.On(), on[l.Ordinal])
						}
					}
				}
				for _, round := range c.moved {
					if on[round] == fmt.Sprintf("gpu %d", (round-1)%2) {
						t.Errorf("%s, cut after %d minutes: round %d counts on %s, which was lost", c.name, cut, round, on[round])
					}
				}
				slices.Sort(rows.out.Launches)
				if len(rows.all) != c.launches || len(slices.Compact(slices.Clone(rows.out.Launches))) != len(rows.out.Launches) {
					t.Errorf("%s, cut after %d minutes: %d launches, want %d, of which count %v", c.name, cut, len(rows.all), c.launches, rows.out.Launches)
				}
				for _, l := range rows.all {
					if slices.ContainsFunc(rows.all, func(o *ledger.Launch) bool { return o != l && o.ID == l.ID }) {
						t.Errorf("%s: two launches are %s", c.name, l.ID)
					}
				}
			})
		}
	}
}
