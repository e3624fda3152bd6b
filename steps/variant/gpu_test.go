package variant

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/plans"
)

// A process sees the GPUs that its block names, unless its environment says
// otherwise.
func TestShowGPUs(t *testing.T) {
	block := func(devices ...any) *plans.Engine {
		devices = append([]any{}, devices...)
		return &plans.Engine{Parts: map[string][]*plans.Block{"gpu": {{Kind: "gpu", Attrs: map[string]any{"devices": devices, "wait": "1m0s"}}}}}
	}
	for _, test := range []struct {
		name string
		e    *plans.Engine
		spec engine.Spec
		want string
		set  bool
	}{
		{"named", block("1", "GPU-a"), engine.Spec{}, "1,GPU-a", true},
		{"none", block(), engine.Spec{}, "", true},
		{"all", block("all"), engine.Spec{}, "", false},
		{"no block", &plans.Engine{}, engine.Spec{}, "", false},
		{"a knob's own", block("1"), engine.Spec{Env: map[string]string{"CUDA_VISIBLE_DEVICES": "0"}}, "0", true},
		{"a knob's own, of another vendor", block("1"), engine.Spec{Env: map[string]string{"HIP_VISIBLE_DEVICES": "0"}}, "", false},
		{"in a container", block("1"), engine.Spec{Docker: &engine.Docker{}}, "", false},
	} {
		try.OK(t, showGPUs(test.e, &test.spec))
		if got, set := test.spec.Env["CUDA_VISIBLE_DEVICES"]; got != test.want || set != test.set {
			t.Errorf("%s: %q, %v", test.name, got, set)
		}
	}
}

func TestGPUBlockMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		attrs map[string]any
		want  string
	}{
		"everybody":  {map[string]any{"ignore": []any{"*"}}, "It would wait for no process"},
		"all right":  {map[string]any{"wait": "1s", "ignore": []any{"Xorg"}}, ""},
		"wrong type": {map[string]any{"wait": 3.0}, "decode gpu"},
	} {
		wrong := checkGPU(&plans.Block{Kind: "gpu", Attrs: test.attrs})
		if (test.want == "") != (len(wrong) == 0) || len(wrong) > 0 && !strings.Contains(wrong[0].Detail, test.want) {
			t.Errorf("%s: %v", name, wrong)
		}
	}
}
