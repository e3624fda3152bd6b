package launch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

var twoGPUs = []machine.GPU{{Index: 0, UUID: "GPU-aaaa", Name: "H200"}, {Index: 1, UUID: "GPU-bbbb", Name: "H200"}}

func TestGPUsOfASpec(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "1")
	t.Setenv("DOCKER_HOST", "")
	docker := func(gpus any) engine.Spec {
		return engine.Spec{
			Kind: "vllm", Docker: &engine.Docker{GPUs: gpus},
			Env: map[string]string{"CUDA_VISIBLE_DEVICES": "0"},
		}
	}
	for _, test := range []struct {
		name string
		spec engine.Spec
		want string
	}{
		{"inherited", engine.Spec{Kind: "vllm"}, "1"},
		{"set", engine.Spec{Kind: "vllm", Env: map[string]string{"CUDA_VISIBLE_DEVICES": "GPU-aaaa"}}, "0"},
		{"set to none", engine.Spec{Kind: "vllm", Env: map[string]string{"CUDA_VISIBLE_DEVICES": ""}}, ""},
		{"unset", engine.Spec{Kind: "vllm", Unset: []string{"CUDA_VISIBLE_DEVICES"}}, "01"},
		{"embedded", engine.Spec{Kind: "embedded"}, ""},
		{"endpoint", engine.Spec{Kind: "vllm", Endpoint: &engine.Endpoint{}}, ""},
		{"exec", engine.Spec{Kind: "vllm", Exec: &engine.Exec{}}, "01"},
		{"a container without", docker(nil), ""},
		{"a container with all", docker("all"), "01"},
		{"a container with one", docker(1.0), "0"},
		{"a container with one, as text", docker("1"), "0"},
		{"a container with a list", docker([]any{"GPU-bbbb"}), "1"},
		{"a container with indices", docker([]any{1.0, 0.0}), "01"},
		{"a container with devices", docker("device=1"), "1"},
	} {
		var got []machine.GPU
		var err error
		if usesGPU(test.spec) {
			got, _, err = chosen(test.spec, twoGPUs, nil)
		}
		names := ""
		for _, g := range got {
			names += string(rune('0' + g.Index))
		}
		if names != test.want || err != nil {
			t.Errorf("%s: %q, %v", test.name, names, err)
		}
	}
	for _, wrong := range []any{3.0, "7", []any{"GPU-cccc"}} {
		if got, err := containerGPUs(wrong, twoGPUs, nil); err == nil {
			t.Errorf("%v: %v and no error", wrong, got)
		}
	}
}

// An apply that has ended holds no GPU, also for one of the same process.
func TestGPUsAreGivenBack(t *testing.T) {
	t.Setenv("MXFLOW_GPU_LOCK_DIR", t.TempDir())
	now := gpuUse{gpus: twoGPUs}
	first, second := &Lab{}, &Lab{}
	lock := func(l *Lab) error { return l.lockGPUs(t.Context(), now, func(verdict.Reason) {}) }
	must.Do(t, lock(first))
	if err := lock(second); err == nil {
		t.Error("two applies hold one GPU")
	}
	first.Close()
	if err := lock(second); err != nil {
		t.Error(err)
	}
	second.Close()
}

func TestRemoteDaemon(t *testing.T) {
	for host, want := range map[string]bool{
		"": false, "unix:///run/docker.sock": false, "tcp://127.0.0.1:2375": false,
		"tcp://10.0.0.7:2376": true,
	} {
		t.Setenv("DOCKER_HOST", host)
		must.Equal(t, host, remote(host), want)
		for name, spec := range map[string]engine.Spec{
			"docker": {Docker: &engine.Docker{GPUs: "all"}}, "compose": {Compose: &engine.Compose{}},
			"exec": {Exec: &engine.Exec{}},
		} {
			if got := usesGPU(spec); got == want {
				t.Errorf("%q, %s: %v", host, name, got)
			}
		}
		if !usesGPU(engine.Spec{Kind: "vllm"}) {
			t.Errorf("%q: a process uses this machine's GPUs", host)
		}
	}
}

