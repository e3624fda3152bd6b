package machine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

var (
	threeGPUs = []GPU{
		{Index: 0, UUID: "GPU-aaaa-1", Name: "A100"},
		{Index: 1, UUID: "GPU-aabb-2", Name: "A100"},
		{Index: 2, UUID: "GPU-cccc-3", Name: "T4"},
	}
	migParents = parseParents("GPU 0: A100 (UUID: GPU-aaaa-1)\n  MIG 1g.5gb Device 0: (UUID: MIG-x-y)\nGPU 1: A100 (UUID: GPU-aabb-2)\n")
)

func indices(gpus []GPU) string {
	var b strings.Builder
	for _, g := range gpus {
		b.WriteByte(byte('0' + g.Index))
	}
	return b.String()
}

func TestChoose(t *testing.T) {
	for _, test := range []struct{ names, want, problem string }{
		{"", "", ""},
		{"all", "012", ""},
		{"none", "", ""},
		{"1", "1", ""},
		{"2 0", "02", ""},
		{"GPU-aabb-2 1", "1", ""},
		{"GPU-c", "2", ""},
		{"MIG-x-y", "0", ""},
		{"GPU-aa", "", "several UUIDs"},
		{"GPU-", "", "there is no GPU"},
		{"3", "", "there is no GPU \"3\"; there are GPU 0 (A100, GPU-aaaa-1)"},
		{"-1", "", "there is no GPU"},
		{"MIG-z", "", "there is no GPU"},
	} {
		got, err := ChooseGPUs(threeGPUs, migParents, strings.Fields(test.names))
		if test.problem == "" && (err != nil || indices(got) != test.want) ||
			test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
			t.Errorf("%q: %v, %v", test.names, indices(got), err)
		}
	}
	if _, err := ChooseGPUs(nil, nil, []string{"0"}); err == nil || !strings.Contains(err.Error(), "shows none") {
		t.Errorf("got %v", err)
	}
}

func TestVisible(t *testing.T) {
	alike := threeGPUs[:2]
	for _, test := range []struct {
		gpus        []GPU
		list, order string
		want        string
		sure        bool
	}{
		{alike, "0", "", "0", true},
		{alike, "1,0", "", "10", true},
		{alike, "", "", "", true},
		{alike, "-1", "", "", true},
		// An entry that does not exist hides all that follow.
		{alike, "1,7,0", "", "1", true},
		{alike, "GPU-aabb", "", "1", true},
		{alike, "MIG-x-y", "", "0", true},
		{alike, "1,1", "", "1", true},
		// CUDA numbers different GPUs by speed.
		{threeGPUs, "0", "", "012", false},
		{threeGPUs, "0", "FASTEST_FIRST", "012", false},
		{threeGPUs, "2", "PCI_BUS_ID", "2", true},
		{threeGPUs, "GPU-cccc", "", "2", true},
		{nil, "0", "", "", true},
	} {
		got, sure := VisibleGPUs(test.gpus, migParents, test.list, test.order)
		if indices(got) != test.want || sure != test.sure {
			t.Errorf("%q of %d: %s, %v", test.list, len(test.gpus), indices(got), sure)
		}
	}
}

func mib(n float64) *float64 { return &n }

