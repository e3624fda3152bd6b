package machine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/require"
)

const twoGPUs = `timestamp, uuid, power.draw [W], power.draw.instant [W], memory.used [MiB], memory.total [MiB], clocks.current.sm [MHz], clocks.current.memory [MHz], temperature.gpu, utilization.gpu [%], clocks_event_reasons.active
2026/11/20 11:11:25.792, GPU-a, 100.5, 110, 1000, 143771, 1980, 3201, 40, 15, 0x0000000000000000
2026/11/20 11:11:25.793, GPU-b, 70, [N/A], 0, 143771, 345, 3201, 30, 0, 0x0000000000000001
2026/11/20 11:11:25.892, GPU-a, 200.5, 700, 143000, 143771, 1200, 3201, 85, 100, 0x0000000000000024
2026/11/20 11:11:25.893, GPU-b, 71, [Unknown Error], 1, 143771, 345, 3201, 30, 0, 0x0000000000000001
`

// oldDriver has neither instantaneous power nor the new name for throttling.
const oldDriver = `timestamp, gpu_uuid, uuid, power.draw, memory.used, memory.total, clocks.sm, clocks.mem, temperature.gpu, utilization.gpu, clocks_throttle_reasons.active
2026/11/20 11:11:25.792, GPU-a, GPU-a, 299.8, 3, 16160, 1245, 877, 71, 99, 0x0000000000000044
`

// gb10 shares the host's memory.
const gb10 = `timestamp, uuid, power.draw, power.draw.instant, memory.used, memory.total, clocks.current.sm, clocks.current.memory, temperature.gpu, utilization.gpu, clocks_event_reasons.active
2026/11/20 11:11:25.792, GPU-a, 11.17, [N/A], [N/A], [N/A], 208, [N/A], 35, 0, 0x0000000000000001
`

func TestGPUs(t *testing.T) {
	fakeMachine{stream: twoGPUs, does: "hang"}.use(t)
	r := begin(t, SamplerConfig{GPUs: []string{"GPU-a", "GPU-b"}})
	until(t, r, func() bool { return r.has(measure.GPUPower, "GPU-b") == 2 })
	series, notes := r.Stop()
	sound(t, series)
	for _, want := range []struct {
		name, source, unit string
		values             []float64
	}{
		{measure.GPUPower, "GPU-a", "W", []float64{100.5, 200.5}},
		{measure.GPUPower, "GPU-b", "W", []float64{70, 71}},
		{measure.GPUPowerInstant, "GPU-a", "W", []float64{110, 700}},
		{measure.GPUPowerInstant, "GPU-b", "", nil},
		{measure.GPUMemory, "GPU-a", "GB", []float64{1.048576, 149.946368}},
		{measure.GPUClock, "GPU-a", "MHz", []float64{1980, 1200}},
		{measure.GPUMemoryClock, "GPU-a", "MHz", []float64{3201, 3201}},
		{measure.GPUTemperature, "GPU-a", "°C", []float64{40, 85}},
		{measure.GPUUtilization, "GPU-a", "", []float64{0.15, 1}},
		{measure.GPUThrottle, "GPU-a", "", []float64{0, 0x24}},
		{measure.GPUForeign, "GPU-a", "", nil}, // nothing says whose processes are whose
		{measure.GPUProcessMemory, "GPU-a", "", nil},
	} {
		if s := find(series, want.name, want.source); !slices.Equal(s.Value, want.values) || s.Unit != want.unit {
			t.Errorf("%s of %s is %v %q, want %v", want.name, want.source, s.Value, s.Unit, want.values)
		}
	}
	if len(notes) != 0 {
		t.Errorf("notes: %q", notes)
	}
	// Stop may be called again.
	if again, _ := r.Stop(); len(again) != len(series) {
		t.Errorf("%d series after a second stop, %d before", len(again), len(series))
	}
}

