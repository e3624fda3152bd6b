package kinds

import "time"

// llama.cpp's llama-server, builds b5000 (spring 2025) to b10472 (August 2026).
// Since b9151 the lines that are written while a model loads need verbosity 4;
// since b9360 the variable below sets it, and older builds do not know it.

func init() {
	register(Kind{
		Name: "llamacpp",
		Doc: "llama.cpp's llama-server with a GGUF file. It listens at once and answers 503 on every path until the " +
			"model is loaded; it is ready when /health says ok.",
		Example: `engine "llamacpp" "local" {
  model = "models/gpt-oss-20b-mxfp4.gguf"

  settings = {
    gpu_layers        = "all"
    max_model_len     = 8192
    max_num_seqs      = 1
    attention_backend = "on"
  }
}`,
		Command:   []string{"llama-server", "-m", "{model}", "--host", "{host}", "--port", "{port}"},
		Image:     "ghcr.io/ggml-org/llama.cpp:server-cuda",
		Images:    []string{"llama.cpp"},
		ImageTags: "server*", // others have no server, or a choice of programs
		// The image's entrypoint is llama-server.
		ImageCommand: []string{"-m", "{model}", "--host", "{host}", "--port", "{port}"},
		Port:         8080,
		Env:          map[string]string{"LLAMA_ARG_LOG_VERBOSITY": "4"},
		AskModel:     true,
		Ready:        []Probe{{Path: "/health", Contains: `"ok"`}},
		Version:      Pattern{Path: "/props", JQ: ".build_info"},
		Info:         []string{"/v1/models", "/slots"},
		Observe:      llamacppObserve,
		Crashes:      llamacppCrashes,
		Aftermath:    llamacppAftermath,
		Harmless:     llamacppHarmless,
		Metrics: Metrics{
			Path: "/metrics", Needs: []string{"--metrics"},
			Names: map[string][]string{
				"running":              {"llamacpp:requests_processing"},
				"waiting":              {"llamacpp:requests_deferred"},
				"prompt_tokens":        {"llamacpp:prompt_tokens_total"},
				"generation_tokens":    {"llamacpp:tokens_predicted_total"},
				"spec_drafts":          {"llamacpp:spec_decode_num_drafts_total"},
				"spec_draft_tokens":    {"llamacpp:spec_decode_num_draft_tokens_total"},
				"spec_accepted_tokens": {"llamacpp:spec_decode_num_accepted_tokens_total"},
				// One line per position in the draft, with the label position; none
				// before a first token was accepted there.
				"spec_accepted_per_pos": {"llamacpp:spec_decode_num_accepted_tokens_per_pos_total"},
			},
		},
		Tokenize: Tokenize{Path: "/tokenize", Field: "content", Count: ".tokens | length"},
		Ask: Ask{
			IgnoreEOS: true, LogProbs: LogProbs{Top: 100, IDs: true}, Usage: true,
			Extra: map[string]any{"cache_prompt": false}, Continue: map[string]any{},
			Rename: map[string]string{"repetition_penalty": "repeat_penalty"}, ClosesStreams: true,
		},
		// Large files are read from slow disks.
		DefaultReadyTimeout: 10 * time.Minute,
		DefaultStopGrace:    15 * time.Second,
		Settings:            llamacppSettings,
	})
}

// llamacppCrashes are also those of kind ollama, which runs llama-server.
var llamacppCrashes = []Signature{
	{
		"cudaMalloc failed: out of memory", OutOfMemory,
		"The GPU has too little memory: lower gpu_layers, max_model_len or max_num_seqs, or quantise the KV cache.",
	},
	{
		"failed to allocate compute*buffers", OutOfMemory,
		"The GPU has too little memory for one step: lower max_num_batched_tokens or gpu_layers.",
	},
	{
		"GGML_ASSERT(", Crash,
		"An assertion in ggml failed: a bug in this build, or an operation that the model does not support.",
	},
	{
		"failed to allocate buffer for kv cache", OutOfMemory,
		"There is too little memory for the KV cache: lower max_model_len or max_num_seqs, or quantise it with " +
			"kv_cache_dtype.",
	},
	{
		"unable to allocate*buffer", OutOfMemory,
		"There is too little memory for the weights: lower gpu_layers, or take a smaller format of the model.",
	},
	{
		either("quantized V cache requires flash_attn",
			"quantized V cache was requested, but this requires Flash Attention",
			"V cache quantization requires flash_attn"), Config,
		"A quantised kv_cache_dtype needs flash attention, and llama.cpp does not use it: set attention_backend to " +
			"\"on\".",
	},
	{"error: invalid argument:", Config, "This build does not know one of its flags; see this line."},
	{"error while handling argument", Config, "This build does not accept the value of a flag; see this line."},
	{"couldn't bind HTTP server socket", Port, PortTaken},
}

