package kinds_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/internal/foreign"
)

// stagesOf are the stages that a log shows, in order.
func stagesOf(k kinds.Kind, log string) (seen []kinds.Stage) {
	of := k.StageOf()
	for line := range strings.FieldsFuncSeq(log, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if s := of(foreign.Clean(line)); s != "" && (len(seen) == 0 || seen[len(seen)-1] != s) {
			seen = append(seen, s)
		}
	}
	return seen
}

// Logs as engines wrote them: each slow part of a start is distinguished.
func TestStages(t *testing.T) {
	for file, want := range map[string][]kinds.Stage{
		"vllm-0.25.1.h200-gptoss20b-marlin.log": {kinds.Weights, kinds.WarmUp, kinds.Compile, kinds.WarmUp, kinds.KVCache, kinds.Graphs, kinds.Serving},
		"sglang-0.5.17.h100-gptoss20b.log":      {kinds.Weights, kinds.KVCache, kinds.Graphs, kinds.Serving},
		"llamacpp-0c1e570.h100-gptoss20b.log":   {kinds.Weights, kinds.KVCache, kinds.WarmUp, kinds.Serving},
		"llamacpp-draft.log": {
			kinds.Weights, kinds.KVCache, kinds.WarmUp,
			kinds.Weights, kinds.KVCache, kinds.WarmUp, kinds.Serving,
		},
	} {
		log, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(file, "-")
		for _, kind := range []string{name, "openai"} {
			k, _ := kinds.Lookup(kind)
			if got := stagesOf(k, string(log)); !slices.Equal(got, want) {
				t.Errorf("%s as %s: %v, want %v", file, kind, got, want)
			}
		}
	}
}

// The recordings of engines that log their start.
func TestRecordedStages(t *testing.T) {
	want := map[string][]kinds.Stage{
		"vllm":         {kinds.WarmUp, kinds.KVCache, kinds.WarmUp},
		"sglang":       {kinds.Weights, kinds.KVCache, kinds.Graphs, kinds.Serving},
		"llamacpp":     {kinds.Weights, kinds.KVCache, kinds.WarmUp, kinds.Serving},
		"ollama":       {kinds.Weights, kinds.KVCache, kinds.WarmUp, kinds.Serving},
		"tabbyapi":     {kinds.Weights, kinds.Serving},
		"transformers": {kinds.Weights},
		"trtllm":       {kinds.Weights, kinds.KVCache, kinds.WarmUp, kinds.Graphs, kinds.KVCache, kinds.Serving},
		"openai":       nil,
	}
	eachKind(t, func(t *testing.T, k kinds.Kind, r Recording) {
		if got := stagesOf(k, r.Starting+r.Loaded); !slices.Equal(got, want[k.Name]) {
			t.Errorf("%v, want %v", got, want[k.Name])
		}
	})
}
