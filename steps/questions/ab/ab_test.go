package ab

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// TestPortDiffers: that one of two scripts is told its port by a variable is not what
// is compared.
func TestPortDiffers(t *testing.T) {
	q := &Question{}
	q.Shape.Own[0].Env = map[string]string{"KERNEL": "marlin"}
	q.Shape.Own[1].Env = map[string]string{"KERNEL": "gemm", "PORT": "{port}"}
	r := &Result{}
	r.differences(q)
	for _, d := range r.Differs {
		want := map[string]string{"KERNEL": "yes: compared", "PORT": "yes: address to listen on"}[d.What]
		if want == "" || d.Intended != want {
			t.Errorf("%+v", d)
		}
	}
	must.Equal(t, r.Differs, len(r.Differs), 2)
}

func TestClaims(t *testing.T) {
	for _, c := range []struct {
		metric, text, rule, says, not string
	}{
		{"tg", "", "bench.tg.gain >= -0.03", "is at most 3% slower than A (x)", "is more than 3% slower than A (x)"},
		{
			"tg", "+10%", "bench.tg.gain >= 0.1", "is at least 10% faster than A (x)",
			"is less than 10% faster than A (x)",
		},
		{
			"tg", " -2.5 % ", "bench.tg.gain >= -0.025", "is at most 2.5% slower than A (x)",
			"is more than 2.5% slower than A (x)",
		},
		{
			"tg", ">= -3%", "bench.tg.gain >= -0.03", "is at most 3% slower than A (x)",
			"is more than 3% slower than A (x)",
		},
		{
			"tg", ">= 10%", "bench.tg.gain >= 0.1", "is at least 10% faster than A (x)",
			"is less than 10% faster than A (x)",
		},
		{
			"ttft", "<= -10%", "bench.ttft.gain >= 0.1", "takes at least 10% less time than A (x)",
			"does not take 10% less time than A (x)",
		},
		{"pp", "+0%", "bench.pp.gain >= 0", "is not slower than A (x)", "is slower than A (x)"},
		{
			"capacity", "+10%", "bench.capacity.gain >= 0.1", "carries at least 10% more than A (x)",
			"carries less than 10% more than A (x)",
		},
		{
			"capacity", "+0%", "bench.capacity.gain >= 0", "carries no less than A (x)",
			"carries less than A (x)",
		},
		{
			"ttft", "", "bench.ttft.gain >= -0.03", "takes at most 3% more time than A (x)",
			"takes more than 3% more time than A (x)",
		},
		{
			"ttft", "-10%", "bench.ttft.gain >= 0.1", "takes at least 10% less time than A (x)",
			"does not take 10% less time than A (x)",
		},
		{
			"ttft", "+5%", "bench.ttft.gain >= -0.05", "takes at most 5% more time than A (x)",
			"takes more than 5% more time than A (x)",
		},
		{"e2e", "+0%", "bench.e2e.gain >= 0", "takes no more time than A (x)", "takes more time than A (x)"},
	} {
		got, err := ParseClaim(c.metric, c.text)
		if err != nil || got.Rule("bench") != c.rule || got.Says("x") != c.says || got.Not("x") != c.not {
			t.Errorf("%s %q: %q, %q, %q (%v); want %q, %q, %q", c.metric, c.text, got.Rule("bench"), got.Says("x"),
				got.Not("x"), err, c.rule, c.says, c.not)
		}
	}
	for _, c := range [][3]string{
		{"tg", "10%", "write '+10%'"},
		{"tg", "+10", "write '+10%'"},
		{"tg", "+1x", "write"},
		{"tg", "+NaN%", "write"},
		{"tg", ">= 32", "write"},
		{"tg", "<= -3%", "write '>= -3%'"},
		{"ttft", ">= 3%", "write '<= 3%'"},
		{"tg", "-95%", "out of reach"},
		{"tg", "+1e9%", "write"},
		{"tg", "+9999999999%", "out of reach"},
		{"ttft", "-100%", "out of reach"},
		{"watts", "+1%", "not one of"},
	} {
		if got, err := ParseClaim(c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s %q: %v, %v; want %q", c[0], c[1], got, err, c[2])
		}
	}
}