var llamacppAftermath = []Signature{
	{"error loading model", Config, "The model cannot be loaded; this line says why."},
	{"failed to load model", Config, "The model cannot be loaded; a line above says why."},
}

var llamacppHarmless = []string{
	"the full capacity of the model will not be utilized", "is not marked as EOG",
	"special_eos_id is not in special_eog_ids",
}

// A drafting model is loaded after the model it drafts for, and logs the same lines: the
// first one is about the served model.
var llamacppObserve = []Pattern{
	{
		Name: "attention", Chosen: true, First: true, Doc: "Whether flash attention is on.",
		Log: []string{
			`flash_attn\s+= (?P<value>[01]|enabled|disabled)\b`,
			`Flash Attention was auto, set to (?P<value>\w+)`,
			`resolve_fused_ops: Flash Attention (?:not supported, set to )?(?P<value>enabled|disabled)`,
		},
		Words: map[string]string{"1": "on", "enabled": "on", "0": "off", "disabled": "off"},
	},
	{
		Name: "quantization", Doc: "Type of the file's weights.", Path: "/props",
		JQ: `.model_ftype | ltrimstr("(guessed) ")`,
	},
	{
		Name: "quantization", Chosen: true, First: true,
		Doc: "Type of the file's weights, in builds that show it only in their log.",
		Log: []string{`print_info: file type\s+= (?:\(guessed\) )?(?P<value>.+?)\s*$`},
	},
	{
		Name: "kv_cache_dtype", Chosen: true, First: true, Doc: "Type of the keys in the KV cache.",
		Log: []string{`K \((?P<value>\w+)\):`},
	},
	{
		Name: "kv_capacity_tokens", First: true, Doc: "Tokens that the KV cache holds, over all slots.",
		Log: []string{`llama_context: n_ctx\s+= (?P<value>\d+)`},
	},
	{
		Name: "max_model_len", Doc: "Longest sequence of one slot.", Path: "/props",
		JQ: ".default_generation_settings.n_ctx",
	},
	{
		Name: "max_num_batched_tokens", First: true, Doc: "Maximum tokens per step, over all sequences.",
		Log: []string{`llama_context: n_batch\s+= (?P<value>\d+)`},
	},
	{
		Name: "ubatch_size", Type: TypeNumber, First: true, Unit: "tokens", Doc: "Maximum tokens computed at once.",
		Log: []string{`llama_context: n_ubatch\s+= (?P<value>\d+)`},
	},
	{
		Name: "prefix_caching", Doc: "Whether prefixes are cached in host memory.",
		Log:   []string{`prompt cache is (?P<value>enabled|disabled)`},
		Words: map[string]string{"enabled": "true", "disabled": "false"},
	},
	{
		Name: "slots", Type: TypeNumber, Doc: "Maximum number of concurrent sequences.", Path: "/props",
		JQ: ".total_slots",
	},
	{
		Name: "weights_gb", First: true, Scale: gibToGB,
		Doc: "Size of the file's weights.", Log: []string{`print_info: file size\s+= (?P<value>[\d.]+) GiB`},
	},
	{
		Name: "weights_gb", First: true, Scale: gibToGB / 1024, Doc: "Size of the file's weights, if it is small.",
		Log: []string{`print_info: file size\s+= (?P<value>[\d.]+) MiB`},
	},
	{
		Name: "gpu_layers", Type: TypeNumber, Chosen: true, First: true,
		Doc:   "Layers on the GPU, including the output layer.",
		Log:   []string{`offloaded (?P<value>\d+)/\d+ layers to GPU`, llamacppNoGPU},
		Words: map[string]string{"no usable GPU found": "0", "not compiled with GPU offload support": "0"},
	},
	{
		Name: "gpu_error", Chosen: true, First: true, Doc: "Why a GPU is not used.",
		Log: []string{
			`failed to initialize (?P<value>(?:CUDA|ROCm|MUSA): .+)`, `ggml_vulkan: (?P<value>No devices found)`,
			llamacppNoGPU,
			// Ollama's own.
			`msg="failure during GPU discovery".* error="?(?P<value>[^"]+)`, `msg=".*(?P<value>falling back to CPU)`,
			`msg="(?P<value>no compatible GPUs were discovered)"`, `msg="inference compute".* library=(?P<value>cpu)\b`,
		},
		Words: map[string]string{"cpu": "no GPU was found"},
	},
	{
		Name: "cuda_devices", Type: TypeNumber, Chosen: true, Doc: "GPUs found.",
		Log: []string{`ggml_cuda_init: found (?P<value>\d+) CUDA devices`},
	},
	{
		Name: "graph_splits", Type: TypeNumber, Chosen: true, First: true,
		Doc: "Parts of the split graph; above 2 the CPU takes part.",
		Log: []string{`graph splits = (?P<value>\d+)`, `graph\b.*: nodes = .*, splits = (?P<value>\d+)`},
	},
	{
		Name: "speculative", Chosen: true,
		Log: []string{
			`adding speculative implementation '(?P<value>[\w-]+)'`,
			`(?P<value>no implementations) specified for speculative decoding`,
		},
		Words: map[string]string{"no implementations": "none"},
	},
	{
		Name:   "drafted_tokens",
		Doc:    "Drafted tokens: of all requests if enable_metrics is on, otherwise of the last request with drafts.",
		Metric: []string{"llamacpp:spec_decode_num_draft_tokens_total"},
	},
	{
		Name: "drafted_tokens", Doc: "Drafted tokens of the last request with drafts.",
		Log: []string{`draft acceptance(?: rate)?\s*= [\d.]+ \(\s*\d+ accepted /\s*(?P<value>\d+) generated\)`},
	},
	{
		Name: "draft_acceptance", Type: TypeNumber, Consequence: true,
		Doc: "Share of draft tokens accepted, as last logged.",
		Log: []string{`draft acceptance(?: rate)?\s*= (?P<value>[\d.]+)`},
	},
}

