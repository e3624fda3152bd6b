package gates

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
)

// TestBadLaunches: a flaw of the launches decides nothing, is reported, and requests more
// launches only if they can cure it.
func TestBadLaunches(t *testing.T) {
	unit := func(a *Arm, i int, unit string) {
		s := a.Launches[i].Metrics["chat.tg"]
		s.Unit = unit
		a.Launches[i].Metrics["chat.tg"] = s
	}
	for _, c := range []struct {
		name, rule string
		change     func(f *Feature)
		want       verdict.Verdict
		open       bool
		says       string
	}{
		{
			"launches missing from one arm", "chat.tg.gain >= 0.1", func(f *Feature) {
				f.Candidate.Launches = f.Candidate.Launches[:3]
			}, "inconclusive", true,
			"3 launches per arm: undecided, first look at 4): not paired with a launch of the other arm, so not " +
				"counted: baseline.4",
		},
		{
			"launches of other rounds", "chat.tg.gain >= 0.1", func(f *Feature) {
				f.Candidate.Launches = f.Candidate.Launches[1:]
				f.Parent.Launches = f.Parent.Launches[:3]
			}, "inconclusive", true,
			"2 launches per arm: undecided, first look at 4): not paired with a launch of the other arm, so not " +
				"counted: f.4 and baseline.1",
		},
		{"no launch beside another", "chat.tg.gain >= 0.1", func(f *Feature) {
			f.Candidate.Launches = f.Candidate.Launches[2:]
			f.Parent.Launches = f.Parent.Launches[:2]
		}, "inconclusive", true, "0 launches per arm"},
		{"a round twice", "chat.tg.gain >= 0.1", func(f *Feature) {
			f.Candidate.Launches[3].Round = 3
		}, "invalid", false, "f has two launches of round 3, f.3 and f.4"},
		{
			"a base's round twice", "chat.tg.gain >= 0.1", func(f *Feature) { f.Parent.Launches[0].Round = 3 },
			"invalid",
			false, "baseline has two launches of round 3, baseline.1 and baseline.3",
		},
		{"no launch", "chat.tg >= 1", func(f *Feature) {
			f.Candidate.Launches = nil
		}, "inconclusive", true, "no launch of f was measured"},
		{
			"no launch of the base", "chat.tg.delta >= 1", func(f *Feature) { f.Parent.Launches = nil }, "inconclusive",
			true, "no launch of baseline was measured",
		},
		{
			"a launch without it", "chat.tg >= 1", func(f *Feature) { drop(&f.Candidate, 2, "chat.tg") },
			"inconclusive",
			false, "launch f.3 has no chat.tg",
		},
		{"NaN", "chat.tg.gain >= 0.1", func(f *Feature) {
			set(&f.Candidate, 3, "chat.tg", "median", math.NaN())
		}, "inconclusive", false, "not a finite number"},
		{
			"infinite", "chat.tg.gain >= 0.1", func(f *Feature) { set(&f.Parent, 3, "chat.tg", "median", math.Inf(1)) },
			"inconclusive", false, "not a finite number",
		},
		{"zero", "chat.tg.gain >= 0.1", func(f *Feature) {
			set(&f.Parent, 3, "chat.tg", "median", 0)
		}, "invalid", false, "use .delta"},
		{"negative", "chat.tg.gain >= 0.1", func(f *Feature) {
			set(&f.Candidate, 3, "chat.tg", "median", -1)
		}, "invalid", false, "use .delta"},
		{"zero in a level", "chat.tg >= 1", func(f *Feature) {
			set(&f.Candidate, 3, "chat.tg", "median", 0)
		}, "invalid", false, "values above zero"},
		{
			"units of launches", "chat.tg >= 1", func(f *Feature) { unit(&f.Candidate, 2, "req/s") }, "invalid", false,
			`launch f.3 gives chat.tg in "req/s", earlier ones in "tok/s"`,
		},
		{"units of arms", "chat.tg.gain >= 0.1", func(f *Feature) {
			for i := range f.Parent.Launches {
				unit(&f.Parent, i, "")
			}
		}, "invalid", false, `launches of f give chat.tg in "tok/s", those of baseline in ""`},
		{
			"stale", "chat.tg >= 50 or chat.tg.gain > 0.214", func(f *Feature) { f.Candidate.Launches[0].Stale = true },
			"inconclusive", false, "not fresh starts",
		},
		{"too large", "chat.tg.delta >= 1", func(f *Feature) {
			for i := range f.Parent.Launches {
				set(&f.Parent, i, "chat.tg", "median", math.MaxFloat64)
			}
		}, "invalid", false, "finite"},
		{"too far apart", "chat.tg.delta >= 1", func(f *Feature) {
			for i := range f.Parent.Launches {
				set(&f.Parent, i, "chat.tg", "median", math.MaxFloat64*math.Pow(-1, float64(i)))
			}
		}, "invalid", false, "compute their spread"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := decided(compiled(t, c.rule), with(c.change))
			if reasons := verdict.Semicolons(got.Reasons); got.Verdict != c.want || !strings.Contains(reasons, c.says) {
				t.Errorf("%s: %s", got.Verdict, reasons)
			}
			if open := Open([]verdict.Rule{got}); (len(open) > 0) != c.open {
				t.Errorf("open %v", open)
			}
		})
	}
}

