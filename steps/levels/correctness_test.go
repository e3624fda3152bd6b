package levels

import (
	"testing"

	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/quality"
)

// Ollama leaves log-probabilities out of completions without a word, and all that is
// compared has to be asked alike.
func TestChatsAreAskedWhereNothingElseHasLogProbabilities(t *testing.T) {
	workloads := []*plans.Workload{
		{Name: "text", API: "completions", PromptTokens: []int{64}, OutputTokens: []int{8}, Concurrency: []int{1}},
		{Name: "talk", API: "chat", PromptTokens: []int{64}, OutputTokens: []int{8}, Concurrency: []int{1}},
	}
	protocol := &plans.Protocol{Levels: []*plans.Block{{Kind: plans.BenchmarkLevel, Attrs: map[string]any{"workloads": []any{"text", "talk"}}}}}
	for kind, want := range map[string][]openai.API{"ollama": {openai.Chat}, "vllm": {openai.Completions, openai.Chat}} {
		p := &plans.Plan{Engines: []*plans.Engine{{Kind: "llamacpp"}, {Kind: kind}}, Workloads: workloads}
		c := correctness{quality.Settings{Prompts: 8}}
		cells := c.ask(p, protocol).Cells
		if len(cells) != len(want) {
			t.Errorf("%s: %v are asked", kind, cells)
			continue
		}
		for i, cell := range cells {
			if cell.API != want[i] {
				t.Errorf("%s: %v are asked", kind, cells)
			}
		}
	}
}
