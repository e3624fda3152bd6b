package kinds

import (
	"slices"
	"time"
)

// vLLM 0.9 to 0.32: the newest flags and endpoints; log lines and metrics of older
// versions as well. Before 0.12 the attention back end was chosen with the variable
// VLLM_ATTENTION_BACKEND, which later versions ignore.

func init() {
	register(Kind{
		Name: "vllm",
		Doc: "vLLM's OpenAI server, started as `vllm serve MODEL`. It is ready when /health answers 200, which it " +
			"does only once weights are loaded, CUDA graphs are captured and the engine core runs.",
		Example: `engine "vllm" "gb10" {
  model = "openai/gpt-oss-120b"

  docker {
    gpus = "all"
  }
  settings = {
    quantization          = "mxfp4"
    max_model_len         = 131072
    max_num_seqs          = 2
    enable_prefix_caching = true
  }
}`,
		Command: []string{"vllm", "serve", "{model}", "--host", "{host}", "--port", "{port}"},
		Image:   "vllm/vllm-openai",
		Images:  []string{"vllm", "vllm-*", "vllm_*"},
		// Both the image's old entrypoint (the API server's module) and its new one (vllm
		// serve) accept --model.
		ImageCommand: []string{"--model", "{model}", "--host", "{host}", "--port", "{port}"},
		Port:         8000,
		Container:    Container{IPC: "host"},
		Ready:        []Probe{{Path: "/health"}},
		Version:      Pattern{Path: "/version", JQ: ".version"},
		Info:         []string{"/v1/models", "/server_info"},
		Observe:      vllmObserve,
		Crashes:      vllmCrashes,
		Aftermath:    vllmAftermath,
		Harmless: []string{
			"Current vLLM config is not set.",
			"Your GPU does not have native support for FP4 computation",
		},
		Metrics:  vllmMetrics,
		Tokenize: Tokenize{Path: "/tokenize", Field: "prompt", Count: ".count"},
		Ask: Ask{
			IgnoreEOS: true, LogProbs: LogProbs{
				Top: 20, Setting: "max_logprobs", IDs: true, AskIDs: true,
				Prompt: "prompt_logprobs",
			},
			Usage: true, ContinuousUsage: true, CachedTokens: "--enable-prompt-tokens-details",
			Continue: map[string]any{"continue_final_message": true, "add_generation_prompt": false},
		},
		// Since 0.13; earlier versions used the variable VLLM_TORCH_PROFILER_DIR.
		// Recording Python stacks makes steps several times slower.
		Profiler: Profiler{
			Args: []string{
				"--profiler-config",
				`{"profiler":"torch","torch_profiler_dir":"{profile}","torch_profiler_with_stack":false}`,
			},
			Start: "/start_profile", Stop: "/stop_profile",
		},
		// Long enough to load a large model and to compile its kernels.
		DefaultReadyTimeout: 20 * time.Minute,
		DefaultStopGrace:    30 * time.Second,
		Settings:            vllmSettings,
	})
}

