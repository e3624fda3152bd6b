package kinds_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/observe"
)

// logOf is an Instance that is only a log.
type logOf struct {
	engine.Instance
	path string
}

func (l logOf) LogPath() string { return l.path }

// Real logs, where a checkout has them beside it.
func TestRealLogsAreUnderstood(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "shared", "samples", "engine-logs")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("there are no sample logs beside this checkout")
	}
	tests := map[string]struct {
		kind     string
		observed map[string]string
		class    string // of the crash; empty is none
		line     string
	}{
		"vllm-0.14rc1.gb10-gptoss120b-cutlass-flashinfer.server.ansi.log": {kind: "vllm", observed: map[string]string{
			"attention": "FLASHINFER", "moe_kernel": "CUTLASS", "quantization": "mxfp4", "kv_cache_dtype": "fp8", "cuda_graphs": "true",
			"kv_capacity_tokens": "545824", "weights_gb": "65.861", "model_load_s": "67.928", "compile_s": "48.77", "fp4_fallback": "0",
			"max_num_batched_tokens": "8192", "speculative": "none", "dtype": "bfloat16", "graph_memory_gb": "0.934", "kv_memory_gb": "20.122", "autotuned": "1",
		}},
		"vllm-0.14rc1.gb10-startup-illegal-instruction.log": {kind: "vllm", class: "crash", line: "illegal instruction"},
		"vllm-marlin-fallback.snippet.log": {kind: "vllm", observed: map[string]string{
			"moe_kernel": "MARLIN", "linear_kernel": "MarlinNvFp4LinearKernel", "fp4_fallback": "1",
		}},
		"vllm-oom.snippet.log":             {kind: "vllm", class: "oom", line: "OutOfMemoryError"},
		"sglang-start.snippet.2026-03.log": {kind: "sglang", observed: map[string]string{"attention": "fa3"}},
		"sglang-graph-oom.snippet.log":     {kind: "sglang", class: "oom", line: "Capture cuda graph failed"},
	}
	for name, tc := range tests {
		path := filepath.Join(folder, name)
		k, _ := kinds.Lookup(tc.kind)
		var fromLog []kinds.Pattern
		for _, p := range k.Observe {
			if len(p.Log) > 0 {
				fromLog = append(fromLog, p)
			}
		}
		got := map[string]string{}
		for _, o := range observe.All(t.Context(), logOf{path: path}, "", fromLog) {
			if o.Missing == "" {
				got[o.Name] = shown(o.Value)
			}
		}
		for what, want := range tc.observed {
			if got[what] != want {
				t.Errorf("%s: %s is %q, want %q", name, what, got[what], want)
			}
		}
		d, broke := k.Diagnose(path)
		if broke != (tc.class != "") || d.Class != tc.class || !strings.Contains(d.Line, tc.line) {
			t.Errorf("%s: the diagnosis is %v, want class %q", name, d, tc.class)
		}
	}
}
