package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

func TestCheckCompare(t *testing.T) {
	for _, c := range []struct {
		name  string
		attrs map[string]any
		want  string // summaries, joined
	}{
		{"good", map[string]any{
			"engines": []any{"openai.a", "openai.b"}, "reference": "openai.b",
			"workloads": []any{"chat"},
		}, ""},
		{"commands", map[string]any{"engines": []any{"command.a", "command.b"}, "reference": "command.b"}, ""},
		{"mixed", map[string]any{
			"engines": []any{"command.a", "openai.b"}, "reference": "openai.b",
			"workloads": []any{"chat"},
		}, ""},
		{
			"one",
			map[string]any{"engines": []any{"openai.a"}, "reference": "openai.a", "workloads": []any{"chat"}},
			"Nothing to compare",
		},
		{"stranger", map[string]any{
			"engines": []any{"openai.a", "openai.b"}, "reference": "openai.c",
			"workloads": []any{"chat"},
		}, "Reference is not compared"},
		{"optional", map[string]any{
			"engines": []any{"openai.a", "openai.b"}, "optional": []any{"openai.a"},
			"reference": "openai.b", "workloads": []any{"chat"},
		}, ""},
		{"optional reference", map[string]any{
			"engines": []any{"openai.a", "openai.b"}, "optional": []any{"openai.b"},
			"reference": "openai.b", "workloads": []any{"chat"},
		}, "Optional reference"},
		{"optional stranger", map[string]any{
			"engines": []any{"openai.a", "openai.b"}, "optional": []any{"openai.c"},
			"reference": "openai.b", "workloads": []any{"chat"},
		}, "Optional engine is not compared"},
		{
			"silence",
			map[string]any{"engines": []any{"openai.a", "command.b"}, "reference": "openai.a"},
			"Comparison sends nothing",
		},
		{"commands are sent nothing", map[string]any{
			"engines":   []any{"command.a", "command.b"},
			"reference": "command.b", "workloads": []any{"chat"},
		}, "Workloads for a command"},
	} {
		var got []string
		for _, e := range CompareSchema.Check(&plans.Block{Attrs: c.attrs}) {
			got = append(got, e.Summary)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Engines with tokenizers of their own are sent the same text, and the table
// says that it is not the same number of tokens.
func TestOtherTokens(t *testing.T) {
	launch := func(tokens float64) []gates.Launch {
		return []gates.Launch{{ID: "l", Metrics: map[string]measure.Summary{
			"chat.prompt_tokens": {Stats: map[string]float64{"median": tokens}},
			"chat.tg":            {Stats: map[string]float64{"median": 1}},
		}}}
	}
	if got := otherTokens(launch(52), launch(48)); len(got) != 1 ||
		!strings.Contains(got[0].String(), "52 tokens long by its own count, 48") {
		t.Errorf("got %q", verdict.Lines(got))
	}
	if got := otherTokens(launch(48), launch(48)); len(got) != 0 {
		t.Errorf("got %q", verdict.Lines(got))
	}
}

// Launches of one engine that say different things of themselves are no row.
func TestCompareWantsOneEngine(t *testing.T) {
	kind := &kinds.Kind{Observe: []kinds.Pattern{{Name: "attention", Type: "string"}}}
	v := &variant.Variant{
		Arm:  decide.Arm{Name: "reference", Engine: "openai.a", Key: "A"},
		Spec: engine.Spec{Profile: kind},
	}
	for name, c := range map[string]struct {
		one, two string
		want     verdict.Verdict
	}{
		"the same": {"fa", "fa", ""}, "another": {"fa", "fi", verdict.Invalid},
	} {
		it := tableOf(nil, 0, nil, v)
		it.rows[0].Most = 2
		for i, said := range []string{c.one, c.two} {
			it.all = append(it.all, &ledger.Launch{
				ID: []string{"1", "2"}[i], VariantKey: "A", OK: true, Ordinal: i + 1,
				Fingerprint: map[string]string{"cpu": "c"},
				Observed: map[string]ledger.Observed{
					"attention": {Value: said, Line: "attention=" + said, Whole: true},
				},
			})
		}
		it.ended()
		err := it.decide(t.Context(), &ledger.Decision{})
		e := it.rows[0].entry
		if err != nil || e.Verdict != c.want ||
			(c.want != "") != strings.Contains(e.Why.String(), `differ in attention: "fa" in launch 1`) {
			t.Errorf("%s: %v, %q (%s)", name, err, e.Verdict, e.Why.String())
		}
	}
}

// tableOf is a table of four rounds that goes on with some launches: of three engines, if none are given.
// Launches are made up and take a minute; spoil changes one.
func tableOf(all []*ledger.Launch, places int, spoil func(l *ledger.Launch), vs ...*variant.Variant) *table {
	scope := &runtime.Scope{
		Node: &runtime.Node{ID: "compare"}, Emit: func(runtime.Event) {},
		Outcomes: &runtime.NodeOutcomes{},
	}
	it := &table{
		ComparisonContent: plans.ComparisonContent{Launches: 4, Reference: "reference"},
		session: &session{
			lab: NewLab(&plans.Plan{}, nil), view: &decide.View{Outcomes: scope}, scope: scope,
			id: "s-1", atOnce: places,
			all: slices.Clone(all),
		},
		measured: func(int, verdict.Verdict) []verdict.Reason { return nil },
	}
	if vs == nil {
		for _, name := range []string{"reference", "a", "b"} {
			vs = append(vs, &variant.Variant{Arm: decide.Arm{Name: name, Key: name, Engine: name}})
		}
	}
	for _, v := range vs {
		it.enter(v)
	}
	for i := range places {
		it.places = append(it.places, &ledger.Place{Name: fmt.Sprintf("gpu %d", i)})
	}
	it.launch = func(ctx context.Context, sl slot, tries []*ledger.Launch) (*ledger.Launch, error) {
		if err := minute(ctx); err != nil {
			return nil, err
		}
		l := &ledger.Launch{
			ID: launchID(it.id, sl, len(tries)), VariantKey: sl.variant.Key, Variant: sl.variant.Name,
			Ordinal: sl.ordinal, Order: sl.order, OK: true, Place: sl.place, Fingerprint: map[string]string{"cpu": "c"},
		}
		if spoil != nil {
			spoil(l)
		}
		return l, nil
	}
	return it
}

// ends runs a table to its end, unless it is cut, and decides it.
func ends(t *testing.T, ctx context.Context, it *table) (out *ledger.Decision) {
	if err := it.run(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	} else if err != nil {
		return nil
	}
	out = &ledger.Decision{}
	must.Do(t, it.decide(t.Context(), out))
	return out
}

// TestTable: rounds of a comparison stand side by side as those of a session of features
// do, and one after the other as they were planned.
func TestTable(t *testing.T) {
	for _, c := range []struct{ places, minutes int }{{0, 12}, {1, 12}, {2, 6}, {4, 3}} {
		synctest.Test(t, func(t *testing.T) {
			it, began := tableOf(nil, c.places, nil), time.Now()
			out := ends(t, t.Context(), it)
			if took := int(time.Since(began).Minutes()); took != c.minutes || len(it.all) != 12 ||
				len(out.Launches) != 12 {
				t.Errorf("%d places: %d minutes, %d launches", c.places, took, len(it.all))
			}
			orders := map[int]bool{}
			for i, l := range it.all {
				if orders[l.Order] {
					t.Errorf("two launches are number %d", l.Order)
				}
				orders[l.Order] = true
				switch {
				case c.places > 0 && l.PlaceName() != fmt.Sprintf("gpu %d", (l.Ordinal-1)%c.places):
					t.Errorf("%s stood on %q", l.ID, l.PlaceName())
				case c.places < 2 && (l.Order != i+1 || l.VariantKey != roundOrder(it.variants(), i/3+1)[i%3].Key):
					t.Errorf("launch %d is %s, of order %d", i+1, l.ID, l.Order)
				}
			}
			for _, r := range it.rows {
				for i, l := range r.entry.Launches {
					must.Equal(t, r.entry.Name, l.Round, i+1)
				}
			}
		})
	}
}

// TestTableGoesOn: a comparison that was cut amid rounds makes what they lack.
func TestTableGoesOn(t *testing.T) {
	for minutes := range 3 {
		synctest.Test(t, func(t *testing.T) {
			it := tableOf(nil, 4, nil)
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(minutes)*time.Minute+time.Second)
			defer cancel()
			if ends(t, ctx, it) != nil {
				t.Fatal("it was not cut")
			}
			it = tableOf(it.all, 4, nil)
			out := ends(t, t.Context(), it)
			slices.Sort(out.Launches)
			if n := len(slices.Compact(slices.Clone(out.Launches))); n != 12 || len(it.all) != 12 {
				t.Errorf("cut after %d minutes: %d launches on record, %d count", minutes, len(it.all), n)
			}
			for _, r := range it.rows {
				if e := r.entry; e.Verdict != "" || len(e.Launches) != 4 || len(e.Reference) != 4 {
					t.Errorf("%s: %s with %d launches", e.Name, e.Verdict, len(e.Launches))
				}
			}
		})
	}
}

// TestTableReplaces: what the machine disturbed is launched again, also in another apply, and an engine that
// crashes once; one that breaks otherwise drops out with its row, until another apply. A reference that
// drops out leaves the rows without their speed-ups.
func TestTableReplaces(t *testing.T) {
	exit := 139
	disturb := func(l *ledger.Launch) { l.Disturbed, l.Invalid = true, verdict.Because(code.MachineDisturbed) }
	died := func(l *ledger.Launch) { l.OK, l.Error = false, verdict.New(code.EngineDied) }
	crash := func(l *ledger.Launch) { died(l); l.Exit = &exit }
	for _, c := range []struct {
		name string
		// of is the row whose second launch is spoiled, all tries if always.
		of     string
		always bool
		spoil  func(l *ledger.Launch)
		// launches are those of one apply, more those of a second.
		launches, more int
		broken         verdict.Verdict
		counted        int
	}{
		{"disturbed once", "b", false, disturb, 13, 0, "", 4},
		{"disturbed each time", "b", true, disturb, 12 - 3 + 3, 0, verdict.Inconclusive, 1},
		{"died", "b", true, died, 10, 1, verdict.Error, 1},
		{"crashed once", "b", false, crash, 13, 0, "", 4},
		{"crashed again", "b", true, crash, 11, 0, verdict.Fail, 1},
		{"the reference crashed", "reference", true, crash, 10, 0, verdict.Error, 1},
	} {
		for _, again := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				spoil := func(l *ledger.Launch) {
					if l.Variant == c.of && l.Ordinal == 2 && (c.always || l.ID == "s-1."+c.of+".2") {
						c.spoil(l)
					}
				}
				it, want := tableOf(nil, 1, spoil), c.launches
				if again {
					// b is the first of round 2
					ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute+time.Second)
					defer cancel()
					if ends(t, ctx, it) != nil {
						t.Fatal("it was not cut")
					}
					it, want = tableOf(it.all, 1, spoil), want+c.more
				}
				ends(t, t.Context(), it)
				if len(it.all) != want {
					t.Errorf("%s, in two applies %v: %d launches, want %d", c.name, again, len(it.all), want)
				}
				for _, r := range it.rows {
					e, counted, broken, beside := r.entry, 4, verdict.Verdict(""), 4
					if e.Name == c.of {
						counted, broken, beside = c.counted, c.broken, c.counted
					}
					if c.of == "reference" && e.Name != c.of {
						beside = 0
					}
					if e.Verdict != broken || len(e.Launches) != counted || len(e.Reference) != beside {
						t.Errorf("%s: row %s is %q with %d beside %d", c.name, e.Name, e.Verdict,
							len(e.Launches), len(e.Reference))
					}
				}
			})
		}
	}
}

