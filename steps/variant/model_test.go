package variant

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
)

func TestModelOf(t *testing.T) {
	named := &plans.Engine{Model: "served"}
	for command, want := range map[string]string{
		"vllm serve org/m --port 1":                              "org/m",
		"vllm serve --model=org/m":                               "org/m",
		"python3 -m sglang.launch_server --model-path /models/m": "/models/m",
		"python -m vllm.entrypoints.openai.api_server --port 1":  "served",
		"llama-server -m m.gguf --port 1":                        "m.gguf",
		"trtllm-serve serve":                                     "served",
		"transformers serve --force-model org/m":                 "org/m",
		"ollama serve --verbose":                                 "served",
		"":                                                       "served",
	} {
		if got := ModelOf(engine.Spec{Command: strings.Fields(command)}, named); got != want {
			t.Errorf("%q: %q", command, got)
		}
	}
}
