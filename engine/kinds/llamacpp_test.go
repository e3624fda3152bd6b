package kinds_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/observe"
)

// Shortened logs of one build (commit 0c1e570, CPU) with a model in Q8_0 and one in
// Q4_1 that drafts for it: `-md` with `--spec-type draft-simple`, and `-md` alone.
func TestLlamacppDraftsDoNotSpeakForTheModel(t *testing.T) {
	for file, want := range map[string]map[string]string{
		"llamacpp-draft.log":        {"speculative": "draft-simple", "drafted_tokens": "31", "draft_acceptance": "1"},
		"llamacpp-draft-unused.log": {"speculative": "none", "drafted_tokens": "", "draft_acceptance": ""},
	} {
		maps.Copy(want, map[string]string{
			"weights_gb": "0.143", "quantization": "Q8_0", "kv_cache_dtype": "f16", "kv_capacity_tokens": "1024",
			"attention": "on", "graph_splits": "1",
		})
		shows(t, "llamacpp", filepath.Join("testdata", file), want)
	}
}

// A start on an H100, of gpt-oss-20b's shape with 4 layers: two caches, one for layers with a sliding window,
// and parameters fitted to the GPU's memory before anything is loaded.
func TestLlamacppOnAGPU(t *testing.T) {
	shows(t, "llamacpp", filepath.Join("testdata", "llamacpp-0c1e570.h100-gptoss20b.log"), map[string]string{
		"attention": "on", "cuda_devices": "1", "gpu_layers": "5", "graph_splits": "2", "kv_cache_dtype": "f16",
		"kv_capacity_tokens": "2048", "prefix_caching": "true",
		"quantization": "all F32", "speculative": "none", "max_num_batched_tokens": "2048", "ubatch_size": "512",
		"weights_gb": "4.231",
	})
}

// pageOf is an Instance that is only a page.
type pageOf struct {
	logOf
	url string
}

func (p pageOf) Access() engine.Access { return engine.Access{BaseURL: p.url} }