// TestTablePlaceLost: a round of rows whose place is lost begins anew on another, without
// the rows that broke, also in another apply. Each row rests on launches that stood with
// those of the reference, and on each once.
func TestTablePlaceLost(t *testing.T) {
	for _, c := range []struct {
		name string
		// lost are launches that are lost with their place, died such as the engine died in.
		lost, died []string
		launches   int
		// counted are how many of row b count, broken which verdict it has.
		counted int
		broken  verdict.Verdict
		// moved are the rounds of b that count somewhere else than where they began.
		moved []int
	}{
		// Round 2 is b, a, reference.
		{"the last of a round", []string{"s-1.reference.2"}, nil, 12 + 3, 4, "", []int{2}},
		{"the first of a round", []string{"s-1.b.2"}, nil, 12 + 1, 4, "", []int{2}},
		{"twice", []string{"s-1.a.2", "s-1.a.2r1"}, nil, 12 + 2 + 2, 4, "", []int{2}},
		{
			"beside a row that broke",
			[]string{"s-1.reference.2"},
			[]string{"s-1.b.2"},
			12 - 3 + 2, 0,
			verdict.Error, nil,
		},
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
					it := tableOf(all, 2, spoil)
					it.placeFor = func(_ context.Context, round int, begun []*ledger.Place) (*ledger.Place, error) {
						mu.Lock()
						defer mu.Unlock()
						for _, p := range alive {
							if slices.ContainsFunc(begun, p.Same) {
								return p, nil
							}
						}
						return alive[(round-1)%2], nil
					}
					return it
				}
				it := going(nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(cut)*time.Minute+time.Second)
				defer cancel()
				ends(t, ctx, it)
				gaveUp := slices.ContainsFunc(it.members, func(m *member) bool { return m.broken != nil })
				it = going(it.all)
				out := ends(t, t.Context(), it)
				for i, r := range it.rows {
					e, want, broken := r.entry, 4, verdict.Verdict("")
					if e.Name == "b" && !gaveUp { // another apply launches again what broke, in rounds of its own
						want, broken = c.counted, c.broken
					}
					if e.Verdict != broken || len(e.Launches) != want && !(gaveUp && i == 0) {
						t.Errorf("%s, cut after %d minutes: %s is %q with %d", c.name, cut, e.Name, e.Verdict,
							len(e.Launches))
					}
					for i, l := range e.Launches {
						if o := e.Reference[i]; l.Place != o.Place || l.Round != o.Round {
							t.Errorf("%s, cut after %d minutes: %s stood on %s, the reference on %s", c.name, cut, l.ID,
								l.Place, o.Place)
						}
						if e.Name == "b" && slices.Contains(c.moved, l.Round) &&
							l.Place == fmt.Sprintf("gpu %d", (l.Round-1)%2) {
							t.Errorf("%s, cut after %d minutes: round %d counts on %s, which was lost", c.name, cut,
								l.Round, l.Place)
						}
					}
				}
				slices.Sort(out.Launches)
				if len(it.all) != c.launches && !gaveUp ||
					len(slices.Compact(slices.Clone(out.Launches))) != len(out.Launches) {
					t.Errorf("%s, cut after %d minutes: %d launches, want %d, of which count %v", c.name, cut,
						len(it.all), c.launches, out.Launches)
				}
				for _, l := range it.all {
					if slices.ContainsFunc(it.all, func(o *ledger.Launch) bool { return o != l && o.ID == l.ID }) {
						t.Errorf("%s: two launches are %s", c.name, l.ID)
					}
				}
			})
		}
	}
}
