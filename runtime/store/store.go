package store

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// Store is an open state directory. Its methods may be called from several
// goroutines; records that it hands out are shared and must not be changed.
type Store struct {
	dir      layout
	readOnly bool
	ledger   *ledger.Ledger // nil for readers

	mu     sync.RWMutex
	view   *view
	rootAt func(n int) (string, error) // the ledger's root after n records

	indexMu sync.Mutex
	index   *index // nil until it is needed, or since it failed

	// clean takes out of a record what must not be kept; see CleanWith.
	clean func(*ledger.Record)

	noticesMu sync.Mutex
	notices   []string
}

var errReadOnly = errors.New("the state directory is open for reading only")

// Open opens a state directory for writing, and creates what is missing. The
// caller holds Lock on it. The ledger is verified, and the index brought up to
// it; Notices says what had to be mended.
func Open(dir string) (*Store, error) {
	d := layout(dir)
	if err := d.make(); err != nil {
		return nil, err
	}
	l, err := ledger.Open(d.ledger())
	if err != nil {
		return nil, d.explain(err)
	}
	s := &Store{dir: d, ledger: l, view: newView()}
	s.rootAt = func(n int) (string, error) {
		root, err := l.RootAt(int64(n) + 1)
		return root.String(), err
	}
	for _, r := range l.Records() {
		s.view.add(r)
	}
	s.sweep()
	s.indexMu.Lock()
	defer s.indexMu.Unlock()
	if _, err := s.ready(); err != nil {
		s.notice("%v", err)
	}
	return s, nil
}

// OpenReadOnly opens a state directory as it is now, without a lock, whether
// or not an apply is writing to it. Nothing is changed in it.
func OpenReadOnly(dir string) (*Store, error) {
	d := layout(dir)
	if err := d.exists(); err != nil {
		return nil, err
	}
	snap, err := ledger.Read(d.ledger())
	if err != nil {
		return nil, d.explain(err)
	}
	s := &Store{dir: d, readOnly: true, view: newView()}
	s.rootAt = func(n int) (string, error) {
		root, err := snap.RootAt(int64(n) + 1)
		return root.String(), err
	}
	for _, r := range snap.Records() {
		s.view.add(r)
	}
	return s, nil
}

// Append records what was decided. When it returns without an error, the
// records are on disk; when it returns one, none of them is. An index that
// cannot follow is a notice and made again later.
func (s *Store) Append(recs ...*ledger.Record) error {
	if s.readOnly {
		return errReadOnly
	}
	s.mu.Lock()
	if s.clean != nil {
		for _, r := range recs {
			s.clean(r)
		}
	}
	err := s.ledger.Append(recs...)
	if err == nil {
		for _, r := range s.ledger.From(len(s.view.records)) {
			s.view.add(r)
		}
	}
	s.mu.Unlock()
	if err != nil {
		return s.dir.explain(err)
	}
	s.indexMu.Lock()
	defer s.indexMu.Unlock()
	if s.index == nil {
		return nil
	}
	if err := s.follow(s.index); err != nil {
		s.notice("%s does not follow the ledger any more and is made again when it is needed; nothing that was recorded is lost: %v", s.dir.index(), err)
		s.index.close()
		s.index = nil
	}
	return nil
}

// CleanWith sets what every record goes through before it is appended: the last
// place to take out what must not be kept.
func (s *Store) CleanWith(clean func(*ledger.Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clean = clean
}

// Records are all records in order, numbered from 0.
func (s *Store) Records() iter.Seq2[int, *ledger.Record] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.All(s.view.records)
}

// Root is the ledger's tree hash after these records.
func (s *Store) Root() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	root, err := s.rootAt(len(s.view.records))
	if err != nil {
		return "" // a ledger whose header is being written
	}
	return root
}

// Dir is the state directory.
func (s *Store) Dir() string { return string(s.dir) }

// LedgerPath is the ledger's file, for ledger.Verify.
func (s *Store) LedgerPath() string { return s.dir.ledger() }

// RunDir is the folder that a run writes to while it goes, created by writers.
func (s *Store) RunDir(run string) (string, error) {
	if run == "" || run != filepath.Base(run) || strings.HasPrefix(run, ".") {
		return "", fmt.Errorf("%q cannot be the name of a run's folder", run)
	}
	dir := filepath.Join(s.dir.runs(), run)
	if s.readOnly {
		return dir, nil
	}
	return dir, s.dir.explain(os.MkdirAll(dir, 0o755))
}

// Notices are what a person should be told about the state directory: what was
// damaged and mended, what could not be kept up to date.
func (s *Store) Notices() []string {
	s.noticesMu.Lock()
	defer s.noticesMu.Unlock()
	all := slices.Clone(s.notices)
	if s.ledger != nil {
		all = append(s.ledger.Notices(), all...)
	}
	return all
}

func (s *Store) notice(format string, args ...any) {
	s.noticesMu.Lock()
	defer s.noticesMu.Unlock()
	if n := fmt.Sprintf(format, args...); !slices.Contains(s.notices, n) {
		s.notices = append(s.notices, n)
	}
}

// Close closes the files. Everything appended is on disk already.
func (s *Store) Close() error {
	s.indexMu.Lock()
	if s.index != nil {
		s.index.close()
		s.index = nil
	}
	s.indexMu.Unlock()
	if s.ledger == nil {
		return nil
	}
	return s.ledger.Close()
}

// sweep removes what artifacts were being written when an earlier run died.
func (s *Store) sweep() {
	left, _ := filepath.Glob(filepath.Join(s.dir.artifacts(), ".new-*"))
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			s.notice("artifact: %s is left over: %v", path, err)
		}
	}
}
