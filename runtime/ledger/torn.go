package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// setAside copies what follows the first good bytes of f to <path>.torn-<n> and cuts it
// off. The copy is on disk before anything is cut.
func setAside(f *os.File, path string, good int64) (notice string, err error) {
	aside, err := createNumbered(path + ".torn-")
	if err != nil {
		return "", fmt.Errorf("ledger %s: cannot set its torn tail aside: %w", path, err)
	}
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("ledger %s: cannot set its torn tail aside: %w", path, errors.Join(err, aside.Close(), os.Remove(aside.Name())))
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
	return fmt.Sprintf("ledger %s: the last %d bytes are from a write that crashed before it was acknowledged; they were moved to %s", path, n, aside.Name()), nil
}

// createNumbered makes the first file prefix1, prefix2, … that does not exist.
func createNumbered(prefix string) (*os.File, error) {
	for n := 1; ; n++ {
		f, err := os.OpenFile(fmt.Sprintf("%s%d", prefix, n), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// sector is the smallest unit that a disk writes.
const sector = 512

// holed reports whether a line that does not verify, with all that follows it, has a hole
// as a power cut leaves it: a stretch of NUL bytes that starts with the line or at a
// sector, and ends at a sector or the end of the file. A record never contains a NUL, and
// a single byte changed to NUL is not a hole. at is the line's offset in the file; in is
// after its LF.
func holed(line []byte, in io.ByteReader, at int64) (bool, error) {
	begin := int64(-1) // of the stretch being read
	pos := at
	next := func(b byte) (found bool) {
		if b == 0 && begin < 0 {
			begin = pos
		}
		if b != 0 && begin >= 0 {
			found = isHole(begin, pos, at, false)
			begin = -1
		}
		pos++
		return found
	}
	if slices.ContainsFunc(line, next) {
		return true, nil
	}
	next('\n')
	for {
		b, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			return begin >= 0 && isHole(begin, pos, at, true), nil
		}
		if err != nil {
			return false, err
		}
		if next(b) {
			return true, nil
		}
	}
}

func isHole(begin, end, lineStart int64, atEnd bool) bool {
	return (begin == lineStart || begin%sector == 0) && (end%sector == 0 || atEnd)
}
