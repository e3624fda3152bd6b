package kinds

import "time"

func init() {
	register(Kind{
		Name: "embedded",
		Doc: "The small CPU engine inside mxflow itself: a decoder shaped like gpt-oss with constructed weights. " +
			"It needs no model, GPU or installation, so plans can be tried anywhere.",
		Example: `engine "embedded" "tiny" {
  settings = {
    threads = 1
  }
}`,
		Command: []string{"{mxflow}", "engine", "serve", "--port", "{port}"},
		// In an image whose entrypoint is mxflow.
		ImageCommand: []string{"engine", "serve", "--host", "{host}", "--port", "{port}"},
		Port:         8000,
		Ready:        []Probe{{Path: "/health"}},
		Version:      Pattern{Path: "/version", JQ: ".version"},
		Info:         []string{"/v1/models"},
		Observe:      embeddedObserve,
		Crashes: []Signature{
			{"torch.OutOfMemoryError", OutOfMemory, "Injected fault oom: remove it from MXFLOW_EMBEDDED_FAULT."},
		},
		Aftermath: []Signature{{
			"EngineCore encountered a fatal error", Crash,
			"Injected fault crash_after: remove it from MXFLOW_EMBEDDED_FAULT.",
		}},
		Metrics: Metrics{
			Path: "/metrics",
			Names: map[string][]string{
				"running":               {"mxflow_embedded:num_requests_running"},
				"waiting":               {"mxflow_embedded:num_requests_waiting"},
				"prompt_tokens":         {"mxflow_embedded:prompt_tokens_total"},
				"generation_tokens":     {"mxflow_embedded:generation_tokens_total"},
				"corrupted_requests":    {"mxflow_embedded:corrupted_requests_total"},
				"kv_cache_usage":        {"mxflow_embedded:kv_cache_usage_perc"},
				"prefix_cache_queries":  {"mxflow_embedded:prefix_cache_queries_total"},
				"prefix_cache_hits":     {"mxflow_embedded:prefix_cache_hits_total"},
				"preemptions":           {"mxflow_embedded:num_preemptions_total"},
				"queue_time_sum":        {"mxflow_embedded:request_queue_time_seconds_sum"},
				"queue_time_count":      {"mxflow_embedded:request_queue_time_seconds_count"},
				"spec_drafts":           {"mxflow_embedded:spec_decode_num_drafts_total"},
				"spec_draft_tokens":     {"mxflow_embedded:spec_decode_num_draft_tokens_total"},
				"spec_accepted_tokens":  {"mxflow_embedded:spec_decode_num_accepted_tokens_total"},
				"spec_accepted_per_pos": {"mxflow_embedded:spec_decode_num_accepted_tokens_per_pos_total"},
			},
		},
		Tokenize: Tokenize{Path: "/tokenize", Field: "prompt", Count: ".count"},
		Ask: Ask{
			IgnoreEOS: true, Usage: true, ContinuousUsage: true,
			LogProbs: LogProbs{Top: 20, IDs: true, AskIDs: true, Prompt: "prompt_logprobs"},
		},
		// It computes on the processors that the client needs.
		MaxLag:              100 * time.Millisecond,
		Toy:                 true,
		DefaultReadyTimeout: time.Minute,
		DefaultStopGrace:    10 * time.Second,
		Variables: []string{
			"MXFLOW_EMBEDDED_KV_CACHE", "MXFLOW_EMBEDDED_KV_FORMAT", "MXFLOW_EMBEDDED_MOE", "MXFLOW_EMBEDDED_SINKS",
			"MXFLOW_EMBEDDED_PREFIX_CACHE", "MXFLOW_EMBEDDED_SPECULATION", "MXFLOW_EMBEDDED_PACE",
			"MXFLOW_EMBEDDED_AUTOTUNE", "MXFLOW_EMBEDDED_CACHE_DIR", "MXFLOW_EMBEDDED_FAULT",
			"MXFLOW_EMBEDDED_LIE", "MXFLOW_EMBEDDED_LIE_DIR",
		},
		Profiler: Profiler{
			Args: []string{"--profiler-dir", ProfileFolder}, Start: "/start_profile",
			Stop: "/stop_profile",
		},
		Settings: []Setting{
			{
				Name: "threads", Type: TypeNumber, Whole: true, Min: 1, Max: 64, Flag: "--threads", Default: "1",
				Doc: "Threads that share the tokens of a prefill or a recomputed prefix.",
			},
			{
				Name: "layers", Type: TypeNumber, Whole: true, Min: 1, Max: 64, Flag: "--layers", Default: "4",
				Doc: "Decoder layers.",
			},
			{
				Name: "seed", Type: TypeNumber, Whole: true, Flag: "--seed", Default: "0",
				Doc: "Seed of the weights, and of sampling for requests without one.",
			},
			{Name: "max_model_len", Min: 16, Max: 131072, Flag: "--max-model-len", Default: "8192"},
			{
				Name: "max_num_seqs", Type: TypeNumber, Whole: true, Min: 1, Max: 1024, Flag: "--max-num-seqs",
				Default: "4", Doc: "Requests that share the model in turn; others wait.",
			},
			{
				Name: "served_model_name", Type: TypeString, Flag: "--served-model-name", Default: "mxflow-embedded",
				Doc: "Model name that requests must use.",
			},
			{
				Name: "profiler_dir", Type: TypeString, Flag: "--profiler-dir", Default: "none",
				Doc: "Folder for profiles: POST /start_profile starts one, POST /stop_profile writes it there. The " +
					"level `profile` sets it.",
			},
		},
	})
}

