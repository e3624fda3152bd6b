package launch

import (
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/machine"
)

var twoGPUs = []machine.GPU{{Index: 0, UUID: "GPU-aaaa", Name: "H200"}, {Index: 1, UUID: "GPU-bbbb", Name: "H200"}}

func TestGPUsOfASpec(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "1")
	t.Setenv("DOCKER_HOST", "")
	docker := func(gpus any) engine.Spec {
		return engine.Spec{Kind: "vllm", Docker: &engine.Docker{GPUs: gpus}, Env: map[string]string{"CUDA_VISIBLE_DEVICES": "0"}}
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

func TestRemoteDaemon(t *testing.T) {
	for host, want := range map[string]bool{"": false, "unix:///run/docker.sock": false, "tcp://127.0.0.1:2375": false, "tcp://10.0.0.7:2376": true} {
		t.Setenv("DOCKER_HOST", host)
		if got := remote(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
		for name, spec := range map[string]engine.Spec{
			"docker": {Docker: &engine.Docker{GPUs: "all"}}, "compose": {Compose: &engine.Compose{}}, "exec": {Exec: &engine.Exec{}},
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
