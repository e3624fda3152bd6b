package runtime

import (
	"errors"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// StoreJournal keeps outcomes in a state directory.
func StoreJournal(s *store.Store) Journal { return storeJournal{s} }

type storeJournal struct{ store *store.Store }

func (j storeJournal) Latest(node string) *ledger.Decision {
	d, _, ok := j.store.Latest(node)
	if !ok {
		return nil
	}
	return d
}

func (j storeJournal) History(node string) (out []*ledger.Decision) {
	for _, d := range j.store.History(node) {
		out = append(out, d.Decision)
	}
	return out
}

func (j storeJournal) Retracted() (out []*ledger.Decision) {
	for _, r := range j.store.Records() {
		if r.Decision.RetractedFeature() {
			out = append(out, r.Decision)
		}
	}
	return out
}

func (j storeJournal) Waiver(node string) *ledger.Waiver { return j.store.Waiver(node) }

func (j storeJournal) Append(records ...*ledger.Record) error { return j.store.Append(records...) }

// EmptyJournal is the journal of a plan that was never applied.
type EmptyJournal struct{}

func (EmptyJournal) Latest(string) *ledger.Decision { return nil }

func (EmptyJournal) History(string) []*ledger.Decision { return nil }

func (EmptyJournal) Waiver(string) *ledger.Waiver { return nil }

func (EmptyJournal) Retracted() []*ledger.Decision { return nil }

// Append refuses: nothing is decided without a state directory.
func (EmptyJournal) Append(...*ledger.Record) error {
	return errors.New("there is no state directory to record outcomes in")
}
