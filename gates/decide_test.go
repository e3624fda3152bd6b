package gates

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
)

// TestWorkedCases decides the worked cases of the statistics end to end, as a gain and
// as the saving that it is in time.
func TestWorkedCases(t *testing.T) {
	var file struct {
		Golden []struct {
			Name                string
			Baseline, Candidate []float64
			Threshold           float64
			EstPct              float64 `json:"est_pct"`
			LowerPct            float64 `json:"lower_pct"`
			UpperPct            float64 `json:"upper_pct"`
			Verdict             string
		}
	}
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("stats/testdata/sequential.json"))(t), &file))
	if len(file.Golden) != 6 {
		t.Fatal(len(file.Golden))
	}
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-6*math.Max(1e-3, math.Abs(want)) }
	for _, c := range file.Golden {
		gain, saving := func(pct float64) float64 { return pct / 100 },
			func(pct float64) float64 { return 1 - 1/(1+pct/100) }
		for rule, own := range map[string]func(pct float64) float64{
			fmt.Sprintf("chat.tg.gain >= %v", c.Threshold):           gain,
			fmt.Sprintf("chat.ttft.gain >= %v", 1-1/(1+c.Threshold)): saving,
		} {
			ev := knowing(noiseless("chat.tg", "chat.ttft"), with(func(f *Feature) {
				f.Candidate, f.Parent = medians("f", c.Candidate...), medians("baseline", c.Baseline...)
			}))
			s := usual
			s.Min = len(c.Baseline) // whose only look before the last is there
			got := Decide(compileAll(t, rule), ev, s)[0]
			test := got.Comparisons[0].Test
			if string(got.Verdict) != strings.ToLower(c.Verdict) || test.Looks[len(test.Looks)-1].N != len(c.Baseline) {
				t.Errorf("%s: %s: %s %+v", c.Name, rule, got.Verdict, got.Reasons)
			}
			low, high := own(c.LowerPct), own(c.UpperPct)
			if !near(*test.Estimate, own(c.EstPct)) || !near(*test.Low, low) || !near(*test.High, high) {
				t.Errorf("%s: %s: %v in %v to %v, want %v to %v", c.Name, rule, *test.Estimate, *test.Low,
					*test.High, low, high)
			}
		}
	}
}

// TestScales: a claim and its mirror image are decided alike, and a claim and its denial
// in opposite ways, whatever form they have.
func TestScales(t *testing.T) {
	up, down := []float64{44, 44.1, 44.05, 43.9}, []float64{40, 40.1, 39.95, 40}
	for _, c := range []struct {
		rule, form string
		want       verdict.Verdict
	}{
		{"chat.tg.gain >= 0.02", "ratio", "pass"},
		{"chat.tg.change > 0.2", "ratio", "fail"},
		{"chat.ttft.gain > 0.02", "ratio", "pass"},
		{"chat.ttft.change <= -0.02", "ratio", "pass"},
		{"chat.tg.delta >= 0.5", "difference", "pass"},
		{"chat.ttft.delta < 0", "difference", "pass"},
		{"chat.tg >= 40", "log level", "pass"},
		{"chat.tg.base < 43", "log level", "pass"},
		{"chat.ttft <= 25", "log level", "pass"},
		{"chat.tg > 0", "level", "pass"},
		{"chat.tg.cv < 0.2", "level", "pass"},
		{"chat.tg.root.gain > 1", "ratio", "pass"},
		{"chat.tg >= 0.97 * chat.tg.base", "ratio", "pass"},
		{"engine.memory_gb.change <= 0.05", "range", "pass"},
		{"engine.memory_gb.delta < 0.5", "range", "pass"},
		{"engine.memory_gb < 1.5", "range", "fail"},
		{"engine.crashes == 0", "exact", "pass"},
		{"levels.kernels == 'fail'", "exact", "fail"},
	} {
		ev := with(func(f *Feature) { f.Candidate, f.Parent = medians("f", up...), medians("baseline", down...) })
		got := decided(compiled(t, c.rule), ev)
		if got.Verdict != c.want || string(got.Comparisons[0].Test.Form) != c.form {
			t.Errorf("%s: %s by %s: %v", c.rule, got.Verdict, got.Comparisons[0].Test.Form, got.Reasons)
		}
		denied := map[verdict.Verdict]verdict.Verdict{"pass": "fail", "fail": "pass"}[c.want]
		if got := decided(compiled(t, "not ("+c.rule+")"), ev); got.Verdict != denied {
			t.Errorf("not (%s): %s: %v", c.rule, got.Verdict, got.Reasons)
		}
	}
}

