package store

import (
	"errors"
	"os"
	"path/filepath"
)

// output is what the process of a run prints that continues without a terminal.
const output = "output.log"

// NewOutput creates the file that the process of a run prints to, and locks it for as long
// as that process lives: whatever ends it, readers know then that nothing more comes. dir
// is the state directory.
func NewOutput(dir, run string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(layout(dir).runs(), filepath.Base(run), output), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, layout(dir).explain(err)
	}
	held, err := tryLock(f)
	if err == nil && held {
		err = errors.New("another process has locked " + f.Name())
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Output opens what the process of a run printed so far; an error that wraps
// fs.ErrNotExist where the run has a terminal, or another program's process.
func Output(dir, run string) (*os.File, error) {
	return os.Open(filepath.Join(layout(dir).runs(), filepath.Base(run), output))
}

// Printing reports whether the process that prints to an Output still lives. What it
// printed is all there once it does not.
func Printing(f *os.File) (bool, error) { return isLocked(f) }
