package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// setAside copies what follows the first good bytes of f to <path>.torn-<n> and cuts it
// off. The copy is on disk before anything is cut.
func setAside(f *os.File, path string, good int64) (notice string, err error) {
	var aside *os.File
	for n := 1; aside == nil; n++ {
		aside, err = os.OpenFile(fmt.Sprintf("%s.torn-%d", path, n), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("ledger %s: cannot set its torn tail aside: %w", path, err)
		}
	}
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("ledger %s: cannot set its torn tail aside: %w", path,
			errors.Join(err, aside.Close(), os.Remove(aside.Name())))
	}
	info, err := f.Stat()
	if err != nil {
		return fail(err)
	}
	n, err := io.Copy(aside, io.NewSectionReader(f, good, info.Size()-good))
	if err != nil {
		return fail(err)
	}
	if err := errors.Join(aside.Sync(), SyncDir(filepath.Dir(path))); err != nil {
		return fail(err)
	}
	if err := errors.Join(aside.Close(), f.Truncate(good), f.Sync()); err != nil {
		return "", fmt.Errorf("ledger %s: cannot cut off its torn tail: %w", path, err)
	}
	return fmt.Sprintf("ledger %s: the last %d bytes are from a write that crashed before it was acknowledged; they "+
		"were moved to %s", path, n, aside.Name()), nil
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
