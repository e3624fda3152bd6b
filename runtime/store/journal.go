package store

import (
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Journal is a state directory as a run reads and keeps outcomes in it.
type Journal struct{ store *Store }

// Journal is the state directory as a run sees it.
func (s *Store) Journal() Journal { return Journal{s} }

// Latest is the newest decision about a node, nil where there is none.
func (j Journal) Latest(node string) *ledger.Decision {
	d, _, ok := j.store.Latest(node)
	if !ok {
		return nil
	}
	return d
}

// History are all decisions about a node, oldest first.
func (j Journal) History(node string) (out []*ledger.Decision) {
	for _, d := range j.store.History(node) {
		out = append(out, d.Decision)
	}
	return out
}

// Retracted are the decisions by which people retracted a feature.
func (j Journal) Retracted() (out []*ledger.Decision) {
	for _, r := range j.store.Records() {
		if r.Decision.RetractedFeature() {
			out = append(out, r.Decision)
		}
	}
	return out
}

// Waiver is the waiver of a node that stands, nil where there is none.
func (j Journal) Waiver(node string) *ledger.Waiver { return j.store.Waiver(node) }

// Append records.
func (j Journal) Append(records ...*ledger.Record) error { return j.store.Append(records...) }
