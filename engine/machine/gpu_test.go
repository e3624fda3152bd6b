package machine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// inPath puts a program in front of all others.
func inPath(t *testing.T, name, text string) {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// fake puts an nvidia-smi into PATH that plays one of the machines in testdata.
func fake(t *testing.T, machine string) {
	t.Helper()
	program, err := os.ReadFile("testdata/nvidia-smi")
	must.Do(t, err)
	abs, err := filepath.Abs(filepath.Join("testdata", machine))
	must.Do(t, err)
	t.Setenv("FAKE_GPU", abs)
	inPath(t, "nvidia-smi", string(program))
}

func list(t *testing.T, machine string) []GPU {
	t.Helper()
	fake(t, machine)
	gpus, err := GPUs(context.Background())
	must.Do(t, err)
	return gpus
}

// TestLists: a missing value is absent, never zero (GB10 has no memory of its own), and an older
// driver, which refuses the whole query for a field that it does not know, is asked for less.
func TestLists(t *testing.T) {
	const none = -1 // not a number
	for _, test := range []struct {
		machine    string
		at, of     int
		name, uuid string
		values     map[string]float64
		throttled  string // "-" if the driver does not tell
		unified    bool
	}{
		{"h200", 0, 1, "NVIDIA H200", "GPU-00000000", map[string]float64{
			"memory.total": 143771, "memory.used": 0, "power.limit": 700, "clocks.current.sm": 345,
		}, "idle", false},
		{"h200-busy", 0, 1, "NVIDIA H200", "GPU-0000", nil, "", false},
		{"gb10", 0, 1, "NVIDIA GB10", "GPU-1111", map[string]float64{
			"memory.used": none, "memory.total": none, "power.limit": none, "clocks.current.memory": none,
			"clocks.applications.memory": none, "power.draw": 11.17,
		}, "idle", true},
		{
			"old", 0, 2, "Tesla V100-SXM2-16GB", "GPU-2222",
			map[string]float64{"clocks.current.sm": 1245},
			"software power cap, hardware thermal slowdown", false,
		},
		{"old", 1, 2, "Tesla V100-SXM2-16GB", "GPU-33333333", map[string]float64{"memory.used": none}, "-", false},
	} {
		gpus := list(t, test.machine)
		if len(gpus) != test.of {
			t.Fatalf("%s: %d GPUs", test.machine, len(gpus))
		}
		g := gpus[test.at]
		named := g.Index == test.at && g.Name == test.name && strings.HasPrefix(g.UUID, test.uuid) && g.Driver != ""
		if !named || g.Unified() != test.unified {
			t.Errorf("%s: %+v", test.machine, g)
		}
		for field, want := range test.values {
			if got, ok := g.Number(field); ok != (want != none) || ok && got != want {
				t.Errorf("%s: %s is %v, %v", test.machine, field, got, ok)
			}
		}
		words, ok := g.Throttled()
		if ok != (test.throttled != "-") || ok && strings.Join(words, ", ") != test.throttled {
			t.Errorf("%s: throttled %q, %v", test.machine, words, ok)
		}
	}
}

func TestAbsentValues(t *testing.T) {
	ask := append(slices.Clone(fields[:2]), field{name: "power.limit"})
	for _, cell := range []string{
		"[N/A]", "N/A", "[Not Supported]", "[Unknown Error]",
		"[Requested functionality has been deprecated]", "",
	} {
		gpus, err := parseGPUs("0, GPU-1, "+cell+"\n", ask)
		if err != nil || len(gpus) != 1 {
			t.Fatalf("%s: %v", cell, err)
		}
		if v, there := gpus[0].Values["power.limit"]; there {
			t.Errorf("%s is the value %q", cell, v)
		}
	}
	ask[2].name = "power.draw"
	for _, line := range []string{
		"0, GPU-1", "0, GPU-1, 1, 2", "[N/A], GPU-1, 1", "x, GPU-1, 1", "0, [N/A], 1",
		"0, GPU-1, -1", "0, GPU-1, 128.2x", "0, GPU-1, NaN", "0, GPU-1, Inf",
	} {
		if g, err := parseGPU(line, ask); err == nil {
			t.Errorf("%q: %+v", line, g)
		}
	}
	for name, cell := range map[string]string{"utilization.gpu": "101", "clocks_event_reasons.active": "yes"} {
		ask[2].name = name
		if g, err := parseGPU("0, GPU-1, "+cell, ask); err == nil {
			t.Errorf("%s is %s: %+v", name, cell, g)
		}
	}
	for _, cell := range []string{"NaN", "Inf", "seven"} {
		if n, ok := (GPU{Values: map[string]string{"power.limit": cell}}).Number("power.limit"); ok {
			t.Errorf("%s is %v", cell, n)
		}
	}
}

func TestNoGPU(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, test := range []struct{ name, script string }{
		{"no nvidia-smi", ""},
		{"no device", "#!/bin/sh\necho No devices were found\nexit 6\n"},
		{"no device, and no complaint", "#!/bin/sh\necho No devices were found\n"},
		{
			"no driver",
			"#!/bin/sh\necho \"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make " +
				"sure it is running.\"\nexit 9\n",
		},
	} {
		dir := t.TempDir()
		if test.script != "" {
			os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(test.script), 0o755)
		}
		t.Setenv("PATH", dir)
		gpus, err := GPUs(context.Background())
		if len(gpus) != 0 || err != nil {
			t.Errorf("%s: %v, %v", test.name, gpus, err)
		}
		if processes, err := gpuProcesses(context.Background()); len(processes) != 0 || err != nil {
			t.Errorf("%s: %v, %v", test.name, processes, err)
		}
	}
}

