package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// shown is a gain with its bounds.
func shown(g Gain) string {
	text := fmt.Sprintf("%s %v", g.What, g.Value)
	if g.Low != nil {
		text += fmt.Sprintf(" from %v", *g.Low)
	}
	if g.High != nil {
		text += fmt.Sprintf(" to %v", *g.High)
	}
	return text
}

func TestStackIsInThePlansOrder(t *testing.T) {
	st := stacked(t).st
	s := SummaryOf(st, nil, time.Now()).Stack
	if s.Sum() != "baseline + cache + moe" ||
		verdict.Pairs(s.Knobs, " = ", ", ") != "cache = on, head = f32, moe = routed" {
		t.Fatal(s.Sum(), s.Knobs)
	}
	if f := s.Features[1]; verdict.Pairs(f.Set, " = ", ", ") != "moe = routed" || f.On != "baseline" ||
		len(f.Gains) != 1 || shown(f.Gains[0]) != "chat.tg.gain 0.4963 from 0.4621" {
		t.Errorf("%+v, %v", f, f.Gains)
	}
}

// TestSetIsWhatDiffersFromTheParent: a part that puts a knob back to the baseline's value sets it all the same.
func TestSetIsWhatDiffersFromTheParent(t *testing.T) {
	s := stacked(t)
	s.nodes = append(s.nodes, "feature.back")
	s.begin("r2")
	both, _ := s.st.LaunchByID("s-2.accepted.1")
	back := s.launches("s-3", "back", set("cache=on"), 44, 45)
	s.feature("back", true, set("cache=on"), "accepted", []string{both.ID, "s-2.accepted.2"}, back, 0.1, 0.05)
	got := s.summary().Stack
	if got.Sum() != "baseline + cache + moe + back" || verdict.Pairs(got.Knobs, " = ",
		", ") != "cache = on, head = f32, moe = all" || verdict.Pairs(got.Features[2].Set, " = ", ", ") != "moe = all" {
		t.Error(got.Sum(), got.Knobs, got.Features[2].Set)
	}
}

func TestReplacedIsNotInTheStack(t *testing.T) {
	s := stacked(t)
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
		Node: "feature.cache", Kind: "feature", Phase: "p", Feature: "cache", Attempt: 2, Verdict: verdict.Invalid,
		Supersedes: true,
	}})
	if got := s.summary().Stack; got.Sum() != "baseline + moe" {
		t.Error(got.Sum())
	}
}

func TestChosenAlternativeSetsWhatItDoes(t *testing.T) {
	s := stacked(t)
	s.nodes = append(s.nodes, "feature.spec")
	s.begin("r2")
	base := []string{"s-1.baseline.1", "s-1.baseline.2"}
	own := s.launches("s-4", "spec[short]", set("head=mxfp4"), 25, 26)
	s.feature("spec", true, set("head=mxfp4"), "baseline", base, own, 0.2, 0.1, func(d *ledger.Decision) {
		d.Alternatives = []ledger.Alternative{
			{Name: "spec[long]", Set: map[string]string{"head": "other"}, Verdict: verdict.Fail},
			{Name: "spec[short]", Set: map[string]string{"head": "mxfp4"}, Verdict: verdict.Pass, Chosen: true},
		}
	})
	got := s.summary().Stack
	if last := got.Features[len(got.Features)-1]; last.Chosen != "spec[short]" || got.Knobs["head"] != "mxfp4" {
		t.Errorf("%+v", last)
	}
	parent := s.launches("s-5", "accepted", set("cache=on", "moe=routed", "head=mxfp4"), 40, 41)
	drafts := s.launches("s-5", "drafts", set("cache=on", "moe=routed", "head=wide"), 60, 61)
	s.nodes = append(s.nodes, "feature.drafts")
	s.begin("r3")
	s.feature("drafts", true, set("cache=on", "moe=routed", "head=wide"), "accepted", parent, drafts, 0.5, 0.4)
	all := s.summary().Stack.Features
	must.Equal(t, "what drafts build on", all[len(all)-1].On, "cache + moe + spec[short]")
}