func TestOtherDrivers(t *testing.T) {
	fakeMachine{stream: oldDriver, does: "hang"}.use(t)
	r := begin(t, SamplerConfig{GPUs: []string{"GPU-a"}})
	until(t, r, func() bool { return r.has(measure.GPUThrottle, "GPU-a") > 0 })
	series, notes := r.Stop()
	if s := find(series, measure.GPUThrottle, "GPU-a"); s.Value[0] != 0x44 {
		t.Errorf("throttled by %v", s.Value)
	}
	if s := find(series, measure.GPUPowerInstant, "GPU-a"); len(s.At) != 0 {
		t.Errorf("instantaneous power is %v", s.Value)
	}
	if !strings.Contains(strings.Join(notes, "\n"), "does not report instantaneous power") {
		t.Errorf("notes: %q", notes)
	}

	fakeMachine{stream: gb10, apps: "4711, GPU-a, 71234, VLLM::EngineCore\n", does: "hang"}.use(t)
	r = begin(t, SamplerConfig{GPUs: []string{"GPU-a"}, Own: func() []int { return []int{4711} }})
	until(t, r, func() bool {
		return r.has(measure.GPUForeign, "GPU-a") > 0 && r.has(measure.GPUThrottle, "GPU-a") > 0
	})
	series, notes = r.Stop()
	for name, want := range map[string][]float64{
		measure.GPUProcessMemory: {71234 / mibPerGB}, measure.GPUForeign: {0}, measure.GPUPower: {11.17}, measure.GPUMemory: nil,
		measure.GPUMemoryClock: nil, measure.GPUPowerInstant: nil,
	} {
		if s := find(series, name, "GPU-a"); !slices.Equal(s.Value[:min(1, len(s.Value))], want) {
			t.Errorf("%s is %v, want %v", name, s.Value, want)
		}
	}
	if s := find(series, measure.GPUHostMemory, "GPU-a"); len(s.Value) == 0 || s.Value[0] <= 0 || s.Unit != "GB" {
		t.Errorf("the host's memory is %+v", s)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "shares the host's memory") {
		t.Errorf("notes: %q", notes)
	}
}

func TestStreamBreaks(t *testing.T) {
	// It ends, and is restarted.
	fakeMachine{stream: twoGPUs, does: "end"}.use(t)
	r := newSampler(context.Background(), SamplerConfig{GPUs: []string{"GPU-a"}})
	w, err := r.newGPUSamples(context.Background())
	require.NoError(t, err)
	w.restarts, w.pause = 2, time.Millisecond
	go r.loop()
	w.followValues()
	series, notes := r.Stop()
	sound(t, series)
	if p := find(series, measure.GPUPower, "GPU-a"); !slices.Equal(p.Value, []float64{100.5, 200.5, 100.5, 200.5, 100.5, 200.5}) {
		t.Errorf("power is %v", p.Value)
	}
	// The other GPU was not requested: its lines are left out.
	told := strings.Join(notes, "\n")
	for _, want := range []string{"are missing for a while from ", "exit status 255; restarted (and 1 times more)", "stopped monitoring the GPUs", "after failure 3", "not a reading: not a requested GPU", "(and 5 times more)"} {
		if !strings.Contains(told, want) {
			t.Errorf("no %q in:\n%s", want, told)
		}
	}

	fakeMachine{stream: gb10, does: "noise"}.use(t)
	r = begin(t, SamplerConfig{GPUs: []string{"GPU-a"}})
	until(t, r, func() bool { return r.told("line") && r.has(measure.GPUPower, "GPU-a") > 1 })
	series, notes = r.Stop()
	sound(t, series)
	if !strings.Contains(strings.Join(notes, "\n"), "Unable to determine the device handle") {
		t.Errorf("notes: %q", notes)
	}
}

func TestNoSuchGPU(t *testing.T) {
	fakeMachine{stream: twoGPUs, does: "hang"}.use(t)
	if r, err := StartSampler(context.Background(), SamplerConfig{GPUs: []string{"GPU-a", "GPU-c"}}); err == nil || !strings.Contains(err.Error(), "GPU-c") {
		t.Errorf("%v, %v", r, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := StartSampler(context.Background(), SamplerConfig{GPUs: []string{"GPU-a"}}); err == nil || !strings.Contains(err.Error(), "cannot monitor the GPUs") {
		t.Errorf("without nvidia-smi: %v", err)
	}
	r := begin(t, SamplerConfig{})
	if series, notes := r.Stop(); len(series) != 0 || len(notes) != 0 {
		t.Errorf("nothing to watch: %v, %q", series, notes)
	}
}

// TestForeignProcess has real processes on a simulated GPU: one of the engine's, its
// child, and a stranger.
func TestForeignProcess(t *testing.T) {
	self := os.Getpid()
	line := func(pid int, name string) string { return strconv.Itoa(pid) + ", GPU-a, 512, " + name + "\n" }
	apps := fakeMachine{stream: twoGPUs, apps: line(self, "engine"), does: "again"}.use(t)
	r := begin(t, SamplerConfig{GPUs: []string{"GPU-a"}, Own: func() []int { return []int{self} }, IdleMiB: 1e6})
	until(t, r, func() bool { return r.has(measure.GPUForeign, "GPU-a") > 0 })
	write(t, apps, line(self, "engine")+line(1, "/usr/bin/python3"))
	until(t, r, func() bool { return r.told("foreign GPU-a") })
	series, notes := r.Stop()
	f := find(series, measure.GPUForeign, "GPU-a")
	if f.Value[0] != 0 || f.Value[len(f.Value)-1] != 1 {
		t.Errorf("foreign: %v", f.Value)
	}
	if m := find(series, measure.GPUProcessMemory, "GPU-a"); m.Value[len(m.Value)-1] != 512/mibPerGB {
		t.Errorf("the engine's memory is %v", m.Value)
	}
	if told := strings.Join(notes, "\n"); !strings.Contains(told, "another process on GPU-a: process 1 (/usr/bin/python3) holds 512 MiB") {
		t.Errorf("notes: %q", notes)
	}
}

// A stream that hangs from the start is not a sign that all is well.
func TestGPUsOfWhichNothingIsRead(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *lms*) touch " + filepath.Join(dir, "streams") + "; exec sleep 1000;; *compute-apps*) exit 0;; esac\n" +
		"echo 'GPU-a, 100, 100, 1000, 143771, 1980, 3201, 40, 15, 0x0'\n"
	inPath(t, "nvidia-smi", script)
	r := begin(t, SamplerConfig{GPUs: []string{"GPU-a"}})
	until(t, r, func() bool { _, err := os.Stat(filepath.Join(dir, "streams")); return err == nil })
	_, notes := r.Stop()
	if !slices.ContainsFunc(notes, func(s string) bool { return strings.Contains(s, "no readings of GPU GPU-a") }) {
		t.Errorf("notes %q", notes)
	}
}

