package runtime

import (
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

// Retracted is every decision about a feature that a person withdrew, also about
// those that the plan does not have any more.
func (j storeJournal) Retracted() (out []*ledger.Decision) {
	for _, r := range j.store.Records() {
		if d := r.Decision; d != nil && d.Retracted() && (d.Kind == string(KindFeature) || d.Kind == string(KindCriteria)) {
			out = append(out, d)
		}
	}
	return out
}

func (j storeJournal) Waiver(node string) *ledger.Waiver { return j.store.Waiver(node) }

func (j storeJournal) Append(records ...*ledger.Record) error { return j.store.Append(records...) }