func TestOccupancy(t *testing.T) {
	used := map[string]float64{"a": 40000, "b": 600}
	vllm := GPUProcess{PID: 7, GPU: "a", MiB: mib(39000), Name: "/usr/bin/python3"}
	for _, test := range []struct {
		name      string
		processes []GPUProcess
		uuids     string
		ignore    []string
		want      string
	}{
		{"a process", []GPUProcess{vllm}, "a", nil, "process 7 (/usr/bin/python3) holds 39000 MiB"},
		{"on another GPU", []GPUProcess{vllm}, "b gb10", nil, ""},
		{"ignored by name", []GPUProcess{vllm}, "a", []string{"python*"}, ""},
		{"ignored by path", []GPUProcess{vllm}, "a", []string{"/usr/bin/python3"}, ""},
		{"not ignored", []GPUProcess{vllm}, "a", []string{"bin/python3", "[", "java"}, "process 7"},
		{"without a name", []GPUProcess{{PID: 8, GPU: "gb10"}}, "gb10", []string{"x*"}, "process 8 (a program that this user cannot see) holds an unknown amount"},
		{"on no GPU in particular", []GPUProcess{{PID: 9, Name: "x"}}, "b", nil, "process 9"},
		{"the desktop", []GPUProcess{{PID: 9, GPU: "gb10", MiB: mib(300), Name: "/usr/lib/xorg/Xorg"}}, "gb10", nil, ""},
		{"memory that nobody holds", nil, "a", nil, "40000 MiB of a are used by something that nvidia-smi does not show"},
		{"little memory that nobody holds", nil, "b", nil, ""},
		{"what is ignored accounts for its memory", []GPUProcess{vllm}, "a", []string{"python3"}, ""},
		{"free", nil, "gb10", nil, ""},
	} {
		o := occupancyOf(used, test.processes, strings.Fields(test.uuids), test.ignore, 1024, func(int) bool { return false })
		if o.Free() != (test.want == "") || !strings.Contains(o.String(), test.want) {
			t.Errorf("%s: %q", test.name, o)
		}
	}
}

func TestWaitFree(t *testing.T) {
	busy := func(pid int) Occupancy { return Occupancy{Processes: []GPUProcess{{PID: pid, MiB: mib(float64(pid))}}} }
	// One process, which holds more and more, then another, then none.
	grown := busy(1)
	grown.Processes[0].MiB = mib(99)
	states := []Occupancy{busy(1), grown, busy(2), {}}
	var told []string
	next := 0
	look := func(context.Context) (Occupancy, error) { next++; return states[next-1], nil }
	o, err := WaitFree(context.Background(), look, time.Millisecond, time.Minute, func(o Occupancy) { told = append(told, o.String()) })
	if err != nil || !o.Free() || next != 4 || len(told) != 2 {
		t.Errorf("%v, %v after %d looks; told %q", o, err, next, told)
	}

	always := func(context.Context) (Occupancy, error) { return busy(5), nil }
	if o, err := WaitFree(context.Background(), always, time.Millisecond, 0, nil); err != nil || o.Free() {
		t.Errorf("no time to wait: %v, %v", o, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err = WaitFree(ctx, always, time.Hour, time.Hour, func(Occupancy) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	blind := errors.New("blind")
	if _, err := WaitFree(context.Background(), func(context.Context) (Occupancy, error) { return Occupancy{}, blind }, 0, time.Hour, nil); !errors.Is(err, blind) {
		t.Errorf("what cannot be seen is %v", err)
	}
}

func TestForeignAsksNvidiaSMI(t *testing.T) {
	fake(t, "gb10")
	o, err := Occupants(context.Background(), []string{"GPU-11111111-0000-0000-0000-000000000000"}, nil, 1024)
	if err != nil || len(o.Processes) != 1 || o.Processes[0].PID != 4711 {
		t.Errorf("%v, %v", o, err)
	}
	// Memory is in use, but no process is shown.
	fake(t, "h200-busy")
	o, err = Occupants(context.Background(), []string{"GPU-00000000-0000-0000-0000-000000000000"}, nil, 1024)
	if err != nil || len(o.Hidden) != 1 {
		t.Errorf("%v, %v", o, err)
	}
	inPath(t, "nvidia-smi", "#!/bin/sh\nexit 3\n")
	if o, err := Occupants(context.Background(), nil, nil, 0); err == nil {
		t.Errorf("a broken nvidia-smi says %v", o)
	}
}

func TestFingerprint(t *testing.T) {
	if got := fingerprintOf(nil); got["gpu"] != "" || got["driver"] != "" {
		t.Errorf("no GPU: %v", got)
	}
	got := fingerprintOf([]GPU{{UUID: "GPU-b", Name: "NVIDIA A", Driver: "2"}, {UUID: "GPU-a", Name: "NVIDIA Z", Driver: "2"}})
	if got["gpu"] != "NVIDIA Z GPU-a, NVIDIA A GPU-b" || got["driver"] != "2" {
		t.Errorf("got %v", got)
	}
}