// TestMirrors: equivalent rules are decided alike, for any launches, and opposite rules
// in opposite ways, except for which of them bears the stricter level.
func TestMirrors(t *testing.T) {
	same := [][]string{
		{
			"chat.tg.gain >= 0.03", "0.03 <= chat.tg.gain", "chat.tg.change >= 0.03", "not (chat.tg.gain < 0.03)",
			"chat.tg >= 1.03 * chat.tg.base", "2 * chat.tg >= 2.06 * chat.tg.base",
		},
		{"chat.ttft.gain >= 0.03", "chat.ttft.change <= -0.03", "chat.ttft <= 0.97 * chat.ttft.base"},
		{"chat.tg.delta > 1", "2 * chat.tg.delta > 2", "1 < chat.tg.delta"},
		{"chat.tg > 32", "not (chat.tg <= 32)", "2 * chat.tg > 64"},
	}
	rules, denied := map[string]*plans.Rule{}, map[string]*plans.Rule{}
	for _, way := range slices.Concat(same...) {
		rules[way], denied[way] = compiled(t, way), compiled(t, "not ("+way+")")
	}
	r := rand.New(rand.NewPCG(6, 5))
	for range 60 {
		n := 3 + r.IntN(6)
		own, base := make([]float64, n), make([]float64, n)
		for i := range own {
			own[i], base[i] = 32+0.3*r.NormFloat64(), 31+0.3*r.NormFloat64()
		}
		ev := with(func(f *Feature) { f.Candidate, f.Parent = medians("f", own...), medians("baseline", base...) })
		for _, ways := range same {
			first := decided(rules[ways[0]], ev)
			for _, way := range ways[1:] {
				got := decided(rules[way], ev)
				if got.Verdict != first.Verdict || len(got.Open) != len(first.Open) ||
					got.Comparisons[0].Test.Stop != first.Comparisons[0].Test.Stop {
					t.Fatalf("%s and %s differ: %q %q", ways[0], way, verdict.Lines(first.Reasons),
						verdict.Lines(got.Reasons))
				}
			}
			// With levels exchanged, a denial is the mirror image of what it denies.
			yes := first.Comparisons[0].Test
			no := decided(denied[ways[0]], ev).Comparisons[0].Test
			for i := range min(len(yes.Looks), len(no.Looks)) {
				a, b := yes.Looks[i], no.Looks[i]
				if math.Abs(a.PPass-b.PFail) > 1e-12 || a.SE != b.SE || math.Abs(a.Estimate+b.Estimate) > 1e-12 {
					t.Fatalf("%+v %+v", a, b)
				}
			}
		}
	}
}

// TestSettingsAreRefused: levels that nobody calibrated decide nothing.
func TestSettingsAreRefused(t *testing.T) {
	for _, s := range []Settings{
		{},
		{FalsePass: 0.3, FalseFail: 0.05, Min: 3, Max: 8},
		{FalsePass: 0.01, FalseFail: 0.05, Min: 3, Max: 99},
		{FalsePass: 0.01, FalseFail: 0.05, Max: -1},
	} {
		if got := Decide(compileAll(t, "chat.tg.gain >= 0.1"), full(), s)[0]; got.Verdict != verdict.Invalid ||
			len(got.Reasons) != 1 {
			t.Errorf("%+v: %+v", s, got)
		}
	}
}

// TestNoiseIsAFloor: it widens and never narrows, and needs at least 8 degrees of freedom.
func TestNoiseIsAFloor(t *testing.T) {
	rule := compiled(t, "chat.tg.gain >= 0.10")
	for _, c := range []struct {
		noise noise
		floor float64
		first int
	}{
		{nil, 0, 4},
		{noise{}, 0, 4},
		{noise{"chat.tg": {SD: 0.02, DF: 8}}, 0.02, 2},
		{noise{"chat.tg": {SD: 0.02, DF: 7.9}}, 0, 4},
		{noise{"chat.tg": {SD: math.NaN(), DF: 9}}, 0, 4},
		{noise{"chat.tg": {SD: 0.02, DF: math.NaN()}}, 0, 4},
		{noise{"chat.ttft": {SD: 0.02, DF: 9}}, 0, 4},
	} {
		got := decided(rule, knowing(c.noise, full()))
		test := got.Comparisons[0].Test
		if test.Floor != c.floor || test.First != c.first || test.Plan[0] != c.first {
			t.Errorf("%+v: %+v", c, test)
		}
		look := test.Looks[len(test.Looks)-1]
		if least := c.floor * math.Sqrt(2/float64(look.N)); look.SE < least-1e-12 {
			t.Errorf("%+v: se %v is less than %v", c, look.SE, least)
		}
	}
	// No noise is kept for differences and for other statistics.
	ev := knowing(noise{"chat.tg": {SD: 0.02, DF: 9}}, full())
	for _, text := range []string{"chat.tg.delta > 1", "chat.tg.max > 1", "chat.tg.cv < 1"} {
		if test := decided(compiled(t, text), ev).Comparisons[0].Test; test.Floor != 0 || test.First != 4 {
			t.Errorf("%s: %+v", text, test)
		}
	}
	if test := Decide([]*plans.Rule{rule}, with(func(f *Feature) { f.Max = 6 }),
		usual)[0].Comparisons[0].Test; fmt.Sprint(test.Plan) != "[4 6]" {
		t.Errorf("a feature's own most: %v", test.Plan)
	}
}

// gate is twenty rules: ratios, levels, differences, memory and counts, joined in several ways.
func gate(b *testing.B) []*plans.Rule {
	var rules []*plans.Rule
	for i, text := range []string{
		"chat.tg.gain >= 0.%02d and levels.kernels == 'pass'", "chat.ttft.change <= 0.%02d", "10 * chat.tg >= 3%d",
		"chat.pp.gain >= 0.0%d or chat.tg.gain >= 0.02", "engine.memory_gb.delta <= %d.5",
	} {
		for n := range 4 {
			rules = append(rules, compiled(b, fmt.Sprintf(text, 1+(n+i)%4)))
		}
	}
	return rules
}

// evidence16 is 8 launches of each arm, close enough to each other that most rules are tested to the last look.
func evidence16() Evidence {
	ev := session(rand.New(rand.NewPCG(6, 4)), 8, 0.02, 0.02)
	ev["f"].Levels = full()["f"].Levels
	return ev
}

// BenchmarkDecide decides a gate of 20 rules over 16 launches from the launches' summaries, as the ledger keeps them.
func BenchmarkDecide(b *testing.B) {
	rules, ev := gate(b), evidence16()
	b.ReportAllocs()
	for b.Loop() {
		Decide(rules, ev, usual)
	}
}

