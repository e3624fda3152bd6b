package kinds_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/observe"
)

// llama.cpp words the same thing differently in different builds.
func TestLlamacppOldAndNewWords(t *testing.T) {
	k, _ := kinds.Lookup("llamacpp")
	tests := map[string]struct {
		log, name, want, class string
	}{
		"attention, older":        {log: "llama_context: flash_attn    = auto\nllama_context: Flash Attention was auto, set to enabled\n", name: "attention", want: "on"},
		"attention, newer":        {log: "0.00.039.969 I llama_context: flash_attn            = auto\n0.00.041.986 I resolve_fused_ops: Flash Attention enabled\n", name: "attention", want: "on"},
		"attention, not possible": {log: "0.00.039.969 I llama_context: flash_attn            = auto\n0.00.041.986 W resolve_fused_ops: Flash Attention not supported, set to disabled\n", name: "attention", want: "off"},
		"attention, another op":   {log: "llama_context: flash_attn = disabled\nresolve_fused_ops: fused Gated Delta Net (chunked) enabled\n", name: "attention", want: "off"},
		"graph, older":            {log: "llama_context: graph splits = 2 (with bs=512), 3 (with bs=1)\n", name: "graph_splits", want: "2"},
		"graph, newer":            {log: "sched_reserve: graph: nodes = 80, splits = 1, input objects = 4, input tensors = 6\n", name: "graph_splits", want: "1"},
		"no speculation":          {log: "0.00.100.351 I spec common_specu: no implementations specified for speculative decoding\n", name: "speculative", want: "none"},
		"speculation":             {log: "0.00.099.167 I spec common_specu: adding speculative implementation 'ngram-simple'\n", name: "speculative", want: "ngram-simple"},
		"quantised values":        {log: "llama_init_from_model: V cache quantization requires flash_attn\n", class: "config"},
		"no compute buffers":      {log: "llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers\n", class: "oom"},
		"no cache":                {log: "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\n", class: "oom"},
	}
	for name, tc := range tests {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(tc.log), 0o600); err != nil {
			t.Fatal(err)
		}
		got := ""
		fromLog := slices.DeleteFunc(slices.Clone(k.Observe), func(p kinds.Pattern) bool { return p.Name != tc.name })
		for _, o := range observe.All(t.Context(), logOf{path: path}, "", fromLog) {
			if o.Missing == "" {
				got = shown(o.Value)
			}
		}
		if got != tc.want {
			t.Errorf("%s: %s is %q, want %q", name, tc.name, got, tc.want)
		}
		if d, _ := k.Diagnose(path); d.Class != tc.class {
			t.Errorf("%s: diagnosed as %q, want class %q", name, d, tc.class)
		}
	}
}
