package kinds

import (
	"slices"
	"time"
)

// Ollama 0.9 to 0.33; 0.33.0 ran on a CPU. Since 0.30 or so it runs llama-server for
// each model and hands its own environment on. Its log holds that server's lines too.

func init() {
	register(Kind{
		Name: "ollama",
		Doc: "Ollama, started as `ollama serve`. It answers at once and loads a model on request, so it is ready " +
			"when the plan's model is loaded. The model must be installed (`ollama pull`, or `ollama create` from a " +
			"GGUF file): mxflow does not pull it.",
		Example: `engine "ollama" "local" {
  model = "gpt-oss:20b"

  settings = {
    max_model_len     = 8192
    max_num_seqs      = 1
    attention_backend = "on"
  }
}`,
		Command: []string{"ollama", "serve"},
		Image:   "ollama/ollama",
		Images:  []string{"ollama"},
		// The image's entrypoint is ollama.
		ImageCommand: []string{"serve"},
		Port:         11434,
		// A model unloaded between two requests would be loaded again within the
		// measurement.
		Env: map[string]string{"OLLAMA_HOST": "{host}:{port}", "OLLAMA_KEEP_ALIVE": "-1"},
		Ready: []Probe{
			{Path: "/api/version"},
			{
				Path: "/api/generate", Body: `{"model":"{model}","stream":false}`, Contains: `"done":true`, Slow: true,
				Final: []int{400, 404, 500},
				Hint: "install a missing model with ollama pull or ollama create; the log says why a model cannot " +
					"be loaded",
			},
			{Path: "/api/ps", Contains: `"name"`},
		},
		Version: Pattern{Path: "/api/version", JQ: ".version"},
		Info:    []string{"/api/ps", "/v1/models"},
		Observe: append(ollamaObserve, slices.DeleteFunc(slices.Clone(llamacppObserve), func(p Pattern) bool {
			return len(p.Log) == 0
		})...),
		Crashes: append([]Signature{
			{
				"cudaMalloc failed: out of memory", OutOfMemory,
				"The GPU has too little memory: lower max_model_len or max_num_seqs, quantise the KV cache, or use a " +
					"smaller model.",
			},
			{
				"model requires more system memory", OutOfMemory,
				"The host has too little memory for the model: use a smaller one, or lower max_model_len.",
			},
			{
				"bind: address already in use", Port,
				"Another Ollama is already running: stop its service, or measure it as an endpoint.",
			},
		}, llamacppCrashes...),
		// What Ollama itself logs follows from what the llama-server logged before.
		Aftermath: slices.Concat(llamacppAftermath, ended, []Signature{
			{
				"timed out waiting for llama", Hang,
				"The model took longer to load than load_timeout allows: raise it, or see what it does.",
			},
			{
				either("llama runner process has terminated", "llama-server process has terminated"), Crash,
				"The process with the model ended; the reason is further up.",
			},
			{
				"llama-server process no longer running", Crash,
				"The process with the model ended while it answered; this line has the signal. Ollama started " +
					"another one.",
			},
			{"model runner has unexpectedly stopped", Crash, "The process with the model ended while it answered."},
		}),
		Harmless: append([]string{"couldn't open config file"}, llamacppHarmless...),
		Ask:      Ask{LogProbs: LogProbs{Top: 20, Chat: true}, Usage: true},

		DefaultReadyTimeout: 10 * time.Minute,
		DefaultStopGrace:    15 * time.Second,
		Settings: []Setting{
			{
				Name: "max_model_len", Env: "OLLAMA_CONTEXT_LENGTH",
				Default: "by GPU memory: 4096 to 262144",
				Doc: "Longest sequence of one request, in tokens. Ollama limits it to the model's training " +
					"length, and truncates longer prompts without an error.",
			},
			{Name: "max_num_seqs", Env: "OLLAMA_NUM_PARALLEL", Default: "1"},
			{
				Name: "max_queue", Whole: true, Env: "OLLAMA_MAX_QUEUE", Default: "512",
				Doc: "Maximum number of queued requests; further ones are refused.",
			},
			{
				Name: "max_loaded_models", Whole: true, Env: "OLLAMA_MAX_LOADED_MODELS",
				Default: "3 per GPU", Doc: "Models loaded at once.",
			},
			{
				Name: "attention_backend", Env: "OLLAMA_FLASH_ATTENTION", Choices: []string{"on", "off"},
				Words: map[string]string{"on": "1", "off": "0"}, Default: "auto", Doc: "Flash attention.",
			},
			{Name: "kv_cache_dtype", Env: "OLLAMA_KV_CACHE_TYPE", Choices: []string{
				"f16", "q8_0",
				"q4_0",
			}, Default: "f16", Doc: "Type of keys and values in the KV cache; needs flash attention."},
			{
				Name: "enforce_eager", On: &Effect{Env: map[string]string{"GGML_CUDA_DISABLE_GRAPHS": "1"}},
				Off: &Effect{}, Default: "false",
			},
			{
				Name: "threads", Env: "LLAMA_ARG_THREADS", Default: "the machine's cores",
				Doc: "CPU threads, in versions that run llama-server (0.30 and later).",
			},
			{
				Name: "fit", On: &Effect{Env: map[string]string{"LLAMA_ARG_FIT": "on"}},
				Off: &Effect{Env: map[string]string{"LLAMA_ARG_FIT": "off"}}, Default: "true",
				Doc: "Adjust unset options to fit into memory, in versions that run llama-server. Off when arms are " +
					"compared.",
			},
			{
				Name: "keep_alive", Env: "OLLAMA_KEEP_ALIVE", Default: "-1: forever",
				Doc: "How long a model stays loaded without requests. An invalid duration becomes 5m.",
			},
			{
				Name: "spread_gpus", Type: TypeBool, Env: "OLLAMA_SCHED_SPREAD", Default: "false",
				Doc: "Spread the model over all GPUs.",
			},
			{
				Name: "gpu_overhead_bytes", Whole: true, Env: "OLLAMA_GPU_OVERHEAD", Default: "0",
				Doc: "Memory to leave free on each GPU, in bytes.",
			},
			{Name: "models_dir", Env: "OLLAMA_MODELS", Default: "~/.ollama/models", Doc: "Folder of pulled models."},
			{Name: "load_timeout", Env: "OLLAMA_LOAD_TIMEOUT", Default: "5m", Doc: "How long a load may stall."},
			{
				Name: "log_level", Env: "OLLAMA_DEBUG", Choices: []string{"info", "debug", "trace"},
				Words: map[string]string{"info": "0", "debug": "1", "trace": "2"}, Default: "info", Doc: "Log level.",
			},
		},
	})
}

