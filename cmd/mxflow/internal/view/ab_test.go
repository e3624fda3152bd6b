package view

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/steps/questions/ab"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// fact is a fact of which only its words matter.
func fact(text string) verdict.Reason {
	return verdict.Say("broken", "{error}", verdict.Text("error", text))
}

func facts(texts ...string) (reasons []verdict.Reason) {
	for _, text := range texts {
		reasons = append(reasons, fact(text))
	}
	return reasons
}

// TestTestWords: a chance of nothing is not printed as one of 0%.
func TestTestWords(t *testing.T) {
	for name, c := range map[string]struct {
		stop   stats.Outcome
		n      int
		chance float64
		want   string
	}{
		"screened": {stats.Screened, 1, 0, "none: one launch of each"},
		"futile":   {stats.Futile, 4, 0.032, "stopped early: more launches had a 3.2% chance of deciding"},
		"hopeless": {stats.Futile, 4, 1e-9, "stopped early: more launches had a tiny chance of deciding"},
	} {
		got := testWords(&ab.Result{Test: &verdict.Test{
			Form: verdict.Ratio, Stop: c.stop,
			Looks: []stats.Look{{N: c.n, Chance: c.chance}},
		}})
		must.Contain(t, name, got, c.want)
	}
}

// Without a claim, whether B is faster at all is as the bounds have it.
func TestFasterAtAll(t *testing.T) {
	for _, c := range []struct {
		metric    string
		low, high float64
		want      string
	}{
		{"tg", -0.029, -0.01, " It is at most 2.9% slower."},
		{"tg", 0.011, 0.05, " It is at least 1.1% faster."},
		{"tg", -0.01, 0.05, " It is open whether it is faster."},
		{"ttft", 0.01, 0.025, " It is at most 2.5% slower."},
	} {
		claim, err := ab.ParseClaim(c.metric, "")
		must.Do(t, err)
		r := &ab.Result{Verdict: verdict.Pass, Low: &c.low, High: &c.high}
		if r.Conclude(&ab.Question{Claim: claim, Again: func(...string) string { return "" }},
			&ledger.End{}); !strings.HasSuffix(r.Said, c.want) {
			t.Errorf("%s [%v, %v]: %q, want %q", c.metric, c.low, c.high, r.Said, c.want)
		}
	}
}

// A claim that failed is said to have failed, though accuracy is open.
func TestFailsBesideOpenAccuracy(t *testing.T) {
	claim, err := ab.ParseClaim("tg", "+10%")
	must.Do(t, err)
	open := ledger.Level{Name: "eval", Verdict: verdict.Inconclusive, Reasons: verdict.Because(code.AccuracyOpen)}
	r := &ab.Result{Verdict: verdict.Fail, Accuracy: &open, Levels: []ledger.Level{open}}
	r.A.Launches, r.B.Launches = make([]ab.Launch, 4), make([]ab.Launch, 4)
	r.Conclude(&ab.Question{Claim: claim, PP: 512, TG: 32}, &ledger.End{})
	must.Equal(t, "said", r.Said, "B is less than 10% faster than A (tg32).")
}

// launched are launches in the order ABBA BAAB.
func launched(r *ab.Result, a, b []float64) {
	at := map[string][]int{"A": {1, 4, 6, 7}, "B": {2, 3, 5, 8}}
	fill := func(side *ab.Side, name string, list []float64) {
		sum := 0.0
		for i, v := range list {
			side.Launches = append(side.Launches, ab.Launch{Number: at[name][i], Order: at[name][i], Value: v})
			sum += math.Log(v) / float64(len(list))
		}
		sum = math.Exp(sum)
		side.Value = &sum
	}
	fill(&r.A, "A", a)
	fill(&r.B, "B", b)
	change := *r.B.Value / *r.A.Value - 1
	r.Change = &change
}