// TestWholeRanges: memory needs three launches, and a range around the limit stays undecided however many there are.
func TestWholeRanges(t *testing.T) {
	for _, c := range []struct {
		rule      string
		own, base []float64
		want      verdict.Verdict
		open      bool
		says      string
	}{
		{
			"engine.memory_gb.delta <= 2",
			[]float64{10, 10.5, 10.2},
			[]float64{9, 9.1, 9.2},
			"pass", false,
			"upper bound 1.5 GB over all pairs of launches, 3 launches per arm",
		},
		{
			"engine.memory_gb.delta < 1.5",
			[]float64{10, 10.5, 10.2},
			[]float64{9, 9.1, 9.2},
			"inconclusive", false,
			"bounds 0.8 GB to 1.5 GB over all pairs of launches, 3 launches per arm: undecided",
		},
		{
			"engine.memory_gb.delta <= 0.5",
			[]float64{10, 10.5, 10.2},
			[]float64{9, 9.1, 9.2},
			"fail", false,
			"lower bound 0.8 GB at best, 3 launches per arm",
		},
		{
			"engine.memory_gb.delta <= 2",
			[]float64{10, 10.5},
			[]float64{9, 9.1},
			"inconclusive", true,
			"2 of at least 3 launches per arm: undecided",
		},
		{
			"engine.memory_gb.delta <= 2",
			[]float64{10, 14},
			[]float64{9, 9.1},
			"inconclusive", false,
			"2 launches per arm: undecided",
		},
		{"engine.memory_gb.delta <= 0.5", []float64{10, 10.5, 10.2}, []float64{9, 9.1}, "inconclusive", true, ""},
		{
			"engine.memory_gb.change <= 0.2",
			[]float64{10, 10.5, 10.2},
			[]float64{9, 9.1, 9.2},
			"pass", false,
			"upper bound +17% over all pairs of launches",
		},
		{
			"engine.memory_gb.gain >= 0",
			[]float64{10, 10.5, 10.2},
			[]float64{9, 9.1, 9.2},
			"fail", false,
			"upper bound -8.6% at best",
		},
		{
			"engine.memory_gb.delta <= 0.1",
			[]float64{1.1, 1.1, 1.1},
			[]float64{1, 1, 1},
			"pass", false,
			"upper bound 0.1 GB over all pairs of launches",
		},
		{
			"engine.memory_gb.delta < 0.1",
			[]float64{1.1, 1.1, 1.1},
			[]float64{1, 1, 1},
			"fail", false,
			"lower bound 0.1 GB at best",
		},
		{
			"engine.memory_gb <= 1.05 * engine.memory_gb.base",
			[]float64{21, 21, 21},
			[]float64{20, 20, 20},
			"pass",
			false, "upper bound +5.0% over all pairs of launches",
		},
		{
			"engine.memory_gb <= 10.5",
			[]float64{10, 10.5, 10.2},
			[]float64{9},
			"pass", false,
			"upper bound 10.5 GB over all launches, 3 launches",
		},
		{"engine.memory_gb <= 9", []float64{10, 10.5, 10.2}, []float64{9}, "fail", false, "lower bound 10 GB at best"},
	} {
		ev := with(func(f *Feature) {
			f.Candidate, f.Parent = medians("f", c.own...), medians("baseline", c.base...)
			for i, v := range c.own {
				f.Candidate.Launches[i].Metrics["engine.memory_gb"] = launchSummary(v, "GB")
			}
			for i, v := range c.base {
				f.Parent.Launches[i].Metrics["engine.memory_gb"] = launchSummary(v, "GB")
			}
		})
		got := decided(compiled(t, c.rule), ev)
		if got.Verdict != c.want || !strings.Contains(got.Reasons[0].String(), c.says) ||
			(len(got.Open) > 0) != c.open {
			t.Errorf("%s: %s, open %v: %s", c.rule, got.Verdict, got.Open, got.Reasons[0].String())
		}
	}
}

