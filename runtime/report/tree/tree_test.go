package tree

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// made is a plan of so many features with what an apply would have recorded of it: each
// was measured against the baseline, and the last is slower than it.
func made(t testing.TB, features, launches int) (*plans.Plan, *store.Store) {
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	samples := []measure.Sample{{Workload: "chat", Text: "Paris | <b>is</b> it", PromptSum: "00"}, {Workload: "chat", Index: 1, Text: "second"}}
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	var all []*ledger.Record
	add := func(r *ledger.Record) {
		at = at.Add(time.Second)
		r.Time, r.Run = at, "r1"
		all = append(all, r)
	}
	p := &plans.Plan{Name: "p", Phases: []*plans.Phase{{Name: "one"}}}
	nodes := []string{"baseline"}
	for i := range features {
		name := fmt.Sprintf("f%d", i)
		p.Knobs = append(p.Knobs, &plans.Knob{Name: name, Default: "off", Values: []*plans.KnobValue{{Name: "off"}, {Name: "on", Args: []string{"--" + name}}}})
		p.Phases[0].Features = append(p.Phases[0].Features, &plans.Feature{
			Name: name, Phase: "one", Set: map[string]string{name: "on"}, BuildsOn: plans.BuildsOn{Kind: plans.OnBaseline},
			Criteria: []*plans.Rule{{Name: "decode", Expr: "chat.tg.gain >= 0.1"}},
		})
		nodes = append(nodes, "feature."+name)
	}
	add(&ledger.Record{Type: "run", RunStart: &ledger.RunStart{Plan: "p", PlanFile: "plan.hcl", Tool: "test", Nodes: append(nodes, "phase.one")}})
	add(&ledger.Record{Type: "decision", Decision: &ledger.Decision{Node: "baseline", Kind: "qualify", Attempt: 1, Verdict: verdict.Pass}})
	for i, f := range p.Features() {
		session := fmt.Sprintf("s-%d", i)
		arms := map[string][]string{}
		values := map[string][]float64{}
		for k := range launches {
			variant, tg := ledger.Baseline, 30+0.1*float64(k)
			if k%2 == 1 {
				variant, tg = f.Name, 40+float64(i)+0.1*float64(k)
				if i == features-1 {
					tg = 20 + 0.1*float64(k)
				}
			}
			l := &ledger.Launch{
				ID: fmt.Sprintf("%s.%s.%d", session, variant, k), Session: session, Purpose: ledger.ForBenchmark, Node: "feature." + f.Name + ".benchmark", Variant: variant,
				VariantKey: variant, Block: "vllm.main", Knobs: map[string]string{f.Name: "on"}, Ordinal: 1 + k/2, Order: 1 + k, Started: at, OK: true,
				Cells:       []measure.CellRun{{Cell: "chat", Prompt: 32, Output: 8, Concurrency: 1}},
				Fingerprint: map[string]string{"gpu": "GB10"}, Observed: map[string]ledger.Observed{"attention": {Value: "FLASHINFER"}},
				Metrics: map[string]measure.Summary{},
			}
			for _, m := range []string{"tg", "pp", "ttft", "e2e", "itl"} {
				better := measure.Higher
				if m != "tg" && m != "pp" {
					better = measure.Lower
				}
				l.Metrics["chat."+m] = measure.Summary{Unit: "tok/s", Better: better, N: 10, Stats: map[string]float64{"median": tg, "p95": tg, "p99": 0.000035}}
			}
			l.Metrics["host.cpu_share"] = measure.Summary{Unit: "share", Better: measure.Higher, N: 10, Stats: map[string]float64{"median": tg / 100}}
			if err := st.WriteSamples("r1", l, samples); err != nil {
				t.Fatal(err)
			}
			arms[variant], values[variant] = append(arms[variant], l.ID), append(values[variant], tg)
			add(&ledger.Record{Type: "launch", Launch: l})
		}
		gain, v := values[f.Name][0]/values[ledger.Baseline][0]-1, verdict.Pass
		if i == features-1 {
			v = verdict.Fail
		}
		add(&ledger.Record{Type: "decision", Decision: &ledger.Decision{
			Node: "feature." + f.Name, Kind: ledger.KindFeature, Phase: "one", Feature: f.Name, Attempt: 1, Verdict: v, Session: session, Statistics: &ledger.Statistics{FalsePass: 0.01, FalseFail: 0.05, Min: 4, Max: 8}, Launches: append(arms[ledger.Baseline], arms[f.Name]...),
			Levels:   []ledger.Level{{Name: "smoke", Verdict: verdict.Pass}},
			Evidence: []ledger.Evidence{{Feature: f.Name, Candidate: ledger.Arm{Name: f.Name, Launches: arms[f.Name]}, Parent: ledger.Arm{Name: ledger.Baseline, Launches: arms[ledger.Baseline]}}},
			Rules: []ledger.Rule{{Name: "decode", Decides: true, Verdict: v, Expr: "chat.tg.gain >= 0.1", Inputs: []ledger.Input{{
				Path: "chat.tg.gain", Value: &gain, N: launches / 2, BaseN: launches / 2, PerLaunch: values[f.Name], BasePerLaunch: values[ledger.Baseline],
			}}}},
		}})
	}
	add(&ledger.Record{Type: "end", End: &ledger.End{Verdict: verdict.Pass, Reason: verdict.New(code.Finished)}})
	if err := st.Append(all...); err != nil {
		t.Fatal(err)
	}
	return p, st
}

