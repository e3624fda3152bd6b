package kinds

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// reached prints the effect of settings: flags, environment, configuration file.
func reached(t *testing.T, kind string, settings map[string]any) string {
	t.Helper()
	k, ok := Lookup(kind)
	if !ok {
		t.Fatalf("there is no kind %q", kind)
	}
	a, err := k.Apply(settings)
	if err != nil {
		return "error: " + err.Error()
	}
	parts := slices.Clone(a.Flags)
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		parts = append(parts, name+"="+a.Env[name])
	}
	file, err := a.Render()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(parts, " ")
	if len(file) > 0 {
		text += " | " + strings.ReplaceAll(strings.TrimSpace(string(file)), "\n", "; ")
	}
	return strings.TrimSpace(text)
}

// One plan's settings, in every kind that has them: they mean the same.
func TestSettingsReachEveryKind(t *testing.T) {
	const trt = "--extra_llm_api_options {config} | "
	for _, tc := range []struct {
		setting string
		value   any
		want    map[string]string
	}{
		{"enable_prefix_caching", true, map[string]string{
			"vllm": "--enable-prefix-caching", "sglang": "", "llamacpp": "--cache-prompt",
			"trtllm": trt + "kv_cache_config:;     enable_block_reuse: true",
		}},
		{"enable_prefix_caching", false, map[string]string{
			"vllm": "--no-enable-prefix-caching", "sglang": "--disable-radix-cache",
			"llamacpp": "--no-cache-prompt --cache-ram 0",
			"trtllm":   trt + "kv_cache_config:;     enable_block_reuse: false",
		}},
		{"enforce_eager", true, map[string]string{
			"vllm": "--enforce-eager", "sglang": "--disable-cuda-graph", "llamacpp": "GGML_CUDA_DISABLE_GRAPHS=1",
			"ollama": "GGML_CUDA_DISABLE_GRAPHS=1", "trtllm": trt + "cuda_graph_config: null",
		}},
		{"enforce_eager", false, map[string]string{
			"vllm": "--no-enforce-eager", "sglang": "", "llamacpp": "", "ollama": "",
			"trtllm": trt + "cuda_graph_config: {}",
		}},
		{"async_scheduling", false, map[string]string{
			"vllm": "--no-async-scheduling", "sglang": "--disable-overlap-schedule",
			"trtllm": trt + "disable_overlap_scheduler: true",
		}},
		{"max_model_len", 131072.0, map[string]string{
			"vllm": "--max-model-len 131072", "sglang": "--context-length 131072", "llamacpp": "-c 131072",
			"trtllm": "--max_seq_len 131072",
			"ollama": "OLLAMA_CONTEXT_LENGTH=131072", "tabbyapi": "--max-seq-len 131072",
			"embedded": "--max-model-len 131072",
		}},
		{"max_num_seqs", 2, map[string]string{
			"vllm": "--max-num-seqs 2", "sglang": "--max-running-requests 2", "llamacpp": "-np 2",
			"trtllm": "--max_batch_size 2",
			"ollama": "OLLAMA_NUM_PARALLEL=2", "tabbyapi": "--max-batch-size 2", "embedded": "--max-num-seqs 2",
		}},
		{"max_num_batched_tokens", 8192, map[string]string{
			"vllm": "--max-num-batched-tokens 8192", "sglang": "--chunked-prefill-size 8192",
			"llamacpp": "-b 8192 -ub 8192",
			"trtllm":   "--max_num_tokens 8192", "tabbyapi": "--chunk-size 8192",
		}},
		{"gpu_memory_utilization", 0.85, map[string]string{
			"vllm": "--gpu-memory-utilization 0.85", "sglang": "--mem-fraction-static 0.85",
			"trtllm": "--kv_cache_free_gpu_memory_fraction 0.85",
		}},
		{
			"tensor_parallel_size", 4,
			map[string]string{"vllm": "--tensor-parallel-size 4", "sglang": "--tp-size 4", "trtllm": "--tp_size 4"},
		},
		{"quantization", "mxfp4", map[string]string{
			"vllm": "--quantization mxfp4", "sglang": "--quantization mxfp4",
			"transformers": "--quantization mxfp4",
		}},
		{"kv_cache_dtype", "fp8", map[string]string{
			"vllm": "--kv-cache-dtype fp8", "sglang": "--kv-cache-dtype fp8",
			"trtllm":   trt + "kv_cache_config:;     dtype: fp8",
			"llamacpp": "error: engine kind \"llamacpp\": setting \"kv_cache_dtype\" must be one of",
			"ollama":   "error: engine kind \"ollama\": setting \"kv_cache_dtype\" must be one of",
			"tabbyapi": "--cache-mode fp8",
		}},
		{"attention_backend", "on", map[string]string{
			"llamacpp": "-fa on", "ollama": "OLLAMA_FLASH_ATTENTION=1", "vllm": "--attention-backend on",
			"sglang": "--attention-backend on",
			"trtllm": trt + "attn_backend: \"on\"", "transformers": "--attn-implementation on",
		}},
		{"moe_backend", "CUTLASS", map[string]string{
			"vllm":   "--moe-backend CUTLASS",
			"sglang": "--moe-runner-backend CUTLASS", "trtllm": trt + "moe_config:;     backend: CUTLASS",
		}},
		{"load_format", "dummy", map[string]string{
			"vllm": "--load-format dummy", "sglang": "--load-format dummy",
			"trtllm": trt + "load_format: dummy",
		}},
		{"served_model_name", "m", map[string]string{
			"vllm": "--served-model-name m", "sglang": "--served-model-name m",
			"llamacpp": "--alias m", "embedded": "--served-model-name m",
		}},
		{"seed", 7, map[string]string{
			"vllm": "--seed 7", "sglang": "--random-seed 7", "llamacpp": "--seed 7",
			"transformers": "--default-seed 7", "embedded": "--seed 7",
		}},
		{"enable_metrics", true, map[string]string{
			"vllm": "", "sglang": "--enable-metrics", "llamacpp": "--metrics",
			"trtllm": trt + "return_perf_metrics: true",
		}},
		{"enable_metrics", false, map[string]string{
			"vllm": "--disable-log-stats", "sglang": "", "llamacpp": "",
			"trtllm": trt + "return_perf_metrics: false",
		}},
		{"trust_remote_code", true, map[string]string{
			"vllm": "--trust-remote-code", "sglang": "--trust-remote-code",
			"trtllm": "--trust_remote_code", "transformers": "--trust-remote-code",
		}},
		{"speculative", map[string]any{"method": "mtp", "model": "d", "num_speculative_tokens": 3.0}, map[string]string{
			"vllm":   `--speculative-config {"method":"mtp","model":"d","num_speculative_tokens":3}`,
			"sglang": "--speculative-algorithm NEXTN --speculative-draft-model-path d --speculative-num-steps 3",
			"trtllm": trt +
				"speculative_config:;     decoding_type: MTP;     max_draft_len: 3;     speculative_model: d",
			"llamacpp": "--spec-type draft-mtp -md d --spec-draft-n-max 3",
			"tabbyapi": "--draft-mode mtp --draft-model-name d --draft-num-tokens 3",
		}},
	} {
		for _, k := range All() {
			got := reached(t, k.Name, map[string]any{tc.setting: tc.value})
			want, has := tc.want[k.Name]
			name := fmt.Sprintf("%s: %s = %v", k.Name, tc.setting, tc.value)
			switch {
			case !has && !strings.Contains(got, "unknown setting"):
				t.Errorf("%s reaches %q, and the table does not expect the setting", name, got)
			case has && strings.HasPrefix(want, "error: ") && strings.HasPrefix(got, want):
			case has && got != want:
				t.Errorf("%s reaches\n%q, want\n%q", name, got, want)
			}
		}
	}
}

func TestSettingsTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		kind     string
		settings map[string]any
		want     string
	}{
		"slots divide the context": {
			"llamacpp",
			map[string]any{"max_model_len": 8192.0, "max_num_seqs": 4.0},
			"-c 32768 -np 4",
		},
		"slots share it": {
			"llamacpp",
			map[string]any{"max_model_len": 8192, "max_num_seqs": 4, "kv_unified": true},
			"-c 8192 -np 4 --kv-unified",
		},
		"slots, said not to share": {"llamacpp", map[string]any{
			"max_model_len": 8192, "max_num_seqs": 4,
			"kv_unified": false,
		}, "-c 32768 -np 4 --no-kv-unified"},
		"no slots": {
			"llamacpp",
			map[string]any{"max_model_len": 8192, "max_num_seqs": 0},
			`error: engine kind "llamacpp": setting "max_model_len" is multiplied by max_num_seqs: both must be positive integers`,
		},
		"the smaller step comes last": {
			"llamacpp",
			map[string]any{"ubatch_size": 512, "max_num_batched_tokens": 2048},
			"-b 2048 -ub 2048 -ub 512",
		},
		"a list": {"llamacpp", map[string]any{"tensor_split": []any{3.0, 1.5}}, "-ts 3,1.5"},
		"a list of words": {
			"tabbyapi",
			map[string]any{"gpu_split": []any{20.0, 24.5}},
			"--gpu-split 20 24.5",
		},
		"a bool that is spelt out": {"tabbyapi", map[string]any{
			"tensor_parallel": true,
			"output_chunking": false,
		}, "--tensor-parallel true --output-chunking false"},
		"members of one map": {
			"trtllm",
			map[string]any{"kv_cache_dtype": "fp8", "enable_prefix_caching": false},
			"--extra_llm_api_options {config} | kv_cache_config:;     dtype: fp8;     enable_block_reuse: false",
		},
		"graphs with members": {
			"trtllm",
			map[string]any{"cuda_graph_max_bs": 8, "enforce_eager": false},
			"--extra_llm_api_options {config} | cuda_graph_config:;     max_batch_size: 8",
		},
		"eager takes graphs away": {
			"trtllm",
			map[string]any{"cuda_graph_max_bs": 8, "enforce_eager": true},
			"--extra_llm_api_options {config} | cuda_graph_config: null",
		},
		"the file comes before flags": {
			"trtllm",
			map[string]any{"max_num_seqs": 4, "dtype": "auto"},
			"--extra_llm_api_options {config} --max_batch_size 4 | dtype: auto",
		},
		"no exponent in a file": {
			"trtllm",
			map[string]any{"kv_cache_tokens": 1048576.0},
			"--extra_llm_api_options {config} | kv_cache_config:;     max_tokens: 1048576",
		},
		"no exponent in a flag": {
			"tabbyapi",
			map[string]any{"kv_cache_tokens": 1048576.0},
			"--cache-size 1048576",
		},
		"JSON without exponents": {
			"vllm",
			map[string]any{"hf_overrides": map[string]any{"n": 1e9, "deep": map[string]any{"list": []any{1.0, "x"}}}},
			`--hf-overrides {"deep":{"list":[1,"x"]},"n":1000000000}`,
		},
		"a bool as a variable": {
			"vllm",
			map[string]any{"dev_mode": true, "count_nans": false},
			"VLLM_COMPUTE_NANS_IN_LOGITS=0 VLLM_SERVER_DEV_MODE=1",
		},
		"a word outside of the choices": {
			"llamacpp",
			map[string]any{"attention_backend": "flashinfer"},
			`error: engine kind "llamacpp": setting "attention_backend" must be one of "auto", "off" and "on", not "flashinfer"`,
		},
		"not an object": {
			"vllm",
			map[string]any{"speculative": "eagle3"},
			`error: engine kind "vllm": setting "speculative" must be an object of names and values, not eagle3`,
		},
		"a member of the wrong type": {
			"sglang",
			map[string]any{"speculative": map[string]any{"eagle_topk": "4"}},
			`error: engine kind "sglang": in setting "speculative": setting "eagle_topk" must be a number, not 4`,
		},
		"an unknown member": {
			"llamacpp",
			map[string]any{"speculative": map[string]any{"topk": 4}},
			`error: engine kind "llamacpp": setting "speculative" has no member "topk": it has "gpu_layers", "method", "min_probability", "min_speculative_tokens", "model" and "num_speculative_tokens"`,
		},
		"a null member is as good as none": {
			"sglang",
			map[string]any{"speculative": map[string]any{"method": "ngram", "model": nil}},
			"--speculative-algorithm NGRAM",
		},
	} {
		if got := reached(t, tc.kind, tc.settings); got != tc.want {
			t.Errorf("%s: got\n%q, want\n%q", name, got, tc.want)
		}
	}
}

