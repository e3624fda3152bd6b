package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAuditReplayWithChangedPlan(t *testing.T) {
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
		{"too few launches", planWith(tenPercent, "chat.tg.gain >= 0.205"), 3, []string{"inconclusive", "4 launches an arm were made, and more would be needed (up to 8)"}},
		{"a feature that fails", planWith("chat.tg.gain >= 0.30", `feature[\"routed\"].accepted`), 2, []string{"feature.routed  pass      fail", "phase.experts   pass      fail"}},
		{"what was not measured", planWith(tenPercent, "engine.startup_s <= 60"), 3, []string{"launch s-1.routed.1 has no engine.startup_s"}},
		{"stricter error rates", strings.Replace(same, "engine \"embedded\"", "decision {\n  launches = { min = 3, max = 4 }\n}\nengine \"embedded\"", 1), 0, nil},
		{"another workload", strings.Replace(same, "prompt_tokens = 64", "prompt_tokens = 65", 1), 2, []string{"invalid", "workload chat", "only an apply can tell"}},
		{"another environment", strings.Replace(same, `MXFLOW_EMBEDDED_MOE = "routed"`, `MXFLOW_EMBEDDED_MOE = "dense"`, 1), 2, []string{"invalid", "knob moe = routed"}},
		{"another level", strings.Replace(same, `expect = "Paris"`, `expect = "Rome"`, 1), 2, []string{"invalid", "level smoke of routed", "only an apply can tell"}},
		{"another proof", strings.Replace(same, "*routed experts*", "*MXFP4 experts*", 1), 2, []string{"invalid", "knob moe = routed", "only an apply can tell"}},
		{"another parent", strings.Replace(strings.Replace(same, `default = "all"`, `default = "dense"`, 1), "  value \"routed\"", "  value \"dense\" {\n    env = { MXFLOW_EMBEDDED_MOE = \"dense\" }\n    must_see { log = [\"*dense*\"] }\n  }\n  value \"routed\"", 1), 2, []string{"invalid", "baseline", "parent of routed"}},
		{"what it has nothing to do with", strings.Replace(same, `engine "embedded" "tiny" {}`, "engine \"embedded\" \"tiny\" {}\nengine \"embedded\" \"wide\" {}", 1), 0, nil},
		{"a level alone, of another start", strings.Replace(planWith("levels.smoke == 'pass'", "levels.smoke == 'pass'"), `MXFLOW_EMBEDDED_MOE = "routed"`, `MXFLOW_EMBEDDED_MOE = "dense"`, 1), 2, []string{"feature.routed  pass      invalid", "phase.experts   pass      invalid", "knob moe = routed"}},
		{"a phase behind one that fails", planWith(tenPercent, "chat.tg.gain >= 0.30") + behind, 2, []string{"phase.experts  pass  fail", "phase.next  –  locked  an apply would not come to it, because phase.experts would be fail"}},
		{"what is locked counts for nothing", planWith("chat.tg.gain >= 0.30", "chat.tg.gain >= 0.205") + behind, 3, []string{"phase.experts  pass  inconclusive", "phase.next  –  locked  an apply would not come to it, because phase.experts would be inconclusive"}},
		{"a mistake", strings.Replace(same, "chat.tg.gain", "chat.tq.gain", 1), 1, []string{"Nothing was started"}},
		{"another plan", strings.Replace(same, `plan "port"`, `plan "other"`, 1), 1, []string{"give the changed plan the same name"}},
	}
	s := newRecordedState(t)
	s.apply(same, nil)
	once(s)
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
		{"metrics", planWith(tenPercent, tenPercent), nil, 3, []string{"feature.routed  pass      inconclusive", "phase.experts   pass      inconclusive", "give var.least as it was then"}},
		{"levels", levels, nil, 3, []string{"feature.routed  pass      inconclusive", "phase.experts   pass      inconclusive", "give var.least as it was then"}},
		{"a fail", planWith("chat.tg.gain >= 0.30", tenPercent), nil, 3, []string{"feature.routed  pass      fail", "phase.experts   pass      inconclusive"}},
		{"the variable given again", plan, []string{"--var", "least=0.1"}, 0, []string{"Every gate of the changed plan would have passed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newRecordedState(t)
			s.sealed = true
			s.apply(recorded, map[string]string{"least": "0.10"})
			once(s)
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
	s.apply(measured, nil)
	once(s)
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
