package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// asking is a plan whose feature and phase ask this.
func asking(t *testing.T, feature, phase, decision string) *plans.Plan {
	t.Helper()
	return viewOf(t, `
plan "v" {}
target "other" {
  tool = "another engine"
  metrics = { w = { tg = 100 } }
}
target "slower" {
  tool = "another engine"
  metrics = { w = { tg = 90 } }
}
engine "embedded" "tiny" {}
knob "a" {
  default = "off"
  value "off" {}
  value "on" { env = { A = "on" } }
}
workload "w" {
  prompt_tokens = 16
  output_tokens = 8
  requests      = 100
}
protocol "p" {
  level "benchmark" { workloads = [workload.w] }
}
decision {
  `+decision+`
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
phase "one" {
  feature "f" {
    set = { a = "on" }
    `+feature+`
  }
  `+phase+`
}
`, nil, nil).Plan
}

func criterion(rule string) string { return `criterion "c" { rule = "` + rule + `" }` }

func gate(rules ...string) string {
	var b strings.Builder
	for i, r := range rules {
		b.WriteString(`rule "r` + string(rune('0'+i)) + `" { rule = "` + r + `" }` + "\n")
	}
	return "gate {\n" + b.String() + "}"
}

// TestRelaxed: what is as strict as what was asked before the launches costs nothing,
// however it is written; what is not is named.
func TestRelaxed(t *testing.T) {
	const usual = "false_pass = 0.01"
	was := func(rule string) [3]string { return [3]string{criterion(rule), gate("w.tg.gain > 0"), usual} }
	asked := func(rules ...string) [3]string { return [3]string{criterion("w.tg.gain > 0"), gate(rules...), usual} }
	set := func(d string) [3]string { return [3]string{criterion("w.tg.gain > 0"), gate("w.tg.gain > 0"), d} }
	const feature, phase = "feature.f", "phase.one"
	for name, c := range map[string]struct {
		was, is [3]string
		node    string
		want    string // of the facts in words, empty for none
	}{
		"the same": {was("w.tg.gain > 0"), was("w.tg.gain > 0"), feature, ""},
		"lower": {
			was("w.tg.gain > 0"), was("w.tg.gain > -0.5"), feature,
			"w.tg.gain > 0 → w.tg.gain > -0.5",
		},
		"higher":                {was("w.tg.gain > 0"), was("w.tg.gain > 0.1"), feature, ""},
		"noise has no equality": {was("w.tg.gain > 0"), was("w.tg.gain >= 0"), feature, ""},
		"spelled by the base":   {was("w.tg.gain >= -0.03"), was("w.tg >= 0.97 * w.tg.base"), feature, ""},
		"as a change":           {was("w.e2e.gain >= 0.1"), was("w.e2e.change <= -0.1"), feature, ""},
		"as a lesser change": {
			was("w.e2e.gain >= 0.1"), was("w.e2e.change <= -0.05"), feature,
			"w.e2e.gain >= 0.1 → w.e2e.change <= -0.05",
		},
		"less of what is less": {was("w.ttft < 100"), was("w.ttft < 90"), feature, ""},
		"more of what is less": {was("w.ttft < 100"), was("w.ttft < 110"), feature, "w.ttft < 100 → w.ttft < 110"},
		"median and p50":       {was("w.ttft < 100"), was("w.ttft.p50 < 100"), feature, ""},
		"another statistic": {
			was("w.ttft.p90 < 100"), was("w.ttft < 100"), feature,
			"w.ttft.p90 < 100 → no longer required",
		},
		"another metric": {
			was("w.tg.gain > 0"), was("w.e2e.gain > 0"), feature,
			"w.tg.gain > 0 → no longer required",
		},
		"one more": {was("w.tg.gain > 0"), was("w.tg.gain > 0 && w.e2e.gain > 0"), feature, ""},
		"one less": {
			was("w.tg.gain > 0 && w.e2e.gain > 0"), was("w.e2e.gain > 0"), feature,
			"w.tg.gain > 0 → no longer required",
		},
		"in another order": {
			was("w.tg.gain > 0 && w.e2e.gain > 0"), was("w.e2e.gain > 0 and w.tg.gain > 0"),
			feature, "",
		},
		"or another": {
			was("w.tg.gain > 0"), was("w.tg.gain > 0 or w.e2e.gain > 0"), feature,
			"w.tg.gain > 0 → no longer required",
		},
		"the same or": {
			was("w.tg.gain > 0 or w.e2e.gain > 0"), was("w.tg.gain > 0 || w.e2e.gain > 0"),
			feature, "",
		},
		"another or": {
			was("w.tg.gain > 0 or w.e2e.gain > 0"), was("w.tg.gain > 0 or w.e2e.gain > 0.1"),
			feature, "(w.tg.gain > 0 or w.e2e.gain > 0) → no longer required",
		},
		"the or that came out": {
			was("w.tg.gain > 0 or w.e2e.gain > 0"), was("w.tg.gain > 0"), feature,
			"(w.tg.gain > 0 or w.e2e.gain > 0) → no longer required",
		},
		"not less is more": {was("w.tg.gain >= 0"), was("not (w.tg.gain < 0)"), feature, ""},
		"fewer crashes":    {was("engine.crashes <= 2"), was("engine.crashes <= 1"), feature, ""},
		"fewer than":       {was("engine.crashes <= 2"), was("engine.crashes < 2"), feature, ""},
		"more crashes": {
			was("engine.crashes < 2"), was("engine.crashes <= 2"), feature,
			"engine.crashes < 2 → engine.crashes <= 2",
		},
		"the other way round": {was("engine.crashes <= 2"), was("2 >= engine.crashes"), feature, ""},
		"a target":            {was("w.tg > target.other.w.tg"), was("w.tg > 100"), feature, ""},
		"a lower target": {
			was("w.tg > target.other.w.tg"), was("w.tg > target.slower.w.tg"), feature,
			"w.tg > target.other.w.tg (target.other.w.tg = 100) → w.tg > target.slower.w.tg (target.slower.w.tg = 90)",
		},
		"a level": {
			was("levels.benchmark == 'pass'"),
			was("levels.benchmark == 'pass' && w.tg.gain > 0"), feature, "",
		},
		"a level no more": {
			was("levels.benchmark == 'pass'"), was("w.tg.gain > 0"), feature,
			"levels.benchmark == 'pass' → no longer required",
		},
		"accepted by less": {
			[3]string{"accept = [\"c\", \"d\"]\n" + criterion("w.tg.gain > 0") + "\n" +
				`criterion "d" { rule = "w.e2e.gain > 0" }`, "", usual},
			[3]string{"accept = [\"c\"]\n" + criterion("w.tg.gain > 0") + "\n" +
				`criterion "d" { rule = "w.e2e.gain > 0" }`, "", usual},
			feature,
			"w.e2e.gain > 0 → no longer required",
		},
		"the gate": {
			asked("w.tg.gain > 0"), asked("w.tg.gain > -0.5"), phase,
			"w.tg.gain > 0 → w.tg.gain > -0.5",
		},
		"the gate is not asked": {asked("w.tg.gain > 0"), asked("w.tg.gain > -0.5"), feature, ""},
		"a rule of the gate": {
			asked("w.tg.gain > 0", "w.e2e.gain > 0"), asked("w.e2e.gain > 0.1"), phase,
			"w.tg.gain > 0 → no longer required",
		},
		"two rules in one": {
			asked("w.tg.gain > 0", "w.e2e.gain > 0"), asked("w.e2e.gain > 0 && w.tg.gain > 0"),
			phase, "",
		},
		"acceptance": {
			asked("w.tg.gain > 0", "feature['f'].accepted"), asked("w.tg.gain > 0"), phase,
			"feature[\"f\"].accepted → no longer required",
		},
		"no gate any more": {
			asked("w.tg.gain > 0"),
			[3]string{criterion("w.tg.gain > 0"), "", usual},
			phase,
			"w.tg.gain > 0 → no longer required",
		},
		"a gate instead": {
			[3]string{criterion("w.tg.gain > 0"), "", usual},
			asked("w.tg.gain > -0.5"), phase,
			"feature f passes → no longer required",
		},
		"an easier pass": {
			set("false_pass = 0.01"), set("false_pass = 0.05"), feature,
			"false_pass was 0.01, now 0.05",
		},
		"an easier pass at last": {
			set("false_pass = 0.01"), set("false_pass = 0.05"), phase,
			"false_pass was 0.01, now 0.05",
		},
		"a harder pass": {set("false_pass = 0.05"), set("false_pass = 0.01"), feature, ""},
		"a harder fail": {
			set("false_fail = 0.1"), set("false_fail = 0.05"), feature,
			"false_fail was 0.1, now 0.05",
		},
		"an easier fail": {set("false_fail = 0.05"), set("false_fail = 0.1"), feature, ""},
		"a first look at two": {
			set("launches = { min = 3, max = 8 }"), set("launches = { min = 2, max = 8 }"),
			feature, "",
		},
		"another first look": {
			set("launches = { min = 4, max = 8 }"), set("launches = { min = 3, max = 8 }"),
			feature, "the first look was at 4 launches per arm, now at 3",
		},
		"more launches": {
			set("launches = { min = 4, max = 6 }"), set("launches = { min = 4, max = 8 }"),
			feature, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, now := asking(t, c.was[0], c.was[1], c.was[2]), asking(t, c.is[0], c.is[1], c.is[2])
			known := ledgerOf{
				{Run: "1", RunStart: &ledger.RunStart{Goals: Goals(before)}},
				{Run: "1", Launch: &ledger.Launch{ID: "s.f.1", Session: "s", Variant: "f", VariantKey: "f"}},
				{Run: "2", RunStart: &ledger.RunStart{Goals: Goals(now)}},
				{Run: "2", Launch: &ledger.Launch{ID: "s.f.2", Session: "s", Variant: "f", VariantKey: "f"}},
			}
			seen := []gates.Feature{{Name: "f", Session: "s", Candidate: gates.ArmOf("f", "s.f.2")}}
			must.Equal(t, "relaxed",
				verdict.Semicolons((&View{Record: known, Goals: Goals(now)}).relaxed(c.node, seen)),
				c.want)
		})
	}
}