func tested(r *ab.Result, q *ab.Question, stop stats.Outcome, look stats.Look, low, high float64) {
	r.Test = &verdict.Test{
		Form: verdict.Ratio, Terms: stats.Terms{Pass: 0.002, Fail: 0.015}, Plan: []int{4, 6, 8},
		Looks: []stats.Look{look}, Stop: stop,
	}
	if stop != stats.Passed && stop != stats.Failed {
		r.Test.Remarks = verdict.Because(code.SettlesNever, verdict.Num("gap", 0.001, "share"),
			verdict.Num("spread", 0.007, "share"), verdict.Int("launches", 12))
	}
	r.Rates = &gates.Settings{FalsePass: 0.01, FalseFail: 0.05, Min: 3, Max: 8}
	low, high = q.Claim.Change(low), q.Claim.Change(high)
	if low > high {
		low, high = high, low
	}
	r.Low, r.High, r.Stopped = &low, &high, stop
}

// Starts that broke and were made again, and earlier tries, stand beside the result: a pass must not hide them.
func TestCaveats(t *testing.T) {
	q := &ab.Question{}
	r := &ab.Result{Tries: facts("attempt 1 saw these launches"), Notes: []verdict.Reason{
		verdict.New(code.LaunchesPerArm, verdict.Int("n", 4)),
		verdict.New(code.LaunchReplaced).On("x").From(fact("the client was late")),
		verdict.New(code.LaunchReplaced).On("y").From(fact("the client was late")),
		verdict.New(code.LaunchesReplaced, verdict.Int("n", 1), verdict.Int("of", 5), verdict.Text("other", "A"),
			verdict.Int("other_n", 1), verdict.Int("other_of", 4)).On("B"),
		verdict.Say("launches.note", "{launches} of {of} launches",
			verdict.Int("launches", 4), verdict.Int("of", 8)).From(fact("tokens were counted as stream events")),
	}}
	tested(r, q, stats.Passed, stats.Look{N: 4}, 0.1, 0.2)
	r.B.Replaced, r.B.Broke = 3, 2
	r.B.All = []*ledger.Launch{{Purpose: "benchmark", OK: true}, {Purpose: "benchmark", Error: fact("it broke")}}
	r.A.Replaced = 1 // disturbed
	want := []string{
		"The server of B crashed in 3 of 5 measured starts, which have no numbers.",
		"Attempt 1 saw these launches.",
		"1 of 5 launches of B and 1 of 4 of A were replaced: the client was late.",
		"4 of 8 launches: tokens were counted as stream events.",
	}
	if got := caveats(r); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("to know: %q", got)
	}
}

// What would settle it is what the test says of itself; one that tested nothing says
// nothing.
func TestOpenAdvice(t *testing.T) {
	args := []verdict.Arg{verdict.Num("gap", 0.012, "share"), verdict.Num("spread", 0.02, "share")}
	for want, beside := range map[string]verdict.Reason{
		"6 launches of each would probably settle it: the same command with --launches 6": verdict.New(code.Settles,
			append(args, verdict.Int("launches", 6))...),
		"Even 12 launches": verdict.New(code.SettlesNever, append(args, verdict.Int("launches", 12))...),
		"": verdict.Say("beside.floored",
			"each arm's standard deviation is taken as at least {sd:2}, by which launches of this engine "+
				"differed before this session ({df:3} degrees of freedom{sessions?, measured in {sessions:and}}): "+
				"stored noise may widen a verdict, never narrow it"),
	} {
		claim, err := ab.ParseClaim("tg", "")
		must.Do(t, err)
		r := &ab.Result{Verdict: verdict.Inconclusive, Test: &verdict.Test{Remarks: []verdict.Reason{beside}}}
		r.A.Launches, r.B.Launches = make([]ab.Launch, 4), make([]ab.Launch, 4)
		r.Conclude(&ab.Question{Claim: claim, PP: 512, TG: 32, MustSeeB: []string{"*x*"}}, &ledger.End{})
		if got := strings.Join(r.Advice, "\n"); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", beside.Kind, got, want)
		}
	}
}

