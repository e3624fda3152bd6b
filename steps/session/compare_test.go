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
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

func TestCheckCompare(t *testing.T) {
	for _, c := range []struct {
		name  string
		attrs map[string]any
		want  string // summaries, joined
	}{
		{"good", map[string]any{"engines": []any{"openai.a", "openai.b"}, "reference": "openai.b", "workloads": []any{"chat"}}, ""},
		{"commands", map[string]any{"engines": []any{"command.a", "command.b"}, "reference": "command.b"}, ""},
		{"mixed", map[string]any{"engines": []any{"command.a", "openai.b"}, "reference": "openai.b", "workloads": []any{"chat"}}, ""},
		{"one", map[string]any{"engines": []any{"openai.a"}, "reference": "openai.a", "workloads": []any{"chat"}}, "Nothing to compare"},
		{"stranger", map[string]any{"engines": []any{"openai.a", "openai.b"}, "reference": "openai.c", "workloads": []any{"chat"}}, "Reference is not compared"},
		{"optional", map[string]any{"engines": []any{"openai.a", "openai.b"}, "optional": []any{"openai.a"}, "reference": "openai.b", "workloads": []any{"chat"}}, ""},
		{"optional reference", map[string]any{"engines": []any{"openai.a", "openai.b"}, "optional": []any{"openai.b"}, "reference": "openai.b", "workloads": []any{"chat"}}, "Optional reference"},
		{"optional stranger", map[string]any{"engines": []any{"openai.a", "openai.b"}, "optional": []any{"openai.c"}, "reference": "openai.b", "workloads": []any{"chat"}}, "Optional engine is not compared"},
		{"silence", map[string]any{"engines": []any{"openai.a", "command.b"}, "reference": "openai.a"}, "Comparison sends nothing"},
		{"commands are sent nothing", map[string]any{"engines": []any{"command.a", "command.b"}, "reference": "command.b", "workloads": []any{"chat"}}, "Workloads for a command"},
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
	launch := func(tokens float64) *ledger.Launch {
		return &ledger.Launch{ID: "l", Metrics: map[string]measure.Summary{
			"chat.prompt_tokens": {Stats: map[string]float64{"median": tokens}}, "chat.tg": {Stats: map[string]float64{"median": 1}},
		}}
	}
	if got := otherTokens([]*ledger.Launch{launch(52)}, []*ledger.Launch{launch(48)}); len(got) != 1 || !strings.Contains(got[0].String(), "52 tokens long by its own count, 48") {
		t.Errorf("got %q", verdict.Lines(got))
	}
	if got := otherTokens([]*ledger.Launch{launch(48)}, []*ledger.Launch{launch(48)}); len(got) != 0 {
		t.Errorf("got %q", verdict.Lines(got))
	}
}

// Launches of one engine that say different things of themselves are no row.
func TestCompareWantsOneEngine(t *testing.T) {
	kind := &kinds.Kind{Observe: []kinds.Pattern{{Name: "attention", Type: "string"}}}
	v := &variant.Variant{Arm: decide.Arm{Name: "openai.a", Engine: "openai.a", Key: "A"}, Spec: engine.Spec{Profile: kind}}
	for name, c := range map[string]struct {
		one, two string
		want     verdict.Verdict
	}{
		"the same": {"fa", "fa", ""}, "another": {"fa", "fi", verdict.Invalid},
	} {
		e := &gates.Contender{}
		it := &comparison{session: &session{}, compareConfig: compareConfig{Launches: 2}, variants: []*variant.Variant{v}, entries: map[*variant.Variant]*gates.Contender{v: e}}
		for i, said := range []string{c.one, c.two} {
			it.all = append(it.all, &ledger.Launch{
				ID: []string{"1", "2"}[i], VariantKey: "A", OK: true, Ordinal: i + 1, Fingerprint: map[string]string{"cpu": "c"},
				Observed: map[string]ledger.Observed{"attention": {Value: said, Line: "attention=" + said, Whole: true}},
			})
		}
		it.adoptLaunches(it.all)
		step := &compare{lab: newLab(&plans.Plan{}, nil)}
		err := step.validate(t.Context(), it, it.collectLaunches(&ledger.Decision{}))
		if err != nil || e.Broken != c.want || (c.want != "") != strings.Contains(e.Cause.String(), `differ in attention: "fa" in launch 1`) {
			t.Errorf("%s: %v, %q (%s)", name, err, e.Broken, e.Cause.String())
		}
	}
}

// tableOf is a comparison of three engines in four rounds that goes on with some launches.
// Launches are made up and take a minute; spoil changes one.
func tableOf(all []*ledger.Launch, places int, spoil func(l *ledger.Launch)) *comparison {
	scope := &runtime.Scope{Node: &runtime.Node{ID: "compare"}, Emit: func(runtime.Event) {}}
	it := &comparison{
		session:       &session{lab: newLab(&plans.Plan{}, nil), scope: scope, id: "s-1", atOnce: places},
		compareConfig: compareConfig{Launches: 4}, entries: map[*variant.Variant]*gates.Contender{},
	}
	for _, name := range []string{"reference", "a", "b"} {
		v := &variant.Variant{Arm: decide.Arm{Name: name, Key: name}}
		it.variants, it.entries[v] = append(it.variants, v), &gates.Contender{Arm: gates.Arm{Name: name}}
	}
	it.adoptLaunches(slices.Clone(all))
	for i := range places {
		it.places = append(it.places, &ledger.Place{Name: fmt.Sprintf("gpu %d", i)})
	}
	it.launch = func(ctx context.Context, sl slot, tries []*ledger.Launch) (*ledger.Launch, error) {
		if err := minute(ctx); err != nil {
			return nil, err
		}
		l := &ledger.Launch{ID: launchID(it.id, sl, len(tries)), VariantKey: sl.variant.Key, Variant: sl.variant.Name, Ordinal: sl.ordinal, Order: sl.order, OK: true, Place: sl.place}
		if spoil != nil {
			spoil(l)
		}
		return l, nil
	}
	return it
}

// rows runs a comparison to its end, unless it is cut, and gathers its launches.
func rows(t *testing.T, ctx context.Context, it *comparison) (out *ledger.Decision, used map[*variant.Variant][]*ledger.Launch) {
	if err := it.run(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	} else if err != nil {
		return nil, nil
	}
	out = &ledger.Decision{}
	return out, it.collectLaunches(out)
}

// TestTable: rounds of a comparison stand side by side as those of a session of features
// do, and one after the other as they were planned.
func TestTable(t *testing.T) {
	for _, c := range []struct{ places, minutes int }{{0, 12}, {1, 12}, {2, 6}, {4, 3}} {
		synctest.Test(t, func(t *testing.T) {
			it, began := tableOf(nil, c.places, nil), time.Now()
			out, _ := rows(t, t.Context(), it)
			if took := int(time.Since(began).Minutes()); took != c.minutes || len(it.all) != 12 || len(out.Launches) != 12 {
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
				case c.places < 2 && (l.Order != i+1 || l.VariantKey != roundOrder(it.variants, i/3+1)[i%3].Key):
					t.Errorf("launch %d is %s, of order %d", i+1, l.ID, l.Order)
				}
			}
			for v, e := range it.entries {
				for i, l := range e.Launches {
					must.Equal(t, v.Name, l.Round, i+1)
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
			if out, _ := rows(t, ctx, it); out != nil {
				t.Fatal("it was not cut")
			}
			it = tableOf(it.all, 4, nil)
			out, _ := rows(t, t.Context(), it)
			slices.Sort(out.Launches)
			if n := len(slices.Compact(slices.Clone(out.Launches))); n != 12 || len(it.all) != 12 {
				t.Errorf("cut after %d minutes: %d launches on record, %d count", minutes, len(it.all), n)
			}
			for v, e := range it.entries {
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
		launches int
		broken   verdict.Verdict
		counted  int // of row b
	}{
		{"disturbed once", func(l *ledger.Launch) {
			if l.ID == "s-1.b.2" {
				disturb(l)
			}
		}, 13, "", 4},
		{"disturbed each time", func(l *ledger.Launch) {
			if l.Variant == "b" && l.Ordinal == 2 {
				disturb(l)
			}
		}, 12 - 3 + 3, "", 2},
		{"died", func(l *ledger.Launch) {
			if l.Variant == "b" && l.Ordinal == 2 {
				l.OK, l.Error = false, verdict.New(code.EngineDied)
			}
		}, 10, verdict.Error, 1},
	} {
		for _, again := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				it := tableOf(nil, 1, c.spoil)
				if again {
					ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute+time.Second) // b is the first of round 2
					defer cancel()
					if out, _ := rows(t, ctx, it); out != nil {
						t.Fatal("it was not cut")
					}
					it = tableOf(it.all, 1, c.spoil)
				}
				rows(t, t.Context(), it)
				e := it.entries[it.variants[2]]
				if len(it.all) != c.launches || e.Broken != c.broken || len(e.Launches) != c.counted {
					t.Errorf("%s, in two applies %v: %d launches, row is %q with %d", c.name, again, len(it.all), e.Broken, len(e.Launches))
				}
				if e := it.entries[it.variants[1]]; e.Broken != "" || len(e.Launches) != 4 {
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
				going := func(all []*ledger.Launch) *comparison {
					it := tableOf(all, 2, spoil)
					it.stand = func(_ context.Context, round int, begun []*ledger.Place) (*ledger.Place, error) {
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
				rows(t, ctx, it)
				it = going(it.all)
				out, used := rows(t, t.Context(), it)
				on := map[int]string{}
				for i, v := range it.variants {
					e, want, broken := it.entries[v], 4, verdict.Verdict("")
					if v.Name == "b" {
						want, broken = c.counted, c.broken
					}
					if e.Broken != broken || len(e.Launches) != want {
						t.Errorf("%s, cut after %d minutes: %s is %q with %d", c.name, cut, v.Name, e.Broken, len(e.Launches))
					}
					for _, l := range used[v] {
						if i == 0 {
							on[l.Ordinal] = l.PlaceName()
						}
						if on[l.Ordinal] != l.PlaceName() {
							t.Errorf("%s, cut after %d minutes: %s stood on %s, the reference on %s", c.name, cut, l.ID, l.PlaceName(), on[l.Ordinal])
						}
					}
				}
				for _, round := range c.moved {
					if on[round] == fmt.Sprintf("gpu %d", (round-1)%2) {
						t.Errorf("%s, cut after %d minutes: round %d counts on %s, which was lost", c.name, cut, round, on[round])
					}
				}
				slices.Sort(out.Launches)
				if len(it.all) != c.launches || len(slices.Compact(slices.Clone(out.Launches))) != len(out.Launches) {
					t.Errorf("%s, cut after %d minutes: %d launches, want %d, of which count %v", c.name, cut, len(it.all), c.launches, out.Launches)
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
