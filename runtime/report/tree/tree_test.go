package tree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// made is a plan of so many features with what an apply would have recorded of it: each
// was measured against the baseline, and the last is slower than it.
func made(t *testing.T, features, launches int) (*plans.Plan, *store.Store) {
	st := must.Get(store.Open(t.TempDir()))(t)
	t.Cleanup(func() { st.Close() })
	samples := []measure.Sample{
		{Workload: "chat", Text: "Paris | <b>is</b> it", PromptSum: "00"},
		{Workload: "chat", Index: 1, Text: "second"},
	}
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
		p.Knobs = append(p.Knobs, &plans.Knob{
			Name: name, Default: "off",
			Values: []*plans.KnobValue{{Name: "off"}, {Name: "on", Args: []string{"--" + name}}},
		})
		p.Phases[0].Features = append(p.Phases[0].Features, &plans.Feature{
			Name: name, Phase: "one", Set: map[string]string{name: "on"},
			BuildsOn: plans.BuildsOn{Kind: plans.OnBaseline},
			Criteria: []*plans.Rule{{Name: "decode", Expr: "chat.tg.gain >= 0.1"}},
		})
		nodes = append(nodes, "feature."+name)
	}
	add(&ledger.Record{
		Type:     "run",
		RunStart: &ledger.RunStart{Plan: "p", PlanFile: "plan.hcl", Tool: "test", Nodes: append(nodes, "phase.one")},
	})
	add(&ledger.Record{
		Type:     "decision",
		Decision: &ledger.Decision{Node: "baseline", Kind: "qualify", Attempt: 1, Verdict: verdict.Pass},
	})
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
				ID: fmt.Sprintf("%s.%s.%d", session, variant, k), Session: session, Purpose: ledger.ForBenchmark,
				Node: "feature." + f.Name + ".benchmark", Variant: variant,
				VariantKey: variant, Block: "vllm.main", Knobs: map[string]string{f.Name: "on"}, Ordinal: 1 + k/2,
				Order: 1 + k, Started: at, OK: true,
				Cells: []measure.CellRun{
					{Cell: "chat", Dimensions: measure.Dimensions{Prompt: 32, Output: 8, Concurrency: 1}},
				},
				Fingerprint: map[string]string{"gpu": "GB10"},
				Observed:    map[string]ledger.Observed{"attention": {Value: "FLASHINFER"}},
				Metrics:     map[string]measure.Summary{},
			}
			for _, m := range []string{"tg", "pp", "ttft", "e2e", "itl"} {
				better := measure.Higher
				if m != "tg" && m != "pp" {
					better = measure.Lower
				}
				l.Metrics["chat."+m] = measure.Summary{
					Unit: "tok/s", Better: better, N: 10,
					Stats: map[string]float64{"median": tg, "p95": tg, "p99": 0.000035},
				}
			}
			l.Metrics["host.cpu_share"] = measure.Summary{
				Unit: "share", Better: measure.Higher, N: 10,
				Stats: map[string]float64{"median": tg / 100},
			}
			must.Do(t, st.WriteSamples("r1", l, samples))
			arms[variant], values[variant] = append(arms[variant], l.ID), append(values[variant], tg)
			add(&ledger.Record{Type: "launch", Launch: l})
		}
		gain, v := values[f.Name][0]/values[ledger.Baseline][0]-1, verdict.Pass
		if i == features-1 {
			v = verdict.Fail
		}
		add(&ledger.Record{Type: "decision", Decision: &ledger.Decision{
			Node: "feature." + f.Name, Kind: ledger.KindFeature, Phase: "one", Feature: f.Name, Attempt: 1, Verdict: v,
			Session: session, Statistics: &gates.Settings{FalsePass: 0.01, FalseFail: 0.05, Min: 4, Max: 8},
			Launches: append(arms[ledger.Baseline], arms[f.Name]...),
			Levels:   []ledger.Level{{Name: "smoke", Verdict: verdict.Pass}},
			Evidence: []gates.Feature{{
				Name: f.Name, Candidate: gates.ArmOf(f.Name, arms[f.Name]...),
				Parent: gates.ArmOf(ledger.Baseline, arms[ledger.Baseline]...),
			}},
			Rules: []verdict.Rule{{
				Name: "decode", Decides: true, Verdict: v, Expr: "chat.tg.gain >= 0.1",
				Inputs: []verdict.Input{{
					Path: "chat.tg.gain", Value: &gain, N: launches / 2, BaseN: launches / 2, PerLaunch: values[f.Name],
					BasePerLaunch: values[ledger.Baseline],
				}},
			}},
		}})
	}
	add(&ledger.Record{Type: "end", End: &ledger.End{Verdict: verdict.Pass, Reason: verdict.New(code.Finished)}})
	must.Do(t, st.Append(all...))
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
		&plans.Feature{
			Name: "waits", Phase: "one", BlockedBy: []string{"upstream issue 1969"},
			Criteria: []*plans.Rule{{Name: "c", Expr: "chat.tg.gain >= 0.5"}},
		},
		&plans.Feature{Name: "todo", Phase: "one"}, &plans.Feature{Name: "ToDo", Phase: "one"},
		&plans.Feature{Name: "a/../b", Phase: "one"})
	one.Steps = []*plans.Block{
		{Kind: "upstream_todo", Name: "granularity", Attrs: map[string]any{
			"repo": "~/lib", "commit": "3f1c2ab",
			"file": "csrc/*.cuh", "snippet": "kScale = 128",
		}, Notes: map[string]string{"improvement": "64 suits M=1"}},
	}
	files := must.Get(Files(report.SummaryOf(st, p, time.Now()), nil))(t)
	text := map[string]string{}
	for _, f := range files {
		if text[f.Path] != "" || strings.Contains(f.Path, "../") {
			t.Errorf("%s: there twice, or leads out", f.Path)
		}
		text[f.Path] = f.Text
	}
	for path, wants := range map[string][]string{
		"BENCHMARK_RESULTS.md": {
			"**Nothing accepted: f0 and f1 passed without being stacked; f2 failed.**",
			"Measured vllm.main on GB10; chat is pp32 tg8.",
			"| [f0](porting/FEATURE_f0.md) | pass; superseded by f1 | coherent | 4 | 40.4 ± 0.26<br>" +
				"+33% (+31% to +36%) better |",
			"| blocked by upstream issue 1969 |", "| TODO | – |", "| fail: decode | coherent |", "<!-- keep notes -->",
		},
		"porting/FEATURE_f0.md": {
			"Superseded by [f1](FEATURE_f1.md).", "- tile 64×128 | of M=1", "- fuse the scale", "| `--f0` |",
			"| chat.tg | 30.3 ± 0.26 tok/s | 40.4 ± 0.26 tok/s | +33% (+31% to +36%) better |", "<!-- keep improve -->",
		},
		"porting/FEATURE_waits.md": {"Blocked by: upstream issue 1969", "| c | `chat.tg.gain >= 0.5` |"},
		"FEATURE_MATRIX.md": {"| [f0](porting/FEATURE_f0.md) | pass; superseded by f1 | one | 0 | baseline | " +
			"f0 = on: `--f0` | coherent |"},
		"UPSTREAM_TODOS.md": {
			"| granularity | not checked yet | ~/lib at 3f1c2ab | `csrc/*.cuh` | " +
				"`kScale = 128` | 64 suits M=1 |",
		},
		"TEST_LOGS/s-0.yaml": {"sent: pp32 tg8", "geomean: 0.000035", "\n        attention: FLASHINFER\n"},
	} {
		must.Contain(t, path, text[path], wants...)
	}
	if n := agree(t, text); n != 3 {
		t.Errorf("%d features", n)
	}
	again, err := Files(report.SummaryOf(st, p, time.Now()), nil)
	if err != nil || fmt.Sprint(again) != fmt.Sprint(files) {
		t.Errorf("made again it is another: %v", err)
	}
}

