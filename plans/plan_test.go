package plans

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

func mustLoad(t testing.TB, path string) *Plan {
	t.Helper()
	res := Load(path, testRegistry(), Options{})
	if !res.OK() {
		t.Fatal(res.text())
	}
	return res.Plan
}

func TestLookups(t *testing.T) {
	p := mustLoad(t, "testdata/valid/mxfp4.hcl")
	if p.Engine("embedded.tiny") == nil || p.Engine("tiny") != nil {
		t.Error("engine")
	}
	if p.Knob("moe_kernel").Value("gemm") == nil || p.Knob("moe_kernel").Value("x") != nil || p.Knob("x") != nil {
		t.Error("knob")
	}
	if p.Workload("chat") == nil || p.Workload("x") != nil {
		t.Error("workload")
	}
	if p.Protocol("standard").Level("kernels") == nil || p.Protocol("quick").Level("kernels") != nil || p.Protocol("x") != nil {
		t.Error("protocol")
	}
	if p.Target("llamacpp") == nil || p.Target("x") != nil {
		t.Error("target")
	}
	if p.Phase("cutlass") == nil || p.Phase("x") != nil {
		t.Error("phase")
	}
	if p.Feature("sinks_again").Phase != "sinks" || p.Feature("x") != nil {
		t.Error("feature")
	}
	if f := p.Feature("cutlass_grouped_gemm"); f.Protocol != "standard" {
		t.Errorf("protocol of a feature that names none: %q", f.Protocol)
	}
}

func TestCells(t *testing.T) {
	for _, c := range []struct {
		w    Workload
		want string
	}{
		{Workload{Name: "w", PromptTokens: []int{8}, OutputTokens: []int{4}}, "[w=pp8 tg4]"},
		{Workload{Name: "w", PromptTokens: []int{8}, OutputTokens: []int{4}, OutputList: true}, "[w.o4=pp8 tg4]"},
		{Workload{Name: "w", PromptTokens: []int{8, 2}, OutputTokens: []int{4}, PromptList: true}, "[w.p8=pp8 tg4 w.p2=pp2 tg4]"},
		{
			Workload{Name: "w", PromptTokens: []int{8}, OutputTokens: []int{4, 5}, PromptList: true, OutputList: true},
			"[w.p8.o4=pp8 tg4 w.p8.o5=pp8 tg5]",
		},
	} {
		var got []string
		for _, cell := range c.w.Cells() {
			got = append(got, cell.Address+"="+cell.Label)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
}

func TestBlocksDecodeIntoStructs(t *testing.T) {
	p := mustLoad(t, "testdata/valid/mxfp4.hcl")
	var exec struct {
		Command []string          `json:"command"`
		Env     map[string]string `json:"env"`
		Timeout Dur               `json:"timeout"`
	}
	if err := p.Phase("branches").Steps[0].Decode(&exec); err != nil {
		t.Fatal(err)
	}
	if time.Duration(exec.Timeout) != 30*time.Second || len(exec.Command) != 4 || len(exec.Env) != 1 {
		t.Errorf("%+v", exec)
	}
	var bench struct {
		Workloads []string `json:"workloads"`
		Launches  int      `json:"launches"`
	}
	if err := p.Protocol("standard").Level("benchmark").Decode(&bench); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(bench.Workloads, []string{"chat", "lengths"}) || bench.Launches != 6 {
		t.Errorf("%+v", bench)
	}
	if got := p.Protocol("quick").Level("benchmark").Attrs["launches"]; got != 5.0 {
		t.Errorf("default is %v (%T)", got, got)
	}
	bad := &Block{Kind: "exec", Attrs: map[string]any{"timeout": "soon"}}
	if err := bad.Decode(&exec); err == nil {
		t.Error("a duration that is none was decoded")
	}
	if text, err := Dur(90 * time.Second).MarshalJSON(); err != nil || string(text) != `"1m30s"` {
		t.Errorf("%s %v", text, err)
	}
}