// TestStackInSentences: each step by the number that decided it.
func TestStackInSentences(t *testing.T) {
	s := stacked(t)
	gain, low, high := 1.1948, 1.1496, 1.24
	d, _, _ := s.st.Latest("feature.cache")
	again := *d
	again.Attempt = 2
	again.Rules = slices.Clone(d.Rules)
	e := d.Evidence[0]
	again.Rules[0].Comparisons = []verdict.Comparison{{Verdict: verdict.Pass, Test: &verdict.Test{
		Form: verdict.Ratio, Relation: "gain", Metric: "chat.tg", Stat: "median", Against: "baseline",
		More: true, Threshold: 0.1,
		Estimate: &gain, Low: &low, High: &high, Looks: []stats.Look{{N: 4}}, Launches: e.Candidate.IDs(),
		BaseLaunches: e.Parent.IDs(),
	}}}
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &again})
	p := &Writer{Summary: s.summary()}
	p.WriteStack()
	must.Contain(t, "the text", p.String(),
		"1. 2026-01-02, cache on baseline: decode +119% (20.1 → 44.1 tok/s)\n",
		"2. 2026-01-02, moe on baseline: decode +50% (≥ +10%)",
		"Knobs: cache = on, head = f32, moe = routed.",
	)
}

// TestRowIsOfOneLook: launches behind the look that decided were made for other
// rules, and the number stands beside the bounds of the look that it is of.
func TestRowIsOfOneLook(t *testing.T) {
	s := begun(t)
	base := s.launches("s-1", "baseline", set(), 20, 20, 20, 20, 30, 30)
	own := s.launches("s-1", "cache", set("cache=on"), 40, 40, 40, 40, 40, 40)
	at := 1.0
	s.feature("cache", true, set("cache=on"), "baseline", base, own, 0.7472, 0.9, func(d *ledger.Decision) {
		test := d.Rules[0].Comparisons[0].Test
		test.Estimate, test.Looks = &at, []stats.Look{{N: 3}, {N: 4}}
	})
	g := s.summary().Stack.Features[0].Gains[0]
	if shown(g) != "chat.tg.gain 1 from 0.9" || g.Launches != 4 || g.Against != 4 {
		t.Errorf("%+v", g)
	}
}

// TestBoundsAreOfTheSameRelation: two comparisons of the same launches, one of a gain
// and one of a change, whose numbers have one another's signs.
func TestBoundsAreOfTheSameRelation(t *testing.T) {
	gain, change, low, high := 0.5, -0.5, 0.4, -0.4
	values, base := []float64{5, 5}, []float64{10, 10}
	r := verdict.Rule{Decides: true, Comparisons: []verdict.Comparison{
		{
			Text: "chat.ttft.gain >= 0.1",
			Test: &verdict.Test{Form: verdict.Ratio, Values: values, Base: base, Low: &low},
		},
		{
			Text: "chat.ttft.change <= -0.1",
			Test: &verdict.Test{Form: verdict.Ratio, Values: values, Base: base, High: &high},
		},
	}}
	for path, value := range map[string]*float64{"chat.ttft.gain": &gain, "chat.ttft.change": &change} {
		r.Inputs = append(r.Inputs,
			verdict.Input{Path: path, Value: value, N: 2, BaseN: 2, PerLaunch: values, BasePerLaunch: base})
	}
	var got []string
	for _, g := range gainsOf(&ledger.Decision{Rules: []verdict.Rule{r}}) {
		got = append(got, shown(g))
	}
	slices.Sort(got)
	if want := []string{"chat.ttft.change -0.5 to -0.4", "chat.ttft.gain 0.5 from 0.4"}; !slices.Equal(got, want) {
		t.Error(got)
	}
}

