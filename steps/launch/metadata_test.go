package launch

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

func TestShownEnv(t *testing.T) {
	got := shownEnv(map[string]string{
		"HF_TOKEN": "hf_x", "OPENAI_API_KEY": "k", "PASSWORD": "p", "MY_AUTH": "a",
		"VLLM_KV_CACHE_TOKENS": "7", "TOKENIZERS_PARALLELISM": "1", "KEYBOARD": "x", "MXFLOW_LAUNCH": "l",
	})
	for name, value := range got {
		secret := slices.Contains([]string{"HF_TOKEN", "OPENAI_API_KEY", "PASSWORD", "MY_AUTH"}, name)
		if secret != (value == "[redacted]") {
			t.Errorf("%s is %q", name, value)
		}
	}
	t.Setenv("HF_TOKEN", "hf_x")
	t.Setenv("VLLM_USE_V1", "1")
	t.Setenv("CUDA_HOME", "/cuda")
	t.Setenv("EDITOR", "ed")
	env := inheritedEnv(engine.Spec{Env: map[string]string{"CUDA_HOME": "/own"}, Unset: []string{"PATH"}})
	for name, want := range map[string]string{
		"HF_TOKEN": "[redacted]", "VLLM_USE_V1": "1", "CUDA_HOME": "",
		"PATH": "", "EDITOR": "",
	} {
		must.Equal(t, name, env[name], want)
	}
}

// TestAltered: no launch is made where engines would inherit something else than the first did.
func TestAltered(t *testing.T) {
	began := map[string]string{"cpus": "0-1", "priority": "nice 5"}
	for name, tc := range map[string]struct {
		now  map[string]string
		want string
	}{
		"as from the start": {began, ""},
		"another thread": {
			map[string]string{"cpus": "0-1", "priority": "idle, nice 5 | nice 5"},
			"priority was nice 5, is idle, nice 5 | nice 5",
		},
		"it is not known": {map[string]string{"cpus": "0-1"}, "priority was nice 5, is unknown"},
		"more than was known": {
			map[string]string{"cpus": "0-1", "priority": "nice 5", "timer slack": "50000 ns"},
			"timer slack was unknown, is 50000 ns",
		},
		"two that are others": {
			map[string]string{"cpus": "0", "priority": "normal"},
			"cpus was 0-1, is 0; priority was nice 5, is normal",
		},
	} {
		err := differs(began, tc.now)
		fault, broke := errors.AsType[*verdict.Fault](err)
		switch {
		case broke != (tc.want != ""):
			t.Errorf("%s: %v", name, err)
		case broke && (fault.Reason.Kind != code.Altered.Kind || verdict.Semicolons(fault.Reason.Causes) != tc.want):
			t.Errorf("%s: %s", name, verdict.Semicolons(fault.Reason.Causes))
		}
	}
}

