package replay

import (
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/decide"
)

// planned is a plan and its graph.
type planned struct {
	Plan  *plans.Plan
	Graph *runtime.Graph
}

func planOf(t *testing.T, src string) planned {
	t.Helper()
	res := load.Bytes("plan.hcl", []byte(src), steps.Registry(), load.Options{})
	if !res.OK() {
		t.Fatal(res.Diagnostics)
	}
	g, err := runtime.NewGraph(res.Plan)
	if err != nil {
		t.Fatal(err)
	}
	return planned{res.Plan, g}
}

// fact is a fact of which only the words are told apart.
func fact(words string) verdict.Reason { return verdict.New(code.Broken, verdict.Text("error", words)) }

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
	p := planOf(t, stackPlan).Plan
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
		c := &changed{plan: p, entered: tt.entered}
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
	lab := planOf(t, stackPlan)
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
		c := &changed{plan: lab.Plan, graph: lab.Graph}
		c.remember(kv, WouldBe{Recorded: tt.recorded, WouldBe: tt.would})
		if got := c.perhapsOn(lab.Plan.Feature(tt.of), &gates.Feature{Knobs: tt.measured}); got.IsZero() == tt.uncertain {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What was open when it was recorded may become another outcome too, where an apply
// of this plan would go on with it.
func TestReplayOnAStackThatIsStillOpen(t *testing.T) {
	lab := planOf(t, stackPlan)
	for name, tt := range map[string]struct {
		kv        WouldBe
		uncertain bool
	}{
		"it has its launches":     {WouldBe{Recorded: verdict.Inconclusive, WouldBe: verdict.Inconclusive}, false},
		"more launches":           {WouldBe{Recorded: verdict.Inconclusive, WouldBe: verdict.Inconclusive, Open: true}, true},
		"a workload more":         {WouldBe{Recorded: verdict.Inconclusive, WouldBe: verdict.Inconclusive, Unmeasured: true}, true},
		"tried again":             {WouldBe{Recorded: verdict.Invalid, WouldBe: verdict.Invalid}, true},
		"nothing can be read":     {WouldBe{Recorded: verdict.Fail, WouldBe: verdict.Error}, true},
		"a step before it is new": {WouldBe{Recorded: verdict.Pass, WouldBe: verdict.Pass, Locked: fact("a step"), Unsure: true}, true},
		"a step before it failed": {WouldBe{Recorded: verdict.Pass, WouldBe: verdict.Pass, Locked: fact("a step")}, false},
	} {
		c := &changed{plan: lab.Plan, graph: lab.Graph}
		c.remember(lab.Plan.Feature("kv"), tt.kv)
		got := c.perhapsOn(lab.Plan.Feature("head"), &gates.Feature{Knobs: map[string]string{"kv": "off", "head": "fp8"}})
		if got.IsZero() == tt.uncertain {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

const lockedPlan = stackFrame + `
phase "one" {
  feature "kv" {
    set = { kv = "on" }
    criterion "c" { rule = "w.tg.gain >= 0.10" }
  }
}
phase "two" {
  feature "head" {
    set       = { head = "mxfp4" }
    builds_on = feature.kv
    criterion "c" { rule = "w.tg.gain >= 0.10" }
  }
  gate {
    rule "in" { expr = "w.tg.gain >= 0.10" }
    rule "out" { expr = "not feature[\"head\"].accepted" }
  }
}
phase "three" {
  after_decided = [phase.two]
  step "exec" "x" { command = ["true"] }
}
`

// A feature on top of one that an apply does not come to is locked as that is, in
// whichever phase it is, and so is what a phase waits for.
func TestReplayLocksWhatTheGraphLocks(t *testing.T) {
	lab := planOf(t, lockedPlan)
	head, three := lab.Graph.Node(runtime.QualifyID("head")), lab.Graph.Node(runtime.PhaseID("three"))
	zero := wouldBe("phase.zero", verdict.Fail)
	for name, tt := range map[string]struct {
		of     *runtime.Node
		on     string
		is     WouldBe
		want   verdict.Reason
		unsure bool
	}{
		"on one that passes":            {head, "kv", WouldBe{WouldBe: verdict.Pass}, verdict.Reason{}, false},
		"on one that fails":             {head, "kv", WouldBe{WouldBe: verdict.Fail}, verdict.Reason{}, false},
		"on one that is locked":         {head, "kv", WouldBe{WouldBe: verdict.Pass, Locked: zero}, zero, false},
		"on one that may be locked":     {head, "kv", WouldBe{WouldBe: verdict.Pass, Locked: zero, Unsure: true}, zero, true},
		"a phase that is decided":       {three, "phase two", WouldBe{WouldBe: verdict.Fail}, verdict.Reason{}, false},
		"a phase that is not decided":   {three, "phase two", WouldBe{WouldBe: verdict.Invalid}, wouldBe("phase.two", verdict.Invalid), true},
		"a phase that is locked itself": {three, "phase two", WouldBe{WouldBe: verdict.Pass, Locked: zero}, zero, false},
	} {
		c := &changed{plan: lab.Plan, graph: lab.Graph, outcomes: map[string]WouldBe{tt.on: tt.is}}
		if got := c.locked(tt.of); !got.why.Equal(tt.want) || got.unsure != tt.unsure {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What reads a feature that an apply would not come to reads nothing.
func TestReplayReadsNothingOfWhatIsLocked(t *testing.T) {
	lab := planOf(t, lockedPlan)
	for name, tt := range map[string]struct {
		unsure bool
		want   verdict.Verdict
	}{"locked": {false, verdict.Invalid}, "perhaps": {true, verdict.Inconclusive}} {
		kept := &gates.Feature{Outcome: verdict.Pass}
		w := WouldBe{WouldBe: verdict.Pass}
		zero := wouldBe("phase.zero", verdict.Fail)
		w.lock(lock{zero, tt.unsure})
		c := &changed{
			plan: lab.Plan, graph: lab.Graph,
			outcomes: map[string]WouldBe{"head": w}, evidence: map[string]*gates.Feature{"head": kept}, doubted: map[*gates.Feature]verdict.Verdict{kept: verdict.Pass},
		}
		two := lab.Plan.Phase("two")
		c.notRun(two)
		rules := gates.Decide(two.Gate.Rules, &gates.Evidence{Features: c.evidence}, decide.SettingsOfGate(lab.Plan, two))
		c.openRules(two, rules)
		for _, r := range rules {
			if r.Verdict != tt.want || !slices.ContainsFunc(r.Reasons, func(why verdict.Reason) bool { return about(why, "head") }) {
				t.Errorf("%s: rule %s is %s %+v, want %s", name, r.Name, r.Verdict, r.Reasons, tt.want)
			}
		}
		joined := c.joined(&plans.Phase{Name: "j", Features: two.Features}, WouldBe{})
		if joined.WouldBe != tt.want {
			t.Errorf("%s: a phase without a gate is %s, want %s", name, joined.WouldBe, tt.want)
		}
	}
}

// about reports whether a fact, or what it follows from, is of that name.
func about(r verdict.Reason, name string) bool {
	return r.Subject == name || r.Args["feature"].Text == name || slices.ContainsFunc(r.Causes, func(cause verdict.Reason) bool { return about(cause, name) })
}