// TestBoundsAreOfTheSameUnit: a limit that is a part of the other arm is tested as a
// ratio, and a level beside it has no other arm: neither bounds a difference.
func TestBoundsAreOfTheSameUnit(t *testing.T) {
	delta, ratio, level, low := -0.4, -0.0066, 59.6, -0.012
	values, base := []float64{59.5, 59.7}, []float64{60, 60}
	for want, test := range map[string]*verdict.Test{
		"chat.tg.delta -0.4 of a ratio": {
			Form: verdict.Ratio, Values: values, Base: base, Low: &low,
			Estimate: &ratio, Looks: []stats.Look{{N: 2}},
		},
		"chat.tg.delta -0.4 of a range": {
			Form: verdict.Range, Values: values, Base: base, Low: &low,
			Relation: "change",
		},
		"chat.tg.delta -0.4 of a level": {
			Form: verdict.LogLevel, Values: values, Low: &low,
			Estimate: &level, Looks: []stats.Look{{N: 2}},
		},
		"chat.tg.delta -0.4 from -0.012 of its own": {Form: verdict.Difference, Values: values, Base: base, Low: &low},
	} {
		r := verdict.Rule{
			Decides: true, Comparisons: []verdict.Comparison{{Text: "chat.tg >= 0.97 * chat.tg.base", Test: test}},
			Inputs: []verdict.Input{{
				Path: "chat.tg.delta", Unit: "tok/s", Value: &delta, N: 2, BaseN: 2,
				PerLaunch: values, BasePerLaunch: base,
			}},
		}
		if test.Form == verdict.Difference {
			r.Comparisons[0].Text = "chat.tg.delta >= -3"
		}
		g := gainsOf(&ledger.Decision{Rules: []verdict.Rule{r}})[0]
		if got, _, _ := strings.Cut(want, " of "); shown(g) != got || g.Unit != "tok/s" || g.Launches != 2 ||
			g.Against != 2 {
			t.Errorf("%s: %+v", want, g)
		}
	}
}

// TestOnSaysWhatWasAccepted: the arm is called accepted, and what that was then is told by its knobs.
func TestOnSaysWhatWasAccepted(t *testing.T) {
	on := func(s *story) string {
		all := s.summary().Stack.Features
		return all[len(all)-1].On
	}
	s := stacked(t)
	s.nodes = append(s.nodes, "feature.late", "feature.last")
	s.begin("r2")
	both := []string{"s-2.accepted.1", "s-2.accepted.2"}
	s.feature("head", true, set("cache=on", "moe=routed", "head=mxfp4"), "accepted", both,
		[]string{"s-2.head.1", "s-2.head.2"}, 0.1, 0.05)
	must.Equal(t, "on", on(s), "cache + moe")
	// Measured before there was a stack.
	empty := s.launches("s-5", "accepted", set(), 20, 21)
	s.feature("late", true, set("head=mxfp4"), "accepted", empty, s.launches("s-5", "late", set("head=mxfp4"), 30, 31),
		0.1, 0.05)
	must.Equal(t, "on", on(s), "baseline")
	// On what nothing of the stack explains.
	gone := s.launches("s-6", "accepted", set("cache=on", "moe=dense"), 20, 21)
	s.feature("last", true, set("head=mxfp4"), "accepted", gone, s.launches("s-6", "last", set("head=f16"), 30, 31),
		0.1, 0.05)
	must.Equal(t, "on", on(s), "accepted")
}

// TestClaimShowsItsTest: a claim is open by its test, so the test's number is shown and not the plain
// interval of all launches, which lies beyond the claim.
func TestClaimShowsItsTest(t *testing.T) {
	estimate, low, high := 0.098, 0.007, 0.148
	h := &ledger.Hypothesis{
		Metric: "chat.tg", Expect: "+9%", Because: "it is wider", Measured: verdict.Say("broken", "{error}",
			verdict.Text("error", "+10.0%, n = 8 against 8 launches")), PostHoc: true,
		Test: &verdict.Rule{Comparisons: []verdict.Comparison{{Test: &verdict.Test{
			Form: verdict.Ratio, Against: "baseline", Estimate: &estimate, Low: &low, High: &high,
			Relation: "gain", More: true, Threshold: 0.09, Looks: []stats.Look{{N: 3}},
		}}}},
	}
	must.Equal(t, "tested", ExpectedBecause(h), "Expected chat.tg +9%: open, POST HOC: claimed after its launches "+
		"were measured, so they prove nothing about it. Measured +9.8% (≥ +9%, between +0.7% and +15%). Because it "+
		"is wider.")
	h.Test, h.PostHoc = nil, false
	must.Equal(t, "not tested", ExpectedBecause(h), "Expected chat.tg +9%: open. Measured: +10.0%, n = 8 against 8 "+
		"launches. Because it is wider.")
}

