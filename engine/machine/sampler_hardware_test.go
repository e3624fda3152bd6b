//go:build unix

package machine

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/require"
)

// loader is a process that puts load on the GPU.
type loader struct {
	cmd *exec.Cmd
	in  interface{ Write([]byte) (int, error) }
	out *bufio.Scanner
}

func startLoader(t *testing.T) *loader {
	l := &loader{cmd: exec.Command("python3", "testdata/load.py")}
	in, _ := l.cmd.StdinPipe()
	out, _ := l.cmd.StdoutPipe()
	l.in, l.out, l.cmd.Stderr = in, bufio.NewScanner(out), os.Stderr
	require.NoError(t, l.cmd.Start())
	t.Cleanup(func() { in.Close(); l.cmd.Process.Kill(); l.cmd.Wait() })
	if !l.out.Scan() {
		t.Fatal("testdata/load.py does not run here: it needs torch and a GPU")
	}
	return l
}

func (l *loader) do(t *testing.T, line string) (p phase) {
	if _, err := l.in.Write([]byte(line + "\n")); err != nil || !l.out.Scan() || json.Unmarshal(l.out.Bytes(), &p) != nil {
		t.Fatalf("%s: %v, %q", line, err, l.out.Text())
	}
	return p
}

func cpuOf(who int) float64 {
	var u syscall.Rusage
	syscall.Getrusage(who, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// TestHardware watches a real GPU under a known load. It runs if MXFLOW_TEST_GPU=1, with
// python3, torch and preferably nvidia-ml-py installed; what it saw goes to the folder
// MXFLOW_TEST_GPU_OUT.
func TestHardware(t *testing.T) {
	if os.Getenv("MXFLOW_TEST_GPU") != "1" {
		t.Skip("needs an NVIDIA GPU and torch: set MXFLOW_TEST_GPU=1")
	}
	gpus, err := GPUs(context.Background())
	if err != nil || len(gpus) == 0 {
		t.Fatal(gpus, err)
	}
	uuid := gpus[0].UUID // the one that is loaded
	var uuids []string
	for _, g := range gpus {
		uuids = append(uuids, g.UUID)
	}
	var pids []int
	owned := make(chan struct{})
	own := func() []int {
		select {
		case <-owned:
			return pids
		default:
			return nil
		}
	}
	zero, wall := time.Now(), float64(time.Now().UnixNano())/1e9
	r, err := StartSampler(context.Background(), SamplerConfig{Zero: zero, GPUs: uuids, Own: own, Host: true})
	require.NoError(t, err)
	t.Logf("Start took %v", time.Since(zero))
	time.Sleep(2 * time.Second)
	engine := startLoader(t)
	pids = []int{engine.cmd.Process.Pid}
	close(owned)
	var phases []phase
	for _, line := range []string{"idle 3", "full 8", "idle 3", "burst 6", "idle 3", "small 4"} {
		phases = append(phases, engine.do(t, line))
	}
	if err := Settle(context.Background(), []string{uuid}, Calm{MaxTemperature: 120}); err != nil {
		t.Error(err)
	}
	if err := Settle(context.Background(), []string{uuid}, Calm{MaxTemperature: 1}); err == nil || !strings.Contains(err.Error(), "°C (required ≤ 1") {
		t.Errorf("as cold as ice: %v", err)
	}
	alone := time.Since(zero)
	other := startLoader(t)
	both := time.Since(zero)
	phases = append(phases, other.do(t, "idle 3"))
	series, notes := r.Stop()
	took := time.Since(zero)
	t.Logf("recorder: %.2f%% of a core itself, %.2f%% in nvidia-smi, over %v",
		100*cpuOf(syscall.RUSAGE_SELF)/took.Seconds(), 100*cpuOf(syscall.RUSAGE_CHILDREN)/took.Seconds(), took)
	if out := os.Getenv("MXFLOW_TEST_GPU_OUT"); out != "" {
		text, _ := json.Marshal(map[string]any{"series": series, "notes": notes, "phases": phases, "wall": wall})
		os.WriteFile(filepath.Join(out, "recorder.json"), text, 0o644)
	}
	t.Logf("notes: %q", notes)
	by := map[string]measure.Series{}
	for _, s := range series {
		if s.Source == uuid || s.Source == "" {
			by[s.Name] = s
		} else if s.Name == measure.GPUForeign && slices.Max(s.Value) > 0 {
			t.Errorf("somebody else is on %s: %v", s.Source, s.Value)
		}
		t.Logf("%-24s %5d values, last %v %s", s.Name, len(s.At), s.Value[len(s.Value)-1], s.Unit)
	}
	at := func(unix float64) time.Duration { return time.Duration((unix - wall) * 1e9) }
	for _, p := range phases {
		counted := (p.ToMilliJ - p.FromMilliJ) / 1e3
		for _, name := range []string{measure.GPUPower, measure.GPUPowerInstant} {
			joule := integral(by[name], at(p.Start), at(p.End))
			off := 100 * (joule/counted - 1)
			t.Logf("%-6s %5.2f s: %-20s %7.1f J, counter %7.1f J: %+5.1f%%", p.Phase, p.End-p.Start, name, joule, counted, off)
			if p.Phase == "full" && name == measure.GPUPowerInstant && counted > 0 && (off < -10 || off > 10) {
				t.Errorf("energy under load is off by %.1f%%", off)
			}
		}
	}
	if f := by[measure.GPUForeign]; len(f.At) == 0 {
		t.Error("foreign processes were never looked for")
	} else {
		for i, after := range f.At {
			if after < alone && f.Value[i] != 0 || after > both+time.Second && f.Value[i] != 1 {
				t.Errorf("%v foreign processes at %v", f.Value[i], after)
			}
		}
	}
	power := by[measure.GPUPower]
	if n := len(power.At); n < int(took.Seconds()*10) {
		t.Errorf("%d values of power in %v", n, took)
	}
}
