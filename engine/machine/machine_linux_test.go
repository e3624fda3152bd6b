package machine

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestCPUModel(t *testing.T) {
	x86 := "processor\t: 0\nmodel name\t: AMD  EPYC 9R14\n\nprocessor\t: 1\nmodel name\t: AMD  EPYC 9R14\n"
	arm := "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd87\n\nprocessor\t: 1\nCPU implementer\t: 0x41\n" +
		"CPU part\t: 0xd85\n\nprocessor\t: 2\nCPU implementer\t: 0x41\nCPU part\t: 0xd85\n"
	for in, want := range map[string]string{x86: "AMD EPYC 9R14", arm: "arm 0x41:0xd87 0x41:0xd85", "": ""} {
		if got := cpuModel(in); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCPULimit(t *testing.T) {
	for limits, want := range map[string]string{
		"": "none", "max 100000": "none", "150000 100000": "1.5",
		"max 100000,400000 100000,250000 100000,max 100000": "2.5", "50000": "", "x 1": "", "100000 0": "", "NaN 1": "",
	} {
		root, at := t.TempDir(), ""
		for limit := range strings.SplitSeq(limits, ",") {
			write(t, filepath.Join(root, at, "cpu.max"), limit+"\n")
			at += "/pod"
		}
		if got := cpuLimit("0::"+at+"/inner\n", root); got != want {
			t.Errorf("%q: got %q, want %q", limits, got, want)
		}
	}
	for _, cgroup := range []string{"", "4:cpu,cpuacct:/a\n0::/b\n", "1:memory:/a\n"} {
		if got := cpuLimit(cgroup, t.TempDir()); got != "" {
			t.Errorf("%q: %q", cgroup, got)
		}
	}
}

func TestPriority(t *testing.T) {
	for want, s := range map[string]ProcessStat{
		"normal": {}, "nice 10": {Nice: 10}, "batch, nice 5": {Policy: 3, Nice: 5},
		"fifo 50": {Policy: 1, RealTime: 50}, "7": {Policy: 7},
	} {
		if got := priority(s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestParseStat(t *testing.T) {
	s, err := ReadStat("/proc/self/stat")
	if err != nil || s.PID != os.Getpid() || s.Parent != os.Getppid() || s.Start == 0 || s.Name == "" {
		t.Errorf("%+v, %v", s, err)
	}
	odd, ok := parseStat(
		[]byte("10 (a) b (c) R 1 2 3 0 -1 0 0 0 0 0 200 100 9 9 20 5 4 0 77 123456 1000 18446744073709551615 0 0\n"))
	want := ProcessStat{
		PID: 10, Name: "a) b (c", State: 'R', Parent: 1, Group: 2, Session: 3, User: 200, System: 100,
		Nice: 5, Threads: 4, Start: 77,
	}
	if !ok || odd != want {
		t.Errorf("%+v", odd)
	}
	for _, bad := range []string{"", "10", "10 (x)", "10 (x) S 1", "x (x) S 1 1 1 0 -1 0 0 0 0 0 1 1 9 9 20 0 1 0 7"} {
		if s, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q: %+v", bad, s)
		}
	}
	if _, err := ReadStat("/proc/0/stat"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such process: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	env := Environment()
	for _, key := range []string{"os", "arch", "cores", "kernel", "mem_gib"} {
		if env[key] == "" {
			t.Errorf("%s is missing", key)
		}
	}
	for key, value := range env {
		if value == "" {
			t.Errorf("%s is empty instead of absent", key)
		}
	}
	if BootID() == "" {
		t.Error("the boot has no name")
	}
}

// children waits until n nvidia-smi are printing, and returns their PIDs.
func children(t *testing.T, folder string, n int) (pids []int) {
	t.Helper()
	for {
		entries, err := os.ReadDir(folder)
		must.Do(t, err)
		if len(entries) >= n {
			for _, e := range entries {
				pid, _ := strconv.Atoi(e.Name())
				pids = append(pids, pid)
			}
			return pids
		}
		time.Sleep(time.Millisecond)
	}
}

// runs reports whether a process is still running: a zombie is not.
func runs(pid int) bool {
	s, err := statOf("/", pid)
	return err == nil && s.State != 'Z' && s.State != 'X'
}

func TestKilled(t *testing.T) {
	fakeMachine{stream: twoGPUs, does: "again"}.use(t)
	folder := t.TempDir()
	self, err := os.Executable()
	must.Do(t, err)
	recorder := exec.Command(self)
	recorder.Env = append(os.Environ(), "FAKE_SMI_RECORD=1", "FAKE_SMI_PIDS="+folder)
	must.Do(t, recorder.Start())
	pids := children(t, folder, 2)
	must.Do(t, recorder.Process.Kill())
	recorder.Wait()
	for _, pid := range pids {
		for runs(pid) {
			time.Sleep(time.Millisecond)
		}
	}
}

func TestNothingIsLeft(t *testing.T) {
	fakeMachine{stream: twoGPUs, apps: "1, GPU-a, 5, x\n", does: "again"}.use(t)
	folder := t.TempDir()
	t.Setenv("FAKE_SMI_PIDS", folder)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("# TYPE e:count counter\ne:count_total 1\n"))
	}))
	before := runtime.NumGoroutine()
	r := begin(t, SamplerConfig{GPUs: []string{"GPU-a", "GPU-b"}, Host: true, Own: func() []int {
		return []int{os.Getpid()}
	}, Metrics: &MetricsPage{URL: s.URL, Names: map[string][]string{"count": {"e:count"}}}})
	pids := children(t, folder, 2)
	until(t, r, func() bool { return r.has(measure.GPUPower, "GPU-a") > 0 && r.has(measure.EngineCPU, "") > 0 })
	r.Stop()
	for _, pid := range pids {
		if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); err == nil {
			t.Errorf("nvidia-smi %d is left", pid)
		}
	}
	// Connections are closed by their own goroutines.
	s.Close()
	for runtime.NumGoroutine() > before {
		time.Sleep(time.Millisecond)
	}
}