// TestClaimed: the outcomes of a hypothesis.
func TestClaimed(t *testing.T) {
	for _, c := range []struct {
		rule, want, says string
		change           func(f *Feature)
	}{
		{"chat.tg.change >= 0.10", Confirmed, "lower bound +13%", func(*Feature) {}},
		{"chat.tg.change >= 0.50", Refuted, "upper bound +28%", func(*Feature) {}},
		{"chat.tg.change >= 0.209", Unsettled, "bounds", func(*Feature) {}},
		{"chat.tg >= 32", Confirmed, "lower bound", func(*Feature) {}},
		{"chat.tg.change >= 0.10", Unsettled, "no launch of f", func(f *Feature) { f.Candidate.Launches = nil }},
		{"chat.tg.change >= 0.10", Unsettled, "it died", func(f *Feature) {
			f.Broken, f.Cause = verdict.Error, died("it died")
		}},
		{"chat.tg.change >= 0.10", Unsettled, "1 launch per arm", func(f *Feature) {
			f.Candidate.Launches = f.Candidate.Launches[:1]
		}},
	} {
		outcome, rule := DecideHypothesis(compiled(t, c.rule), nil, with(c.change), usual)
		if outcome != c.want || !strings.Contains(verdict.Semicolons(rule.Reasons), c.says) ||
			rule.Role != "hypothesis" || rule.Decides {
			t.Errorf("%s: %s, %q, %+v", c.rule, outcome, verdict.Semicolons(rule.Reasons), rule)
		}
		if len(rule.Comparisons) > 0 && rule.Comparisons[0].Test.Pass != 0.002 {
			t.Errorf("%+v", rule.Comparisons[0].Test)
		}
	}
	for _, rule := range []*plans.Rule{nil, {}} {
		if outcome, decided := DecideHypothesis(rule, nil, full(), usual); outcome != Unsettled ||
			decided.Verdict.Unlocks() {
			t.Errorf("%s %+v", outcome, decided)
		}
	}
	// The best of five has five chances to be confirmed by luck.
	s := usual
	s.Alternatives = 5
	if _, rule := DecideHypothesis(compiled(t, "chat.tg.change >= 0.10"), nil, full(),
		s); rule.Comparisons[0].Test.Pass != 0.002/5 {
		t.Errorf("%+v", rule.Comparisons[0].Test)
	}
	// A criterion on the same metric is one of two that must hold: both have its bounds. One on
	// another quantity changes nothing.
	same, other := compiled(t, "chat.tg.change >= 0.50"), compiled(t, "chat.tg >= 20")
	decided := Decide([]*plans.Rule{same, other}, full(), usual)[0].Comparisons[0].Test
	_, rule := DecideHypothesis(compiled(t, "chat.tg.change >= 0.10"), []*plans.Rule{same, other}, full(), usual)
	if test := rule.Comparisons[0].Test; test.Fail != decided.Fail || *test.Low != *decided.Low ||
		*test.High != *decided.High {
		t.Errorf("%+v, and its criterion %+v", test, decided)
	}
	_, rule = DecideHypothesis(compiled(t, "chat.tg.change >= 0.10"), []*plans.Rule{other, other}, full(), usual)
	if test := rule.Comparisons[0].Test; test.Fail == decided.Fail {
		t.Errorf("%+v", test)
	}
	// What broke twice refutes nothing, though it is a fail.
	crashed := with(func(f *Feature) { f.Broken, f.Cause = verdict.Fail, verdict.New(code.CrashedAgain) })
	if outcome, rule := DecideHypothesis(compiled(t, "chat.tg.change >= 0.10"), nil, crashed, usual); outcome !=
		Unsettled || rule.Verdict != verdict.Fail {
		t.Errorf("%s of %+v", outcome, rule)
	}
	if got := Decide(nil, full(), usual); len(got) != 0 || Open(got) != nil {
		t.Errorf("%+v", got)
	}
}

// TestAlternatives: each of several candidates for one place gets its share of the chance of a false pass.
func TestAlternatives(t *testing.T) {
	ev := knowing(noise{"chat.tg": {Gap: 1e-9}}, full()) // of starts that are known to be alike
	s := usual
	s.Alternatives = 4
	rule := compiled(t, "chat.tg >= 38")
	alone, among := decided(rule, ev), Decide([]*plans.Rule{rule}, ev, s)[0]
	if test := among.Comparisons[0].Test; test.Pass != 0.0005 || test.Fail != 0.015 ||
		!slices.Equal(test.Share, []verdict.Share{{Of: verdict.ShareAlternatives, N: 4}}) {
		t.Errorf("%+v", test)
	}
	if alone.Verdict != verdict.Pass || among.Verdict != verdict.Inconclusive {
		t.Errorf("alone %s, among four %s: %q", alone.Verdict, among.Verdict, verdict.Lines(among.Reasons))
	}
}

// TestShares: the share of the error budget that each comparison gets.
func TestShares(t *testing.T) {
	a, b, c := "chat.tg.gain > 0.1", "chat.ttft.gain > 0.1", "chat.tg > 30"
	exact := "levels.kernels == 'pass' and engine.memory_gb.delta < 1"
	for _, k := range []struct {
		rules        []string
		alternatives int
		// want is the pass/fail divisors of each comparison of the first rule.
		want, says string
	}{
		{[]string{a}, 0, "1/1", ""},
		{[]string{a + " and " + exact}, 0, "1/1 1/1 1/1", ""},
		{[]string{a + " or levels.kernels == 'pass'"}, 0, "1/1 1/1", ""},
		{[]string{a, b, c}, 0, "1/3", "false fail divided among 3 conditions"},
		{[]string{a, exact, `feature["f"].accepted`}, 0, "1/1", ""},
		{[]string{a + " and " + b + " and " + c}, 0, "1/3 1/3 1/3", ""},
		{
			[]string{a + " or " + b + " or " + c},
			0, "3/1 3/1 3/1",
			"false pass divided among 3 conditions, one of which must hold",
		},
		{[]string{"not (" + a + " and " + b + ")"}, 0, "2/1 2/1", ""},
		{[]string{"not (" + a + " or " + b + ")"}, 0, "1/2 1/2", ""},
		{[]string{a + " and (" + b + " or " + c + ")"}, 0, "1/2 2/2 2/2", ""},
		{[]string{a + " and (" + b + " or " + c + ")", a}, 0, "1/4 2/4 2/4", ""},
		{
			[]string{a + " or " + b},
			3, "6/1 6/1",
			"false pass divided among 3 alternatives; false pass divided among 2 conditions, one of which must hold",
		},
		{[]string{"0.05 < chat.tg.gain < 0.5"}, 0, "1/2 1/2", ""},
	} {
		rules := compileAll(t, k.rules...)
		got := shares(rules, k.alternatives)
		var list []string
		for _, leaf := range rules[0].Compares() {
			s := got[leaf]
			list = append(list, fmt.Sprintf("%d/%d", s.pass, s.fail))
		}
		first := got[rules[0].Compares()[0]]
		must.Equal(t, k.rules, strings.Join(list, " "), k.want)
		var parts []verdict.Reason
		for _, s := range first.parts {
			parts = append(parts, s.Reason())
		}
		if verdict.Semicolons(parts) != k.says && k.says != "" {
			t.Errorf("%v: %+v", k.rules, first.parts)
		}
	}
}