// A launch that does not count is no number of its arm, though nothing took its
// place.
func TestABLeavesOutWhatDoesNotCount(t *testing.T) {
	st, at := recorded(t), time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for i, why := range [][]verdict.Reason{nil, {fact("the client was woken late")}, {fact("cached")}, nil} {
		put(t, st, &ledger.Launch{
			ID: []string{"s-1.B.1", "s-1.B.2", "s-1.B.3", "s-1.B.3r1"}[i], Replaces: []string{3: "s-1.B.3"}[i],
			Session: "s-1", Purpose: "benchmark", Variant: "B", VariantKey: "B", Work: "w", Ordinal: i + 1,
			Order: i + 1, Started: at, OK: true, Invalid: why,
			Metrics: map[string]measure.Summary{"bench.tg": {
				Unit: "tok/s", Better: measure.Higher, N: 1,
				Stats: map[string]float64{"median": 30},
			}},
		})
	}
	r := Result{q: &Question{Cell: "bench"}, Metric: "tg"}
	r.gather(st, map[string]*ledger.Decision{runtime.BenchmarkID("B"): {Session: "s-1"}})
	r.compare()
	if len(r.B.Launches) != 2 || r.B.Launches[0].ID != "s-1.B.1" || r.B.Launches[1].ID != "s-1.B.3r1" ||
		len(r.B.All) != 3 || r.B.Replaced != 1 || r.B.Broke != 0 {
		t.Errorf("%+v", r.B)
	}
	ev := (&Question{}).Reword(runtime.Event{
		Type: "launch_started", Variant: "baseline",
		Why: verdict.New(code.WokenLate).On("bench"),
	})
	if said := ev.Why.String(); ev.Variant != "A" || !strings.HasSuffix(said, "or allow more with --max-lag") {
		t.Error(ev.Variant, said)
	}
	// Advice about a plan is about flags where there is none.
	for fact, want := range map[code.Fact]string{
		code.SelfDisagrees: "With --answers unchecked only",
		code.AgreementOpen: "on purpose declares --answers 0.8",
	} {
		why := verdict.New(fact, verdict.Text("remedy", "a level"), verdict.Text("other", "baseline")).On("B")
		if said := (&Question{Answers: "checked"}).Reworded(why).String(); !strings.Contains(said, want) {
			t.Errorf("%q, want %q", said, want)
		}
		if said := (&Question{Of: &plans.Plan{}}).Reworded(why).String(); !strings.Contains(said, "a level") {
			t.Error(said)
		}
	}
}

