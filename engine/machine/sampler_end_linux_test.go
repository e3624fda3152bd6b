package machine

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/require"
)

// children waits until n nvidia-smi are printing, and returns their PIDs.
func children(t *testing.T, folder string, n int) (pids []int) {
	t.Helper()
	for {
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
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
	require.NoError(t, err)
	recorder := exec.Command(self)
	recorder.Env = append(os.Environ(), "FAKE_SMI_RECORD=1", "FAKE_SMI_PIDS="+folder)
	require.NoError(t, recorder.Start())
	pids := children(t, folder, 2)
	require.NoError(t, recorder.Process.Kill())
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
	r := begin(t, SamplerConfig{GPUs: []string{"GPU-a", "GPU-b"}, Host: true, Own: func() []int { return []int{os.Getpid()} }, Metrics: &MetricsPage{URL: s.URL, Names: map[string][]string{"count": {"e:count"}}}})
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