// Only the engage lines show that a kernel ran. For attention it is the one that decodes,
// which also says how a prompt is read.
var embeddedObserve = []Pattern{
	{
		Name: "attention", Type: TypeString, Doc: "Kernel of attention.",
		Log: []string{`\[embedded\] attention: using kernel (?P<value>(?:decode|full)\S+)`},
	},
	{
		Name: "softmax", Type: TypeString, Doc: "Kernel of the softmax.",
		Log: []string{`\[embedded\] softmax: using kernel (?P<value>\S+)`},
	},
	{
		Name: "moe_kernel", Type: TypeString, Doc: "Kernel of the experts.",
		Log: []string{`\[embedded\] moe: using kernel (?P<value>\S+)`},
	},
	{
		Name: "lm_head", Type: TypeString, Doc: "Kernel of the output projection.",
		Log: []string{`\[embedded\] lm_head: using kernel (?P<value>\S+)`},
	},
	{
		Name: "prefix_cache", Type: TypeString, Doc: "Lookup of the prefix cache, if it is on.",
		Log: []string{`\[embedded\] prefix_cache: using kernel (?P<value>\S+lookup\S*)`},
	},
	{
		Name: "speculation", Type: TypeString, Doc: "How tokens are drafted, if they are.",
		Log: []string{`\[embedded\] speculation: using kernel (?P<value>\S+lookup\S*)`},
	},
	{
		Name: "vectors", Type: TypeString, Chosen: true, Doc: "Vector instructions in use.",
		Log: []string{`\[embedded\] version \S+, vectors: (?P<value>.+?)\s*$`},
	},
	{
		Name: "kv_cache_dtype", Type: TypeString,
		Doc: "Kernel that stores keys and values in a format other than float32.",
		Log: []string{`\[embedded\] kv_format: using kernel (?P<value>\S+)`},
	},
	{
		Name: "kv_capacity_tokens", Type: TypeNumber, Consequence: true, Unit: "tokens",
		Doc: "Tokens that the KV cache holds.", Log: []string{`\[embedded\] KV cache size: (?P<value>\d+) tokens`},
	},
	{
		Name: "weights_gb", Type: TypeNumber, Consequence: true, Unit: "GB", Scale: gibToGB,
		Doc: "Memory of the weights.",
		Log: []string{`\[embedded\] Model loading took (?P<value>[\d.]+) GiB`},
	},
	{
		Name: "model_load_s", Type: TypeNumber, Consequence: true, Unit: "s", Doc: "Time to construct the weights.",
		Log: []string{`\[embedded\] Model loading took [\d.]+ GiB and (?P<value>[\d.]+) seconds`},
	},
	{
		Name: "max_model_len", Type: TypeNumber, Unit: "tokens", Doc: "Longest sequence served.", Path: "/v1/models",
		JQ: ".data[0].max_model_len",
	},
	{
		Name: "nan_logits", Type: TypeCount, Consequence: true, Doc: "Times that logits had a NaN.",
		Log: []string{`WARNING NaN in logits`},
	},
}