// TestWhoseLaunches: launches are judged by what was required of them, whichever feature or
// phase has them now, and numbers that were found by what was required of their launch.
func TestWhoseLaunches(t *testing.T) {
	asks := func(feature string, threshold float64) ledger.Goal {
		metric := feature + " w.tg median  change"
		return ledger.Goal{Compares: []ledger.Compare{{
			Text: fmt.Sprint(feature, " >= ", threshold), Metric: metric,
			Reads: []string{feature}, AtLeast: true, Threshold: threshold,
		}}}
	}
	type goals map[string]ledger.Goal
	for name, c := range map[string]struct {
		then, now goals
		node      string
		feature   string
		found     bool
		relaxed   bool
	}{
		"renamed": {
			goals{"feature.a": asks("a", 10)},
			goals{"feature.b": asks("b", 10)},
			"feature.b",
			"b", false, false,
		},
		"renamed and easier": {
			goals{"feature.a": asks("a", 10)},
			goals{"feature.b": asks("b", 5)},
			"feature.b",
			"b", false, true,
		},
		"swapped": {
			goals{"feature.a": asks("a", 10), "feature.b": asks("b", 0)},
			goals{"feature.a": asks("a", 10), "feature.b": asks("b", 0)},
			"feature.b", "b", false, true,
		},
		"a gate of both names": {
			goals{"phase.p": asks("a", 10), "phase.q": asks("a", 0)},
			goals{"phase.p": asks("a", 5), "phase.q": asks("a", 0)},
			"phase.q", "a", false, false,
		},
		"handed over": {
			goals{"phase.p": asks("a", 10)},
			goals{"phase.p": asks("g", 0), "phase.q": asks("a", 0)},
			"phase.q", "a", false, true,
		},
		"also read": {
			goals{"phase.p": asks("a", 10)},
			goals{"phase.p": asks("a", 10), "phase.q": asks("a", 0)},
			"phase.q", "a", false, false,
		},
		"found": {
			goals{"feature.a": asks("a", 10)},
			goals{"feature.a": asks("a", 5)},
			"feature.a",
			"a", true, true,
		},
		"found, as is": {
			goals{"feature.a": asks("a", 10)},
			goals{"feature.a": asks("a", 10)},
			"feature.a",
			"a", true, false,
		},
	} {
		known := ledgerOf{
			{Run: "1", RunStart: &ledger.RunStart{Goals: c.then}},
			{Run: "1", Launch: &ledger.Launch{ID: "x", Session: "s", Variant: "a", VariantKey: "key"}},
			{Run: "2", RunStart: &ledger.RunStart{Goals: c.now}},
		}
		ev := gates.Feature{Name: c.feature, Session: "s", Candidate: gates.ArmOf(c.feature, "x")}
		if c.found {
			ev.Session, ev.Candidate.Launches, ev.Candidate.Qualified = "", nil, gates.Launch{ID: "x"}
		}
		if got := (&View{Record: known, Goals: c.now}).relaxed(c.node, []gates.Feature{ev}); len(got) > 0 != c.relaxed {
			t.Errorf("%s: relaxed %v, want %v", name, got, c.relaxed)
		}
	}
}

