package kinds

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestKindsAreComplete(t *testing.T) {
	var names []string
	for _, k := range All() {
		names = append(names, k.Name)
		if k.Doc == "" || k.DefaultReadyTimeout <= 0 || k.DefaultStopGrace <= 0 {
			t.Errorf("kind %q lacks its doc or times", k.Name)
		}
		for _, p := range k.Ready {
			if !strings.HasPrefix(p.Path, "/") {
				t.Errorf("kind %q asks the path %q", k.Name, p.Path)
			}
		}
		declared := map[string]bool{}
		for _, s := range k.Settings {
			if s.Doc == "" || s.Default == "" || declared[s.Name] || !reaches(s) {
				t.Errorf("setting %q of kind %q lacks its doc, default or type, is there twice, or reaches nothing",
					s.Name, k.Name)
			}
			if s.Key != "" && (k.ConfigName == "" || len(k.ConfigArgs) == 0) {
				t.Errorf("setting %q of kind %q goes into a file that nobody reads", s.Name, k.Name)
			}
			declared[s.Name] = true
		}
		if found, ok := Lookup(k.Name); !ok || found.Name != k.Name {
			t.Errorf("Lookup(%q) found %q", k.Name, found.Name)
		}
	}
	if !slices.IsSorted(names) || !slices.Contains(names, "embedded") || !slices.Contains(names, "openai") {
		t.Errorf("Kinds are %q", names)
	}
	if _, ok := Lookup("none"); ok {
		t.Error("an unknown kind was found")
	}
}

// reaches reports whether every value of a setting can reach the engine.
func reaches(s Setting) bool {
	if aType[s.Type] == "" || (s.On == nil) != (s.Off == nil) {
		return false
	}
	for _, f := range s.Fields {
		if !reaches(f) {
			return false
		}
	}
	return s.Flag != "" || s.Env != "" || s.Key != "" || s.On != nil || len(s.Fields) > 0
}

func TestDiagnose(t *testing.T) {
	kind := Kind{
		Crashes: []Signature{
			{Glob: "CUDA out of memory", Class: "oom", Means: "The GPU ran out of memory."},
			{Glob: "EngineCore failed to start", Class: "crash", Means: "The engine core did not start."},
		},
		Harmless: []string{"warning*out of memory"},
	}
	log := writeLog(t,
		"WARNING: CUDA out of memory is near\nERROR EngineCore failed to start.\n\x1b[31mtorch.OutOfMemoryError: "+
			"CUDA out of memory.\x1b[0m\n")
	d, ok := kind.Diagnose(log)
	if want := (Diagnosis{kind.Crashes[0], "torch.OutOfMemoryError: CUDA out of memory.", 3}); !ok || d != want {
		t.Errorf("got %v %v, want %v", ok, d, want)
	}
	if d, ok := kind.Diagnose(writeLog(t, "WARNING: CUDA out of memory is near\n")); ok {
		t.Errorf("a harmless line was taken for a crash: %v", d)
	}
	if _, ok := kind.Diagnose(log + ".none"); ok {
		t.Error("a log that is not there says nothing")
	}
	if d, _ := (Kind{}).Diagnose(log); d.Class != OutOfMemory || d.LineNo != 3 {
		t.Errorf("what any engine prints, in a kind without signatures: %v", d)
	}
}

