package ledger

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Snapshot is a ledger as it was when it was read.
type Snapshot struct{ s *scanned }

// Read reads and verifies a ledger without a lock, also while another process
// appends: an unfinished last line is left out. Damage is a *DamageError.
func Read(path string) (*Snapshot, error) {
	s, err := readOnce(path)
	var damage *DamageError
	if errors.As(err, &damage) {
		// A writer that takes a failed write back and then writes something
		// else can be seen half before and half after; not twice.
		s, err = readOnce(path)
	}
	if err != nil {
		return nil, err
	}
	return &Snapshot{s}, nil
}

func readOnce(path string) (*scanned, error) {
	// The checkpoint first: the file can then only be ahead of it.
	cp, err := readCheckpoint(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer f.Close()
	s, err := scan(f, path)
	if err != nil {
		return s, err
	}
	return s, cp.compare(path, s)
}

// Records are all records in order, numbered from 0. They must not be changed.
func (s *Snapshot) Records() iter.Seq2[int, *Record] { return slices.All(s.s.records) }

// Len is the number of records.
func (s *Snapshot) Len() int { return len(s.s.records) }

// Size is the number of leaves of the tree: the header and every record. It is
// 0 for a ledger whose header is not written yet.
func (s *Snapshot) Size() int64 { return s.s.tree.n }

// Root is the hash of the tree.
func (s *Snapshot) Root() tlog.Hash { return s.s.root }

// Prove is the inclusion proof of record i. Whoever holds the record's leaf and
// a root checks it with tlog.CheckRecord(proof, Size(), Root(), int64(i)+1,
// tlog.RecordHash(leaf)).
func (s *Snapshot) Prove(i int) (tlog.RecordProof, error) { return s.s.tree.prove(i) }