// TestContests: who is beaten, by the interval and never by the mean alone.
func TestContests(t *testing.T) {
	lower := func(v float64) ledger.Target {
		return ledger.Target{
			Name: "x", Path: "target.x.chat.tg", Address: "chat.tg", Stat: "median", Value: v,
			Unit: "tok/s", Better: "lower",
		}
	}
	other := func(change func(*ledger.Target)) ledger.Target {
		o := target
		change(&o)
		return o
	}
	for name, c := range map[string]struct {
		target ledger.Target
		values []float64
		want   string
	}{
		"beaten":           {target, []float64{60, 61, 60.5, 60.7}, Beaten},
		"not yet":          {target, []float64{50, 51, 50.5, 50.7}, NotYet},
		"within":           {target, []float64{50, 66, 57, 59}, Open},
		"mean above, wide": {target, []float64{58, 90, 57, 75}, Open},
		"one launch":       {target, []float64{99}, Open + ": no interval: 1 launch"},
		"no spread":        {target, []float64{99, 99, 99}, Open + ": no interval: all 3 launches have the same value"},
		"lower is better":  {lower(70), []float64{60, 61, 60.5, 60.7}, Beaten},
		"other unit": {
			other(func(o *ledger.Target) { o.Unit = "ms" }),
			[]float64{99, 98},
			Open + ": launch s-9.baseline.1 has chat.tg in tok/s, the target is in ms",
		},
		"not measured": {
			other(func(o *ledger.Target) { o.Address = "chat.pp" }),
			[]float64{99, 98},
			Open + ": launch s-9.baseline.1 has no chat.pp median",
		},
		"too few for it": {
			other(func(o *ledger.Target) { o.Stat = "p99" }),
			[]float64{99, 98},
			Open + ": launch s-9.baseline.1 has no chat.tg p99",
		},
		"target of zero": {other(func(o *ledger.Target) { o.Value = 0 }), []float64{99, 98}, Open + ": no ratio"},
		"no direction":   {other(func(o *ledger.Target) { o.Better = "" }), []float64{99, 98}, Open + ": no ratio"},
		"nobody says of what": {other(func(o *ledger.Target) {
			o.Address, o.Why = "", verdict.Say("broken", "{error}", verdict.Text("error", "no rule says"))
		}), []float64{99, 98}, Open + ": no rule says"},
		"sent something else": {other(func(o *ledger.Target) {
			o.Sent = &measure.Dimensions{Prompt: 64, Output: 8, Concurrency: 1}
		}), []float64{99, 98, 97}, Open + ": launch s-9.baseline.1 was sent pp32 tg8 in chat"},
	} {
		t.Run(name, func(t *testing.T) {
			s := begun(t, c.target)
			s.measured("s-9", "baseline", set(), c.values...)
			all := s.summary().Targets
			if len(all) != 1 || all[0].Variant != "baseline" {
				t.Fatal(all)
			}
			check(t, all[0], c.want)
		})
	}
	one := Contest{Target: target, Standing: Open}
	one.decide(&Arm{Launches: []*ledger.Launch{tgLaunch(99), tgLaunch(math.Inf(1))}}, nil)
	check(t, one, Open+": chat.tg: a value is not a finite number")
}

