package kinds

import "time"

// TabbyAPI as of August 2026, with exllamav3 alone. It reads config.yml, here one
// that mxflow writes, and takes each of its members as a flag too.

func init() {
	register(Kind{
		Name: "tabbyapi",
		Doc: "TabbyAPI, started as `python main.py` in its own folder (process { dir }). The model is the name of a folder " +
			"below model_dir. It listens once the model is loaded; ready is when /v1/model names it. Keys are switched off, " +
			"since it listens for this machine alone.",
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
		Command: []string{"python", "main.py", "--model-name", "{model}", "--disable-auth", "true", "--host", "{host}", "--port", "{port}"},
		Image:   "ghcr.io/theroyallab/tabbyapi",
		// The image's entrypoint is python3.
		ImageCommand: []string{"main.py", "--model-name", "{model}", "--disable-auth", "true", "--host", "{host}", "--port", "{port}"},
		Port:         5000,
		ConfigName:   "config.yml",
		ConfigArgs:   []string{"--config", "{config}"},
		Ready:        []Probe{{Path: "/health"}, {Path: "/v1/model", Contains: `"id"`}},
		Info:         []string{"/v1/model", "/props"},
		Stages:       []StageLines{{Weights, []string{`Loading model:`}}, {Serving, []string{`Starting OAI API`}}},
		Observe: []Pattern{
			{Name: "max_model_len", Type: TypeNumber, Unit: "tokens", Doc: "Longest sequence that is served.", Path: "/v1/model", JQ: ".parameters.max_seq_len"},
			{Name: "kv_capacity_tokens", Type: TypeNumber, Consequence: true, Unit: "tokens", Doc: "Tokens that the KV cache holds.", Path: "/v1/model", JQ: ".parameters.cache_size"},
			{Name: "kv_cache_dtype", Type: TypeString, Doc: "Mode of the KV cache.", Path: "/v1/model", JQ: ".parameters.cache_mode"},
			{Name: "max_num_seqs", Type: TypeNumber, Doc: "Sequences at once.", Path: "/v1/model", JQ: ".parameters.max_batch_size"},
			{Name: "loading", Type: TypeString, Chosen: true, Doc: "How the model was spread over GPUs.", Log: []string{`Loading with (?P<value>tensor parallel|autosplit|a manual GPU split)`}},
			{Name: "speculative", Type: TypeString, Chosen: true, Doc: "The draft model in use.", Log: []string{`Using draft model: (?P<value>\S+)`}},
		},
		Crashes: torchCrashes([]Signature{
			{"Insufficient VRAM", "oom", "The model or its KV cache does not fit: lower kv_cache_tokens or max_model_len, or quantise the KV cache."},
			{"unsupported GPU is found in this configuration", "driver", "exllamav3 needs an NVIDIA GPU from Ampere on."},
			{"Inference dependencies for TabbyAPI are not installed", "config", "Install its dependencies as its start script does."},
			{"main.py: error:", "config", "A flag is unknown to this version, or has a value that it does not take; see the line for which."},
			{"does not exist. Please specify a valid model", "config", "There is no such folder below model_dir."},
			{"address already in use", "config", "The port is taken."},
		}, []Signature{
			{"FATAL ERROR with generation", "crash", "A generation broke, and TabbyAPI unloads or restarts what it holds; the traceback stands near this line."},
		}),
		Harmless: torchHarmless("Disabling authentication makes your instance vulnerable"),
		Tokenize: Tokenize{Path: "/v1/token/encode", Field: "text", Count: ".length"},
		Ask:      Ask{IgnoreEOS: true, MinTokens: true, LogProbs: LogProbs{Top: 20}, Usage: true},

		DefaultReadyTimeout: 15 * time.Minute,
		DefaultStopGrace:    15 * time.Second,
		Settings: []Setting{
			{Name: "model_dir", Type: TypeString, Key: "model.model_dir", Default: "models", Doc: "Folder that holds the model's folder."},
			{Name: "max_model_len", Type: TypeNumber, Whole: true, Key: "model.max_seq_len", Default: "the model's own, or kv_cache_tokens", Doc: "Longest sequence, prompt and output together, in tokens."},
			{Name: "max_num_seqs", Type: TypeNumber, Whole: true, Key: "model.max_batch_size", Default: "32, 4 for recurrent models", Doc: "Sequences at once; others wait."},
			{Name: "max_num_batched_tokens", Type: TypeNumber, Whole: true, Key: "model.chunk_size", Default: "2048", Doc: "Most tokens of a prompt in one step."},
			{Name: "kv_cache_tokens", Type: TypeNumber, Whole: true, Key: "model.cache_size", Default: "max_model_len", Doc: "Tokens that the KV cache holds, over all sequences; a multiple of 256."},
			{Name: "kv_cache_dtype", Type: TypeString, Key: "model.cache_mode", Default: "FP16", Doc: "FP16, or the bits of keys and values, from 2 to 8: \"8,8\"."},
			{Name: "tensor_parallel", Type: TypeBool, Key: "model.tensor_parallel", Default: "false", Doc: "Share each layer among all GPUs."},
			{Name: "tensor_parallel_backend", Type: TypeString, Key: "model.tensor_parallel_backend", Choices: []string{"native", "nccl"}, Default: "native", Doc: "How GPUs talk to each other."},
			{Name: "gpu_split", Type: TypeList, Key: "model.gpu_split", Default: "by free memory", Doc: "GB on each GPU, such as [20, 24]."},
			{Name: "gpu_split_auto", Type: TypeBool, Key: "model.gpu_split_auto", Default: "true", Doc: "Split among GPUs by free memory."},
			{Name: "output_chunking", Type: TypeBool, Key: "model.output_chunking", Default: "true", Doc: "Take room in the KV cache for an output bit by bit."},
			{Name: "chat_template", Type: TypeString, Key: "model.prompt_template", Default: "the model's", Doc: "Name of another chat template."},
			{Name: "reasoning", Type: TypeBool, Key: "model.reasoning", Default: "false", Doc: "Answer the model's reasoning apart from its text."},
			{Name: "speculative", Type: TypeObject, Default: "none", Doc: "Speculative decoding: method (model, mtp, ngram), model, model_dir, num_speculative_tokens.", Fields: []Setting{
				{Name: "method", Type: TypeString, Key: "draft_model.draft_mode", Words: map[string]string{"draft_model": "model"}},
				{Name: "model", Type: TypeString, Key: "draft_model.draft_model_name", Used: "speculative"},
				{Name: "model_dir", Type: TypeString, Key: "draft_model.draft_model_dir"},
				{Name: "num_speculative_tokens", Type: TypeNumber, Whole: true, Key: "draft_model.draft_num_tokens"},
			}},
			{Name: "sampling_preset", Type: TypeString, Key: "sampling.override_preset", Default: "none", Doc: "Preset of sampling defaults."},
			{Name: "log_requests", Type: TypeBool, Key: "logging.log_requests", Default: "false", Doc: "Log each request, which costs time."},
		},
	})
}