// A server is told its port, or its command says where it listens; its kind shows
// in the command or in the script that it runs.
func TestListening(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"told.sh":   "exec vllm serve m --port $MXFLOW_PORT\n",
		"silent.sh": "# vllm serve is not it\nexec ./server\n",
		"env.py":    "serve(int(os.environ['PORT']))\n",
		"fixed.py":  "PORT = 8000\nserve(PORT)\n",
	} {
		must.Do(t, os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755))
	}
	for _, c := range []struct {
		a, b  string
		fixed int
		// port is the fixed one, args what both get; a and b end so with theirs.
		port      int
		args      bool
		endsA     string
		environed bool
		says      string
		doubt     string
	}{
		{"./told.sh", "K=1 ./told.sh", 0, 0, false, "", true, "", ""},
		{"./server -p {port}", "K=1 ./server -p {port}", 0, 0, false, "", false, "", ""},
		{"PORT=1 ./silent.sh", "./silent.sh", 0, 0, false, "", false, "", "B"},
		{"sh -c 'exec ./server -p $MXFLOW_PORT'", "./told.sh", 0, 0, false, "", true, "", ""},
		{"vllm serve m", "K=1 vllm serve m", 0, 0, true, "", false, "", ""},
		{"python -m sglang.launch_server --model m", "./told.sh", 0, 0, false, "--port {port}", false, "", ""},
		{"vllm serve m --port 8001", "K=1 vllm serve m --port=8001", 0, 8001, false, "", false, "", ""},
		{"vllm serve m --port 8001", "./told.sh", 0, 8001, false, "", false, "", ""},
		{
			"vllm serve m --port 9000", "vllm serve m --port 8000", 0, 0, false, "", false,
			"port 9000 and that of --b on 8000", "",
		},
		{"./silent.sh", "K=1 ./server", 0, 0, false, "", true, "", "AB"},
		{"python3 env.py", "K=1 ./silent.sh", 0, 0, false, "", true, "", "B"},
		{"python3 fixed.py", "K=1 ./told.sh", 0, 0, false, "", true, "", "A"},
		{"vllm serve m --port 8001", "./silent.sh", 0, 8001, false, "", false, "", ""},
		{"./silent.sh", "vllm serve m --port 8001", 7000, 7000, false, "", false, "", ""},
	} {
		a, errA := ParseArm("a", c.a)
		b, errB := ParseArm("b", c.b)
		arms := [2]Arm{a, b}
		port, args, doubt, err := settlePorts(&arms, c.fixed)
		if got := strings.Join(doubt.Values["arms"].List, ""); got != c.doubt {
			t.Errorf("%s / %s: nothing takes the port of %q, want %q", c.a, c.b, got, c.doubt)
		}
		if errA != nil || errB != nil || (err != nil) != (c.says != "") || err != nil &&
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s / %s: %v, want %q", c.a, c.b, err, c.says)
		}
		if port != c.port || (args != nil) != c.args || !strings.HasSuffix(strings.Join(arms[0].Words, " "), c.endsA) ||
			(arms[0].Env["PORT"] == "{port}") != c.environed {
			t.Errorf("%s / %s: port %d, args %q, %+v", c.a, c.b, port, args, arms[0])
		}
	}
	kinds := map[[2]string]string{
		{"./told.sh", "K=1 ./told.sh"}: "vllm", {"./silent.sh", "K=1 ./silent.sh"}: "openai",
		{"vllm serve m", "sglang serve m"}:                     "openai",
		{"llama-server -m a.gguf", "x/llama-server -m a.gguf"}: "llamacpp",
		{"mxflow engine serve", "K=1 mxflow engine serve"}:     "embedded",
	}
	for texts, want := range kinds {
		a, _ := ParseArm("a", texts[0])
		b, _ := ParseArm("b", texts[1])
		if k, err := kindOf("", [2]Arm{a, b}); err != nil || k.Name != want {
			t.Errorf("%q: %s, %v; want %s", texts, k.Name, err, want)
		}
	}
}

// Every metric that a claim can be about has a direction and is positive.
func TestABMetrics(t *testing.T) {
	for _, m := range Metrics() {
		if m.Better == measure.Neither {
			t.Errorf("%s is better in no direction", m.Name)
		}
	}
}

// A reason is said with the names and flags of who asked, and stays as it was on record.
func TestReworded(t *testing.T) {
	for _, c := range []struct {
		of   verdict.Reason
		want string
	}{
		{
			verdict.New(code.EnvironmentApart, verdict.Text("other", "B")).On("baseline").From(fact("cpu")),
			"A and B ran in different environments: cpu.",
		},
		{
			verdict.Say("launches.metric_lacking", "launch {subject} has no {metric}",
				verdict.Text("metric", "bench.tg")).On("s-1.baseline.1"),
			"launch s-1.baseline.1 has no tg",
		},
	} {
		was := c.of.String()
		if got := (&Question{}).Reworded(c.of).String(); got != c.want || c.of.String() != was {
			t.Errorf("%q, want %q; it has become %q", got, c.want, c.of)
		}
	}
}

