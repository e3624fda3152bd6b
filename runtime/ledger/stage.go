package ledger

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// staged is a batch that is ready to be written.
type staged struct {
	bytes   []byte
	root    tlog.Hash
	records []*Record
	undo    func()
}

// stage encodes and checks a batch and adds it to the tree and the history;
// undo takes it out of both again.
func (l *Ledger) stage(recs []*Record) (*staged, error) {
	s := l.state
	before := s.tree.n
	var undos []func()
	st := &staged{undo: func() {
		s.tree.cut(before)
		for i := len(undos) - 1; i >= 0; i-- {
			undos[i]()
		}
	}}
	for i, r := range recs {
		leaf, seen, err := encode(r)
		if err == nil {
			var undo func()
			if undo, err = s.history.add(seen); err == nil {
				undos = append(undos, undo)
				st.root, err = s.tree.add(leaf)
			}
		}
		if err != nil {
			st.undo()
			return nil, fmt.Errorf("ledger %s: none of the batch is recorded: record %d of %d %w", l.path, i+1, len(recs), err)
		}
		st.bytes = append(st.bytes, formatLine(leaf, st.root)...)
		st.records = append(st.records, seen)
	}
	return st, nil
}
