package session

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestResumeReason: whether launches continue an earlier session, case by case. The first
// case that holds decides.
func TestResumeReason(t *testing.T) {
	for _, c := range []struct {
		name    string
		earlier earlier
		resume  bool
	}{
		{"none", earlier{}, false},
		{"cut", earlier{id: "s"}, true},
		{"complete", earlier{id: "s", complete: true}, true},
		{"begun by this apply, whatever else", earlier{
			id: "s", begun: true, broke: true, relaxed: true, asked: true,
			invalid: true, rebooted: true,
		}, true},
		{"broke", earlier{id: "s", broke: true, complete: true}, false},
		{"a rule was relaxed", earlier{id: "s", relaxed: true, complete: true}, false},
		{"a person asked", earlier{id: "s", asked: true, complete: true}, false},
		{"invalid", earlier{id: "s", invalid: true, complete: true}, false},
		{"rebooted", earlier{id: "s", rebooted: true}, false},
		{"rebooted when complete", earlier{id: "s", rebooted: true, complete: true}, true},
		{"crashed since, and it goes on", earlier{id: "s", crashed: true}, true},
		{"crashed since, rebooted", earlier{id: "s", crashed: true, rebooted: true}, false},
		{"crashed since it was complete", earlier{id: "s", crashed: true, complete: true}, false},
	} {
		if got, why := c.earlier.resumeReason(); got != c.resume || why == "" {
			t.Errorf("%s: %v, %q", c.name, got, why)
		}
	}
}

// TestStopReason: why a session makes no more launches for a member. The first case that holds
// decides.
func TestStopReason(t *testing.T) {
	broke := &ledger.Launch{Error: verdict.New(code.EngineDied)}
	disturbed := &ledger.Launch{OK: true, Disturbed: true}
	invalid := verdict.New(code.MachineDisturbed)
	open, done := decide.Member{Open: true, Rounds: 2, Most: 4}, decide.Member{Rounds: 2, Most: 4}
	full, unsettled := decide.Member{Rounds: 4, Most: 4}, done
	unsettled.Asked = []verdict.Rule{{Verdict: verdict.Inconclusive}}
	for _, c := range []struct {
		want    stopReason
		m       *member
		crashed bool
	}{
		{notStopped, &member{Member: open}, false},
		{stopCrashed, &member{Member: open, broken: broke, invalid: invalid}, true},
		{stopBroken, &member{Member: open, broken: broke, invalid: invalid}, false},
		{stopDisturbed, &member{Member: open, broken: disturbed, invalid: invalid}, false},
		{stopIncomparable, &member{Member: open, invalid: invalid}, false},
		{stopMaximum, &member{Member: full}, false},
		{stopFutile, &member{Member: unsettled}, false},
		{stopSettled, &member{Member: done}, false},
	} {
		must.Equal(t, "why it stops", c.m.stopReason(c.crashed), c.want)
	}
}
