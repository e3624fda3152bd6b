package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestRefuse: the same is recorded once, who tries ten thousand things fills no disk, and
// after another run there is room again.
func TestRefuse(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	asks := func(what string) ledger.Refusal {
		why := make([]verdict.Reason, 3*ledger.MostReasons)
		for i := range why {
			why[i] = verdict.New(code.NotProposers).On(fmt.Sprint(what, i))
		}
		return ledger.Refusal{By: "proposer", Asked: what, Why: why}
	}
	refuse := func(what string) {
		t.Helper()
		if err := s.Refuse(asks(what)); err != nil {
			t.Fatal(err)
		}
	}
	refuse("before the first run")
	if n := len(s.Refusals()); n != 0 {
		t.Fatalf("%d refusals before a run", n)
	}
	for run := range 2 {
		if err := s.Append(&ledger.Record{Type: "run", Time: time.Now().UTC(), Run: fmt.Sprint("r", run), RunStart: &ledger.RunStart{Plan: "p"}}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			refuse("waive")
		}
		if n := len(s.Refusals()); n != run*mostRefused+1 {
			t.Errorf("%d refusals of one, want one", n)
		}
		for i := range 200 {
			refuse(fmt.Sprint("try ", i))
		}
		all := s.Refusals()
		if n := len(all); n != (run+1)*mostRefused || !all[n-1].Last || all[n-2].Last || len(all[0].Why) != ledger.MostReasons {
			t.Errorf("run %d: %d refusals, the last %+v", run, n, all[n-1].Refusal)
		}
	}
}