// TestSeenBefore: what counts is what the run asked that launched the candidate first,
// under whatever name, and that nobody passed by that.
func TestSeenBefore(t *testing.T) {
	strict, lax := Goals(asking(t, criterion("w.tg.gain > 0"), "", "")),
		Goals(asking(t, criterion("w.tg.gain > -0.5"), "", ""))
	run := func(id string, goals map[string]ledger.Goal) *ledger.Record {
		return &ledger.Record{Run: id, RunStart: &ledger.RunStart{Goals: goals}}
	}
	launch := func(run, id, session, variant string) *ledger.Record {
		return &ledger.Record{
			Run:    run,
			Launch: &ledger.Launch{ID: id, Session: session, Variant: variant, VariantKey: "key of f"},
		}
	}
	decided := func(v verdict.Verdict) *ledger.Record {
		return &ledger.Record{Decision: &ledger.Decision{
			Node: "feature.f", Kind: ledger.KindFeature, Verdict: v,
			Evidence: []gates.Feature{{Name: "f", Session: "s", Candidate: gates.Arm{Name: "f"}}},
		}}
	}
	renamed := map[string]ledger.Goal{"feature.g": strict["feature.f"]}
	for name, c := range map[string]struct {
		known ledgerOf
		want  code.Kind
	}{
		"launched under the rule of today": {
			ledgerOf{run("1", strict), run("2", lax), launch("2", "x", "s", "f")},
			"",
		},
		"launched under a stricter one": {
			ledgerOf{run("1", strict), launch("1", "x", "s", "f"), run("2", lax)},
			"relaxed.demand",
		},
		"begun under a stricter one": {ledgerOf{
			run("1", strict), launch("1", "w", "s", "f"), run("2", lax),
			launch("2", "x", "s", "f"),
		}, "relaxed.demand"},
		"another session was": {ledgerOf{
			run("1", strict), launch("1", "w", "r", "f"), run("2", lax),
			launch("2", "x", "s", "f"),
		}, ""},
		"it had another name": {
			ledgerOf{run("1", renamed), launch("1", "x", "s", "g"), run("2", lax)},
			"relaxed.demand",
		},
		"it was in no plan": {
			ledgerOf{run("1", renamed), launch("1", "x", "s", "h"), run("2", lax)},
			"relaxed.unrecorded",
		},
		"without what it required": {ledgerOf{
			run("1", map[string]ledger.Goal{"feature.f": {First: 4}}),
			launch("1", "x", "s", "f"), run("2", lax),
		}, "relaxed.unrecorded"},
		"by an mxflow that did not record it": {
			ledgerOf{run("1", nil), launch("1", "x", "s", "f"), run("2", lax)},
			"relaxed.unrecorded",
		},
		"and failed": {ledgerOf{
			run("1", strict), launch("1", "x", "s", "f"),
			decided(verdict.Fail), run("2", lax),
		}, "relaxed.demand"},
		"and passed": {ledgerOf{
			run("1", strict), launch("1", "x", "s", "f"),
			decided(verdict.Pass), run("2", lax),
		}, ""},
		"launched where nothing was recorded": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := (&View{Record: c.known, Goals: lax}).relaxed("feature.f",
				[]gates.Feature{{Name: "f", Session: "s", Candidate: gates.ArmOf("f", "x")}})
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || got[0].Kind != c.want) {
				t.Errorf("relaxed: %v, want %q", got, c.want)
			}
		})
	}
}

