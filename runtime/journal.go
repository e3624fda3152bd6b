package runtime

import (
	"errors"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// EmptyJournal is the journal of a plan that was never applied.
type EmptyJournal struct{}

func (EmptyJournal) Latest(string) *ledger.Decision { return nil }

func (EmptyJournal) Waiver(string) *ledger.Waiver { return nil }

// Append returns an error: nothing is decided without a state directory.
func (EmptyJournal) Append(...*ledger.Record) error {
	return errors.New("no state directory to record outcomes in")
}