// session makes a session of n launches per arm at the boundary of "+5%" for tg, ttft and
// pp, with this launch noise of base and candidate.
func session(r *rand.Rand, n int, base, own float64) Evidence {
	a, b := medians("f", make([]float64, n)...), medians("baseline", make([]float64, n)...)
	for i := range n {
		for _, metric := range []string{"tg", "pp", "ttft"} {
			up := 1.05
			unit := "tok/s"
			if metric == "ttft" {
				up, unit = 0.95, "ms"
			}
			put := func(l *Launch, v float64) {
				l.Metrics["chat."+metric] = measure.Summary{
					Unit: unit, N: 10, Requests: 10,
					Stats: map[string]float64{"median": v},
				}
			}
			put(&a.Launches[i], 40*up*math.Exp(own*r.NormFloat64()))
			put(&b.Launches[i], 40*math.Exp(base*r.NormFloat64()))
		}
	}
	return Evidence{"f": {Candidate: a, Parent: b, Root: b}}
}

// TestFamilyWiseErrors: three criteria that are all just true fail together in at most 5% of sessions, and three that
// are all just false pass an or in at most 1%, however they are written. Undivided it would be about 13% and 3%.
func TestFamilyWiseErrors(t *testing.T) {
	parts := []string{"chat.tg.gain >= 0.05", "chat.pp.gain >= 0.05", "chat.ttft.gain >= 0.05"}
	three, and, or := compileAll(t, parts...), compileAll(t, strings.Join(parts, " and ")),
		compileAll(t, strings.Join(parts, " or "))
	r := rand.New(rand.NewPCG(6, 3))
	const sessions = 1200
	failed, joined, passed := 0, 0, 0
	for range sessions {
		ev := session(r, 8, 0.03, 0.09) // so noisy that it decides, not the margin for two speeds
		for _, rule := range Decide(three, ev, usual) {
			if rule.Verdict == verdict.Fail {
				failed++
				break
			}
		}
		if Decide(and, ev, usual)[0].Verdict == verdict.Fail {
			joined++
		}
		if Decide(or, ev, usual)[0].Verdict == verdict.Pass {
			passed++
		}
	}
	rate := func(n int) float64 { return float64(n) / sessions }
	if failed != joined {
		t.Errorf("three criteria and one and of them differ: %d and %d", failed, joined)
	}
	if rate(failed) > 0.05+0.01 || rate(passed) > 0.01+0.005 {
		t.Errorf("false fails %.4f, false passes %.4f", rate(failed), rate(passed))
	}
	if failed == 0 || passed == 0 {
		t.Error("nothing is ever wrong: the sessions are not at the boundary")
	}
}

// tree makes a random and/or tree over n leaves, each of its own feature.
func tree(r *rand.Rand, leaves []*plans.Compare, op string) *plans.Cond {
	if len(leaves) == 1 {
		return &plans.Cond{Compare: leaves[0]}
	}
	other := map[string]string{plans.And: plans.Or, plans.Or: plans.And}[op]
	node := &plans.Cond{Op: op}
	for len(leaves) > 0 {
		n := 1 + r.IntN(len(leaves))
		if len(node.Args) == 0 {
			n = min(n, len(leaves)-1)
		}
		node.Args = append(node.Args, tree(r, leaves[:n], other))
		leaves = leaves[n:]
	}
	return node
}

// TestThreeValues: a rule is decided exactly if its result does not depend on its undecided comparisons, and more
// launches are requested for exactly those comparisons that could still change the result.
func TestThreeValues(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	values := []verdict.Verdict{verdict.Pass, verdict.Fail, verdict.Inconclusive}
	for range 400 {
		n := 1 + r.IntN(5)
		leaves := make([]*plans.Compare, n)
		c := &ruling{findings: map[*plans.Compare]*finding{}}
		names := map[*plans.Compare]string{}
		var undecided []*plans.Compare
		for i := range leaves {
			leaves[i] = &plans.Compare{}
			v := values[r.IntN(3)]
			f := &finding{Comparison: verdict.Comparison{Verdict: v}}
			names[leaves[i]] = fmt.Sprint("f", i)
			if v == verdict.Inconclusive {
				undecided = append(undecided, leaves[i])
				f.open = []string{names[leaves[i]]}
			}
			c.findings[leaves[i]] = f
		}
		l := tree(r, leaves, []string{plans.And, plans.Or}[r.IntN(2)])
		holds := func(assigned int) bool {
			var of func(l *plans.Cond) bool
			of = func(l *plans.Cond) bool {
				switch l.Op {
				case plans.And:
					return !slices.ContainsFunc(l.Args, func(arg *plans.Cond) bool { return !of(arg) })
				case plans.Or:
					return slices.ContainsFunc(l.Args, of)
				}
				if i := slices.Index(undecided, l.Compare); i >= 0 {
					return assigned>>i&1 == 1
				}
				return c.findings[l.Compare].Verdict == verdict.Pass
			}
			return of(l)
		}
		all := 1 << len(undecided)
		passes := 0
		for a := range all {
			if holds(a) {
				passes++
			}
		}
		want := verdict.Inconclusive
		switch passes {
		case all:
			want = verdict.Pass
		case 0:
			want = verdict.Fail
		}
		var matter []string
		for i, leaf := range undecided {
			for a := range all {
				if holds(a) != holds(a^1<<i) {
					matter = append(matter, names[leaf])
					break
				}
			}
		}
		slices.Sort(matter)
		got, open := c.join(l)
		if got != want || !slices.Equal(open, matter) {
			t.Fatalf("%s, open %v; want %s, open %v", got, open, want, matter)
		}
	}
}

