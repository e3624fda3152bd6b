package decide

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestReplaced is the policy for launches that do not count, by what became of each
// launch of a slot.
func TestReplaced(t *testing.T) {
	outcomes := map[string]*ledger.Launch{
		"sound":     {OK: true},
		"disturbed": {OK: true, Disturbed: true, Invalid: verdict.Because(code.MachineDisturbed)},
		"invalid":   {OK: true, Invalid: verdict.Because(code.FromCache)},
		"lost":      {Failure: ledger.FailureLost},
		"broke":     {Error: verdict.New(code.EngineDied)},
	}
	for _, c := range []struct {
		slot            string
		replaced, lacks bool
	}{
		{"", false, true},
		{"sound", false, false},
		{"disturbed", true, true},
		{"lost", true, true},
		{"invalid", false, false},
		{"broke", false, false},
		{"disturbed disturbed", true, true},
		{"lost lost", true, true},
		{"disturbed lost", true, true},
		{"disturbed disturbed disturbed", false, false},
		{"lost lost lost", false, false},
		{"lost disturbed lost", false, false},
		{"disturbed broke", false, false},
		{"disturbed sound", false, false},
		{"sound lost", true, false}, // its round began again on another place
		{"sound lost lost", true, false},
		{"sound lost lost lost", false, false},
	} {
		var slot []*ledger.Launch
		for name := range strings.FieldsSeq(c.slot) {
			slot = append(slot, outcomes[name])
		}
		if got := Replaced(slot); got != c.replaced {
			t.Errorf("%q: replaced %v", c.slot, got)
		}
		if got := Lacks(slot); got != c.lacks {
			t.Errorf("%q: lacks %v", c.slot, got)
		}
	}
}