// TestSamePhaseByAnotherName: whoever renames a phase with its gate has moved nothing.
func TestSamePhaseByAnotherName(t *testing.T) {
	goals := func(rule string) map[string]ledger.Goal {
		return Goals(asking(t, criterion("w.tg.gain > 0"), gate(rule), ""))
	}
	known := ledgerOf{
		{Run: "1", RunStart: &ledger.RunStart{Goals: goals("w.tg.gain > 0")}},
		{Run: "1", Launch: &ledger.Launch{ID: "x", Session: "s", Variant: "f", VariantKey: "f"}},
	}
	seen := []gates.Feature{{Name: "f", Session: "s", Candidate: gates.ArmOf("f", "x")}}
	for rule, relaxed := range map[string]int{"w.tg.gain > 0": 0, "w.tg.gain > -0.5": 1} {
		now := goals(rule)
		now["phase.two"] = now["phase.one"]
		delete(now, "phase.one")
		if got := (&View{Record: known, Goals: now}).relaxed("phase.two", seen); len(got) != relaxed || relaxed > 0 &&
			got[0].Kind != "relaxed.demand" {
			t.Errorf("with another name and %s: %v", rule, got)
		}
	}
}

// TestPreferMoved: who picks another alternative once all were seen has not measured it, even
// where that passed.
func TestPreferMoved(t *testing.T) {
	goals := func(prefer string) map[string]ledger.Goal {
		return map[string]ledger.Goal{runtime.FeatureID("f[a]"): {
			Compares: []ledger.Compare{{Text: "levels.smoke == 'pass'"}}, First: 4, Alternatives: 2, Prefer: prefer,
		}}
	}
	known := ledgerOf{
		{Run: "1", RunStart: &ledger.RunStart{Goals: goals("chat.tg")}},
		{Run: "1", Launch: &ledger.Launch{ID: "l", Session: "s", Variant: "f[a]", VariantKey: "k"}},
		{Run: "1", Decision: &ledger.Decision{
			Kind: ledger.KindFeature, Verdict: verdict.Pass,
			Alternatives: []ledger.Alternative{{Name: "f[a]", Verdict: verdict.Pass}},
			Evidence:     []gates.Feature{{Session: "s", Candidate: gates.Arm{Name: "f[a]"}}},
		}},
	}
	seen := []gates.Feature{{Name: "f", Session: "s", Candidate: gates.ArmOf("f[a]", "l")}}
	for prefer, want := range map[string]int{"chat.tg": 0, "chat.pp": 1} {
		if got := (&View{Record: known, Goals: goals(prefer)}).relaxed(runtime.FeatureID("f[a]"),
			seen); len(got) != want {
			t.Errorf("prefer %s: %+v, want %d", prefer, got, want)
		}
	}
}
