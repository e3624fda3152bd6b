package kinds

import (
	"slices"
	"time"
)

// SGLang 0.4.6 to 0.5.17. `sglang serve` is the newer spelling of the command;
// the module works in all of them.

func init() {
	register(Kind{
		Name: "sglang",
		Doc: "SGLang's server, started as `python3 -m sglang.launch_server`. Its /health answers 503 during startup, " +
			"and then generates a token before it answers, so a hanging scheduler does not count as ready.",
		Example: `engine "sglang" "h200" {
  model = "openai/gpt-oss-120b"

  docker {
    gpus = "all"
  }
  settings = {
    attention_backend     = "fa3"
    max_num_seqs          = 64
    enable_prefix_caching = false
    enable_metrics        = true
  }
}`,
		Command: []string{
			"python3", "-m", "sglang.launch_server", "--model-path", "{model}", "--host", "{host}",
			"--port", "{port}",
		},
		Image:     "lmsysorg/sglang",
		Images:    []string{"sglang", "sglang-*", "sgl", "sgl-*"},
		Port:      30000,
		Container: Container{IPC: "host", ShmSize: "32g"},
		Ready:     []Probe{{Path: "/health"}},
		Version:   Pattern{Path: "/server_info", JQ: ".version"},
		Info:      []string{"/model_info", "/get_model_info", "/v1/models"},
		Observe:   sglangObserve,
		Crashes:   sglangCrashes,
		Aftermath: sglangAftermath,
		Harmless: []string{
			"KV cache pool is full. Retract requests", "crashed with exit code -15", "self.soft=True",
		},
		Metrics: Metrics{
			Path: "/metrics", Needs: []string{"--enable-metrics"},
			// Gauges appear once for each rank of tensor parallelism, so they are not
			// summed.
			Names: map[string][]string{
				"running":            {"sglang:num_running_reqs"},
				"waiting":            {"sglang:num_queue_reqs"},
				"kv_cache_usage":     {"sglang:token_usage"},
				"cache_hit_rate":     {"sglang:cache_hit_rate"},
				"generation_rate":    {"sglang:gen_throughput"},
				"prompt_tokens":      {"sglang:prompt_tokens_total"},
				"generation_tokens":  {"sglang:generation_tokens_total"},
				"spec_accept_length": {"sglang:spec_accept_length"},
				"spec_accept_rate":   {"sglang:spec_accept_rate"},
				"queue_time_sum":     {"sglang:queue_time_seconds_sum"},
				"queue_time_count":   {"sglang:queue_time_seconds_count"},
				// The gauge num_retracted_reqs is not a count: it is reset all the time.
				"preemptions": {"sglang:num_retracted_requests_total"},
			},
		},
		Tokenize: Tokenize{Path: "/tokenize", Field: "prompt", Count: ".count"},
		Ask: Ask{
			IgnoreEOS: true, LogProbs: LogProbs{Top: 20, Prompt: "echo"},
			Usage: true, CachedTokens: "--enable-cache-report",
			Continue: map[string]any{"continue_final_message": true, "add_generation_prompt": false},
		},
		Profiler: Profiler{
			Start: "/start_profile", Stop: "/stop_profile",
			Body: `{"output_dir":"{profile}","activities":["CPU","GPU"]}`,
		},
		DefaultReadyTimeout: 20 * time.Minute,
		DefaultStopGrace:    30 * time.Second,
		Settings:            sglangSettings,
	})
}

var sglangCrashes = []Signature{
	{
		"Capture*cuda graph failed: *out of memory", OutOfMemory,
		"CUDA graphs do not fit: lower gpu_memory_utilization (mem-fraction-static), cuda_graph_max_bs or " +
			"max_num_batched_tokens.",
	},
	{
		"Decode out of memory", OutOfMemory,
		"The KV cache is too small for the running requests: lower max_num_seqs, or raise gpu_memory_utilization.",
	},
	{
		"Prefill out of memory", OutOfMemory,
		"The KV cache is too small for a prompt: lower max_num_batched_tokens, or raise gpu_memory_utilization.",
	},
	{
		"Out of memory even after retracting", OutOfMemory,
		"The KV cache is too small for one request: raise gpu_memory_utilization, or lower max_model_len.",
	},
	{
		either("Not enough memory. Please try to increase --mem-fraction-static",
			"Loaded weights leave no GPU memory for the KV cache"), OutOfMemory,
		"Weights leave no room for the KV cache: raise gpu_memory_utilization, or spread the model over more GPUs.",
	},
}

