package ledger

import (
	"iter"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Records are all records in order, numbered from 0, as of the call.
func (l *Ledger) Records() iter.Seq2[int, *Record] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.All(l.state.records)
}

// From are the records from position n on, as of the call.
func (l *Ledger) From(n int) []*Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clip(l.state.records[min(max(n, 0), len(l.state.records)):])
}

// Len is the number of records.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.state.records)
}

// Size is the number of leaves of the tree: the header and every record.
func (l *Ledger) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.tree.n
}

// Root is the hash of the tree.
func (l *Ledger) Root() tlog.Hash {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.root
}

// Notices are what a person should be told: a torn tail that was set aside, a
// checkpoint that cannot be written.
func (l *Ledger) Notices() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.notices)
}
