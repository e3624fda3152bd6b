package steps

import (
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// What holds for several launches is said once.
func TestNotesOf(t *testing.T) {
	page, slow := verdict.New(code.Watched, verdict.Text("text", "no page")), verdict.New(code.Watched, verdict.Text("text", "slow"))
	got := tell.Lines(notesOf([]*ledger.Launch{
		{ID: "s.baseline.1", Notes: []verdict.Reason{page, slow, slow}},
		{ID: "s.B.1", Notes: []verdict.Reason{page}},
		{ID: "s.B.2"},
	}))
	if want := []string{"2 of 3 launches: no page", "s.baseline.1: slow"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