// The type of the weights is the same word on the page and in the log.
func TestLlamacppGuessedWeights(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"model_ftype":"(guessed) all F32"}`)
	}))
	defer server.Close()
	k, _ := kinds.Lookup("llamacpp")
	page := slices.DeleteFunc(slices.Clone(k.Observe), func(p kinds.Pattern) bool {
		return p.Name != "quantization" || p.Path == ""
	})
	got := observe.All(t.Context(), pageOf{url: server.URL}, "", page)
	if len(got) != 1 || got[0].Value != "all F32" {
		t.Errorf("observed is %v", got)
	}
}

func TestLlamacppDraftsAreAskedFor(t *testing.T) {
	k, _ := kinds.Lookup("llamacpp")
	for name, tc := range map[string]struct {
		speculative map[string]any
		flags       []string
		env         string
		uses        []kinds.Use
	}{
		"a model": {
			map[string]any{"model": "d.gguf"},
			[]string{"-md", "d.gguf"},
			"draft-simple",
			[]kinds.Use{{Setting: "speculative.model", Observed: "drafted_tokens"}},
		},
		"a model and a method": {map[string]any{"model": "d.gguf", "method": "mtp"}, []string{
			"--spec-type",
			"draft-mtp", "-md", "d.gguf",
		}, "", []kinds.Use{{Setting: "speculative.model", Observed: "drafted_tokens"}}},
		// N-grams draft nothing if nothing repeats.
		"a method": {map[string]any{"method": "ngram-simple"}, []string{"--spec-type", "ngram-simple"}, "", nil},
	} {
		settings := map[string]any{"speculative": tc.speculative}
		got, err := k.Apply(settings)
		if err != nil || !slices.Equal(got.Flags, tc.flags) || got.Env["LLAMA_ARG_SPEC_TYPE"] != tc.env {
			t.Errorf("%s: %q, %v, %v", name, got.Flags, got.Env, err)
		}
		if uses := k.Uses(settings, false); !slices.Equal(uses, tc.uses) {
			t.Errorf("%s: uses are %v, want %v", name, uses, tc.uses)
		}
	}
}

// Layers that are asked for must be on a GPU; a plan that only gives GPUs asks as well.
func TestLayersOnAGPUAreAskedFor(t *testing.T) {
	used := func(setting string) []kinds.Use {
		return []kinds.Use{{Setting: setting, Observed: "gpu_layers", Not: "gpu_error", Hidden: true}}
	}
	for _, tc := range []struct {
		kind     string
		settings map[string]any
		gpus     bool
		want     []kinds.Use
	}{
		{"llamacpp", map[string]any{"gpu_layers": "all"}, false, used("gpu_layers")},
		{"llamacpp", map[string]any{"gpu_layers": "24"}, true, used("gpu_layers")},
		{"llamacpp", map[string]any{"gpu_layers": "0"}, true, nil},
		{"llamacpp", map[string]any{"gpu_layers": "auto"}, false, nil},
		{"llamacpp", nil, true, used("gpus")},
		{"llamacpp", nil, false, nil},
		{"ollama", nil, true, used("gpus")},
		{"ollama", nil, false, nil},
		{"vllm", nil, true, nil},
	} {
		k, _ := kinds.Lookup(tc.kind)
		if got := k.Uses(tc.settings, tc.gpus); !slices.Equal(got, tc.want) {
			t.Errorf("%s, %v, %v: %v, want %v", tc.kind, tc.settings, tc.gpus, got, tc.want)
		}
	}
}

// llama.cpp words the same thing differently in different builds, also when Ollama runs it.
func TestLlamacppOldAndNewWords(t *testing.T) {
	for name, tc := range map[string]struct {
		log, name, want, class string
	}{
		"attention, older": {log: "llama_context: flash_attn    = auto\nllama_context: Flash Attention was " +
			"auto, set to enabled\n", name: "attention", want: "on"},
		"attention, newer": {log: "0.00.039.969 I llama_context: flash_attn            = auto\n0.00.041.986 I " +
			"resolve_fused_ops: Flash Attention enabled\n", name: "attention", want: "on"},
		"attention, not possible": {log: "0.00.039.969 I llama_context: flash_attn            = auto\n0.00.041.986 W " +
			"resolve_fused_ops: Flash Attention not supported, set to disabled\n", name: "attention", want: "off"},
		"attention, another op": {log: "llama_context: flash_attn = disabled\nresolve_fused_ops: fused Gated Delta " +
			"Net (chunked) enabled\n", name: "attention", want: "off"},
		"graph, older": {
			log:  "llama_context: graph splits = 2 (with bs=512), 3 (with bs=1)\n",
			name: "graph_splits", want: "2",
		},
		"graph, newer": {log: "sched_reserve: graph: nodes = 80, splits = 1, input objects = 4, input " +
			"tensors = 6\n", name: "graph_splits", want: "1"},
		"weights, guessed": {
			log: "print_info: file type   = (guessed) all F32\n", name: "quantization",
			want: "all F32",
		},
		// Ollama goes on: a message about the plan's mistake would excuse a crash that comes after it.
		"context, capped": {
			log: `time=2026-11-23T13:27:11.301Z level=WARN source=server.go:114 msg="requested context size too large for model" num_ctx=8192 n_ctx_train=2048` + "\n",
		},
		"no speculation": {log: "0.00.100.351 I spec common_specu: no implementations specified for speculative " +
			"decoding\n", name: "speculative", want: "none"},
		"speculation": {log: "0.00.099.167 I spec common_specu: adding speculative implementation " +
			"'ngram-simple'\n", name: "speculative", want: "ngram-simple"},
		"quantised values": {
			log:   "llama_init_from_model: V cache quantization requires flash_attn\n",
			class: "config",
		},
		"no compute buffers": {log: "llama_init_from_model: failed to initialize the context: failed to allocate " +
			"compute pp buffers\n", class: "oom"},
		// On an H100 under a limit of 8 GB, commit 0c1e570.
		"no host memory": {
			log: "0.05.854.120 E llama_init_from_model: failed to initialize the context: " +
				"std::bad_alloc\n0.05.854.132 E cmn  common_init_: failed to create context with model 'huge.gguf'\n",
			class: "oom",
		},
		"prompts kept": {
			log:  "0.02.819.971 I srv    load_model: prompt cache is enabled, size limit: 8192 MiB\n",
			name: "prefix_caching", want: "true",
		},
		"prompts not kept": {log: "0.02.812.113 I srv    load_model: prompt cache is disabled - use `--cache-ram N` " +
			"to enable it\n", name: "prefix_caching", want: "false"},
		"in a step": {
			log:  "0.02.754.799 I llama_context: n_batch               = 256\n",
			name: "max_num_batched_tokens", want: "256",
		},
		"at once": {log: "0.02.754.800 I llama_context: n_ubatch              = 128\n0.02.754.900 I " +
			"llama_context: n_ubatch              = 512\n", name: "ubatch_size", want: "128"},
		"no CUDA": {log: "ggml_cuda_init: failed to initialize CUDA: unknown error\nwarning: no usable GPU " +
			"found, --gpu-layers option will be ignored\n", name: "gpu_error", want: "CUDA: unknown error"},
		"no Vulkan": {
			log:  "ggml_vulkan: No devices found.\nload_tensors: offloaded 0/29 layers to GPU\n",
			name: "gpu_error", want: "No devices found",
		},
		"a build for CPUs": {log: "warning: not compiled with GPU offload support, --gpu-layers option will be " +
			"ignored\n", name: "gpu_layers", want: "0"},
		"a flag ignored": {
			log:  "warning: no usable GPU found, --gpu-layers option will be ignored\n",
			name: "gpu_layers", want: "0",
		},
		"Ollama's layers": {
			log: `time=2026-11-01T10:00:00.000Z level=INFO source=ggml.go:494 msg="offloaded 0/29 layers to GPU"` +
				"\n", name: "gpu_layers", want: "0",
		},
		"Ollama's search": {
			log: `level=INFO source=runner.go:464 msg="failure during GPU discovery" OLLAMA_LIBRARY_PATH=[/usr/lib/ollama] error="runner crashed"` + "\n", name: "gpu_error", want: "runner crashed",
		},
		"Ollama's CPU": {
			log:  `level=INFO source=types.go:60 msg="inference compute" id=cpu library=cpu compute="" name=cpu` + "\n",
			name: "gpu_error", want: "no GPU was found",
		},
		"Ollama's GPU": {
			log: `level=INFO source=types.go:42 msg="inference compute" id=0 library=ROCm compute=gfx942 name=ROCm0` +
				"\n", name: "gpu_error",
		},
		"no cache": {log: "llama_init_from_model: failed to initialize the context: failed to allocate " +
			"buffer for kv cache\n", class: "oom"},
		"no weights": {
			log: "alloc_tensor_range: failed to allocate CPU_REPACK buffer of size 1692057600\nllama_model_load: " +
				"error loading model: unable to allocate CPU_REPACK buffer\ncommon_init_: failed to load model " +
				"'huge.gguf'\n", class: "oom",
		},
	} {
		path := logOfText(t, tc.log)
		for _, kind := range []string{"llamacpp", "ollama"} {
			if tc.name != "" {
				shows(t, kind, path, map[string]string{tc.name: tc.want})
			}
			k, _ := kinds.Lookup(kind)
			if d, _ := k.Diagnose(path); string(d.Class) != tc.class {
				t.Errorf("%s, %s: diagnosed as %v, want class %q", kind, name, d, tc.class)
			}
		}
	}
}

// Every kind that takes a draft model has an observation that shows whether it drafted.
func TestDraftModelsShowTheirUse(t *testing.T) {
	for _, k := range kinds.All() {
		s := k.Settings
		for i := range s {
			if s[i].Name != "speculative" {
				continue
			}
			uses := k.Uses(map[string]any{"speculative": map[string]any{"method": "draft_model", "model": "small"}},
				false)
			if len(uses) != 1 || uses[0].Setting != "speculative.model" {
				t.Errorf("%s: %v", k.Name, uses)
				continue
			}
			shown := false
			for _, p := range k.Patterns(nil) {
				shown = shown || p.Name == uses[0].Observed
			}
			if !shown {
				t.Errorf("%s: nothing is observed as %s", k.Name, uses[0].Observed)
			}
			if uses := k.Uses(map[string]any{"speculative": map[string]any{"method": "ngram"}}, false); len(uses) != 0 {
				t.Errorf("%s: a method without a model may draft nothing, but %v", k.Name, uses)
			}
		}
	}
}
