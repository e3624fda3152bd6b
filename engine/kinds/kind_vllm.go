package kinds

import "time"

// vLLM 0.9 to 0.21: flags and endpoints as in 0.21; log lines and metrics of the
// older ones beside the newer. Before 0.12 the attention back end was chosen with
// the variable VLLM_ATTENTION_BACKEND, which later versions ignore.

func init() {
	register(Kind{
		Name: "vllm",
		Doc: "vLLM's OpenAI server, started as `vllm serve MODEL`. Ready is when /health answers 200, which it does " +
			"only when the weights are loaded, CUDA graphs are captured and the engine core lives.",
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
		// --model is understood by the image's old entrypoint (the API server's
		// module) and its new one (vllm serve).
		ImageCommand: []string{"--model", "{model}", "--host", "{host}", "--port", "{port}"},
		Port:         8000,
		Container:    Container{IPC: "host"},
		Ready:        []Probe{{Path: "/health"}},
		Version:      Pattern{Path: "/version", JQ: ".version"},
		Info:         []string{"/v1/models", "/server_info"},
		Observe:      vllmObserve,
		Crashes:      torchCrashes(vllmCauses, vllmConsequences),
		Harmless: torchHarmless(
			"Current vLLM config is not set.",
			"Your GPU does not have native support for FP4 computation",
		),
		Metrics:  vllmMetrics,
		Tokenize: Tokenize{Path: "/tokenize", Field: "prompt", Count: ".count"},
		Ask: Ask{
			IgnoreEOS: true, MinTokens: true, Logprobs: "completions", PromptLogprobs: "prompt_logprobs",
			Usage: true, ContinuousUsage: true, CacheReset: "/reset_prefix_cache", CachedTokens: "--enable-prompt-tokens-details",
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

var vllmCauses = []Signature{
	{"No available memory for the cache blocks", "oom", "Weights leave no room for the KV cache: raise gpu_memory_utilization, or lower max_model_len and max_num_seqs."},
	{"is larger than the maximum number of tokens that can be stored in KV cache", "oom", "One sequence of max_model_len does not fit: lower max_model_len, or raise gpu_memory_utilization."},
	{"is larger than the available KV cache memory", "oom", "One sequence of max_model_len does not fit: lower max_model_len, or raise gpu_memory_utilization."},
	{"is less than desired GPU memory utilization", "oom", "Something else holds the GPU's memory: wait for it to end, or lower gpu_memory_utilization."},
	{"error: unrecognized arguments", "config", "This version does not know a flag that it was given; see the line for which."},
	{"error: argument --", "config", "A flag has a value that this version does not take; see the line for which."},
	{"is not supported on this GPU", "config", "A back end that was asked for does not run on this GPU: choose another."},
}

var vllmConsequences = []Signature{
	{"died unexpectedly", "crash", "A worker was killed from outside: for lack of host memory, most often (see dmesg)."},
	{"EngineCore failed to start", "crash", "The engine core broke while it started; the reason stands near this line."},
	{"EngineCore encountered a fatal error", "crash", "The engine core broke while it served; the reason stands near this line."},
	{"EngineDeadError", "crash", "The engine core is gone and requests are refused; look for why it died further up."},
	{"Engine core initialization failed", "crash", "The engine core broke while it started; the reason stands further up."},
}
