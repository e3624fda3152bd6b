package engine

import "time"

func init() {
	register(Kind{
		Name: "openai",
		Doc: "Any server with the OpenAI-compatible HTTP API, started by the plan's own command, which puts {port} " +
			"where the server takes its port. Ready is when /health answers 200; where there is no /health, when /v1/models does.",
		Example: `engine "openai" "gb10" {
  model = "openai/gpt-oss-120b"

  process {
    command = ["vllm", "serve", "openai/gpt-oss-120b", "--port", "{port}"]
  }
}`,
		Ready: []Probe{{Path: "/health", Fallback: "/v1/models"}},
		// Long enough to load a large model and to compile its kernels.
		DefaultReadyTimeout: 15 * time.Minute,
		DefaultStopGrace:    30 * time.Second,
	})
}
