package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// layout is where the parts of a state directory lie.
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
	return d.explain(err)
}

// explain says what an error of the file system means for whoever runs mxflow.
func (d layout) explain(err error) error {
	if err == nil {
		return nil
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EEXIST):
		hint = "there is a file where a directory is needed: move it away, or name another state directory"
	case errors.Is(err, syscall.EROFS):
		hint = "the file system is read-only: reading works (status, show, audit, report), apply needs a state directory elsewhere"
	case errors.Is(err, fs.ErrPermission):
		hint = "you may not write there: make the directory yours (it may belong to root if an apply ran under sudo), or name another state directory"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "the file system is full: make room, then try again; nothing that was recorded is lost"
	case errors.Is(err, fs.ErrNotExist):
		hint = "nothing was applied here yet: run apply first, or name the state directory"
	default:
		return fmt.Errorf("state directory %s: %w", d, err)
	}
	return fmt.Errorf("state directory %s: %w; %s", d, err, hint)
}
