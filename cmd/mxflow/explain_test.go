package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// planWith is the fixture's plan with a criterion and a rule.
func planWith(criterion, rule string) string {
	return strings.NewReplacer(
		"HEAD", "", "CRITERIA", "    criterion \"decode\" {\n      rule = \""+criterion+"\"\n    }",
		"RULES", "    rule \"decode is faster\" {\n      rule = \""+rule+"\"\n    }",
	).Replace(fixturePlan)
}

// more is the text of further rules behind the first one's expression.
func more(exprs ...string) (text string) {
	for i, expr := range exprs {
		text += fmt.Sprintf("\"\n    }\n    rule \"rule %d\" {\n      rule = \"%s", i+2, expr)
	}
	return text
}

// Values are those of the worked cases: decode of a real engine.
var (
	steadyBase = []float64{31.58, 31.82, 31.63, 31.87, 31.70, 31.66, 31.81, 31.75}
	clearGain  = []float64{38.4, 38.6, 38.5, 38.45, 38.5, 38.55, 38.4, 38.6}
	nearGain   = []float64{34.9, 35.1, 35.0, 34.95, 35.05, 34.9, 35.1, 35.0}
	noisyGain  = []float64{34.7, 35.8, 35.1, 35.6, 34.8, 35.9, 35.0, 35.5}
	slower     = []float64{29.0, 28.8, 29.1, 28.9, 29.0, 28.9, 29.1, 28.8}
)

func TestExplain(t *testing.T) {
	here := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = here })
	for _, tt := range []struct {
		name, rule string
		node       string
		// A session's speeds; record does something else.
		base, gain []float64
		record     func(s *recordedState)
	}{
		{name: "pass", base: steadyBase[:4], gain: clearGain[:4]},
		{name: "fail", base: steadyBase[:4], gain: slower[:4]},
		{name: "ended", base: steadyBase, gain: noisyGain},
		{name: "open", base: steadyBase[:4], gain: noisyGain[:4]},
		{
			// Open, and no launch is made for it any more.
			name: "open beside what failed", base: steadyBase[:4], gain: noisyGain[:4],
			rule: tenPercent + more("chat.tg.gain >= 0.40", "chat.tg.gain >= 0.10 or chat.tg >= 30"),
		},
		{
			name: "several", base: steadyBase[:4], gain: clearGain[:4],
			rule: "chat.tg.gain >= 0.10 and levels.benchmark == 'pass' and chat.tg >= 30 and not (chat.ttft.gain < " +
				"-0.05)",
		},
		{
			name: "noise and a second measurement", node: "routed",
			record: func(s *recordedState) {
				s.session("s-1", steadyBase, nearGain)
				s.decide("s-1")
				s.session("s-2", steadyBase[:3], clearGain[:3])
				s.decide("s-2")
			},
		},
		{
			// Read by several rules, launches are printed once.
			name: "five rules", base: steadyBase[:4], gain: clearGain[:4],
			rule: tenPercent + more("chat.tg.gain >= 0.15", "chat.tg >= 30 and chat.tg.gain <= 0.50",
				"chat.ttft.change <= 0.05", "levels.benchmark == 'pass'"),
		},
		{name: "futile", base: steadyBase[:4], gain: nearGain[:4]},
		{
			name: "less is wanted", base: steadyBase[:4], gain: clearGain[:4],
			rule: "chat.tg.change <= 0.25 and chat.ttft <= 50 and 0.30 > chat.tg.gain",
		},
		{
			name: "clock and broken launches",
			record: func(s *recordedState) {
				s.session("s-1", steadyBase[:4], clearGain[:2])
				s.broken("s-1", "routed", 3, 7)
				s.at = s.at.Add(-time.Hour) // somebody sets the clock
				s.launch("s-1", "routed", 3, 8, 38.5)
				s.launch("s-1", "routed", 4, 9, 38.4)
				s.decide("s-1")
			},
		},
		{
			name: "memory and what was not measured", base: steadyBase[:4], gain: clearGain[:4],
			rule: "engine.memory_gb.delta <= 0.05 and engine.startup_s <= 60",
		},
		{name: "memory in parts", rule: "engine.memory_gb.change <= 0.05", base: steadyBase[:4], gain: clearGain[:4]},
		{name: "memory", rule: "engine.memory_gb.delta <= 0.05", base: steadyBase[:4], gain: clearGain[:4]},
		{
			name: "an expired waiver", node: "experts",
			record: func(s *recordedState) {
				s.session("s-1", steadyBase[:4], slower[:4])
				s.decide("s-1")
				d, _, _ := s.st.Latest("phase.experts")
				s.append(&ledger.Record{Type: "waiver", Waiver: &ledger.Waiver{
					Node: d.Node, Attempt: d.Attempt, Verdict: d.Verdict,
					Reason: "known, mended upstream", By: "kim", Expires: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC),
				}})
			},
		},
		{
			// A crash counts, and its absence in few launches shows little.
			name: "crashes",
			rule: "engine.crashes == 0" + more("engine.crashes < 1", "2 > engine.crashes", "not (engine.crashes > 0)",
				"engine.crashes.delta <= 0"),
			record: func(s *recordedState) {
				s.crashes = map[string]float64{"s-1.routed.2": 1}
				once(s)
			},
		},
		{
			// The decision says on which engines, what others said, and what became of the
			// claim and of each alternative.
			name: "what stands beside the rules", node: "routed",
			record: func(s *recordedState) {
				s.tamper, s.block = beside, "embedded.tiny"
				s.session("s-1", steadyBase[:4], nearGain[:4])
				s.decide("s-1")
			},
		},
		{
			name: "one alternative", node: "spec[short]",
			record: func(s *recordedState) {
				s.tamper = beside
				s.session("s-1", steadyBase[:4], nearGain[:4])
				s.decide("s-1")
			},
		},
		{name: "too few", base: steadyBase[:2], gain: clearGain[:2]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newRecordedState(t)
			s.apply(planWith(tenPercent, cmp.Or(tt.rule, tenPercent)), nil)
			if tt.record != nil {
				tt.record(s)
			} else {
				s.session("s-1", tt.base, tt.gain)
				s.decide("s-1")
			}
			exit, out, errs := mxflow("explain", cmp.Or(tt.node, "phase.experts"), "--state", s.dir)
			if exit != 0 {
				t.Fatal(exit, errs)
			}
			golden(t, "testdata/explain/"+strings.ReplaceAll(tt.name, " ", "_")+".txt",
				strings.ReplaceAll(out, s.dir, "STATE"))
		})
	}
}

