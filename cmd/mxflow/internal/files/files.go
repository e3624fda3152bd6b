// Package files reads files that people name and writes those that they request: bounded,
// completely or not at all, and never over somebody else's file. It knows no format.
package files

import (
	"bytes"
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

// WriteOnce writes the file that a flag names; an existing one with other contents is
// left alone.
func WriteOnce(flag, path string, text []byte) error {
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, text) {
		return nil
	}
	err := Create(path, text)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--%s: %s already exists with other content: name another file, or remove it", flag, path)
	}
	return err
}

// Replace writes a file completely or not at all.
func Replace(path string, content []byte) error {
	out, err := Open(path)
	if err != nil {
		return err
	}
	return out.Write(content)
}

// Out is a file that is opened before something long starts and written after it:
// completely or not at all, and an older one stays until then.
type Out struct {
	// path is the destination, with mode; file is what is written to: a temporary file
	// beside it, or the file itself if it is not regular, such as /dev/stdout.
	path   string
	mode   fs.FileMode
	file   *os.File
	beside bool
}

// Open checks that path can be written and does not change it yet.
func Open(path string) (*Out, error) {
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		path = whole // a link stays a link
	}
	o := &Out{path: path, mode: 0o644, beside: true}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		// A file without write permission is not replaced either.
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		if o.mode = info.Mode().Perm(); !info.Mode().IsRegular() {
			o.file, o.beside = f, false
			return o, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	var err error
	o.file, err = os.CreateTemp(filepath.Dir(path), ".mxflow-writing-*")
	return o, Asked(path, err)
}

// Asked names the requested file in an error about the temporary one beside it.
func Asked(path string, err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return &fs.PathError{Op: e.Op, Path: path, Err: e.Err}
	}
	if e := (*os.LinkError)(nil); errors.As(err, &e) {
		return &fs.PathError{Op: "write", Path: path, Err: e.Err}
	}
	return err
}

// Write writes the content. It is called once, and Close after it does nothing.
func (o *Out) Write(content []byte) error {
	f := o.file
	o.file = nil
	_, err := f.Write(content)
	if !o.beside {
		return errors.Join(err, f.Close())
	}
	if err = errors.Join(err, f.Chmod(o.mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), o.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return Asked(o.path, err)
}

// Close discards what was not written. On a nil Out it does nothing.
func (o *Out) Close() {
	if o == nil || o.file == nil {
		return
	}
	_ = o.file.Close()
	if o.beside {
		_ = os.Remove(o.file.Name())
	}
	o.file = nil
}