// ollamaObserve is what Ollama shows besides its llama-server's log. The pages are
// Ollama's own, so its type of the weights is not used: it is "unknown" for files that
// llama.cpp knows.
var ollamaObserve = []Pattern{
	{
		Name: "attention", Chosen: true, Doc: "Whether flash attention is on, in versions without llama-server.",
		Log: []string{`(?P<value>enabling) flash attention`}, Words: map[string]string{"enabling": "on"},
	},
	{
		Name: "llama_cpp", Doc: "Build of llama-server, a separate program that Ollama runs.",
		Log: []string{`\bbuild:? (?P<value>\d+ \(\w+\)) with `},
	},
	{
		Name: "max_model_len", Doc: "Longest sequence of the loaded model.",
		Path: "/api/ps", JQ: ".models[0].context_length",
	},
	{
		Name: "slots", Type: TypeNumber, Chosen: true, Doc: "Maximum number of concurrent sequences.",
		Log: []string{`initializing(?: slots)?, n_slots = (?P<value>\d+)`},
	},
	{
		Name: "keep_alive", Doc: "How long a model stays loaded without requests.",
		Log: []string{`OLLAMA_KEEP_ALIVE:(?P<value>\S+)`}, Words: map[string]string{"2562047h47m16.854775807s": "-1"},
	},
	// An ended llama-server is replaced without notice to the client.
	{
		Name: "model_loads", Type: TypeCount,
		Doc: "How often a model was loaded: more than 1 means a reload during the measurement.",
		Log: []string{`msg="loaded runners"`},
	},
	{
		Name: "truncated_prompts", Type: TypeCount, Doc: "Prompts that Ollama truncated to fit the context.",
		Log: []string{`msg="truncating input prompt"`},
	},
	{
		Name: "loaded_gb", Type: TypeNumber, Consequence: true, Unit: "GB", Scale: 1e-9,
		Doc: "Memory of the loaded model, including the KV cache.", Path: "/api/ps", JQ: ".models[0].size",
	},
	{
		Name: "gpu_memory_gb", Type: TypeNumber, Consequence: true, Unit: "GB", Scale: 1e-9,
		Doc: "The part of it on the GPU.", Path: "/api/ps", JQ: ".models[0].size_vram",
	},
}