// beside puts everything beside the rules of a feature that may stand there.
func beside(d *ledger.Decision) {
	if d.Kind != "feature" {
		return
	}
	d.Confirmations = []ledger.Confirmation{
		{
			Engine: "vllm.production", Node: "feature.routed@production", Verdict: verdict.Pass,
			Reason: verdict.New(code.Confirmed).On("vllm.production"),
		},
		{
			Engine: "vllm.other", Node: "feature.routed@other",
			Reason: verdict.New(code.NotTried, verdict.Text("without", "inconclusive")).On("vllm.other"),
		},
	}
	open := d.Rules[0]
	open.Comparisons = slices.Clone(open.Comparisons)
	t := *open.Comparisons[0].Test
	t.Stop = stats.Open
	open.Comparisons[0].Test = &t
	d.Hypothesis = &ledger.Hypothesis{
		Metric: "chat.tg", Expect: "+10%", Because: "fewer experts",
		Outcome: "open", Test: &open,
	}
	other := d.Rules[0]
	other.Name = "of the other"
	says := []verdict.Reason{fact("it is not enough")}
	d.Alternatives = []ledger.Alternative{
		{
			Name: "spec[short]", Set: map[string]string{"moe": "routed"}, Verdict: d.Rules[0].Verdict, Reasons: says,
			Rules: d.Rules,
		},
		{
			Name: "spec[long]", Set: map[string]string{"moe": "routed"}, Verdict: d.Rules[0].Verdict, Reasons: says,
			Rules: []verdict.Rule{other},
		},
	}
}

// golden compares with a file, or writes it with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		must.Write(t, path, got)
	} else if got != must.Read(t, path) {
		t.Errorf("%s differs (go test -run TestExplain -update ./cmd/mxflow writes it):\n%s", path, got)
	}
}