func TestOpen(t *testing.T) {
	rule := func(v verdict.Verdict, decides bool, open ...string) verdict.Rule {
		return verdict.Rule{Verdict: v, Decides: decides, Open: open}
	}
	pending := rule(verdict.Invalid, true)
	pending.Inputs = []verdict.Input{{Path: "levels.benchmark", Pending: true}}
	for i, c := range []struct {
		rules []verdict.Rule
		want  []string
	}{
		{nil, nil},
		{[]verdict.Rule{rule(verdict.Pass, true), rule(verdict.Inconclusive, true, "a", "b")}, []string{"a", "b"}},
		{
			[]verdict.Rule{rule(verdict.Inconclusive, true, "b", "c"), rule(verdict.Inconclusive, true, "a", "b")},
			[]string{"a", "b", "c"},
		},
		{[]verdict.Rule{rule(verdict.Fail, true), rule(verdict.Inconclusive, true, "a")}, nil},
		{[]verdict.Rule{rule(verdict.Fail, false), rule(verdict.Inconclusive, true, "a")}, []string{"a"}},
		{[]verdict.Rule{rule(verdict.Pass, true), rule(verdict.Inconclusive, false, "a")}, []string{"a"}},
		{[]verdict.Rule{rule(verdict.Invalid, true), rule(verdict.Inconclusive, true, "a")}, nil},
		{[]verdict.Rule{rule("strange", true), rule(verdict.Inconclusive, true, "a")}, nil},
		{[]verdict.Rule{pending, rule(verdict.Inconclusive, true, "a")}, []string{"a"}},
	} {
		if got := Open(c.rules); !slices.Equal(got, c.want) {
			t.Errorf("%d: %v, want %v", i, got, c.want)
		}
	}
}

// TestOpenOfRules: what a rule's own logic leaves open, with launches.
func TestOpenOfRules(t *testing.T) {
	unclear := "chat.tg.gain >= 0.209"
	// While a session runs, inputs that are still to come settle nothing.
	later := with(func(f *Feature) { delete(f.Levels, "benchmark"); f.Outcome, f.Accepted = "", false })
	for _, rule := range []string{unclear + " and levels.benchmark == 'pass'", unclear + ` and feature["f"].accepted`} {
		if got := decided(compiled(t, rule), later); got.Verdict != verdict.Invalid ||
			!slices.Equal(Open([]verdict.Rule{got}), []string{"f"}) {
			t.Errorf("%s: %s, open %v: %q", rule, got.Verdict, got.Open, verdict.Lines(got.Reasons))
		}
	}
	rules := []*plans.Rule{compiled(t, unclear), compiled(t, `feature["f"].accepted`)}
	if got := Open(Decide(rules, later, usual)); !slices.Equal(got, []string{"f"}) {
		t.Errorf("beside an outcome that stands for later: %v", got)
	}
}

// Numbers of a server that was running before its launches decide nothing, neither way;
// levels, knobs and targets do not depend on them.
func TestStaleLaunchesDecideNothing(t *testing.T) {
	last := func(a *Arm) { a.Launches[len(a.Launches)-1].Stale = true }
	both := func(f *Feature) { last(&f.Candidate); last(&f.Parent) }
	for _, c := range []struct {
		rule   string
		change func(f *Feature)
		want   verdict.Verdict
		says   string
	}{
		{
			"chat.tg.gain >= 0.10", both, verdict.Inconclusive,
			"pass by the numbers, but launches of f were not fresh starts",
		},
		{"chat.tg.gain >= 1.0", both, verdict.Inconclusive, "fail by the numbers, but launches of f were"},
		{"chat.tg.gain >= 0.10", func(f *Feature) {
			last(&f.Parent)
		}, verdict.Inconclusive, "launches of baseline were"},
		{"chat.tg >= 35", func(f *Feature) { last(&f.Candidate) }, verdict.Inconclusive, "launches of f were"},
		{"chat.tg >= 35 and chat.tg.root.change > 0", func(f *Feature) {
			last(&f.Candidate)
			last(&f.Root)
		}, verdict.Inconclusive, "launches of f were"},
		{"levels.kernels == 'pass'", both, verdict.Pass, ""},
	} {
		got := decided(compiled(t, c.rule), with(c.change))
		reasons := verdict.Semicolons(got.Reasons)
		if got.Verdict != c.want || !strings.Contains(reasons, c.says) {
			t.Errorf("%s: %s: %s\nwant %s with %q", c.rule, got.Verdict, reasons, c.want, c.says)
		}
		for _, cmp := range got.Comparisons {
			if stale := c.says != ""; (cmp.Verdict == verdict.Inconclusive) != stale {
				t.Errorf("%s: %s is %s", c.rule, cmp.Text, cmp.Verdict)
			}
		}
		if c.says != "" && !strings.Contains(reasons, "chat.tg") {
			t.Errorf("%s: the numbers are not shown: %s", c.rule, reasons)
		}
	}
}

