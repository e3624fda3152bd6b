package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

var errOtherHistory = errors.New("it was made from another history than the ledger's")

// ready is an index that holds exactly the records of the view. One that cannot
// be used is set aside and made again from the ledger; where that cannot be
// done on disk, or a reader finds the file not up to date, it is made in
// memory. The caller holds indexMu.
func (s *Store) ready() (*index, error) {
	if s.index != nil {
		if err := s.follow(s.index); err == nil {
			return s.index, nil
		}
		s.index.close()
		s.index = nil
	}
	x, err := s.fromDisk()
	if err != nil {
		if !s.readOnly {
			s.notice("%s cannot be used and is kept in memory for now; nothing that was recorded is lost: %v", s.dir.index(), err)
		}
		if x, err = s.inMemory(); err != nil {
			return nil, fmt.Errorf("the index cannot be made from the ledger: %w", err)
		}
	}
	s.index = x
	return x, nil
}

// fromDisk opens the index in its file and, for a writer, mends it.
func (s *Store) fromDisk() (*index, error) {
	x, err := s.openAndFollow()
	if err == nil || s.readOnly || passing(err) {
		return x, err
	}
	aside, asideErr := s.setIndexAside()
	if asideErr != nil {
		return nil, errors.Join(err, asideErr)
	}
	s.notice("%s could not be used (%v) and was made again from the ledger; nothing that was recorded is lost, and the old file is %s", s.dir.index(), err, aside)
	return s.openAndFollow()
}

// passing reports whether an error says something about the machine, not about
// the index: then the file is left where it is.
func passing(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) || e.Code() == lib.SQLITE_IOERR_SHORT_READ {
		return false
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_READONLY,
		lib.SQLITE_CANTOPEN, lib.SQLITE_PERM, lib.SQLITE_NOMEM, lib.SQLITE_INTERRUPT:
		return true
	}
	return false
}

func (s *Store) openAndFollow() (*index, error) {
	x, err := openIndex(s.dir.index(), s.readOnly)
	if err != nil {
		return nil, err
	}
	if err := s.sameHistory(x); err != nil {
		x.close()
		return nil, err
	}
	if err := s.follow(x); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// sameHistory reports whether the index was made from a beginning of this
// ledger: the ledger's root after as many records is the one it noted.
func (s *Store) sameHistory(x *index) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if x.applied == 0 && x.root == "" {
		return nil
	}
	if x.applied < 0 || x.applied > len(s.view.records) {
		return errOtherHistory
	}
	root, err := s.rootAt(x.applied)
	if err == nil && root != x.root {
		err = errOtherHistory
	}
	return err
}

// follow brings an index up to the view.
func (s *Store) follow(x *index) error {
	s.mu.RLock()
	records := s.view.records
	s.mu.RUnlock()
	if x.applied == len(records) {
		return nil
	}
	if x.stmts["meta"] == nil {
		return errors.New("it is not up to date, and open for reading only")
	}
	root, err := s.rootAt(len(records))
	if err != nil {
		return err
	}
	return x.catchUp(records, root)
}

func (s *Store) inMemory() (*index, error) {
	x, err := openIndex(inMemory, false)
	if err != nil {
		return nil, err
	}
	if err := s.follow(x); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// setIndexAside renames the index and what SQLite keeps beside it.
func (s *Store) setIndexAside() (string, error) {
	path := s.dir.index()
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.damaged-%d", path, n)
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		for _, suffix := range []string{"-wal", "-shm", ""} {
			if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		return aside, nil
	}
}

// query asks the index, and asks once more, with an index made anew, when the
// first answer is an error: SQLite finds damage where it steps on it.
func (s *Store) query(ask func(ctx context.Context, x *index) error) error {
	s.indexMu.Lock()
	defer s.indexMu.Unlock()
	x, err := s.ready()
	if err != nil {
		return err
	}
	first := ask(context.Background(), x)
	if first == nil {
		return nil
	}
	x.close()
	if s.index, err = s.inMemory(); err != nil {
		return errors.Join(first, err)
	}
	s.notice("%s is damaged (%v) and is made again when the state directory is next opened; nothing that was recorded is lost", s.dir.index(), first)
	return ask(context.Background(), s.index)
}
