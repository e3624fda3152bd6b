package replay

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/decide"
)

const whatIfPlan = `
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
}
workload "w" {
  prompt_tokens = 16
  output_tokens = 8
}
protocol "p" {
  level "smoke" { expect = "Paris" }
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

func loaded(t *testing.T, src string) *plans.Plan {
	t.Helper()
	res := load.Bytes("plan.hcl", []byte(src), steps.Registry(), load.Options{})
	if !res.OK() {
		t.Fatal(res.Diagnostics)
	}
	return res.Plan
}

func whatIfOf(t *testing.T, p *plans.Plan) *whatIf {
	t.Helper()
	g, err := runtime.NewGraph(p)
	if err != nil {
		t.Fatal(err)
	}
	w := &whatIf{outcomes: map[string]*ledger.Decision{}, locked: map[string]verdict.Reason{}, unfit: map[string]verdict.Reason{}, open: map[string]bool{}}
	for _, n := range g.Nodes {
		w.outcomes[n.ID] = &ledger.Decision{Node: n.ID, Verdict: verdict.Pass}
	}
	w.view = &decide.View{Plan: p, Graph: g, LockedBy: func(id string) verdict.Reason { return w.locked[id] }}
	return w
}

// TestStarts: what a plan starts, sends and demands differently is named, part by part;
// what only decides is not among it.
func TestStarts(t *testing.T) {
	of := func(p *plans.Plan) starts {
		s := starts{}
		s.sends(p, p.Feature("head"))
		s.variant(p, "embedded.tiny", map[string]string{"kv": "on", "head": "mxfp4"})
		return s
	}
	for _, c := range []struct{ old, new, differ, added string }{
		{"", "", "", ""},
		{"w.tg.gain >= 0.10", "w.tg.gain >= 0.20", "", ""},
		{`value "off" {}`, `value "off" { env = { K = "0" } }`, "", ""}, // which the variant has not
		{`H = "1"`, `H = "2"`, "knob head = mxfp4", ""},
		{`engine "embedded" "tiny" {}`, `engine "embedded" "tiny" { env = { A = "1" } }`, "engine embedded.tiny", ""},
		{"output_tokens = 8", "output_tokens = 9", "workload w", ""},
		{"Paris", "Rome", "level smoke of head; level smoke of the baseline", ""},
		{`level "smoke"`, "level \"exec\" \"own\" { command = [\"true\"] }\n  level \"smoke\"", "", "level own of head; level own of the baseline"},
		{"  level \"smoke\" { expect = \"Paris\" }\n", "", "level smoke of head; level smoke of the baseline", ""},
		{`value "on" { env = { K = "1" } }`, `value "on" {}`, "knob kv = on", ""},
	} {
		changed := strings.ReplaceAll(whatIfPlan, c.old, c.new)
		if c.old == "" {
			changed = whatIfPlan
		}
		differ, added := of(loaded(t, whatIfPlan)).differ(of(loaded(t, changed)))
		sorted := func(all []verdict.Reason) string { return strings.Join(verdict.Lines(all), "; ") }
		if got := sorted(differ); !sameParts(got, c.differ) {
			t.Errorf("%s → %s: %q differ, want %q", c.old, c.new, got, c.differ)
		}
		if got := sorted(added); !sameParts(got, c.added) {
			t.Errorf("%s → %s: %q are new, want %q", c.old, c.new, got, c.added)
		}
	}
}

// sameParts compares lists in any order.
func sameParts(a, b string) bool {
	all := strings.Split(a, "; ")
	for _, part := range strings.Split(b, "; ") {
		if !strings.Contains("; "+a+"; ", "; "+part+"; ") {
			return false
		}
	}
	return len(all) == len(strings.Split(b, "; "))
}

// TestBars: an apply stops where a need is not met, and at what is locked itself.
func TestBars(t *testing.T) {
	failed := verdict.Say("whatif.would_be", "{subject} {verdict:would}").On("phase.zero").Is(verdict.Fail)
	for name, c := range map[string]struct {
		of, on string
		is     verdict.Verdict
		locked verdict.Reason
		want   verdict.Reason
	}{
		"on one that passes":      {runtime.QualifyID("head"), "feature.kv", verdict.Pass, verdict.Reason{}, verdict.Reason{}},
		"on one that fails":       {runtime.QualifyID("head"), "feature.kv", verdict.Fail, verdict.Reason{}, verdict.Reason{}},
		"on one that is locked":   {runtime.QualifyID("head"), "feature.kv", verdict.Pass, failed, failed},
		"a phase that is decided": {"phase.three.step.exec.x", "phase.two", verdict.Fail, verdict.Reason{}, verdict.Reason{}},
		"a phase that is not decided": {"phase.three.step.exec.x", "phase.two", verdict.Invalid, verdict.Reason{}, verdict.Say("whatif.would_be",
			"{subject} {verdict:would}").On("phase.two").Is(verdict.Invalid)},
		"a step that did not pass": {"phase.three", "phase.three.step.exec.x", verdict.Inconclusive, verdict.Reason{}, verdict.Reason{}},
	} {
		w := whatIfOf(t, loaded(t, whatIfPlan))
		w.outcomes[c.on].Verdict, w.locked[c.on] = c.is, c.locked
		if got := w.bars(w.view.Graph.Node(c.of)); !got.Equal(c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestOpenOutcomes: neither accepted nor not accepted holds of a feature of which only an
// apply can tell.
func TestOpenOutcomes(t *testing.T) {
	for _, open := range []bool{false, true} {
		w := whatIfOf(t, loaded(t, whatIfPlan))
		w.open["feature.head"], w.outcomes["feature.head"].Verdict = open, verdict.Inconclusive
		two := w.view.Plan.Phase("two")
		evidence := &gates.Evidence{Features: map[string]*gates.Feature{"head": {Outcome: verdict.Inconclusive}}}
		d := &ledger.Decision{Kind: string(runtime.KindGate), Verdict: verdict.Pass, Rules: gates.Decide(two.Gate.Rules, evidence, decide.SettingsOfGate(w.view.Plan, two))}
		w.leaveOpen(two, d)
		want := verdict.Pass
		if open {
			want = verdict.Inconclusive
		}
		if got := d.Rules[1]; got.Verdict != want {
			t.Errorf("open %v: rule %s is %s, want %s", open, got.Name, got.Verdict, want)
		}
		if open && d.Verdict == verdict.Pass {
			t.Error("the gate passes")
		}
	}
}
