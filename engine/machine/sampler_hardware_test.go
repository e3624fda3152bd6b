//go:build unix

package machine

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/must"
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
	must.Do(t, l.cmd.Start())
	t.Cleanup(func() { in.Close(); l.cmd.Process.Kill(); l.cmd.Wait() })
	if !l.out.Scan() {
		t.Fatal("testdata/load.py does not run here: it needs torch and a GPU")
	}
	return l
}

func (l *loader) do(t *testing.T, line string) (p phase) {
	if _, err := l.in.Write([]byte(line + "\n")); err != nil || !l.out.Scan() ||
		json.Unmarshal(l.out.Bytes(), &p) != nil {
		t.Fatalf("%s: %v, %q", line, err, l.out.Text())
	}
	return p
}

// TestHardware watches a real GPU under a known load, as TestReplay does a recorded one. It runs
// if MXFLOW_TEST_GPU=1, with python3, torch and preferably nvidia-ml-py installed.
func TestHardware(t *testing.T) {
	if os.Getenv("MXFLOW_TEST_GPU") != "1" {
		t.Skip("needs an NVIDIA GPU and torch: set MXFLOW_TEST_GPU=1")
	}
	gpus, err := GPUs(context.Background())
	if err != nil || len(gpus) == 0 {
		t.Fatal(gpus, err)
	}
	uuid := gpus[0].UUID // the one that is loaded
	var pid atomic.Int64
	zero := time.Now()
	own := func() []int { return []int{int(pid.Load())} }
	r := begin(t, SamplerConfig{Zero: zero, GPUs: uuidsOf(gpus), Host: true, Own: own})
	engine := startLoader(t)
	pid.Store(int64(engine.cmd.Process.Pid))
	var phases []phase
	for _, line := range []string{"idle 3", "full 8", "idle 3", "burst 6", "idle 3", "small 4"} {
		phases = append(phases, engine.do(t, line))
	}
	must.Do(t, Settle(context.Background(), []string{uuid}, Calm{MaxTemperature: 120}))
	if err := Settle(context.Background(), []string{uuid}, Calm{MaxTemperature: 1}); err == nil ||
		!strings.Contains(err.Error(), "°C (required ≤ 1") {
		t.Errorf("as cold as ice: %v", err)
	}
	alone := time.Since(zero)
	other := startLoader(t)
	both := time.Since(zero)
	other.do(t, "idle 3")
	series, notes := r.Stop()
	t.Logf("notes: %q", notes)
	instant := find(series, measure.GPUPowerInstant, uuid)
	at := func(unix float64) time.Duration { return time.Unix(0, int64(unix*1e9)).Sub(zero.Round(0)) }
	for _, p := range phases {
		counted := (p.ToMilliJ - p.FromMilliJ) / 1e3
		off := 100 * (integral(instant, at(p.Start), at(p.End))/counted - 1)
		t.Logf("%-6s %5.2f s: counter %7.1f J, off by %+5.1f%%", p.Phase, p.End-p.Start, counted, off)
		if p.Phase == "full" && counted > 0 && (off < -10 || off > 10) {
			t.Errorf("energy under load is off by %.1f%%", off)
		}
	}
	foreign := find(series, measure.GPUForeign, uuid)
	if len(foreign.At) == 0 {
		t.Error("foreign processes were never looked for")
	}
	for i, after := range foreign.At {
		if after < alone && foreign.Value[i] != 0 || after > both+time.Second && foreign.Value[i] != 1 {
			t.Errorf("%v foreign processes at %v", foreign.Value[i], after)
		}
	}
	if n := len(find(series, measure.GPUPower, uuid).At); n < int(time.Since(zero).Seconds()*10) {
		t.Errorf("%d values of power in %v", n, time.Since(zero))
	}
}
