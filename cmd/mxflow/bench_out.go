package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// outFile is a file that is opened before something long begins and written
// after it: whole or not at all, and an older one stays until then.
type outFile struct {
	// path is where it belongs, file what is written to: a file beside it that
	// takes its name, or it itself where it is no regular one, such as /dev/stdout.
	path   string
	file   *os.File
	beside bool
}

// openOut sees that path can be written and does not change it yet.
func openOut(path string) (*outFile, error) {
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		path = whole // a link stays one
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		// What may not be written is not replaced either.
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return &outFile{path: path, file: f}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".mxflow-bench-*")
	if err != nil {
		return nil, err
	}
	return &outFile{path: path, file: f, beside: true}, nil
}

// write puts the content in its place. It is called once, and close after it does
// nothing.
func (o *outFile) write(content []byte) error {
	f := o.file
	o.file = nil
	_, err := f.Write(content)
	if !o.beside {
		return errors.Join(err, f.Close())
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), o.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// close gives up what was not written. Of a nil outFile it does nothing.
func (o *outFile) close() {
	if o == nil || o.file == nil {
		return
	}
	_ = o.file.Close()
	if o.beside {
		_ = os.Remove(o.file.Name())
	}
	o.file = nil
}

// benchFiles are those of --out and --plot, nil where they were not asked for.
type benchFiles struct{ out, plot *outFile }

func (b bench) openFiles() (f benchFiles, err error) {
	if b.out != "" && sameFile(b.out, b.plot) {
		return f, b.wrong("plot", "%s is the file of --out as well: choose another", b.plot)
	}
	if b.out != "" {
		if f.out, err = openOut(b.out); err != nil {
			return f, b.wrong("out", "%s cannot be written: %v", b.out, bareReason(err))
		}
	}
	if b.plot != "" {
		if f.plot, err = openOut(b.plot); err != nil {
			f.close()
			return f, b.wrong("plot", "%s cannot be written: %v", b.plot, bareReason(err))
		}
	}
	return f, b.openRaw()
}

func (f benchFiles) close() {
	f.out.close()
	f.plot.close()
}

func sameFile(a, b string) bool {
	whole := func(path string) string {
		if p, err := filepath.Abs(path); err == nil {
			path = p
		}
		return path
	}
	return b != "" && whole(a) == whole(b)
}

// bareReason is an error without the name of the file that it is about, which may
// be one that nobody asked for.
func bareReason(err error) error {
	var about *fs.PathError
	if errors.As(err, &about) {
		return about.Err
	}
	return err
}