var sglangAftermath = slices.Concat([]Signature{
	{
		"No accelerator (*is available", Driver,
		"SGLang sees no GPU: check the container's gpus, and nvidia-smi or amd-smi.",
	},
	{
		"Capture*cuda graph failed", Crash,
		"CUDA graphs could not be captured; this line says why, often too little memory: lower " +
			"gpu_memory_utilization (mem-fraction-static) or cuda_graph_max_bs.",
	},
	{"Scheduler hit an exception", Crash, "The scheduler crashed; the traceback follows this line."},
	{
		"watchdog timeout (self.watchdog_timeout=", Crash,
		"A step took longer than the watchdog's limit: the scheduler hangs; the stacks of its processes are near " +
			"this line.",
	},
}, ended, []Signature{
	{"crashed with exit code", Crash, "A process of the server ended; the reason is further up."},
	{
		"Received sigquit from a child process", Crash,
		"A process of the server crashed and took down the rest; the reason is further up.",
	},
	{"Health check failed", Crash, "The server no longer generates tokens; look further up."},
})

// A drafter is loaded after the model that it drafts for, and logs the same lines: the
// first one is about the served model.
var sglangObserve = []Pattern{
	{Name: "version", Doc: "Version, as older servers report it.", Path: "/get_server_info", JQ: ".version"},
	{
		Name: "attention", Chosen: true, First: true,
		Log: []string{`Attention backend not specified\. Use (?P<value>\w+) backend`},
	},
	{Name: "attention", Doc: "Requested attention back end.", Log: []string{`\battention_backend='(?P<value>\w+)'`}},
	{
		Name: "moe_kernel", Doc: "Requested back end of the experts; auto leaves it to SGLang.",
		Log: []string{`\bmoe_runner_backend='(?P<value>\w+)'`},
	},
	{Name: "quantization", Chosen: true, First: true, Log: []string{`Load weight end\..*\bquant=(?P<value>\w+)`}},
	{
		Name: "quantization", Doc: "Requested quantisation method.",
		Log: []string{`\bquantization='?(?P<value>\w+)`}, Words: map[string]string{"None": "none"},
	},
	{
		Name: "kv_cache_dtype", Chosen: true, First: true,
		Log: []string{
			`Using KV cache dtype: torch\.(?P<value>\w+)`,
			`KV Cache is allocated\. dtype: torch\.(?P<value>\w+)`,
		},
	},
	{
		Name: "kv_cache_dtype", Doc: "Requested type of the KV cache.",
		Log: []string{`\bkv_cache_dtype='(?P<value>\w+)'`},
	},
	// Newer versions name the step and say when they begin whether prefill is captured
	// whole; older ones capture decode steps only, or say piecewise.
	graphs(map[string]string{
		"cuda": "FULL_DECODE_ONLY", "target decode": "FULL_DECODE_ONLY", "target verify": "FULL_DECODE_ONLY",
		"piecewise": "PIECEWISE", "target prefill": "PIECEWISE", "full": "FULL",
	}, `Capture (?P<value>target decode|target verify|target prefill|piecewise|cuda)(?: CUDA)? graph end`,
		`Capture target prefill CUDA graph begin\. backend=(?P<value>full)`),
	{
		Name: "cuda_graphs", Chosen: true, Doc: "That decode steps run without CUDA graphs.",
		Log: []string{`Decode batch.*cuda graph: (?P<value>False)`}, Words: map[string]string{"False": "NONE"},
	},
	{
		Name: "cuda_graphs", Doc: "That no CUDA graphs were requested.",
		Log: []string{`\bdisable_cuda_graph=(?P<value>True)\b`}, Words: map[string]string{"True": "NONE"},
	},
	{
		Name: "prefix_caching", Log: []string{`\bdisable_radix_cache=(?P<value>True|False)`},
		Words: map[string]string{"True": "false", "False": "true"},
	},
	{
		Name: "speculative", Doc: "Algorithm of speculative decoding.",
		Log: []string{`\bspeculative_algorithm='?(?P<value>\w+)`}, Words: map[string]string{"None": "none"},
	},
	{Name: "kv_capacity_tokens", Log: []string{`\bmax_total_num_tokens=(?P<value>\d+)`}},
	{
		Name: "kv_capacity_tokens", First: true, Doc: "Tokens that the KV cache holds, in older versions.",
		Log: []string{`KV Cache is allocated\. #tokens: (?P<value>\d+)`},
	},
	{
		Name: "weights_gb", First: true, Scale: gibToGB,
		Log: []string{`Load weight end\..*mem usage=(?P<value>[\d.]+) GB`},
	},
	{Name: "model_load_s", First: true, Log: []string{`Load weight end\. elapsed=(?P<value>[\d.]+) s`}},
	{Name: "max_model_len", Log: []string{`\bcontext_len=(?P<value>\d+)`}},
	{Name: "max_num_seqs", Log: []string{`\bmax_running_requests=(?P<value>\d+), context_len`}},
	{
		Name: "max_num_batched_tokens", Doc: "Maximum prompt tokens per step.",
		Log: []string{`\bchunked_prefill_size=(?P<value>\d+), max_prefill_tokens`},
	},
	{Name: "acceptance_length", Metric: []string{"sglang:spec_accept_length"}},
	{
		Name: "retractions", Type: TypeCount, Consequence: true,
		Doc: "Times that running requests were preempted (KV cache freed for others).",
		Log: []string{`KV cache pool is full\. Retract requests`},
	},
	{
		Name: "eager_decodes", Type: TypeCount, Consequence: true,
		Doc: "Logged decode steps that ran without a CUDA graph.", Log: []string{`Decode batch.*cuda graph: False`},
	},
}