// A launch whose engine does not show that it drafted was measured without drafts.
func TestUnusedSettingDoesNotCount(t *testing.T) {
	draft := []kinds.Use{{Setting: "speculative.model", Observed: "drafted_tokens"}}
	hidden := []kinds.Use{{Setting: "speculative.model", Observed: "drafted_tokens", Hidden: true}}
	unseen := verdict.New(code.Unobserved, verdict.Text("why", "no line of the log matches"))
	layers := []kinds.Use{{Setting: "speculative.model", Observed: "gpu_layers", Not: "gpu_error", Hidden: true}}
	for name, tc := range map[string]struct {
		record  ledger.Launch
		uses    []kinds.Use
		invalid bool
	}{
		"drafted": {
			ledger.Launch{Observed: map[string]ledger.Observed{"drafted_tokens": {Value: 31.0}}},
			draft, false,
		},
		"nothing drafted": {
			ledger.Launch{Observed: map[string]ledger.Observed{"drafted_tokens": {Value: 0.0}}},
			draft,
			true,
		},
		"unknown": {
			ledger.Launch{Unobserved: map[string]verdict.Reason{"drafted_tokens": unseen}},
			draft,
			true,
		},
		"not looked for": {ledger.Launch{}, draft, true},
		"no number": {
			ledger.Launch{Observed: map[string]ledger.Observed{"drafted_tokens": {Value: "none"}}},
			draft, true,
		},
		"a draft model": {
			ledger.Launch{Observed: map[string]ledger.Observed{"drafted_tokens": {Value: "small"}}},
			draft, false,
		},
		"may be hidden": {
			ledger.Launch{Unobserved: map[string]verdict.Reason{"drafted_tokens": unseen}},
			hidden,
			false,
		},
		"none, not hidden": {
			ledger.Launch{Observed: map[string]ledger.Observed{"drafted_tokens": {Value: 0.0}}},
			hidden, true,
		},
		"not asked for": {ledger.Launch{}, nil, false},
		"a reason": {ledger.Launch{Observed: map[string]ledger.Observed{
			"gpu_layers": {Value: 0.0}, "gpu_error": {Value: "CUDA: unknown error", From: "log line 1"},
		}}, layers, true},
	} {
		tc.record.Disturbed = true
		st := &Started{Record: &tc.record, Lab: &Lab{}}
		st.unused(tc.uses)
		if invalid := len(tc.record.Invalid) == 1 && tc.record.Invalid[0].Kind == code.SettingUnused.Kind &&
			tc.record.Invalid[0].Subject == "speculative.model"; invalid != tc.invalid ||
			invalid == tc.record.Disturbed {
			t.Errorf("%s: invalid by %v, disturbed %v", name, tc.record.Invalid, tc.record.Disturbed)
		}
		if name == "a reason" && !strings.Contains(tc.record.Invalid[0].String(), `log line 1: "CUDA: unknown error"`) {
			t.Errorf("%s: %v", name, tc.record.Invalid)
		}
		if noted := verdict.Holds(tc.record.Notes, "work.setting_unshown"); noted != (name == "may be hidden") {
			t.Errorf("%s: notes %v", name, tc.record.Notes)
		}
	}
}

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
				{GPU: machine.GPU{
					UUID: "GPU-b", Name: "NVIDIA T9000",
					Values: map[string]string{"mig.mode.current": "Enabled"},
				}}, // not used
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
		"named before found": {known(func(g *given) {
			g.v.ModelConfig, g.v.ModelConfigAt = []byte(llama), "/plan/config.json"
		}), "/plan/config.json", ""},
		"no GPU": {known(func(g *given) { g.doc.GPUs[0].Used = false }), "", "no known GPU"},
		"unknown GPU": {
			known(func(g *given) { g.doc.GPUs[1].Used = true; g.doc.GPUs[1].Values = nil }), "",
			"NVIDIA T9000",
		},
		"a part of a GPU": {known(func(g *given) { g.doc.GPUs[1].Used = true }), "", "MIG"},
		"no model":        {known(func(g *given) { g.doc.Model = nil }), "", "no config.json"},
		"no config":       {known(func(g *given) { g.doc.Model.Config = nil }), "", "no config.json"},
		"unknown model": {
			known(func(g *given) { g.doc.Model.Config = []byte(`{"model_type": "mamba"}`) }), "",
			"mamba",
		},
		"fewer layers": {known(func(g *given) {
			g.v.Spec.Command = append(g.v.Spec.Command, "--hf_overrides", "{}")
		}), "", "override"},
		"in a file": {known(func(g *given) {
			g.v.Spec = engine.Spec{Config: []byte("model_kwargs_override: 1")}
		}), "", "override"},
		"other machines": {
			known(func(g *given) { g.v.Spec.Command = append(g.v.Spec.Command, "--nnodes=2") }), "",
			"nnodes",
		},
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
	g, st := known(func(g *given) { g.v.ModelConfig = []byte(`{"model_type": "mamba"}`) }),
		&Started{Record: &ledger.Launch{}}
	if limitBy(&g.v, st, &g.doc) != nil || !verdict.Holds(st.Record.Notes, "work.limit_unknown") {
		t.Errorf("%v", st.Record.Notes)
	}
}
