package kinds

import (
	"strings"
	"time"
)

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
		Metrics:  embeddedMetrics(),
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
				Name: "threads", Min: 1, Max: 64, Flag: "--threads", Default: "1",
				Doc: "Threads that share the tokens of a prefill or a recomputed prefix.",
			},
			{Name: "layers", Whole: true, Min: 1, Max: 64, Flag: "--layers", Default: "4", Doc: "Decoder layers."},
			{
				Name: "seed", Flag: "--seed", Default: "0",
				Doc: "Seed of the weights, and of sampling for requests without one.",
			},
			{Name: "max_model_len", Min: 16, Max: 131072, Flag: "--max-model-len", Default: "8192"},
			{
				Name: "max_num_seqs", Min: 1, Max: 1024, Flag: "--max-num-seqs",
				Default: "4", Doc: "Requests that share the model in turn; others wait.",
			},
			{
				Name: "served_model_name", Flag: "--served-model-name", Default: "mxflow-embedded",
				Doc: "Model name that requests must use.",
			},
			{
				Name: "profiler_dir", Flag: "--profiler-dir", Default: "none",
				Doc: "Folder for profiles: POST /start_profile starts one, POST /stop_profile writes it there. The " +
					"level `profile` sets it.",
			},
		},
	})
}

// embeddedMetrics are named like vLLM's.
func embeddedMetrics() Metrics {
	m := Metrics{Path: vllmMetrics.Path, Names: map[string][]string{}}
	for ours, theirs := range vllmMetrics.Names {
		m.Names[ours] = []string{strings.Replace(theirs[0], "vllm:", "mxflow_embedded:", 1)}
	}
	return m
}

// Only the engage lines show that a kernel ran. For attention it is the one that decodes,
// which also says how a prompt is read.
var embeddedObserve = []Pattern{
	{
		Name: "attention", Doc: "Kernel of attention.",
		Log: []string{`\[embedded\] attention: using kernel (?P<value>(?:decode|full)\S+)`},
	},
	{
		Name: "softmax", Doc: "Kernel of the softmax.",
		Log: []string{`\[embedded\] softmax: using kernel (?P<value>\S+)`},
	},
	{Name: "moe_kernel", Doc: "Kernel of the experts.", Log: []string{`\[embedded\] moe: using kernel (?P<value>\S+)`}},
	{
		Name: "lm_head", Doc: "Kernel of the output projection.",
		Log: []string{`\[embedded\] lm_head: using kernel (?P<value>\S+)`},
	},
	{
		Name: "prefix_cache", Doc: "Lookup of the prefix cache, if it is on.",
		Log: []string{`\[embedded\] prefix_cache: using kernel (?P<value>\S+lookup\S*)`},
	},
	{
		Name: "speculation", Doc: "How tokens are drafted, if they are.",
		Log: []string{`\[embedded\] speculation: using kernel (?P<value>\S+lookup\S*)`},
	},
	{
		Name: "vectors", Chosen: true, Doc: "Vector instructions in use.",
		Log: []string{`\[embedded\] version \S+, vectors: (?P<value>.+?)\s*$`},
	},
	{
		Name: "kv_cache_dtype", Doc: "Kernel that stores keys and values in a format other than float32.",
		Log: []string{`\[embedded\] kv_format: using kernel (?P<value>\S+)`},
	},
	{Name: "kv_capacity_tokens", Log: []string{`\[embedded\] KV cache size: (?P<value>\d+) tokens`}},
	{
		Name: "weights_gb", Scale: gibToGB, Doc: "Memory of the weights.",
		Log: []string{`\[embedded\] Model loading took (?P<value>[\d.]+) GiB`},
	},
	{
		Name: "model_load_s", Doc: "Time to construct the weights.",
		Log: []string{`\[embedded\] Model loading took [\d.]+ GiB and (?P<value>[\d.]+) seconds`},
	},
	{Name: "max_model_len", Path: "/v1/models", JQ: ".data[0].max_model_len"},
	{
		Name: "nan_logits", Type: TypeCount, Consequence: true, Doc: "Times that logits had a NaN.",
		Log: []string{`WARNING NaN in logits`},
	},
}
