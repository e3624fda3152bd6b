package gates

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
)

// Each line is a way in which evidence can be absent. None of them may pass, nor may any
// fail, since failing takes evidence too.
func TestAbsence(t *testing.T) {
	manyCrashes := func(f *Feature) {
		for i := range f.Candidate.Launches {
			set(&f.Candidate, i, "engine.crashes", "median", 1e10)
		}
	}
	for _, c := range []struct {
		name, rule string
		change     func(f *Feature)
		want       verdict.Verdict
		why        string
	}{
		{
			"one launch of the parent", "chat.tg.gain > 0", func(f *Feature) {
				f.Parent.Launches = f.Parent.Launches[:1]
			}, "inconclusive",
			"1 launch per arm: launch-to-launch variance unknown): not paired with a launch of the other arm, so not " +
				"counted: f.2, f.3 and f.4",
		},
		{
			"no launch of the root", "chat.tg.root.gain > 0", func(f *Feature) { f.Root.Launches = nil },
			"inconclusive",
			"no launch of root",
		},
		{"no root", "chat.tg.root.gain > 0", func(f *Feature) { f.Root = Arm{} }, "inconclusive", "no launch of root"},
		{"a root that dropped out", "chat.tg.root.gain > 0", func(f *Feature) {
			f.Root.Lost = verdict.New(code.ReferenceLost).On("root").From(verdict.New(code.EngineDied))
		}, "inconclusive", "root was not measured"},
		{
			"one launch, counted", "chat.tg.n >= 1", func(f *Feature) {
				f.Candidate.Launches = f.Candidate.Launches[:1]
			},
			"inconclusive", "1 launch",
		},
		{"metric missing in the base", "chat.tg.delta > 1", func(f *Feature) {
			drop(&f.Parent, 0, "chat.tg")
		}, "inconclusive", "launch baseline.1 has no chat.tg"},
		{"no values", "chat.tg > 1", func(f *Feature) {
			f.Candidate.Launches[0].Metrics["chat.tg"] = measure.Summary{}
		}, "inconclusive", "has no chat.tg"},
		{
			"too few for a percentile", "chat.tg.p99 > 1", func(f *Feature) {}, "inconclusive",
			"chat.tg.p99: not enough samples in launch f.1: 10 of at least 300",
		},
		{"NaN, denied", "not (chat.tg < 0.95)", func(f *Feature) {
			set(&f.Candidate, 2, "chat.tg", "median", math.NaN())
		}, "inconclusive", "not a finite number"},
		{"requests unknown", "chat.tg.n_requests <= 5", func(f *Feature) {
			f.Candidate.Launches[0].Metrics["chat.tg"] = measure.Summary{N: 1, Stats: map[string]float64{"median": 1}}
		}, "inconclusive", "how many requests"},
		{"overflow", "chat.tg.delta <= 0", func(f *Feature) {
			for i := range 3 {
				set(&f.Candidate, i, "chat.tg", "median", -math.MaxFloat64)
				set(&f.Parent, i, "chat.tg", "median", math.MaxFloat64)
			}
		}, "invalid", "not a finite number"},
		{
			"overflow of a product", "1e300 * engine.crashes > 5", manyCrashes, "invalid",
			"1e300 * engine.crashes is not a finite number",
		},
		{"missing input that or would skip", "levels.kernels == 'pass' or chat.tg > 1", func(f *Feature) {
			f.Candidate.Launches = nil
		}, "inconclusive", "no launch"},
		{"broken", "chat.tg > 1", func(f *Feature) {
			f.Broken, f.Cause = verdict.Invalid, died("level kernels failed")
		}, "invalid", "chat.tg: level kernels failed"},
		{"broken by an error", "chat.tg.n < 9", func(f *Feature) {
			f.Broken, f.Cause = verdict.Error, died("the engine died")
		}, "error", "the engine died"},
		{"broken with a verdict that unlocks", "chat.tg > 1", func(f *Feature) {
			f.Broken = verdict.Pass
		}, "error", ""},
		{"broken with an unknown verdict", "chat.tg > 1", func(f *Feature) { f.Broken = "fine" }, "error", ""},
		{"level not run", "levels.kernels == 'pass'", func(f *Feature) {
			delete(f.Levels, "kernels")
			f.Cause = died("level smoke is fail")
		}, "invalid", "level kernels of feature f was not run: level smoke is fail"},
		{"level skipped", "levels.kernels != 'fail'", func(f *Feature) {
			f.Levels["kernels"] = verdict.Invalid
		}, "invalid", "level kernels of feature f is invalid"},
		{"level skipped, denied", "not (levels.kernels == 'fail')", func(f *Feature) {
			f.Levels["kernels"] = verdict.Invalid
		}, "invalid", ""},
		{
			"level of no known verdict", "levels.kernels != 'fail'",
			func(f *Feature) { f.Levels["kernels"] = "passed" },
			"error", "unknown verdict",
		},
		{"level of an empty verdict", "levels.kernels != 'fail'", func(f *Feature) {
			f.Levels["kernels"] = ""
		}, "error", "unknown verdict"},
		{"locked, not accepted", `not feature["f"].accepted`, func(f *Feature) {
			f.Outcome, f.Accepted = "", false
		}, "invalid", ""},
		{"knob unknown", "knob.moe != 'all' or chat.tg > 1", func(f *Feature) {
			f.Knobs = nil
		}, "invalid", "of knob moe is unknown"},
		{"locked", `not feature["f"].decided`, func(f *Feature) {
			f.Outcome = ""
			f.Cause = died("phase zero is fail")
		}, "invalid", "feature f is undecided: phase zero is fail"},
		{"invalid, not decided", `not feature["f"].decided`, func(f *Feature) {
			f.Outcome, f.Accepted = verdict.Invalid, false
		}, "invalid", "feature f is invalid"},
		{"broken, not accepted", `feature["f"].accepted == false`, func(f *Feature) {
			f.Outcome, f.Accepted = verdict.Error, false
		}, "error", ""},
		{"broken, no fail", `feature["f"].verdict != 'fail'`, func(f *Feature) {
			f.Outcome, f.Accepted = verdict.Error, false
		}, "error", ""},
		{"accepted against its verdict", `feature["f"].accepted`, func(f *Feature) {
			f.Outcome = verdict.Fail
		}, "error", "although"},
		{"unknown outcome", `feature["f"].verdict != 'fail'`, func(f *Feature) {
			f.Outcome = "ok"
		}, "error", "unknown verdict"},
		{"worst of several", "chat.tg.p99 > 1 and levels.kernels == 'pass'", func(f *Feature) {
			f.Levels["kernels"] = verdict.Error
		}, "error", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := decided(compiled(t, c.rule), with(c.change))
			reasons := verdict.Semicolons(got.Reasons)
			if got.Verdict != c.want || !strings.Contains(reasons, c.why) || reasons == "" {
				t.Errorf("%s: got %s: %s\nwant %s: %s", c.rule, got.Verdict, reasons, c.want, c.why)
			}
			for _, in := range got.Inputs {
				if missing := in.Missing.String(); strings.HasPrefix(missing, in.Path+":") ||
					strings.HasPrefix(missing, in.Path+" ") {
					t.Errorf("a reason would name %s twice: %s", in.Path, in.Missing.String())
				}
				if !in.Missing.IsZero() && (in.Value != nil || in.Text != nil) {
					t.Errorf("%s is both missing and there", in.Path)
				}
			}
		})
	}
}

