package kinds

import "time"

// TabbyAPI as of August 2026, with exllamav3 only. Each member of its config.yml is also
// a flag, which takes precedence over that file. With --config it ignores all other
// flags, so --config is left to plans that name the model and the port in their own file.

// spelledOutBool is a bool that is spelt out, since TabbyAPI's flags always take a value.
func spelledOutBool(name, flag, otherwise, doc string) Setting {
	return Setting{
		Name: name, Type: TypeBool, Default: otherwise, Doc: doc,
		On: &Effect{Flags: []string{flag, "true"}}, Off: &Effect{Flags: []string{flag, "false"}},
	}
}

func init() {
	register(Kind{
		Name: "tabbyapi",
		Doc: "TabbyAPI, started as `python main.py` in its own folder (process { dir }). The model is a folder name " +
			"in model_dir. It listens once the model is loaded and is ready when /v1/model names it. API keys are " +
			"off, because it only listens on this machine.",
		Example: `engine "tabbyapi" "exl3" {
  model = "gpt-oss-20b-exl3"

  process {
    command = ["python", "main.py", "--model-name", "{model}", "--disable-auth", "true", "--port", "{port}"]
    dir     = "../tabbyAPI"
  }
  settings = {
    model_dir      = "/models"
    max_model_len  = 8192
    kv_cache_dtype = "8,8"
  }
}`,
		Command: []string{
			"python", "main.py", "--model-name", "{model}", "--disable-auth", "true", "--host", "{host}",
			"--port", "{port}",
		},
		Image:  "ghcr.io/theroyallab/tabbyapi",
		Images: []string{"tabbyapi"},
		// The image's entrypoint is python3.
		ImageCommand: []string{
			"main.py", "--model-name", "{model}", "--disable-auth", "true", "--host", "{host}",
			"--port", "{port}",
		},
		Port: 5000,
		// It wraps its lines at 80 characters unless it writes to a terminal.
		Env:   map[string]string{"TABBY_LOG_CONSOLE_WIDTH": "1000"},
		Ready: []Probe{{Path: "/health"}, {Path: "/v1/model", Contains: `"id"`}},
		Info:  []string{"/v1/model", "/props"},
		Observe: []Pattern{
			{Name: "max_model_len", Path: "/v1/model", JQ: ".parameters.max_seq_len"},
			{Name: "kv_capacity_tokens", Path: "/v1/model", JQ: ".parameters.cache_size"},
			{Name: "kv_cache_dtype", Doc: "Mode of the KV cache.", Path: "/v1/model", JQ: ".parameters.cache_mode"},
			{Name: "max_num_seqs", Path: "/v1/model", JQ: ".parameters.max_batch_size"},
			{
				Name: "max_num_batched_tokens",
				Doc:  "Maximum tokens of a prompt per step.", Path: "/v1/model", JQ: ".parameters.chunk_size",
			},
			{
				Name: "exllamav3", Chosen: true, Doc: "Version of exllamav3.",
				Log: []string{`exllamav3 version: (?P<value>\S+)`},
			},
			{
				Name: "loading", Chosen: true, Doc: "How the model is split over GPUs.",
				Log: []string{`Loading with (?P<value>tensor parallel|autosplit|a manual GPU split)`},
			},
			{
				Name: "speculative", Chosen: true,
				Doc: "The drafter: a model's folder, n-gram or MTP.",
				Log: []string{
					`Using draft model: (?P<value>\S+)`, `Using (?P<value>n-gram) drafting`,
					`Using main model (?P<value>MTP) component`,
				},
			},
		},
		Crashes: []Signature{
			{
				"RuntimeError: Insufficient VRAM", OutOfMemory,
				"The model or its KV cache does not fit: lower kv_cache_tokens or max_model_len, or quantise the KV " +
					"cache.",
			},
			{
				"ValueError: min() iterable argument is empty", Driver,
				"TabbyAPI sees no GPU: check CUDA_VISIBLE_DEVICES, the container's gpus, and nvidia-smi.",
			},
			{
				"Unable to run ExllamaV3 because an unsupported GPU", Architecture,
				"exllamav3 needs an NVIDIA GPU, Ampere or newer.",
			},
			{
				"Inference dependencies for TabbyAPI are not installed", Install,
				"Install torch and exllamav3 into this Python, for example with TabbyAPI's update script.",
			},
			{
				"ValueError: Failed to load config.json from", Model,
				"There is no such model in model_dir, or it has no config.json.",
			},
			{
				"is currently in use. Switching to", Port,
				"Its port is taken, so it listens on the next one, where mxflow does not look for it.",
			},
			{"are in use by different services", Port, "Its port is taken, and so is the next one."},
		},
		Aftermath: []Signature{
			{
				"FATAL ERROR with generation", Crash,
				"A generation failed, and TabbyAPI unloads or restarts the model; the traceback is near this line.",
			},
		},
		Harmless: []string{"Disabling authentication makes your instance vulnerable"},
		Tokenize: Tokenize{Path: "/v1/token/encode", Field: "text", Count: ".length"},
		// It accepts ignore_eos and logs that exllamav3 does not support it, so the end
		// of text ends an answer. By default it also ends one whose last 800 tokens
		// repeat themselves.
		Ask: Ask{LogProbs: LogProbs{Top: 20}, Usage: true, Extra: map[string]any{"loop_detect_window": 0}},

		DefaultReadyTimeout: 15 * time.Minute,
		DefaultStopGrace:    15 * time.Second,
		Settings: []Setting{
			{Name: "model_dir", Flag: "--model-dir", Default: "models", Doc: "Parent folder of the model's folder."},
			{Name: "max_model_len", Flag: "--max-seq-len", Default: "the model's own, or kv_cache_tokens"},
			{Name: "max_num_seqs", Flag: "--max-batch-size", Default: "128, 4 for recurrent models"},
			{
				Name: "max_num_batched_tokens", Flag: "--chunk-size", Default: "2048",
				Doc: "Maximum tokens of a prompt per step, rounded up to a multiple of 256.",
			},
			{
				Name: "kv_cache_tokens", Flag: "--cache-size", Default: "max_model_len",
				Doc: "Tokens that the KV cache holds, over all sequences; a multiple of 256.",
			},
			{
				Name: "kv_cache_dtype", Flag: "--cache-mode", Default: "FP16",
				Doc: "FP16, or the bits of keys and values, from 2 to 8: \"8,8\". Q8, Q6 and Q4 are older names for " +
					"pairs.",
			},
			spelledOutBool("tensor_parallel", "--tensor-parallel", "false", "Share each layer among all GPUs."),
			{
				Name: "tensor_parallel_backend", Flag: "--tensor-parallel-backend",
				Choices: []string{"native", "nccl"}, Default: "native", Doc: "How GPUs communicate.",
			},
			{
				Name: "gpu_split", Type: TypeList, Flag: "--gpu-split", Apart: true, Default: "by free memory",
				Doc: "GB on each GPU, such as [20, 24].",
			},
			spelledOutBool("gpu_split_auto", "--gpu-split-auto", "true", "Split over GPUs by free memory."),
			spelledOutBool("output_chunking", "--output-chunking", "true",
				"Allocate KV cache for an output step by step."),
			{
				Name: "chat_template", Flag: "--prompt-template", Default: "the model's",
				Doc: "Name of another chat template.",
			},
			spelledOutBool("reasoning", "--reasoning", "false",
				"Return the model's reasoning separately from its text."),
			{
				Name: "speculative", Type: TypeObject, Default: "none",
				Doc: "Speculative decoding: method (model, mtp, ngram), model, model_dir, num_speculative_tokens.",
				Fields: []Setting{
					{Name: "method", Flag: "--draft-mode", Words: map[string]string{"draft_model": "model"}},
					{Name: "model", Flag: "--draft-model-name", Used: "speculative"},
					{Name: "model_dir", Flag: "--draft-model-dir"},
					{Name: "num_speculative_tokens", Flag: "--draft-num-tokens"},
				},
			},
			{Name: "sampling_preset", Flag: "--override-preset", Default: "none", Doc: "Preset of sampling defaults."},
			spelledOutBool("log_requests", "--log-requests", "false", "Log each request, which takes time."),
		},
	})
}