func check(t *testing.T, c Contest, want string) {
	t.Helper()
	got := strings.TrimSuffix(c.Standing+": "+c.Note.String(), ": ")
	if !strings.HasPrefix(got, want) || !strings.Contains(want, ":") && c.Standing != want {
		t.Errorf("got %q, want %q: %+v", got, want, c)
	}
	if c.Standing == Beaten && (c.RatioLow == nil || *c.RatioLow <= 1) {
		t.Errorf("beaten without an interval above 1: %+v", c)
	}
}

// TestNumberToBeat: it is shown also where nothing says what to hold against it.
func TestNumberToBeat(t *testing.T) {
	of := func(value float64) string {
		rows := contestTable(
			[]Contest{{
				Target:   ledger.Target{Name: "x", Path: "target.x.command.lat", Value: value, Unit: "ms"},
				Standing: Open,
			}}).Rows
		return rows[0][2]
	}
	if got := of(20); got != "20 ms" {
		t.Errorf("%q", got)
	}
	must.Equal(t, "of an import", of(0), "–")
}

// TestStackStands: both accepted ports together were measured as the arm of a
// third, and neither port's own launches, the newest included, stand for them.
func TestStackStands(t *testing.T) {
	s := stacked(t)
	s.measured("s-8", "cache", set("cache=on"), 99, 98)
	all := s.summary().Targets
	if len(all) != 1 || all[0].Variant != "accepted" || all[0].Session != "s-2" || len(all[0].Launches) != 4 ||
		all[0].Standing != Beaten {
		t.Fatalf("%+v", all)
	}
}

// TestNewestByTheLedger: somebody sets the clock back, and what was measured since is still the newest.
func TestNewestByTheLedger(t *testing.T) {
	s := begun(t, target)
	s.measured("s-1", "baseline", set(), 99, 98)
	s.at = s.at.Add(-time.Hour)
	s.measured("s-2", "baseline", set(), 20, 20.4)
	if all := s.summary().Targets; len(all) != 1 || all[0].Session != "s-2" || all[0].Standing != NotYet {
		t.Fatalf("%+v", all)
	}
}

// TestStackOfPartsAlone: what was never measured together has no number.
func TestStackOfPartsAlone(t *testing.T) {
	s := begun(t, target)
	base := s.measured("s-1", "baseline", set(), 20, 20.4)
	s.feature("cache", true, set("cache=on"), "baseline", base, s.measured("s-1", "cache", set("cache=on"), 99, 98), 1,
		1)
	s.feature("moe", true, set("moe=routed"), "baseline", base, s.measured("s-1", "moe", set("moe=routed"), 99, 98), 1,
		1)
	all := s.summary().Targets
	if len(all) != 1 || all[0].Standing != Open || all[0].Note.Kind != code.NoLaunch.Kind ||
		*all[0].Note.Values["features"].Number != 2 {
		t.Fatalf("%+v", all)
	}
}

// TestNewestThatMeasuredIt: a feature's own protocol sends another workload, and each
// target is held against the newest session that measured its metric.
func TestNewestThatMeasuredIt(t *testing.T) {
	other := target
	other.Path, other.Address, other.Sent, other.Value = "target.llamacpp.deep.tg", "deep.tg", nil, 10
	s := begun(t, target, other)
	s.measured("s-1", "baseline", set(), 20, 20.4, 20.1)
	for i, v := range []float64{12, 12.1} {
		s.launch("s-2", "baseline", i+1, set(), measure.CellRun{Cell: "deep"}, map[string]measure.Summary{
			"deep.tg": {Unit: "tok/s", N: 10, Stats: map[string]float64{"median": v}},
		})
	}
	s.stand("s-2", "baseline", []string{"s-2.baseline.1", "s-2.baseline.2"})
	all := s.summary().Targets
	if len(all) != 2 || all[0].Session != "s-1" || all[0].Standing != NotYet || all[1].Session != "s-2" ||
		all[1].Standing != Beaten {
		t.Fatalf("%+v", all)
	}
	for i, want := range []string{
		"\n3 launches of baseline in session s-1",
		"\n2 launches of baseline in session s-2",
	} {
		if got := contestTable(all).Rows[i][3]; !strings.HasSuffix(got, want) {
			t.Error(got)
		}
	}
}