var sglangSettings = []Setting{
	{Name: "served_model_name", Flag: "--served-model-name", Default: "the model"},
	{
		Name: "quantization", Flag: "--quantization", Default: "that of the checkpoint",
		Doc: "Method of the weights: fp8, mxfp4 (experts only), awq, modelopt_fp4, …",
	},
	{Name: "dtype", Flag: "--dtype", Default: "auto"},
	{
		Name: "kv_cache_dtype", Flag: "--kv-cache-dtype", Default: "auto",
		Doc: "Type of the KV cache: auto, fp8_e5m2, fp8_e4m3, …",
	},
	{
		Name: "load_format", Flag: "--load-format", Default: "auto",
		Doc: "How weights are read: auto, safetensors, dummy, …",
	},
	{Name: "max_model_len", Flag: "--context-length", Default: "the model's own"},
	{Name: "max_num_seqs", Flag: "--max-running-requests", Default: "depends on the GPU"},
	{
		Name: "max_num_batched_tokens", Flag: "--chunked-prefill-size", Default: "depends on the GPU",
		Doc: "Maximum prompt tokens per step. Unlike vLLM's, it does not count decoding sequences.",
	},
	{
		Name: "gpu_memory_utilization", Max: 1, Flag: "--mem-fraction-static",
		Default: "depends on the GPU",
		Doc: "Share of the GPU's memory for weights and KV cache. Unlike vLLM's, it excludes activations and " +
			"CUDA graphs, so the same value takes more memory.",
	},
	{Name: "kv_cache_tokens", Flag: "--max-total-tokens", Default: "as many as fit"},
	{Name: "block_size", Flag: "--page-size", Default: "the back end's", Doc: "Tokens in one page of the KV cache."},
	{Name: "tensor_parallel_size", Flag: "--tp-size", Default: "1"},
	{Name: "pipeline_parallel_size", Flag: "--pp-size", Default: "1"},
	{Name: "data_parallel_size", Flag: "--dp-size", Default: "1"},
	{Name: "expert_parallel_size", Flag: "--ep-size", Default: "1"},
	{Name: "enforce_eager", Flag: "--disable-cuda-graph", Default: "false"},
	{
		Name: "prefill_cuda_graphs", Type: TypeBool, On: &Effect{},
		Off: &Effect{Flags: []string{"--disable-prefill-cuda-graph"}}, Default: "true",
		Doc: "Also capture prefill as CUDA graphs, in newer versions: the first start takes minutes longer.",
	},
	{Name: "cuda_graph_max_bs", Flag: "--cuda-graph-max-bs", Default: "depends on the GPU"},
	{Name: "enable_torch_compile", Flag: "--enable-torch-compile", Default: "false"},
	{
		Name: "enable_prefix_caching", On: &Effect{}, Off: &Effect{Flags: []string{"--disable-radix-cache"}},
		Default: "true",
	},
	{
		Name: "async_scheduling", On: &Effect{}, Off: &Effect{Flags: []string{"--disable-overlap-schedule"}},
		Default: "true",
	},
	{
		Name: "attention_backend", Flag: "--attention-backend", Default: "chosen by platform",
		Doc: "fa3, flashinfer, triton, trtllm_mha, torch_native, …",
	},
	{
		Name: "prefill_attention_backend", Flag: "--prefill-attention-backend",
		Default: "attention_backend", Doc: "Attention back end for prefill only.",
	},
	{
		Name: "decode_attention_backend", Flag: "--decode-attention-backend",
		Default: "attention_backend", Doc: "Attention back end for decode only.",
	},
	{
		Name: "moe_backend", Flag: "--moe-runner-backend", Default: "auto",
		Doc: "Kernels of the experts: auto, triton, triton_kernel, flashinfer_mxfp4, flashinfer_trtllm, cutlass, …",
	},
	{
		Name: "sampling_backend", Flag: "--sampling-backend", Default: "flashinfer if installed",
		Doc: "Kernels of sampling: flashinfer or pytorch.",
	},
	{
		Name: "speculative", Type: TypeObject, Default: "none",
		Doc: "Speculative decoding: method, model, num_speculative_tokens (steps of the draft), eagle_topk and " +
			"num_draft_tokens (checked at once). With eagle_topk = 1, num_draft_tokens is num_speculative_tokens + 1.",
		Fields: []Setting{
			{
				Name: "method", Flag: "--speculative-algorithm",
				Words: map[string]string{
					"eagle":  "EAGLE",
					"eagle3": "EAGLE3", "mtp": "NEXTN", "ngram": "NGRAM", "draft_model": "STANDALONE",
					"dflash": "DFLASH",
				},
			},
			{Name: "model", Flag: "--speculative-draft-model-path", Used: "acceptance_length", UsedHidden: true},
			{Name: "num_speculative_tokens", Flag: "--speculative-num-steps"},
			{Name: "eagle_topk", Whole: true, Flag: "--speculative-eagle-topk"},
			{Name: "num_draft_tokens", Whole: true, Flag: "--speculative-num-draft-tokens"},
		},
	},
	{Name: "hf_overrides", Flag: "--json-model-override-args", Default: "none"},
	{
		Name: "cpu_offload_gb", Whole: true, Flag: "--cpu-offload-gb", Default: "0",
		Doc: "Weights to keep in host memory, in GiB.",
	},
	{Name: "seed", Flag: "--random-seed", Default: "a random one", Doc: "Random seed of the engine."},
	{Name: "trust_remote_code", Flag: "--trust-remote-code", Default: "false"},
	{Name: "revision", Flag: "--revision", Default: "the newest"},
	{Name: "tokenizer", Flag: "--tokenizer-path", Default: "the model's"},
	{Name: "skip_tokenizer_init", Flag: "--skip-tokenizer-init", Default: "false"},
	{
		Name: "chat_template", Flag: "--chat-template", Default: "the model's",
		Doc: "Name or file of another chat template.",
	},
	{Name: "enable_metrics", Flag: "--enable-metrics", Default: "false"},
	{Name: "report_cached_tokens", Flag: "--enable-cache-report", Default: "false"},
	{
		Name: "deterministic", Type: TypeBool, Flag: "--enable-deterministic-inference", Default: "false",
		Doc: "Batch-invariant output: the same text whatever else is in the batch.",
	},
	{Name: "log_level", Flag: "--log-level", Default: "info", Choices: []string{"debug", "info", "warning", "error"}},
}
