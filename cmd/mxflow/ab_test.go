package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestTestWords: what was not screened is not called so, and a chance of nothing is
// not printed as one of 0%.
func TestTestWords(t *testing.T) {
	for name, c := range map[string]struct {
		stop   verdict.Stop
		n      int
		chance float64
		want   string
	}{
		"screened":     {verdict.StopScreen, 1, 0, "screened: one launch of each"},
		"not screened": {verdict.StopEnd, 1, 0, "none: one launch of each"},
		"futile":       {verdict.StopFutile, 4, 0.032, "more launches would have told with a chance of 3.2%, so it stopped"},
		"hopeless":     {verdict.StopFutile, 4, 1e-9, "more launches would hardly have told (in less than 0.1% of cases), so it stopped"},
	} {
		got := testWords(&verdict.Test{Form: verdict.Ratio, Stop: c.stop, Looks: []verdict.Look{{N: c.n, Chance: c.chance}}})
		if !strings.Contains(got, c.want) || strings.Contains(got, "of 0%") || strings.Contains(got, "screened") != (c.stop == verdict.StopScreen) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestPortDiffers: that one of two scripts is told its port by a variable is not what
// is compared.
func TestPortDiffers(t *testing.T) {
	q := &ab{}
	q.shape.Own[0].Env = map[string]string{"KERNEL": "marlin"}
	q.shape.Own[1].Env = map[string]string{"KERNEL": "gemm", "PORT": "{port}"}
	r := &abResult{}
	r.differences(q)
	for _, d := range r.Differs {
		want := map[string]string{"KERNEL": "yes: it is what is compared", "PORT": "yes: it says where one listens"}[d.What]
		if want == "" || d.Intended != want {
			t.Errorf("%+v", d)
		}
	}
	if len(r.Differs) != 2 {
		t.Errorf("%+v", r.Differs)
	}
}

func TestClaims(t *testing.T) {
	for _, c := range []struct {
		metric, text, rule, says, not string
	}{
		{"tg", "", "bench.tg.gain >= -0.03", "is at most 3% slower than A (x)", "is more than 3% slower than A (x)"},
		{"tg", "+10%", "bench.tg.gain >= 0.1", "is at least 10% faster than A (x)", "is less than 10% faster than A (x)"},
		{"tg", " -2.5 % ", "bench.tg.gain >= -0.025", "is at most 2.5% slower than A (x)", "is more than 2.5% slower than A (x)"},
		{"pp", "+0%", "bench.pp.gain >= 0", "is not slower than A (x)", "is slower than A (x)"},
		{"ttft", "", "bench.ttft.gain >= -0.03", "takes at most 3% more time than A (x)", "takes more than 3% more time than A (x)"},
		{"ttft", "-10%", "bench.ttft.gain >= 0.1", "takes at least 10% less time than A (x)", "does not take 10% less time than A (x)"},
		{"ttft", "+5%", "bench.ttft.gain >= -0.05", "takes at most 5% more time than A (x)", "takes more than 5% more time than A (x)"},
		{"e2e", "+0%", "bench.e2e.gain >= 0", "takes no more time than A (x)", "takes more time than A (x)"},
	} {
		got, err := parseClaim(c.metric, c.text)
		if err != nil || got.rule() != c.rule || got.says("x") != c.says || got.not("x") != c.not {
			t.Errorf("%s %q: %q, %q, %q (%v); want %q, %q, %q", c.metric, c.text, got.rule(), got.says("x"), got.not("x"), err, c.rule, c.says, c.not)
		}
	}
	for _, c := range [][3]string{
		{"tg", "10%", "write '+10%'"},
		{"tg", "+10", "write '+10%'"},
		{"tg", "+1x", "write"},
		{"tg", "+NaN%", "write"},
		{"tg", ">= 32", "write"},
		{"tg", "-95%", "out of reach"},
		{"tg", "+1e9%", "write"},
		{"tg", "+9999999999%", "out of reach"},
		{"ttft", "-100%", "out of reach"},
		{"watts", "+1%", "none of"},
	} {
		if got, err := parseClaim(c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s %q: %v, %v; want %q", c[0], c[1], got, err, c[2])
		}
	}
}

// What is said beside the answer is true of the bounds.
func TestBesideTheAnswer(t *testing.T) {
	for _, c := range []struct {
		metric, claim string
		low, high     float64
		way, worse    string
	}{
		{"tg", "", -0.029, -0.01, " It is slower, by 2.9% at most.", ""},
		{"tg", "", 0.011, 0.05, " It is faster, by 1.1% at least.", ""},
		{"tg", "", -0.01, 0.05, " Whether it is faster stays open.", ""},
		{"ttft", "", 0.01, 0.025, " It is slower, by 2.5% at most.", ""},
		{"tg", "+10%", -0.12, -0.07, "", " It is slower, by 7.0% at least."},
		{"tg", "+10%", -0.02, 0.07, "", ""},
		{"ttft", "-10%", 0.3, 2.8, "", " It takes more, by 30.0% at least."},
		{"ttft", "-10%", -0.08, 0.2, "", ""},
	} {
		claim, err := parseClaim(c.metric, c.claim)
		if err != nil {
			t.Fatal(err)
		}
		r := &abResult{Low: &c.low, High: &c.high}
		if got := r.worse(claim); got != c.worse {
			t.Errorf("%s %q [%v, %v]: %q, want %q", c.metric, c.claim, c.low, c.high, got, c.worse)
		}
		if got := r.whichWay(claim); c.claim == "" && got != c.way {
			t.Errorf("%s [%v, %v]: %q, want %q", c.metric, c.low, c.high, got, c.way)
		}
	}
}

// launched are launches in the order ABBA BAAB.
func (r *abResult) launched(a, b []float64) {
	at := map[string][]int{"A": {1, 4, 6, 7}, "B": {2, 3, 5, 8}}
	fill := func(side *abSide, name string, list []float64) {
		sum := 0.0
		for i, v := range list {
			side.Launches = append(side.Launches, abLaunch{Number: at[name][i], Order: at[name][i], Value: v})
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

func (r *abResult) tested(q *ab, stop verdict.Stop, look verdict.Look, low, high float64) {
	r.test = &verdict.Test{Form: verdict.Ratio, Pass: 0.002, Fail: 0.015, Plan: []int{4, 6, 8}, Looks: []verdict.Look{look}, Stop: stop}
	r.rates = &ledger.Statistics{FalsePass: 0.01, FalseFail: 0.05, Min: 3, Max: 8}
	low, high = q.claim.change(low), q.claim.change(high)
	if low > high {
		low, high = high, low
	}
	r.Low, r.High, r.Stopped = &low, &high, stop
}

// Starts that broke and were made again, and questions that were asked otherwise
// before, stand beside the result: a pass must not hide them.
func TestABToKnow(t *testing.T) {
	q := &ab{}
	r := &abResult{Moved: facts("attempt 1 saw these launches"), Notes: []verdict.Reason{
		verdict.New(code.LaunchesPerArm, verdict.Int("n", 4)),
		verdict.New(code.LaunchReplaced).On("x").From(fact("it broke")),
		verdict.New(code.LaunchesNote, verdict.Int("launches", 4), verdict.Int("of", 8)).From(fact("tokens were counted as stream events")),
	}}
	r.tested(q, verdict.StopPass, verdict.Look{N: 4}, 0.1, 0.2)
	r.B.Replaced, r.B.Broke = 3, 2
	r.B.all = []*ledger.Launch{{Purpose: "benchmark", OK: true}, {Purpose: "benchmark", Error: fact("it broke")}}
	r.A.Replaced = 1 // disturbed
	want := []string{"The server of B broke in 3 of 5 starts that were to be measured. Those give no number.", "Attempt 1 saw these launches.", "4 of 8 launches: tokens were counted as stream events."}
	if got := r.toKnow(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("to know: %q", got)
	}
	rows := (&abShow{q: q}).checked(r)
	if last := rows[len(rows)-1]; last[0] != "errors" || !strings.HasSuffix(last[1], "here that does not hold, see below") {
		t.Errorf("checked: %q", rows)
	}
}

// What more launches would show is said of as many as were asked for.
func TestABAdviceOfTwelveLaunches(t *testing.T) {
	for launches, want := range map[int]string{0: "so that 8 of each", 12: "so that 12 of each"} {
		claim, err := parseClaim("tg", "+1%")
		if err != nil {
			t.Fatal(err)
		}
		q := &ab{launches: launches, claim: claim}
		r := &abResult{Stopped: verdict.StopFutile}
		r.launched([]float64{31, 32, 33, 31}, []float64{31.2, 32.4, 33.4, 31.3})
		r.openAdvice(q, 4)
		if got := strings.Join(r.Advice, "\n"); !strings.Contains(got, want) {
			t.Errorf("of %d: %q, want %q", launches, got, want)
		}
	}
}

// A launch that does not count is no number of its arm, though nothing took its
// place.
func TestABLeavesOutWhatDoesNotCount(t *testing.T) {
	s := newRecordedState(t)
	s.apply(planWith(tenPercent, tenPercent), nil)
	for i, why := range [][]verdict.Reason{nil, facts("the client was woken late")} {
		s.append(&ledger.Record{Type: "launch", Launch: &ledger.Launch{
			ID: []string{"s-1.B.1", "s-1.B.2"}[i], Session: "s-1", Purpose: "benchmark", Variant: "B", VariantKey: "B", Work: "w", Ordinal: i + 1, Order: i + 1, Started: s.at, OK: true, Invalid: why,
			Metrics: map[string]measure.Summary{"bench.tg": {Unit: "tok/s", Better: measure.Higher, N: 1, Stats: map[string]float64{"median": 30}}},
		}})
	}
	var r abResult
	r.gather(s.st, map[string]*ledger.Decision{runtime.BenchmarkID("B"): {Session: "s-1"}}, "tg")
	if len(r.B.Launches) != 1 || r.B.Launches[0].ID != "s-1.B.1" || len(r.B.all) != 2 {
		t.Errorf("%+v", r.B)
	}
	ev := rewordAB(runtime.Event{Type: "launch_started", Variant: "baseline", Why: verdict.New(code.WokenLate).On("bench")})
	if said := tell.Line(ev.Why); ev.Variant != "A" || !strings.HasSuffix(said, "or allow more with --max-lag") {
		t.Error(ev.Variant, said)
	}
}

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{"": "", "done": "Done.", "éteint!": "Éteint!", "?": "?"} {
		if got := sentence(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A server is told its port, or its command says where it listens; its kind shows
// in the command or in the script that it runs.
func TestListening(t *testing.T) {
	t.Chdir(t.TempDir())
	script := func(name, text string) {
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("told.sh", "exec vllm serve m --port $MXFLOW_PORT\n")
	script("silent.sh", "# vllm serve is not it\nexec ./server\n")
	for _, c := range []struct {
		a, b  string
		fixed int
		// port is the fixed one, args what both get; a and b end so with theirs.
		port      int
		args      bool
		endsA     string
		environed bool
		says      string
	}{
		{"./told.sh", "K=1 ./told.sh", 0, 0, false, "", true, ""},
		{"./server -p {port}", "K=1 ./server -p {port}", 0, 0, false, "", false, ""},
		{"PORT=1 ./silent.sh", "./silent.sh", 0, 0, false, "", false, ""},
		{"sh -c 'exec ./server -p $MXFLOW_PORT'", "./told.sh", 0, 0, false, "", true, ""},
		{"vllm serve m", "K=1 vllm serve m", 0, 0, true, "", false, ""},
		{"python -m sglang.launch_server --model m", "./told.sh", 0, 0, false, "--port {port}", false, ""},
		{"vllm serve m --port 8001", "K=1 vllm serve m --port=8001", 0, 8001, false, "", false, ""},
		{"vllm serve m --port 8001", "./told.sh", 0, 8001, false, "", false, ""},
		{"vllm serve m --port 9000", "vllm serve m --port 8000", 0, 0, false, "", false, "port 9000 and that of --b on 8000"},
		{"./silent.sh", "vllm serve m --port 8001", 7000, 7000, false, "", false, ""},
	} {
		a, errA := parseArm("a", c.a)
		b, errB := parseArm("b", c.b)
		arms := [2]abArm{a, b}
		port, args, err := settlePorts(&arms, c.fixed)
		if errA != nil || errB != nil || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s / %s: %v, want %q", c.a, c.b, err, c.says)
		}
		if port != c.port || (args != nil) != c.args || !strings.HasSuffix(strings.Join(arms[0].Words, " "), c.endsA) || (arms[0].Env["PORT"] == "{port}") != c.environed {
			t.Errorf("%s / %s: port %d, args %q, %+v", c.a, c.b, port, args, arms[0])
		}
	}
	kinds := map[[2]string]string{
		{"./told.sh", "K=1 ./told.sh"}: "vllm", {"./silent.sh", "K=1 ./silent.sh"}: "openai", {"vllm serve m", "sglang serve m"}: "openai",
		{"llama-server -m a.gguf", "x/llama-server -m a.gguf"}: "llamacpp", {"mxflow engine serve", "K=1 mxflow engine serve"}: "embedded",
	}
	for texts, want := range kinds {
		a, _ := parseArm("a", texts[0])
		b, _ := parseArm("b", texts[1])
		if k, err := kindOf("", [2]abArm{a, b}); err != nil || k.Name != want {
			t.Errorf("%q: %s, %v; want %s", texts, k.Name, err, want)
		}
	}
}

// abRows are a metric that differs by no more than launches do, and one that does.
func abRows() []abRow {
	rows := []abRow{{Metric: "pp2048", Unit: "tok/s", A: 4470, B: 4481, Change: 4481.0/4470 - 1}, {Metric: "host memory", Unit: "GB", A: 4.2, B: 4.4, Change: 4.4/4.2 - 1, Better: "worse"}}
	rows[0].bound([]float64{4400, 4541}, []float64{4481, 4482})
	rows[1].bound([]float64{4.2, 4.201}, []float64{4.4, 4.401})
	return rows
}

// Every metric that a claim can be about has a direction and is positive.
func TestABMetrics(t *testing.T) {
	for _, m := range abMetrics() {
		if m.Better == measure.Neither {
			t.Errorf("%s is better in no direction", m.Name)
		}
	}
}

// An interval around no change at all calls nothing better or worse, and one start
// of each bounds nothing.
func TestABAlsoMeasured(t *testing.T) {
	for _, c := range []struct {
		a, b           []float64
		bounded, apart bool
	}{
		{[]float64{1008, 900, 1100, 950}, []float64{840, 1090, 700, 1120}, true, false},
		{[]float64{100, 101, 99, 100}, []float64{120, 121, 119, 120}, true, true},
		{[]float64{100, 101, 99, 100}, []float64{80, 81, 79, 80}, true, true},
		{[]float64{100}, []float64{200}, false, false},
		{nil, nil, false, false},
		{[]float64{100, 100}, []float64{200, 200}, false, false},
		{[]float64{0, 1}, []float64{2, 3}, false, false},
	} {
		row := abRow{}
		if apart := row.bound(c.a, c.b); apart != c.apart || (row.Low != nil) != c.bounded {
			t.Errorf("%v against %v: apart %v, interval %v", c.b, c.a, apart, row.Low)
		}
	}
}

// The command line that stands in a plan asks for the same plan again.
func TestABLine(t *testing.T) {
	q := &ab{a: "vllm serve m", b: "vllm serve m --x", pp: 64, tg: 16, concurrency: 1, metric: "tg", api: "completions", caches: "own"}
	q.coherence, q.expect, q.timeout, q.maxLag = "off", "Paris is", 20*time.Minute, 300*time.Millisecond
	if err := q.check(new(app).abCommand()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--coherence off", "--expect 'Paris is'", "--timeout 20m0s", "--max-lag 300ms"} {
		if !strings.Contains(q.commandLine, want) {
			t.Errorf("%q is not in %s", want, q.commandLine)
		}
	}
}

// A launch that another one stands in for counts nowhere, and is told.
func TestABReplaced(t *testing.T) {
	first := &ledger.Launch{ID: "s.B.1", OK: true, Invalid: facts("woken up late")}
	second := &ledger.Launch{ID: "s.B.1r1", OK: true, Replaces: "s.B.1"}
	all := []*ledger.Launch{first, second}
	if !again(first, all) || again(second, all) {
		t.Errorf("%v, %v", again(first, all), again(second, all))
	}
	var out bytes.Buffer
	r := &abResult{}
	r.B = abSide{Launches: []abLaunch{{Order: 2, Value: 3}}, Replaced: 1}
	(&abShow{app: &app{stdout: &out}, q: &ab{}}).launchLines(r)
	if !strings.Contains(out.String(), "  in the order B; 1 launch made again because the machine was disturbed") {
		t.Error(out.String())
	}
}

// A launch has one number, in the progress and in all that is said of it: that of its
// turn, also where it is made again, and its ID stays what it can be looked up by.
func TestABNumbers(t *testing.T) {
	s := newRecordedState(t)
	s.apply(planWith(tenPercent, tenPercent), nil)
	for i, l := range []ledger.Launch{
		{ID: "s-1.baseline.1", Variant: "baseline", Ordinal: 1, OK: true},
		{ID: "s-1.B.1", Variant: "B", Ordinal: 1, OK: true, Invalid: facts("woken late"), Disturbed: true},
		{ID: "s-1.B.1r1", Variant: "B", Ordinal: 1, OK: true, Replaces: "s-1.B.1"},
		{ID: "s-1.B.2", Variant: "B", Ordinal: 2, Error: fact("it ended")},
	} {
		l.Session, l.Purpose, l.Node, l.VariantKey, l.Work, l.Order, l.Started = "s-1", "benchmark", "feature.B.benchmark", l.Variant, "w", i+1, s.at
		s.append(&ledger.Record{Type: "launch", Launch: &l})
	}
	r := &abResult{}
	r.number(s.st, "s-1")
	replaced := verdict.New(code.LaunchReplaced).On("s-1.B.1").From(fact("woken late"))
	cpu := verdict.New(code.EntryDiffers, verdict.Text("one", "s-1.baseline.1"), verdict.Text("value", "a"), verdict.Text("other", "s-1.B.1r1"), verdict.Text("other_value", "b")).On("cpu")
	for i, of := range []verdict.Reason{
		replaced,
		verdict.New(code.EnvironmentApart, verdict.Text("other", "B")).On("baseline").From(cpu),
		verdict.New(code.LaunchLost, verdict.Int("number", 1), verdict.Text("variant", "baseline")).On("s-1.baseline.1").From(fact("it ended; launch s-1.B.12 is none")),
		verdict.New(code.MetricLacking, verdict.Text("metric", "bench.tg"), verdict.Text("recorded", "s-1.baseline.1")).On("s-1.baseline.1"),
	} {
		want := []string{
			"launch 2 (B) was replaced: woken late",
			"A and B were not measured in one environment: cpu is a in launch 1 (A) and b in launch 2 again (B).",
			"launch 1 (A): it ended; launch s-1.B.12 is none",
			"launch 1 (A) has no tg (mxflow show s-1.baseline.1)",
		}[i]
		if got := tell.Line(r.reason(of)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if again := tell.Line(replaced); again != "launch s-1.B.1 was replaced: woken late" {
		t.Errorf("the decision's own reason has become %q", again)
	}
	r.number(s.st, "")
	if len(r.numbers)+len(r.named) != 0 {
		t.Errorf("of no session: %v", r.named)
	}
}

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
			p, _, _, err := (&app{stdout: &stderr, stderr: &stderr}).load(path, nil, "")
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

func TestShapeOfTwoCommands(t *testing.T) {
	none := map[string]string{}
	env := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for _, c := range []struct {
		a, b string
		want abShape
	}{
		{"K=1 ./serve.sh", "K=2 ./serve.sh", abShape{none, []string{"./serve.sh"}, nil, [2]abOwn{{Env: env("K", "1")}, {Env: env("K", "2")}}}},
		{"X=0 ./serve.sh", "X=0 K=2 ./serve.sh", abShape{env("X", "0"), []string{"./serve.sh"}, nil, [2]abOwn{{Env: none}, {Env: env("K", "2")}}}},
		{"serve m", "serve m --fast", abShape{none, []string{"serve", "m"}, nil, [2]abOwn{{Env: none, Args: []string{}}, {Env: none, Args: []string{"--fast"}}}}},
		{"serve --k 1 --x", "serve --k 2", abShape{none, []string{"serve"}, nil, [2]abOwn{{Env: none, Args: []string{"--k", "1", "--x"}}, {Env: none, Args: []string{"--k", "2"}}}}},
		{"--odd 1", "--odd 2", abShape{none, []string{"--odd"}, nil, [2]abOwn{{Env: none, Args: []string{"1"}}, {Env: none, Args: []string{"2"}}}}},
		{"old/serve m", "K=1 new/serve m", abShape{none, []string{"old/serve", "m"}, nil, [2]abOwn{{Env: none}, {Env: env("K", "1"), Command: []string{"new/serve", "m"}}}}},
	} {
		a, errA := parseArm("a", c.a)
		b, errB := parseArm("b", c.b)
		got, err := shapeOf(a, b)
		if errA != nil || errB != nil || err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s / %s: %#v (%v %v %v), want %#v", c.a, c.b, got, errA, errB, err, c.want)
		}
	}
}

func TestArmsThatCannotBe(t *testing.T) {
	for text, says := range map[string]string{
		"":                            "no command",
		"K=1":                         "no command",
		"'' x":                        "no command",
		"HF_TOKEN=abc ./s":            "HF_TOKEN looks like a secret",
		"OPENAI_API_KEY=x ./s":        "looks like a secret",
		"./s --api-key sk-1":          "behind --api-key looks like a secret",
		"./s --hf-token=hf_1":         "behind --hf-token looks like a secret",
		"K=1 ./s 'x":                  "not closed",
		"./s\x00":                     "NUL",
		"MAX_TOKENS=4 TOKEN_X=1 ./s*": "sh -c",
	} {
		if _, err := parseArm("b", text); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "--b") {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	if _, err := parseArm("a", "MAX_TOKENS=4 HF_TOKEN= ./s"); err != nil {
		t.Error(err)
	}
	a, _ := parseArm("a", "K=1 ./s  x")
	b, _ := parseArm("b", "K='1' ./s 'x'")
	if _, err := shapeOf(a, b); err == nil || !strings.Contains(err.Error(), "the same command") {
		t.Errorf("the same command twice: %v", err)
	}
}

// Words are those that a shell would make of the same text, as far as no shell is
// needed.
func TestShellWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"   ", nil},
		{"./serve.sh", []string{"./serve.sh"}},
		{"  KERNEL=marlin\t./serve.sh  ", []string{"KERNEL=marlin", "./serve.sh"}},
		{`a 'b c' "d e" f\ g`, []string{"a", "b c", "d e", "f g"}},
		{`a'b'"c"d`, []string{"abcd"}},
		{`'' "" x`, []string{"", "", "x"}},
		{`--json '{"a": [1, "$x"]}'`, []string{"--json", `{"a": [1, "$x"]}`}},
		{`"a \"b\" \\ \$c \d"`, []string{`a "b" \ $c \d`}},
		{`a\|b`, []string{"a|b"}},
		{"a \\\n b", []string{"a", "b"}},
		{"x#y", []string{"x#y"}},
		{"a~b --port {port}", []string{"a~b", "--port", "{port}"}},
		{"ü 'é à'", []string{"ü", "é à"}},
	} {
		got, err := shellWords(c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v; want %q", c.text, got, err, c.want)
		}
		if len(got) == 0 {
			continue
		}
		out, err := exec.Command("sh", "-c", "printf '%s\\0' "+c.text).Output()
		if shell := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(got, shell) {
			t.Errorf("%q: %q, and a shell makes %q of it (%v)", c.text, got, shell, err)
		}
	}
}

// What takes a shell is refused, with a command that does the same through one.
func TestShellWordsNeedAShell(t *testing.T) {
	for _, text := range []string{
		"./serve.sh | tee log", "a && b", "a; b", "a > log", "a < in", "A=1 ./serve.sh $MODEL", `./serve.sh "$MODEL"`, "a `id`", "a $(id)",
		"ls *.gguf", "a ?", "a [b]", "~/serve", "A=~/x b", "a # no", "a\nb", "KERNEL='x y' ./serve.sh $A 'q' | cat",
	} {
		_, err := shellWords(text)
		var shell *needsShell
		if !errors.As(err, &shell) {
			t.Errorf("%q: %v, want it to need a shell", text, err)
			continue
		}
		_, err = parseArm("a", text)
		if err == nil || !strings.Contains(err.Error(), "sh -c") {
			t.Errorf("%q: %v says nothing of sh -c", text, err)
		}
		arm, err := parseArm("a", throughShell(text))
		if err != nil || arm.Words[0] != "sh" || arm.Words[1] != "-c" || len(arm.Words) != 3 {
			t.Errorf("%q: the cure %q is %q, %v", text, throughShell(text), arm.Words, err)
		}
	}
	for _, text := range []string{"'a", `"a`, `a\`, `"a\`} {
		if words, err := shellWords(text); err == nil {
			t.Errorf("%q is taken for %q", text, words)
		}
	}
}

// Whatever is quoted is read as it was.
func FuzzShellWords(f *testing.F) {
	f.Add("a 'b c'", "x\x00y")
	f.Add(`"$A" | \`, "it's {port}")
	f.Fuzz(func(t *testing.T, text, word string) {
		_, _ = shellWords(text)
		_, _ = parseArm("a", throughShell(text))
		words := []string{word, text, ""}
		got, err := shellWords(shellJoin(words))
		if err != nil || !slices.Equal(got, words) {
			t.Fatalf("%q became %q, %v", words, got, err)
		}
	})
}

// What env leaves out of a script is nothing that a comparison records.
func TestSecretsInCommands(t *testing.T) {
	for _, name := range []string{"HF_TOKEN", "DB_PASSWORD", "API_KEY", "SERVICE_CREDENTIALS", "PROXY_AUTH", "session_cookie"} {
		if _, err := parseArm("a", name+"=x ./serve.sh"); err == nil || !strings.Contains(err.Error(), "looks like a secret") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := parseArm("a", name+"= ./serve.sh"); err != nil {
			t.Errorf("%s without a value: %v", name, err)
		}
	}
	if _, err := parseArm("a", "MOE_KERNEL=marlin TOKENS=4 ./serve.sh"); err != nil {
		t.Error(err)
	}
}
