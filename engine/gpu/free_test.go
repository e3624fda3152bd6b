package gpu

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func mib(n float64) *float64 { return &n }

func TestForeign(t *testing.T) {
	gpus := []GPU{
		{Index: 0, UUID: "a", Values: map[string]string{"memory.used": "40000", "memory.total": "80000"}},
		{Index: 1, UUID: "b", Values: map[string]string{"memory.used": "600", "memory.total": "80000"}},
		{Index: 2, UUID: "gb10", Values: map[string]string{}},
	}
	vllm := Process{PID: 7, GPU: "a", MiB: mib(39000), Name: "/usr/bin/python3"}
	for _, test := range []struct {
		name      string
		processes []Process
		uuids     string
		ignore    []string
		want      string
	}{
		{"a process", []Process{vllm}, "a", nil, "process 7 (/usr/bin/python3) holds 39000 MiB"},
		{"on another GPU", []Process{vllm}, "b gb10", nil, ""},
		{"ignored by name", []Process{vllm}, "a", []string{"python*"}, ""},
		{"ignored by path", []Process{vllm}, "a", []string{"/usr/bin/python3"}, ""},
		{"not ignored", []Process{vllm}, "a", []string{"bin/python3", "[", "java"}, "process 7"},
		{"without a name", []Process{{PID: 8, GPU: "gb10"}}, "gb10", []string{"x*"}, "process 8 (a program that this user cannot see) holds an unknown amount"},
		{"on no GPU in particular", []Process{{PID: 9, Name: "x"}}, "b", nil, "process 9"},
		{"the desktop", []Process{{PID: 9, GPU: "gb10", MiB: mib(300), Name: "/usr/lib/xorg/Xorg"}}, "gb10", nil, ""},
		{"memory that nobody holds", nil, "a", nil, "40000 MiB of GPU 0 are used by what nvidia-smi does not show"},
		{"little memory that nobody holds", nil, "b", nil, ""},
		{"what is ignored accounts for its memory", []Process{vllm}, "a", []string{"python3"}, ""},
		{"free", nil, "gb10", nil, ""},
	} {
		o := foreign(gpus, test.processes, strings.Fields(test.uuids), test.ignore, 1024)
		if o.Free() != (test.want == "") || !strings.Contains(o.String(), test.want) {
			t.Errorf("%s: %q", test.name, o)
		}
	}
}

func TestWaitFree(t *testing.T) {
	busy := func(pid int) Occupied { return Occupied{Processes: []Process{{PID: pid, MiB: mib(float64(pid))}}} }
	// Somebody, who holds more and more, then somebody else, then nobody.
	grown := busy(1)
	grown.Processes[0].MiB = mib(99)
	states := []Occupied{busy(1), grown, busy(2), {}}
	var told []string
	next := 0
	look := func(context.Context) (Occupied, error) { next++; return states[next-1], nil }
	o, err := WaitFree(context.Background(), look, time.Millisecond, time.Minute, func(o Occupied) { told = append(told, o.String()) })
	if err != nil || !o.Free() || next != 4 || len(told) != 2 {
		t.Errorf("%v, %v after %d looks; told %q", o, err, next, told)
	}

	always := func(context.Context) (Occupied, error) { return busy(5), nil }
	if o, err := WaitFree(context.Background(), always, time.Millisecond, 0, nil); err != nil || o.Free() {
		t.Errorf("no time to wait: %v, %v", o, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err = WaitFree(ctx, always, time.Hour, time.Hour, func(Occupied) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	blind := errors.New("blind")
	if _, err := WaitFree(context.Background(), func(context.Context) (Occupied, error) { return Occupied{}, blind }, 0, time.Hour, nil); !errors.Is(err, blind) {
		t.Errorf("what cannot be seen is %v", err)
	}
}

func TestForeignAsksNvidiaSMI(t *testing.T) {
	fake(t, "gb10")
	o, err := Foreign(context.Background(), []string{"GPU-11111111-0000-0000-0000-000000000000"}, nil, 1024)
	if err != nil || len(o.Processes) != 1 || o.Processes[0].PID != 4711 {
		t.Errorf("%v, %v", o, err)
	}
	// Memory is in use, and no process is shown.
	fake(t, "h200-busy")
	o, err = Foreign(context.Background(), []string{"GPU-00000000-0000-0000-0000-000000000000"}, nil, 1024)
	if err != nil || len(o.Hidden) != 1 {
		t.Errorf("%v, %v", o, err)
	}
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\nexit 3\n"), 0o755)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if o, err := Foreign(context.Background(), nil, nil, 0); err == nil {
		t.Errorf("a broken nvidia-smi says %v", o)
	}
}

func TestFingerprint(t *testing.T) {
	if got := FingerprintOf(nil); got != nil {
		t.Errorf("no GPU: %v", got)
	}
	got := FingerprintOf([]GPU{{UUID: "GPU-b", Name: "NVIDIA A", Driver: "2"}, {UUID: "GPU-a", Name: "NVIDIA Z", Driver: "2"}})
	if got["gpu"] != "NVIDIA Z GPU-a, NVIDIA A GPU-b" || got["driver"] != "2" {
		t.Errorf("got %v", got)
	}
}