// Flags that no plan takes are named with what the plan says of them.
func TestCheckPlan(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("few.jsonl", []byte(`{"question": "1 + 1", "answer": "2"}`), 0o644))
	for want, change := range map[string]func(q *Question){
		"":                                     func(*Question) {},
		"--pp: prompt_tokens must be":          func(q *Question) { q.PP = 0 },
		"--tg: output_tokens must be":          func(q *Question) { q.TG, q.Metric = -1, "pp" },
		"--depth: depth must be":               func(q *Question) { q.Depth = -1 },
		"--concurrency: concurrency must be":   func(q *Question) { q.Concurrency = 0 },
		"--requests: requests must be":         func(q *Question) { q.Requests = -1 },
		"--warmup: warmup must be":             func(q *Question) { q.Warmup = -1 },
		"--api: api must be one of":            func(q *Question) { q.API = "x" },
		"--timeout: timeout takes a positive":  func(q *Question) { q.Timeout = -1 },
		"--max-lag: max_lag takes a positive":  func(q *Question) { q.MaxLag = -1 },
		`--must-see-a, --must-see-b: "*" is`:   func(q *Question) { q.MustSeeB = []string{"*"} },
		"--changes: No engine of the plan has": func(q *Question) { q.Changes = []string{"attention"} },
		"--accept: There is no fingerprint":    func(q *Question) { q.Accept = []string{"x"} },
		"--eval: questions has 1 question":     func(q *Question) { q.Eval = "few.jsonl" },
	} {
		q := &Question{
			A: "./serve.sh", B: "K=1 ./serve.sh", PP: 64, TG: 16, Concurrency: 1, Metric: "tg", API: "completions",
			Caches: "own", Asked: "openai",
		}
		change(q)
		must.Do(t, q.Check())
		work, _ := os.Getwd()
		err := q.CheckPlan(steps.Registry(), work)
		if want == "" {
			must.Do(t, err)
		} else if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A plan that is written loads without a complaint, and says the same wherever
// it lies.
func TestABPlan(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, change := range []func(q *Question){
		func(*Question) {},
		func(q *Question) { q.MustSeeB = []string{"*CUTLASS ${x} \"q\"*"} },
		func(q *Question) { q.MustSeeA, q.MustSeeB = []string{"*one*", "*both*"}, []string{"*two*", "*BOTH*"} },
		func(q *Question) { q.B = "K=2 other.sh --port {port} 'a ${b} %{c}' \"\\\\\"" },
		func(q *Question) { q.B = q.A + " --fast" },
		func(q *Question) { q.A, q.B = "vllm serve m", "vllm serve m --x"; q.Model = "m" },
		func(q *Question) {
			q.Claimed, q.Metric = "-10%", "ttft"
			q.API = "chat"
			q.Concurrency, q.Depth = 4, 128
		},
		func(q *Question) { q.URL, q.Caches = "http://localhost:8000", "cold"; q.Timeout = 20 * time.Minute },
		func(q *Question) {
			q.Accept, q.Changes = []string{"packages"}, []string{"version"}
			q.Quick = true
		},
	} {
		q := &Question{
			A: "./serve.sh --port {port}", B: "K='x y' ./serve.sh --port {port}", PP: 64, TG: 16,
			Concurrency: 1, Metric: "tg", API: "completions", Caches: "own",
		}
		change(q)
		must.Do(t, q.Check())
		work, _ := os.Getwd()
		var digests []string
		for _, folder := range []string{".", "deep/er"} {
			text, err := q.Plan(folder, work)
			must.Do(t, err)
			path := filepath.Join(folder, "ab.hcl")
			must.Write(t, path, string(text))
			loaded := load.Path(path, steps.Registry(), load.Options{})
			if !loaded.OK() {
				t.Fatalf("%v\n%s", loaded.Diagnostics, text)
			}
			p := loaded.Plan
			p.Engines[0].Process.Dir = ""
			digests = append(digests, p.Digest())
			e := p.Engines[0]
			if got := e.Process.Command; strings.Join(got, "\x00") != strings.Join(q.Shape.Command, "\x00") {
				t.Errorf("command %q became %q", q.Shape.Command, got)
			}
			if v := p.Knobs[0].Value("B"); strings.Join(v.Command, "\x00") != strings.Join(q.Shape.Own[1].Command,
				"\x00") {
				t.Errorf("command %q became %q", q.Shape.Own[1].Command, v.Command)
			}
		}
		must.Equal(t, q.B, digests[0], digests[1])
	}
}

func TestShapeOfTwoCommands(t *testing.T) {
	none := map[string]string{}
	env := func(name, value string) map[string]string { return map[string]string{name: value} }
	for _, c := range []struct {
		a, b string
		want Shape
	}{
		{
			"K=1 ./serve.sh", "K=2 ./serve.sh",
			Shape{none, []string{"./serve.sh"}, nil, [2]KnobSettings{{Env: env("K", "1")}, {Env: env("K", "2")}}},
		},
		{
			"X=0 ./serve.sh", "X=0 K=2 ./serve.sh",
			Shape{env("X", "0"), []string{"./serve.sh"}, nil, [2]KnobSettings{{Env: none}, {Env: env("K", "2")}}},
		},
		{"serve m", "serve m --fast", Shape{
			none,
			[]string{"serve", "m"},
			nil,
			[2]KnobSettings{{Env: none, Args: []string{}}, {Env: none, Args: []string{"--fast"}}},
		}},
		{"serve --k 1 --x", "serve --k 2", Shape{
			none,
			[]string{"serve"},
			nil,
			[2]KnobSettings{{Env: none, Args: []string{"--k", "1", "--x"}}, {Env: none, Args: []string{"--k", "2"}}},
		}},
		{"--odd 1", "--odd 2", Shape{
			none,
			[]string{"--odd"},
			nil,
			[2]KnobSettings{{Env: none, Args: []string{"1"}}, {Env: none, Args: []string{"2"}}},
		}},
		{"old/serve m", "K=1 new/serve m", Shape{
			none,
			[]string{"old/serve", "m"},
			nil,
			[2]KnobSettings{{Env: none}, {Env: env("K", "1"), Command: []string{"new/serve", "m"}}},
		}},
	} {
		a, errA := ParseArm("a", c.a)
		b, errB := ParseArm("b", c.b)
		got, err := ShapeOf(a, b)
		if errA != nil || errB != nil || err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s / %s: %#v (%v %v %v), want %#v", c.a, c.b, got, errA, errB, err, c.want)
		}
	}
}