// agree compares what BENCHMARK_RESULTS.md has of each feature with the feature's page, to the
// digit, and says of how many.
func agree(t *testing.T, pages map[string]string) (features int) {
	t.Helper()
	for line := range strings.Lines(pages[results]) {
		cells := append(strings.Split(line, " | "), "", "", "", "")
		_, path, linked := strings.Cut(cells[0], "](")
		mean, change, compared := strings.Cut(cells[4], "<br>")
		if page := pages[strings.TrimSuffix(path, ")")]; linked && compared {
			features++
			row := " | " + mean + " tok/s | " + change + " |"
			must.Contain(t, path, page, row)
		}
	}
	return features
}

const page = "# Page\n\nNumbers.\n\n<!-- keep notes -->\n<!-- /keep -->\n"

// TestWrite: what people write in keep regions stays; everything else that mxflow did not
// write is refused, before anything is written.
func TestWrite(t *testing.T) {
	other := strings.Replace(page, "Numbers", "Other numbers", 1)
	for _, c := range []struct {
		name   string
		change func(text string) string
		next   string
		force  bool
		want   string // of an error
		holds  string
	}{
		{name: "unchanged", next: page, holds: "Numbers."},
		{name: "new numbers", next: other, holds: "Other numbers."},
		{name: "a note", change: func(s string) string {
			return strings.Replace(s, "notes -->\n", "notes -->\nI doubt it.\n", 1)
		}, next: other, holds: "<!-- keep notes -->\nI doubt it.\n<!-- /keep -->"},
		{name: "a region of their own", change: func(s string) string {
			return strings.Replace(s, "Numbers.\n", "Numbers.\n\n<!-- keep own -->\nMine.\n<!-- /keep -->\n", 1)
		}, next: other, holds: "<!-- keep own -->\nMine.\n<!-- /keep -->"},
		{
			name: "a number", change: func(s string) string {
				return strings.Replace(s, "Numbers", "Better numbers", 1)
			},
			next: other, want: "was edited after mxflow wrote it",
		},
		{name: "a number, force", change: func(s string) string {
			return strings.NewReplacer("Numbers", "Better numbers", "notes -->\n", "notes -->\nKept.\n").Replace(s)
		}, next: other, force: true, holds: "Kept."},
		{name: "somebody's own file", change: func(string) string {
			return "# Mine\n"
		}, next: other, want: "was not written by mxflow"},
		{name: "somebody's own file, force", change: func(string) string {
			return "# Mine\n"
		}, next: other, force: true, want: "was not written by mxflow"},
		{name: "an empty file", change: func(string) string {
			return ""
		}, next: other, want: "was not written by mxflow"},
		{name: "no end", change: func(s string) string {
			return strings.Replace(s, "<!-- /keep -->", "", 1)
		}, next: other, want: `page.md:5: the keep region "notes" has no end`},
		{name: "no beginning", change: func(s string) string {
			return strings.Replace(s, "<!-- keep notes -->", "", 1)
		}, next: other, want: "without a keep region"},
		{name: "one in another", change: func(s string) string {
			return strings.Replace(s, "notes -->\n", "notes -->\n<!-- keep two -->\n", 1)
		}, next: other, want: `page.md:6: a keep region starts inside "notes"`},
		{name: "one name twice", change: func(s string) string {
			return strings.Replace(s, "Numbers.\n", "<!-- keep notes -->\n<!-- /keep -->\n", 1)
		}, next: other, want: `duplicate keep region "notes"`},
	} {
		dir := t.TempDir()
		write := func(text string, force bool) ([]string, error) {
			return Write(dir, []File{{"new/first.md", text}, {"page.md", text}}, force)
		}
		must.Get(Write(dir, []File{{"page.md", page}}, false))(t)
		at := filepath.Join(dir, "page.md")
		read := func() string {
			text := must.Get(os.ReadFile(at))(t)
			return string(text)
		}
		before := read()
		if c.change != nil {
			before = c.change(before)
			must.Do(t, os.WriteFile(at, []byte(before), 0o600))
		}
		_, err := write(c.next, c.force)
		if c.want != "" {
			must.Refuse(t, c.name, err, c.want)
			if _, err := os.Stat(filepath.Join(dir, "new")); err == nil || read() != before {
				t.Errorf("%s: something was written", c.name)
			}
			continue
		}
		if err != nil || !strings.Contains(read(), c.holds) {
			t.Errorf("%s: %v, no %q in\n%s", c.name, err, c.holds, read())
		}
		after := read()
		if changed, err := write(c.next, false); err != nil || len(changed) > 0 || read() != after {
			t.Errorf("%s: written again: %v %v\n%s", c.name, changed, err, read())
		}
	}
}

// TestWriteLinks: nothing is written through a link.
func TestWriteLinks(t *testing.T) {
	for _, link := range []string{"porting", "porting/FEATURE_x.md"} {
		dir, elsewhere := t.TempDir(), t.TempDir()
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o755))
		must.Do(t, os.Symlink(elsewhere, filepath.Join(dir, link)))
		_, err := Write(dir, []File{{"porting/FEATURE_x.md", page}}, true)
		must.Refuse(t, link, err, "symbolic link")
		if left, _ := os.ReadDir(elsewhere); len(left) > 0 {
			t.Errorf("%s: written through", link)
		}
	}
}
