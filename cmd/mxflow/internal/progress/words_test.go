package progress

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/apply"
)

// fact is a fact of which only its words matter.
func fact(text string) verdict.Reason {
	return verdict.Say("broken", "{error}", verdict.Text("error", text))
}

// done is the event of a decision.
func done(d *ledger.Decision) runtime.Event {
	return runtime.Event{
		Type: "node_done", Node: d.Node, Phase: d.Phase, Feature: d.Feature,
		Verdict: string(d.Verdict), Decision: d,
	}
}

// TestLines: a log has a line for each launch and each outcome that people decide by.
func TestLines(t *testing.T) {
	launch := runtime.Event{
		Type: "launch_done", Phase: "port", Feature: "gemm", Level: "benchmark",
		Variant: "baseline", Launch: 5, Launches: 16, LaunchesLeast: 8,
	}
	measured, again, broke, own, asked := launch, launch, launch, launch, launch
	measured.Decode, measured.ETALeast, measured.ETAMost = 1342.2, 20, 75
	again.Type, again.Again, again.Why = "launch_started", 1, fact("the GPU was throttled\nfor 3 s")
	broke.Why = fact("the engine died")
	own.Variant, own.LaunchesLeast = "gemm", 0
	asked.Level = ledger.ForAgreement
	rule := verdict.Rule{
		Name: "decode", Decides: true, Verdict: verdict.Pass,
		Reasons: []verdict.Reason{fact("enough")},
	}
	port := ledger.Decision{
		Node: "feature.gemm", Kind: ledger.KindFeature, Phase: "port", Feature: "gemm",
		Verdict: verdict.Pass, Accepted: true, Rules: []verdict.Rule{rule},
	}
	gate := ledger.Decision{
		Node: "phase.port", Kind: ledger.KindGate, Phase: "port", Verdict: verdict.Pass,
		Rules: []verdict.Rule{rule},
	}
	failed := ledger.Decision{
		Node: "phase.port.step.exec.make", Kind: ledger.KindStep, Phase: "port",
		Verdict: verdict.Fail, Reasons: []verdict.Reason{fact("exit status 9")},
	}
	inner := ledger.Decision{
		Node: "feature.gemm.qualify", Kind: ledger.KindQualify, Phase: "port", Feature: "gemm",
		Verdict: verdict.Fail,
	}
	dead := ledger.Decision{
		Node: "feature.sinks", Kind: ledger.KindFeature, Feature: "sinks", Verdict: verdict.Error,
		Reasons: []verdict.Reason{broke.Why},
	}
	reused := done(&port)
	reused.Action = runtime.Reuse
	var out bytes.Buffer
	p := New(Screen{Out: func() io.Writer { return &out }})
	lock := runtime.Event{Type: "node_locked", Why: verdict.New(code.Outcome).On("phase.port").Is(verdict.Fail)}
	locked := func(node string) runtime.Event { lock.Node = node; return lock }
	for _, ev := range []runtime.Event{
		{Type: "launch_started", Feature: "gemm", Level: "benchmark"},
		launch, measured, again, broke, done(&dead), own, asked, done(&inner), done(&port), reused,
		done(&gate), done(&failed),
		locked("feature.a.qualify"), locked("feature.a"), locked("phase.b"),
		{Type: "note", Why: fact("one thing")},
		locked("phase.c"),
	} {
		p.Event(ev)
	}
	p.End(nil)
	want := `gemm  launch 5 of 8–16 (baseline)
gemm  launch 5 of 8–16 (baseline), 1,342 tok/s · 20–75 s left
gemm  launch 5 of 8–16 (baseline) repeated: the GPU was throttled
gemm  launch 5 of 8–16 (baseline) broke: the engine died
sinks  error  its launch broke
gemm  launch 5 of 16
gemm  agreement launch
gemm  accepted  decode: enough
gate port  pass  1 rule
step exec make  fail  exit status 9
a and phase b  locked  phase.port failed
note: one thing
phase.c  locked  phase.port failed
`
	if got := strings.ReplaceAll(out.String(), "[   0.0s] ", ""); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestLive: the line of a terminal has feature, launch, speed and time left in 80 columns,
// and no line is ever wider, but for a name.
func TestLive(t *testing.T) {
	var phases []*plans.Phase
	for _, name := range []string{
		"backup", "cache", "grouped_gemm_on_tensor_cores", "speculation_with_a_small_draft",
		"sinks",
	} {
		phases = append(phases, &plans.Phase{Name: name})
	}
	for _, width := range []int{40, 60, 80, 200} {
		var out bytes.Buffer
		l := New(Screen{Terminal: &out, Width: func() int {
			return width
		}, Safe: func(s string) string { return s }}).(*live)
		l.Begin(apply.Start{Plan: &plans.Plan{Name: "p", Phases: phases}})
		feature := "speculative_decoding_with_a_small_draft_model"
		d := &ledger.Decision{
			Node: runtime.FeatureID(feature), Kind: ledger.KindFeature, Feature: feature,
			Verdict: verdict.Fail, Reasons: []verdict.Reason{fact(strings.Repeat("it is slower ", 20))},
		}
		for _, ev := range []runtime.Event{
			done(&ledger.Decision{
				Node: "phase.backup", Phase: "backup", Kind: ledger.KindPhase,
				Verdict: verdict.Pass,
			}),
			{Type: "launch_done", Decode: 1342},
			done(d),
			{
				Type: "launch_started", Phase: phases[3].Name, Feature: feature, Level: "benchmark", Variant: feature,
				Launch: 13, Launches: 24, LaunchesLeast: 18, ETALeast: 130, ETAMost: 790, Left: 12,
			},
			{
				Type: "request_done", Phase: phases[3].Name, Feature: feature, Level: "benchmark", Variant: feature,
				Launch: 13, Launches: 24, LaunchesLeast: 18, Request: 3, Requests: 8,
				ETALeast: 130, ETAMost: 790, Left: 12,
			},
		} {
			l.Event(ev)
			l.draw("")
		}
		l.End(nil)
		text := regexp.MustCompile("\x1b\\[[0-9]*[A-Z]").ReplaceAllString(out.String(), "")
		for line := range strings.Lines(text) {
			if n := lipgloss.Width(strings.TrimSuffix(line, "\n")); n > width && !strings.Contains(line, feature) {
				t.Errorf("%d of %d columns: %s", n, width, line)
			}
		}
		// What a narrow screen has no room for is the last speed, never how far it is or what is left.
		wanted := []string{"launch 13 of 18–24", " · 2–13 min left\n", "speculation_with_a_small_draft ▸"}
		switch width {
		case 40:
			wanted = []string{" speculati… · launch 13 of 18–24 · "}
		case 80, 200:
			wanted = append(wanted, " · last 1,342 tok/s · ", "speculative_decod… · ")
		}
		must.Contain(t, fmt.Sprint(width, " columns"), text, wanted...)
	}
}

func TestRail(t *testing.T) {
	r := rail{{"a", "·"}, {"b", "·"}, {"c", "·"}, {"d", "·"}, {"e", "·"}}
	for _, ev := range []runtime.Event{
		{Type: "node_done", Node: "phase.a", Phase: "a", Verdict: "pass"},
		{Type: "node_done", Node: "phase.b", Phase: "b", Verdict: "fail"},
		{Type: "node_locked", Node: "feature.x", Phase: "e"},
		{Type: "node_locked", Node: "phase.e", Phase: "e"},
		{Type: "launch_started", Phase: "c"},
	} {
		r.see(ev)
	}
	for width, want := range map[int]string{
		80: "a ✓ · b ✗ · c ▸ · d · · e –", 20: "… · c ▸ · d · · e –",
		12: "… · c ▸ · d…",
	} {
		must.Equal(t, width, r.fit(width), want)
	}
}

func TestLeft(t *testing.T) {
	for want, span := range map[string][2]float64{
		"": {0, 0}, "less than 10 s left": {1, 3}, "20–75 s left": {20, 75}, "at most 38 s left": {0, 38},
		"2–13 min left": {130, 790}, "about 7 min left": {410, 420}, "6–7 min left": {390, 410},
		"1.5–2.5 h left": {5400, 9000},
	} {
		must.Equal(t, span, Left(span[0], span[1]), want)
	}
}