// A decided word other than pass is a value like any other.
func TestDecidedWordsAreRead(t *testing.T) {
	for _, c := range []struct {
		rule   string
		change func(f *Feature)
		want   verdict.Verdict
	}{
		{"levels.kernels != 'fail'", func(f *Feature) { f.Levels["kernels"] = verdict.Inconclusive }, "pass"},
		{"levels.kernels == 'pass'", func(f *Feature) { f.Levels["kernels"] = verdict.Fail }, "fail"},
		{`not feature["f"].accepted`, func(f *Feature) { f.Outcome, f.Accepted = verdict.Fail, false }, "pass"},
		{`feature["f"].decided`, func(f *Feature) { f.Outcome, f.Accepted = verdict.Inconclusive, false }, "pass"},
		{`feature["f"].verdict == 'pass' and feature["f"].accepted`, func(*Feature) {}, "pass"},
		// Numbers too, of the parent, the root and targets, in every launch.
		{"levels.kernels in ['pass', 'inconclusive']", func(*Feature) {}, "pass"},
		{"'fail' == levels.kernels", func(*Feature) {}, "fail"},
		{`not feature["f"].accepted`, func(*Feature) {}, "fail"},
		{"knob.moe == 'routed' and chat.tg < 1", func(*Feature) {}, "fail"},
		{"chat.tg.root.max < 50", func(*Feature) {}, "pass"},
		{"chat.tg > target.other.chat.tg", func(*Feature) {}, "fail"},
		{"2 * chat.tg > target.other.chat.tg", func(*Feature) {}, "pass"},
		{"engine.crashes in [1, 2]", func(*Feature) {}, "fail"},
		{"chat.output_tokens.min == 8", func(*Feature) {}, "pass"},
	} {
		if got := decided(compiled(t, c.rule), with(c.change)); got.Verdict != c.want {
			t.Errorf("%s: %s %v", c.rule, got.Verdict, got.Reasons)
		}
	}
}