// TestDriftUndecides: drift makes only rules about one arm's own numbers inconclusive.
func TestDriftUndecides(t *testing.T) {
	drifting := func(drifts ...float64) Evidence {
		return with(func(f *Feature) {
			for i, d := range drifts {
				set(&f.Candidate, i, "chat.tg", "drift", d)
			}
		})
	}
	strong := []float64{0.02, 0.021, 0.019, 0.022}
	for _, c := range []struct {
		rule string
		ev   Evidence
		want verdict.Verdict
	}{
		{"chat.tg >= 35", drifting(strong...), "inconclusive"},
		{"chat.tg.base >= 29", drifting(strong...), "pass"},
		{"chat.tg.gain >= 0.1", drifting(strong...), "pass"},
		{"chat.tg >= 35", drifting(0.02, -0.03, 0.04, 0.01), "pass"},
		{"chat.tg >= 35", drifting(0.02, 0.021, 0.019, math.NaN()), "inconclusive"},
		{"chat.tg >= 35", full(), "pass"},
	} {
		got := decided(compiled(t, c.rule), c.ev)
		if got.Verdict != c.want || len(got.Open) > 0 {
			t.Errorf("%s: %s, open %v: %q", c.rule, got.Verdict, got.Open, verdict.Lines(got.Reasons))
		}
		if test := got.Comparisons[0].Test; (!test.Note.IsZero()) != (c.want == "inconclusive") ||
			c.want == "inconclusive" && !strings.Contains(got.Reasons[0].String(), "drift") {
			t.Errorf("%s: %q, %q", c.rule, test.Note.String(), verdict.Lines(got.Reasons))
		}
	}
}

// TestRangesOfFewLaunches: if no more than two launches are made, memory is never decided, and no more are requested.
func TestRangesOfFewLaunches(t *testing.T) {
	s := usual
	s.Max = 2
	ev := with(func(f *Feature) {
		f.Candidate.Launches, f.Parent.Launches = f.Candidate.Launches[:2], f.Parent.Launches[:2]
	})
	got := Decide(compileAll(t, "engine.memory_gb.delta <= 2"), ev, s)[0]
	if got.Verdict != verdict.Inconclusive || len(got.Open) > 0 ||
		!strings.HasSuffix(got.Reasons[0].String(), "2 launches per arm: a verdict needs 3)") {
		t.Errorf("%s, open %v: %q", got.Verdict, got.Open, verdict.Lines(got.Reasons))
	}
}

// A count is known to within one; an average of counts, such as tokens per step, is known more precisely.
func TestResolution(t *testing.T) {
	for _, c := range []struct {
		unit   string
		whole  bool
		values []float64
		want   float64
	}{
		{"tokens", true, []float64{24, 24, 23}, 1},
		{"tokens", true, []float64{24.5, 24.5}, 1},
		{"tokens", false, []float64{2.2, 2, 2}, 1e-3},
		{"tokens", false, []float64{3, 3}, 1e-3},
		{"count", true, []float64{0, 0}, 1},
		{"GB", false, []float64{60}, 0.01},
		{"share", false, []float64{1, 1}, 1e-3},
		{"ms", false, []float64{12}, 1e-6},
		{"tok/s", false, []float64{1}, 1e-9},
		{"tok/s", false, []float64{0.1}, 1e-9},
	} {
		must.Equal(t, fmt.Sprint(c.values, " ", c.unit), resolution(c.unit, c.whole, c.values), c.want)
	}
}

// TestAverageThatIsWhole: drafters with 3 tokens per step in every launch are treated like
// those with 3.125, not as a count.
func TestAverageThatIsWhole(t *testing.T) {
	for _, length := range []float64{3, 3.125} {
		if got := decided(compiled(t, "chat.accept_length.gain >= -0.1"),
			giving("chat.accept_length", always(length, "tokens"))); got.Verdict != verdict.Pass {
			t.Errorf("%v: %s, %s", length, got.Verdict, verdict.Semicolons(got.Reasons))
		}
	}
}

