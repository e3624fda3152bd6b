package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
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
	s := AcceptedStack(st)
	if s.Sum() != "baseline + cache + moe" || verdict.Pairs(s.Knobs, " = ", ", ") != "cache = on, head = f32, moe = routed" {
		t.Fatal(s.Sum(), s.Knobs)
	}
	if f := s.Features[1]; verdict.Pairs(f.Set, " = ", ", ") != "moe = routed" || f.On != "baseline" || len(f.Gains) != 1 || shown(f.Gains[0]) != "chat.tg.gain 0.4963 from 0.4621" {
		t.Errorf("%+v, %v", f, f.Gains)
	}
}

// TestSetIsWhatDiffersFromTheParent: a part that puts a knob back to the
// baseline's value sets it all the same.
func TestSetIsWhatDiffersFromTheParent(t *testing.T) {
	s := stacked(t)
	s.nodes = append(s.nodes, "feature.back")
	s.begin("r2")
	both, _ := s.st.LaunchByID("s-2.accepted.1")
	back := s.launches("s-3", "back", set("cache=on"), 44, 45)
	s.feature("back", true, set("cache=on"), "accepted", []string{both.ID, "s-2.accepted.2"}, back, 0.1, 0.05)
	got := AcceptedStack(s.st)
	if got.Sum() != "baseline + cache + moe + back" || verdict.Pairs(got.Knobs, " = ", ", ") != "cache = on, head = f32, moe = all" || verdict.Pairs(got.Features[2].Set, " = ", ", ") != "moe = all" {
		t.Error(got.Sum(), got.Knobs, got.Features[2].Set)
	}
}

func TestRetractedIsNotInTheStack(t *testing.T) {
	s := stacked(t)
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
		Node: "feature.cache", Kind: "feature", Phase: "p", Feature: "cache", Attempt: 2, Verdict: verdict.Invalid, Supersedes: true,
		Retraction: &ledger.Retraction{Node: "feature.cache", Attempt: 1, Verdict: verdict.Pass, Accepted: true, Reason: "wrong kernel", By: "a person"},
	}})
	if got := AcceptedStack(s.st); got.Sum() != "baseline + moe" {
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
	got := AcceptedStack(s.st)
	if last := got.Features[len(got.Features)-1]; last.Chosen != "spec[short]" || got.Knobs["head"] != "mxfp4" {
		t.Errorf("%+v", last)
	}
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
	again.Rules[0].Comparisons = []ledger.Comparison{{Verdict: verdict.Pass, Test: &verdict.Test{
		Form: verdict.Ratio, Relation: "gain", Metric: "chat.tg", Stat: "median", Against: "baseline", More: true, Threshold: 0.1,
		Estimate: &gain, Low: &low, High: &high, Looks: []verdict.Look{{N: 4}}, Launches: e.Candidate.Launches, BaseLaunches: e.Parent.Launches,
	}}}
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &again})
	p := NewWriter(s.st, nil)
	p.Stack()
	for _, want := range []string{
		"1. 2026-01-02, cache on baseline: decode +119% (20.1 → 44.1 tok/s)\n", "2. 2026-01-02, moe on baseline: decode +49.6% (≥ +10%)",
		"Knobs: cache = on, head = f32, moe = routed.",
	} {
		if !strings.Contains(p.String(), want) {
			t.Errorf("no %q in\n%s", want, p.String())
		}
	}
}

// TestRowIsOfOneLook: launches behind the look that decided were made for other
// rules, and the number stands beside the bounds of the look that it is of.
func TestRowIsOfOneLook(t *testing.T) {
	s := newStory(t)
	s.begin("r1")
	s.add(baselineOf(set()))
	base := s.launches("s-1", "baseline", set(), 20, 20, 20, 20, 30, 30)
	own := s.launches("s-1", "cache", set("cache=on"), 40, 40, 40, 40, 40, 40)
	at := 1.0
	s.feature("cache", true, set("cache=on"), "baseline", base, own, 0.7472, 0.9, func(d *ledger.Decision) {
		test := d.Rules[0].Comparisons[0].Test
		test.Estimate, test.Looks = &at, []verdict.Look{{N: 3}, {N: 4}}
	})
	g := AcceptedStack(s.st).Features[0].Gains[0]
	if shown(g) != "chat.tg.gain 1 from 0.9" || g.Launches != 4 || g.Against != 4 {
		t.Errorf("%+v", g)
	}
}

