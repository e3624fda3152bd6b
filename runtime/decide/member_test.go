package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestCrashesCount: a crash counts in the next measured launch of its variant that counts,
// wherever it was.
func TestCrashesCount(t *testing.T) {
	exit := 139
	launch := func(id, purpose string, ok bool) *ledger.Launch {
		l := &ledger.Launch{ID: id, Purpose: purpose, VariantKey: "c", OK: ok}
		if !ok {
			l.Exit = &exit
		}
		return l
	}
	qualified, benchmarked := ledger.ForQualification, ledger.ForBenchmark
	disturbed, other, hung := launch("bad", benchmarked, true), launch("x", benchmarked, false),
		launch("hung", benchmarked, false)
	disturbed.Invalid, other.VariantKey, hung.Exit = []verdict.Reason{fact("throttled")}, "p", nil
	for _, c := range []struct {
		name     string
		launches []*ledger.Launch
		want     string
	}{
		{name: "nothing"},
		{
			name:     "since it was measured",
			launches: []*ledger.Launch{launch("1", benchmarked, true), launch("2", benchmarked, false)}, want: "2",
		},
		{
			name:     "counted",
			launches: []*ledger.Launch{launch("2", benchmarked, false), launch("2r1", benchmarked, true)},
		},
		{
			name:     "when it was qualified",
			launches: []*ledger.Launch{launch("q", qualified, false), launch("q2", qualified, true)}, want: "q",
		},
		{
			name: "several", launches: []*ledger.Launch{launch("q", qualified, false), launch("1", benchmarked, false)},
			want: "q 1",
		},
		{
			name:     "what was disturbed counts nothing",
			launches: []*ledger.Launch{launch("2", benchmarked, false), disturbed}, want: "2",
		},
		{name: "of another variant", launches: []*ledger.Launch{other}},
		{name: "what was stopped is no crash", launches: []*ledger.Launch{hung}},
	} {
		var known ledgerOf
		for _, l := range c.launches {
			known = append(known, &ledger.Record{Launch: l})
		}
		var ids []string
		for _, l := range Crashes(known.Records(), "c") {
			ids = append(ids, l.ID)
		}
		must.Equal(t, c.name, strings.Join(ids, " "), c.want)
	}
}

// TestWantedByAGate: a gate keeps the launches of one feature coming while it may
// still pass, and not once what it reads of another counts no longer.
func TestWantedByAGate(t *testing.T) {
	outcomes := map[string]*ledger.Decision{
		runtime.QualifyID("x"):   {Verdict: verdict.Pass},
		runtime.BenchmarkID("x"): {Verdict: verdict.Pass, Session: "s-0"},
		runtime.FeatureID("x"):   {Node: runtime.FeatureID("x"), Verdict: verdict.Pass, Accepted: true},
	}
	v := viewOf(t, planstest.SharedPlan+`
phase "two" {
  after_decided = [phase.one]
  gate {
    rule "both" { rule = "feature.x.w.tg.gain >= 0.10 and feature.y.w.tg.gain >= 0.10" }
  }
}
`, outcomes, nil)
	y := v.Plan.Feature("y")
	y.Accept, y.Criteria = nil, nil // its own criterion asks for nothing more
	ev := gates.Feature{Name: "y"}
	for i, speed := range []float64{100, 108, 95} {
		tg := measure.Summary{
			Unit: "tok/s", Better: measure.Higher, N: 10, Requests: 10,
			Stats: map[string]float64{"median": speed},
		}
		for _, arm := range []*gates.Arm{&ev.Candidate, &ev.Parent} {
			arm.Launches = append(arm.Launches,
				gates.Launch{ID: "l", Round: i + 1, Metrics: map[string]measure.Summary{"w.tg": tg}})
		}
	}
	for _, c := range []struct {
		measured verdict.Verdict
		want     bool
	}{
		{verdict.Pass, true},
		{verdict.Invalid, false},
	} {
		outcomes[runtime.BenchmarkID("x")].Verdict = c.measured
		got, _, err := openRules(v, y, ev)
		if err != nil || got != c.want {
			t.Errorf("x measured %s: wanted %v, %v, want %v", c.measured, got, err, c.want)
		}
	}
}

