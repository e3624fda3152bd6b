package launch

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// TestLimitBy: a limit rests on GPUs, a model and a command that are known, and where it
// is not known the reason is on record.
func TestLimitBy(t *testing.T) {
	const llama = `{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 14336, "vocab_size": 128256}`
	type given struct {
		v   variant.Variant
		doc machine.Document
	}
	known := func(change func(g *given)) given {
		g := given{doc: machine.Document{
			GPUs: []machine.GPUState{
				{GPU: machine.GPU{UUID: "GPU-a", Name: "NVIDIA H200"}, Used: true},
				{GPU: machine.GPU{UUID: "GPU-b", Name: "NVIDIA T9000", Values: map[string]string{"mig.mode.current": "Enabled"}}}, // not used
			},
			Model: &machine.Model{Path: "/models/llama", Config: []byte(llama)},
		}}
		g.v.Spec.Command = []string{"vllm", "serve", "/models/llama", "--quantization", "fp8"}
		if change != nil {
			change(&g)
		}
		return g
	}
	for name, c := range map[string]struct {
		given
		source, why string
	}{
		"known": {known(nil), "/models/llama", ""},
		"named": {known(func(g *given) {
			g.v.ModelConfig, g.v.ModelConfigAt, g.doc.Model = []byte(llama), "/plan/config.json", nil
		}), "/plan/config.json", ""},
		"named before found": {known(func(g *given) { g.v.ModelConfig, g.v.ModelConfigAt = []byte(llama), "/plan/config.json" }), "/plan/config.json", ""},
		"no GPU":             {known(func(g *given) { g.doc.GPUs[0].Used = false }), "", "no known GPU"},
		"unknown GPU":        {known(func(g *given) { g.doc.GPUs[1].Used = true; g.doc.GPUs[1].Values = nil }), "", "NVIDIA T9000"},
		"a part of a GPU":    {known(func(g *given) { g.doc.GPUs[1].Used = true }), "", "MIG"},
		"no model":           {known(func(g *given) { g.doc.Model = nil }), "", "no config.json"},
		"no config":          {known(func(g *given) { g.doc.Model.Config = nil }), "", "no config.json"},
		"unknown model":      {known(func(g *given) { g.doc.Model.Config = []byte(`{"model_type": "mamba"}`) }), "", "mamba"},
		"fewer layers":       {known(func(g *given) { g.v.Spec.Command = append(g.v.Spec.Command, "--hf_overrides", "{}") }), "", "override"},
		"in a file":          {known(func(g *given) { g.v.Spec = engine.Spec{Config: []byte("model_kwargs_override: 1")} }), "", "override"},
		"other machines":     {known(func(g *given) { g.v.Spec.Command = append(g.v.Spec.Command, "--nnodes=2") }), "", "nnodes"},
	} {
		st := &Started{Record: &ledger.Launch{}}
		got := limitBy(&c.v, st, &c.doc)
		switch why := c.doc.Missing["limit"]; {
		case c.why == "":
			if got == nil || got.Source != c.source || len(got.GPUs) != 1 || got.GPUs["GPU-a"] != "NVIDIA H200" {
				t.Errorf("%s: %+v, %s", name, got, why)
			}
		case got != nil || !strings.Contains(why, c.why):
			t.Errorf("%s: %+v, %q", name, got, why)
		case len(st.Record.Notes) > 0:
			t.Errorf("%s: nobody asked for a limit: %v", name, st.Record.Notes)
		}
	}
	// Who names a config is told why it does not help.
	g, st := known(func(g *given) { g.v.ModelConfig = []byte(`{"model_type": "mamba"}`) }), &Started{Record: &ledger.Launch{}}
	if limitBy(&g.v, st, &g.doc) != nil || !verdict.Holds(st.Record.Notes, "work.limit_unknown") {
		t.Errorf("%v", st.Record.Notes)
	}
}
