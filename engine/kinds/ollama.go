package kinds

import "time"

// Ollama 0.9 to 0.33. Since 0.30 or so it runs llama-server for each model; its
// log then holds that server's lines too.

func init() {
	register(Kind{
		Name: "ollama",
		Doc: "Ollama, started as `ollama serve`. It answers at once and loads a model when one is asked for, so ready is when " +
			"the plan's model was loaded. The model must have been pulled: mxflow pulls none.",
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
		// The image's entrypoint is ollama.
		ImageCommand: []string{"serve"},
		Port:         11434,
		// A model that is unloaded between two requests would be loaded again inside
		// of the measurement.
		Env: map[string]string{"OLLAMA_HOST": "{host}:{port}", "OLLAMA_KEEP_ALIVE": "-1"},
		Ready: []Probe{
			{Path: "/api/version"},
			{
				Path: "/api/generate", Body: `{"model":"{model}","stream":false}`, Contains: `"done":true`, Slow: true,
				Final: []int{400, 404, 500}, Hint: "pull the model first (ollama pull), or correct its name",
			},
			{Path: "/api/ps", Contains: `"name"`},
		},
		Version: Pattern{Path: "/api/version", JQ: ".version"},
		Info:    []string{"/api/ps", "/v1/models"},
		Stages:  llamacppStages,
		Observe: []Pattern{
			{
				Name: "attention", Type: TypeString, Chosen: true, Doc: "Whether flash attention is on.",
				Log:   []string{`flash_attn\s+= (?P<value>\w+)`, `Flash Attention was auto, set to (?P<value>\w+)`, `enabling flash attention`},
				Words: map[string]string{"1": "on", "enabled": "on", "true": "on", "0": "off", "disabled": "off"},
			},
			{Name: "quantization", Type: TypeString, Doc: "Type of the model's weights.", Path: "/api/ps", JQ: ".models[0].details.quantization_level"},
			{Name: "kv_cache_dtype", Type: TypeString, Chosen: true, Doc: "Type of the keys in the KV cache.", Log: []string{`K \((?P<value>\w+)\):`}},
			{Name: "max_model_len", Type: TypeNumber, Unit: "tokens", Doc: "Longest sequence of the model that is loaded.", Path: "/api/ps", JQ: ".models[0].context_length"},
			{Name: "weights_gb", Type: TypeNumber, Consequence: true, Unit: "GB", Scale: 1e-9, Doc: "Memory of the model that is loaded, KV cache included.", Path: "/api/ps", JQ: ".models[0].size"},
			{Name: "gpu_memory_gb", Type: TypeNumber, Consequence: true, Unit: "GB", Scale: 1e-9, Doc: "Of that, what lies on the GPU.", Path: "/api/ps", JQ: ".models[0].size_vram"},
			{Name: "gpu_layers", Type: TypeNumber, Chosen: true, Doc: "Layers that lie on the GPU, the output layer counted.", Log: []string{`offloaded (?P<value>\d+)/\d+ layers to GPU`}},
			{Name: "kv_capacity_tokens", Type: TypeNumber, Consequence: true, Unit: "tokens", Doc: "Tokens that the KV cache holds.", Log: []string{`llama_context: n_ctx\s+= (?P<value>\d+)`}},
		},
		Crashes: []Signature{
			{"cudaMalloc failed: out of memory", "oom", "The GPU has too little memory: lower max_model_len or max_num_seqs, or take a smaller model."},
			{"model requires more system memory", "oom", "The host has too little memory for the model: take a smaller one, or lower max_model_len."},
			{"CUDA error", "crash", "A CUDA call or kernel failed; the line and the ones after it say which."},
			{"GGML_ASSERT(", "crash", "A check inside ggml failed, which is a mistake in this version or an operation that the model does not allow."},
			{"error loading model", "config", "The model cannot be loaded: the line says why."},
			{"address already in use", "config", "Another Ollama runs already: stop its service, or measure it as an endpoint."},
			{"llama runner process has terminated", "crash", "The process that holds the model ended; the reason stands further up."},
			{"llama-server process has terminated", "crash", "The process that holds the model ended; the reason stands further up."},
		},
		Harmless: []string{"the full capacity of the model will not be utilized", "couldn't open config file"},
		Ask:      Ask{LogProbs: LogProbs{Top: 20}, Usage: true},

		DefaultReadyTimeout: 10 * time.Minute,
		DefaultStopGrace:    15 * time.Second,
		Settings: []Setting{
			{Name: "max_model_len", Type: TypeNumber, Whole: true, Env: "OLLAMA_CONTEXT_LENGTH", Default: "by GPU memory: 4096 to 262144", Doc: "Longest sequence of one request, in tokens."},
			{Name: "max_num_seqs", Type: TypeNumber, Whole: true, Env: "OLLAMA_NUM_PARALLEL", Default: "1", Doc: "Sequences at once; others wait."},
			{Name: "max_queue", Type: TypeNumber, Whole: true, Env: "OLLAMA_MAX_QUEUE", Default: "512", Doc: "Requests that may wait; further ones are refused."},
			{Name: "attention_backend", Type: TypeString, Env: "OLLAMA_FLASH_ATTENTION", Choices: []string{"on", "off"}, Words: map[string]string{"on": "1", "off": "0"}, Default: "by GPU and model", Doc: "Flash attention."},
			{Name: "kv_cache_dtype", Type: TypeString, Env: "OLLAMA_KV_CACHE_TYPE", Choices: []string{"f16", "q8_0", "q4_0"}, Default: "f16", Doc: "Type of keys and values in the KV cache; needs flash attention."},
			{Name: "enforce_eager", Type: TypeBool, On: &Effect{Env: map[string]string{"GGML_CUDA_DISABLE_GRAPHS": "1"}}, Off: &Effect{}, Default: "false", Doc: "Run without CUDA graphs."},
			{Name: "keep_alive", Type: TypeString, Env: "OLLAMA_KEEP_ALIVE", Default: "-1: for ever", Doc: "How long a model stays loaded without requests."},
			{Name: "spread_gpus", Type: TypeBool, Env: "OLLAMA_SCHED_SPREAD", Default: "false", Doc: "Spread the model over all GPUs."},
			{Name: "gpu_overhead_bytes", Type: TypeNumber, Whole: true, Env: "OLLAMA_GPU_OVERHEAD", Default: "0", Doc: "Memory that is left free on each GPU, in bytes."},
			{Name: "models_dir", Type: TypeString, Env: "OLLAMA_MODELS", Default: "~/.ollama/models", Doc: "Folder of the models that were pulled."},
			{Name: "load_timeout", Type: TypeString, Env: "OLLAMA_LOAD_TIMEOUT", Default: "5m", Doc: "How long a load may stand still."},
			{Name: "log_level", Type: TypeString, Env: "OLLAMA_DEBUG", Choices: []string{"info", "debug", "trace"}, Words: map[string]string{"info": "0", "debug": "1", "trace": "2"}, Default: "info", Doc: "What is logged."},
		},
	})
}