// What is to be said of what differs comes as a whole line, once for all of it.
func TestAdviceIsALine(t *testing.T) {
	const line = "mxflow ab --a 'K=1 ./serve.sh' --b ./serve.sh --tg 8 "
	q := &ab.Question{Again: func(more ...string) string { return line + strings.Join(more, " ") }}
	r := &ab.Result{Verdict: verdict.Invalid, Differs: []ab.Diff{
		{Name: "moe_kernel", Observed: true},
		{Name: "packages"},
		{Name: "attention", Observed: true},
		{Name: "dtype", Observed: true, Intended: "yes: --changes"},
		{What: "command"},
	}}
	r.Conclude(q, &ledger.End{})
	want := "If moe_kernel, attention, packages may differ, declare it: " + line +
		"--changes moe_kernel,attention --accept packages"
	if !slices.Contains(r.Advice, want) {
		t.Errorf("the advice is %q, want %q", r.Advice, want)
	}
}

// abGolden is what a person sees, by what came out.
var abGolden = []struct {
	name, claim string
	end         ledger.End
	fill        func(q *ab.Question, r *ab.Result)
}{
	{"pass", "+10%", ledger.End{Verdict: verdict.Pass}, func(q *ab.Question, r *ab.Result) {
		q.MustSeeB = []string{"*backend: CUTLASS*"}
		launched(r, []float64{31.58, 31.82, 31.63, 31.87}, []float64{38.4, 38.6, 38.5, 38.55})
		tested(r, q, stats.Passed, stats.Look{N: 4, PPass: 1.2e-7, PFail: 1}, 0.1928, 0.2274)
		r.Differs = append(r.Differs, ab.Diff{
			What: "moe_kernel (observed)", A: `"marlin"`, B: `"cutlass"`,
			Intended: "yes: --must-see", Observed: true,
		})
		r.Levels = append(
			[]ledger.Level{
				{
					Name: "kernels", Verdict: verdict.Pass,
					Reasons: facts(`ab = "B": seen "*backend: CUTLASS*" (line 41: [MXFP4] Using backend: CUTLASS)`),
				},
			},
			r.Levels...)
	}},
	{"pass_by_default", "", ledger.End{Verdict: verdict.Pass}, func(q *ab.Question, r *ab.Result) {
		launched(r, []float64{31.58, 31.82, 31.63, 31.87}, []float64{31.5, 31.9, 31.7, 31.8})
		tested(r, q, stats.Passed, stats.Look{N: 4, PPass: 7.6e-5, PFail: 1}, -0.016, 0.01)
	}},
	{"faster_by_default", "", ledger.End{Verdict: verdict.Pass}, func(q *ab.Question, r *ab.Result) {
		q.Again = func(more ...string) string {
			return "mxflow ab --a 'KERNEL=marlin ./serve.sh' --b 'KERNEL=gemm ./serve.sh' " + strings.Join(more, " ")
		}
		launched(r, []float64{31.58, 31.82, 31.63, 31.87}, []float64{38.4, 38.6, 38.5, 38.55})
		tested(r, q, stats.Passed, stats.Look{N: 4, PPass: 1.2e-7, PFail: 1}, 0.1928, 0.2274)
	}},
	{"fail", "+10%", ledger.End{Verdict: verdict.Fail, Exit: 2}, func(q *ab.Question, r *ab.Result) {
		launched(r, []float64{31.58, 31.82, 31.63, 31.7}, []float64{29, 28.8, 29.1, 28.9})
		tested(r, q, stats.Failed, stats.Look{N: 4, PPass: 1, PFail: 1.2e-6}, -0.1075, -0.0735)
	}},
	{"inconclusive", "+5%", ledger.End{Verdict: verdict.Inconclusive, Exit: 3}, func(q *ab.Question, r *ab.Result) {
		launched(r, []float64{31.58, 31.82, 31.63, 31.7}, []float64{33.1, 33.6, 32.9, 33.4})
		tested(r, q, stats.Ended, stats.Look{N: 4, PPass: 0.4, PFail: 0.6}, 0.02, 0.08)
	}},
	{
		"inconclusive_latency", "-5%",
		ledger.End{Verdict: verdict.Inconclusive, Exit: 3},
		func(q *ab.Question, r *ab.Result) {
			q.Claim, _ = ab.ParseClaim("ttft", "-5%")
			launched(r, []float64{310, 352, 300, 361}, []float64{302, 331, 340, 290})
			tested(r, q, stats.Futile, stats.Look{N: 4, PPass: 0.4, PFail: 0.6, Chance: 0.03}, -0.2, 0.22)
		},
	},
	{"invalid", "", ledger.End{Verdict: verdict.Invalid, Exit: 2}, func(q *ab.Question, r *ab.Result) {
		launched(r, []float64{31.58, 31.82}, []float64{61.2, 60.9})
		r.Levels[1] = ledger.Level{Name: "benchmark", Verdict: verdict.Invalid}
		worse := verdict.Say("answers.worse",
			"answers of {subject} to {cell} are worse than those of {other} ({answers} of {of})",
			verdict.Text("cell", "bench"), verdict.Text("other", "baseline"), verdict.Int("answers", 9),
			verdict.Int("of", 10)).On("B")
		r.Reasons = []verdict.Reason{(&ab.Question{}).Reworded(worse.From(fact("the same word 40 times in a row")))}
	}},
	{"unfit", "+10%", ledger.End{Verdict: verdict.Fail, Exit: 2}, func(_ *ab.Question, r *ab.Result) {
		r.Metrics, r.Levels = nil, []ledger.Level{{Name: "smoke", Verdict: verdict.Fail}}
		r.Reasons = []verdict.Reason{verdict.New(code.Level).On("smoke").Is(verdict.Fail).From(
			fact("the answer is the same word 40 times in a row"))}
		r.Unfit, r.Verdict, r.Exit = "A", verdict.Invalid, verdict.Invalid.ExitCode()
	}},
	{"crash", "+10%", ledger.End{Verdict: verdict.Error, Exit: 4}, func(q *ab.Question, r *ab.Result) {
		r.B.All = []*ledger.Launch{{}}
		r.Metrics, r.Levels = nil, []ledger.Level{{Name: "smoke", Verdict: verdict.Error}}
		r.Reasons = []verdict.Reason{verdict.New(code.Level).On("smoke").Is(verdict.Error).From(
			fact("engine could not become ready: it ended 41 s after its start, before it was ready (exit status 1)"))}
		r.LogTail = []string{
			"INFO loading weights",
			"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
		}
	}},
	{
		"interrupted", "+10%",
		ledger.End{Exit: 130, Reason: verdict.New(code.Interrupted)},
		func(q *ab.Question, r *ab.Result) {
			launched(r, []float64{31.58, 31.82}, []float64{38.4})
		},
	},
}