// TestFiles: the tree holds what was measured and what people wrote, says what is better
// than nothing, and is the same when it is made again.
func TestFiles(t *testing.T) {
	p, st := made(t, 3, 8)
	one := p.Phases[0]
	one.Features[0].Notes, one.Features[0].Improve = []string{"tile 64×128 | of M=1"}, []string{"fuse the scale"}
	one.Features[0].SupersededBy = "f1"
	one.Features = append(one.Features,
		&plans.Feature{Name: "waits", Phase: "one", BlockedBy: []string{"upstream issue 1969"}, Criteria: []*plans.Rule{{Name: "c", Expr: "chat.tg.gain >= 0.5"}}},
		&plans.Feature{Name: "todo", Phase: "one"}, &plans.Feature{Name: "ToDo", Phase: "one"}, &plans.Feature{Name: "a/../b", Phase: "one"})
	one.Steps = []*plans.Block{{Kind: "upstream_todo", Name: "granularity", Attrs: map[string]any{"repo": "~/lib", "commit": "3f1c2ab", "file": "csrc/*.cuh", "snippet": "kScale = 128"}}}
	files, err := Files(p, st, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, f := range files {
		if text[f.Path] != "" || strings.Contains(f.Path, "../") {
			t.Errorf("%s: there twice, or leads out", f.Path)
		}
		text[f.Path] = f.Text
	}
	for path, wants := range map[string][]string{
		"BENCHMARK_RESULTS.md": {
			"| chat.tg | 30.3 ± 0.26 tok/s | 41.4 ± 0.26 tok/s | +36.6% (95% CI +34.8% to +38.5%) better | f1 | 2026-01-02 |",
			"| [f0](porting/FEATURE_f0.md) | 40.4 ± 0.26 |", "| coherent | pass; superseded by f1 |",
			"| blocked by upstream issue 1969 |", "| – | TODO |", "| coherent | fail |",
			"| chat.tg | 20.4 ± 0.26 tok/s | 19.99 to 20.81 | -32.7% (95% CI -34.0% to -31.4%) worse |",
			"gpu: GB10", "\nattention: FLASHINFER\n", "| host.cpu_share | 20.4 ± 0.26% | 19.99% to 20.81% |", "[s-2](TEST_LOGS/s-2.yaml)",
		},
		"porting/FEATURE_f0.md": {
			"Superseded by [f1](FEATURE_f1.md).", "- tile 64×128 | of M=1", "- fuse the scale", "| `--f0` |",
			"| decode: chat.tg.gain | 30.3 | `chat.tg.gain >= 0.1` | 40.4, +33.7% | pass |", "<!-- keep improve -->",
		},
		"porting/FEATURE_waits.md": {"Blocked by: upstream issue 1969", "| c | – | `chat.tg.gain >= 0.5` | – | not decided |"},
		"FEATURE_MATRIX.md":        {"| [f0](porting/FEATURE_f0.md) | one | 0 | baseline | f0 = on: `--f0` | coherent | pass; superseded by f1 |"},
		"UPSTREAM_TODOS.md":        {"| granularity | ~/lib at 3f1c2ab | `csrc/*.cuh` | `kScale = 128` | not checked yet |"},
		"TEST_LOGS/s-0.yaml":       {"chat: pp32 tg8", "mean: 0.000035", "\n        attention: FLASHINFER\n"},
	} {
		for _, want := range wants {
			if !strings.Contains(text[path], want) {
				t.Errorf("%s: no %q in\n%s", path, want, text[path])
			}
		}
	}
	again, err := Files(p, st, nil)
	if err != nil || fmt.Sprint(again) != fmt.Sprint(files) {
		t.Errorf("made again it is another: %v", err)
	}
}

// TestBaselineIsBest: where nothing that was tried is better than the baseline, the best
// is the baseline's own.
func TestBaselineIsBest(t *testing.T) {
	p, st := made(t, 1, 8)
	files, err := Files(p, st, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| chat.tg | 30.3 ± 0.26 tok/s | 30.3 ± 0.26 tok/s | nothing is better | baseline |",
		"| chat.ttft | 30.3 ± 0.26 tok/s | 20.4 ± 0.26 tok/s | -32.7% (95% CI -34.0% to -31.4%) better | f0 |",
	} {
		if !strings.Contains(files[0].Text, want) {
			t.Errorf("no %q in\n%s", want, files[0].Text)
		}
	}
}

// TestAcceptedFeatures: each has its date, and its gain over what it was measured on.
func TestAcceptedFeatures(t *testing.T) {
	p, st := made(t, 2, 8)
	at := time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC)
	d, _, _ := st.Latest("feature.f0")
	accepted := *d
	accepted.Attempt, accepted.Accepted = 2, true
	if err := st.Append(
		&ledger.Record{Type: "run", Run: "r2", Time: at, RunStart: &ledger.RunStart{Plan: "p", Nodes: []string{"baseline", "feature.f0", "feature.f1", "phase.one"}}},
		&ledger.Record{Type: "decision", Run: "r2", Time: at, Decision: &accepted},
	); err != nil {
		t.Fatal(err)
	}
	files, err := Files(p, st, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(files[0].Text, "## Accepted features")
	text, _, _ = strings.Cut(text, "\n## ")
	if want := "1. 2026-01-03, [f0](porting/FEATURE_f0.md) on baseline: "; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// TestFrameworks: engines of a comparison stand side by side by what was measured of them,
// a command by what the plan says its numbers are, and what levels found beside it. One
// without numbers says why.
func TestFrameworks(t *testing.T) {
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	summary := func(x float64, unit string) measure.Summary {
		return measure.Summary{Unit: unit, N: 1, Stats: map[string]float64{"median": x, "max": x, "mean": x}}
	}
	as := summary(156.6, "tok/s")
	as.As = "tg"
	launch := func(id, purpose, variant string, metrics map[string]measure.Summary, cells ...measure.CellRun) *ledger.Record {
		return &ledger.Record{Type: "launch", Run: "r1", Launch: &ledger.Launch{ID: id, Session: "s-1", Purpose: purpose, Node: "phase.p.step.compare.all", Variant: variant, Block: variant, OK: true, Metrics: metrics, Cells: cells}}
	}
	speedup := 1.94
	records := []*ledger.Record{
		{Type: "run", Run: "r1", RunStart: &ledger.RunStart{Plan: "p"}},
		launch("q", ledger.ForQualification, "vllm.a", map[string]measure.Summary{"levels.quality.perplexity": summary(35.51, "")}),
		launch("a", ledger.ForBenchmark, "vllm.a", map[string]measure.Summary{"chat.tg": summary(81, "tok/s"), "chat.ttft": summary(71, "ms"), "gpu.power_w": summary(185.3, "W")}, measure.CellRun{Cell: "chat"}),
		launch("b", ledger.ForBenchmark, "command.mega", map[string]measure.Summary{"command.decode": as}),
		{Type: "decision", Run: "r1", Decision: &ledger.Decision{
			Node: "phase.p.step.compare.all", Kind: ledger.KindStep, Phase: "p", Attempt: 1, Verdict: verdict.Pass, Launches: []string{"q", "a", "b"},
			Rows: []verdict.Row{
				{Name: "vllm.a", Verdict: verdict.Pass, Reference: true, N: 1, Cells: []verdict.Cell{{Address: "chat.tg", Sample: stats.Sample{Mean: 81}}}},
				{Name: "command.mega", Verdict: verdict.Pass, N: 1, Cells: []verdict.Cell{{Address: "chat.tg", Sample: stats.Sample{Mean: 156.6}, Speedup: &speedup}}},
				{Name: "sglang.c", Verdict: verdict.Error, Why: verdict.Say("broken", "{error}",
					verdict.Text("error", "it never answered"))},
			},
		}},
	}
	for i, r := range records {
		r.Time = time.Date(2026, 1, 2, 12, 0, i, 0, time.UTC)
	}
	if err := st.Append(records...); err != nil {
		t.Fatal(err)
	}
	files, err := Files(&plans.Plan{Name: "p"}, st, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| Framework | TTFT | Decode | Average | Perplexity | Decode speed-up | Why there are no numbers |",
		"| vllm.a | 71 ms | 81 tok/s | 185.3 W | 35.51 | 1× (reference) |  |",
		"| command.mega | – | 156.6 tok/s | – | – | 1.94× |  |",
		"| sglang.c | – | – | – | – | – |",
		"it never answered",
	} {
		if !strings.Contains(files[0].Text, want) {
			t.Errorf("no %q in\n%s", want, files[0].Text)
		}
	}
}

// BenchmarkTree writes the tree, and the one page, of 500 features with 5,000 launches.
func BenchmarkTree(b *testing.B) {
	p, st := made(b, 500, 10)
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			if err := report.Markdown(io.Discard, st, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tree", func(b *testing.B) { benchmarkTree(b, p, st) })
}

func benchmarkTree(b *testing.B, p *plans.Plan, st *store.Store) {
	dir := b.TempDir()
	for b.Loop() {
		files, err := Files(p, st, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Write(dir, files, true); err != nil {
			b.Fatal(err)
		}
	}
}