// In a table of engines the numbers stay, but no row with them passes, nor any row compared with them.
func TestStaleRowsDecideNothing(t *testing.T) {
	row := func(name string, running bool) Contender {
		c := contender(name, []float64{200, 220}, []float64{5, 5})
		c.Launches[1].Stale = running
		return c
	}
	for _, c := range []struct {
		own, reference bool
		want           []verdict.Verdict
	}{
		{false, false, []verdict.Verdict{verdict.Pass, verdict.Pass}},
		{true, false, []verdict.Verdict{verdict.Inconclusive, verdict.Pass}},
		{false, true, []verdict.Verdict{verdict.Inconclusive, verdict.Inconclusive}},
	} {
		rows := tableOf([]Contender{row("own", c.own), row("reference", c.reference)}, "reference")
		for i, want := range c.want {
			if rows[i].Verdict != want || len(rows[i].Cells) == 0 || (want != verdict.Pass) != (!rows[i].Why.IsZero()) {
				t.Errorf("%+v: row %s is %s (%s) with %d numbers, want %s", c, rows[i].Name, rows[i].Verdict,
					rows[i].Why.String(), len(rows[i].Cells), want)
			}
		}
	}
}

func TestComparisons(t *testing.T) {
	got := decided(compiled(t, "chat.tg.gain >= 0.1 and levels.smoke in ['fail']"), full())
	gain := *got.Inputs[0].Value
	want := []verdict.Comparison{
		{
			Text: "chat.tg.gain >= 0.1", Reads: []string{"chat.tg.gain"}, Left: verdict.Num("", gain, "ratio").Value,
			Op: ">=", Right: verdict.Num("", 0.1, "ratio").Value, Holds: true, Verdict: verdict.Pass,
		},
		{
			Text: "levels.smoke in ['fail']", Reads: []string{"levels.smoke"}, Left: verdict.Text("", "pass").Value,
			Op: "in", Right: verdict.List("", []string{"fail"}).Value, Holds: false, Verdict: verdict.Fail,
		},
	}
	if len(got.Comparisons) != len(want) {
		t.Fatalf("%+v", got.Comparisons)
	}
	for i, c := range got.Comparisons {
		if c.Test == nil {
			t.Errorf("%s does not say how it was decided", c.Text)
		}
		if c.Test = nil; !reflect.DeepEqual(c, want[i]) {
			t.Errorf("%+v, want %+v", c, want[i])
		}
	}
	if got.Name != "r" || got.Expr != "chat.tg.gain >= 0.1 and levels.smoke in ['fail']" ||
		got.Source != "plan.hcl:40:14" || !got.Decides {
		t.Errorf("%+v", got)
	}
}

// TestMeasured: the claim of a hypothesis is read like the input of a rule, and nothing
// is reported if nothing can be read.
func TestMeasured(t *testing.T) {
	if got := Measured(nil, Evidence{}); !got.IsZero() {
		t.Errorf("without a probe: %+v", got)
	}
	rule := compiled(t, "chat.tg.change > 0")
	if got := Measured(rule, Evidence{}); !got.IsZero() {
		t.Errorf("without evidence: %+v", got)
	}
	if got := Measured(rule, full()); got.Kind != "value.seen" || got.Values["value"].Unit != "ratio" ||
		*got.Values["n"].Number != 4 || *got.Values["base_n"].Number != 4 || got.Values["interval"].To == nil {
		t.Errorf("measured: %+v", got)
	}
}

// TestCrashBound: each crash that a launch counts was one more start besides the launches
// that count, and a bound is written as a number.
func TestCrashBound(t *testing.T) {
	for _, c := range []struct {
		crashes []float64
		rule    string
		want    string
	}{
		{[]float64{0, 0, 0, 0}, "engine.crashes == 0", "below 53% "},
		{[]float64{0, 0}, "engine.crashes <= 2", "below 78% "},
		{[]float64{3, 0, 0, 0}, "engine.crashes <= 3", "below 77% "},
		{[]float64{1, 1}, "engine.crashes <= 2", "below 90% "},
		{[]float64{200, 0}, "engine.crashes <= 200", "below 100% "},
	} {
		ev := with(func(f *Feature) {
			f.Candidate.Launches = f.Candidate.Launches[:len(c.crashes)]
			for i, n := range c.crashes {
				set(&f.Candidate, i, "engine.crashes", "median", n)
			}
		})
		got := decided(compiled(t, c.rule), ev)
		if got.Verdict != verdict.Pass || !strings.Contains(got.Reasons[0].String(), c.want) {
			t.Errorf("%v: %s %q, wanted %q", c.crashes, got.Verdict, verdict.Lines(got.Reasons), c.want)
		}
	}
}

