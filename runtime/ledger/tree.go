package ledger

import "golang.org/x/mod/sumdb/tlog"

// tree is the Merkle tree over the leaves, its hashes in memory: two of 32 bytes per
// leaf. Leaf 0 is the header, leaf i+1 is record i.
type tree struct {
	hashes []tlog.Hash
	n      int64
	root   tlog.Hash
}

func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		out[i] = t.hashes[x]
	}
	return out, nil
}

func (t *tree) add(leaf []byte) error {
	hs, err := tlog.StoredHashesForRecordHash(t.n, tlog.RecordHash(leaf), t)
	if err != nil {
		return err
	}
	t.hashes = append(t.hashes, hs...)
	t.n++
	t.root, err = tlog.TreeHash(t.n, t)
	return err
}

func (t *tree) cut(n int64) error {
	t.hashes, t.n = t.hashes[:tlog.StoredHashCount(n)], n
	var err error
	t.root, err = tlog.TreeHash(n, t)
	return err
}