// Rules fail if they read something that was not measured because the candidate crashed
// where its parent does not, however they are written; with another cause they do not.
func TestCrashedFailsRules(t *testing.T) {
	crashed := func(c code.Kind) func(*Feature) {
		return func(f *Feature) {
			f.Broken, f.Cause = verdict.Fail,
				verdict.New(code.Level).On("kernels").Is(verdict.Fail).From(verdict.Say(c, ""))
			f.Levels["kernels"] = verdict.Fail
		}
	}
	for _, rule := range []string{
		"chat.tg > 1", "not (chat.tg > 1)", "chat.tg > 1 or chat.tg <= 1",
		"levels.kernels != 'pass'", "levels.kernels == 'fail'",
	} {
		if got := decided(compiled(t, rule), with(crashed(code.CrashedAgain.Kind))); got.Verdict != verdict.Fail {
			t.Errorf("%s: %s %v", rule, got.Verdict, got.Reasons)
		}
		if got := decided(compiled(t, rule), with(crashed("session.launch_lost"))); got.Verdict != verdict.Error {
			t.Errorf("%s, for another cause: %s %v", rule, got.Verdict, got.Reasons)
		}
	}
}

func TestEvidenceOfNothing(t *testing.T) {
	rule := compiled(t, "chat.tg > 1")
	for _, ev := range []Evidence{nil, {}, {"f": nil}, {"g": {}}} {
		if got := decided(rule, ev); got.Verdict != verdict.Invalid ||
			!strings.Contains(got.Reasons[0].String(), "was not run") {
			t.Errorf("%+v", got)
		}
	}
	for _, r := range []*plans.Rule{{Name: "x"}, {Cond: &plans.Cond{}}} {
		if got := decided(r, full()); got.Verdict != verdict.Error || len(got.Reasons) == 0 {
			t.Errorf("%+v", got)
		}
	}
	// A comparison that lacks something that deciding needs.
	for name, spoil := range map[string]func(*plans.Compare){
		"no form":      func(c *plans.Compare) { c.Form = "" },
		"no such form": func(c *plans.Compare) { c.Form = "guess" },
		"no metric":    func(c *plans.Compare) { c.Metric = nil },
		"wrong form":   func(c *plans.Compare) { c.Form = verdict.Ratio },
		"out of reach": func(c *plans.Compare) { c.Threshold = math.Inf(1) },
	} {
		odd := compiled(t, "chat.tg > 1")
		spoil(odd.Cond.Compare)
		if got := decided(odd, full()); got.Verdict.Unlocks() || got.Verdict == verdict.Fail || len(got.Reasons) == 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// A target that is not a finite number is refused by the compiler; here one is forced.
	res := loaded("chat.tg < target.other.chat.tg")
	odd := res.Plan.Phases[0].Gate.Rules[0]
	odd.Inputs()[1].Number = math.Inf(1)
	if got := decided(odd, full()); got.Verdict != verdict.Invalid {
		t.Errorf("%+v", got)
	}
}

// Spreads and counts are averaged as they are: in a geometric mean one launch
// without crashes, or nearly without noise, would hide the others.
func TestMeansOverLaunches(t *testing.T) {
	ev := with(func(f *Feature) {
		f.Candidate.Launches = f.Candidate.Launches[:3]
		for i, n := range []float64{1, 1, 100} {
			set(&f.Candidate, i, "engine.crashes", "median", n)
			set(&f.Candidate, i, "chat.tg", "std", n)
			set(&f.Candidate, i, "chat.tg", "median", n)
			set(&f.Candidate, i, "chat.output_tokens", "median", n)
		}
	})
	for path, want := range map[string]float64{
		"engine.crashes": 34, "chat.tg.std": 34, "chat.output_tokens": 34, "chat.tg": math.Cbrt(100),
	} {
		got := decided(compiled(t, path+" > 0"), ev)
		if v := got.Inputs[0].Value; v == nil || math.Abs(*v-want) > 1e-9 {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestInputsCarryTheirEvidence(t *testing.T) {
	in := decided(compiled(t, "chat.tg.gain > 0"), full()).Inputs[0]
	if in.N != 4 || in.BaseN != 4 || in.NRequests != 40 || len(in.PerLaunch) != 4 || len(in.BasePerLaunch) != 4 ||
		len(in.Samples) != 8 || in.Low == nil || in.High == nil {
		t.Errorf("%+v", in)
	}
	in = decided(compiled(t, "chat.tg.base > 0"), full()).Inputs[0]
	if in.N != 4 || in.BaseN != 0 || in.PerLaunch[0] != 31.58 || in.Unit != "tok/s" || in.Low != nil {
		t.Errorf("%+v", in)
	}
	// Nothing varies: there is no interval, and none is claimed.
	in = decided(compiled(t, "engine.memory_gb.gain >= 0"), full()).Inputs[0]
	if in.Low != nil || in.Value == nil || *in.Value != 0 {
		t.Errorf("%+v", in)
	}
}

// TestWhyNot: for a launch without a number, the reason is given, and where to look.
func TestWhyNot(t *testing.T) {
	again := measure.Summary{
		Unit: "count", N: 4, Requests: 4,
		Stats: map[string]float64{"min": 1, "max": 2, "median": 1},
	}
	tokens := measure.Summary{
		Unit: "tokens", N: 4, Requests: 4,
		Stats: map[string]float64{"min": 64, "max": 64, "median": 64},
	}
	for _, c := range []struct{ rule, want string }{
		{
			"chat.pp >= 1",
			"chat.pp: launch f.2 has no chat.pp: each of its 4 requests was resent, so the start of its prefill is " +
				"unknown (mxflow show f.2)",
		},
		{
			"engine.first_request_s <= 1",
			"engine.first_request_s: launch f.1 has no engine.first_request_s: it needs a server that became ready " +
				"and answered a request for one token (mxflow show f.1)",
		},
	} {
		got := decided(compiled(t, c.rule), with(func(f *Feature) {
			for i := range f.Candidate.Launches {
				l := &f.Candidate.Launches[i]
				l.Metrics["chat.retries"], l.Metrics["chat.prompt_tokens"] = again, tokens
				if i != 1 {
					l.Metrics["chat.pp"] = summary(1000, "tok/s")
				}
			}
		}))
		if len(got.Reasons) != 1 || got.Reasons[0].String() != c.want {
			t.Errorf("%s: %q", c.rule, verdict.Lines(got.Reasons))
		}
	}
}

// saying is full evidence whose candidate's launches observed these values; nil is a launch that did not.
func saying(name string, values ...any) Evidence {
	return with(func(f *Feature) {
		f.Candidate.Launches = f.Candidate.Launches[:len(values)]
		for i, v := range values {
			l := &f.Candidate.Launches[i]
			l.Observed, l.Unobserved = map[string]any{}, map[string]verdict.Reason{}
			if v == nil {
				l.Unobserved[name] = died("no line of the log matches")
			} else {
				l.Observed[name] = v
			}
		}
	})
}

func TestObserved(t *testing.T) {
	for _, c := range []struct {
		rule string
		ev   Evidence
		want verdict.Verdict
		why  string
	}{
		{
			"engine.observed.attention == 'fa3'", saying("attention", "fa3", "fa3", "fa3"), "pass",
			"engine.observed.attention fa3 (as required",
		},
		{"engine.observed.attention == 'fa3'", saying("attention", "fi", "fi", "fi"), "fail", "fi (required fa3"},
		{"engine.observed.attention != 'fa3'", saying("attention", "fi", "fi", "fi"), "pass", ""},
		{"engine.observed.attention in ['fa2', 'fa3']", saying("attention", "fa3", "fa3", "fa3"), "pass", ""},
		{"engine.observed.graphs", saying("graphs", true, true, true), "pass", "engine.observed.graphs is true"},
		{"engine.observed.graphs", saying("graphs", false, false, false), "fail", ""},
		{"not engine.observed.graphs", saying("graphs", false, false, false), "pass", ""},
		{"engine.observed.graphs == false", saying("graphs", false, false, false), "pass", ""},
		// None of these is a pass or a fail.
		{
			"engine.observed.attention != 'fa3'", saying("attention", "fi", nil, "fi"), "inconclusive",
			"launch f.2 did not observe attention: no line of the log matches",
		},
		{
			"engine.observed.attention != 'fa3'", full(), "inconclusive",
			"launch f.1 did not observe attention: not looked for",
		},
		{"not engine.observed.graphs", saying("graphs", nil, nil, nil), "inconclusive", "did not observe graphs"},
		{
			"engine.observed.attention != 'fa3'", saying("attention", "fi", "fi", "fa2"), "invalid",
			`launches of f differ: attention is "fi" in launch f.1, "fa2" in launch f.3`,
		},
		{"not engine.observed.graphs", saying("graphs", false, false, true), "invalid", "launches of f differ"},
		{
			"engine.observed.attention != 'fa3'", saying("attention", true, true, true), "invalid",
			"was observed as true, which is not a word",
		},
		{"engine.observed.graphs", saying("graphs", "true", "true", "true"), "invalid", "which is not a bool"},
		{
			"engine.observed.attention != 'x'", with(func(f *Feature) { f.Candidate.Launches = nil }), "inconclusive",
			"no launch of f was measured",
		},
		{"engine.observed.attention != 'x'", with(func(f *Feature) {
			f.Broken, f.Cause = verdict.Invalid, died("level kernels failed")
		}), "invalid", "level kernels failed"},
	} {
		got := decided(compiled(t, c.rule), c.ev)
		if got.Verdict != c.want || !strings.Contains(verdict.Semicolons(got.Reasons), c.why) {
			t.Errorf("%s: %s, %q; want %s, %q", c.rule, got.Verdict, verdict.Lines(got.Reasons), c.want, c.why)
		}
	}
}

// A number is a metric of the launch, with everything that a metric has: an interval, and no verdict from one launch.
func TestObservedNumber(t *testing.T) {
	ev := giving("engine.observed.capacity", func(arm string, i int) measure.Summary {
		return launchSummary(map[string]float64{"f": 900 + float64(i), "baseline": 1000}[arm], "tokens")
	})
	for rule, want := range map[string]verdict.Verdict{
		"engine.observed.capacity >= 800": "pass", "engine.observed.capacity > 950": "fail",
		"engine.observed.capacity.change >= -0.05": "fail", "engine.observed.capacity.delta >= -101": "pass",
		"engine.observed.capacity.base > 999": "pass",
	} {
		if got := decided(compiled(t, rule), ev); got.Verdict != want {
			t.Errorf("%s: %s %q, want %s", rule, got.Verdict, verdict.Lines(got.Reasons), want)
		}
	}
	delete(ev["f"].Candidate.Launches[1].Metrics, "engine.observed.capacity")
	if got := decided(compiled(t, "engine.observed.capacity < 950"), ev); got.Verdict != verdict.Inconclusive {
		t.Errorf("a launch without it: %s %q", got.Verdict, verdict.Lines(got.Reasons))
	}
}

// TestPercentilesOfLaunches: a percentile is one value per launch, tested over launches as medians are, against a
// number and against its base; a p99 takes 300 requests in every launch.
func TestPercentilesOfLaunches(t *testing.T) {
	of := func(n int) Evidence {
		return giving("chat.ttft", func(arm string, i int) measure.Summary {
			scale := map[string]float64{"f": 90, "baseline": 100}[arm] + float64(i)/10
			return measure.Summary{
				Unit: "ms", N: n, Requests: n,
				Stats: map[string]float64{"median": scale / 2, "p95": scale * 0.9, "p99": scale},
			}
		})
	}
	for _, c := range []struct {
		rule string
		n    int
		want verdict.Verdict
		says string
	}{
		{"chat.ttft.p99 <= 97", 300, "pass", "upper bound 96.3"},
		{"chat.ttft.p99 <= 80", 300, "fail", "lower bound 85.7"},
		{"chat.ttft.p99 <= 0.99 * chat.ttft.base.p99", 300, "pass", "chat.ttft.p99.change upper bound"},
		{
			"chat.ttft.p99 <= 95", 299, "inconclusive",
			"chat.ttft.p99: not enough samples in launch f.1: 299 of at least 300",
		},
		{"chat.ttft.p99 <= 0.95 * chat.ttft.base.p99", 299, "inconclusive", "299 of at least 300"},
		{"chat.ttft.p95 <= 95", 59, "pass", ""},
		{"chat.ttft.p95 <= 95", 58, "inconclusive", "58 of at least 59"},
	} {
		got := decided(compiled(t, c.rule), of(c.n))
		if got.Verdict != c.want || !strings.Contains(verdict.Semicolons(got.Reasons), c.says) || len(got.Open) > 0 {
			t.Errorf("%s of %d: %s %q", c.rule, c.n, got.Verdict, verdict.Lines(got.Reasons))
		}
		if c.want == verdict.Pass && got.Comparisons[0].Test.Stat != strings.Split(c.rule, ".")[2][:3] {
			t.Errorf("%+v", got.Comparisons[0].Test)
		}
	}
}

// inSuites is the fixture with a workload that only suite "full" sends.
func inSuites(t *testing.T, rule, suite string) *plans.Rule {
	t.Helper()
	text := strings.Replace(fixturePlan, "RULE", `"`+quoting.Replace(rule)+`"`, 1) + `
workload "long" {
  prompt_tokens = 64
  output_tokens = 16
}
suite "quick" {
  workloads = [workload.chat]
}
suite "full" {
  workloads = [workload.chat, workload.long]
}
`
	res := load.Bytes("plan.hcl", []byte(text), registry, load.Options{Suite: suite})
	if !res.OK() {
		t.Fatal(res.Diagnostics)
	}
	return res.Plan.Phases[0].Gate.Rules[0]
}

func TestWhatASuiteDoesNotSendIsNoPass(t *testing.T) {
	for _, c := range []struct{ rule, suite, want string }{
		{"long.tg > 0.1", "quick", `long.tg: suite "quick" does not send workload long`},
		{"not (long.tg.gain < 0)", "quick", `long.tg.gain: suite "quick" does not send workload long`},
		{
			"long.tg > 0.1", "",
			`long.tg: the benchmark of protocol "standard" does not send workload long; send it with --suite full`,
		},
		{"long.tg > 0.1 or chat.tg > 1", "quick", `long.tg: suite "quick" does not send workload long`},
		{
			"long.tg > 0.1", "full",
			"long.tg: launch f.1 has no long.tg: nothing of long was measured in it (mxflow show f.1)",
		},
	} {
		got := decided(inSuites(t, c.rule, c.suite), full())
		if got.Verdict != verdict.Inconclusive || verdict.Semicolons(got.Reasons) != c.want {
			t.Errorf("%s under %q: %s\ngot  %q\nwant %q", c.rule, c.suite, got.Verdict,
				verdict.Lines(got.Reasons), c.want)
		}
	}
	if got := decided(inSuites(t, "chat.tg > 1", "quick"), full()); got.Verdict != verdict.Pass {
		t.Errorf("what the suite sends: %s %q", got.Verdict, verdict.Lines(got.Reasons))
	}
	broken := with(func(f *Feature) { f.Broken, f.Cause = verdict.Error, died("the engine died") })
	if got := decided(inSuites(t, "long.tg > 1", "quick"), broken); got.Verdict != verdict.Error {
		t.Errorf("a suite hides that the engine broke: %s %q", got.Verdict, verdict.Lines(got.Reasons))
	}
	// A measurement is read, whatever suite is selected.
	measured := with(func(f *Feature) {
		for i := range f.Candidate.Launches {
			f.Candidate.Launches[i].Metrics["long.tg"] = summary(5, "tok/s")
		}
	})
	if got := decided(inSuites(t, "long.tg > 1", "quick"), measured); got.Verdict != verdict.Pass {
		t.Errorf("measured: %s %q", got.Verdict, verdict.Lines(got.Reasons))
	}
}

// TestOneValueALaunchIsRead: of a cell, of the GPUs and of the host, even if it is zero, which has no logarithm.
func TestOneValueALaunchIsRead(t *testing.T) {
	power := giving("gpu.power_w", func(_ string, i int) measure.Summary { return launchSummary(300+float64(i), "W") })
	total := giving("chat.tg_total", always(100, "tok/s"))
	for _, c := range []struct {
		rule string
		ev   Evidence
		want verdict.Verdict
	}{
		{"gpu.power_w < 400", power, "pass"},
		{"gpu.power_w.change < 0.1", power, "pass"},
		{"gpu.memory_gb < 80", power, "inconclusive"},
		{"host.cpu_share > 0.5", giving("host.cpu_share", always(0.25, "share")), "fail"},
		{"chat.tg_total >= 93", total, "pass"},
		{"chat.tg_total >= 100", total, "inconclusive"},
		{"chat.error_rate < 0.01", giving("chat.error_rate", always(0, "share")), "pass"},
	} {
		if got := decided(compiled(t, c.rule), c.ev); got.Verdict != c.want {
			t.Errorf("%s: %s, want %s: %q", c.rule, got.Verdict, c.want, verdict.Lines(got.Reasons))
		}
	}
}

// streamed is a request whose text arrived at these milliseconds.
func streamed(change func(*measure.Sample), at ...int) measure.Sample {
	s := measure.Sample{
		Workload: "chat", Due: 1, Scheduled: 1, Start: 1, PromptTokens: 64, OutputTokens: len(at), CachedTokens: -1,
	}
	for _, ms := range at {
		s.Events = append(s.Events,
			measure.Event{At: time.Duration(ms) * time.Millisecond, Kind: measure.KindText, Tokens: -1})
	}
	if change != nil {
		change(&s)
	}
	return s
}

// TestAbsent: what samples lack is explained by what else was derived from them.
func TestAbsent(t *testing.T) {
	same := func(change func(*measure.Sample), at ...int) []measure.Sample {
		return []measure.Sample{streamed(change, at...), streamed(change, at...)}
	}
	for name, c := range map[string]struct {
		samples       []measure.Sample
		address, want string
	}{
		"sent again": {
			same(func(s *measure.Sample) { s.Retries = 1 }, 5, 9), "chat.pp",
			"each of its 2 requests was resent",
		},
		"not counted": {
			same(func(s *measure.Sample) { s.PromptTokens = -1 }, 5, 9), "chat.pp",
			"the server does not report how many tokens prompts have",
		},
		"cached": {
			same(func(s *measure.Sample) { s.CachedTokens = 64 }, 5, 9), "chat.pp",
			"every prompt was cached in full",
		},
		"one read": {
			same(func(s *measure.Sample) { s.OutputTokens = 8 }, 5), "chat.tg",
			"each answer came in one piece",
		},
		"one token": {same(nil, 5), "chat.tg", "no answer has more than one token"},
		"tokens unknown": {
			same(func(s *measure.Sample) { s.OutputTokens = -1 }, 5, 9), "chat.tg",
			"it needs at least two text events and the number of output tokens",
		},
		"no text": {
			same(func(s *measure.Sample) { s.Events[0].Kind = measure.KindOther }, 5), "chat.tg",
			"no answer had any text",
		},
		"failed":         {same(func(s *measure.Sample) { s.Err = "reset" }, 5, 9), "chat.tg", "all 2 requests failed"},
		"not sent":       {nil, "deep.tg", "nothing of deep was measured in it"},
		"two of another": {same(nil, 5, 9), "chat.tokens_per_joule", "it needs the evidence of energy_j and tg_total"},
		"of the launch":  {nil, "engine.startup_s", "it needs a launch that became ready"},
		"of a program":   {same(nil, 5, 9), "chat.latency", ""},
	} {
		t.Run(name, func(t *testing.T) {
			metrics := measure.Evaluate(measure.Recording{Cells: []measure.CellRun{{Cell: "chat"}}, Samples: c.samples})
			if _, there := metrics[c.address]; there {
				t.Fatalf("%s is there", c.address)
			}
			got := Absent(metrics, c.address).String()
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestLacks(t *testing.T) {
	s, _ := measure.SummaryOf("ttft", make([]float64, 10))
	for stat, want := range map[string]string{
		"median": "", "p99": "not enough samples (10 of at least 299)", "p90": "not enough samples (10 of at least 29)",
		"cv": "not defined: the mean is not above zero", "p42": `no statistic is called "p42"`,
	} {
		must.Equal(t, stat, Lacks(s, stat).String(), want)
	}
}

// damages are ways to remove what one input depends on. An input that a damage does not touch keeps its value.
var damages = map[string]func(f *Feature, in *plans.Input){
	"removed": func(f *Feature, in *plans.Input) {
		switch in.Kind {
		case plans.InputLevel:
			delete(f.Levels, in.Name)
		case plans.InputKnob:
			delete(f.Knobs, in.Name)
		case plans.InputFeature:
			f.Outcome, f.Accepted = "", false
		case plans.InputMetric:
			for _, a := range arms(f) {
				drop(a, 0, in.LaunchAddress())
			}
		}
	},
	"skipped": func(f *Feature, in *plans.Input) {
		switch in.Kind {
		case plans.InputLevel:
			f.Levels[in.Name] = verdict.Invalid
		case plans.InputFeature:
			f.Outcome, f.Accepted = verdict.Invalid, false
		case plans.InputMetric:
			f.Broken, f.Cause = verdict.Invalid, died("a level before it failed")
		case plans.InputKnob:
			f.Knobs = nil
		}
	},
	"not a number": func(f *Feature, in *plans.Input) {
		damageStats(f, in, func(s measure.Summary) {
			for name := range s.Stats {
				s.Stats[name] = math.NaN()
			}
		})
	},
	"infinite": func(f *Feature, in *plans.Input) {
		damageStats(f, in, func(s measure.Summary) {
			for name := range s.Stats {
				s.Stats[name] = math.Inf(-1)
			}
		})
	},
	"without statistics": func(f *Feature, in *plans.Input) {
		damageStats(f, in, func(s measure.Summary) { clear(s.Stats) })
	},
	"one launch": func(f *Feature, in *plans.Input) {
		if in.Kind != plans.InputMetric {
			damageWord(f, in)
			return
		}
		for _, a := range arms(f) {
			a.Launches = a.Launches[:1]
		}
	},
}

func arms(f *Feature) []*Arm { return []*Arm{&f.Candidate, &f.Parent, &f.Root} }

func damageStats(f *Feature, in *plans.Input, change func(measure.Summary)) {
	if in.Kind != plans.InputMetric {
		damageWord(f, in)
		return
	}
	for _, a := range arms(f) {
		change(a.Launches[1].Metrics[in.LaunchAddress()])
	}
}

// damageWord damages inputs that are not numbers, in place of damages for numbers only.
func damageWord(f *Feature, in *plans.Input) {
	switch in.Kind {
	case plans.InputLevel:
		f.Levels[in.Name] = "passed"
	case plans.InputFeature:
		f.Outcome = "passed"
	case plans.InputKnob:
		f.Knobs = map[string]string{"other": "x"}
	}
}

// checkFailsClosed damages each input of a rule in turn: the rule must not pass.
func checkFailsClosed(t *testing.T, rule *plans.Rule) {
	t.Helper()
	for _, ev := range []Evidence{nil, {}, {"f": {}}} {
		if got := decided(rule, ev); got.Verdict.Unlocks() || !got.Verdict.Known() {
			t.Errorf("%s is %s without evidence", rule.Expr, got.Verdict)
		}
	}
	for _, in := range rule.Inputs() {
		if in.Kind == plans.InputTarget {
			continue
		}
		for name, damage := range damages {
			ev := with(func(f *Feature) { damage(f, in) })
			got := decided(rule, ev)
			if name == "one launch" && in.Kind == plans.InputMetric {
				checkUndecided(t, rule, in, got)
				continue
			}
			if got.Verdict.Unlocks() || got.Verdict == verdict.Fail || len(got.Reasons) == 0 {
				t.Errorf("%s is %s with %s %s: %v", rule.Expr, got.Verdict, in.Path, name, got.Reasons)
			}
		}
	}
	if got := decided(rule, full()); !got.Verdict.Known() || len(got.Reasons) == 0 {
		t.Errorf("%s: %+v", rule.Expr, got)
	}
}

// checkUndecided: one launch is not absence, so the rest of a rule may settle it, but
// nothing that reads the input is decided.
func checkUndecided(t *testing.T, rule *plans.Rule, in *plans.Input, got verdict.Rule) {
	t.Helper()
	for i, c := range got.Comparisons {
		leaf := rule.Compares()[i]
		if slices.Contains(leaf.Inputs(), in) && c.Verdict != verdict.Inconclusive {
			t.Errorf("%s: %s is %s with one launch", rule.Expr, c.Text, c.Verdict)
		}
	}
}

var honest = []string{
	"chat.tg.gain >= 0.10 and levels.kernels == 'pass'",
	"not (chat.tg < 0.95)",
	"not (chat.tg.gain < 0.10) or levels.kernels != 'fail'",
	"levels.kernels != 'fail' or levels.smoke not in ['fail', 'inconclusive']",
	`not feature["f"].accepted or not feature["f"].decided or chat.tg > 0`,
	`feature["f"].verdict != 'fail' and knob.moe != 'all'`,
	"chat.tg.n >= 1 or chat.tg.n_requests < 1000 or chat.tg.root.n > 0",
	"chat.tg.root.gain > 0.1 or chat.tg.delta > -1e9",
	"engine.crashes == 0 and engine.startup_s.change < 10 and engine.memory_gb.base >= 0",
	"-2 * chat.ttft.delta <= 1e9 and chat.tg.p50 * 0.5 > -1 and chat.tg >= 0.97 * chat.tg.base",
	"chat.tg >= target.other.chat.tg or 0 < chat.tg.cv < 1 or chat.tg.std * -1 < 1",
	"chat.output_tokens.min == 8 && !(chat.output_tokens.base.max in [1, 2])",
}

// FuzzRule: rules fail closed, the honest ones and any text that compiles.
func FuzzRule(f *testing.F) {
	for _, rule := range honest {
		f.Add(rule)
	}
	f.Fuzz(func(t *testing.T, text string) {
		res := loaded(text)
		gate := res.Plan.Phases
		if !res.OK() || len(gate) == 0 {
			return
		}
		checkFailsClosed(t, gate[0].Gate.Rules[0])
	})
}
