package steps

import (
	"slices"
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
		"on one that may be locked":     {head, "kv", WouldBe{WouldBe: verdict.Pass, Locked: zero, unsure: true}, zero, true},
		"a phase that is decided":       {three, "phase two", WouldBe{WouldBe: verdict.Fail}, verdict.Reason{}, false},
		"a phase that is not decided":   {three, "phase two", WouldBe{WouldBe: verdict.Invalid}, wouldBe("phase.two", verdict.Invalid), true},
		"a phase that is locked itself": {three, "phase two", WouldBe{WouldBe: verdict.Pass, Locked: zero}, zero, false},
	} {
		c := &changed{plan: lab.Plan, lab: NewLab(lab.Plan, nil), graph: lab.Graph, outcomes: map[string]WouldBe{tt.on: tt.is}}
		if got := c.locked(tt.of); !got.why.Equal(tt.want) || got.unsure != tt.unsure {
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
		zero := wouldBe("phase.zero", verdict.Fail)
		w.lock(lock{zero, tt.unsure})
		c := &changed{
			plan: lab.Plan, lab: NewLab(lab.Plan, nil), graph: lab.Graph,
			outcomes: map[string]WouldBe{"head": w}, evidence: map[string]*gates.Feature{"head": kept}, doubted: map[*gates.Feature]verdict.Verdict{kept: verdict.Pass},
		}
		two := lab.Plan.Phase("two")
		c.notRun(two)
		rules := gates.Decide(two.Gate.Rules, &gates.Evidence{Features: c.evidence}, c.lab.settingsOfGate(two))
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