// TestSelected: what a process or a container is given to see only its GPUs.
func TestSelected(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	amd := []machine.GPU{
		{Index: 0, UUID: "GPU-aa", Vendor: "AMD", Name: "MI300X"},
		{Index: 1, UUID: "GPU-bb", Vendor: "AMD", Name: "MI300X"},
	}
	process := func(env map[string]string) engine.Spec { return engine.Spec{Kind: "vllm", Env: env} }
	docker := func(gpus any) engine.Spec { return engine.Spec{Kind: "vllm", Docker: &engine.Docker{GPUs: gpus}} }
	shown := map[string]string{"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"} // by the block
	for _, test := range []struct {
		name    string
		spec    engine.Spec
		gpus    []machine.GPU
		place   string
		devices []string
		want    string
	}{
		{"a place", process(nil), twoGPUs[1:], "GPU-bbbb", nil, "CUDA_VISIBLE_DEVICES=GPU-bbbb"},
		{
			"a place in another order", process(nil), twoGPUs, "GPU-bbbb GPU-aaaa", nil,
			"CUDA_VISIBLE_DEVICES=GPU-bbbb,GPU-aaaa",
		},
		{
			"a place over env", process(map[string]string{"CUDA_VISIBLE_DEVICES": "7"}), twoGPUs[:1], "GPU-aaaa", nil,
			"CUDA_VISIBLE_DEVICES=GPU-aaaa",
		},
		{"a container on a place", docker("all"), twoGPUs[1:], "GPU-bbbb", nil, "[GPU-bbbb]"},
		{"no place, no block", process(nil), twoGPUs, "", nil, ""},
		{
			"a block", process(shown), twoGPUs[1:], "",
			[]string{"1"},
			"CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1",
		},
		{"a block of a container", docker("all"), twoGPUs[1:], "", []string{"1"}, "all"},

		{
			"AMD: a place", process(nil), amd[1:], "GPU-bb", nil,
			"HIP_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=GPU-bb -CUDA_VISIBLE_DEVICES -GPU_DEVICE_ORDINAL",
		},
		{
			"AMD: two of a place", process(nil), amd, "GPU-bb GPU-aa", nil,
			"HIP_VISIBLE_DEVICES=0,1 ROCR_VISIBLE_DEVICES=GPU-bb,GPU-aa -CUDA_VISIBLE_DEVICES -GPU_DEVICE_ORDINAL",
		},
		{
			"AMD: a block", process(shown), amd[1:], "",
			[]string{"1"},
			"CUDA_DEVICE_ORDER=PCI_BUS_ID HIP_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=GPU-bb -CUDA_VISIBLE_DEVICES " +
				"-GPU_DEVICE_ORDINAL",
		},
		{"AMD: a block of all", process(nil), amd, "", []string{"all"}, ""},
		{
			"AMD: the plan's own", process(map[string]string{"HIP_VISIBLE_DEVICES": "1"}), amd[1:], "",
			[]string{"1"},
			"HIP_VISIBLE_DEVICES=1",
		},
		{
			"AMD: a container on a place", docker("amd"), amd[:1], "GPU-aa", nil,
			"amd HIP_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=GPU-aa -CUDA_VISIBLE_DEVICES -GPU_DEVICE_ORDINAL",
		},
		{
			"AMD: a block of a container", docker("amd"), amd[:1], "",
			[]string{"0"},
			"amd HIP_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=GPU-aa -CUDA_VISIBLE_DEVICES -GPU_DEVICE_ORDINAL",
		},
		{"AMD: a container", docker("amd"), amd, "", nil, "amd"},
	} {
		use := gpuUse{gpus: test.gpus}
		var on *ledger.Place
		if test.devices != nil {
			use.Config.Devices = &test.devices
		}
		if test.place != "" {
			on = &ledger.Place{GPUs: strings.Fields(test.place)}
			use.Config.Devices = &on.GPUs
		}
		before := fmt.Sprint(test.spec.Env)
		got := use.selected(&variant.Variant{Spec: test.spec}, on).Spec
		var words []string
		if got.Docker != nil {
			words = append(words, fmt.Sprint(got.Docker.GPUs))
		}
		for _, name := range slices.Sorted(maps.Keys(got.Env)) {
			words = append(words, name+"="+got.Env[name])
		}
		for _, name := range got.Unset {
			words = append(words, "-"+name)
		}
		if text := strings.Join(words, " "); text != test.want || fmt.Sprint(test.spec.Env) != before {
			t.Errorf("%s: %s", test.name, text)
		}
	}
	// A container of AMD's sees all of them, or what the plan sets.
	for env, want := range map[string]int{"": 2, "GPU-bb": 1} {
		spec := docker("amd")
		if env != "" {
			spec.Env = map[string]string{"ROCR_VISIBLE_DEVICES": env}
		}
		t.Setenv("ROCR_VISIBLE_DEVICES", "GPU-aa") // which no container inherits
		if list, unsure, err := chosen(spec, slices.Concat(twoGPUs, amd), nil); len(list) != want ||
			unsure != "" || err != nil {
			t.Errorf("ROCR_VISIBLE_DEVICES=%s: %v, %q, %v", env, list, unsure, err)
		}
	}
}