func TestArmsThatCannotBe(t *testing.T) {
	for text, says := range map[string]string{
		"":                            "is not a command",
		"K=1":                         "is not a command",
		"'' x":                        "is not a command",
		"HF_TOKEN=abc ./s":            "HF_TOKEN looks like a secret",
		"DB_PASSWORD=x ./s":           "looks like a secret",
		"SERVICE_CREDENTIALS=x ./s":   "looks like a secret",
		"PROXY_AUTH=x ./s":            "looks like a secret",
		"session_cookie=x ./s":        "looks like a secret",
		"OPENAI_API_KEY=x ./s":        "looks like a secret",
		"./s --api-key sk-1":          "after --api-key looks like a secret",
		"./s --hf-token=hf_1":         "after --hf-token looks like a secret",
		"K=1 ./s 'x":                  "not closed",
		"./s\x00":                     "NUL",
		"MAX_TOKENS=4 TOKEN_X=1 ./s*": "sh -c",
	} {
		if _, err := ParseArm("b", text); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), "--b") {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	if _, err := ParseArm("a", "MAX_TOKENS=4 MOE_KERNEL=marlin HF_TOKEN= ./s"); err != nil {
		t.Error(err)
	}
	a, _ := ParseArm("a", "K=1 ./s  x")
	b, _ := ParseArm("b", "K='1' ./s 'x'")
	if _, err := ShapeOf(a, b); err == nil || !strings.Contains(err.Error(), "the same command") {
		t.Errorf("the same command twice: %v", err)
	}
}

// A command that does not pass what comes before measuring is not shown to be slower.
func TestBeforeMeasuring(t *testing.T) {
	feature := runtime.FeatureID("B")
	for _, c := range []struct {
		node, level string
		why         verdict.Reason
		unfit       string
	}{
		{runtime.BaselineID, "smoke", fact("garbage"), "A"},
		{feature, "smoke", fact("garbage"), "B"},
		{feature, "smoke", verdict.New(code.CrashedAgain), ""},
		{feature, plans.BenchmarkLevel, fact("slower"), ""},
		{feature, plans.EvalLevel, verdict.New(code.AccuracyLost), ""},
	} {
		r := &Result{Verdict: verdict.Fail, Exit: 2, q: &Question{}}
		r.causes(map[string]*ledger.Decision{c.node: {Verdict: verdict.Fail, Levels: []ledger.Level{
			{Name: c.level, Verdict: verdict.Fail, Reasons: []verdict.Reason{c.why}},
			{Name: plans.BenchmarkLevel, Verdict: verdict.Fail, Reasons: []verdict.Reason{fact("not measured")}},
		}}})
		if r.Unfit != c.unfit || (r.Verdict == verdict.Invalid) != (c.unfit != "") || len(r.Reasons) != 1 ||
			c.level != plans.EvalLevel && !verdict.Holds(r.Reasons, c.why.Kind) {
			t.Errorf("%s, %s: %q, %s, %v", c.node, c.level, r.Unfit, r.Verdict, r.Reasons)
		}
	}
}

func fact(text string) verdict.Reason {
	return verdict.Say("broken", "{error}", verdict.Text("error", text))
}

