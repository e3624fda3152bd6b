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

	mu    sync.RWMutex
	index *ledger.Index

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

func Open(dir string) (*Store, error) { return OpenSigned(dir, nil) }

// OpenSigned opens a state directory for writing, and creates missing parts. The caller
// holds Lock on it. The ledger is verified, and signed by the signer, if any, as
// ledger.Open does; Notices reports repairs.
func OpenSigned(dir string, by ledger.Signer) (*Store, error) {
	d := layout(dir)
	if err := d.make(); err != nil {
		return nil, err
	}
	l, err := ledger.Open(d.path(ledgerFile), by)
	if err != nil {
		return nil, d.explain(err)
	}
	s := &Store{dir: d, ledger: l, index: l.Index()}
	// Artifacts that were incomplete when an earlier run died.
	left, _ := filepath.Glob(filepath.Join(d.path(artifactsDir), ".new-*"))
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			s.notice("artifact: cannot remove temporary file %s: %v", path, err)
		}
	}
	return s, nil
}

// ErrApplyFirst is the end of an error about a record that has too little.
var ErrApplyFirst = errors.New("apply the plan first")

// OpenReadOnly opens a state directory as it is now, without a lock, whether or not an
// apply is writing to it. Nothing is changed in it.
func OpenReadOnly(dir string) (*Store, error) {
	d := layout(dir)
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	if err == nil {
		_, err = os.Stat(d.path(ledgerFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil,
			fmt.Errorf("state directory %s: %w; nothing was applied here yet: run apply first, or give the state "+
				"directory", d, err)
	}
	if err != nil {
		return nil, d.explain(err)
	}
	index, err := ledger.Read(d.path(ledgerFile))
	if err != nil {
		return nil, d.explain(err)
	}
	return &Store{dir: d, readOnly: true, index: index}, nil
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
	return s.dir.explain(s.ledger.Append(recs...))
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
	return slices.All(s.index.Records)
}

func (s *Store) Dir() string { return string(s.dir) }

// LedgerPath is the ledger's file, for ledger.Verify.
func (s *Store) LedgerPath() string { return s.dir.path(ledgerFile) }

// LedgerName is the ledger's name for people: its path, or that of its archive.
func (s *Store) LedgerName() string { return cmp.Or(s.archive, filepath.Clean(s.dir.path(ledgerFile))) }

// RunDir is the folder that a run writes to while in progress, created by writers.
func (s *Store) RunDir(run string) (string, error) {
	if run == "" || run != filepath.Base(run) || strings.HasPrefix(run, ".") {
		return "", fmt.Errorf("%q is not a valid name for a run's folder", run)
	}
	dir := filepath.Join(s.dir.path(runsDir), run)
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

// layout is the paths of the parts of a state directory.
type layout string

func (d layout) path(of string) string { return filepath.Join(string(d), filepath.FromSlash(of)) }

const (
	ledgerFile   = "ledger"
	lockFile     = "lock"
	artifactsDir = "artifacts/sha256"
	runsDir      = "runs"
)

func (d layout) make() error {
	for _, dir := range []string{string(d), d.path(artifactsDir), d.path(runsDir)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return d.explain(err)
		}
	}
	f, err := os.OpenFile(d.path(".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return d.explain(err)
	}
	_, err = f.WriteString("*\n")
	return d.explain(errors.Join(err, f.Close()))
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
		hint = "the file system is read-only: status, show, audit and report work, but apply needs another state " +
			"directory"
	case errors.Is(err, fs.ErrPermission):
		hint = "take ownership of the directory (root owns it if an apply ran under sudo), or use another state " +
			"directory"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "free some space, then try again"
	case errors.Is(err, syscall.EIO):
		hint = "repair the disk, then try again"
	case errors.Is(err, fs.ErrNotExist):
		hint = "it cannot be written there: use another state directory"
	default:
		return fmt.Errorf("state directory %s: %w", d, err)
	}
	return fmt.Errorf("state directory %s: %w; %s", d, err, hint)
}
