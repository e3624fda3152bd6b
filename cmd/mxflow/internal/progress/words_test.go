package progress

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func TestDescribeLaunches(t *testing.T) {
	ev := runtime.Event{Type: "launch_started", Phase: "port", Feature: "gemm", Level: "benchmark", Variant: "gemm", Launch: 5, Launches: 16}
	again := ev
	again.Again, again.Why = 1, fact("the GPU was throttled\nfor 3 s")
	atMost := ev
	atMost.LaunchesLeast = 8
	broke := again
	broke.Type, broke.Why = "launch_done", fact("the engine died")
	for want, ev := range map[string]runtime.Event{
		"port / gemm: benchmark launch 5 of 16 (gemm)":                              ev,
		"port / gemm: benchmark launch 5 of 8–16 (gemm)":                            atMost,
		"port / gemm: benchmark launch 5 of 16 again (gemm): the GPU was throttled": again,
		"port / gemm: launch 5 of 16 broke: the engine died":                        broke,
	} {
		if got := describe(ev); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Status(again); got != "launch 5 of 16 again (gemm) · benchmark · port / gemm" {
		t.Errorf("the live line says %q", got)
	}
}

func TestDescribeLoading(t *testing.T) {
	ev := runtime.Event{Type: "stage_started", Phase: "port", Feature: "gemm", Variant: "gemm", Seconds: 41, Loading: &runtime.Loading{
		Stage: "weights", Log: "Loading safetensors: 53%",
	}}
	for want, change := range map[string]func(*runtime.Event){
		"port / gemm: loading weights, 41 s (gemm)": func(*runtime.Event) {},
		"port / gemm: compiling, 1 min 31 s (gemm)": func(e *runtime.Event) { e.Seconds, e.Loading = 91, &runtime.Loading{Stage: "compile"} },
		"": func(e *runtime.Event) { e.Type = "launch_loading" },
	} {
		e := ev
		change(&e)
		if got := describe(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, k := range kinds.All() {
		for _, s := range append(k.Stages, kinds.StageLines{Stage: kinds.FirstRequest}) {
			if _, ok := stages[string(s.Stage)]; !ok {
				t.Errorf("stage %q of kind %q has no words", s.Stage, k.Name)
			}
		}
	}
}

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

func TestDescribeDecision(t *testing.T) {
	rule := func(name string, v verdict.Verdict, because ...string) verdict.Reason {
		return ledger.Rule{Name: name, Role: "rule", Verdict: v, Reasons: facts(because...)}.Reason()
	}
	kernels := verdict.New(code.Level).On("kernels").Is(verdict.Fail).From(fact("312 of 400 are wrong"))
	missing := func(path string, why verdict.Reason) verdict.Reason {
		return verdict.New(code.Missing).On(path).From(why)
	}
	unread := func(causes ...verdict.Reason) verdict.Reason {
		return ledger.Rule{Name: "unread", Role: "rule", Verdict: verdict.Invalid, Reasons: causes}.Reason()
	}
	var (
		speed  = rule("speed", "pass", "chat.tg.gain is +50.0%")
		memory = rule("memory", "fail", "engine.memory_gb.delta is 2 GB")
		step   = verdict.New(code.Step).On("exec two").Is(verdict.Pass)
		levels = verdict.New(code.Level).On("kernels").Is(verdict.Invalid)
		parts  = fact("a and b together are 12.0% worse")
		yes    = verdict.New(code.Confirmed).On("vllm.prod").Is(verdict.Pass)
		not    = verdict.New(code.NotTried, verdict.Text("without", "fail")).On("vllm.prod")
		other  = verdict.New(code.NotConfirmed).On("vllm.prod").Is(verdict.Invalid)
		// People name rules as they like.
		passes   = rule("x: pass: y", "fail", "z is 3, not above 4")
		level    = rule("a: level kernels failed: b", "fail", "c: level smoke is invalid: d")
		invalid  = rule("level kernels: invalid", "pass", "it is 1")
		confirms = rule("confirmed on engine.a", "fail", "it is 2")
		quality  = verdict.Say("session.not_measured", "not measured").From(verdict.New(code.Level).On("quality").Is(verdict.Invalid).From(kernels))
	)
	const under = "\n           "
	for _, c := range []struct {
		verdict string
		reasons []verdict.Reason
		want    string
	}{
		{"pass", nil, ""},
		{"pass", []verdict.Reason{speed}, ": speed: pass: chat.tg.gain is +50.0%"},
		{"pass", []verdict.Reason{speed, rule("one", "pass"), step}, ": speed: pass: chat.tg.gain is +50.0% (and 2 more that pass)"},
		{"pass", []verdict.Reason{speed, parts}, under + "speed: pass: chat.tg.gain is +50.0%" + under + "a and b together are 12.0% worse"},
		{"fail", []verdict.Reason{memory}, ": memory: fail: engine.memory_gb.delta is 2 GB"},
		{"pass", []verdict.Reason{yes, speed}, ": confirmed on engine.vllm.prod"},
		{"fail", []verdict.Reason{not, memory}, ": not tried on engine.vllm.prod: fail regardless"},
		{"pass", []verdict.Reason{yes, yes, speed}, under + "confirmed on engine.vllm.prod" + under + "confirmed on engine.vllm.prod"},
		{"invalid", []verdict.Reason{other.From(unread(missing("chat.tg", kernels))), speed}, ": not confirmed on engine.vllm.prod, where it is invalid: unread: invalid: chat.tg: level kernels failed"},
		{"fail", []verdict.Reason{speed, memory}, ": memory: fail: engine.memory_gb.delta is 2 GB (and 1 more that pass)"},
		{"invalid", []verdict.Reason{memory, speed, levels}, under + "memory: fail: engine.memory_gb.delta is 2 GB" + under + "level kernels: invalid (and 1 more that pass)"},
		{"invalid", []verdict.Reason{speed}, ": speed: pass: chat.tg.gain is +50.0%"},
		{"invalid", []verdict.Reason{unread(missing("chat.tg", kernels))}, ": unread: invalid: chat.tg: level kernels failed"},
		{"invalid", []verdict.Reason{unread(missing("a", kernels), missing("b", kernels))}, ": unread: invalid: a: level kernels failed; b: level kernels failed"},
		{"invalid", []verdict.Reason{quality}, ": not measured: level quality is invalid"},
		{"fail", []verdict.Reason{kernels}, ": level kernels failed: 312 of 400 are wrong"},
		{"fail", []verdict.Reason{passes}, ": x: pass: y: fail: z is 3, not above 4"},
		{
			"fail",
			[]verdict.Reason{speed, passes, invalid, level},
			under + "x: pass: y: fail: z is 3, not above 4" + under + "a: level kernels failed: b: fail: c: level smoke is invalid: d (and 2 more that pass)",
		},
		{"fail", []verdict.Reason{confirms, memory}, under + "confirmed on engine.a: fail: it is 2" + under + "memory: fail: engine.memory_gb.delta is 2 GB"},
		{"fail", []verdict.Reason{fact("the script said: pass: ok"), memory}, under + "the script said: pass: ok" + under + "memory: fail: engine.memory_gb.delta is 2 GB"},
	} {
		ev := runtime.Event{Type: "node_done", Node: "phase.a", Verdict: c.verdict, Reasons: c.reasons}
		if got, want := describe(ev), "phase.a: "+c.verdict+c.want; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Nodes that one cause locked are reported together once something else happens, and many
// as one line.
func TestLocks(t *testing.T) {
	why := func(of string) verdict.Reason { return verdict.New(code.Outcome).On(of).Is(verdict.Error) }
	lock := func(node, of string) runtime.Event {
		return runtime.Event{Type: "node_locked", Node: node, Why: why(of)}
	}
	var l locks
	var got []string
	for _, ev := range []runtime.Event{
		lock("a", "x"), lock("b", "x"), {Type: "other"}, lock("c", "x"), lock("d", "x"), lock("e", "x"), lock("f", "x"), lock("g", "y"), {}, {},
	} {
		for _, r := range l.before(ev) {
			got = append(got, r.Type+":"+r.Node)
		}
	}
	if want := "node_locked:a node_locked:b other: node_locked:4 nodes node_locked:g : :"; strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}