// Launches that never differed resolve no more than rounding lets them. With four, the
// margin for two speeds is more than the noise.
func TestResolution(t *testing.T) {
	design, err := stats.DesignFor(0.01, 0.05, 3, 8, stats.TwoLaunches)
	must.Do(t, err)
	got := resolution(verdict.Noise{SD: 0.005 / stats.NoiseBound(16), DF: 16}, design, 3, 8).On("w.tg").String()
	if want := "w.tg: 3 launches per arm resolve 8.1%, 8 resolve 1.1% (launches vary by 0.42%, up to 0.5%; 7.8% of " +
		"what 3 resolve is for starts at two speeds)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// Noise from so few launches that two would show only what nobody claims.
	if got := resolution(verdict.Noise{SD: 0.6, DF: 2}, design, 2, 8).String(); strings.Contains(got,
		"beyond the threshold") || !strings.Contains(got, "launches per arm resolve") {
		t.Error(got)
	}
	got = resolution(verdict.Noise{DF: 8}, design, 2, 8).On("w.tg").String()
	if want := "w.tg: all recorded launches gave the same value: only rounding limits what they resolve"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A first look at two is for rules on two arms whose noise is known: without one, a session
// is not looked at before three, and what the plan writes is kept to.
func TestFirstLook(t *testing.T) {
	plan := func(decision, rule string) string {
		return strings.Replace(decision+"\n"+planstest.SharedPlan, "w.tg.gain >= 0.10", rule, 1)
	}
	for name, c := range map[string]struct {
		plan        string
		recorded    bool
		least, next int
	}{
		"known":                   {plan("", "w.tg.gain >= 0.10"), true, 2, 2},
		"unknown":                 {plan("", "w.tg.gain >= 0.10"), false, 3, 4},
		"a level":                 {plan("", "w.tg >= 10"), true, 3, 3},
		"the plan wants three":    {plan("decision {\n launches = { min = 3 }\n}", "w.tg.gain >= 0.10"), true, 3, 3},
		"the plan wants no more":  {plan("decision {\n launches = { max = 2 }\n}", "w.tg.gain >= 0.10"), true, 2, 2},
		"counts alone stay three": {plan("", "w.errors == 0"), true, 3, 4},
	} {
		v := viewOf(t, c.plan, nil, nil)
		for _, f := range v.Plan.Features() {
			if f.Name != "x" {
				f.Criteria, f.Accept = nil, nil
			}
		}
		for _, ph := range v.Plan.Phases {
			ph.Gate = nil
		}
		f := v.Plan.Feature("x")
		a, err := v.Identities.Arms(f)
		must.Do(t, err)
		var known ledgerOf
		for i := range 5 {
			for _, key := range []string{a.Parent.Key, a.Candidate.Key} {
				known = append(known, &ledger.Record{Launch: &ledger.Launch{
					ID: fmt.Sprint(key, i), Session: "s-0", VariantKey: key, Work: "k", Purpose: ledger.ForBenchmark,
					OK: true, Ordinal: i + 1,
					Metrics: map[string]measure.Summary{
						"w.tg": {Stats: map[string]float64{"median": 100 + float64(i%2)}},
					},
				}})
			}
		}
		if c.recorded {
			v.Record = known
		}
		m := NewMember(v.Plan, f, a, []string{a.Parent.Key, a.Candidate.Key})
		next := m.NextLook(v, "", "k")
		if _, least := m.first(v, "", "k"); least != c.least || next != c.next {
			t.Errorf("%s: at least %d, next look at %d, want %d and %d", name, least, next, c.least, c.next)
		}
	}
}

// TestQuestionsChangeNothing: what is asked about a member leaves it as it is. An arm that was
// lost drops out of the answer, and of the member when it is told to.
func TestQuestionsChangeNothing(t *testing.T) {
	v := viewOf(t, strings.Replace(planstest.SharedPlan, "w.tg.gain", "w.tg.root.gain", 1), nil, nil)
	f := v.Plan.Feature("x")
	a, err := v.Identities.Arms(f)
	must.Do(t, err)
	a.Parent.Key, a.Candidate.Key, a.Root.Key = "parent", "candidate", "root"
	keys := []string{"parent", "candidate", "root"}
	var launches []*ledger.Launch
	for i := range 3 {
		for _, key := range keys {
			launches = append(launches, &ledger.Launch{
				ID: fmt.Sprint(key, i), Session: "s", Work: "k", VariantKey: key, OK: key != "root", Ordinal: i + 1,
				Purpose: ledger.ForBenchmark,
				Metrics: map[string]measure.Summary{
					"w.tg": {Unit: "tok/s", N: 1, Stats: map[string]float64{"median": 100}},
				},
			})
		}
	}
	m := NewMember(v.Plan, f, a, keys)
	before := fmt.Sprintf("%+v", m)
	if used, rounds := m.DecidingLaunches(launches), m.RoundsOf(launches); len(used) != 6 || rounds != 3 {
		t.Errorf("%d launches in %d rounds", len(used), rounds)
	}
	m.NextLook(v, "s", "k")
	m.Resolvable(v, "s", "k")
	if _, err := m.NeedsFreshLaunches(v, launches); err != nil {
		t.Error(err)
	}
	if fmt.Sprintf("%+v", m) != before {
		t.Errorf("a question changed it:\n%+v\nwas\n%s", m, before)
	}
	if m.DropLostArms(launches); m.Has("root") || len(m.Lost) != 1 {
		t.Errorf("%+v", m)
	}
}
