package bench

import (
	"bytes"
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
	"github.com/mxflow/mxflow/steps/record"
)

// sampleResult is three runs of two cells, and a fourth metric of which a run
// has nothing.
func sampleResult(t *testing.T) *Result {
	t.Helper()
	r := &Result{
		Tool: "mxflow 1", Started: time.Unix(0, 0).UTC(), URL: "http://box:8000", Engine: "vllm",
		Model: "org/m|x\x1b", Seed: 7,
	}
	w := plans.NewWorkload("bench")
	w.PromptTokens, w.PromptList, w.OutputTokens, w.OutputList = []int{2048}, true, []int{32, 128}, true
	w.Depth, w.DepthList, w.Concurrency, w.ConcurrencyList = []int{4096}, true, []int{4}, true
	for run := range 3 {
		step := float64(run)
		metrics := map[string]measure.Summary{}
		for _, c := range w.Cells() {
			metrics[c.Address+".pp"] = measure.Summary{
				Unit: "tok/s", N: 8,
				Stats: map[string]float64{"median": 1000 + 10*step, "max": 1100, "p99": math.NaN()},
			}
			metrics[c.Address+".tg"] = measure.Summary{Unit: "tok/s", N: 8, Stats: map[string]float64{"median": 50}}
			metrics[c.Address+".tg_total"] = measure.Summary{
				Unit: "tok/s", N: 1,
				Stats: map[string]float64{"median": 160 + step},
			}
			metrics[c.Address+".ttft"] = measure.Summary{
				Unit: "ms", N: 8,
				Stats: map[string]float64{"median": 0.25 + 0.00001*step},
			}
			if c.Output == 32 && run > 0 {
				metrics[c.Address+".goodput"] = measure.Summary{
					Unit: "req/s", N: 1,
					Stats: map[string]float64{"median": 0},
				}
				metrics[c.Address+".accept_length"] = measure.Summary{
					Unit: "tokens", N: 1,
					Stats: map[string]float64{"median": 2.5},
				}
			}
		}
		r.Add(w, record.Measurement{
			Recording: recorded(w, len(w.Cells())), Metrics: metrics,
			Notes: facts("8 answers of bench.p2048.o128.d4096.c4 were shorter, those of bench.p2048.o32.d4096.c4 not"),
		})
	}
	return r
}

// TestBenchNamesItsFlags: a reason names what bench has, a label and a flag, and not a plan's words.
func TestBenchNamesItsFlags(t *testing.T) {
	w := plans.NewWorkload("bench")
	w.PromptTokens, w.OutputTokens = []int{16}, []int{4}
	late := verdict.New(code.WokenLate, verdict.Millis("p99", 16*time.Millisecond),
		verdict.Millis("limit", 10*time.Millisecond), verdict.Millis("max", time.Second))
	got := named(w, []verdict.Reason{late.On(w.Cells()[0].Address)})[0].String()
	if !strings.HasSuffix(got, "or allow more with --max-lag") || strings.Contains(got, "bench") ||
		strings.Contains(late.String(), "--max-lag") {
		t.Error(got)
	}
}

// recorded is a run that finished so many of its cells.
func recorded(w *plans.Workload, finished int) (r measure.Recording) {
	for _, c := range w.Cells()[:finished] {
		r.Cells = append(r.Cells, measure.CellRun{Cell: c.Address})
		if c.Output == 32 {
			r.Cells[len(r.Cells)-1].Prompts = measure.PromptLengths{Method: "tokenizer", Verified: true}
		}
	}
	return r
}

// Of a run that was interrupted the finished cells count, and the rest is missing.
func TestBenchInterrupted(t *testing.T) {
	w := plans.NewWorkload("bench")
	w.PromptTokens, w.OutputTokens, w.OutputList = []int{16}, []int{4, 8, 12}, true
	r := &Result{}
	for _, finished := range []int{3, 2} {
		metrics := map[string]measure.Summary{}
		for _, c := range w.Cells() {
			metrics[c.Address+".tg"] = measure.Summary{Unit: "tok/s", N: 8, Stats: map[string]float64{"median": 50}}
		}
		r.Add(w, record.Measurement{Recording: recorded(w, finished), Metrics: metrics})
	}
	r.Cut(4 * 3)
	var values []int
	for _, c := range r.Cells {
		values = append(values, len(c.Metrics["tg"].Values))
	}
	if r.Runs != 1 || !slices.Equal(values, []int{2, 2, 1}) || r.Interrupted != (Cut{Missing: 7, Of: 12}) {
		t.Errorf("%d runs, values %v, %+v", r.Runs, values, r.Interrupted)
	}
	if text := markdown(r); !strings.Contains(text, "interrupted: 7 of 12 measurements of cells are missing") {
		t.Error(text)
	}
	first := &Result{}
	first.Add(w, record.Measurement{Recording: recorded(w, 1)})
	if first.Runs != 0 || len(first.Cells) != 1 {
		t.Errorf("%d runs, %d cells of one that had finished one", first.Runs, len(first.Cells))
	}
}