// TestSettingsOfTheWrongType: each is named, and so are those that there are.
func TestSettingsOfTheWrongType(t *testing.T) {
	for want, settings := range map[string]map[string]any{
		`"gpu_memory_utilization" must be a number, not NaN`:                {"gpu_memory_utilization": math.NaN()},
		`"max_model_len" must be a number, not 8`:                           {"max_model_len": "8"},
		`"enforce_eager" must be a bool, not yes`:                           {"enforce_eager": "yes"},
		`"dtype" must be a string, not 8; unknown setting "nope": it has "`: {"dtype": 8.0, "nope": 1},
		`unknown setting "nope": it has "`:                                  {"nope": nil},
	} {
		if got := reached(t, "vllm", settings); !strings.Contains(got, want) {
			t.Errorf("%v: %s, want %s", settings, got, want)
		}
	}
}

// TestSettingsWithinBounds: values that knobs give are checked as those of the engine.
func TestSettingsWithinBounds(t *testing.T) {
	for value, want := range map[any]string{
		64.0: "--threads 64",
		1:    "--threads 1",
		0:    `setting "threads" must be between 1 and 64, not 0`,
		65.0: `setting "threads" must be between 1 and 64, not 65`,
		1.5:  `setting "threads" must be an integer, not 1.5`,
	} {
		if got := reached(t, "embedded", map[string]any{"threads": value}); !strings.Contains(got, want) {
			t.Errorf("%v: %s, want %s", value, got, want)
		}
	}
}

