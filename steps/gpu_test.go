package steps

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/gpu"
	"github.com/mxflow/mxflow/plans"
)

var twoGPUs = []gpu.GPU{{Index: 0, UUID: "GPU-aaaa", Name: "H200"}, {Index: 1, UUID: "GPU-bbbb", Name: "H200"}}

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
		{"compose on another machine", engine.Spec{Kind: "vllm", Compose: &engine.Compose{Host: "ssh://me@box"}}, ""},
		{"a container without", docker(nil), ""},
		{"a container with all", docker("all"), "01"},
		{"a container with one", docker(1.0), "0"},
		{"a container with one, as text", docker("1"), "0"},
		{"a container with a list", docker([]any{"GPU-bbbb"}), "1"},
		{"a container with indices", docker([]any{1.0, 0.0}), "01"},
		{"a container with devices", docker("device=1"), "1"},
		{"a container elsewhere", engine.Spec{Kind: "vllm", Docker: &engine.Docker{GPUs: "all", Host: "tcp://10.0.0.7:2376"}}, ""},
	} {
		var got []gpu.GPU
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
	for host, want := range map[string]bool{
		"": false, "unix:///run/docker.sock": false, "tcp://127.0.0.1:2375": false, "ssh://me@localhost": false,
		"tcp://10.0.0.7:2376": true, "ssh://me@box": true,
	} {
		if remote(host, "ssh://elsewhere") != want && host != "" || remote("", host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}

// A process sees the GPUs that its block names, unless its environment says
// otherwise.
func TestShowGPUs(t *testing.T) {
	block := func(devices ...any) *plans.Engine {
		devices = append([]any{}, devices...)
		return &plans.Engine{Parts: map[string][]*plans.Block{"gpu": {{Kind: "gpu", Attrs: map[string]any{"devices": devices, "wait": "1m0s"}}}}}
	}
	for _, test := range []struct {
		name string
		e    *plans.Engine
		spec engine.Spec
		want string
		set  bool
	}{
		{"named", block("1", "GPU-a"), engine.Spec{}, "1,GPU-a", true},
		{"none", block(), engine.Spec{}, "", true},
		{"all", block("all"), engine.Spec{}, "", false},
		{"no block", &plans.Engine{}, engine.Spec{}, "", false},
		{"a knob's own", block("1"), engine.Spec{Env: map[string]string{"CUDA_VISIBLE_DEVICES": "0"}}, "0", true},
		{"in a container", block("1"), engine.Spec{Docker: &engine.Docker{}}, "", false},
	} {
		if err := showGPUs(test.e, &test.spec); err != nil {
			t.Fatal(err)
		}
		if got, set := test.spec.Env["CUDA_VISIBLE_DEVICES"]; got != test.want || set != test.set {
			t.Errorf("%s: %q, %v", test.name, got, set)
		}
	}
}

func TestGPUBlockMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		attrs map[string]any
		want  string
	}{
		"everybody":  {map[string]any{"ignore": []any{"*"}}, "Nobody would be waited for"},
		"all right":  {map[string]any{"wait": "1s", "ignore": []any{"Xorg"}}, ""},
		"wrong type": {map[string]any{"wait": 3.0}, "decode gpu"},
	} {
		wrong := checkGPU(&plans.Block{Kind: "gpu", Attrs: test.attrs})
		if (test.want == "") != (len(wrong) == 0) || len(wrong) > 0 && !strings.Contains(wrong[0].Detail, test.want) {
			t.Errorf("%s: %v", name, wrong)
		}
	}
}