// TestNewestThatSentIt: where the newest session sent the workload and has no number
// of it, an older one's does not stand in its place.
func TestNewestThatSentIt(t *testing.T) {
	s := begun(t, target)
	s.measured("s-1", "baseline", set(), 99, 98)
	s.stand("s-2", "baseline", []string{s.launch("s-2", "baseline", 1, set(), sentChat, nil)})
	all := s.summary().Targets
	if len(all) != 1 || all[0].Session != "s-2" || all[0].Standing != Open ||
		all[0].Note.Kind != "target.launch_lacks" || all[0].Note.Subject != "s-2.baseline.1" ||
		all[0].Note.Values["address"].Text != "chat.tg" {
		t.Fatalf("%+v", all)
	}
}

// TestDecidedOnTheTarget: where a rule decided on the level, its estimate and bounds stand against the target, whatever
// number it asked for, and however its launches went on; what was decided of another variant, or of a change, does not.
func TestDecidedOnTheTarget(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	for name, c := range map[string]struct {
		arm      string
		knobs    map[string]string
		test     verdict.Test
		want     string
		decided  bool
		launches int
	}{
		"decided": {
			"baseline", set(),
			verdict.Test{Form: verdict.LogLevel, Metric: "chat.tg", Stat: "median"},
			"70 tok/s [65, 75]", true, 4,
		},
		"of a variant": {"moe", set("moe=routed"), verdict.Test{
			Form: verdict.LogLevel, Metric: "chat.tg",
			Stat: "median",
		}, "60.5 tok/s (95% CI 59.8 to 61.3)", false, 4},
		"of a change": {"baseline", set(), verdict.Test{
			Form: verdict.Difference, Metric: "chat.tg", Stat: "median",
			Against: "baseline",
		}, "60.5 tok/s (95% CI 59.8 to 61.3)", false, 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := begun(t, target)
			c.test.Launches = s.measured("s-1", c.arm, c.knobs, 70, 70, 70, 70, 10, 10)
			c.test.Estimate, c.test.Low, c.test.High, c.test.Looks = at(70), at(65), at(75), []stats.Look{{N: 4}}
			s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
				Node: "phase.p", Kind: ledger.KindGate, Phase: "p", Attempt: 1, Verdict: verdict.Pass,
				Rules: []verdict.Rule{{
					Name: "fast", Role: "rule", Decides: true, Verdict: verdict.Pass,
					Comparisons: []verdict.Comparison{{Text: "chat.tg > 60", Test: &c.test}},
				}},
			}})
			s.measured("s-2", "baseline", set(), 60, 61, 60.5, 60.7)
			all := s.summary().Targets
			if got, _, _ := strings.Cut(contestTable(all).Rows[0][3], "\n"); got != c.want ||
				all[0].Decided != c.decided || len(all[0].Launches) != c.launches || all[0].Standing != Beaten {
				t.Errorf("%s, %+v", got, all[0])
			}
		})
	}
}

// story writes a state directory as applies would.
type story struct {
	t    *testing.T
	st   *store.Store
	at   time.Time
	seen map[string]int
	// nodes are those of the plan.
	nodes []string
}

func newStory(t *testing.T) *story {
	st := must.Get(store.Open(t.TempDir()))(t)
	t.Cleanup(func() { st.Close() })
	return &story{t: t, st: st, at: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), seen: map[string]int{}}
}

func (s *story) add(r *ledger.Record) {
	s.t.Helper()
	s.at = s.at.Add(time.Minute)
	r.Time = s.at
	if err := s.st.Append(r); err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) begin(run string, targets ...ledger.Target) {
	s.add(&ledger.Record{
		Type: "run", Run: run,
		RunStart: &ledger.RunStart{Plan: "tiny", PlanFile: "plan.hcl", Tool: "test", Targets: targets, Nodes: s.nodes},
	})
}