// TestBoundsAreOfTheSameRelation: two comparisons of the same launches, one of a gain
// and one of a change, whose numbers have one another's signs.
func TestBoundsAreOfTheSameRelation(t *testing.T) {
	gain, change, low, high := 0.5, -0.5, 0.4, -0.4
	values, base := []float64{5, 5}, []float64{10, 10}
	r := ledger.Rule{Decides: true, Comparisons: []ledger.Comparison{
		{Text: "chat.ttft.gain >= 0.1", Test: &verdict.Test{Form: verdict.Ratio, Values: values, Base: base, Low: &low}},
		{Text: "chat.ttft.change <= -0.1", Test: &verdict.Test{Form: verdict.Ratio, Values: values, Base: base, High: &high}},
	}}
	for path, value := range map[string]*float64{"chat.ttft.gain": &gain, "chat.ttft.change": &change} {
		r.Inputs = append(r.Inputs, ledger.Input{Path: path, Value: value, N: 2, BaseN: 2, PerLaunch: values, BasePerLaunch: base})
	}
	var got []string
	for _, g := range gainsOf(&ledger.Decision{Rules: []ledger.Rule{r}}) {
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
		"chat.tg.delta -0.4 of a ratio":             {Form: verdict.Ratio, Values: values, Base: base, Low: &low, Estimate: &ratio, Looks: []verdict.Look{{N: 2}}},
		"chat.tg.delta -0.4 of a range":             {Form: verdict.Range, Values: values, Base: base, Low: &low, Relation: "change"},
		"chat.tg.delta -0.4 of a level":             {Form: verdict.LogLevel, Values: values, Low: &low, Estimate: &level, Looks: []verdict.Look{{N: 2}}},
		"chat.tg.delta -0.4 from -0.012 of its own": {Form: verdict.Difference, Values: values, Base: base, Low: &low},
	} {
		r := ledger.Rule{
			Decides: true, Comparisons: []ledger.Comparison{{Text: "chat.tg >= 0.97 * chat.tg.base", Test: test}},
			Inputs: []ledger.Input{{Path: "chat.tg.delta", Unit: "tok/s", Value: &delta, N: 2, BaseN: 2, PerLaunch: values, BasePerLaunch: base}},
		}
		if test.Form == verdict.Difference {
			r.Comparisons[0].Text = "chat.tg.delta >= -3"
		}
		g := gainsOf(&ledger.Decision{Rules: []ledger.Rule{r}})[0]
		if got, _, _ := strings.Cut(want, " of "); shown(g) != got || g.Unit != "tok/s" || g.Launches != 2 || g.Against != 2 {
			t.Errorf("%s: %+v", want, g)
		}
	}
}

// TestOnSaysWhatWasAccepted: the arm is called accepted, and what that was then is
// told by its knobs.
func TestOnSaysWhatWasAccepted(t *testing.T) {
	on := func(s *story) string {
		all := AcceptedStack(s.st).Features
		return all[len(all)-1].On
	}
	s := stacked(t)
	s.nodes = append(s.nodes, "feature.late", "feature.last")
	s.begin("r2")
	both := []string{"s-2.accepted.1", "s-2.accepted.2"}
	s.feature("head", true, set("cache=on", "moe=routed", "head=mxfp4"), "accepted", both, []string{"s-2.head.1", "s-2.head.2"}, 0.1, 0.05)
	if got := on(s); got != "cache + moe" {
		t.Errorf("on %q", got)
	}
	// Measured before there was a stack.
	empty := s.launches("s-5", "accepted", set(), 20, 21)
	s.feature("late", true, set("head=mxfp4"), "accepted", empty, s.launches("s-5", "late", set("head=mxfp4"), 30, 31), 0.1, 0.05)
	if got := on(s); got != "baseline" {
		t.Errorf("on %q", got)
	}
	// On what nothing of the stack explains.
	gone := s.launches("s-6", "accepted", set("cache=on", "moe=dense"), 20, 21)
	s.feature("last", true, set("head=mxfp4"), "accepted", gone, s.launches("s-6", "last", set("head=f16"), 30, 31), 0.1, 0.05)
	if got := on(s); got != "accepted" {
		t.Errorf("on %q", got)
	}
}

// TestOnSaysTheAlternative that was chosen then.
func TestOnSaysTheAlternative(t *testing.T) {
	s := newStory(t)
	s.begin("r1")
	s.add(baselineOf(set()))
	base := s.launches("s-1", "baseline", set(), 20, 20)
	wide := s.launches("s-1", "batch[wide]", set("head=wide"), 40, 40)
	s.feature("batch", true, set("head=wide"), "baseline", base, wide, 1, 0.9, func(d *ledger.Decision) {
		d.Alternatives = []ledger.Alternative{{Name: "batch[wide]", Set: map[string]string{"head": "wide"}, Verdict: verdict.Pass, Chosen: true}}
	})
	parent := s.launches("s-2", "accepted", set("head=wide"), 40, 41)
	s.feature("drafts", true, set("head=wide", "cache=on"), "accepted", parent, s.launches("s-2", "drafts", set("head=wide", "cache=on"), 60, 61), 0.5, 0.4)
	if got := AcceptedStack(s.st).Features; len(got) != 2 || got[1].On != "batch[wide]" {
		t.Errorf("%+v", got)
	}
}

// TestClaimShowsItsTest: a claim is open by the bounds of its test, so these are
// shown and not the plain interval of all launches, which lies beyond the claim.
func TestClaimShowsItsTest(t *testing.T) {
	estimate, low, high := 0.098, 0.007, 0.148
	h := &ledger.Hypothesis{
		Metric: "chat.tg", Expect: "+9%", Measured: verdict.Say("broken", "{error}",
			verdict.Text("error", "+10.0%, n = 8 against 8 launches")), Outcome: "open",
		Test: &ledger.Rule{Comparisons: []ledger.Comparison{{Test: &verdict.Test{
			Form: verdict.Ratio, Against: "baseline", Estimate: &estimate, Low: &low, High: &high, Looks: []verdict.Look{{N: 3}},
		}}}},
	}
	c, _ := ClaimOf(&ledger.Decision{Hypothesis: h})
	if want := "+9.8% (bounds +0.7% to +14.8%, 3 launches per arm)"; c.seen() != want {
		t.Errorf("%q, want %q", c.seen(), want)
	}
	h.Test = nil
	if c, _ = ClaimOf(&ledger.Decision{Hypothesis: h}); c.seen() != h.Measured.String() {
		t.Errorf("without a test: %q", c.seen())
	}
}
