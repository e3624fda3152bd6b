package kinds

import "time"

// transformers 5: `transformers serve MODEL`, as in 5.19, which was run with this profile
// (docs/internals/evidence). Version 4 takes the model as --force-model: name the whole
// command in a process block for it. The server loads a model at the first request that
// names it, so its /health says nothing about readiness. It answers 422 to a request with
// any member that it does not know (ignore_eos, logprobs, stream_options), ends streams
// without [DONE], and since 5 counts tokens in the last event unasked. Version 4 has no
// /v1/completions.

func init() {
	register(Kind{
		Name: "transformers",
		Doc: "Hugging Face transformers' own server, `transformers serve`. Its /health answers before a model is " +
			"loaded, so it is ready once it has answered a first small request.",
		Example: `engine "transformers" "reference" {
  model = "Qwen/Qwen3-0.6B"

  settings = {
    dtype             = "bfloat16"
    attention_backend = "sdpa"
  }
}`,
		Command: []string{"transformers", "serve", "{model}", "--host", "{host}", "--port", "{port}"},
		Port:    8000,
		Ready: []Probe{
			{Path: "/health"},
			{
				Path: "/v1/chat/completions", Slow: true,
				Body:     `{"model":"{model}","messages":[{"role":"user","content":"Hi"}],"max_tokens":1,"stream":false}`,
				Contains: "choices", Final: []int{400, 404, 422, 500},
				Hint: "this request loads the model; its log says why that failed",
			},
		},
		Info: []string{"/v1/models"},
		Observe: []Pattern{
			{
				Name: "attention", Doc: "Attention back end, if the log names it.",
				Log: []string{`attn_implementation[=:]\s*'?(?P<value>\w+)`},
			},
			{
				Name: "attention_fallback", Type: TypeCount, Chosen: true,
				Doc: "Times that an attention back end was replaced by another.",
				Log: []string{`[Ff]alling back to (?:eager|manual) attention`},
			},
		},
		Crashes: []Signature{
			{"ImportError: Missing dependencies for serving", Install, "Install transformers with its serving extra."},
			{each(notInOwn, "transformers"), Code, notInOwnMeans},
		},
		Aftermath: []Signature{
			{"Application startup failed", Crash, "The server could not start; the reason is further up."},
		},
		Harmless: []string{
			"Setting `pad_token_id` to `eos_token_id`", "The attention mask and the pad token id were not set",
		},
		Ask:                 Ask{Usage: true},
		DefaultReadyTimeout: 15 * time.Minute,
		DefaultStopGrace:    15 * time.Second,
		Settings: []Setting{
			{Name: "dtype", Flag: "--dtype", Default: "auto"},
			{
				Name: "attention_backend", Flag: "--attn-implementation", Default: "sdpa",
				Doc: "eager, sdpa, flash_attention_2, flash_attention_3, or the name of a kernel.",
			},
			{Name: "device", Flag: "--device", Default: "auto", Doc: "Where the model is placed: auto, cuda, cpu."},
			{
				Name: "quantization", Flag: "--quantization", Default: "none",
				Doc: "Quantise while loading: bnb-4bit, bnb-8bit.",
			},
			{
				Name: "continuous_batching", Flag: "--continuous-batching", Default: "false",
				Doc: "Continuous batching over a paged KV cache.",
			},
			{Name: "seed", Flag: "--default-seed", Default: "none"},
			{Name: "trust_remote_code", Flag: "--trust-remote-code", Default: "false"},
			{
				Name: "keep_alive", Whole: true, Flag: "--model-timeout", Default: "300",
				Doc: "Idle seconds after which the model is unloaded; -1 keeps it.",
			},
			{
				Name: "log_level", Flag: "--log-level", Default: "warning",
				Choices: []string{"debug", "info", "warning", "error"}, Doc: "Log level.",
			},
		},
	})
}
