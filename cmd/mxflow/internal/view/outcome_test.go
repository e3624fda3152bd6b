package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

// TestShortName: what apply prints to explain a node leads to it, also where a phase and its
// feature have one name.
func TestShortName(t *testing.T) {
	node := func(id string, kind runtime.Kind, phase, feature string) *runtime.State {
		return &runtime.State{Node: &runtime.Node{ID: id, Kind: kind, Phase: phase, Feature: feature}}
	}
	rows := []*runtime.State{
		node("feature.wip", runtime.KindFeature, "wip", "wip"), node("phase.wip", runtime.KindGate, "wip", ""),
		node("feature.gemm", runtime.KindFeature, "kernels", "gemm"),
		node("phase.kernels", runtime.KindGate, "kernels", ""),
		node("baseline", runtime.KindQualify, "", ""),
	}
	for i, want := range []string{"feature.wip", "phase.wip", "gemm", "kernels", "baseline"} {
		must.Equal(t, rows[i].Node.ID, shortName(rows[i].Node, rows), want)
	}
}

// finished is a run of so many features in phases of five, whose outcomes take turns.
func finished(t *testing.T, features int, worst verdict.Verdict) *apply.Result {
	t.Helper()
	st, err := store.Open(t.TempDir())
	must.Do(t, err)
	t.Cleanup(func() { st.Close() })
	must.Do(t,
		st.Append(&ledger.Record{Type: "run", Time: time.Now(), Run: "r1", RunStart: &ledger.RunStart{Plan: "p"}}))
	res := &apply.Result{
		Run: "r1", Store: st,
		End: &ledger.End{Verdict: worst, Exit: worst.ExitCode(), Reason: verdict.New(code.Finished)},
	}
	add := func(r *runtime.State) { res.Summary.Rows = append(res.Summary.Rows, r) }
	words := []verdict.Verdict{verdict.Pass, verdict.Pass, verdict.Fail, verdict.Inconclusive, verdict.Invalid}
	for i := range features {
		name, phase := fmt.Sprintf("port_of_kernel_%d", i), fmt.Sprintf("phase_%d", i/5)
		rules := []verdict.Rule{
			{
				Name: "decode", Role: verdict.RoleCriterion, Decides: true, Verdict: words[i%5],
				Reasons: facts(
					fmt.Sprintf("chat.tg.gain %+d.3%% (required ≥ +10%%, lower bound %+d.1%%, 4 launches per arm)", i,
						i-1)),
			},
			{
				Name: "memory", Role: verdict.RoleCriterion, Decides: true, Verdict: words[i%5],
				Reasons: facts("engine.memory_gb.delta 0.1 GB (required ≤ 2 GB, upper bound 0.2 GB over all pairs of " +
					"launches, 4 launches per arm)"),
			},
		}
		d := &ledger.Decision{
			Node: "feature." + name, Kind: ledger.KindFeature, Feature: name, Phase: phase,
			Verdict: words[i%5], Accepted: words[i%5] == verdict.Pass, Rules: rules,
		}
		add(&runtime.State{
			Node:     &runtime.Node{ID: d.Node, Kind: runtime.KindFeature, Phase: phase, Feature: name},
			Decision: d,
		})
		if i%5 == 4 {
			gate := &runtime.Node{ID: "phase." + phase, Kind: runtime.KindGate, Phase: phase}
			add(&runtime.State{Node: gate, Locked: verdict.New(code.Outcome).On("phase.phase_0").Is(verdict.Fail)})
		}
	}
	return res
}

// TestOutcome: what did not pass is there in full, at any number of features, with all its groups,
// what it came to and what to do next, and no line that would wrap.
func TestOutcome(t *testing.T) {
	for _, features := range []int{1, 6, 50, 500} {
		res := finished(t, features, verdict.Invalid)
		for _, width := range []int{80, 120, 200} {
			var b bytes.Buffer
			Outcome(table.Screen{Writer: &b, Width: width}, res, "3 min")
			text := b.String()
			for line := range strings.Lines(text) {
				if n := lipgloss.Width(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%d features: %d of %d columns: %s", features, n, width, line)
				}
			}
			want := []string{"accepted ", "decode: chat.tg.gain +0"}
			if features > 5 {
				want = append(want, "fail ", "inconclusive ", "invalid ", "locked ", "phase.phase_0 failed",
					"Exit status 2.", "mxflow explain port_of_kernel_2")
			}
			for i := range features {
				want = append(want, fmt.Sprintf("port_of_kernel_%d ", i))
			}
			words := strings.Join(strings.Fields(text), " ")
			for _, w := range want {
				if !strings.Contains(words, strings.TrimSpace(w)) {
					t.Errorf("%d features in %d columns lack %q:\n%s", features, width, w, text)
				}
			}
			if n := strings.Count(text, "…"); n > 0 {
				t.Errorf("%d features in %d columns: %d texts are cut", features, width, n)
			}
		}
	}
}

// TestGates: the closing names first what the run came to.
func TestGates(t *testing.T) {
	gate := func(v verdict.Verdict) *runtime.State {
		return &runtime.State{Node: &runtime.Node{Kind: runtime.KindGate}, Decision: &ledger.Decision{Verdict: v}}
	}
	phase := &runtime.State{
		Node:     &runtime.Node{Kind: runtime.KindPhase},
		Decision: &ledger.Decision{Verdict: verdict.Invalid},
	}
	baseline := &runtime.State{
		Node:     &runtime.Node{ID: runtime.BaselineID, Kind: runtime.KindQualify},
		Decision: &ledger.Decision{Verdict: verdict.Pass},
	}
	locked := &runtime.State{Node: &runtime.Node{Kind: runtime.KindGate}, Locked: verdict.New(code.Outcome)}
	left := &runtime.State{Node: &runtime.Node{Kind: runtime.KindGate}, Locked: verdict.New(code.NotTargeted)}
	for want, c := range map[string]struct {
		worst verdict.Verdict
		rows  []*runtime.State
	}{
		"Every gate passed": {verdict.Pass, []*runtime.State{gate(verdict.Pass)}},
		"1 of 4 phases invalid, 1 failed, 1 locked": {
			verdict.Invalid,
			[]*runtime.State{gate(verdict.Pass), gate(verdict.Fail), phase, locked},
		},
		"1 of 2 gates in error, 1 locked": {
			verdict.Error,
			[]*runtime.State{gate(verdict.Error), locked},
		},
		"Error: 1 of 1 gate locked":                          {verdict.Error, []*runtime.State{locked}},
		"Inconclusive: 1 of 1 gate not evaluated (--target)": {verdict.Inconclusive, []*runtime.State{left}},
		"Nothing to decide in this plan":                     {verdict.Inconclusive, nil},
		"No gate in this plan: the baseline passed":          {verdict.Pass, []*runtime.State{baseline}},
		"Error": {verdict.Error, []*runtime.State{baseline}},
	} {
		must.Equal(t, "closing", gateWords(c.worst, c.rows), want)
	}
}
