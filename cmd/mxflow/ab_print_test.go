package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// abGolden is what a person sees, by what came out.
var abGolden = []struct {
	name, claim string
	end         ledger.End
	fill        func(q *ab, r *abResult)
}{
	{"pass", "+10%", ledger.End{Verdict: verdict.Pass}, func(q *ab, r *abResult) {
		q.mustSeeB, q.writePlan = []string{"*backend: CUTLASS*"}, "port.hcl"
		r.launched([]float64{31.58, 31.82, 31.63, 31.87}, []float64{38.4, 38.6, 38.5, 38.55})
		r.tested(q, verdict.StopPass, verdict.Look{N: 4, PPass: 1.2e-7, PFail: 1}, 0.1928, 0.2274)
		r.Differs = append(r.Differs, abDiff{What: "moe_kernel (observed)", A: `"marlin"`, B: `"cutlass"`, Intended: "yes: --must-see", observed: true})
		r.levels = append([]ledger.Level{{Name: "kernels", Verdict: verdict.Pass, Reasons: facts(`ab = "B": seen "*backend: CUTLASS*" (line 41: [MXFP4] Using backend: CUTLASS)`)}}, r.levels...)
	}},
	{"pass_by_default", "", ledger.End{Verdict: verdict.Pass}, func(q *ab, r *abResult) {
		r.launched([]float64{31.58, 31.82, 31.63, 31.87}, []float64{31.5, 31.9, 31.7, 31.8})
		r.tested(q, verdict.StopPass, verdict.Look{N: 4, PPass: 7.6e-5, PFail: 1}, -0.016, 0.01)
	}},
	{"fail", "+10%", ledger.End{Verdict: verdict.Fail, Exit: 2}, func(q *ab, r *abResult) {
		r.launched([]float64{31.58, 31.82, 31.63, 31.7}, []float64{29, 28.8, 29.1, 28.9})
		r.tested(q, verdict.StopFail, verdict.Look{N: 4, PPass: 1, PFail: 1.2e-6}, -0.1075, -0.0735)
	}},
	{"inconclusive", "+5%", ledger.End{Verdict: verdict.Inconclusive, Exit: 3}, func(q *ab, r *abResult) {
		r.launched([]float64{31.58, 31.82, 31.63, 31.7}, []float64{33.1, 33.6, 32.9, 33.4})
		r.tested(q, verdict.StopEnd, verdict.Look{N: 4, PPass: 0.4, PFail: 0.6}, 0.02, 0.08)
	}},
	{"inconclusive_latency", "-5%", ledger.End{Verdict: verdict.Inconclusive, Exit: 3}, func(q *ab, r *abResult) {
		q.claim, _ = parseClaim("ttft", "-5%")
		r.launched([]float64{310, 352, 300, 361}, []float64{302, 331, 340, 290})
		r.tested(q, verdict.StopFutile, verdict.Look{N: 4, PPass: 0.4, PFail: 0.6, Chance: 0.03}, -0.2, 0.22)
	}},
	{"invalid", "", ledger.End{Verdict: verdict.Invalid, Exit: 2}, func(q *ab, r *abResult) {
		r.launched([]float64{31.58, 31.82}, []float64{61.2, 60.9})
		r.levels[1] = ledger.Level{Name: "benchmark", Verdict: verdict.Invalid}
		worse := verdict.New(code.Worse, verdict.Text("cell", "bench"), verdict.Text("other", "baseline"), verdict.Int("answers", 9), verdict.Int("of", 10)).On("B")
		r.Reasons = []verdict.Reason{r.reason(worse.From(fact("the same word 40 times in a row")))}
	}},
	{"unfit", "+10%", ledger.End{Verdict: verdict.Fail, Exit: 2}, func(_ *ab, r *abResult) {
		r.Metrics, r.levels = nil, []ledger.Level{{Name: "smoke", Verdict: verdict.Fail}}
		r.Reasons = []verdict.Reason{verdict.New(code.ArmSays).On("A").From(fact("the answer is the same word 40 times in a row"))}
		r.beforeMeasuring(map[string]*ledger.Decision{runtime.BaselineID: {Verdict: verdict.Fail}})
	}},
	{"crash", "+10%", ledger.End{Verdict: verdict.Error, Exit: 4}, func(q *ab, r *abResult) {
		r.B.all = []*ledger.Launch{{}}
		r.Metrics, r.levels = nil, []ledger.Level{{Name: "smoke", Verdict: verdict.Error}}
		r.Reasons = []verdict.Reason{verdict.New(code.ArmSays).On("B").From(fact("engine could not become ready: it ended 41 s after its start, before it was ready (exit status 1)"))}
		r.LogTail = []string{"INFO loading weights", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."}
	}},
	{"interrupted", "+10%", ledger.End{Exit: 130, Reason: verdict.New(code.Interrupted)}, func(q *ab, r *abResult) {
		r.launched([]float64{31.58, 31.82}, []float64{38.4})
	}},
}

// How a comparison is shown is what people judge it by: it is kept word by word.
func TestABOutput(t *testing.T) {
	for _, c := range abGolden {
		t.Run(c.name, func(t *testing.T) {
			metric := "tg"
			if c.claim == "-5%" {
				metric = "ttft"
			}
			claim, err := parseClaim(metric, c.claim)
			if err != nil {
				t.Fatal(err)
			}
			kind, _ := kinds.Lookup("vllm")
			q := &ab{pp: 2048, tg: 32, concurrency: 1, requests: 10, warmup: 3, claim: claim, kind: kind, coherence: ""}
			for i, text := range []string{"KERNEL=marlin ./serve.sh", "KERNEL=gemm ./serve.sh"} {
				if q.arms[i], err = parseArm([]string{"a", "b"}[i], text); err != nil {
					t.Fatal(err)
				}
			}
			if q.shape, err = shapeOf(q.arms[0], q.arms[1]); err != nil {
				t.Fatal(err)
			}
			at := abPlace{folder: ".mxflow-ab/1a2b3c4d", plan: ".mxflow-ab/1a2b3c4d/ab.hcl", state: ".mxflow-ab/1a2b3c4d/.mxflow"}
			r := &abResult{
				Verdict: c.end.Verdict, Exit: c.end.Exit, Metric: metric, Unit: claim.Metric.Unit, Same: 23,
				levels:  []ledger.Level{{Name: "smoke", Verdict: verdict.Pass, Reasons: facts(`answered " Paris."`)}, {Name: "benchmark", Verdict: verdict.Pass}},
				Metrics: abRows(),
				Differs: []abDiff{{What: "KERNEL", A: "marlin", B: "gemm", Intended: "yes: it is what is compared"}},
			}
			c.fill(q, r)
			r.conclude(q, &c.end)
			var out bytes.Buffer
			show := &abShow{app: &app{stdout: &out}, q: q, at: at}
			show.print(r, 754*time.Second)
			path := filepath.Join("testdata", "ab", c.name+".golden")
			if *update {
				if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil || out.String() != string(want) {
				t.Errorf("%s is out of date (%v): go test ./cmd/mxflow -run TestABOutput -update\n%s", path, err, out.String())
			}
			for line := range strings.SplitSeq(out.String(), "\n") {
				if strings.HasSuffix(line, " ") || strings.Contains(line, "NaN") || strings.Contains(line, "%!") {
					t.Errorf("%q", line)
				}
			}
		})
	}
}

// A plan that is written loads without a complaint, and says the same wherever
// it lies.
func TestABPlan(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, change := range []func(q *ab){
		func(*ab) {},
		func(q *ab) { q.mustSeeB = []string{"*CUTLASS ${x} \"q\"*"} },
		func(q *ab) { q.mustSeeA, q.mustSeeB = []string{"*one*", "*both*"}, []string{"*two*", "*BOTH*"} },
		func(q *ab) { q.b = "K=2 other.sh --port {port} 'a ${b} %{c}' \"\\\\\"" },
		func(q *ab) { q.b = q.a + " --fast" },
		func(q *ab) { q.a, q.b = "vllm serve m", "vllm serve m --x"; q.model = "m" },
		func(q *ab) { q.claimed, q.metric = "-10%", "ttft"; q.api = "chat"; q.concurrency, q.depth = 4, 128 },
		func(q *ab) { q.url, q.caches = "http://localhost:8000", "cold"; q.timeout = 20 * time.Minute },
		func(q *ab) {
			q.accept, q.changes, q.expect = []string{"packages"}, []string{"version"}, "Paris"
			q.quick = true
		},
	} {
		q := &ab{a: "./serve.sh --port {port}", b: "K='x y' ./serve.sh --port {port}", pp: 64, tg: 16, concurrency: 1, metric: "tg", api: "completions", caches: "own"}
		change(q)
		if err := q.check(new(app).abCommand()); err != nil {
			t.Fatal(err)
		}
		work, _ := os.Getwd()
		var digests []string
		for _, folder := range []string{".", "deep/er"} {
			text, err := q.planIn(folder, work)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(folder, "ab.hcl")
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			p, _, _, err := (&app{stdout: &stderr, stderr: &stderr, generated: true}).load(path, nil, "")
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, stderr.String(), text)
			}
			p.Engines[0].Process.Dir = ""
			digests = append(digests, p.Digest())
			e := p.Engines[0]
			if got := e.Process.Command; strings.Join(got, "\x00") != strings.Join(q.shape.Command, "\x00") {
				t.Errorf("command %q became %q", q.shape.Command, got)
			}
			if v := p.Knobs[0].Value("B"); strings.Join(v.Command, "\x00") != strings.Join(q.shape.Own[1].Command, "\x00") {
				t.Errorf("command %q became %q", q.shape.Own[1].Command, v.Command)
			}
		}
		if digests[0] != digests[1] {
			t.Errorf("%s: another plan in another folder", q.commandLine)
		}
	}
}
