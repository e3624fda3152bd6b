// Package files reads files that people name and writes those that they request: bounded,
// completely or not at all, and never over somebody else's file. It knows no format.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ReadBounded reads slightly more than a plan may have, which is then rejected, and no
// more: the path may name something endless.
func ReadBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, 2<<20))
}

// ReadResult reads a result file that a person names, up to a limit plus one byte:
// opening a pipe may block forever, and reading one may never end.
func ReadResult(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist: name the file that the tool wrote", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: name the file that the tool wrote", path)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, most+1))
}

// Create writes a file that must not exist yet, so nothing is ever overwritten, whatever
// happens concurrently.
func Create(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// Replace writes a file completely or not at all. A link stays a link, and a file without
// write permission is not replaced either.
func Replace(path string, content []byte) error {
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		path = whole
	}
	mode := fs.FileMode(0o644)
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: name another", path)
	default:
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if mode, err = info.Mode().Perm(), f.Close(); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".mxflow-writing-*")
	if err != nil {
		return asked(path, err)
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return asked(path, err)
}

// asked names the requested file in an error about the temporary one beside it.
func asked(path string, err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return &fs.PathError{Op: e.Op, Path: path, Err: e.Err}
	}
	if e := (*os.LinkError)(nil); errors.As(err, &e) {
		return &fs.PathError{Op: "write", Path: path, Err: e.Err}
	}
	return err
}
