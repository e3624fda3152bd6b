package gates

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

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
		{[]string{a}, 1, "1/1", ""},
		{[]string{a + " and " + exact}, 0, "1/1 1/1 1/1", ""},
		{[]string{a + " or levels.kernels == 'pass'"}, 0, "1/1 1/1", ""},
		{[]string{a, b, c}, 0, "1/3", "fail α split over 3 conditions"},
		{[]string{a, exact, `feature["f"].accepted`}, 0, "1/1", ""},
		{[]string{a + " and " + b + " and " + c}, 0, "1/3 1/3 1/3", ""},
		{[]string{a + " or " + b + " or " + c}, 0, "3/1 3/1 3/1", "pass α split over 3 conditions, one of which must hold"},
		{[]string{"not (" + a + " and " + b + ")"}, 0, "2/1 2/1", ""},
		{[]string{"not (" + a + " or " + b + ")"}, 0, "1/2 1/2", ""},
		{[]string{a + " and (" + b + " or " + c + ")"}, 0, "1/2 2/2 2/2", ""},
		{[]string{a + " and (" + b + " or " + c + ")", a}, 0, "1/4 2/4 2/4", ""},
		{[]string{a + " or " + b}, 3, "6/1 6/1", "pass α split over 3 alternatives; pass α split over 2 conditions, one of which must hold"},
		{[]string{a, b}, 3, "3/2", ""},
		{[]string{"0.05 < chat.tg.gain < 0.5"}, 0, "1/2 1/2", ""},
	} {
		var rules []*plans.Rule
		for _, text := range k.rules {
			rules = append(rules, compiled(t, text))
		}
		got := shares(rules, k.alternatives)
		var list []string
		for _, leaf := range rules[0].Compares() {
			s := got[leaf]
			list = append(list, fmt.Sprintf("%d/%d", s.pass, s.fail))
		}
		first := got[rules[0].Compares()[0]]
		if text := strings.Join(list, " "); k.want != text {
			t.Errorf("%v: %s, want %s", k.rules, text, k.want)
		}
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
func session(r *rand.Rand, n int, base, own float64) *Evidence {
	a, b := medians("f", make([]float64, n)...), medians("baseline", make([]float64, n)...)
	for i := range n {
		for _, metric := range []string{"tg", "pp", "ttft"} {
			up := 1.05
			unit := "tok/s"
			if metric == "ttft" {
				up, unit = 0.95, "ms"
			}
			put := func(l *Launch, v float64) {
				l.Metrics["chat."+metric] = measure.Summary{Unit: unit, N: 10, Requests: 10, Stats: map[string]float64{"median": v}}
			}
			put(&a.Launches[i], 40*up*math.Exp(own*r.NormFloat64()))
			put(&b.Launches[i], 40*math.Exp(base*r.NormFloat64()))
		}
	}
	return &Evidence{Features: map[string]*Feature{"f": {Candidate: a, Parent: b, Root: &b}}}
}

// TestFamilyWiseErrors: three criteria that are all just true fail together in at most 5%
// of sessions, and three that are all just false pass an or in at most 1%, however they
// are written. Undivided it would be about 13% and 3%.
func TestFamilyWiseErrors(t *testing.T) {
	parts := []string{"chat.tg.gain >= 0.05", "chat.pp.gain >= 0.05", "chat.ttft.gain >= 0.05"}
	var three []*plans.Rule
	for _, p := range parts {
		three = append(three, compiled(t, p))
	}
	and := []*plans.Rule{compiled(t, strings.Join(parts, " and "))}
	or := []*plans.Rule{compiled(t, strings.Join(parts, " or "))}
	r := rand.New(rand.NewPCG(6, 3))
	const sessions = 2000
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
	t.Logf("false fail of three criteria %.4f, of one and %.4f; false pass of one or %.4f", rate(failed), rate(joined), rate(passed))
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
