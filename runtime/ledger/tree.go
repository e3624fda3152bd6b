package ledger

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// tree is the Merkle tree over the leaves, its hashes in memory: two of 32 bytes per
// leaf. Leaf 0 is the header, leaf i+1 is record i.
type tree struct {
	hashes []tlog.Hash
	n      int64
}

// ReadHashes implements tlog.HashReader.
func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		if x < 0 || x >= int64(len(t.hashes)) {
			return nil, fmt.Errorf("the tree of %d leaves has no hash %d", t.n, x)
		}
		out[i] = t.hashes[x]
	}
	return out, nil
}

// add appends a leaf and returns the new root.
func (t *tree) add(leaf []byte) (tlog.Hash, error) {
	hs, err := tlog.StoredHashesForRecordHash(t.n, tlog.RecordHash(leaf), t)
	if err != nil {
		return tlog.Hash{}, err
	}
	t.hashes = append(t.hashes, hs...)
	t.n++
	return tlog.TreeHash(t.n, t)
}

// cut removes leaves until n are left.
func (t *tree) cut(n int64) {
	t.hashes = t.hashes[:tlog.StoredHashCount(n)]
	t.n = n
}

// rootAt is the root of the tree when it had n leaves.
func (t *tree) rootAt(n int64) (tlog.Hash, error) {
	if n < 1 || n > t.n {
		return tlog.Hash{}, fmt.Errorf("the tree has %d leaves, so it never had a root at size %d", t.n, n)
	}
	return tlog.TreeHash(n, t)
}
