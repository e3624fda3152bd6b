package steps

import (
	"slices"
	"testing"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// What holds for several launches is said once.
func TestNotesOf(t *testing.T) {
	got := notesOf([]*ledger.Launch{
		{ID: "s.baseline.1", Notes: []string{"no page", "slow", "slow"}},
		{ID: "s.B.1", Notes: []string{"no page"}},
		{ID: "s.B.2"},
	})
	if want := []string{"2 of 3 launches: no page", "s.baseline.1: slow"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
