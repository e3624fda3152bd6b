package gates

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
)

// saying is full evidence whose candidate's launches observe these values; nil is
// a launch that did not.
func saying(name string, values ...any) *Evidence {
	return with(func(f *Feature) {
		f.Candidate.Launches = f.Candidate.Launches[:len(values)]
		for i, v := range values {
			l := &f.Candidate.Launches[i]
			l.Observed, l.Unobserved = map[string]any{}, map[string]verdict.Reason{}
			if v == nil {
				l.Unobserved[name] = died("no line of the log says it")
			} else {
				l.Observed[name] = v
			}
		}
	})
}

func TestObserved(t *testing.T) {
	for _, c := range []struct {
		rule string
		ev   *Evidence
		want verdict.Verdict
		why  string
	}{
		{"engine.observed.attention == 'fa3'", saying("attention", "fa3", "fa3", "fa3"), "pass", "engine.observed.attention is fa3, as wanted"},
		{"engine.observed.attention == 'fa3'", saying("attention", "fi", "fi", "fi"), "fail", "is fi, wanted fa3"},
		{"engine.observed.attention != 'fa3'", saying("attention", "fi", "fi", "fi"), "pass", ""},
		{"engine.observed.attention in ['fa2', 'fa3']", saying("attention", "fa3", "fa3", "fa3"), "pass", ""},
		{"engine.observed.graphs", saying("graphs", true, true, true), "pass", "engine.observed.graphs is true"},
		{"engine.observed.graphs", saying("graphs", false, false, false), "fail", ""},
		{"not engine.observed.graphs", saying("graphs", false, false, false), "pass", ""},
		{"engine.observed.graphs == false", saying("graphs", false, false, false), "pass", ""},
		// None of these is a pass, and none a fail.
		{"engine.observed.attention != 'fa3'", saying("attention", "fi", nil, "fi"), "inconclusive", "launch f.2 did not observe attention: no line of the log says it"},
		{"engine.observed.attention != 'fa3'", full(), "inconclusive", "launch f.1 did not observe attention: it was not looked for"},
		{"not engine.observed.graphs", saying("graphs", nil, nil, nil), "inconclusive", "did not observe graphs"},
		{"engine.observed.attention != 'fa3'", saying("attention", "fi", "fi", "fa2"), "invalid", `launches of f differ: attention is "fi" in launch f.1 and "fa2" in launch f.3`},
		{"not engine.observed.graphs", saying("graphs", false, false, true), "invalid", "launches of f differ"},
		{"engine.observed.attention != 'fa3'", saying("attention", true, true, true), "invalid", "was observed as true, which is not a word"},
		{"engine.observed.graphs", saying("graphs", "true", "true", "true"), "invalid", "which is not a bool"},
		{"engine.observed.attention != 'x'", with(func(f *Feature) { f.Candidate.Launches = nil }), "inconclusive", "no launch of f was measured"},
		{"engine.observed.attention != 'x'", with(func(f *Feature) { f.Broken, f.Cause = verdict.Invalid, died("level kernels is fail") }), "invalid", "level kernels is fail"},
	} {
		got := decided(compiled(t, c.rule), c.ev)
		if got.Verdict != c.want || !strings.Contains(tell.Joined(got.Reasons), c.why) {
			t.Errorf("%s: %s, %q; want %s, %q", c.rule, got.Verdict, tell.Lines(got.Reasons), c.want, c.why)
		}
	}
}

// A number is a metric of the launch, with all that belongs to one: an interval,
// and no verdict from one launch.
func TestObservedNumber(t *testing.T) {
	ev := with(func(f *Feature) {
		for i := range f.Candidate.Launches {
			f.Candidate.Launches[i].Metrics["engine.observed.capacity"] = measure.Summary{Unit: "tokens", N: 1, Stats: map[string]float64{"median": 900 + float64(i)}}
			f.Parent.Launches[i].Metrics["engine.observed.capacity"] = measure.Summary{Unit: "tokens", N: 1, Stats: map[string]float64{"median": 1000}}
		}
	})
	for rule, want := range map[string]verdict.Verdict{
		"engine.observed.capacity >= 800": "pass", "engine.observed.capacity > 950": "fail",
		"engine.observed.capacity.change >= -0.05": "fail", "engine.observed.capacity.delta >= -101": "pass",
		"engine.observed.capacity.base > 999": "pass",
	} {
		if got := decided(compiled(t, rule), ev); got.Verdict != want {
			t.Errorf("%s: %s %q, want %s", rule, got.Verdict, tell.Lines(got.Reasons), want)
		}
	}
	delete(ev.Features["f"].Candidate.Launches[1].Metrics, "engine.observed.capacity")
	if got := decided(compiled(t, "engine.observed.capacity < 950"), ev); got.Verdict != verdict.Inconclusive {
		t.Errorf("a launch without it: %s %q", got.Verdict, tell.Lines(got.Reasons))
	}
}