func TestPrinted(t *testing.T) {
	for _, c := range []struct {
		unit   string
		values []float64
		want   float64
	}{
		{"", []float64{30, 31}, 1},
		{"", []float64{30, 31.5}, 0.1},
		{"", []float64{30.25, 31.5}, 0.01},
		{"", []float64{0.001}, 0.001},
		{"", []float64{5e-324}, 0},
		{"", nil, 1},
		{"count", []float64{1, 1}, 1},
		{shareUnit, []float64{1, 1}, 0},
		{shareUnit, []float64{1, 0.99}, 0.01},
		{shareUnit, []float64{3, 1}, 1},
	} {
		if got := printed(c.unit, c.values); got != c.want && !(c.want == 0 && got < 1e-300) {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}

// ofCommand reads the rule's inputs from what a command printed.
func ofCommand(rule *plans.Rule) *plans.Rule {
	for _, in := range rule.Inputs() {
		in.Cell = plans.CommandKind
	}
	return rule
}

// TestPrintedTies: a program that prints whole numbers, the same at every start, has not
// shown a gain of 3% if rounding alone may produce one.
func TestPrintedTies(t *testing.T) {
	for _, c := range []struct {
		base, own float64
		want      verdict.Verdict
	}{
		{30, 31, "inconclusive"},
		{30.001, 31.002, "pass"},
		{100, 200, "pass"},
	} {
		ev := with(func(f *Feature) {
			f.Candidate, f.Parent = medians("f", make([]float64, 8)...), medians("baseline", make([]float64, 8)...)
			for i := range f.Candidate.Launches {
				f.Candidate.Launches[i].Metrics["command.tg"], f.Parent.Launches[i].Metrics["command.tg"] =
					launchSummary(c.own, "tok/s"), launchSummary(c.base, "tok/s")
			}
		})
		if got := decided(ofCommand(compiled(t, "chat.tg.gain >= 0.03")), ev); got.Verdict != c.want {
			t.Errorf("%v against %v: %+v", c.own, c.base, got.Reasons)
		}
	}
}

// TestPrintedShare: a program whose output agrees completely prints 1 at every start, and
// has not rounded it to whole numbers.
func TestPrintedShare(t *testing.T) {
	for _, c := range []struct {
		metric, rule, unit string
		value              float64
		want               verdict.Verdict
	}{
		{"chat.accept_rate", "chat.accept_rate >= 0.9", shareUnit, 1, verdict.Pass},
		{"chat.accept_rate", "chat.accept_rate >= 0.9", "", 1, verdict.Inconclusive},
		{"chat.error_rate", "chat.error_rate <= 0.01", shareUnit, 0, verdict.Pass},
		{"chat.error_rate", "chat.error_rate >= 0.01", shareUnit, 0, verdict.Fail},
	} {
		ev := giving("command."+strings.TrimPrefix(c.metric, "chat."), always(c.value, c.unit))
		if got := decided(ofCommand(compiled(t, c.rule)), ev); got.Verdict != c.want {
			t.Errorf("%s at %v %q: %s, %s", c.rule, c.value, c.unit, got.Verdict, verdict.Semicolons(got.Reasons))
		}
	}
}

// TestNoLaterLaunchChangesALook: what a look says follows from the rounds that it is at, so the looks at n launches are
// the first of those at more, and what they decided stays decided: over random launches, some of which tie, print fewer
// digits than others, are far off, or ran elsewhere.
func TestNoLaterLaunchChangesALook(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 50))
	var rules []*plans.Rule
	for _, text := range []string{
		"chat.tg.gain >= 0.03", "chat.tg >= 21", "chat.tg.delta >= 0.5", "chat.tg.change <= 0.5",
		"chat.ttft.change <= 0.02", "chat.tg.max >= 40",
	} {
		for _, cell := range []string{"chat", "command"} {
			rule := compiled(t, text)
			rule.Compares()[0].Metric.Cell = cell
			rules = append(rules, rule)
		}
	}
	stopped := map[stats.Outcome]int{}
	for range 60 {
		const most = 8
		spread := math.Pow(10, -4*rng.Float64())
		digits, places := math.Pow10(rng.IntN(4)), 1+rng.IntN(3)
		value := func(level float64) float64 {
			v := level * math.Exp(spread*rng.NormFloat64())
			if rng.IntN(12) == 0 {
				v = level * math.Pow(10, 2-4*rng.Float64())
			}
			if rng.IntN(2) == 0 {
				v = math.Round(v*digits) / digits
			}
			return max(v, 1e-3)
		}
		var own, base [most]float64
		for i := range most {
			own[i], base[i] = value(20*math.Exp(0.1*rng.NormFloat64())), value(20)
		}
		on := make([]string, most)
		for i := range on {
			on[i] = fmt.Sprint("gpu ", rng.IntN(places))
		}
		var known noise
		if rng.IntN(2) == 0 {
			known = noise{"chat.tg": {SD: spread / 5, DF: 9, Gap: 0.01}}
		}
		for _, rule := range rules {
			at := func(n int) *verdict.Test {
				got := decided(rule, with(func(f *Feature) {
					f.Noise = known
					f.Candidate, f.Parent = medians("f", own[:n]...), medians("baseline", base[:n]...)
					for _, arm := range []Arm{f.Candidate, f.Parent} {
						for i := range arm.Launches {
							l := &arm.Launches[i]
							l.Place = on[i]
							for name, of := range l.Metrics {
								l.Metrics[strings.Replace(name, "chat", "command", 1)] = of
							}
						}
					}
				}))
				if len(got.Comparisons) != 1 || got.Comparisons[0].Test == nil {
					t.Fatalf("%s at %d: %q", rule.Name, n, verdict.Lines(got.Reasons))
				}
				return got.Comparisons[0].Test
			}
			whole := at(most)
			stopped[whole.Stop]++
			for n := 1; n < most; n++ {
				part := at(n)
				if len(part.Looks) > len(whole.Looks) || !slices.EqualFunc(part.Looks, whole.Looks[:len(part.Looks)],
					func(a, b stats.Look) bool { return reflect.DeepEqual(a, b) }) {
					t.Fatalf("%s of %v against %v on %v: at %d\n%+v, at all\n%+v", rule.Name, own, base, on, n,
						part.Looks, whole.Looks)
				}
				if part.Stop != stats.Open && part.Stop != whole.Stop {
					t.Fatalf("%s of %v against %v: %s at %d, %s at all", rule.Name, own, base, part.Stop, n, whole.Stop)
				}
			}
		}
	}
	if stopped[stats.Passed] < 30 || stopped[stats.Failed] < 10 || stopped[stats.Futile] < 30 {
		t.Errorf("not all kinds of ends were seen: %v", stopped)
	}
}