var vllmMetrics = Metrics{
	Path: "/metrics",
	Names: map[string][]string{
		"running":              {"vllm:num_requests_running"},
		"waiting":              {"vllm:num_requests_waiting"},
		"kv_cache_usage":       {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"},
		"prefix_cache_queries": {"vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"},
		"prefix_cache_hits":    {"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"},
		"prompt_tokens":        {"vllm:prompt_tokens_total"},
		"generation_tokens":    {"vllm:generation_tokens_total"},
		"preemptions":          {"vllm:num_preemptions_total"},
		"corrupted_requests":   {"vllm:corrupted_requests_total"},
		"spec_drafts":          {"vllm:spec_decode_num_drafts_total"},
		"spec_draft_tokens":    {"vllm:spec_decode_num_draft_tokens_total"},
		"spec_accepted_tokens": {"vllm:spec_decode_num_accepted_tokens_total"},
		// One line for each position in the draft, with the label position.
		"spec_accepted_per_pos": {"vllm:spec_decode_num_accepted_tokens_per_pos_total"},
		// Seconds that requests waited before they were scheduled, and how many did.
		"queue_time_sum":   {"vllm:request_queue_time_seconds_sum"},
		"queue_time_count": {"vllm:request_queue_time_seconds_count"},
	},
}

var vllmCrashes = []Signature{
	{
		"No available memory for the cache blocks", OutOfMemory,
		"Weights leave no room for the KV cache: raise gpu_memory_utilization, or lower max_model_len and " +
			"max_num_seqs.",
	},
	{
		either("is larger than the maximum number of tokens that can be stored in KV cache",
			"is larger than the available KV cache memory"), OutOfMemory,
		"One sequence of max_model_len does not fit: lower max_model_len, or raise gpu_memory_utilization.",
	},
	{
		"is less than desired GPU memory utilization", GPUBusy,
		"Another process uses the GPU's memory: wait for it to end, or lower gpu_memory_utilization.",
	},
	{
		"Unknown attention backend", Config,
		"This version has no such attention back end; this line lists those that it has.",
	},
	{"is not supported on this GPU", Config, "A requested back end does not run on this GPU: choose another."},
}

var vllmAftermath = slices.Concat([]Signature{
	{
		"Failed to infer device type", Driver,
		"vLLM sees no GPU of the vendor that it was built for: check the container's gpus, nvidia-smi or amd-smi, " +
			"and its build.",
	},
	{
		"Timed out waiting for engine core processes to start", Hang,
		"The engine core took longer to start than VLLM_ENGINE_READY_TIMEOUT_S: raise that, or see what it does " +
			"(py-spy dump).",
	},
	{
		"RPC call to * timed out", Crash,
		"A worker did not answer within the engine core's time limit: it hangs, or a step takes longer than " +
			"VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS.",
	},
	{
		"died unexpectedly", Crash,
		"A worker ended; its last message is further up, and if there is none, it was killed from outside (see dmesg).",
	},
	{"EngineCore failed to start", Crash, "The engine core crashed during startup; the reason is near this line."},
	{
		"EngineCore encountered a fatal error", Crash,
		"The engine core crashed while serving; the reason is near this line.",
	},
	{"EngineDeadError", Crash, "The engine core has died and requests are refused; the reason is further up."},
}, ended, []Signature{
	{"Engine core initialization failed", Crash, "The engine core crashed during startup; the reason is further up."},
})

var vllmSettings = []Setting{
	{Name: "served_model_name", Flag: "--served-model-name", Default: "the model"},
	{
		Name: "quantization", Flag: "--quantization", Default: "that of the checkpoint",
		Doc: "Method of the weights: mxfp4, fp8, awq, gptq, modelopt, …",
	},
	{Name: "dtype", Flag: "--dtype", Default: "auto"},
	{
		Name: "kv_cache_dtype", Flag: "--kv-cache-dtype", Default: "auto",
		Doc: "Type of the KV cache: auto, fp8, fp8_e4m3, fp8_e5m2, …",
	},
	{
		Name: "load_format", Flag: "--load-format", Default: "auto",
		Doc: "How weights are read: auto, safetensors, fastsafetensors, dummy, …",
	},
	{Name: "max_model_len", Flag: "--max-model-len", Default: "the model's own"},
	{
		Name: "max_num_seqs", Flag: "--max-num-seqs", Default: "depends on the GPU",
		Doc: "Maximum sequences per batch; others wait.",
	},
	{Name: "max_num_batched_tokens", Flag: "--max-num-batched-tokens", Default: "depends on the GPU"},
	{
		Name: "gpu_memory_utilization", Max: 1, Flag: "--gpu-memory-utilization", Default: "0.9",
		Doc: "Share of the whole GPU memory for weights, activations and KV cache together.",
	},
	{
		Name: "kv_cache_memory_bytes", Whole: true, Flag: "--kv-cache-memory-bytes",
		Default: "the remaining memory", Doc: "Size of the KV cache, in bytes; overrides gpu_memory_utilization.",
	},
	{Name: "block_size", Flag: "--block-size", Default: "the back end's"},
	{Name: "tensor_parallel_size", Flag: "--tensor-parallel-size", Default: "1"},
	{Name: "pipeline_parallel_size", Flag: "--pipeline-parallel-size", Default: "1"},
	{Name: "data_parallel_size", Flag: "--data-parallel-size", Default: "1"},
	{
		Name: "enable_expert_parallel", Type: TypeBool, Flag: "--enable-expert-parallel",
		OffFlag: "--no-enable-expert-parallel", Default: "false",
		Doc: "Expert parallelism: whole experts per GPU instead of slices of each.",
	},
	{
		Name: "enforce_eager", Flag: "--enforce-eager", OffFlag: "--no-enforce-eager", Default: "false",
		Doc: "Run without CUDA graphs and without torch.compile.",
	},
	{
		Name: "enable_prefix_caching", Flag: "--enable-prefix-caching", OffFlag: "--no-enable-prefix-caching",
		Default: "true",
	},
	{
		Name: "enable_chunked_prefill", Flag: "--enable-chunked-prefill", OffFlag: "--no-enable-chunked-prefill",
		Default: "true",
	},
	{
		Name: "async_scheduling", Flag: "--async-scheduling", OffFlag: "--no-async-scheduling",
		Default: "true since 0.14",
	},
	{
		Name: "attention_backend", Flag: "--attention-backend", Default: "chosen by platform",
		Doc: "FLASH_ATTN, FLASHINFER, TRITON_ATTN, FLEX_ATTENTION, …",
	},
	{
		Name: "attention_config", Type: TypeObject, Flag: "--attention-config", Default: "none",
		Doc: "Attention options, in vLLM's own names, as JSON.",
	},
	{
		Name: "moe_backend", Flag: "--moe-backend", Default: "auto",
		Doc: "Kernels of the experts: auto, marlin, triton, cutlass, flashinfer_trtllm, flashinfer_cutlass, …",
	},
	{
		Name: "speculative", Flag: "--speculative-config", Default: "none", Used: "drafted_tokens",
		UsedWith: "model", UsedHidden: true,
		Doc: "Speculative decoding: method, model, num_speculative_tokens and vLLM's other options, as JSON.",
	},
	{
		Name: "compilation_config", Type: TypeObject, Flag: "--compilation-config", Default: "by optimisation level",
		Doc: "torch.compile and CUDA graphs, in vLLM's own names, as JSON.",
	},
	{
		Name: "profiler_config", Type: TypeObject, Flag: "--profiler-config", Default: "none",
		Doc: "The profiler behind /start_profile, as JSON.",
	},
	{Name: "hf_overrides", Flag: "--hf-overrides", Default: "none"},
	{
		Name: "cpu_offload_gb", Type: TypeNumber, Flag: "--cpu-offload-gb", Default: "0",
		Doc: "Weights to keep in host memory, in GiB per GPU.",
	},
	{Name: "seed", Flag: "--seed", Default: "0", Doc: "Random seed of the engine."},
	{Name: "trust_remote_code", Flag: "--trust-remote-code", OffFlag: "--no-trust-remote-code", Default: "false"},
	{Name: "revision", Flag: "--revision", Default: "the newest"},
	{Name: "tokenizer", Flag: "--tokenizer", Default: "the model's"},
	{Name: "skip_tokenizer_init", Flag: "--skip-tokenizer-init", OffFlag: "--no-skip-tokenizer-init", Default: "false"},
	{
		Name: "generation_config", Flag: "--generation-config", Default: "auto: the model's sampling defaults",
		Doc: "vllm ignores the sampling defaults that come with the model.",
	},
	{
		Name: "max_logprobs", Whole: true, Flag: "--max-logprobs", Default: "20",
		Doc: "Maximum number of log-probabilities per request.",
	},
	{
		Name: "chat_template", Flag: "--chat-template", Default: "the model's",
		Doc: "File or text of another chat template.",
	},
	{
		Name: "enable_metrics", On: &Effect{}, Off: &Effect{Flags: []string{"--disable-log-stats"}},
		Default: "true", Doc: "Collect requests, tokens and cache usage for /metrics and the log.",
	},
	{
		Name: "report_cached_tokens", Flag: "--enable-prompt-tokens-details",
		OffFlag: "--no-enable-prompt-tokens-details", Default: "false",
	},
	{
		Name: "dev_mode", Type: TypeBool, Env: "VLLM_SERVER_DEV_MODE", Default: "false",
		Doc: "Serve /server_info and /reset_prefix_cache.",
	},
	{
		Name: "count_nans", Type: TypeBool, Env: "VLLM_COMPUTE_NANS_IN_LOGITS", Default: "false",
		Doc: "Count answers with NaN in their logits as corrupted requests. Slightly slower.",
	},
	{Name: "log_level", Env: "VLLM_LOGGING_LEVEL", Default: "INFO", Choices: []string{
		"DEBUG", "INFO",
		"WARNING", "ERROR",
	}, Doc: "Log level. Above INFO most observations are missing."},
}

// vllmConfig matches the start of the line in which vLLM prints its whole configuration.
const vllmConfig = `LLM engine \(v[^)]*\) with config:.*[ ,(]`

// A drafter is loaded after the model that it drafts for, and logs the same lines: the
// first one is about the served model.
var vllmObserve = []Pattern{
	{
		// The newest form goes on to list all back ends that could have been chosen: only
		// the name before "backend" counts.
		Name: "attention", Chosen: true, First: true,
		Log: []string{
			`Using AttentionBackendEnum\.(?P<value>[A-Z0-9_]+) backend`,
			`Using (?P<value>[A-Z0-9_]+) attention backend\b`,
			`Using (?P<value>[A-Z][A-Za-z ]*?) backend on V[01] engine`,
		},
		Words: map[string]string{
			"Flash Attention": "FLASH_ATTN", "FlashInfer": "FLASHINFER", "Triton": "TRITON_ATTN",
			"FlexAttention": "FLEX_ATTENTION",
			"Triton MLA":    "TRITON_MLA", "FlashMLA": "FLASHMLA", "Cutlass MLA": "CUTLASS_MLA",
			"FlashInfer MLA": "FLASHINFER_MLA",
		},
	},
	{
		// "Using Triton backend on V1 engine." is about attention: the short forms
		// must end the line.
		Name: "moe_kernel", Chosen: true, First: true,
		Log: []string{
			`Using '?(?P<value>[A-Z][A-Z0-9_]*)'? \w+ MoE backend\b`,
			`\[MXFP4\] Using backend: (?P<value>[A-Za-z0-9_]+)`,
			`Using (?P<value>Marlin|Triton) backend\.?\s*$`,
			`Using (?P<value>FlashInfer MXFP4 [A-Z0-9]+(?: [A-Z0-9]+)?) backend\b`,
		},
		Words: map[string]string{"Marlin": "MARLIN", "Triton": "TRITON"},
	},
	{
		Name: "linear_kernel", Chosen: true, First: true, Doc: "Kernel of quantised linear layers.",
		Log: []string{`Using (?P<value>\w*LinearKernel) for `},
	},
	{
		Name: "quantization",
		Log:  []string{vllmConfig + `quantization=(?P<value>[\w.-]+)`}, Words: map[string]string{"None": "none"},
	},
	{
		Name: "dtype", Doc: "Type of weights and activations.",
		Log: []string{vllmConfig + `dtype=(?:torch\.)?(?P<value>\w+)`},
	},
	{Name: "kv_cache_dtype", Log: []string{vllmConfig + `kv_cache_dtype=(?P<value>\w+)`}},
	graphs(map[string]string{
		"decode, FULL": "FULL_DECODE_ONLY", "mixed prefill-decode, PIECEWISE": "PIECEWISE",
		"mixed prefill-decode, FULL": "FULL",
		"Skipping":                   "NONE",
	}, `Capturing CUDA graphs \((?P<value>[\w -]+, \w+)\)`, `(?P<value>Skipping) CUDA graph capture`),
	{
		// The first is what vLLM chose for what the attention back end cannot do, the last
		// what versions before 0.11 print.
		Name: "cuda_graphs",
		Doc:  "Which CUDA graphs were requested, in a log without the lines of capturing.",
		Log: []string{
			`setting cudagraph_mode=(?P<value>[A-Z_]+)`, vllmConfig + `enforce_eager=(?P<value>True)`,
			vllmConfig + `compilation_config=.*'cudagraph_mode': <CUDAGraphMode\.(?P<value>[A-Z_]+)`,
			vllmConfig + `compilation_config=.*"full_cuda_graph":(?P<value>true|false)`,
		},
		Words: map[string]string{"True": "NONE", "true": "FULL", "false": "PIECEWISE"},
	},
	{
		Name: "prefix_caching", Log: []string{vllmConfig + `enable_prefix_caching=(?P<value>True|False)`},
		Words: map[string]string{"True": "true", "False": "false"},
	},
	{
		Name:  "speculative",
		Log:   []string{vllmConfig + `speculative_config=(?:SpeculativeConfig\(method=')?(?P<value>\w+)`},
		Words: map[string]string{"None": "none"},
	},
	{Name: "kv_capacity_tokens", Log: []string{`(?:GPU|CPU) KV cache size: (?P<value>[\d,]+) tokens`}},
	{Name: "kv_memory_gb", Scale: gibToGB, Log: []string{`Available KV cache memory: (?P<value>[\d.]+) GiB`}},
	{
		Name: "weights_gb", First: true, Scale: gibToGB,
		Log: []string{
			`Model loading took (?P<value>[\d.]+) Gi?B`,
			`Loading model weights took (?P<value>[\d.]+) GB`,
		},
	},
	{
		Name: "model_load_s", First: true,
		Log: []string{`Model loading took [\d.]+ Gi?B(?: memory)? and (?P<value>[\d.]+) s`},
	},
	{
		Name: "compile_s", Type: TypeNumber, Consequence: true, First: true, Unit: "s", Doc: "Time of torch.compile.",
		Log: []string{`torch\.compile (?:takes|took) (?P<value>[\d.]+) s in total`},
	},
	{
		Name: "jit_compilations", Type: TypeCount, Consequence: true,
		Doc: "Kernels compiled during inference, since 0.25.", Log: []string{`kernel JIT compilation during inference`},
	},
	{
		Name: "graph_memory_gb", Type: TypeNumber, Consequence: true, Unit: "GB", Scale: gibToGB,
		Doc: "GPU memory of CUDA graphs.",
		Log: []string{`Graph capturing finished in \d+ secs?, took (?P<value>-?[\d.]+) GiB`},
	},
	{Name: "max_model_len", Path: "/v1/models", JQ: ".data[0].max_model_len"},
	{
		Name: "max_num_batched_tokens", Doc: "Maximum tokens per step.",
		Log: []string{`Chunked prefill is enabled with max_num_batched_tokens=(?P<value>\d+)`},
	},
	{
		Name: "drafted_tokens",
		Doc:  "Drafted tokens of all requests.", Metric: []string{"vllm:spec_decode_num_draft_tokens_total"},
	},
	{
		Name: "acceptance_length", Doc: "Mean accepted length of speculative decoding, as last logged.",
		Log: []string{`SpecDecoding metrics: Mean acceptance length: (?P<value>[\d.]+)`},
	},
	{
		Name: "fp4_fallback", Type: TypeCount, Chosen: true,
		Doc: "Times that FP4 weights fell back to weight-only kernels for lack of hardware support.",
		Log: []string{`does not have native support for FP4 computation`},
	},
	{
		Name: "autotuned", Doc: "Times that FlashInfer's autotuner ran.",
		Log: []string{`\[Autotuner\]: Autotuning process ends`},
	},
	{
		Name: "preemptions", Type: TypeNumber, Consequence: true,
		Doc: "Preempted sequences (KV cache freed for others).", Metric: vllmMetrics.Names["preemptions"],
	},
	{
		Name: "corrupted_requests", Type: TypeNumber, Consequence: true,
		Doc: "Requests with NaN in their logits, if count_nans is on.", Metric: vllmMetrics.Names["corrupted_requests"],
	},
}