func TestForced(t *testing.T) {
	for text, forces := range map[string]bool{
		`speculative_config=SpeculativeConfig(method='eagle3', rejection_sample_method='synthetic', num_spec_tokens=3)`: true,
		`non-default args: {'speculative_config': {'rejection_sample_method': 'synthetic'}}`:                            true,
		`vllm serve m --speculative-config {"rejection_sample_method": "synthetic"}`:                                    true,
		`sh -c "vllm serve m --speculative-config '{\\"rejection_sample_method\\":\\"synthetic\\"}'"`:                   true,
		`vllm serve m --speculative-config.rejection-sample-method synthetic`:                                           true,
		`sh -c SGLANG_SIMULATE_ACC_LEN=3.5 python3 -m sglang.launch_server`:                                             true,
		"SGLANG_SIMULATE_ACC_LEN: 0.5":                    true,
		"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS='2'":  true,
		"rejection_sample_method='strict'":                false,
		"rejection_sample_method=None, synthetic_rates=0": false,
		"SGLANG_SIMULATE_ACC_LEN=-1":                      false,
		"SGLANG_SIMULATE_ACC_LEN=0":                       false,
		"synthetic prompts of 128 tokens":                 false,
	} {
		if got := ForcedBy(text); (got != "") != forces {
			t.Errorf("%s: %q", text, got)
		}
	}
	for pair, forces := range map[string]bool{
		"SGLANG_SIMULATE_ACC_LEN=3": true, "SGLANG_SIMULATE_ACC_LEN= 0.5": true, "SGLANG_SIMULATE_ACC_LEN=nan": true,
		"SGLANG_SIMULATE_ACC_LEN=full":                 true,
		"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=1": true, "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=0": false,
		"SGLANG_SIMULATE_ACC_LEN=": false, "SGLANG_SIMULATE_ACC_LEN=-1.0": false,
		"SGLANG_SIMULATE_ACC_METHOD=match": false, "": false,
	} {
		if got := ForcedIn([]string{"PATH=/bin", pair}); (got != "") != forces {
			t.Errorf("%s: %q", pair, got)
		}
	}
}