// begun is a story whose run qualified the baseline.
func begun(t *testing.T, targets ...ledger.Target) *story {
	s := newStory(t)
	s.begin("r1", targets...)
	s.add(baselineOf(set()))
	return s
}

func (s *story) end(run string) {
	s.add(&ledger.Record{
		Type: "end", Run: run,
		End: &ledger.End{Verdict: verdict.Pass, Reason: verdict.New(code.Finished)},
	})
}

// launches are one arm of a session, one for each value of tg.
func (s *story) launches(session, variant string, knobs map[string]string, tg ...float64) (ids []string) {
	for _, v := range tg {
		ids = append(ids, s.launch(session, variant, len(ids)+1, knobs, sentChat, tgLaunch(v).Metrics))
	}
	return ids
}

var sentChat = measure.CellRun{Cell: "chat", Dimensions: measure.Dimensions{Prompt: 32, Output: 8, Concurrency: 1}}

func (s *story) launch(session, variant string, n int, knobs map[string]string, cell measure.CellRun,
	metrics map[string]measure.Summary,
) string {
	id := fmt.Sprintf("%s.%s.%d", session, variant, n)
	s.add(&ledger.Record{Type: "launch", Run: "r1", Launch: &ledger.Launch{
		ID: id, Session: session, Purpose: "benchmark", Node: "feature.x.benchmark", Variant: variant,
		VariantKey: fmt.Sprint(knobs),
		Block:      "embedded.tiny", Knobs: knobs, Ordinal: n, Order: n, Started: s.at, OK: true,
		Cells: []measure.CellRun{cell}, Metrics: metrics,
	}})
	return id
}

// measured are launches on which something was decided.
func (s *story) measured(session, variant string, knobs map[string]string, tg ...float64) (ids []string) {
	ids = s.launches(session, variant, knobs, tg...)
	s.stand(session, variant, ids)
	return ids
}

// stand decides something on launches.
func (s *story) stand(session, variant string, ids []string) {
	node := "feature." + variant + ".first"
	s.seen[node]++
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
		Node: node, Kind: ledger.KindCriteria, Attempt: s.seen[node], Verdict: verdict.Fail, Session: session,
		Evidence: []gates.Feature{{Name: variant, Candidate: gates.ArmOf(variant, ids...)}},
	}})
}

// feature decides one, by its gain in tg.
func (s *story) feature(name string, accepted bool, knobs map[string]string, parent string, base, own []string,
	gain, low float64, more ...func(*ledger.Decision),
) {
	v := verdict.Pass
	if !accepted {
		v = verdict.Inconclusive
	}
	s.seen[name]++
	values := func(ids []string) (out []float64) {
		for _, id := range ids {
			l, _ := s.st.LaunchByID(id)
			out = append(out, l.Metrics["chat.tg"].Stats["median"])
		}
		return out
	}
	test := &verdict.Test{
		Form: verdict.Ratio, Metric: "chat.tg", Values: values(own), Base: values(base), Low: &low,
		Stop: stats.Passed,
	}
	d := &ledger.Decision{
		Node: "feature." + name, Kind: "feature", Phase: "p", Feature: name, Attempt: s.seen[name], Verdict: v,
		Accepted: accepted, Variant: knobs,
		Evidence: []gates.Feature{{
			Name: name, Candidate: gates.ArmOf(name, own...),
			Parent: gates.ArmOf(parent, base...),
		}},
		Rules: []verdict.Rule{{
			Name: "decode", Decides: true, Verdict: v, Expr: "chat.tg.gain >= 0.1",
			Inputs: []verdict.Input{{
				Path: "chat.tg.gain", Value: &gain, N: len(own), BaseN: len(base),
				PerLaunch: test.Values, BasePerLaunch: test.Base,
			}},
			Comparisons: []verdict.Comparison{{Text: "chat.tg.gain >= 0.1", Test: test}},
			Reasons: []verdict.Reason{verdict.New(code.AsWanted, verdict.Num("is", gain, "ratio"),
				verdict.Text("op", ">="), verdict.Num("wanted", 0.1, "ratio")).On("chat.tg.gain").Is(v).
				From(verdict.Say("test.shown_against",
					"{subject?{subject} }{at_least?lower bound {at_least~limit}}{at_least!{at_most?upper bound "+
						"{at_most~limit}}{at_most!no finite bound}}, {launches|launch|launches}{against? per arm}",
					verdict.Num("at_least", low, "ratio"), verdict.Num("limit", 0.1, "ratio"),
					verdict.Int("launches", len(own)), verdict.Text("against", parent)))},
		}},
	}
	for _, change := range more {
		change(d)
	}
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: d})
}

