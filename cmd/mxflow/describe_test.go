package main

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func TestDescribeLaunches(t *testing.T) {
	ev := runtime.Event{Type: "launch_started", Phase: "port", Feature: "gemm", Level: "benchmark", Variant: "gemm", Launch: 5, Launches: 16}
	again := ev
	again.Again, again.Message = 1, "the GPU was throttled\nfor 3 s"
	broke := again
	broke.Type, broke.Message = "launch_done", "the engine died"
	for want, ev := range map[string]runtime.Event{
		"port / gemm: benchmark launch 5 of 16 (gemm)":                              ev,
		"port / gemm: benchmark launch 5 of 16 again (gemm): the GPU was throttled": again,
		"port / gemm: launch 5 of 16 broke: the engine died":                        broke,
	} {
		if got := describe(ev); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := status(again); got != "port / gemm · benchmark · launch 5 of 16 again (gemm)" {
		t.Errorf("the live line says %q", got)
	}
	// The place of what is made again was counted with the first one.
	c := &clock{left: 3}
	done := ev
	done.Type = "launch_done"
	c.at(done)
	broke.Message = ""
	if c.at(broke); c.left != 2 {
		t.Errorf("%d launches left, want 2", c.left)
	}
}

// reasonOf is one reason of a decision and what it is of.
type reasonOf struct {
	text string
	part ledger.Part
}

func TestDescribeDecision(t *testing.T) {
	rule := func(name string, v verdict.Verdict, because ...string) reasonOf {
		r := ledger.Rule{Name: name, Role: "rule", Verdict: v, Reasons: because}
		return reasonOf{r.Says(), ledger.Part{Of: r.Role, Name: name, Verdict: v}}
	}
	confirmed := func(text string) reasonOf {
		return reasonOf{text, ledger.Part{Of: ledger.OfConfirmation, Name: "vllm.prod"}}
	}
	var (
		speed  = rule("speed", "pass", "chat.tg.gain is +50.0 %")
		memory = rule("memory", "fail", "engine.memory_gb.delta is 2 GB")
		step   = reasonOf{"step exec two: pass", ledger.Part{Of: ledger.OfStep, Name: "exec two", Verdict: verdict.Pass}}
		levels = reasonOf{"level kernels: invalid", ledger.Part{Of: ledger.OfLevel, Name: "kernels", Verdict: verdict.Invalid}}
		parts  = reasonOf{text: "a and b together are 12.0 % worse"}
		yes    = confirmed("confirmed on engine.vllm.prod")
		not    = confirmed("not tried on engine.vllm.prod: it is fail without that")
		// People name rules as they like.
		passes   = rule("x: pass: y", "fail", "z is 3, not above 4")
		level    = rule("a: level kernels is fail: b", "fail", "c: level smoke is invalid: d")
		invalid  = rule("level kernels: invalid", "pass", "it is 1")
		confirms = rule("confirmed on engine.a", "fail", "it is 2")
		brief    = rule("unread", "invalid", "chat.tg: level kernels is fail: 312 of 400 are wrong")
	)
	brief.part.Brief = "unread: invalid: chat.tg: level kernels is fail"
	yes.part.Verdict = verdict.Pass
	const under = "\n           "
	for _, c := range []struct {
		verdict string
		reasons []reasonOf
		want    string
	}{
		{"pass", nil, ""},
		{"pass", []reasonOf{speed}, ": " + speed.text},
		{"pass", []reasonOf{speed, rule("one", "pass"), step}, ": " + speed.text + " (and 2 more that pass)"},
		{"pass", []reasonOf{speed, parts}, under + speed.text + under + parts.text},
		{"fail", []reasonOf{memory}, ": " + memory.text},
		{"pass", []reasonOf{yes, speed}, ": " + yes.text},
		{"fail", []reasonOf{not, memory}, ": " + not.text},
		{"pass", []reasonOf{yes, yes, speed}, under + yes.text + under + yes.text},
		{"fail", []reasonOf{speed, memory}, ": " + memory.text + " (and 1 more that pass)"},
		{"invalid", []reasonOf{memory, speed, levels}, under + memory.text + under + levels.text + " (and 1 more that pass)"},
		{"invalid", []reasonOf{speed}, ": " + speed.text},
		{"invalid", []reasonOf{brief}, ": " + brief.part.Brief},
		{"fail", []reasonOf{passes}, ": " + passes.text},
		{"fail", []reasonOf{speed, passes, invalid, level}, under + passes.text + under + level.text + " (and 2 more that pass)"},
		{"fail", []reasonOf{confirms, memory}, under + confirms.text + under + memory.text},
		{"fail", []reasonOf{{text: "the script said: pass: ok"}, memory}, under + "the script said: pass: ok" + under + memory.text},
	} {
		ev := runtime.Event{Type: "node_done", Node: "phase.a", Verdict: c.verdict}
		for _, r := range c.reasons {
			ev.Reasons, ev.Parts = append(ev.Reasons, r.text), append(ev.Parts, r.part)
		}
		if got, want := describe(ev), "phase.a: "+c.verdict+c.want; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	// Where nothing is known of the reasons, all are said.
	ev := runtime.Event{Type: "node_done", Node: "phase.a", Verdict: "fail", Reasons: []string{speed.text, memory.text}}
	if got, want := describe(ev), "phase.a: fail"+under+speed.text+under+memory.text; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
