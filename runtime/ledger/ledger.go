package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Ledger is a ledger open for appending. Its methods are safe for concurrent use, but the
// index, which changes with each append; records in it must not be changed.
//
// It is for one writer at a time, and does not lock the file against others: the caller
// holds the lock of the state directory. The next append notices if the file was changed
// by others.
type Ledger struct {
	path string

	mu      sync.Mutex
	file    file
	size    int64 // bytes on disk, all of them good
	state   *scanned
	notices []string
	broken  error // why nothing can be appended any more

	signer Signer // of checkpoints, nil for none
}

// file is what appending needs of the operating system; tests inject failures.
type file interface {
	io.WriterAt
	io.Closer
	Sync() error
	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
}

// Open opens the ledger for appending, and creates it if missing. The whole file is
// verified, and every checkpoint signed by the signer, if any. What crashed before it was
// acknowledged is set aside, which Notices reports. A ledger that this signer did not sign
// is not signed on: with another signature it is refused, with none it stays unsigned. Any
// other damage is a *DamageError, and nothing is changed.
func Open(path string, by Signer) (*Ledger, error) {
	cp, err := readCheckpoint(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := cp.compare(path, &scanned{Index: &Index{}}); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	l := &Ledger{path: path, file: f, signer: by}
	if err := l.load(f, cp); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

func (l *Ledger) load(f *os.File, cp *checkpoint) error {
	s, err := scan(io.NewSectionReader(f, 0, math.MaxInt64), l.path, cp)
	if err != nil {
		return err
	}
	if err := cp.compare(l.path, s); err != nil {
		return err
	}
	good, err := l.resume(cp, s)
	if err != nil {
		return err
	}
	if s.torn || good < s.good {
		notice, err := setAside(f, l.path, good)
		if err != nil {
			return err
		}
		l.notices = append(l.notices, notice)
	}
	if good < s.good {
		if s, err = scan(io.NewSectionReader(f, 0, good), l.path, cp); err != nil {
			return err
		}
	}
	l.state, l.size = s, s.good
	var first []byte
	if s.tree.n == 0 {
		if err := s.tree.add([]byte(header)); err != nil {
			return err
		}
		first = formatLine([]byte(header), s.tree.root)
	}
	if cp == nil || cp.size < s.tree.n {
		if err := l.put(first); err != nil {
			return fmt.Errorf("ledger %s: cannot be opened for writing: %w", l.path, err)
		}
	}
	return nil
}

// Append adds records, all or none, and returns when they are on disk and in the
// checkpoint: what is acknowledged is signed. A record that breaks an invariant is rejected
// by name and nothing of the batch is written. The records are copied; times become UTC.
//
// The order of system calls: fstat (nobody else wrote); the next checkpoint, aside, and its
// fsync; pwrite, fsync; rename of the checkpoint. If one fails, ftruncate to the old size
// and fsync. If that fails too, or the last step, the fsync of the folder, the state of the
// disk is unknown, and the ledger takes no more records until it is opened, and so
// verified, again.
func (l *Ledger) Append(recs ...*Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return fmt.Errorf("ledger %s: cannot take more records: %w", l.path, l.broken)
	}
	if len(recs) == 0 {
		return nil
	}
	s, had, batch := l.state, len(l.state.Records), []byte(nil)
	refuse := func(err error) error {
		before, wrong := newIndex(s.Records[:had]...)
		if l.broken = errors.Join(l.broken, wrong, s.tree.cut(int64(had)+1)); wrong == nil {
			*s.Index = *before
		}
		return fmt.Errorf("ledger %s: %s not recorded: %w", l.path, verdict.Count(len(recs), "record"), err)
	}
	for i, r := range recs {
		leaf, seen, err := encode(r)
		if err == nil {
			err = s.add(seen)
		}
		if err == nil {
			err = s.tree.add(leaf)
		}
		if err != nil {
			return refuse(fmt.Errorf("record %d of %d %w", i+1, len(recs), err))
		}
		batch = append(batch, formatLine(leaf, s.tree.root)...)
	}
	if err := l.put(batch); err != nil {
		return refuse(err)
	}
	return nil
}

// put writes bytes at the end, which the tree has already, with the checkpoint of the tree,
// and makes both durable, or undoes the write.
func (l *Ledger) put(b []byte) error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != l.size {
		l.broken = fmt.Errorf("the file has %d bytes, expected %d: another process writes to it; only one apply at a "+
			"time may, under the lock of its state directory", info.Size(), l.size)
		return l.broken
	}
	// The next checkpoint is a file of its own: renamed, it takes effect at once.
	text := []byte(formatCheckpoint(l.state.tree.n, l.state.tree.root))
	if l.signer != nil {
		if text, err = l.signer.Sign(text); err != nil {
			return err
		}
	}
	next, err := os.OpenFile(checkpointPath(l.path)+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err == nil {
		_, err = next.Write(text)
		err = errors.Join(err, next.Sync(), next.Close())
	}
	if err == nil {
		_, err = l.file.WriteAt(b, l.size)
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err == nil {
		err = os.Rename(next.Name(), checkpointPath(l.path))
	}
	if err != nil {
		if back := errors.Join(l.file.Truncate(l.size), l.file.Sync()); back != nil {
			l.broken = fmt.Errorf("a write failed (%w) and could not be undone (%w); repair the disk and open the "+
				"ledger again", err, back)
			return l.broken
		}
		return fmt.Errorf("%w; the ledger is unchanged", err)
	}
	if err := SyncDir(filepath.Dir(l.path)); err != nil {
		l.broken = fmt.Errorf("the written records may not be durable (%w); repair the disk and open the ledger again",
			err)
		return l.broken
	}
	l.size += int64(len(b))
	return nil
}

// Close closes the file. Everything appended is on disk already.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.broken, fs.ErrClosed) {
		return nil
	}
	l.broken = fs.ErrClosed
	return l.file.Close()
}

// Index is the index of all records. It changes with the next append.
func (l *Ledger) Index() *Index { return l.state.Index }

// Notices are messages for a person: a tail that was set aside, and why nothing is signed.
func (l *Ledger) Notices() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.notices)
}