func set(pairs ...string) map[string]string {
	m := map[string]string{"cache": "off", "moe": "all", "head": "f32"}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		m[k] = v
	}
	return m
}

var target = ledger.Target{
	Name: "llamacpp", Tool: "llama-bench f5acfb2ff", Path: "target.llamacpp.chat.tg",
	Address: "chat.tg", Stat: "median",
	Sent: &measure.Dimensions{Prompt: 32, Output: 8, Concurrency: 1}, Value: 57.85, Unit: "tok/s", Better: "higher",
}

// stacked: two ports on the baseline are accepted, the second knob first by the
// plan's order; a third, on both, is not, and so measured both together.
func stacked(t *testing.T) *story {
	s := newStory(t)
	s.nodes = []string{"baseline", "feature.cache", "feature.moe", "phase.p", "feature.head"}
	s.begin("r1", target)
	s.add(baselineOf(set()))
	base := s.launches("s-1", "baseline", set(), 20, 20.4, 19.8, 20.1)
	cache := s.launches("s-1", "cache", set("cache=on"), 44, 44.5, 43.6, 44.2)
	moe := s.launches("s-1", "moe", set("moe=routed"), 30, 30.3, 29.6, 30.2)
	s.feature("moe", true, set("moe=routed"), "baseline", base, moe, 0.4963, 0.4621)
	s.feature("cache", true, set("cache=on"), "baseline", base, cache, 1.1948, 1.1496)
	both := s.launches("s-2", "accepted", set("cache=on", "moe=routed"), 61, 61.6, 60.7, 61.1)
	head := s.launches("s-2", "head", set("cache=on", "moe=routed", "head=mxfp4"), 61.5, 60.6, 61.2, 61.3)
	s.feature("head", false, set("cache=on", "moe=routed", "head=mxfp4"), "accepted", both, head, 0.0008, -0.02,
		func(d *ledger.Decision) {
			d.Hypothesis = &ledger.Hypothesis{
				Metric: "chat.tg", Expect: "+5%", Because: "fewer bytes",
				Measured: verdict.Say("value.seen",
					"{value}, {base_n?{n} against {base_n|launch|launches}}{base_n!{n|launch|launches}}{interval?, "+
						"95% "+
						"CI {interval}}",
					verdict.Num("value", 0.001, "ratio"), verdict.Int("n", 4), verdict.Int("base_n", 4),
					verdict.Span("interval", -0.012, 0.014, "ratio")).On("chat.tg.change"),
				Outcome: "refuted", PostHoc: true,
			}
		})
	s.end("r1")
	return s
}

func baselineOf(knobs map[string]string) *ledger.Record {
	return &ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
		Node: "baseline", Kind: "qualify",
		Attempt: 1, Verdict: verdict.Pass, Variant: knobs,
	}}
}

func tgLaunch(v float64) *ledger.Launch {
	return &ledger.Launch{
		ID: "l",
		Metrics: map[string]measure.Summary{"chat.tg": {
			Unit: "tok/s", Better: measure.Higher, N: 10,
			Stats: map[string]float64{"median": v},
		}},
	}
}

func (s *story) summary() *Summary { return SummaryOf(s.st, nil, time.Now()) }
