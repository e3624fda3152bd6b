package kinds

import "time"

// Any server with OpenAI's HTTP API, with only the features that all of them have. The
// plan's own profile block declares the rest.

func init() {
	register(Kind{
		Name: "openai",
		Doc: "Any server with an OpenAI-compatible HTTP API, started by the plan's own command, with {port} where " +
			"the server takes its port. It is ready when /health answers 200, or /v1/models if there is no /health.",
		Example: `engine "openai" "gb10" {
  model = "openai/gpt-oss-120b"

  process {
    command = ["vllm", "serve", "openai/gpt-oss-120b", "--port", "{port}"]
  }
}`,
		Any:   true,
		Ready: []Probe{{Path: "/health", Fallback: "/v1/models"}},
		Port:  8000,
		Info:  []string{"/v1/models", "/version"},
		Observe: []Pattern{
			{Name: "version", Doc: "Version, if the server has a page for it.", Path: "/version", JQ: ".version"},
			{
				Name: "max_model_len", Doc: "Longest sequence served, if the list of models has it.",
				Path: "/v1/models", JQ: ".data[0].max_model_len",
			},
		},
		// ignore_eos is not part of OpenAI's API, but most servers of it know it. For one
		// that rejects it: profile { ignore_eos = false }. Five alternatives are what
		// OpenAI's own completions allow.
		Ask: Ask{IgnoreEOS: true, LogProbs: LogProbs{Top: 5}, Usage: true},
		// Long enough to load a large model and to compile its kernels.
		DefaultReadyTimeout: 15 * time.Minute,
		DefaultStopGrace:    30 * time.Second,
	})
}
