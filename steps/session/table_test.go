package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/variant"
)

// tableOf is a comparison of three engines in four rounds that goes on with some launches.
// Launches are made up and take a minute; spoil changes one.
func tableOf(all []*ledger.Launch, places int, spoil func(l *ledger.Launch)) *table {
	it := &comparison{compareConfig: compareConfig{Launches: 4}, session: "s-1", have: all}
	t := &table{
		rounds: rounds{id: it.session, all: slices.Clone(all), atOnce: places}, comparison: it,
		entries: map[*variant.Variant]*gates.Contender{}, out: &ledger.Decision{}, broke: map[*variant.Variant]bool{}, texts: &record.Texts{},
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
// do, after the launch that the prompts of all are of, and one after the other as they
// were planned.
func TestTable(t *testing.T) {
	for _, c := range []struct{ places, minutes int }{{0, 12}, {1, 12}, {2, 7}, {4, 4}} {
		synctest.Test(t, func(t *testing.T) {
			rows, began := tableOf(nil, c.places, nil), time.Now()
			if err := rows.measure(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := int(time.Since(began).Minutes()); took != c.minutes || len(rows.all) != 12 || len(rows.out.Launches) != 12 {
				t.Errorf("%d places: %d minutes, %d launches", c.places, took, len(rows.all))
			}
			if rows.all[0].Variant != "reference" {
				t.Errorf("%d places: the first launch is of %s", c.places, rows.all[0].Variant)
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
	for minutes := range 4 {
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
