package steps

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates"
)

// A changed plan that no longer accepts what a feature was measured on, or accepts
// what was rejected then, asks for another measurement.
func TestReplayOnAnotherStack(t *testing.T) {
	p := labOf(t, `
plan "s" {}
engine "embedded" "tiny" {}
knob "kv" {
  default = "off"
  value "off" {}
  value "on" { env = { K = "1" } }
}
knob "head" {
  default = "f32"
  value "f32" {}
  value "mxfp4" { env = { H = "1" } }
  value "fp8" { env = { H = "2" } }
}
workload "w" {
  prompt_tokens = 16
  output_tokens = 8
}
protocol "p" {
  level "benchmark" { workloads = [workload.w] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
phase "one" {
  feature "kv" {
    set = { kv = "on" }
    criterion "c" { rule = "w.tg.gain >= 0.10" }
  }
}
phase "two" {
  after_decided = [phase.one]
  feature "head" {
    choose    = { head = ["mxfp4", "fp8"] }
    builds_on = accepted
    criterion "c" { rule = "w.tg.gain >= 0.10" }
  }
}
`).Plan
	on, off := map[string]string{"kv": "on", "head": "fp8"}, map[string]string{"kv": "off", "head": "fp8"}
	for name, tt := range map[string]struct {
		entered  []map[string]string
		measured map[string]string
		want     string
	}{
		"the same":           {[]map[string]string{{"kv": "on"}}, on, ""},
		"nothing accepted":   {nil, off, ""},
		"rejected now":       {nil, on, `knob kv at "off", and "on" is what it was measured on`},
		"accepted only now":  {[]map[string]string{{"kv": "on"}}, off, `knob kv at "on", and "off" is what it was measured on`},
		"a knob of now only": {[]map[string]string{{"kv": "on"}}, map[string]string{"head": "fp8"}, ""},
	} {
		c := &changed{plan: p, lab: &Lab{Plan: p}, entered: tt.entered}
		got := c.otherwise(p.Feature("head").Alternatives[1], &gates.Feature{Knobs: tt.measured})
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