// llamacppNoGPU matches what a build without GPUs, or one that sees none, says to a flag.
const llamacppNoGPU = `(?P<value>no usable GPU found|not compiled with GPU offload support), --gpu-layers option will be ignored`

var llamacppSettings = []Setting{
	{Name: "served_model_name", Flag: "--alias", Default: "the file's name"},
	{
		Name: "max_model_len", Flag: "-c", Times: "max_num_seqs",
		TimesUnless: "kv_unified",
		Default:     "the model's own",
		Doc: "Longest sequence, prompt and output together, in tokens. llama-server divides -c among its slots, " +
			"so this is multiplied by max_num_seqs, unless kv_unified lets the slots share.",
	},
	{
		Name: "max_num_seqs", Flag: "-np", Default: "auto (4 slots that share the length), 1 in older builds",
		Doc: "Slots: maximum number of concurrent sequences; others wait.",
	},
	{
		Name: "kv_unified", Type: TypeBool, Flag: "--kv-unified", OffFlag: "--no-kv-unified",
		Default: "true if max_num_seqs is absent", Doc: "One KV cache shared by all slots.",
	},
	{Name: "max_num_batched_tokens", Flag: "-b", Also: []string{"-ub"}, Default: "2048, in steps of 512"},
	{
		Name: "ubatch_size", Whole: true, Flag: "-ub", Default: "512, or max_num_batched_tokens",
		Doc: "Maximum tokens computed at once.",
	},
	{
		Name: "gpu_layers", Flag: "-ngl", Used: "gpu_layers", UsedNot: "gpu_error", UsedHidden: true,
		Default: "auto: what fits",
		Doc:     "Layers on the GPU: a number in quotes, \"all\" or \"auto\" (older builds: numbers only).",
	},
	{
		Name: "cpu_moe_layers", Whole: true, Flag: "--n-cpu-moe", Default: "0",
		Doc: "Layers whose experts stay on the CPU.",
	},
	{
		Name: "fit", On: &Effect{Flags: []string{"-fit", "on"}},
		Off: &Effect{Flags: []string{"-fit", "off"}}, Default: "true since the end of 2025",
		Doc: "Adjust unset options to fit into memory. Off when arms are compared.",
	},
	{
		Name: "split_mode", Flag: "-sm", Default: "layer",
		Choices: []string{"none", "layer", "row", "tensor"}, Doc: "How several GPUs share the model.",
	},
	{
		Name: "tensor_split", Type: TypeList, Flag: "-ts", Default: "by free memory",
		Doc: "Share of each GPU, such as [3, 1].",
	},
	{
		Name: "main_gpu", Whole: true, Flag: "-mg", Default: "0",
		Doc: "The only GPU to use, or the one that holds what is not split.",
	},
	{
		Name: "attention_backend", Flag: "-fa", Default: "auto", Choices: []string{"on", "off", "auto"},
		Doc: "Flash attention.",
	},
	{
		Name: "kv_cache_dtype", Flag: "-ctk", Also: []string{"-ctv"}, Default: "f16",
		Choices: []string{"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"},
		Doc:     "Type of keys and values in the KV cache. Quantised values need flash attention.",
	},
	{
		Name: "kv_offload", Type: TypeBool, Flag: "--kv-offload", OffFlag: "--no-kv-offload", Default: "true",
		Doc: "Keep the KV cache on the GPU.",
	},
	{
		Name: "swa_full", Type: TypeBool, Flag: "--swa-full", Default: "false",
		Doc: "Keep the full sliding-window KV cache, so prefixes can be reused.",
	},
	{
		Name: "enforce_eager", On: &Effect{Env: map[string]string{"GGML_CUDA_DISABLE_GRAPHS": "1"}},
		Off: &Effect{}, Default: "false",
		Doc: "Run without CUDA graphs. ggml only checks if the variable exists, so false leaves it out.",
	},
	{
		Name: "enable_prefix_caching", On: &Effect{Flags: []string{"--cache-prompt"}},
		Off: &Effect{Flags: []string{"--no-cache-prompt", "--cache-ram", "0"}}, Default: "true",
		Doc: "Reuse the KV cache of common prefixes, from slots and host memory.",
	},
	{
		Name: "continuous_batching", Flag: "--cont-batching", OffFlag: "--no-cont-batching",
		Default: "true", Doc: "Continuous batching: let sequences join a running batch.",
	},
	{
		Name: "speculative", Type: TypeObject, Default: "none",
		Doc: "Speculative decoding: model (a draft model's file), method (llama.cpp's --spec-type: draft-simple if " +
			"only a model is given, mtp, dflash, …), num_speculative_tokens, min_speculative_tokens, " +
			"min_probability, gpu_layers of the draft.", Fields: []Setting{
			{
				Name: "method", Flag: "--spec-type",
				Words: map[string]string{"mtp": "draft-mtp", "dflash": "draft-dflash"},
			},
			// Without a type newer builds load the model and draft nothing. Older ones
			// draft, know no types, and pass over the variable.
			{Name: "model", Flag: "-md", Without: &Without{
				Member: "method",
				Effect: Effect{Env: map[string]string{"LLAMA_ARG_SPEC_TYPE": "draft-simple"}},
			}, Used: "drafted_tokens"},
			{Name: "num_speculative_tokens", Flag: "--spec-draft-n-max"},
			{Name: "min_speculative_tokens", Whole: true, Flag: "--spec-draft-n-min"},
			{Name: "min_probability", Type: TypeNumber, Flag: "--spec-draft-p-min"},
			{Name: "gpu_layers", Flag: "-ngld"},
		},
	},
	{Name: "threads", Flag: "-t", Default: "the machine's cores", Doc: "CPU threads for decode."},
	{Name: "threads_batch", Whole: true, Flag: "-tb", Default: "threads", Doc: "CPU threads for prefill."},
	{Name: "seed", Flag: "--seed", Default: "a random one"},
	{
		Name: "warmup", Type: TypeBool, Flag: "--warmup", OffFlag: "--no-warmup", Default: "true",
		Doc: "Run the model once before reporting ready.",
	},
	{
		Name: "chat_template", Flag: "--chat-template", Default: "the model's",
		Doc: "Name or text of another chat template.",
	},
	{Name: "enable_metrics", Flag: "--metrics", Default: "false"},
	{
		Name: "log_verbosity", Whole: true, Flag: "-lv", Default: "4, which observations need",
		Doc: "Log level: 1 errors, 2 warnings, 3 info, 4 more info, 5 debug.",
	},
}
