package gates

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
)

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
	res := load.LoadBytes("plan.hcl", []byte(text), registry, load.Options{Suite: suite})
	if !res.OK() {
		t.Fatal(res.Diagnostics)
	}
	return res.Plan.Phases[0].Gate.Rules[0]
}

func TestWhatASuiteDoesNotSendIsNoPass(t *testing.T) {
	for _, c := range []struct{ rule, suite, want string }{
		{"long.tg > 0.1", "quick", `long.tg: suite "quick" was chosen, and it does not send workload long`},
		{"not (long.tg.gain < 0)", "quick", `long.tg.gain: suite "quick" was chosen, and it does not send workload long`},
		{"long.tg > 0.1", "", `long.tg: the benchmark of protocol "standard" does not send workload long; --suite full does`},
		{"long.tg > 0.1 or chat.tg > 1", "quick", `long.tg: suite "quick" was chosen, and it does not send workload long`},
		{"long.tg > 0.1", "full", "long.tg: launch f.1 has no long.tg"},
	} {
		got := decided(inSuites(t, c.rule, c.suite), full())
		if got.Verdict != verdict.Inconclusive || tell.Joined(got.Reasons) != c.want {
			t.Errorf("%s under %q: %s\ngot  %q\nwant %q", c.rule, c.suite, got.Verdict, tell.Lines(got.Reasons), c.want)
		}
	}
	if got := decided(inSuites(t, "chat.tg > 1", "quick"), full()); got.Verdict != verdict.Pass {
		t.Errorf("what the suite sends: %s %q", got.Verdict, tell.Lines(got.Reasons))
	}
	broken := with(func(f *Feature) { f.Broken, f.Cause = verdict.Error, died("the engine died") })
	if got := decided(inSuites(t, "long.tg > 1", "quick"), broken); got.Verdict != verdict.Error {
		t.Errorf("a suite hides that the engine broke: %s %q", got.Verdict, tell.Lines(got.Reasons))
	}
	// What was measured is read, whatever suite the plan is looked at with.
	measured := with(func(f *Feature) {
		for i := range f.Candidate.Launches {
			f.Candidate.Launches[i].Metrics["long.tg"] = summary(5, "tok/s")
		}
	})
	if got := decided(inSuites(t, "long.tg > 1", "quick"), measured); got.Verdict != verdict.Pass {
		t.Errorf("measured: %s %q", got.Verdict, tell.Lines(got.Reasons))
	}
}

// TestOneValueALaunchIsRead: of a cell, of the GPUs and of the host, also where
// it is zero, of which there is no mean in logs.
func TestOneValueALaunchIsRead(t *testing.T) {
	ev := with(func(f *Feature) {
		for _, a := range []*Arm{&f.Candidate, &f.Parent} {
			for i := range a.Launches {
				a.Launches[i].Metrics["gpu.power_w"] = launchSummary(300+float64(i), "W")
				a.Launches[i].Metrics["host.cpu_share"] = launchSummary(0.25, "share")
				a.Launches[i].Metrics["chat.tg_total"] = launchSummary(100, "tok/s")
				a.Launches[i].Metrics["chat.error_rate"] = measure.Summary{Unit: "share", N: 1, Stats: map[string]float64{"median": 0}}
			}
		}
	})
	for rule, want := range map[string]verdict.Verdict{
		"gpu.power_w < 400": "pass", "gpu.power_w.change < 0.1": "pass", "host.cpu_share > 0.5": "fail",
		"chat.tg_total >= 99.9": "pass", "chat.tg_total >= 100": "inconclusive", "chat.error_rate < 0.01": "pass", "gpu.memory_gb < 80": "inconclusive",
	} {
		if got := decided(compiled(t, rule), ev); got.Verdict != want {
			t.Errorf("%s: %s, want %s: %q", rule, got.Verdict, want, tell.Lines(got.Reasons))
		}
	}
}