// TestTestsExplainThemselves: what a test says about itself is what was tested.
func TestTestsExplainThemselves(t *testing.T) {
	ev := knowing(noise{"chat.tg": {SD: 0.004, DF: 9}}, full())
	ev["f"].Candidate.Launches = append(ev["f"].Candidate.Launches, medians("f", 1, 1, 1, 1, 38.5).Launches[4])
	got := Decide([]*plans.Rule{compiled(t, "chat.tg.gain >= 0.10"), compiled(t, "chat.tg.gain < 0.5")}, ev, usual)[0]
	test := got.Comparisons[0].Test
	if test.Metric != "chat.tg" || test.Stat != "median" || test.Unit != "tok/s" || test.Arm != "f" ||
		test.Against != "baseline" || !test.More {
		t.Errorf("%+v", test)
	}
	if test.Threshold != 0.10 || math.Abs(test.Theta-math.Log(1.1)) > 1e-15 || test.Pass != 0.002 ||
		test.Fail != 0.0075 || !slices.Equal(test.Share, []verdict.Share{{Of: verdict.ShareAll, N: 2}}) ||
		test.Relation != "gain" || test.Saved || test.Negated {
		t.Errorf("%+v", test)
	}
	if test.Floor != 0.004 || test.FloorDF != 9 || fmt.Sprint(test.Plan) != "[2 3 4 6 8]" || test.First != 2 ||
		test.Stop != stats.Passed || len(test.Looks) != 2 {
		t.Errorf("%+v", test)
	}
	if len(test.Values) != 4 || len(test.Base) != 4 || fmt.Sprint(test.Launches, test.BaseLaunches, test.Rounds,
		test.Unpaired) != "[f.1 f.2 f.3 f.4] [baseline.1 baseline.2 baseline.3 baseline.4] [1 2 3 4] [f.5]" {
		t.Errorf("%+v", test)
	}
	if text := got.Reasons[0].String(); !strings.Contains(text, "3 launches per arm") ||
		!strings.HasSuffix(text, "so not counted: f.5") {
		t.Error(text)
	}
	// It survives being written: nothing in it is infinite.
	data := must.Get(json.Marshal(got))(t)
	var back verdict.Rule
	if err := json.Unmarshal(data, &back); err != nil ||
		fmt.Sprint(*back.Comparisons[0].Test.Low) != fmt.Sprint(*test.Low) {
		t.Error(err, back)
	}
}

// TestHowTestsEnd covers every way in which a test ends, with its sentence and whether more launches are requested.
func TestHowTestsEnd(t *testing.T) {
	type settings struct {
		Settings
		noise noise
	}
	usual, quick, two := settings{usual, nil}, settings{usual, nil}, settings{usual, nil}
	recorded, known := settings{usual.Settings, noiseless("chat.tg")},
		settings{usual.Settings, noise{"chat.tg": {SD: 0.004, DF: 16}}}
	quick.Min, quick.Max = 1, 1
	two.Max = 2
	knownTwo, knownThree := known, known
	knownTwo.Max, knownThree.Min = 2, 3
	steady := []float64{31, 31.6, 30.7, 31.2, 31.5, 30.8, 31.3, 31.1}
	for _, c := range []struct {
		name      string
		rule      string
		own, base []float64
		s         settings
		want      verdict.Verdict
		stop      stats.Outcome
		open      bool
		says      string
	}{
		{
			"pass", "chat.tg.gain >= 0.10",
			[]float64{38.4, 38.6, 38.5},
			[]float64{31.58, 31.82, 31.63},
			recorded, "pass",
			"passed", false, "chat.tg.gain +22% (required ≥ +10%, lower bound +19%, 3 launches per arm)",
		},
		{
			"fail", "chat.tg.gain >= 0.10",
			[]float64{29, 28.8, 29.1},
			[]float64{31.58, 31.82, 31.63},
			recorded, "fail",
			"failed", false, "chat.tg.gain -8.6% (required ≥ +10%, upper bound -7.3%, 3 launches per arm)",
		},
		{
			"goes on", "chat.tg.gain >= 0.10",
			[]float64{34.9, 35.1, 35},
			[]float64{31.58, 31.82, 31.63},
			recorded,
			"inconclusive", "open", true,
			"chat.tg.gain +10.5% (required ≥ +10%, bounds +8.4% to +12%, 3 of up to 8 launches per arm: undecided",
		},
		{
			"futile", "chat.tg.gain >= -0.03",
			[]float64{4400, 4650, 4290, 4520},
			[]float64{4341, 4702, 4470, 4380},
			usual,
			"inconclusive", "futile", false,
			"bounds -11% to +7.2%, 4 launches per arm: undecided, more had a 3.5% chance of deciding",
		},
		{
			"the end", "chat.tg.gain >= 0.03",
			[]float64{32.7, 33.5, 32.2, 33, 33.3, 32.1, 32.9, 32.6},
			steady, usual,
			"inconclusive", "ended", false, "8 launches per arm: undecided",
		},
		{
			"nobody looked yet", "chat.tg.gain >= 0.10",
			[]float64{38.4, 38.6, 38.5},
			[]float64{31.58, 31.82, 31.63},
			usual, "inconclusive", "open", true,
			"chat.tg.gain +22% (required ≥ +10%, 3 launches per arm: undecided, first look at 4",
		},
		{
			"one launch", "chat.tg.gain >= 0.10",
			[]float64{38.4},
			[]float64{31.58},
			usual, "inconclusive", "open", true,
			"1 launch per arm: launch-to-launch variance unknown",
		},
		{
			"one launch of one arm", "chat.tg >= 30",
			[]float64{38.4},
			[]float64{31.58},
			usual, "inconclusive", "open",
			true, "1 launch: launch-to-launch variance unknown",
		},
		{
			"one launch is all", "chat.tg.gain >= 0.10",
			[]float64{38.4},
			[]float64{31.58},
			quick, "inconclusive", "ended",
			false, "1 launch per arm: launch-to-launch variance unknown",
		},
		{
			"one launch is all, screened", "chat.tg.gain >= 0.10",
			[]float64{20},
			[]float64{31.58},
			quick, "fail",
			"screened", false,
			"chat.tg.gain -37% (required ≥ +10%, 1 launch per arm: too far off, more would not help",
		},
		{
			"one launch is all, a level screened", "chat.tg >= 60",
			[]float64{38},
			[]float64{47},
			quick, "fail",
			"screened", false, "1 launch: too far off",
		},
		{
			"a difference has no screen", "chat.tg.delta >= 60",
			[]float64{38},
			[]float64{47},
			quick, "inconclusive",
			"ended", false, "1 launch per arm",
		},
		{
			"two launches are all", "chat.tg.gain >= 0.10",
			[]float64{20, 20.1},
			[]float64{31.58, 31.6},
			two,
			"inconclusive", "ended", false,
			"2 launches per arm: a verdict needs 4 where no launch-to-launch variance is recorded",
		},
		{
			"two launches, clear", "chat.tg.gain >= 0.10",
			[]float64{48.4, 48.6},
			[]float64{31.58, 31.82},
			known, "pass",
			"passed", false,
			"chat.tg.gain +53% (required ≥ +10%, lower bound +26%, clear at 2 launches per arm: 82 recorded " +
				"standard deviations from the threshold)",
		},
		{
			"two launches, clearly not", "chat.tg.gain >= 0.10",
			[]float64{20, 20.1},
			[]float64{31.58, 31.6},
			known,
			"fail", "failed", false, "clear at 2 launches per arm",
		},
		{
			"two launches that differ, and no more", "chat.tg.gain >= 0.10",
			[]float64{48.4, 49.6},
			[]float64{31.58, 31.82},
			knownTwo, "inconclusive", "ended", false, "2 launches per arm: a verdict needs 3",
		},
		{
			"two launches of one arm", "chat.tg >= 10",
			[]float64{48.4, 48.5},
			[]float64{31.58, 31.82},
			known,
			"inconclusive", "open", true, "2 launches: undecided, first look at 3",
		},
		{
			"two launches, and the plan wants three", "chat.tg.gain >= 0.10",
			[]float64{48.4, 48.6},
			[]float64{31.58, 31.82},
			knownThree, "inconclusive", "open", true, "first look at 3",
		},
		{
			"three launches, no record", "chat.tg.gain >= 0.10",
			[]float64{38.4, 38.6, 38.5},
			[]float64{31.58, 31.82, 31.63},
			settings{Settings{FalsePass: 0.01, FalseFail: 0.05, Min: 3, Max: 3}, nil},
			"inconclusive", "ended", false, "a verdict needs 4 where no launch-to-launch variance is recorded",
		},
		{
			"all values equal", "chat.tg.gain >= 0.10",
			[]float64{38, 38, 38, 38},
			[]float64{31, 31, 31, 31},
			usual,
			"pass", "passed", false, "lower bound +14%",
		},
		{
			"all values equal at the limit", "chat.tg.gain >= 0",
			[]float64{31, 31, 31, 31},
			[]float64{31, 31, 31, 31},
			usual, "inconclusive", "futile", false, "4 launches per arm",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			ev := with(func(f *Feature) {
				f.Candidate, f.Parent = medians("f", c.own...), medians("baseline", c.base...)
			})
			got := Decide(compileAll(t, c.rule), knowing(c.s.noise, ev), c.s.Settings)[0]
			test := got.Comparisons[0].Test
			if got.Verdict != c.want || test.Stop != c.stop || !strings.Contains(got.Reasons[0].String(), c.says) ||
				len(got.Reasons) != 1 {
				t.Errorf("%s, %s: %q", got.Verdict, test.Stop, verdict.Lines(got.Reasons))
			}
			if open := Open([]verdict.Rule{got}); (len(open) == 1 && open[0] == "f") != c.open ||
				!c.open && len(open) > 0 {
				t.Errorf("open %v, wanted %v", open, c.open)
			}
		})
	}
}

