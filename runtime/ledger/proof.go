package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/mod/sumdb/tlog"
)

// proofFormat names the form of a Proof.
const proofFormat = "mxflow-proof/1"

// Proof shows that a record is in a ledger, given only its signed checkpoint.
type Proof struct {
	Format string `json:"format"`
	// Leaf counts from 0, the header: record 0 is leaf 1. Record is its text.
	Leaf   int64  `json:"leaf"`
	Record string `json:"record"`
	// Hashes are the audit path of RFC 6962, from the leaf up.
	Hashes     tlog.RecordProof `json:"hashes"`
	Checkpoint string           `json:"checkpoint"`
}

// Prove returns the proof of a record, counted from 0, under the present checkpoint.
func Prove(path string, record int) (Proof, error) {
	s, cp, err := readOnce(path)
	if err != nil {
		return Proof{}, err
	}
	leaf := int64(record) + 1
	switch {
	case cp == nil:
		return Proof{}, fmt.Errorf("ledger %s: no checkpoint to prove a record with", path)
	case record < 0 || leaf >= s.tree.n:
		return Proof{}, fmt.Errorf("ledger %s has no record %d: it has %s, counting from 0", path, record, count(s.tree.n))
	case leaf >= cp.size:
		return Proof{}, fmt.Errorf("ledger %s: its checkpoint does not include record %d yet: try again when the apply has finished", path, record)
	}
	text, err := marshal(new(bytes.Buffer), s.records[record])
	if err != nil {
		return Proof{}, err
	}
	hashes, err := tlog.ProveRecord(cp.size, leaf, &s.tree)
	return Proof{proofFormat, leaf, string(text), hashes, string(cp.text)}, err
}

// Check returns the record that a proof proves, given the signed text of its checkpoint.
func (p Proof) Check(signed []byte) (*Record, error) {
	if p.Format != proofFormat {
		return nil, fmt.Errorf("has format %q, but this mxflow reads %q", p.Format, proofFormat)
	}
	size, root, err := parseCheckpoint(string(signed))
	if err != nil {
		return nil, fmt.Errorf("its checkpoint %w", err)
	}
	if p.Leaf < 1 || p.Leaf >= size {
		return nil, fmt.Errorf("leaf %d is not a record of a ledger with %d leaves", p.Leaf, size)
	}
	if err := tlog.CheckRecord(p.Hashes, size, root, p.Leaf, tlog.RecordHash([]byte(p.Record))); err != nil {
		return nil, errors.New("its hashes do not lead from the record to the root of the checkpoint")
	}
	return decode([]byte(p.Record))
}

// State is an earlier state of a ledger: the number of leaves, and their root.
type State struct {
	Size int64     `json:"size"`
	Root tlog.Hash `json:"root"`
}

// ParseState is the state in the text of a checkpoint; its signature is not checked.
func ParseState(text string) (State, error) {
	size, root, err := parseCheckpoint(text)
	return State{size, root}, err
}

// Consistency shows that one state of a ledger is a prefix of another.
type Consistency struct {
	Old State `json:"old"`
	New State `json:"new"`
	// Hashes are the consistency proof of RFC 6962.
	Hashes tlog.TreeProof `json:"hashes"`
}

// Consistent is the proof that a ledger grew from old to now; nil is its present state.
func Consistent(path string, old State, now *State) (Consistency, error) {
	s, _, err := readOnce(path)
	if err != nil {
		return Consistency{}, err
	}
	if now == nil {
		now = &State{s.tree.n, s.root}
	}
	for _, at := range []State{old, *now} {
		if root, err := s.tree.rootAt(at.Size); err != nil || root != at.Root {
			return Consistency{}, fmt.Errorf("the ledger never had tree hash %s with %s: history was rewritten or truncated, or the checkpoint belongs to another ledger", at.Root, count(at.Size))
		}
	}
	if old.Size > now.Size {
		return Consistency{}, fmt.Errorf("the first has %s and the second %s: give the older one first", count(old.Size), count(now.Size))
	}
	proof, err := tlog.ProveTree(now.Size, old.Size, &s.tree)
	return Consistency{old, *now, proof}, err
}

// Signed is the part of a ledger that its checkpoint covers, with the checkpoint and the
// number of records.
func Signed(path string) (text, checkpoint []byte, records int, err error) {
	_, cp, err := readOnce(path)
	switch {
	case err != nil:
		return nil, nil, 0, err
	case cp == nil:
		return nil, nil, 0, fmt.Errorf("ledger %s: no checkpoint", path)
	}
	if text, err = os.ReadFile(path); err != nil {
		return nil, nil, 0, err
	}
	end := 0
	for range cp.size {
		end += bytes.IndexByte(text[end:], '\n') + 1
	}
	return text[:end], cp.text, int(cp.size) - 1, nil
}
