package kinds

import "time"

// TensorRT-LLM 1.0 to 1.2 with the PyTorch back end, served by trtllm-serve. Most options
// are members of LlmArgs, which are read from a YAML file; --config and
// --extra_llm_api_options both name that file, but only the latter exists in all of these
// versions.

func init() {
	register(Kind{
		Name: "trtllm",
		Doc: "TensorRT-LLM's server, started as `trtllm-serve MODEL`. It listens once the model is loaded, and is " +
			"ready when /health answers 200.",
		Example: `engine "trtllm" "b200" {
  model = "openai/gpt-oss-120b"

  docker {
    gpus = "all"
  }
  settings = {
    max_num_seqs          = 16
    enable_prefix_caching = false
    moe_backend           = "TRTLLM"
  }
}`,
		Command:    []string{"trtllm-serve", "{model}", "--host", "{host}", "--port", "{port}"},
		Image:      "nvcr.io/nvidia/tensorrt-llm/release",
		Images:     []string{"tensorrt-llm", "tensorrt-llm-*", "tensorrt_llm", "trtllm", "trtllm-*"},
		Port:       8000,
		Container:  Container{IPC: "host", Ulimits: map[string]string{"memlock": "-1", "stack": "67108864"}},
		ConfigName: "llm_args.yaml",
		ConfigArgs: []string{"--extra_llm_api_options", "{config}"},
		Ready:      []Probe{{Path: "/health"}},
		Version:    Pattern{Path: "/version", JQ: ".version"},
		Info:       []string{"/server_info", "/v1/models"},
		Observe: []Pattern{
			{Name: "attention", Log: []string{`\battn_backend='(?P<value>\w+)'`}},
			{
				Name: "moe_kernel",
				Log:  []string{`\bMoeConfig\(backend='(?P<value>\w+)'`, `\bmoe_backend='(?P<value>\w+)'`},
			},
			{
				Name: "quantization", Doc: "Quantisation of the checkpoint.",
				Log:   []string{`\bquant_algo=(?:<QuantAlgo\.\w+: ')?'?(?P<value>\w+)`},
				Words: map[string]string{"None": "none"},
			},
			{
				Name: "kv_capacity_tokens", First: true, Anew: trtllmProfiled,
				Log: []string{`for max tokens in paged KV cache \((?P<value>\d+)\)`},
			},
			{
				Name: "kv_memory_gb", First: true, Anew: trtllmProfiled, Scale: gibToGB,
				Log: []string{`Allocated (?P<value>[\d.]+) GiB for max tokens in paged KV cache`},
			},
			{
				Name: "drafted_tokens", Doc: "Drafted tokens of all requests, if enable_metrics is on.",
				Metric: []string{"trtllm_spec_decode_num_draft_tokens_total"},
			},
			{
				Name: "weights_gb", First: true, Scale: gibToGB,
				Doc: "GPU memory after loading the weights, a drafter's among them.",
				Log: []string{
					`Memory used after loading model weights \(inside torch\) in memory usage profiling: (?P<value>[\d.]+) GiB`,
				},
			},
			{Name: "model_load_s", First: true, Log: []string{`Model init total -- (?P<value>[\d.]+)s`}},
			{Name: "max_model_len", Log: []string{`\bmax_seq_len=(?P<value>\d+), max_num_requests=`}},
			graphs(map[string]string{"Creating": "FULL_DECODE_ONLY", "piecewise": "PIECEWISE"},
				`(?P<value>Creating) CUDA graph instances for`,
				`(?P<value>piecewise) CUDA graph warmup for num tokens`),
			{
				Name: "cuda_graphs", Doc: "That no CUDA graphs were requested.",
				Log: []string{`\bcuda_graph_config=(?P<value>None)`}, Words: map[string]string{"None": "NONE"},
			},
			{
				Name: "autotuned", Doc: "Times that the autotuner ran.",
				Log: []string{`\[Autotuner\] Autotuning process ends`},
			},
			{
				Name: "window_reduced", Type: TypeCount, Chosen: true, Anew: trtllmProfiled,
				Doc: "Times that the length was reduced to fit the KV cache.",
				Log: []string{`exceeds upper bound \d+ for available blocks`},
			},
		},
		Crashes: []Signature{
			{"Failed to bind socket", Port, PortTaken},
			{
				"Executor creation failed due to insufficient GPU memory", OutOfMemory,
				"The KV cache or the graphs do not fit: lower gpu_memory_utilization, max_num_seqs or max_model_len.",
			},
		},
		Aftermath: []Signature{
			{
				"Hang detected on rank", Crash,
				"The executor made no step for longer than its limit: a rank hangs; the stacks of its threads are " +
					"near this line.",
			},
			{"Executor worker returned error", Crash, "The executor crashed; its traceback is further up."},
			{"Error in event loop", Crash, "The executor crashed while serving; its traceback is near this line."},
			{"MPI_ABORT was invoked", Crash, "One rank crashed and took down the others; look further up."},
		},
		Harmless: []string{"Attention workspace size is not enough, increase the size"},
		Metrics: Metrics{
			Path: "/prometheus/metrics",
			Names: map[string][]string{
				"running":              {"trtllm_num_requests_running"},
				"waiting":              {"trtllm_num_requests_waiting"},
				"kv_cache_usage":       {"trtllm_kv_cache_utilization"},
				"queue_time_sum":       {"trtllm_request_queue_time_seconds_sum"},
				"queue_time_count":     {"trtllm_request_queue_time_seconds_count"},
				"spec_draft_tokens":    {"trtllm_spec_decode_num_draft_tokens_total"},
				"spec_accepted_tokens": {"trtllm_spec_decode_num_accepted_tokens_total"},
			},
		},
		// Its TensorRT back end refuses more than one log-probability without
		// gather_generation_logits.
		Ask:                 Ask{IgnoreEOS: true, LogProbs: LogProbs{Top: 20}, Usage: true},
		DefaultReadyTimeout: 30 * time.Minute,
		DefaultStopGrace:    60 * time.Second,
		Settings:            trtllmSettings,
	})
}

