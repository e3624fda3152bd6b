package main

import (
	"strings"
	"testing"
)

// What a changed plan asks for besides what was measured, an apply would measure:
// nothing passes or fails by what there is.
func TestChangedPlanThatAsksForMore(t *testing.T) {
	same := planWith(tenPercent, tenPercent)
	change := func(pairs ...string) string {
		t.Helper()
		plan := same
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(plan, pairs[i]) {
				t.Fatalf("%q is not in the plan", pairs[i])
			}
			plan = strings.Replace(plan, pairs[i], pairs[i+1], 1)
		}
		return plan
	}
	const (
		smoke     = "  level \"smoke\" { expect = \"Paris\" }\n"
		kernels   = "  level \"kernels\" {}\n"
		gate      = "  gate {"
		benchmark = "  level \"benchmark\" {\n    workloads = [workload.chat]\n  }\n"
		sends     = "workloads = [workload.chat]"
		workload  = "workload \"chat\""
		long      = "workload \"long\" {\n  prompt_tokens = 128\n  output_tokens = 33\n}\n" + workload
		phase     = "phase \"experts\" {"
		knob      = "knob \"moe\""
		feature   = "  feature \"other\" {\n    set = { kv = \"on\" }\n    criterion \"faster\" {\n      rule = \"chat.tg.gain >= 0.10\"\n    }\n  }\n"
		kv        = "knob \"kv\" {\n  default = \"off\"\n  value \"off\" {\n    must_not_see { log = [\"*kv*\"] }\n  }\n  value \"on\" {\n    env = { KV = \"1\" }\n    must_see { log = [\"*kv*\"] }\n  }\n}\n" + knob
	)
	two := []string{"expr = \"chat.tg", "expr = \"feature[\\\"routed\\\"].chat.tg"}
	for _, tt := range []struct {
		name string
		// recorded is the plan that was applied, where that is not the usual one.
		recorded, plan string
		exit           int
		want           []string
		not            string
	}{
		{"the same", "", same, 0, []string{"would have passed"}, "never measured"},
		{"a workload more", "", change(workload, long, sends, "workloads = [workload.chat, workload.long]"), 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive", "never measured (workload long): an apply would measure it"}, ""},
		{"a workload more, and a rule that fails", "", change(workload, long, sends, "workloads = [workload.chat, workload.long]", "gain >= 0.10", "gain >= 0.90"), 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive"}, "pass fail"},
		{"another workload in its place", "", change(workload, long, sends, "workloads = [workload.long]", "chat.tg", "long.tg", "chat.tg", "long.tg"), 2, []string{"feature.routed pass invalid", "workload chat"}, ""},
		{"a workload less", change(workload, long, sends, "workloads = [workload.chat, workload.long]"), same, 2, []string{"feature.routed pass invalid", "something else than was measured (workload long)"}, ""},
		{"a level before", change(smoke, ""), same, 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive", "never measured (level smoke of the baseline, level smoke of routed): an apply would measure it"}, ""},
		{"a level before, read alone", change(smoke, "", tenPercent, "levels.kernels == 'pass'", tenPercent, "levels.kernels == 'pass'"), change(tenPercent, "levels.kernels == 'pass'", tenPercent, "levels.kernels == 'pass'"), 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive"}, ""},
		{"a benchmark after the levels", change(benchmark, "", tenPercent, "levels.smoke == 'pass'", tenPercent, "levels.smoke == 'pass'"), change(tenPercent, "levels.smoke == 'pass'", tenPercent, "levels.smoke == 'pass'"), 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive", "never measured (level benchmark of routed, workload chat)"}, ""},
		{"no level before", "", change(kernels, ""), 2, []string{"feature.routed pass invalid", "level kernels of routed"}, ""},
		{"levels the other way round", "", change(smoke+kernels, kernels+smoke), 2, []string{"the order of levels or workloads"}, ""},
		{"fewer launches", "", change(sends, sends+"\n    launches = 3"), 3, []string{"3 launches an arm cannot tell"}, "4 launches an arm,"},
		{"more launches", "", change(sends, sends+"\n    launches = 12"), 0, []string{"would have passed"}, ""},
		{"more launches than there are", "", change(sends, sends+"\n    launches = 12", "gain >= 0.10", "gain >= 0.205", "gain >= 0.10", "gain >= 0.205"), 3, []string{"phase.experts pass inconclusive", "more would be needed (up to 12)"}, ""},
		{"more launches for a feature that no gate reads", "", change("gain >= 0.10", "gain >= 0.205"), 0, []string{"feature.routed pass inconclusive", "What would have become of feature.routed is not known."}, ""},
		{"a criterion on what was recorded", "", change("feature \"routed\" {", "feature \"routed\" {\n    criterion \"memory\" {\n      rule = \"engine.memory_gb <= 4\"\n    }"), 0, []string{"memory: pass"}, ""},
		{"a criterion on what was not recorded", "", change("feature \"routed\" {", "feature \"routed\" {\n    criterion \"start\" {\n      rule = \"engine.startup_s <= 60\"\n    }", "expr = \"chat.tg.gain >= 0.10", "expr = \"feature[\\\"routed\\\"].accepted"), 3, []string{"feature.routed pass inconclusive", "has no engine.startup_s"}, ""},
		{"a feature more, with its knob", "", change(append(two, knob, kv, phase, phase+"\n"+feature)...), 3, []string{"feature.other – inconclusive it was never measured", "feature.routed pass inconclusive", "never measured (knob kv = off)"}, ""},
		{"a feature more, whose knob changes nothing else", change(kernels, ""), change(append(two, knob, strings.Replace(kv, "must_not_see { log = [\"*kv*\"] }", "", 1), gate, feature+gate, kernels, "")...), 3, []string{"feature.other – inconclusive it was never measured", "feature.routed pass pass", "phase.experts pass pass", "Every gate of the changed plan would have passed, but feature.other was never measured, so that an apply would measure first: inconclusive."}, "Not every gate"},
		{"a feature less", change(append(two, knob, kv, gate, feature+gate)...), same, 0, []string{"feature.routed pass pass", "phase.experts pass pass"}, "feature.other"},
		{"a phase by another name", "", change(phase, "phase \"moe\" {"), 0, []string{"phase.moe – pass"}, ""},
		{"a step more", "", change(phase, phase+"\n  step \"exec\" \"build\" {\n    command = [\"true\"]\n  }\n"), 3, []string{"phase.experts pass inconclusive step exec build was never run"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newRecordedState(t)
			if tt.recorded == "" {
				tt.recorded = same
			}
			s.apply(tt.recorded, nil)
			once(s)
			if said := s.replaysWith(t, tt.plan, tt.exit, tt.want); tt.not != "" && strings.Contains(said, tt.not) {
				t.Errorf("%q is said in %s", tt.not, said)
			}
		})
	}
}