func writeLog(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "engine.log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A limit that needs more than an engine returns is refused from what is known here.
func TestMostLogProbs(t *testing.T) {
	vllm, _ := Lookup("vllm")
	llama, _ := Lookup("llamacpp")
	none, _ := Lookup("transformers")
	for _, test := range []struct {
		kind     Kind
		settings map[string]any
		want     int
	}{
		{vllm, nil, 20},
		{vllm, map[string]any{"max_logprobs": 50.}, 50},
		{vllm, map[string]any{"max_logprobs": -1.}, math.MaxInt}, // as many as there are
		{vllm, map[string]any{"max_logprobs": 0.}, 0},
		{llama, map[string]any{"max_logprobs": 50.}, 100},
		{none, nil, 0},
	} {
		if got := test.kind.Ask.LogProbs.Most(test.settings); got != test.want {
			t.Errorf("%s with %v: %d, want %d", test.kind.Name, test.settings, got, test.want)
		}
	}
	for _, k := range All() {
		l := k.Ask.LogProbs
		if l.Setting != "" && !slices.ContainsFunc(k.Settings, func(s Setting) bool { return s.Name == l.Setting }) {
			t.Errorf("%s has no setting %q, which sets how many log-probabilities there are", k.Name, l.Setting)
		}
		if l.Top == 0 && l != (LogProbs{}) || l.AskIDs && !l.IDs || l.Prompt != "" && l.Prompt != "prompt_logprobs" &&
			l.Prompt != "echo" {
			t.Errorf("%s: %+v cannot be", k.Name, l)
		}
	}
}

func TestRepository(t *testing.T) {
	for ref, want := range map[string]string{
		"busybox": "docker.io/library/busybox", "busybox:1": "docker.io/library/busybox",
		"vllm/vllm-openai:v1": "docker.io/vllm/vllm-openai",
		"localhost:5000/a:1":  "localhost:5000/a", "nvcr.io/nvidia/x@sha256:00": "nvcr.io/nvidia/x",
		"localhost/a/b": "localhost/a/b",
	} {
		if got := Repository(ref); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}

// An image shows its kind whoever publishes it, by words of its path; what only has the
// same letters does not, nor what is another part of a project.
func TestKindOfImage(t *testing.T) {
	for image, want := range map[string]string{
		"vllm/vllm-openai:nightly": "vllm", "docker.io/vllm/vllm-openai": "vllm",
		"localhost:5000/vllm/vllm-openai@sha256:00": "vllm",
		"vllm-openai": "vllm", "vllm/vllm-openai-rocm:v0.21.0": "vllm", "vllm/vllm-openai-xpu": "vllm",
		"rocm/vllm":             "vllm",
		"rocm/vllm-dev:nightly": "vllm", "nvcr.io/nvidia/vllm:26.02-py3": "vllm", "intel/vllm:xpu": "vllm",
		"public.ecr.aws/q9t5s3a7/vllm-ci-postmerge-repo:0a1b2c": "vllm", "quay.io/ascend/vllm-ascend:v0.18.0": "vllm",
		"vllm/nightly": "vllm", "acme/vllm_patched": "vllm",
		"lmsysorg/sglang": "sglang", "lmsysorg/sglang:v0.5.9-rocm700-mi30x": "sglang", "rocm/sgl-dev": "sglang",
		"nvcr.io/nvidia/sglang:26.02":              "sglang",
		"ghcr.io/ggml-org/llama.cpp:server-vulkan": "llamacpp", "ghcr.io/ggml-org/llama.cpp:server-rocm": "llamacpp",
		"ghcr.io/ggml-org/llama.cpp:server-cuda-b8400": "llamacpp", "ghcr.io/ggml-org/llama.cpp:server": "llamacpp",
		"me/llama.cpp": "llamacpp", "me/llama.cpp@sha256:00": "llamacpp",
		"nvcr.io/nvidia/tensorrt-llm/release:1.3.0": "trtllm", "nvcr.io/nvidia/tensorrt-llm/devel": "trtllm",
		"ollama/ollama": "ollama", "ollama/ollama:rocm": "ollama", "ghcr.io/theroyallab/tabbyapi": "tabbyapi",

		"": "", "ubuntu": "", "acme/notvllm": "", "acme/vllmish": "", "acme/my-vllm": "", "acme/sglangs": "",
		"sglow/engine":                 "",
		"vllm.example.com/acme/engine": "", "vllm.example.com:5000/engine:vllm": "", "acme/engine:vllm": "",
		"vllm/vllm-router": "", "lmsysorg/sgl-router:v1": "", "ghcr.io/vllm-project/semantic-router": "",
		"ghcr.io/vllm-project/tools": "", "ghcr.io/open-webui/open-webui:ollama": "", "ollama-webui/ollama-webui": "",
		"ghcr.io/ggml-org/llama.cpp:light-cuda": "", "ghcr.io/ggml-org/llama.cpp:full": "", "me/llama.cpp-server": "",
		"tabbyml/tabby": "", "rocm/pytorch": "", "acme/tensorrt": "",
	} {
		if k, ok := OfImage(image); k.Name != want || ok != (want != "") {
			t.Errorf("%q: %q", image, k.Name)
		}
	}
	for _, k := range All() {
		if of, _ := OfImage(k.Image); k.Image != "" && of.Name != k.Name {
			t.Errorf("the usual image of %s is of %q", k.Name, of.Name)
		}
	}
}

func TestROCmImage(t *testing.T) {
	for image, want := range map[string]bool{
		"vllm/vllm-openai-rocm:v0.21.0": true, "rocm/vllm": true, "rocm/sgl-dev@sha256:00": true,
		"ollama/ollama:rocm":                     true,
		"ghcr.io/ggml-org/llama.cpp:server-rocm": true, "lmsysorg/sglang:v0.5.9-rocm700-mi30x": true,
		"localhost:5000/acme/vllm:rocm6.4": true, "acme/rocm_vllm": true,

		"vllm/vllm-openai:nightly": false, "rocm.example.com/vllm/vllm-openai": false, "acme/procm:1": false,
		"acme/vllm:rocminator": false, "": false, "vllm/vllm-openai-xpu": false,
	} {
		if IsROCm(image) != want {
			t.Errorf("%q: %v", image, !want)
		}
	}
}