// How a comparison is shown is what people judge it by: it is kept word by word.
func TestOutput(t *testing.T) {
	for _, c := range abGolden {
		t.Run(c.name, func(t *testing.T) {
			metric := "tg"
			if c.claim == "-5%" {
				metric = "ttft"
			}
			claim, err := ab.ParseClaim(metric, c.claim)
			must.Do(t, err)
			kind, _ := kinds.Lookup("vllm")
			q := &ab.Question{PP: 2048, TG: 32, Concurrency: 1, Requests: 10, Warmup: 3, Claim: claim, Kind: kind}
			for i, text := range []string{"KERNEL=marlin ./serve.sh", "KERNEL=gemm ./serve.sh"} {
				if q.Arms[i], err = ab.ParseArm([]string{"a", "b"}[i], text); err != nil {
					t.Fatal(err)
				}
			}
			if q.Shape, err = ab.ShapeOf(q.Arms[0], q.Arms[1]); err != nil {
				t.Fatal(err)
			}
			at := ab.Place{
				Folder: ".mxflow-ab/1a2b3c4d", Plan: ".mxflow-ab/1a2b3c4d/ab.hcl",
				State: ".mxflow-ab/1a2b3c4d/.mxflow",
			}
			r := &ab.Result{
				Verdict: c.end.Verdict, Exit: c.end.Exit, Metric: metric, Unit: claim.Metric.Unit, Same: 23,
				Levels: []ledger.Level{
					{Name: "smoke", Verdict: verdict.Pass, Reasons: facts(`answered " Paris."`)},
					{Name: "benchmark", Verdict: verdict.Pass},
				},
				Metrics: abRows(),
				Differs: []ab.Diff{{What: "KERNEL", A: "marlin", B: "gemm", Intended: "yes: compared"}},
			}
			c.fill(q, r)
			r.Conclude(q, &c.end)
			var out bytes.Buffer
			show := &AB{on: table.Screen{Writer: &out, Width: 80}, Question: q, Place: at}
			show.print(r, 754*time.Second)
			path := filepath.Join("testdata", c.name+".golden")
			if *update {
				must.Do(t, os.WriteFile(path, out.Bytes(), 0o644))
			}
			want, err := os.ReadFile(path)
			if err != nil || out.String() != string(want) {
				t.Errorf("%s is out of date (%v): go test ./cmd/mxflow/internal/view -run TestOutput -update\n%s", path,
					err, out.String())
			}
			for line := range strings.SplitSeq(out.String(), "\n") {
				if strings.HasSuffix(line, " ") || strings.Contains(line, "NaN") || strings.Contains(line, "%!") {
					t.Errorf("%q", line)
				}
			}
		})
	}
}