// TestCountsOnlyGrow: a count that is not reached yet may still be, and one that exceeded
// what is required cannot come back, so no launch is made for it.
func TestCountsOnlyGrow(t *testing.T) {
	for _, c := range []struct {
		rule string // with 4 launches of 10 requests, and up to 8
		want verdict.Verdict
	}{
		{"chat.tg.n <= 3", "fail"},
		{"chat.tg.n < 4", "fail"},
		{"chat.tg.n <= 4", "inconclusive"}, // the plan allows 8,
		{"chat.tg.base.n < 4", "fail"},
		{"chat.tg.n >= 5", "inconclusive"},
		{"chat.tg.n >= 4", "pass"},
		{"not (chat.tg.n < 5)", "inconclusive"},
		{"chat.tg.n == 3", "inconclusive"},
		{"chat.tg.n == 4", "inconclusive"},
		{"not (chat.tg.n == 4)", "inconclusive"},
		{"chat.tg.n in [3, 5]", "inconclusive"},
		{"chat.tg.n_requests <= 39", "fail"},
		{"chat.tg.n_requests <= 40", "inconclusive"},
		{"chat.tg.n_requests >= 40", "pass"},
		{"2 * chat.tg.n <= 6", "fail"},
		{"chat.tg.n > 1 * chat.tg.base.n", "inconclusive"}, // both may still grow
	} {
		got := decided(compiled(t, c.rule), full())
		if open := len(got.Open) > 0; got.Verdict != c.want || open != (c.want == verdict.Inconclusive) {
			t.Errorf("%s: %s, open %v, wanted %s: %q", c.rule, got.Verdict, got.Open, c.want,
				verdict.Lines(got.Reasons))
		}
	}
	// The plan allows no more: what is counted is all that there will be.
	last := usual
	last.Max = 4
	for rule, want := range map[string]verdict.Verdict{
		"chat.tg.n >= 6": "fail", "chat.tg.n_requests <= 40": "pass",
		"chat.tg.n == 4": "pass",
	} {
		if got := Decide(compileAll(t, rule), full(), last)[0]; got.Verdict != want || len(got.Open) > 0 {
			t.Errorf("%s of 4: %s, open %v, wanted %s", rule, got.Verdict, got.Open, want)
		}
	}
	one := with(func(f *Feature) { f.Candidate.Launches = f.Candidate.Launches[:1] })
	if got := decided(compiled(t, "chat.tg.n < 1"), one); got.Verdict != verdict.Inconclusive {
		t.Errorf("one launch decides: %s: %q", got.Verdict, verdict.Lines(got.Reasons))
	}
}
