package launch

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// A launch whose engine does not show that it drafted was measured without drafts.
func TestUnusedSettingDoesNotCount(t *testing.T) {
	draft := []kinds.Use{{Setting: "speculative.model", Observed: "drafted_tokens"}}
	hidden := []kinds.Use{{Setting: "speculative.model", Observed: "drafted_tokens", Hidden: true}}
	unseen := verdict.New(code.Unobserved, verdict.Text("why", "no line of the log matches"))
	layers := []kinds.Use{{Setting: "speculative.model", Observed: "gpu_layers", Not: "gpu_error", Hidden: true}}
	for name, tc := range map[string]struct {
		record  ledger.Launch
		uses    []kinds.Use
		invalid bool
	}{
		"drafted":          {ledger.Launch{Observed: map[string]ledger.Observed{"drafted_tokens": {Value: 31.0}}}, draft, false},
		"nothing drafted":  {ledger.Launch{Observed: map[string]ledger.Observed{"drafted_tokens": {Value: 0.0}}}, draft, true},
		"unknown":          {ledger.Launch{Unobserved: map[string]verdict.Reason{"drafted_tokens": unseen}}, draft, true},
		"not looked for":   {ledger.Launch{}, draft, true},
		"no number":        {ledger.Launch{Observed: map[string]ledger.Observed{"drafted_tokens": {Value: "none"}}}, draft, true},
		"a draft model":    {ledger.Launch{Observed: map[string]ledger.Observed{"drafted_tokens": {Value: "small"}}}, draft, false},
		"may be hidden":    {ledger.Launch{Unobserved: map[string]verdict.Reason{"drafted_tokens": unseen}}, hidden, false},
		"none, not hidden": {ledger.Launch{Observed: map[string]ledger.Observed{"drafted_tokens": {Value: 0.0}}}, hidden, true},
		"not asked for":    {ledger.Launch{}, nil, false},
		"a reason": {ledger.Launch{Observed: map[string]ledger.Observed{
			"gpu_layers": {Value: 0.0}, "gpu_error": {Value: "CUDA: unknown error", From: "log line 1"},
		}}, layers, true},
	} {
		tc.record.Disturbed = true
		st := &Started{Record: &tc.record, Lab: &Lab{}}
		st.unused(tc.uses)
		if invalid := len(tc.record.Invalid) == 1 && tc.record.Invalid[0].Kind == code.SettingUnused.Kind && tc.record.Invalid[0].Subject == "speculative.model"; invalid != tc.invalid || invalid == tc.record.Disturbed {
			t.Errorf("%s: invalid by %v, disturbed %v", name, tc.record.Invalid, tc.record.Disturbed)
		}
		if name == "a reason" && !strings.Contains(tc.record.Invalid[0].String(), `log line 1: "CUDA: unknown error"`) {
			t.Errorf("%s: %v", name, tc.record.Invalid)
		}
		if noted := verdict.Holds(tc.record.Notes, "work.setting_unshown"); noted != (name == "may be hidden") {
			t.Errorf("%s: notes %v", name, tc.record.Notes)
		}
	}
}
