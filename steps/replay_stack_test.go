package steps

import (
	"testing"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// stackFrame is a plan without its phases.
const stackFrame = `
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
`

const stackPlan = stackFrame + `
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
`

// A changed plan that no longer accepts what a feature was measured on, or accepts
// what was rejected then, asks for another measurement.
func TestReplayOnAnotherStack(t *testing.T) {
	p := labOf(t, stackPlan).Plan
	on, off := map[string]string{"kv": "on", "head": "fp8"}, map[string]string{"kv": "off", "head": "fp8"}
	for name, tt := range map[string]struct {
		entered  []map[string]string
		measured map[string]string
		now, was string // of the knob kv
	}{
		"the same":           {[]map[string]string{{"kv": "on"}}, on, "", ""},
		"nothing accepted":   {nil, off, "", ""},
		"rejected now":       {nil, on, "off", "on"},
		"accepted only now":  {[]map[string]string{{"kv": "on"}}, off, "on", "off"},
		"a knob of now only": {[]map[string]string{{"kv": "on"}}, map[string]string{"head": "fp8"}, "", ""},
	} {
		c := &changed{plan: p, lab: NewLab(p, nil), entered: tt.entered}
		got := c.otherwise(p.Feature("head").Alternatives[1], &gates.Feature{Knobs: tt.measured})
		var want verdict.Reason
		if tt.now != "" {
			want = verdict.New(code.OtherStack, verdict.Text("now", tt.now), verdict.Text("was", tt.was)).On("kv")
		}
		if !got.Equal(want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// A feature of which it is not known whether it would be accepted leaves open on
// what those after it would be measured, where it would be another stack.
func TestReplayOnAStackThatIsNotKnown(t *testing.T) {
	lab := labOf(t, stackPlan)
	kv := lab.Plan.Feature("kv")
	for name, tt := range map[string]struct {
		of        string
		recorded  verdict.Verdict
		would     verdict.Verdict
		measured  map[string]string
		uncertain bool
	}{
		"never measured":                {"head", "", verdict.Inconclusive, map[string]string{"kv": "off", "head": "fp8"}, true},
		"measured by something else":    {"head", verdict.Fail, verdict.Invalid, map[string]string{"kv": "off", "head": "fp8"}, true},
		"the knob came later":           {"head", "", verdict.Inconclusive, map[string]string{"head": "fp8"}, true},
		"inconclusive then, too":        {"head", verdict.Inconclusive, verdict.Inconclusive, map[string]string{"kv": "off", "head": "fp8"}, false},
		"it fails":                      {"head", verdict.Pass, verdict.Fail, map[string]string{"kv": "off", "head": "fp8"}, false},
		"it changes nothing":            {"head", "", verdict.Inconclusive, map[string]string{"kv": "on", "head": "fp8"}, false},
		"what does not build on it all": {"kv", "", verdict.Inconclusive, map[string]string{"kv": "off"}, false},
	} {
		c := &changed{plan: lab.Plan, lab: NewLab(lab.Plan, nil), graph: lab.Graph}
		c.remember(kv, WouldBe{Recorded: tt.recorded, WouldBe: tt.would})
		if got := c.perhapsOn(lab.Plan.Feature(tt.of), &gates.Feature{Knobs: tt.measured}); got.IsZero() == tt.uncertain {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What was open when it was recorded may become another outcome too, where an apply
// of this plan would go on with it.
func TestReplayOnAStackThatIsStillOpen(t *testing.T) {
	lab := labOf(t, stackPlan)
	for name, tt := range map[string]struct {
		kv        WouldBe
		uncertain bool
	}{
		"it has its launches":     {WouldBe{Recorded: verdict.Inconclusive, WouldBe: verdict.Inconclusive}, false},
		"more launches":           {WouldBe{Recorded: verdict.Inconclusive, WouldBe: verdict.Inconclusive, open: true}, true},
		"a workload more":         {WouldBe{Recorded: verdict.Inconclusive, WouldBe: verdict.Inconclusive, Unmeasured: true}, true},
		"tried again":             {WouldBe{Recorded: verdict.Invalid, WouldBe: verdict.Invalid}, true},
		"nothing can be read":     {WouldBe{Recorded: verdict.Fail, WouldBe: verdict.Error}, true},
		"a step before it is new": {WouldBe{Recorded: verdict.Pass, WouldBe: verdict.Pass, Locked: fact("a step"), unsure: true}, true},
		"a step before it failed": {WouldBe{Recorded: verdict.Pass, WouldBe: verdict.Pass, Locked: fact("a step")}, false},
	} {
		c := &changed{plan: lab.Plan, lab: NewLab(lab.Plan, nil), graph: lab.Graph}
		c.remember(lab.Plan.Feature("kv"), tt.kv)
		got := c.perhapsOn(lab.Plan.Feature("head"), &gates.Feature{Knobs: map[string]string{"kv": "off", "head": "fp8"}})
		if got.IsZero() == tt.uncertain {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
