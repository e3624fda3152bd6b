package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/must"
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
		measure.GPUProcessMemory: {71234 / mibPerGB}, measure.GPUForeign: {0}, measure.GPUPower: {11.17},
		measure.GPUMemory:      nil,
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
	must.Do(t, err)
	w.restarts, w.pause = 2, time.Millisecond
	go r.loop()
	w.followValues()
	series, notes := r.Stop()
	sound(t, series)
	if p := find(series, measure.GPUPower, "GPU-a"); !slices.Equal(p.Value,
		[]float64{100.5, 200.5, 100.5, 200.5, 100.5, 200.5}) {
		t.Errorf("power is %v", p.Value)
	}
	// The other GPU was not requested: its lines are left out.
	told := strings.Join(notes, "\n")
	for _, want := range []string{
		"are missing for a while from ", "exit status 255; restarted (and 1 times more)",
		"stopped monitoring the GPUs", "after failure 3", "not a reading: not a requested GPU", "(and 5 times more)",
	} {
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
	if r, err := StartSampler(context.Background(), SamplerConfig{GPUs: []string{"GPU-a", "GPU-c"}}); err == nil ||
		!strings.Contains(err.Error(), "GPU-c") {
		t.Errorf("%v, %v", r, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := StartSampler(context.Background(), SamplerConfig{GPUs: []string{"GPU-a"}}); err == nil ||
		!strings.Contains(err.Error(), "cannot monitor the GPUs") {
		t.Errorf("without nvidia-smi: %v", err)
	}
	r := begin(t, SamplerConfig{})
	if series, notes := r.Stop(); len(series) != 0 || len(notes) != 0 {
		t.Errorf("nothing to watch: %v, %q", series, notes)
	}
}

// TestForeignProcess has real processes on a simulated GPU: one of the engine's, its child, and a stranger.
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
	if told := strings.Join(notes, "\n"); !strings.Contains(told,
		"another process on GPU-a: process 1 (/usr/bin/python3) holds 512 MiB") {
		t.Errorf("notes: %q", notes)
	}
}

// A stream that hangs from the start is not a sign that all is well.
func TestGPUsOfWhichNothingIsRead(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *lms*) touch " + filepath.Join(dir, "streams") +
		"; exec sleep 1000;; *compute-apps*) exit 0;; esac\n" +
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
		{
			Index: 0, UUID: "GPU-a", Name: "A",
			Values: map[string]string{"temperature.gpu": "70", "power.draw": "300.5", "clocks.current.sm": "345"},
		},
		{Index: 1, UUID: "GPU-b", Name: "B", Values: map[string]string{"temperature.gpu": "40"}},
		{Index: 2, UUID: "GPU-d", Name: "D"},
	}
	for _, test := range []struct {
		want                Calm
		uuids, rest, failed string
	}{
		{Calm{MaxTemperature: 70}, "GPU-a GPU-b", "", ""},
		{Calm{MaxTemperature: 50}, "GPU-a GPU-b", "the temperature of GPU 0 (A, GPU-a) is 70 °C (required ≤ 50)", ""},
		{Calm{MaxTemperature: 30}, "GPU-a GPU-b", "; the temperature of GPU 1", ""},
		{Calm{MaxTemperature: 90}, "GPU-c", "", "cannot wait for GPU GPU-c: nvidia-smi does not show it"},
		{
			Calm{MaxTemperature: 90},
			"GPU-d", "",
			"cannot wait for the temperature of GPU 2 (D, GPU-d): the driver does not report it",
		},
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
const machineList = "index, uuid, name, driver_version, temperature.gpu, power.draw, clocks.current.sm\n0, GPU-a, " +
	"NVIDIA A, 580.1, HOT, 80, 345\n"

func TestSettle(t *testing.T) {
	ctx := context.Background()
	if err := Settle(ctx, nil, Calm{}); err == nil {
		t.Error("no GPU was waited for")
	}
	hot := strings.ReplaceAll(machineList, "HOT", "71")
	fakeMachine{stream: hot}.use(t)
	err := Settle(ctx, []string{"GPU-a"}, Calm{MaxTemperature: 50})
	if err == nil || !strings.Contains(err.Error(),
		"after waiting for 0s, the temperature of GPU 0 (NVIDIA A, GPU-a) is 71 °C (required ≤ 50)") {
		t.Errorf("too hot: %v", err)
	}
	var told string
	ended, cancel := context.WithCancel(ctx)
	err = Settle(ended, []string{"GPU-a"}, Calm{MaxTemperature: 50, Timeout: time.Hour, Waiting: func(what string) {
		told = what
		cancel()
	}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(told, "71 °C") {
		t.Errorf("interrupted: %v, %q", err, told)
	}
	// It cools down meanwhile.
	cool := strings.ReplaceAll(machineList, "HOT", "49")
	err = Settle(ctx, []string{"GPU-a"}, Calm{
		MaxTemperature: 50, Timeout: time.Hour, Every: time.Millisecond,
		Waiting: func(string) { fakeMachine{stream: cool}.use(t) },
	})
	if err != nil {
		t.Errorf("cooled down: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := Settle(ctx, []string{"GPU-a"}, Calm{MaxTemperature: 50}); !errors.Is(err, ErrNoGPU) {
		t.Errorf("without nvidia-smi: %v", err)
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 9000)
	var got []string
	lines(strings.NewReader("GPU-1, 1\n\r\n  \nGPU-2, 2\r\n"+long+"\nGPU-1, 3\n"+long+"GPU-1, 4\nGPU-2, 715"),
		func(line string, _ time.Time) {
			g, err := parseGPU(line, []field{{name: "uuid"}, {name: "power.draw"}})
			if err != nil {
				got = append(got, "bad")
				return
			}
			got = append(got, g.UUID+" "+g.Values["power.draw"])
		})
	// The last line is incomplete: it may have been 7150.
	if want := "GPU-1 1, GPU-2 2, bad, GPU-1 3, bad"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFollowEnds(t *testing.T) {
	run := func(ctx context.Context, silence time.Duration) (n int, err error) {
		err = follow(ctx, silence, nil, func(string, time.Time) { n++ })
		return n, err
	}
	inPath(t, "nvidia-smi", "#!/bin/sh\necho GPU-1, 1; echo GPU-2, 2; exit 9\n")
	if n, err := run(context.Background(), 0); n != 2 || err == nil || !strings.Contains(err.Error(), "exit status 9") {
		t.Errorf("died: %d lines, %v", n, err)
	}
	inPath(t, "nvidia-smi", "#!/bin/sh\necho GPU-1, 1\n")
	if n, err := run(context.Background(), silence); n != 1 || err == nil {
		t.Errorf("ended: %d lines, %v", n, err)
	}
	// A driver that hangs; a grandchild holds the pipe open.
	inPath(t, "nvidia-smi", "#!/bin/sh\necho GPU-1, 1; sleep 600 & wait\n")
	if n, err := run(context.Background(), 50*time.Millisecond); n != 1 || err == nil ||
		!strings.Contains(err.Error(), "printed nothing for 50ms") {
		t.Errorf("hung: %d lines, %v", n, err)
	}
	inPath(t, "nvidia-smi", "#!/bin/sh\ntrap '' TERM INT; while :; do echo GPU-1, 1; done\n")
	ctx, cancel := context.WithCancel(context.Background())
	if err := follow(ctx, silence, nil, func(string, time.Time) { cancel() }); err != nil {
		t.Errorf("stopped: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := run(context.Background(), silence); !errors.Is(err, ErrNoGPU) {
		t.Errorf("without nvidia-smi: %v", err)
	}
}

// nvidiaSamples are of all GPUs that a sampler watches; own are the engine's processes.
func nvidiaSamples(s *Sampler, own ...int) *gpuSamples {
	s.own = own
	return &gpuSamples{
		Sampler: s, vendor: vendors[0], uuids: s.config.GPUs, look: time.Second, used: map[string]float64{},
		before: map[string]Occupancy{}, unknown: map[string]string{},
	}
}

// none is more than any machine's processes are numbered with.
const none = 1 << 30

// TestProcessLists: lists are told apart by time, or by a process that comes again; one that
// cannot be read, or has not ended, does not count.
func TestProcessLists(t *testing.T) {
	w := nvidiaSamples(newSampler(context.Background(), SamplerConfig{GPUs: []string{"a"}}), os.Getpid())
	w.used["a"] = 1
	self := strconv.Itoa(os.Getpid())
	at := w.config.Zero
	for _, list := range [][]string{
		{self + ", a, 1, x", "1, a, 5, y", self + ", b, 9, x"},
		{self + ", a, 2, x", "1, a, 5, y", self + ", a, 3, x", "1, a, 6, y"},
		{self + ", a, 4, x", "GPU is lost", "2, a, 5, y"},
		{self + ", a, 5, x"},
		{self + ", a, 6, x"},
	} {
		at = at.Add(w.look)
		for _, line := range list {
			w.process(line+"\n", at)
			at = at.Add(time.Millisecond)
		}
	}
	own, foreign := w.series[track{measure.GPUProcessMemory, "a"}], w.series[track{measure.GPUForeign, "a"}]
	for i, mib := range []float64{1, 2, 3, 5} {
		if len(own.Value) != 4 || own.Value[i] != mib/mibPerGB || foreign.Value[i] != []float64{0, 1, 1, 0}[i] {
			t.Errorf("own memory %v, foreign %v", own.Value, foreign.Value)
		}
	}
}

func TestForeign(t *testing.T) {
	holds := func(pid int, on string, mib float64, name string) GPUProcess {
		return GPUProcess{PID: pid, GPU: on, MiB: &mib, Name: name}
	}
	engine, worker := holds(none+10, "a", 3000, "python3"), holds(none+11, "b", 4000, "python3")
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
		{
			"tolerated",
			[]GPUProcess{engine, worker, holds(20, "a", 1, "/usr/bin/Xorg"), holds(21, "a", 1, "watcher")},
			nil, 0, 0, "",
		},
		{
			"memory of nobody",
			[]GPUProcess{engine, worker},
			map[string]float64{"a": 9000, "b": 4000},
			1, 0,
			"6000 MiB not attributed to any process",
		},
		{"before the engine is there", nil, map[string]float64{"a": 3, "b": 3}, 0, 0, ""},
		{"nothing is shown", nil, map[string]float64{"a": 9000, "b": 3}, -1, 0, "none of the engine's processes"},
		{"nothing is shown of shared memory", nil, nil, -1, -1, "none of the engine's processes"},
		{
			"other numbers are shown",
			[]GPUProcess{holds(99, "a", 3000, "x")},
			map[string]float64{"a": 3100, "b": 0},
			-1,
			0, "none of the engine's processes",
		},
	} {
		s := newSampler(context.Background(),
			SamplerConfig{GPUs: []string{"a", "b"}, Ignore: []string{"watch*"}, IdleMiB: 1024})
		w := nvidiaSamples(s, none+10, none+11)
		w.used, s.gpus = test.used, w
		for i := range 2 {
			w.judge(test.list, s.config.Zero.Add(time.Duration(i)*time.Second))
		}
		series, notes := s.result()
		for uuid, want := range map[string]int{"a": test.a, "b": test.b} {
			values := find(series, measure.GPUForeign, uuid).Value
			switch {
			case want < 0 && len(values) > 0,
				want >= 0 && (len(values) != 2 || values[0] != 0 || values[1] != float64(want)):
				t.Errorf("%s: %v on %s, want %d", test.name, values, uuid, want)
			}
		}
		if told := strings.Join(notes, "; "); !strings.Contains(told, test.said) {
			t.Errorf("%s: %q", test.name, told)
		}
	}
	// An unknown amount makes the sum unknown.
	for want, list := range [][]GPUProcess{{engine, {PID: none + 10, GPU: "a"}}, {engine, worker}} {
		s := newSampler(context.Background(), SamplerConfig{GPUs: []string{"a"}})
		nvidiaSamples(s, none+10).judge(list, s.config.Zero)
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
	must.Do(t, child.Start())
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
	must.Do(t, err)
	name, err := docker(bytes.NewReader(image), "import", "-", "mxflow-telemetry-test:"+strconv.Itoa(os.Getpid()))
	must.Do(t, err)
	defer docker(nil, "rmi", "-f", name)
	id, err := docker(nil, "run", "-d", "--network", "none", name, "/busybox", "sleep", "600")
	must.Do(t, err)
	defer docker(nil, "rm", "-f", id)
	leader, err := docker(nil, "inspect", "-f", "{{.State.Pid}}", id)
	must.Do(t, err)
	pid, _ := strconv.Atoi(leader)
	if !ofEngine(pid, nil, id) {
		t.Error("a process of the container is not the engine's")
	}
	r := begin(t, SamplerConfig{Host: true, Every: 10 * time.Millisecond, Container: id, Own: func() []int {
		return []int{pid}
	}})
	until(t, r, func() bool { return r.has(measure.EngineCPU, "") > 0 })
	if _, notes := r.Stop(); len(notes) != 0 {
		t.Errorf("notes: %q", notes)
	}
}

// phase is what testdata/load.py reports about one.
type phase struct {
	Phase      string  `json:"phase"`
	Start      float64 `json:"start"`
	End        float64 `json:"end"`
	FromMilliJ float64 `json:"from_mj"`
	ToMilliJ   float64 `json:"to_mj"`
	N          int     `json:"n"`
}

// recorded is the time at which each line of a recording arrived or was requested, in s since the Unix epoch.
func recorded(t *testing.T, path, column string) (at []float64) {
	t.Helper()
	names, lines := rows(path)
	i := slices.Index(names, column)
	for _, line := range lines {
		if column == "timestamp" {
			asked, err := time.Parse("2006/01/02 15:04:05.000", line[i])
			must.Do(t, err)
			at = append(at, float64(asked.UnixMilli())/1e3)
			continue
		}
		n, err := strconv.ParseFloat(line[i], 64)
		must.Do(t, err)
		at = append(at, n)
	}
	return at
}

// TestReplay plays what an H200 showed under a known load to the recorder, and compares
// the resulting energy with the driver's own counter.
func TestReplay(t *testing.T) {
	const uuid = "GPU-00000000-0000-0000-0000-000000000000"
	asked, arrived := recorded(t, "testdata/h200/stream.csv", "timestamp"),
		recorded(t, "testdata/h200/stream.csv", "arrival")
	for i := range asked {
		if late := arrived[i] - asked[i]; late < 0 || late > 0.01 {
			t.Errorf("line %d came %v s after its time: its time is not the one of this machine's clock", i, late)
		}
	}
	fakeMachine{stream: "testdata/h200/stream.csv", does: "hang"}.use(t)
	r := begin(t, SamplerConfig{GPUs: []string{uuid}})
	until(t, r, func() bool { return r.has(measure.GPUPowerInstant, uuid) == len(asked) })
	series, notes := r.Stop()
	if sound(t, series); len(notes) != 0 {
		t.Errorf("notes: %q", notes)
	}
	// The recording's own times instead of those of its replay.
	power := func(name string) measure.Series {
		s := find(series, name, uuid)
		for i := range s.At {
			s.At[i] = time.Duration((asked[i] - asked[0]) * 1e9)
		}
		return s
	}
	instant, average := power(measure.GPUPowerInstant), power(measure.GPUPower)
	at := func(unix float64) time.Duration { return time.Duration((unix - asked[0]) * 1e9) }
	text, err := os.ReadFile("testdata/h200/phases.jsonl")
	must.Do(t, err)
	dec := json.NewDecoder(bytes.NewReader(text))
	var all []phase
	for dec.More() {
		var p phase
		must.Do(t, dec.Decode(&p))
		all = append(all, p)
	}
	all = append(all, phase{"all", all[0].Start, all[len(all)-1].End, all[0].FromMilliJ, all[len(all)-1].ToMilliJ, 0})
	for _, p := range all {
		counted := (p.ToMilliJ - p.FromMilliJ) / 1e3
		off := func(s measure.Series) float64 { return 100 * (integral(s, at(p.Start), at(p.End))/counted - 1) }
		now, mean := off(instant), off(average)
		t.Logf("%-6s %5.2f s, %7.1f J: %+.1f%% by instantaneous power, %+.1f%% by the average", p.Phase, p.End-p.Start,
			counted, now, mean)
		switch {
		case (p.Phase == "all" || p.Phase == "full" || p.Phase == "small") && math.Abs(now) > 2:
			t.Errorf("energy of %s is off by %.1f%%", p.Phase, now)
		case p.Phase == "full" && mean > -5: // why energy is not computed from the average
			t.Errorf("the average follows the load at once: it is off by %.1f%%", mean)
		}
	}
	throttled := find(series, measure.GPUThrottle, uuid)
	if !slices.Contains(throttled.Value, 4) || slices.Max(throttled.Value) != 4 {
		t.Errorf("at its power limit the GPU said %v", throttled.Value)
	}
	// Its clock went from 1980 down to 1410 MHz there, and nothing was wrong with it.
	for _, name := range []string{measure.GPUClock, measure.GPUThrottle} {
		power(name)
	}
	cell := measure.CellRun{Cell: "chat", From: 0, To: at(all[len(all)-1].End)}
	if d := measure.Disturbances(measure.Recording{Cells: []measure.CellRun{cell}, Series: series}); len(d) > 0 {
		t.Errorf("a GPU at its power limit is said to be disturbed: %+v", d)
	}
	if m := find(series, measure.GPUMemory, uuid); slices.Max(m.Value) != 1103/mibPerGB {
		t.Errorf("memory is %v", m.Value)
	}
}

// TestReplayProcesses distinguishes an H200's processes, as nvidia-smi showed them: first two, then one.
func TestReplayProcesses(t *testing.T) {
	const uuid = "GPU-00000000-0000-0000-0000-000000000000"
	names, lines := rows("testdata/h200/apps.csv")
	cell := func(line []string, name string) string { return line[slices.Index(names, name)] }
	s := newSampler(context.Background(), SamplerConfig{GPUs: []string{uuid}})
	w := nvidiaSamples(s, none+420)
	for from := 0; from < len(lines); {
		to := from
		var list []GPUProcess
		for ; to < len(lines) && cell(lines[to], "timestamp") == cell(lines[from], "timestamp"); to++ {
			pid, err1 := strconv.Atoi(cell(lines[to], "pid"))
			mib, err2 := strconv.ParseFloat(cell(lines[to], "used_memory"), 64)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if pid == 420 {
				pid += none
			}
			list = append(list, GPUProcess{
				PID: pid, GPU: cell(lines[to], "gpu_uuid"), MiB: &mib,
				Name: cell(lines[to], "process_name"),
			})
		}
		w.used = map[string]float64{uuid: 1103 * float64(len(list))}
		w.judge(list, s.config.Zero.Add(time.Duration(from)*time.Second))
		from = to
	}
	series, _ := s.result()
	if foreign := find(series, measure.GPUForeign, uuid).Value; !slices.Equal(foreign,
		[]float64{0, 1, 1, 1, 1, 1, 1, 1, 0, 0}) {
		t.Errorf("foreign processes: %v", foreign)
	}
	for _, gb := range find(series, measure.GPUProcessMemory, uuid).Value {
		if gb != 1094/mibPerGB {
			t.Errorf("the engine's own memory is %v", gb)
		}
	}
}

// integral is the area below a series between two times, by the trapezoidal rule.
func integral(s measure.Series, from, to time.Duration) (sum float64) {
	value := func(at time.Duration) float64 {
		for i := 1; i < len(s.At); i++ {
			if s.At[i] >= at {
				share := float64(at-s.At[i-1]) / float64(s.At[i]-s.At[i-1])
				return s.Value[i-1] + share*(s.Value[i]-s.Value[i-1])
			}
		}
		return s.Value[len(s.Value)-1]
	}
	last, lastValue := from, value(from)
	for i, at := range s.At {
		if at <= from || at >= to {
			continue
		}
		sum += (at - last).Seconds() * (lastValue + s.Value[i]) / 2
		last, lastValue = at, s.Value[i]
	}
	return sum + (to-last).Seconds()*(lastValue+value(to))/2
}
