package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestReplayChangedSaysWhatItCannotCompare: sensitive variables are in no record, so that what was started may not be what the recorded plan says now.
func TestReplayChangedSaysWhatItCannotCompare(t *testing.T) {
	plan := strings.NewReplacer(
		"prompt_tokens = 64", "prompt_tokens = var.tokens",
		"engine \"embedded\"", "variable \"tokens\" {\n  type = number\n  default = 32\n}\nengine \"embedded\"",
	).Replace(planWith(tenPercent, tenPercent))
	s := newRecordedState(t)
	s.block = "embedded.tiny"
	s.sealed = true
	s.apply(plan, map[string]string{"tokens": "64"})
	once(s)
	s.measured("s-1")
	path := filepath.Join(t.TempDir(), "changed.hcl")
	if err := os.WriteFile(path, []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, given := range [][]string{nil, {"--var", "tokens=64"}} {
		_, out, errs := mxflow(append([]string{"audit", "replay", "--state", s.dir, "--plan", path}, given...)...)
		if said := strings.Contains(evenly(out), "(var.tokens)"); said != (given == nil) {
			t.Errorf("with %q: it says so: %v\n%s%s", given, said, out, errs)
		}
	}
}

// TestReplayChangedSaysWhatWasRetracted: launches that a person took back are still
// what another plan would have decided by, and no apply would let them pass.
func TestReplayChangedSaysWhatWasRetracted(t *testing.T) {
	plan := planWith(tenPercent, tenPercent)
	s := newRecordedState(t)
	s.block = "embedded.tiny"
	s.apply(plan, nil)
	once(s)
	s.measured("s-1")
	d, _, _ := s.st.Latest("feature.routed")
	s.append(&ledger.Record{Type: "decision", Decision: d.Withdraw(ledger.Retraction{Node: d.Node, Reason: "wrong prompts", By: "kim"})})
	path := filepath.Join(t.TempDir(), "changed.hcl")
	if err := os.WriteFile(path, []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	_, out, errs := mxflow("audit", "replay", "--state", s.dir, "--plan", path)
	if want := "retracted by kim: wrong prompts: apply does not let these launches pass again"; !strings.Contains(evenly(out), want) {
		t.Errorf("%q is missing\n%s%s", want, out, errs)
	}
}

// What a changed plan asks for besides what was measured, an apply would measure:
// nothing passes or fails by what there is.
func TestChangedPlanThatAsksForMore(t *testing.T) {
	t.Parallel()
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
		{"a workload more", "", change(workload, long, sends, "workloads = [workload.chat, workload.long]"), 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive", "never measured (workload long): apply would measure it"}, ""},
		{"a workload more, and a rule that fails", "", change(workload, long, sends, "workloads = [workload.chat, workload.long]", "gain >= 0.10", "gain >= 0.90"), 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive"}, "pass fail"},
		{"another workload in its place", "", change(workload, long, sends, "workloads = [workload.long]", "chat.tg", "long.tg", "chat.tg", "long.tg"), 2, []string{"feature.routed pass invalid", "workload chat"}, ""},
		{"a workload less", change(workload, long, sends, "workloads = [workload.chat, workload.long]"), same, 2, []string{"feature.routed pass invalid", "something other than what was measured (workload long)"}, ""},
		{"a level before", change(smoke, ""), same, 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive", "never measured (level smoke of the baseline, level smoke of routed): apply would measure it"}, ""},
		{"a level before, read alone", change(smoke, "", tenPercent, "levels.kernels == 'pass'", tenPercent, "levels.kernels == 'pass'"), change(tenPercent, "levels.kernels == 'pass'", tenPercent, "levels.kernels == 'pass'"), 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive"}, ""},
		{"a benchmark after the levels", change(benchmark, "", tenPercent, "levels.smoke == 'pass'", tenPercent, "levels.smoke == 'pass'"), change(tenPercent, "levels.smoke == 'pass'", tenPercent, "levels.smoke == 'pass'"), 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive", "never measured (workload chat)"}, ""},
		{"no level before", "", change(kernels, ""), 2, []string{"feature.routed pass invalid", "level kernels of routed"}, ""},
		{"fewer launches", "", change(sends, sends+"\n    launches = 3"), 3, []string{"3 launches per arm: a verdict needs 4"}, "4 launches per arm,"},
		{"more launches", "", change(sends, sends+"\n    launches = 12"), 0, []string{"would have passed"}, ""},
		{"more launches than there are", "", change(sends, sends+"\n    launches = 12", "gain >= 0.10", "gain >= 0.205", "gain >= 0.10", "gain >= 0.205"), 3, []string{"phase.experts pass inconclusive", "4 of up to 12 launches per arm"}, ""},
		{"more launches for a feature that no gate reads", "", change("gain >= 0.10", "gain >= 0.205"), 0, []string{"feature.routed pass inconclusive", "The outcome of feature.routed is unknown."}, ""},
		{"a criterion on what was recorded", "", change("feature \"routed\" {", "feature \"routed\" {\n    criterion \"memory\" {\n      rule = \"engine.memory_gb <= 4\"\n    }"), 0, []string{"memory: pass"}, ""},
		{"a criterion on what was not recorded", "", change("feature \"routed\" {", "feature \"routed\" {\n    criterion \"start\" {\n      rule = \"engine.startup_s <= 60\"\n    }", "expr = \"chat.tg.gain >= 0.10", "expr = \"feature[\\\"routed\\\"].accepted"), 3, []string{"feature.routed pass inconclusive", "has no engine.startup_s"}, ""},
		{"a feature more, with its knob", "", change(append(two, knob, kv, phase, phase+"\n"+feature)...), 3, []string{"feature.other – inconclusive it was never measured", "feature.routed pass inconclusive", "never measured (knob kv = off)"}, ""},
		{"a feature more, whose knob changes nothing else", change(kernels, ""), change(append(two, knob, strings.Replace(kv, "must_not_see { log = [\"*kv*\"] }", "", 1), gate, feature+gate, kernels, "")...), 3, []string{"feature.other – inconclusive it was never measured", "feature.routed pass pass", "phase.experts pass pass", "Every gate of the changed plan would have passed, but no run measured feature.other, so an apply would measure first: inconclusive."}, "Not every gate"},
		{"a feature less", change(append(two, knob, kv, gate, feature+gate)...), same, 0, []string{"feature.routed pass pass", "phase.experts pass pass"}, "feature.other"},
		{"a phase by another name", "", change(phase, "phase \"moe\" {"), 0, []string{"phase.moe – pass"}, ""},
		{"a step more", "", change(phase, phase+"\n  step \"exec\" \"build\" {\n    command = [\"true\"]\n  }\n"), 3, []string{"phase.experts pass inconclusive", "step exec build was never run"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newRecordedState(t)
			s.block = "embedded.tiny"
			if tt.recorded == "" {
				tt.recorded = same
			}
			s.apply(tt.recorded, nil)
			once(s)
			s.measured("s-1")
			if said := s.replaysWith(t, tt.plan, tt.exit, tt.want); tt.not != "" && strings.Contains(said, tt.not) {
				t.Errorf("%q is said in %s", tt.not, said)
			}
		})
	}
}

func TestAuditReplayWithChangedPlan(t *testing.T) {
	t.Parallel()
	same := planWith(tenPercent, tenPercent)
	const behind = "\nphase \"next\" {\n  after = [phase.experts]\n  gate {\n    rule \"it is in\" {\n      expr = \"feature[\\\"routed\\\"].accepted\"\n    }\n  }\n}\n"
	tests := []struct {
		name, plan string
		exit       int
		want       []string
	}{
		{"the same", same, 0, []string{"phase.experts   pass      pass", "Every gate of the changed plan would have passed"}},
		{"less is asked for", planWith("chat.tg.gain >= 0.05", "chat.tg.gain >= -0.03"), 0, []string{"would have passed"}},
		{"more than there is", planWith(tenPercent, "chat.tg.gain >= 0.30"), 2, []string{"phase.experts   pass      fail"}},
		{"too few launches", planWith(tenPercent, "chat.tg.gain >= 0.205"), 3, []string{"inconclusive", "4 of up to 8 launches per arm"}},
		{"a feature that fails", planWith("chat.tg.gain >= 0.30", `feature[\"routed\"].accepted`), 2, []string{"feature.routed  pass      fail", "phase.experts   pass      fail"}},
		{"what was not measured", planWith(tenPercent, "engine.startup_s <= 60"), 3, []string{"launch s-1.routed.1 has no engine.startup_s"}},
		{"stricter error rates", strings.Replace(same, "engine \"embedded\"", "decision {\n  launches = { min = 3, max = 4 }\n}\nengine \"embedded\"", 1), 0, nil},
		{"another workload", strings.Replace(same, "prompt_tokens = 64", "prompt_tokens = 65", 1), 2, []string{"invalid", "workload chat", "only apply can tell"}},
		{"another environment", strings.Replace(same, `MXFLOW_EMBEDDED_MOE = "routed"`, `MXFLOW_EMBEDDED_MOE = "dense"`, 1), 2, []string{"invalid", "knob moe = routed"}},
		{"another level", strings.Replace(same, `expect = "Paris"`, `expect = "Rome"`, 1), 2, []string{"invalid", "level smoke of routed", "only apply can tell"}},
		{"another proof", strings.Replace(same, "*routed experts*", "*MXFP4 experts*", 1), 2, []string{"invalid", "knob moe = routed", "only apply can tell"}},
		{"another parent", strings.Replace(strings.Replace(same, `default = "all"`, `default = "dense"`, 1), "  value \"routed\"", "  value \"dense\" {\n    env = { MXFLOW_EMBEDDED_MOE = \"dense\" }\n    must_see { log = [\"*dense*\"] }\n  }\n  value \"routed\"", 1), 3, []string{"never measured (variant baseline, knob moe = dense)"}},
		{"what it has nothing to do with", strings.Replace(same, `engine "embedded" "tiny" {}`, "engine \"embedded\" \"tiny\" {}\nengine \"embedded\" \"wide\" {}", 1), 0, nil},
		{"a level alone, of another start", strings.Replace(planWith("levels.smoke == 'pass'", "levels.smoke == 'pass'"), `MXFLOW_EMBEDDED_MOE = "routed"`, `MXFLOW_EMBEDDED_MOE = "dense"`, 1), 2, []string{"feature.routed  pass      invalid", "phase.experts   pass      invalid", "knob moe = routed"}},
		{"a phase behind one that fails", planWith(tenPercent, "chat.tg.gain >= 0.30") + behind, 2, []string{"phase.experts  pass  fail", "phase.next  –  locked  apply would not reach it: phase.experts would fail"}},
		{"what is locked counts for nothing", planWith("chat.tg.gain >= 0.30", "chat.tg.gain >= 0.205") + behind, 3, []string{"phase.experts  pass  inconclusive", "phase.next  –  locked  apply would not reach it: phase.experts would be inconclusive"}},
		{"a mistake", strings.Replace(same, "chat.tg.gain", "chat.tq.gain", 1), 1, []string{"Nothing was started"}},
		{"another plan", strings.Replace(same, `plan "port"`, `plan "other"`, 1), 1, []string{"give the changed plan the same name"}},
	}
	s := newRecordedState(t)
	s.block = "embedded.tiny"
	s.apply(same, nil)
	once(s)
	s.measured("s-1")
	before := contents(t, s.dir)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.replaysWith(t, tt.plan, tt.exit, tt.want)
		})
	}
	if after := contents(t, s.dir); after != before {
		t.Error("something was written")
	}
}

// What was measured is not known without the plan that it was measured by, so that
// nothing passes by another one either.
func TestChangedPlanBesideOneThatIsGone(t *testing.T) {
	const variable = "variable \"least\" {\n  type = number\n}\nengine \"embedded\""
	plan := strings.Replace(planWith(tenPercent, tenPercent), "engine \"embedded\"", variable, 1)
	recorded := strings.Replace(plan, "gain >= 0.10", "gain >= ${var.least}", 1)
	levels := planWith("levels.smoke == 'pass'", "levels.smoke == 'pass'")
	for _, tt := range []struct {
		name, plan string
		args       []string
		exit       int
		want       []string
	}{
		{"metrics", planWith(tenPercent, tenPercent), nil, 3, []string{"feature.routed  pass      inconclusive", "phase.experts   pass      inconclusive", "give the same var.least"}},
		{"levels", levels, nil, 3, []string{"feature.routed  pass      inconclusive", "phase.experts   pass      inconclusive", "give the same var.least"}},
		{"a fail", planWith("chat.tg.gain >= 0.30", tenPercent), nil, 3, []string{"feature.routed  pass      inconclusive", "phase.experts   pass      inconclusive"}},
		{"the variable given again", plan, []string{"--var", "least=0.1"}, 0, []string{"Every gate of the changed plan would have passed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newRecordedState(t)
			s.block = "embedded.tiny"
			s.sealed = true
			s.apply(recorded, map[string]string{"least": "0.1"})
			once(s)
			s.measured("s-1")
			s.replaysWith(t, tt.plan, tt.exit, tt.want, tt.args...)
		})
	}
}

// A plan that was applied last, but stopped before it measured anything, is not what
// stands was measured by.
func TestChangedPlanThatWasBegun(t *testing.T) {
	measured := planWith(tenPercent, tenPercent)
	begun := strings.Replace(measured, "prompt_tokens = 64", "prompt_tokens = 65", 1)
	s := newRecordedState(t)
	s.block = "embedded.tiny"
	s.apply(measured, nil)
	once(s)
	s.measured("s-1")
	s.apply(begun, nil)
	for plan, want := range map[string]int{measured: 0, begun: 2} {
		path := filepath.Join(t.TempDir(), "changed.hcl")
		if err := os.WriteFile(path, []byte(plan), 0o644); err != nil {
			t.Fatal(err)
		}
		if exit, out, errs := mxflow("audit", "replay", "--state", s.dir, "--plan", path); exit != want {
			t.Errorf("exit status %d, want %d\n%s%s", exit, want, out, errs)
		}
	}
}

// contents are the names and bytes of all files in a folder.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.WriteString(path + "\n" + string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// What an apply of the changed plan would go on with, or would not come to before
// something else, is decided neither way.
func TestChangedPlanThatWaits(t *testing.T) {
	same := planWith(tenPercent, tenPercent)
	const step = "phase \"experts\" {\n  step \"exec\" \"build\" {\n    command = [\"true\"]\n  }\n"
	for _, tt := range []struct {
		name, recorded, plan string
		candidate            []float64
		exit                 int
		want                 []string
	}{
		{
			"more launches for what was inconclusive, which a gate reads", same,
			strings.Replace(planWith(tenPercent, `feature[\"routed\"].accepted`), "workloads = [workload.chat]", "workloads = [workload.chat]\n    launches = 12", 1), noisyGain, 3,
			[]string{"feature.routed inconclusive inconclusive", "the outcome of feature routed is unknown"},
		},
		{
			"a step before", same, strings.Replace(same, "phase \"experts\" {", step, 1), clearGain, 3,
			[]string{"feature.routed pass locked apply would not reach it: phase.experts.step.exec.build would be inconclusive", "phase.experts pass inconclusive", "step exec build was never run"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newRecordedState(t)
			s.block = "embedded.tiny"
			s.apply(tt.recorded, nil)
			s.session("s-1", steadyBase, tt.candidate)
			s.decide("s-1")
			s.measured("s-1")
			s.replaysWith(t, tt.plan, tt.exit, tt.want)
		})
	}
}
