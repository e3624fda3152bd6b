package machine

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/require"
)

func TestForeign(t *testing.T) {
	holds := func(pid int, on string, mib float64, name string) GPUProcess {
		return GPUProcess{PID: pid, GPU: on, MiB: &mib, Name: name}
	}
	engine, worker := holds(10, "a", 3000, "python3"), holds(11, "b", 4000, "python3")
	x := holds(20, "b", 1, "x")
	for _, test := range []struct {
		name string
		list []GPUProcess
		used map[string]float64
		// foreign on a and b if nvidia-smi shows the list twice, -1 for unknown.
		a, b int
		said string
	}{
		{"the engine alone", []GPUProcess{engine, worker}, map[string]float64{"a": 3500, "b": 4500}, 0, 0, ""},
		{"a stranger", []GPUProcess{engine, worker, x}, nil, 0, 1, "process 20 (x) holds 1 MiB"},
		{"two strangers", []GPUProcess{engine, worker, x, holds(21, "b", 1, "x")}, nil, 0, 2, ""},
		{"on no GPU in particular", []GPUProcess{engine, worker, {PID: 20}}, nil, 1, 1, "an unknown amount"},
		{"on a GPU that is not the engine's", []GPUProcess{engine, worker, holds(20, "c", 1, "x")}, nil, 0, 0, ""},
		{"tolerated", []GPUProcess{engine, worker, holds(20, "a", 1, "/usr/bin/Xorg"), holds(21, "a", 1, "watcher")}, nil, 0, 0, ""},
		{"memory of nobody", []GPUProcess{engine, worker}, map[string]float64{"a": 9000, "b": 4000}, 1, 0, "6000 MiB not attributed to any process"},
		{"before the engine is there", nil, map[string]float64{"a": 3, "b": 3}, 0, 0, ""},
		{"nothing is shown", nil, map[string]float64{"a": 9000, "b": 3}, -1, 0, "none of the engine's processes"},
		{"nothing is shown of shared memory", nil, nil, -1, -1, "none of the engine's processes"},
		{"other numbers are shown", []GPUProcess{holds(99, "a", 3000, "x")}, map[string]float64{"a": 3100, "b": 0}, -1, 0, "none of the engine's processes"},
	} {
		s := newSampler(context.Background(), SamplerConfig{GPUs: []string{"a", "b"}, Ignore: []string{"watch*"}, IdleMiB: 1024})
		w := &gpuSamples{Sampler: s, used: test.used, before: map[string]Occupancy{}, unknown: map[string]string{}}
		s.gpus = w
		for i := range 2 {
			w.judge(test.list, s.config.Zero.Add(time.Duration(i)*time.Second), func(pid int) bool { return pid == 10 || pid == 11 })
		}
		series, notes := s.result()
		for uuid, want := range map[string]int{"a": test.a, "b": test.b} {
			values := find(series, measure.GPUForeign, uuid).Value
			switch {
			case want < 0 && len(values) > 0, want >= 0 && (len(values) != 2 || values[0] != 0 || values[1] != float64(want)):
				t.Errorf("%s: %v on %s, want %d", test.name, values, uuid, want)
			}
		}
		if told := strings.Join(notes, "; "); !strings.Contains(told, test.said) {
			t.Errorf("%s: %q", test.name, told)
		}
	}
	// An unknown amount makes the sum unknown.
	for want, list := range [][]GPUProcess{{engine, {PID: 10, GPU: "a"}}, {engine, worker}} {
		s := newSampler(context.Background(), SamplerConfig{GPUs: []string{"a"}})
		w := &gpuSamples{Sampler: s, before: map[string]Occupancy{}, unknown: map[string]string{}}
		w.judge(list, s.config.Zero, func(pid int) bool { return pid == 10 })
		series, _ := s.result()
		if got := find(series, measure.GPUProcessMemory, "a").Value; len(got) != want {
			t.Errorf("%v: %v", list, got)
		}
	}
}

func TestIsOwn(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc: ", err)
	}
	child := exec.Command("sleep", "600")
	require.NoError(t, child.Start())
	own := []int{os.Getpid()}
	if !ofEngine(child.Process.Pid, own, "") {
		t.Error("a child is not the engine's")
	}
	child.Process.Kill()
	child.Wait()
	for _, pid := range []int{child.Process.Pid, os.Getppid(), 0, -1} {
		if ofEngine(pid, own, "") {
			t.Errorf("process %d is the engine's", pid)
		}
	}
}

// TestRealContainer finds the processes of a container that docker started.
func TestRealContainer(t *testing.T) {
	docker := func(in io.Reader, args ...string) (string, error) {
		cmd := exec.Command("docker", args...)
		cmd.Stdin = in
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if out, err := docker(nil, "version"); err != nil {
		t.Skip("no docker daemon: ", out)
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip(err)
	}
	image, err := exec.Command("tar", "-chf", "-", "-C", filepath.Dir(busybox), filepath.Base(busybox)).Output()
	require.NoError(t, err)
	name, err := docker(bytes.NewReader(image), "import", "-", "mxflow-telemetry-test:"+strconv.Itoa(os.Getpid()))
	require.NoError(t, err)
	defer docker(nil, "rmi", "-f", name)
	id, err := docker(nil, "run", "-d", "--network", "none", name, "/busybox", "sleep", "600")
	require.NoError(t, err)
	defer docker(nil, "rm", "-f", id)
	leader, err := docker(nil, "inspect", "-f", "{{.State.Pid}}", id)
	require.NoError(t, err)
	pid, _ := strconv.Atoi(leader)
	if !ofEngine(pid, nil, id) {
		t.Error("a process of the container is not the engine's")
	}
	r := begin(t, SamplerConfig{Host: true, Every: 10 * time.Millisecond, Container: id, Own: func() []int { return []int{pid} }})
	until(t, r, func() bool { return r.has(measure.EngineCPU, "") > 0 })
	if _, notes := r.Stop(); len(notes) != 0 {
		t.Errorf("notes: %q", notes)
	}
}
