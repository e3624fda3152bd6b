package machine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/require"
)

// inPath puts a program in front of all others.
func inPath(t *testing.T, name, text string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// fake puts an nvidia-smi into PATH that plays one of the machines in testdata.
func fake(t *testing.T, machine string) {
	t.Helper()
	program, err := os.ReadFile("testdata/nvidia-smi")
	require.NoError(t, err)
	abs, err := filepath.Abs(filepath.Join("testdata", machine))
	require.NoError(t, err)
	t.Setenv("FAKE_GPU", abs)
	inPath(t, "nvidia-smi", string(program))
}

func list(t *testing.T, machine string) []GPU {
	t.Helper()
	fake(t, machine)
	gpus, err := GPUs(context.Background())
	require.NoError(t, err)
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
	for _, cell := range []string{"[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "[Requested functionality has been deprecated]", ""} {
		gpus, err := parseGPUs("0, GPU-1, "+cell+"\n", ask)
		if err != nil || len(gpus) != 1 {
			t.Fatalf("%s: %v", cell, err)
		}
		if v, there := gpus[0].Values["power.limit"]; there {
			t.Errorf("%s is the value %q", cell, v)
		}
	}
	ask[2].name = "power.draw"
	for _, line := range []string{"0, GPU-1", "0, GPU-1, 1, 2", "[N/A], GPU-1, 1", "x, GPU-1, 1", "0, [N/A], 1", "0, GPU-1, -1", "0, GPU-1, 128.2x", "0, GPU-1, NaN", "0, GPU-1, Inf"} {
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
		{"no driver", "#!/bin/sh\necho \"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure it is running.\"\nexit 9\n"},
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
		"no UUID":        "#!/bin/sh\nawk 'BEGIN { for (i = 0; i < 27; i++) printf \"%s[N/A]\", i ? \", \" : \"\"; print \"\" }'\n",
		"every field":    "#!/bin/sh\nf=${1#*=}; echo \"Field \\\"${f%%,*}\\\" is not a valid field to query.\"; exit 2\n",
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
	require.NoError(t, err)
	if got, err := parseProcesses(string(recorded)); err != nil || len(got) != 1 || got[0].PID != 437 || *got[0].MiB != 5730 || got[0].Name != "python3" {
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
		require.NoError(f, err)
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