func markdown(r *Result) string {
	var b bytes.Buffer
	r.Markdown(&b)
	return b.String()
}

func TestBenchMarkdown(t *testing.T) {
	const want = `org/m|x� at http://box:8000 (vllm)

| test | t/s | 95% interval | total t/s | ttft ms | tpot ms | e2e ms |
| --- | --- | --- | --- | --- | --- | --- |
| pp2048 + tg32 @ d4096 (c4) | 1,010 ± 10 | 985 to 1,035 |  | 0.25001 ± 0.00001 |  |  |
| tg32 @ d4096 (c4) | 50 ± 0 |  | 161 ± 1 |  |  |  |
| pp2048 + tg128 @ d4096 (c4) | 1,010 ± 10 | 985 to 1,035 |  | 0.25001 ± 0.00001 |  |  |
| tg128 @ d4096 (c4) | 50 ± 0 |  | 161 ± 1 |  |  |  |

| cell | goodput req/s | accept_length |
| --- | --- | --- |
| pp2048 tg32 @ d4096, c4 | 0 ± 0 | 2.5 ± 0 |
| pp2048 tg128 @ d4096, c4 |  |  |

note: 8 answers of pp2048 tg128 @ d4096, c4 were shorter, those of pp2048 tg32 @ d4096, c4 not

total t/s: tokens of all requests per second, from the first send to the last end.

3 runs of one server: mean ± sample standard deviation of the runs' medians.

The prompts are those of --seed 7.

`
	must.Equal(t, "markdown", markdown(sampleResult(t)), want)
}

// Answers that end by themselves have to be text; of forced ones most have to.
func TestBenchUnreadable(t *testing.T) {
	taken := func(exact bool, bad int) record.Measurement {
		var s record.Measurement
		for _, cell := range []string{"bench.o4", "bench.o40"} {
			s.Cells = append(s.Cells, measure.CellRun{Cell: cell, ExactOutput: exact})
			for i := range 4 {
				s.Samples = append(s.Samples, measure.Sample{Workload: cell, Index: i})
			}
		}
		for range bad {
			s.Incoherent = append(s.Incoherent, verdict.Say("answer.garbage",
				"{subject?{subject} }request {request}{turn?, turn {turn}}: {causes} ({excerpt:q})",
				verdict.Text("request", "0")).On("bench.o40").From(verdict.Say("text.empty",
				"empty{from_start?, from its beginning}")))
		}
		return s
	}
	for _, c := range []struct {
		exact          bool
		bad            int
		invalid, notes int
	}{{true, 0, 0, 0}, {true, 2, 0, 1}, {true, 3, 1, 0}, {false, 0, 0, 0}, {false, 1, 1, 0}} {
		invalid, notes := unreadable(taken(c.exact, c.bad))
		if len(invalid) != c.invalid || len(notes) != c.notes {
			t.Errorf("forced %v, %d of 4: invalid %q, notes %q", c.exact, c.bad, verdict.Lines(invalid),
				verdict.Lines(notes))
		}
		for _, text := range verdict.Lines(append(invalid, notes...)) {
			if !strings.Contains(text, `of 4 answers of bench.o40 are not readable text, e.g. request 0: empty ("")`) {
				t.Error(text)
			}
		}
	}
}

func facts(texts ...string) (reasons []verdict.Reason) {
	for _, text := range texts {
		reasons = append(reasons, fact(text))
	}
	return reasons
}

func fact(text string) verdict.Reason {
	return verdict.Say("broken", "{error}", verdict.Text("error", text))
}

// Prompts of several lengths before answers of one are told apart in both rows.
func TestBenchRowsOfSeveralPrompts(t *testing.T) {
	r := &Result{Cells: []Cell{{Prompt: 64, Output: 32, Depth: 128}, {Prompt: 512, Output: 32, Depth: 128}}}
	var got []string
	for _, row := range r.rows() {
		got = append(got, row[0])
	}
	if want := []string{
		"pp64 @ d128", "tg32 after pp64 @ d128", "pp512 @ d128",
		"tg32 after pp512 @ d128",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Prompts of two measurements that nobody gave a seed are not the same.
func TestBenchSeed(t *testing.T) {
	seed := func(given bool) int {
		b := Request{
			URL: "http://x", PP: []int{1}, TG: []int{1}, Depth: []int{0}, Concurrency: []int{1}, Runs: 1, Seed: 5,
			API: "chat", Coherence: "off",
		}
		must.Do(t, b.Check(func(flag string) bool { return given && flag == "seed" }))
		return b.Seed
	}
	must.Equal(t, "a seed that was given is not used", seed(true), 5)
	if a, b, c := seed(false), seed(false), seed(false); a == b && b == c {
		t.Errorf("three measurements have the seed %d", a)
	}
}