// abRows are a metric that differs by no more than launches do, and one that does.
func abRows() []report.Comparison {
	launches := func(pp, memory [2]float64) (out []*ledger.Launch) {
		for i := range 2 {
			out = append(out,
				&ledger.Launch{Cells: []measure.CellRun{{Cell: "bench"}}, Metrics: map[string]measure.Summary{
					"bench.pp": {
						Unit: "tok/s", Better: measure.Higher,
						Stats: map[string]float64{"median": pp[i]},
					},
					"engine.memory_gb": {
						Unit: "GB", Better: measure.Lower,
						Stats: map[string]float64{"median": memory[i]},
					},
				}})
		}
		return out
	}
	return report.Comparisons(launches([2]float64{4400, 4541}, [2]float64{4.2, 4.201}),
		launches([2]float64{4481, 4482}, [2]float64{4.4, 4.401}), true, nil)
}

// TestFirstLookNotReached: a rule on one arm has no other to count.
func TestFirstLookNotReached(t *testing.T) {
	for against, want := range map[string]string{
		"":         "Still open: 3 launches recorded, first look not reached.",
		"baseline": "Still open: 3 against 2 launches recorded, first look not reached.",
	} {
		test := &verdict.Test{Form: verdict.LogLevel, Against: against, Values: []float64{1, 2, 3}}
		if against != "" {
			test.Base = []float64{1, 2}
		}
		if got := conclusions(test); !slices.Contains(got, want) {
			t.Errorf("%q, want %s", got, want)
		}
	}
}

// How the last run ended is a sentence, whatever ended it.
func TestWork(t *testing.T) {
	for want, last := range map[string]ledger.RunInfo{
		"last run r1 finished, exit status 4": {
			ID: "r1", Exit: 4,
			Reason: verdict.New(code.Finished),
		},
		"last run r1 interrupted, exit status 130": {
			ID: "r1", Exit: 130,
			Reason: verdict.New(code.Interrupted),
		},
		"last run r1 stopped, exit status 4: cannot record: no space left": {
			ID: "r1", Exit: 4,
			Reason: verdict.OfError(errors.New("cannot record: no space left")),
		},
		"last run r1 did not finish (killed?), exit status -1": {
			ID: "r1", Exit: -1,
			Reason: verdict.Say("abandoned", "did not finish (killed?)"),
		},
	} {
		must.Equal(t, "the last run", Work(report.Work{}, last), want)
	}
}
