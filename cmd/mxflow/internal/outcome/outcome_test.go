package outcome

import (
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func TestExitStatusOnce(t *testing.T) {
	exit := 9
	d := &ledger.Decision{Kind: "step", Verdict: verdict.Error, Reasons: []verdict.Reason{verdict.Say("step.ended",
		"{exit}",
		verdict.Text("exit", "exit status 9"))}, Exit: &exit}
	if got := strings.Join(verdict.Lines(Why(d)), "\n"); got != "exit status 9" {
		t.Errorf("%q", got)
	}
	d.Reasons = facts("the command failed")
	if got := strings.Join(verdict.Lines(Why(d)), "\n"); got != "the command failed\nexit status 9" {
		t.Errorf("%q", got)
	}
}

// TestHeadline: what was chosen stands before the levels and criteria, also where
// these are called as a sentence of another kind begins.
func TestHeadline(t *testing.T) {
	level, odd := ledger.Level{Name: "smoke", Verdict: verdict.Pass}, ledger.Rule{Name: "level best", Role: "criterion", Verdict: verdict.Pass, Reasons: facts("enough")}
	d := &ledger.Decision{
		Kind: "feature", Verdict: verdict.Pass, Levels: []ledger.Level{level}, Rules: []ledger.Rule{odd},
		Reasons: []verdict.Reason{fact("criterion a is what was chosen by"), level.WithoutCauses(), odd.Reason()},
	}
	if got, want := verdict.Lines(Why(d)), []string{"criterion a is what was chosen by", "level best: enough"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func fact(text string) verdict.Reason {
	return verdict.Say("broken", "{error}", verdict.Text("error", text))
}

func facts(texts ...string) (reasons []verdict.Reason) {
	for _, text := range texts {
		reasons = append(reasons, fact(text))
	}
	return reasons
}

// TestShortName: what apply prints to explain a node leads to it, also where a phase and its
// feature have one name.
func TestShortName(t *testing.T) {
	node := func(id string, kind runtime.Kind, phase, feature string) *runtime.State {
		return &runtime.State{Node: &runtime.Node{ID: id, Kind: kind, Phase: phase, Feature: feature}}
	}
	rows := []*runtime.State{
		node("feature.wip", runtime.KindFeature, "wip", "wip"), node("phase.wip", runtime.KindGate, "wip", ""),
		node("feature.gemm", runtime.KindFeature, "kernels", "gemm"), node("phase.kernels", runtime.KindGate, "kernels", ""),
		node("baseline", runtime.KindQualify, "", ""),
	}
	for i, want := range []string{"feature.wip", "phase.wip", "gemm", "kernels", "baseline"} {
		if got := shortName(rows[i].Node, rows); got != want {
			t.Errorf("%s is %q, want %q", rows[i].Node.ID, got, want)
		}
	}
}
