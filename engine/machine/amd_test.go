package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/must"
)

const (
	mi300a = "GPU-d1cc3f11cfd6e3a7"
	mi300b = "GPU-0a3f8c11cfd6e3b8"
)

// fakeAMD puts a tool into PATH that plays one of AMD's machines in testdata, beside what else is there.
func fakeAMD(t *testing.T, tool, machine string) (folder string) {
	t.Helper()
	program, err := os.ReadFile(filepath.Join("testdata", tool))
	must.Do(t, err)
	folder = filepath.Join(t.TempDir(), "machine")
	must.Do(t, os.CopyFS(folder, os.DirFS(filepath.Join("testdata", machine))))
	t.Setenv("FAKE_AMD", folder)
	inPath(t, tool, string(program))
	return folder
}

func TestAMDGPUs(t *testing.T) {
	for _, test := range []struct {
		tool, machine string
		want          []string // index, UUID, vendor, name, driver, values
	}{
		{"amd-smi", "mi300", []string{
			"0 " + mi300a + " AMD AMD Instinct MI300X 6.14.14 map[clocks.current.memory:1300 clocks.current.sm:2096 " +
				"clocks_event_reasons.active:0x0000000000000004 memory.total:196592 memory.used:141558 " +
				"pci.bus_id:0000:05:00.0 power.draw:412 power.limit:700 temperature.gpu:61 utilization.gpu:97]",
			"1 " + mi300b + " AMD AMD Instinct MI300X 6.14.14 map[clocks.current.memory:1300 clocks.current.sm:2096 " +
				"clocks_event_reasons.active:0x0000000000000000 memory.total:196592 memory.used:283 " +
				"pci.bus_id:0000:26:00.0 power.draw:142 power.limit:700 temperature.gpu:38 utilization.gpu:0]",
		}},
		// What is not known is absent: a section, a value of N/A, one that cannot be, and what throttles.
		{"amd-smi", "mi250", []string{
			"0 GPU-719d230578348e8c AMD AMD Instinct MI250X 6.8.5 map[clocks.current.memory:1600 " +
				"clocks.current.sm:800 memory.total:65520 memory.used:11 pci.bus_id:0000:c1:00.0 power.draw:89 " +
				"power.limit:500 temperature.gpu:32]",
			"1 PCI-0000:c6:00.0 AMD AMD Instinct MI250X 6.8.5 map[memory.total:65520 pci.bus_id:0000:c6:00.0 " +
				"power.limit:500]",
		}},
		{"rocm-smi", "rocm", []string{
			"0 GPU-00009f8e7d6c5b4a AMD AMD Instinct MI210 6.7.0 map[clocks.current.sm:1700 memory.total:65520" +
				" memory.used:32768 pci.bus_id:0000:63:00.0 power.draw:290.0 temperature.gpu:68.0 utilization.gpu:93]",
			"1 GPU-00001a2b3c4d5e6f AMD AMD Instinct MI210 6.7.0 map[clocks.current.memory:1600 clocks.current.sm:800" +
				" memory.total:65520 memory.used:11 pci.bus_id:0000:a3:00.0 power.draw:41.0 power.limit:300.0" +
				" temperature.gpu:38.0 utilization.gpu:0]",
		}},
	} {
		t.Run(test.machine, func(t *testing.T) {
			fakeAMD(t, test.tool, test.machine)
			gpus, err := GPUs(context.Background())
			must.Do(t, err)
			var got []string
			for _, g := range gpus {
				got = append(got,
					fmt.Sprint(g.Index, " ", g.UUID, " ", g.Vendor, " ", g.Name, " ", g.Driver, " ", g.Values))
				if g.Unified() {
					t.Errorf("%s has no memory of its own", g.UUID)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestAMDProcesses(t *testing.T) {
	for _, test := range []struct{ tool, machine, want string }{
		// One that holds nothing is not there.
		{"amd-smi", "mi300", "4711 " + mi300a + " VLLM::EngineCore 141312"},
		{"amd-smi", "mi250", "1 GPU-719d230578348e8c * 1024"},
		{"rocm-smi", "rocm", "4711  sglang::schedul 32760;4713  a, *"},
	} {
		t.Run(test.machine, func(t *testing.T) {
			fakeAMD(t, test.tool, test.machine)
			list, err := gpuProcesses(context.Background())
			must.Do(t, err)
			var words []string
			for _, p := range list {
				if p.PID == 1 {
					p.Name = "*" // the system's word
				}
				holds := "*"
				if p.MiB != nil {
					holds = amdWord(*p.MiB)
				}
				words = append(words, strings.Join([]string{strconv.Itoa(p.PID), p.GPU, p.Name, holds}, " "))
			}
			if got := strings.Join(words, ";"); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	fakeAMD(t, "amd-smi", "mi300")
	o, err := Occupants(context.Background(), []string{mi300a, mi300b}, nil, 1024)
	if err != nil || len(o.Processes) != 1 || len(o.Hidden) != 0 ||
		!strings.Contains(o.String(), "process 4711 (VLLM::EngineCore) holds 141312 MiB") {
		t.Errorf("%v, %v", o, err)
	}
}

// A tool without a driver is no GPU; with one, its failure is not none.
func TestAMDBroken(t *testing.T) {
	folder := fakeAMD(t, "amd-smi", "mi300")
	broken := func(t *testing.T, want string) {
		t.Helper()
		if gpus, err := GPUs(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v; want %q", gpus, err, want)
		}
	}
	write(t, filepath.Join(folder, "static.json"), "WARNING: groups\n{\"gpu_data\": []}\n")
	if gpus, err := GPUs(context.Background()); len(gpus) > 0 || err != nil {
		t.Errorf("an empty list: %v, %v", gpus, err)
	}
	write(t, filepath.Join(folder, "static.json"), `[{"gpu": 0, "asic": "N/A", "bus": "N/A"}]`)
	broken(t, "neither a serial number nor an address")
	write(t, filepath.Join(folder, "static.json"), `{"system": {}}`)
	broken(t, "no list of GPUs")
	defer func(path string) { kfd = path }(kfd)
	for _, there := range []bool{false, true} {
		kfd = filepath.Join(folder, "kfd")
		if there {
			write(t, kfd, "")
		}
		for _, text := range []string{"", "Traceback", `[{"gpu": 0,`} {
			write(t, filepath.Join(folder, "static.json"), text)
			gpus, err := GPUs(context.Background())
			if len(gpus) > 0 || (err != nil) != there {
				t.Errorf("%q, driver %v: %v, %v", text, there, gpus, err)
			}
		}
	}
	os.Remove(filepath.Join(folder, "static.json"))
	broken(t, "Unable to detect any GPU devices")
	t.Setenv("PATH", t.TempDir())
	if _, err := amdGPUs(context.Background()); !errors.Is(err, ErrNoGPU) {
		t.Errorf("without a tool: %v", err)
	}
}

// Both vendors are listed, each GPU is watched by its own tool, and an index that two have is none.
func TestMixedVendors(t *testing.T) {
	fake(t, "h200")
	fakeAMD(t, "amd-smi", "mi300")
	const h200 = "GPU-00000000-0000-0000-0000-000000000000"
	all, err := GPUs(context.Background())
	if err != nil || !slices.Equal(uuidsOf(all), []string{h200, mi300a, mi300b}) {
		t.Fatalf("%v, %v", all, err)
	}
	got := fingerprintOf(all)
	if slices.Reverse(all); got["driver"] != "580.159.04, 6.14.14" || !maps.Equal(got, fingerprintOf(all)) {
		t.Errorf("the fingerprint is %v", got)
	}
	slices.Reverse(all)
	for name, want := range map[string]string{
		"0": "is the index of several GPUs: use UUIDs", "1": "", mi300a: "",
		"GPU-d1": "", h200: "",
	} {
		if _, err := ChooseGPUs(all, nil, []string{name}); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for word, want := range map[any]int{"amd": 2, "all": 1, 1.0: 1} {
		if list := ContainerGPUs(word, all); len(list) != want || IsContainerWord(word) != (word == "amd") {
			t.Errorf("gpus = %v: %v", word, list)
		}
	}
	of, err := vendorsOf(context.Background(), []string{mi300b, h200})
	if err != nil || !slices.Equal(of[vendors[0]], []string{h200}) || !slices.Equal(of[vendors[1]], []string{mi300b}) {
		t.Errorf("%v, %v", of, err)
	}
	if _, err := vendorsOf(context.Background(), []string{"GPU-x"}); err == nil ||
		!strings.Contains(err.Error(), "nvidia-smi and amd-smi show no GPU GPU-x") {
		t.Errorf("no such GPU: %v", err)
	}
	for _, test := range []struct {
		gpus       []GPU
		env, unset string
	}{
		{all[:1], "CUDA_VISIBLE_DEVICES=" + h200 + " HIP_VISIBLE_DEVICES= ROCR_VISIBLE_DEVICES=", ""},
		{all[2:], "HIP_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=" + mi300b, "CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL"},
		{
			all, "CUDA_VISIBLE_DEVICES=" + h200 + " HIP_VISIBLE_DEVICES=0,1 ROCR_VISIBLE_DEVICES=" +
				mi300a + "," + mi300b,
			"GPU_DEVICE_ORDINAL",
		},
		{nil, "CUDA_VISIBLE_DEVICES= HIP_VISIBLE_DEVICES= ROCR_VISIBLE_DEVICES=", ""},
	} {
		env, unset := VisibleVariables(test.gpus)
		var words []string
		for _, name := range slices.Sorted(maps.Keys(env)) {
			words = append(words, name+"="+env[name])
		}
		if strings.Join(words, " ") != test.env || strings.Join(unset, " ") != test.unset {
			t.Errorf("%v: %v without %v", uuidsOf(test.gpus), words, unset)
		}
	}
	r := begin(t, SamplerConfig{GPUs: []string{h200, mi300a}, Own: func() []int { return []int{4711} }})
	until(t, r, func() bool { return r.has(measure.GPUPower, h200) > 0 && r.has(measure.GPUForeign, mi300a) > 0 })
	if _, notes := r.Stop(); slices.ContainsFunc(notes, func(s string) bool {
		return strings.Contains(s, "no readings")
	}) {
		t.Errorf("notes: %q", notes)
	}
}

// TestAMDVisible: the runtime filters first, and HIP counts what is left.
func TestAMDVisible(t *testing.T) {
	amd := func(uuid, name string, order int) GPU {
		return GPU{UUID: uuid, Vendor: "AMD", Name: name, order: order}
	}
	alike := []GPU{amd("GPU-a", "MI300X", 2), amd("GPU-b", "MI300X", 0), amd("PCI-c", "MI300X", 1)}
	differ := []GPU{amd("GPU-a", "MI300X", 1), amd("GPU-b", "W7900", 0)}
	unknown := []GPU{amd("GPU-a", "MI300X", -1), amd("GPU-b", "MI300X", -1)}
	for _, test := range []struct {
		gpus              []GPU
		env, want, unsure string
	}{
		{alike, "", "- GPU-a GPU-b PCI-c", ""},
		{alike, "ROCR=0", "GPU-b", ""},
		{alike, "ROCR=GPU-a,1", "GPU-a PCI-c", ""},
		{alike, "ROCR=0,7,1", "GPU-b", ""},
		{alike, "ROCR=", "", ""},
		{alike, "HIP=2", "GPU-a", ""},
		{alike, "CUDA=2", "GPU-a", ""},
		{alike, "HIP=0 CUDA=2", "GPU-b", ""},
		{alike, "ROCR=1,2 HIP=1", "GPU-a", ""},
		// Set to the same index, both leave nothing.
		{alike, "ROCR=1 HIP=1", "", ""},
		{alike, "ROCR=GPU-a,GPU-b HIP=0,1", "GPU-a GPU-b", ""},
		{differ, "ROCR=0", "GPU-b", ""},
		{differ, "HIP=0", "GPU-a GPU-b", "HIP_VISIBLE_DEVICES"},
		{differ, "ROCR=GPU-b HIP=0", "GPU-b", ""},
		{unknown, "ROCR=0", "GPU-a GPU-b", "ROCR_VISIBLE_DEVICES"},
		{unknown, "ROCR=GPU-b HIP=0", "GPU-b", ""},
	} {
		lookup := func(name string) (string, bool) {
			for word := range strings.FieldsSeq(test.env) {
				if of, value, _ := strings.Cut(word, "="); of+"_VISIBLE_DEVICES" == name {
					return value, true
				}
			}
			return "", false
		}
		selected, rest, unsure := SelectedGPUs(test.gpus, nil, lookup)
		got := strings.Join(uuidsOf(selected), " ")
		if len(rest) > 0 {
			got = "- " + strings.Join(uuidsOf(rest), " ")
		}
		if got != test.want || unsure != test.unsure {
			t.Errorf("%s: %q, %q", test.env, got, unsure)
		}
	}
	// What the runtime does not know by UUID is selected by where it counts it.
	env := variablesAMD([]GPU{alike[2], alike[0]})
	if env["ROCR_VISIBLE_DEVICES"] != "1,GPU-a" || env["HIP_VISIBLE_DEVICES"] != "0,1" {
		t.Errorf("got %v", env)
	}
}

// The kernel's nodes say where the runtime counts a GPU: processors are among them.
func TestRuntimeOrder(t *testing.T) {
	defer func(path string) { kfdNodes = path }(kfdNodes)
	kfdNodes = t.TempDir()
	for node, text := range map[string]string{
		"0": "cpu_cores_count 64\nsimd_count 0\nlocation_id 0\n", "1": "simd_count 0\n",
		"10": "simd_count 304\nlocation_id 50688\ndomain 0\n", "2": "simd_count 304\nlocation_id 49409\ndomain 1\n",
		"x": "simd_count 1\n",
	} {
		write(t, filepath.Join(kfdNodes, node, "properties"), text)
	}
	if got := runtimeOrder(); !maps.Equal(got, map[string]int{"0001:c1:00.1": 0, "0000:c6:00.0": 1}) {
		t.Errorf("got %v", got)
	}
	fakeAMD(t, "amd-smi", "mi250")
	if list, err := GPUs(context.Background()); err != nil || list[0].order != -1 || list[1].order != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestDriverROCm(t *testing.T) {
	fakeAMD(t, "amd-smi", "mi300")
	d := &Document{}
	d.hardware(context.Background(), []string{mi300a})
	if d.Software["driver_rocm"] != "7.0.2" || d.Software["driver_cuda"] != "" || len(d.Missing) > 0 {
		t.Errorf("software %v, missing %v", d.Software, d.Missing)
	}
	print := d.fingerprint(nil)
	if print["gpu"] != "AMD Instinct MI300X "+mi300a || print["driver"] != "6.14.14" || print["power_limit"] != "700" {
		t.Errorf("the fingerprint is %v", print)
	}
}

func FuzzAMD(f *testing.F) {
	for _, name := range []string{
		"mi300/static.json", "mi300/process.json", "mi250/metric.json", "rocm/rocm.json",
		"rocm/pids.json",
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		must.Do(f, err)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		answer, err := parseAMD(text)
		if err != nil {
			return
		}
		rows, _ := amdRows(answer)
		for _, row := range rows {
			for name, v := range amdValues(row) {
				if !plausible(name, v) {
					t.Errorf("%s is %q", name, v)
				}
			}
		}
		if list, err := amdListed(rows, rows); err == nil {
			for _, g := range list {
				if g.UUID == "" {
					t.Errorf("%+v", g)
				}
			}
			amdUsersOf(rows, list)
		}
		identified(rocmGPUs(answer))
		rocmProcesses(answer)
	})
}
