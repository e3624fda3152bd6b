package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

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
	s.add(&ledger.Record{Type: "run", Run: run, RunStart: &ledger.RunStart{Plan: "tiny", PlanFile: "plan.hcl", Tool: "test", Targets: targets, Nodes: s.nodes}})
}

// begun is a story whose run qualified the baseline.
func begun(t *testing.T, targets ...ledger.Target) *story {
	s := newStory(t)
	s.begin("r1", targets...)
	s.add(baselineOf(set()))
	return s
}

func (s *story) end(run string) {
	s.add(&ledger.Record{Type: "end", Run: run, End: &ledger.End{Verdict: verdict.Pass, Reason: verdict.New(code.Finished)}})
}

// launches are one arm of a session, one for each value of tg.
func (s *story) launches(session, variant string, knobs map[string]string, tg ...float64) (ids []string) {
	for _, v := range tg {
		ids = append(ids, s.launch(session, variant, len(ids)+1, knobs, sentChat, tgLaunch(v).Metrics))
	}
	return ids
}

var sentChat = measure.CellRun{Cell: "chat", Prompt: 32, Output: 8, Concurrency: 1}

func (s *story) launch(session, variant string, n int, knobs map[string]string, cell measure.CellRun, metrics map[string]measure.Summary) string {
	id := fmt.Sprintf("%s.%s.%d", session, variant, n)
	s.add(&ledger.Record{Type: "launch", Run: "r1", Launch: &ledger.Launch{
		ID: id, Session: session, Purpose: "benchmark", Node: "feature.x.benchmark", Variant: variant, VariantKey: fmt.Sprint(knobs),
		Block: "embedded.tiny", Knobs: knobs, Ordinal: n, Order: n, Started: s.at, OK: true, Cells: []measure.CellRun{cell}, Metrics: metrics,
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
		Evidence: []ledger.Evidence{{Feature: variant, Candidate: ledger.Arm{Name: variant, Launches: ids}}},
	}})
}

// feature decides one, by its gain in tg.
func (s *story) feature(name string, accepted bool, knobs map[string]string, parent string, base, own []string, gain, low float64, more ...func(*ledger.Decision)) {
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
	test := &verdict.Test{Form: verdict.Ratio, Metric: "chat.tg", Values: values(own), Base: values(base), Low: &low, Stop: verdict.StopPass}
	d := &ledger.Decision{
		Node: "feature." + name, Kind: "feature", Phase: "p", Feature: name, Attempt: s.seen[name], Verdict: v, Accepted: accepted, Variant: knobs,
		Evidence: []ledger.Evidence{{Feature: name, Candidate: ledger.Arm{Name: name, Launches: own}, Parent: ledger.Arm{Name: parent, Launches: base}}},
		Rules: []ledger.Rule{{
			Name: "decode", Decides: true, Verdict: v, Expr: "chat.tg.gain >= 0.1",
			Inputs:      []ledger.Input{{Path: "chat.tg.gain", Value: &gain, N: len(own), BaseN: len(base), PerLaunch: test.Values, BasePerLaunch: test.Base}},
			Comparisons: []ledger.Comparison{{Text: "chat.tg.gain >= 0.1", Test: test}},
			Reasons: []verdict.Reason{verdict.New(code.AsWanted, verdict.Num("is", gain, "ratio"), verdict.Text("op", ">="), verdict.Num("wanted", 0.1, "ratio")).On("chat.tg.gain").Is(v).
				From(verdict.Say("test.shown_against",
					"{subject?{subject} }{at_least?lower bound {at_least~limit}}{at_least!{at_most?upper bound "+
						"{at_most~limit}}{at_most!no finite bound}}, {launches|launch|launches}{against? per arm}",
					verdict.Num("at_least", low, "ratio"), verdict.Num("limit", 0.1, "ratio"), verdict.Int("launches", len(own)), verdict.Text("against", parent)))},
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
	Name: "llamacpp", Tool: "llama-bench f5acfb2ff", Path: "target.llamacpp.chat.tg", Address: "chat.tg", Stat: "median",
	Sent: &ledger.Sent{Prompt: 32, Output: 8, Concurrency: 1}, Value: 57.85, Unit: "tok/s", Better: "higher",
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
	s.feature("head", false, set("cache=on", "moe=routed", "head=mxfp4"), "accepted", both, head, 0.0008, -0.02, func(d *ledger.Decision) {
		d.Hypothesis = &ledger.Hypothesis{Metric: "chat.tg", Expect: "+5%", Because: "fewer bytes", Measured: verdict.Say("value.seen",
			"{value}, {base_n?{n} against {base_n|launch|launches}}{base_n!{n|launch|launches}}{interval?, 95% "+
				"CI {interval}}",
			verdict.Num("value", 0.001, "ratio"), verdict.Int("n", 4), verdict.Int("base_n", 4), verdict.Span("interval", -0.012, 0.014, "ratio")).On("chat.tg.change"), Outcome: "refuted", PostHoc: true}
	})
	s.end("r1")
	return s
}

func baselineOf(knobs map[string]string) *ledger.Record {
	return &ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{Node: "baseline", Kind: "qualify", Attempt: 1, Verdict: verdict.Pass, Variant: knobs}}
}

func tgLaunch(v float64) *ledger.Launch {
	return &ledger.Launch{ID: "l", Metrics: map[string]measure.Summary{"chat.tg": {Unit: "tok/s", Better: measure.Higher, N: 10, Stats: map[string]float64{"median": v}}}}
}