// recorded is a state directory in which a run began.
func recorded(t *testing.T) *store.Store {
	t.Helper()
	st, err := store.Open(t.TempDir())
	if err == nil {
		err = st.Append(&ledger.Record{
			Type: "run", Time: time.Now(), Run: "run-1",
			RunStart: &ledger.RunStart{Plan: "ab", PlanFile: "ab.hcl", Tool: "test"},
		})
	}
	must.Do(t, err)
	t.Cleanup(func() { st.Close() })
	return st
}

func put(t *testing.T, st *store.Store, l *ledger.Launch) {
	t.Helper()
	must.Do(t, st.Append(&ledger.Record{Type: "launch", Time: time.Now(), Run: "run-1", Launch: l}))
}

// What takes a shell is refused, with a command that does the same through one.
func TestArmsThatTakeAShell(t *testing.T) {
	for _, text := range []string{
		"./serve.sh | tee log", "a && b", "a; b", "a > log", "a < in", "A=1 ./serve.sh $MODEL", `./serve.sh "$MODEL"`,
		"a `id`", "a $(id)",
		"ls *.gguf", "a ?", "a [b]", "~/serve", "A=~/x b", "a # no", "a\nb", "KERNEL='x y' ./serve.sh $A 'q' | cat",
	} {
		_, err := ParseArm("a", text)
		if err == nil || !strings.Contains(err.Error(), "sh -c") {
			t.Errorf("%q: %v says nothing of sh -c", text, err)
		}
		arm, err := ParseArm("a", "sh -c "+quote(text))
		if err != nil || !slices.Equal(arm.Words, []string{"sh", "-c", text}) {
			t.Errorf("%q: the cure is %q, %v", text, arm.Words, err)
		}
	}
}

// Whatever stands behind a flag is taken or refused, and the plan's line reads as it was.
func FuzzArm(f *testing.F) {
	f.Add("a 'b c'", "x\x00y")
	f.Add(`"$A" | \`, "it's {port}")
	f.Fuzz(func(t *testing.T, text, word string) {
		_, _ = ParseArm("a", text)
		words := []string{word, text, ""}
		got, err := shell.Words(join(words))
		if err != nil || !slices.Equal(got, words) {
			t.Fatalf("%q became %q, %v", words, got, err)
		}
	})
}

// Bounds of a look at four launches belong to the change over these four, whatever an
// earlier claim made beyond them.
func TestChangeIsOverTheLaunchesOfItsBounds(t *testing.T) {
	launches := func(arm string, values ...float64) (out []*ledger.Launch) {
		for i, v := range values {
			out = append(out, &ledger.Launch{
				ID: fmt.Sprint(arm, i), Ordinal: i + 1, Order: 2 * i,
				Metrics: map[string]measure.Summary{"bench.tg": {
					Unit: "tok/s", Better: measure.Higher, N: 1,
					Stats: map[string]float64{"median": v},
				}},
			})
		}
		return out
	}
	r := &Result{q: &Question{Cell: "bench"}, Metric: "tg", Test: &verdict.Test{Looks: []stats.Look{{N: 2}}}}
	r.A.Counted, r.B.Counted = launches("A", 10, 10, 50), launches("B", 20, 20, 1)
	if r.compare(); r.Change == nil || math.Abs(*r.Change-1) > 1e-9 || math.Abs(*r.A.Value-10) > 1e-9 ||
		r.Beyond != 1 || r.Low != nil {
		t.Errorf("change %v, A %v, %d beyond", *r.Change, *r.A.Value, r.Beyond)
	}
	bound := func(x float64) *float64 { return &x }
	r.Test = &verdict.Test{
		Form: verdict.Ratio, Relation: "gain", Metric: "bench.tg", Stat: "median", Looks: r.Test.Looks,
		Launches: []string{"B0", "B1"}, BaseLaunches: []string{"A0", "A1"},
		Estimate: bound(1), Low: bound(0.9), High: bound(1.1),
	}
	if r.compare(); *r.Change != 1 || *r.Low != 0.9 || *r.High != 1.1 {
		t.Errorf("change %v [%v, %v]", *r.Change, *r.Low, *r.High)
	}
	r.Test, r.Beyond, r.Low = nil, 0, nil
	if r.compare(); math.Abs(*r.Change-1) < 0.1 || r.Beyond != 0 || r.Low != nil {
		t.Errorf("without a test: change %v, %d beyond", *r.Change, r.Beyond)
	}
}
