package main

import (
	"testing"

	"github.com/mxflow/mxflow/runtime"
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

func TestDescribeDecision(t *testing.T) {
	const (
		speed  = "speed: pass: chat.tg.gain is +50.0 %"
		memory = "memory: fail: engine.memory_gb.delta is 2 GB"
		levels = "level kernels: invalid"
		parts  = "a and b together are 12.0 % worse"
	)
	for _, c := range []struct {
		verdict string
		reasons []string
		want    string
	}{
		{"pass", nil, ""},
		{"pass", []string{speed}, ": " + speed},
		{"pass", []string{speed, "one: pass: it is 1", "step exec two: pass"}, ": " + speed + " (and 2 more that pass)"},
		{"pass", []string{speed, parts}, "\n           " + speed + "\n           " + parts},
		{"fail", []string{memory}, ": " + memory},
		{"pass", []string{"confirmed on engine.vllm.prod", speed}, ": confirmed on engine.vllm.prod"},
		{"fail", []string{"not tried on engine.vllm.prod: it is fail without that", memory}, ": not tried on engine.vllm.prod: it is fail without that"},
		{"fail", []string{speed, memory}, ": " + memory + " (and 1 more that pass)"},
		{"invalid", []string{memory, speed, levels}, "\n           " + memory + "\n           " + levels + " (and 1 more that pass)"},
		{"invalid", []string{speed}, ": " + speed},
	} {
		ev := runtime.Event{Type: "node_done", Node: "phase.a", Verdict: c.verdict, Reasons: c.reasons}
		if got, want := describe(ev), "phase.a: "+c.verdict+c.want; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