// counted is evidence whose launches crashed this often.
func counted(own, base []float64) Evidence {
	return with(func(f *Feature) {
		for _, a := range []struct {
			arm    *Arm
			counts []float64
		}{{&f.Candidate, own}, {&f.Parent, base}} {
			speeds := make([]float64, len(a.counts))
			for i := range speeds {
				speeds[i] = 30 + 0.1*float64(i%3)
			}
			*a.arm = medians(a.arm.Name, speeds...)
			for i, n := range a.counts {
				set(a.arm, i, "engine.crashes", "median", n)
				set(a.arm, i, "chat.output_tokens", "median", 100+10*n)
			}
		}
	})
}

// TestCountsHoldInEveryLaunch: counts must hold in every launch, whatever their mean, and
// name the launch in which they do not.
func TestCountsHoldInEveryLaunch(t *testing.T) {
	none := []float64{0, 0, 0, 0}
	for _, c := range []struct {
		rule      string
		own, base []float64
		want      verdict.Verdict
		says      string
	}{
		{
			"engine.crashes < 1",
			[]float64{0, 0, 1, 0},
			none, "fail",
			"engine.crashes 1 in launch 3 of 4 (required < 1 in every launch, 1 of 5 starts crashed)",
		},
		{
			"not (engine.crashes >= 1)",
			[]float64{0, 0, 1, 0},
			none, "fail",
			"engine.crashes 1 in launch 3 of 4 (required < 1 in every launch, 1 of 5 starts crashed)",
		},
		{
			"engine.crashes < 1", none, none, "pass",
			"engine.crashes 0 (required < 1, 4 launches, crash rate below 53% with 95% confidence)",
		},
		{
			"engine.crashes <= 2",
			[]float64{0, 2, 1, 0},
			none, "pass",
			"engine.crashes 0 to 2 (required ≤ 2 in every launch, 4 launches, crash rate below 77% with 95% " +
				"confidence)",
		},
		{
			"engine.crashes <= 2",
			[]float64{5, 3, 9, 0},
			none, "fail",
			"engine.crashes 9 in launch 3 of 4 (required ≤ 2 in every launch, 17 of 21 starts crashed)",
		},
		{
			"engine.crashes == 1",
			[]float64{1, 1, 1, 2},
			none, "fail",
			"engine.crashes 2 in launch 4 of 4 (required 1 in every launch, 5 of 9 starts crashed)",
		},
		{"engine.crashes in [0, 2]", []float64{0, 2, 0}, none, "pass", "0 to 2 (required one of 0, 2 in every launch"},
		{
			"engine.crashes not in [1]",
			[]float64{0, 2, 1},
			none, "fail",
			"1 in launch 3 of 3 (required none of 1 in every launch",
		},
		{"not (engine.crashes in [1])", []float64{0, 2}, none, "pass", "0 to 2 (required none of 1 in every launch"},
		{
			"engine.crashes.base == 0", none,
			[]float64{0, 1, 0, 0},
			"fail",
			"engine.crashes.base 1 in launch 2 of 4 (required 0 in every launch",
		},
		{
			"chat.output_tokens <= 105",
			[]float64{0, 0, 1, 0},
			none, "fail",
			"chat.output_tokens 110 tokens in launch 3 of 4 (required ≤ 105 tokens in every launch",
		},

		{
			"engine.crashes.delta <= 0", none,
			[]float64{0, 1, 0, 0},
			"pass",
			"engine.crashes.delta -1 to 0 (required ≤ 0 for every pair of launches, 4 against 4 launches",
		},
		{
			"engine.crashes.delta <= 0",
			[]float64{2, 3, 2, 2},
			[]float64{0, 1, 0, 0},
			"fail",
			"engine.crashes.delta 1 to 3 (required ≤ 0 for every pair of launches",
		},
		{
			"engine.crashes.delta <= 0",
			[]float64{0, 1, 0, 0},
			none, "inconclusive",
			"engine.crashes.delta 0 to 1 (required ≤ 0 for every pair of launches, 4 against 4 launches, undecided: " +
				"true for some launches, false for others)",
		},
		{
			"engine.crashes <= engine.crashes.base",
			[]float64{0, 1, 0, 0},
			[]float64{1, 1, 2, 1},
			"pass",
			"engine.crashes 0 to 1 (required ≤ engine.crashes.base = 1 to 2 for every pair of launches",
		},
		{
			"engine.crashes <= engine.crashes.base",
			[]float64{0, 1, 0, 0},
			[]float64{0, 1, 2, 1},
			"inconclusive",
			"undecided: true for some launches",
		},
		{
			"chat.output_tokens.change <= 0.1",
			[]float64{1, 1, 0, 0},
			none, "pass",
			"chat.output_tokens.change 0% to +10%",
		},
		{
			"chat.output_tokens <= 1.1 * chat.output_tokens.base",
			[]float64{0, 0, 1},
			[]float64{0, 0, 1},
			"pass",
			"chat.output_tokens 100 to 110 tokens (required ≤ 1.1 * chat.output_tokens.base = 110 to 121 tokens for " +
				"every pair of launches",
		},
		{
			"2 * chat.output_tokens.delta <= 19",
			[]float64{0, 0, 1},
			[]float64{0, 0, 1},
			"inconclusive",
			"-20 to 20 tokens (required ≤ 19 tokens for every pair of launches",
		},
	} {
		got := decided(compiled(t, c.rule), counted(c.own, c.base))
		if got.Verdict != c.want || !strings.Contains(got.Reasons[0].String(), c.says) {
			t.Errorf("%s of %v against %v is %s: %q, wanted %s: %s", c.rule, c.own, c.base, got.Verdict,
				verdict.Lines(got.Reasons), c.want, c.says)
		}
		if len(got.Open) > 0 {
			t.Errorf("%s of %v waits for launches that change nothing", c.rule, c.own)
		}
		negated := strings.Contains(c.rule, "not ")
		if holds := got.Comparisons[0].Holds != negated; got.Verdict != verdict.Inconclusive &&
			holds != (got.Verdict == verdict.Pass) {
			t.Errorf("%s is %s, and holds %v", c.rule, got.Verdict, holds)
		}
	}
}

// TestCountsFailForGood: one violation is final, whatever launches follow, but one launch alone decides neither way.
func TestCountsFailForGood(t *testing.T) {
	rule := compiled(t, "engine.crashes < 1")
	counts := []float64{1}
	for n := 1; n <= 8; n++ {
		want := verdict.Fail
		if n < fewLaunches {
			want = verdict.Inconclusive
		}
		got := decided(rule, counted(counts, make([]float64, n)))
		if got.Verdict != want || (len(got.Open) > 0) != (want == verdict.Inconclusive) {
			t.Errorf("%d launches: %s, open %v: %q", n, got.Verdict, got.Open, verdict.Lines(got.Reasons))
		}
		counts = append(counts, 0)
	}
}