func TestBrokenTool(t *testing.T) {
	for name, script := range map[string]string{
		"fails":          "#!/bin/sh\necho out of order >&2\nexit 4\n",
		"too few values": "#!/bin/sh\necho 0, GPU-1\n",
		"no UUID": "#!/bin/sh\nawk 'BEGIN { for (i = 0; i < 27; i++) printf \"%s[N/A]\", i ? \", \" : \"\"; " +
			"print \"\" }'\n",
		"every field": "#!/bin/sh\nf=${1#*=}; echo \"Field \\\"${f%%,*}\\\" is not a valid field to query.\"; exit 2\n",
	} {
		inPath(t, "nvidia-smi", script)
		if gpus, err := GPUs(context.Background()); err == nil {
			t.Errorf("%s: %v and no error", name, gpus)
		}
	}
}

func TestProcesses(t *testing.T) {
	fake(t, "gb10")
	got, err := gpuProcesses(context.Background())
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if p := got[0]; p.PID != 4711 || p.MiB == nil || *p.MiB != 71234 || p.Name != "VLLM::EngineCore" {
		t.Errorf("got %v", p)
	}
	if p := got[1]; p.MiB != nil || !strings.Contains(p.String(), "an unknown amount") {
		t.Errorf("got %v", p)
	}
	recorded, err := os.ReadFile("testdata/h200/apps.recorded")
	must.Do(t, err)
	if got, err := parseProcesses(string(recorded)); err != nil || len(got) != 1 || got[0].PID != 437 ||
		*got[0].MiB != 5730 || got[0].Name != "python3" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"1, GPU-1\n", "one, GPU-1, 5, x\n"} {
		if list, err := parseProcesses(bad); err == nil {
			t.Errorf("%q: %v", bad, list)
		}
	}
	// Names may have commas, and arguments that must stay private.
	list, err := parseProcesses("7, GPU-1, 5, /opt/a,b/serve --key 1234\n\n")
	if err != nil || len(list) != 1 || list[0].Name != "/opt/a,b/serve" {
		t.Errorf("%v, %v", list, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, machine := range []string{"h200", "gb10", "old"} {
		text, err := os.ReadFile(filepath.Join("testdata", machine, "gpus"))
		must.Do(f, err)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		gpus, err := parseGPUs(text, fields[:4])
		for _, g := range gpus {
			if n, ok := g.Number("power.draw"); err == nil && (g.UUID == "" || ok && n < 0) {
				t.Errorf("%+v from %q", g, text)
			}
			g.Throttled()
		}
		parseProcesses(text)
		parseParents(text)
	})
}

var (
	threeGPUs = []GPU{
		{Index: 0, UUID: "GPU-aaaa-1", Name: "A100"},
		{Index: 1, UUID: "GPU-aabb-2", Name: "A100"},
		{Index: 2, UUID: "GPU-cccc-3", Name: "T4"},
	}
	migParents = parseParents(
		"GPU 0: A100 (UUID: GPU-aaaa-1)\n  MIG 1g.5gb Device 0: (UUID: MIG-x-y)\nGPU 1: A100 (UUID: GPU-aabb-2)\n")
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
		gpus              []GPU
		list, order, want string
		sure              bool
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
		{
			"without a name",
			[]GPUProcess{{PID: 8, GPU: "gb10"}},
			"gb10",
			[]string{"x*"},
			"process 8 (a program that this user cannot see) holds an unknown amount",
		},
		{"on no GPU in particular", []GPUProcess{{PID: 9, Name: "x"}}, "b", nil, "process 9"},
		{
			"the desktop",
			[]GPUProcess{{PID: 9, GPU: "gb10", MiB: mib(300), Name: "/usr/lib/xorg/Xorg"}},
			"gb10", nil, "",
		},
		{
			"memory that nobody holds", nil, "a", nil,
			"40000 MiB of a are used by something that nvidia-smi does not show",
		},
		{"little memory that nobody holds", nil, "b", nil, ""},
		{"what is ignored accounts for its memory", []GPUProcess{vllm}, "a", []string{"python3"}, ""},
		{"free", nil, "gb10", nil, ""},
	} {
		o := occupancyOf(used, test.processes, strings.Fields(test.uuids), test.ignore, 1024, func(int) bool {
			return false
		})
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
	o, err := WaitFree(context.Background(), look, time.Millisecond, time.Minute, func(o Occupancy) {
		told = append(told, o.String())
	})
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
	if _, err := WaitFree(context.Background(), func(context.Context) (Occupancy, error) { return Occupancy{}, blind },
		0, time.Hour, nil); !errors.Is(err, blind) {
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