func TestCalm(t *testing.T) {
	all := []GPU{
		{Index: 0, UUID: "GPU-a", Name: "A", Values: map[string]string{"temperature.gpu": "70", "power.draw": "300.5", "clocks.current.sm": "345"}},
		{Index: 1, UUID: "GPU-b", Name: "B", Values: map[string]string{"temperature.gpu": "40"}},
		{Index: 2, UUID: "GPU-d", Name: "D"},
	}
	for _, test := range []struct {
		want         Calm
		uuids        string
		rest, failed string
	}{
		{Calm{MaxTemperature: 70}, "GPU-a GPU-b", "", ""},
		{Calm{MaxTemperature: 50}, "GPU-a GPU-b", "the temperature of GPU 0 (A, GPU-a) is 70 °C (required ≤ 50)", ""},
		{Calm{MaxTemperature: 30}, "GPU-a GPU-b", "; the temperature of GPU 1", ""},
		{Calm{MaxTemperature: 90}, "GPU-c", "", "cannot wait for GPU GPU-c: nvidia-smi does not show it"},
		{Calm{MaxTemperature: 90}, "GPU-d", "", "cannot wait for the temperature of GPU 2 (D, GPU-d): the driver does not report it"},
	} {
		rest, err := test.want.look(all, strings.Fields(test.uuids))
		if test.failed != "" {
			if err == nil || err.Error() != test.failed {
				t.Errorf("%+v: %q, %v", test.want, rest, err)
			}
			continue
		}
		if err != nil || !strings.Contains(rest, test.rest) || (test.rest == "") != (rest == "") {
			t.Errorf("%+v: %q, %v", test.want, rest, err)
		}
	}
	if _, err := (Calm{}).look(nil, []string{"GPU-a"}); !errors.Is(err, ErrNoGPU) {
		t.Errorf("without a GPU: %v", err)
	}
}

// machineList has what List needs.
const machineList = "index, uuid, name, driver_version, temperature.gpu, power.draw, clocks.current.sm\n0, GPU-a, NVIDIA A, 580.1, HOT, 80, 345\n"

func TestSettle(t *testing.T) {
	ctx := context.Background()
	if err := Settle(ctx, nil, Calm{}); err == nil {
		t.Error("no GPU was waited for")
	}
	hot := strings.ReplaceAll(machineList, "HOT", "71")
	fakeMachine{stream: hot}.use(t)
	err := Settle(ctx, []string{"GPU-a"}, Calm{MaxTemperature: 50})
	if err == nil || !strings.Contains(err.Error(), "after waiting for 0s, the temperature of GPU 0 (NVIDIA A, GPU-a) is 71 °C (required ≤ 50)") {
		t.Errorf("too hot: %v", err)
	}
	var told string
	ended, cancel := context.WithCancel(ctx)
	err = Settle(ended, []string{"GPU-a"}, Calm{MaxTemperature: 50, Timeout: time.Hour, Waiting: func(what string) { told = what; cancel() }})
	if !errors.Is(err, context.Canceled) || !strings.Contains(told, "71 °C") {
		t.Errorf("interrupted: %v, %q", err, told)
	}
	// It cools down meanwhile.
	cool := strings.ReplaceAll(machineList, "HOT", "49")
	err = Settle(ctx, []string{"GPU-a"}, Calm{MaxTemperature: 50, Timeout: time.Hour, Every: time.Millisecond, Waiting: func(string) { fakeMachine{stream: cool}.use(t) }})
	if err != nil {
		t.Errorf("cooled down: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := Settle(ctx, []string{"GPU-a"}, Calm{MaxTemperature: 50}); !errors.Is(err, ErrNoGPU) {
		t.Errorf("without nvidia-smi: %v", err)
	}
}