// trtllmProfiled matches the line after which the KV cache is allocated for good, first
// the served model's and then a drafter's: what came before was for measuring memory.
const trtllmProfiled = `Peak memory .*during memory usage profiling`

var trtllmSettings = []Setting{
	{Name: "max_model_len", Flag: "--max_seq_len", Default: "the model's own"},
	{Name: "max_num_seqs", Flag: "--max_batch_size", Default: "2048", Doc: "Maximum sequences per batch; others wait."},
	{Name: "max_num_batched_tokens", Flag: "--max_num_tokens", Default: "8192"},
	{
		Name: "gpu_memory_utilization", Max: 1, Flag: "--kv_cache_free_gpu_memory_fraction",
		Default: "0.9",
		Doc: "Share of the memory left after loading the model that the KV cache takes. Unlike vLLM's, not a " +
			"share of the whole GPU.",
	},
	{Name: "tensor_parallel_size", Flag: "--tp_size", Default: "1"},
	{Name: "pipeline_parallel_size", Flag: "--pp_size", Default: "1"},
	{Name: "expert_parallel_size", Flag: "--ep_size", Default: "1"},
	{
		Name: "backend", Flag: "--backend", Default: "pytorch",
		Choices: []string{"pytorch", "tensorrt", "_autodeploy"}, Doc: "Runtime of the model.",
	},
	{Name: "tokenizer", Flag: "--tokenizer", Default: "the model's"},
	{Name: "trust_remote_code", Flag: "--trust_remote_code", Default: "false"},
	{Name: "log_level", Flag: "--log_level", Default: "info", Choices: []string{"verbose", "info", "warning", "error"}},
	{Name: "revision", Key: "revision", Default: "the newest"},
	{Name: "dtype", Key: "dtype", Default: "auto", Doc: "Type of weights and activations."},
	{
		Name: "load_format", Key: "load_format", Default: "auto",
		Choices: []string{"auto", "dummy", "vision_only"}, Doc: "How weights are read.",
	},
	{Name: "attention_backend", Key: "attn_backend", Default: "TRTLLM", Doc: "TRTLLM, FLASHINFER, VANILLA, …"},
	{
		Name: "moe_backend", Key: "moe_config.backend", Default: "AUTO, CUTLASS before 1.1",
		Doc: "Kernels of the experts: CUTLASS, TRTLLM, TRITON, CUTEDSL, WIDEEP, …",
	},
	{
		Name: "kv_cache_dtype", Key: "kv_cache_config.dtype", Default: "auto",
		Doc: "Type of the KV cache: auto, fp8, nvfp4.",
	},
	{Name: "block_size", Key: "kv_cache_config.tokens_per_block", Default: "32"},
	{Name: "kv_cache_tokens", Key: "kv_cache_config.max_tokens", Default: "as many as fit"},
	{Name: "enable_prefix_caching", Key: "kv_cache_config.enable_block_reuse", Default: "true"},
	{Name: "enable_chunked_prefill", Key: "enable_chunked_prefill", Default: "false"},
	{
		Name: "async_scheduling", Key: "disable_overlap_scheduler",
		On:  &Effect{Config: map[string]any{"disable_overlap_scheduler": false}},
		Off: &Effect{Config: map[string]any{"disable_overlap_scheduler": true}}, Default: "true",
	},
	{Name: "cuda_graph_max_bs", Key: "cuda_graph_config.max_batch_size", Default: "128"},
	{
		Name: "cuda_graph_padding", Type: TypeBool, Key: "cuda_graph_config.enable_padding", Default: "false",
		Doc: "Pad batches to the next size with a CUDA graph.",
	},
	// After the members of cuda_graph_config, so true removes them.
	{
		Name: "enforce_eager", On: &Effect{Config: map[string]any{"cuda_graph_config": nil}},
		Off: &Effect{Config: map[string]any{"cuda_graph_config": map[string]any{}}}, Default: "false",
	},
	{
		Name: "enable_torch_compile", On: &Effect{Config: map[string]any{"torch_compile_config": map[string]any{}}},
		Off: &Effect{Config: map[string]any{"torch_compile_config": nil}}, Default: "false",
	},
	{
		Name: "speculative", Type: TypeObject, Default: "none",
		Doc: "Speculative decoding: method, model (model_dir before 1.2), num_speculative_tokens.", Fields: []Setting{
			{
				Name: "method", Key: "speculative_config.decoding_type",
				Words: map[string]string{
					"eagle": "Eagle", "eagle3": "Eagle3", "mtp": "MTP", "ngram": "NGram",
					"draft_model": "DraftTarget",
				},
			},
			{Name: "model", Key: "speculative_config.speculative_model", Used: "drafted_tokens", UsedHidden: true},
			{
				Name: "model_dir", Key: "speculative_config.speculative_model_dir", Used: "drafted_tokens",
				UsedHidden: true,
			},
			{Name: "num_speculative_tokens", Key: "speculative_config.max_draft_len"},
		},
	},
	{
		Name: "enable_metrics", Key: "return_perf_metrics", Default: "false",
		Doc: "Collect the metrics of /prometheus/metrics.",
	},
	{
		Name: "iteration_stats", Type: TypeBool, Key: "enable_iter_perf_stats", Default: "false",
		Doc: "Collect statistics of each step; KV cache usage in /prometheus/metrics needs it.",
	},
	{Name: "print_iterations", Type: TypeBool, Key: "print_iter_log", Default: "false", Doc: "Log each step."},
}
