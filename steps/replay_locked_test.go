package steps

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

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
	lab := labOf(t, lockedPlan)
	head, three := lab.Graph.Node(runtime.QualifyID("head")), lab.Graph.Node(runtime.PhaseID("three"))
	for name, tt := range map[string]struct {
		of     *runtime.Node
		on     string
		is     WouldBe
		want   string
		unsure bool
	}{
		"on one that passes":            {head, "kv", WouldBe{WouldBe: verdict.Pass}, "", false},
		"on one that fails":             {head, "kv", WouldBe{WouldBe: verdict.Fail}, "", false},
		"on one that is locked":         {head, "kv", WouldBe{WouldBe: verdict.Pass, Locked: "phase.zero would be fail"}, "phase.zero would be fail", false},
		"on one that may be locked":     {head, "kv", WouldBe{WouldBe: verdict.Pass, Locked: "phase.zero would be invalid", unsure: true}, "phase.zero would be invalid", true},
		"a phase that is decided":       {three, "phase two", WouldBe{WouldBe: verdict.Fail}, "", false},
		"a phase that is not decided":   {three, "phase two", WouldBe{WouldBe: verdict.Invalid}, "phase.two would be invalid", true},
		"a phase that is locked itself": {three, "phase two", WouldBe{WouldBe: verdict.Pass, Locked: "phase.zero would be fail"}, "phase.zero would be fail", false},
	} {
		c := &changed{plan: lab.Plan, lab: &Lab{Plan: lab.Plan}, graph: lab.Graph, outcomes: map[string]WouldBe{tt.on: tt.is}}
		if got := c.locked(tt.of); got.why != tt.want || got.unsure != tt.unsure {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What reads a feature that an apply would not come to reads nothing.
func TestReplayReadsNothingOfWhatIsLocked(t *testing.T) {
	lab := labOf(t, lockedPlan)
	for name, tt := range map[string]struct {
		unsure bool
		want   verdict.Verdict
	}{"locked": {false, verdict.Invalid}, "perhaps": {true, verdict.Inconclusive}} {
		kept := &gates.Feature{Outcome: verdict.Pass}
		w := WouldBe{WouldBe: verdict.Pass}
		w.lock(lock{"phase.zero would be as it is", tt.unsure})
		c := &changed{
			plan: lab.Plan, lab: &Lab{Plan: lab.Plan}, graph: lab.Graph,
			outcomes: map[string]WouldBe{"head": w}, evidence: map[string]*gates.Feature{"head": kept}, doubted: map[*gates.Feature]verdict.Verdict{kept: verdict.Pass},
		}
		two := lab.Plan.Phase("two")
		c.notRun(two)
		rules := gates.Decide(two.Gate.Rules, &gates.Evidence{Features: c.evidence}, c.lab.settingsOfGate(two))
		c.openRules(two, rules)
		for _, r := range rules {
			if r.Verdict != tt.want || !strings.Contains(strings.Join(r.Reasons, " "), "head") {
				t.Errorf("%s: rule %s is %s %q, want %s", name, r.Name, r.Verdict, r.Reasons, tt.want)
			}
		}
		joined := c.joined(&plans.Phase{Name: "j", Features: two.Features}, WouldBe{})
		if joined.WouldBe != tt.want {
			t.Errorf("%s: a phase without a gate is %s, want %s", name, joined.WouldBe, tt.want)
		}
	}
}
