package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// Store is an open state directory. Its methods are safe for concurrent use; records that
// it returns are shared and must not be changed.
type Store struct {
	dir      layout
	readOnly bool
	ledger   *ledger.Ledger // nil for readers

	mu   sync.RWMutex
	view *view

	// clean removes from a record what must not be kept; see CleanWith.
	clean func(*ledger.Record)

	// archive is the file that a reader's directory was unpacked from; empty for others.
	archive string

	noticesMu sync.Mutex
	notices   []string
}

// DirName is the name of a state directory beside its plan.
const DirName = ".mxflow"

var errReadOnly = errors.New("the state directory is open read-only")

// Open is OpenSigned without a key.
func Open(dir string) (*Store, error) { return OpenSigned(dir, nil) }

// OpenSigned opens a state directory for writing, and creates what is missing. The caller
// holds Lock on it. The ledger is verified, and signed by the signer, if any, as
// ledger.Open does; Notices reports what had to be fixed.
func OpenSigned(dir string, by ledger.Signer) (*Store, error) {
	d := layout(dir)
	if err := d.make(); err != nil {
		return nil, err
	}
	l, err := ledger.Open(d.ledger(), by)
	if err != nil {
		return nil, d.explain(err)
	}
	s := &Store{dir: d, ledger: l, view: newView()}
	for _, r := range l.Records() {
		s.view.add(r)
	}
	s.sweep()
	return s, nil
}

// OpenReadOnly opens a state directory as it is now, without a lock, whether or not an
// apply is writing to it. Nothing is changed in it.
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
	for _, r := range snap.Records() {
		s.view.add(r)
	}
	return s, nil
}

// Append records what was decided. On success, the records are on disk; on an error, none
// is.
func (s *Store) Append(recs ...*ledger.Record) error {
	if s.readOnly {
		return errReadOnly
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clean != nil {
		for _, r := range recs {
			s.clean(r)
		}
	}
	if err := s.ledger.Append(recs...); err != nil {
		return s.dir.explain(err)
	}
	for _, r := range s.ledger.From(len(s.view.records)) {
		s.view.add(r)
	}
	return nil
}

// CleanWith sets a function that every record passes before it is appended: the last
// place to remove what must not be kept.
func (s *Store) CleanWith(clean func(*ledger.Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clean = clean
}

// Records yields all records in order, numbered from 0.
func (s *Store) Records() iter.Seq2[int, *ledger.Record] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.All(s.view.records)
}

// Dir is the state directory.
func (s *Store) Dir() string { return string(s.dir) }

// LedgerPath is the ledger's file, for ledger.Verify.
func (s *Store) LedgerPath() string { return s.dir.ledger() }

// LedgerName is the ledger's name for people: its path, or that of its archive.
func (s *Store) LedgerName() string { return cmp.Or(s.archive, filepath.Clean(s.dir.ledger())) }

// RunDir is the folder that a run writes to while in progress, created by writers.
func (s *Store) RunDir(run string) (string, error) {
	if run == "" || run != filepath.Base(run) || strings.HasPrefix(run, ".") {
		return "", fmt.Errorf("%q is not a valid name for a run's folder", run)
	}
	dir := filepath.Join(s.dir.runs(), run)
	if s.readOnly {
		return dir, nil
	}
	return dir, s.dir.explain(os.MkdirAll(dir, 0o755))
}

// Notices are messages for a person about the state directory: what was damaged and
// fixed.
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
	if s.archive != "" {
		return os.RemoveAll(string(s.dir))
	}
	if s.ledger == nil {
		return nil
	}
	return s.ledger.Close()
}

// sweep removes artifacts that were incomplete when an earlier run died.
func (s *Store) sweep() {
	left, _ := filepath.Glob(filepath.Join(s.dir.artifacts(), ".new-*"))
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			s.notice("artifact: cannot remove temporary file %s: %v", path, err)
		}
	}
}

// layout is the paths of the parts of a state directory.
type layout string

func (d layout) ledger() string    { return filepath.Join(string(d), "ledger") }
func (d layout) lock() string      { return filepath.Join(string(d), "lock") }
func (d layout) artifacts() string { return filepath.Join(string(d), "artifacts", "sha256") }
func (d layout) runs() string      { return filepath.Join(string(d), "runs") }
func (d layout) gitignore() string { return filepath.Join(string(d), ".gitignore") }

// make creates what is missing.
func (d layout) make() error {
	for _, dir := range []string{string(d), d.artifacts(), d.runs()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return d.explain(err)
		}
	}
	f, err := os.OpenFile(d.gitignore(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return d.explain(err)
	}
	_, err = f.WriteString("*\n")
	return d.explain(errors.Join(err, f.Close()))
}

// exists reports what keeps a reader from using the directory.
func (d layout) exists() error {
	info, err := os.Stat(string(d))
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: string(d), Err: syscall.ENOTDIR}
	}
	if err == nil {
		_, err = os.Stat(d.ledger())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("state directory %s: %w; nothing was applied here yet: run apply first, or give the state directory", d, err)
	}
	return d.explain(err)
}

// explain rewords an error of the file system for the user.
func (d layout) explain(err error) error {
	if err == nil {
		return nil
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EEXIST):
		hint = "a file is in the place of a directory: move it away, or use another state directory"
	case errors.Is(err, syscall.EROFS):
		hint = "the file system is read-only: status, show, audit and report work, but apply needs another state directory"
	case errors.Is(err, fs.ErrPermission):
		hint = "take ownership of the directory (root owns it if an apply ran under sudo), or use another state directory"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "free some space, then try again; no record is lost"
	case errors.Is(err, fs.ErrNotExist):
		hint = "it cannot be written there: use another state directory"
	default:
		return fmt.Errorf("state directory %s: %w", d, err)
	}
	return fmt.Errorf("state directory %s: %w; %s", d, err, hint)
}
