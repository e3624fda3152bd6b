package store

import (
	"errors"
	"os"
	"path/filepath"
)

// output is the output of a run's process that continues without a terminal.
const output = "output.log"

// NewOutput creates the file that the process of a run prints to, and locks it for the
// life of that process: whatever ends it, readers then know that nothing more comes. dir
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

// Output opens what the process of a run has printed so far; the error wraps
// fs.ErrNotExist if the run has a terminal, or another program's process.
func Output(dir, run string) (*os.File, error) {
	return os.Open(filepath.Join(layout(dir).runs(), filepath.Base(run), output))
}

// Printing reports whether the process that prints to an Output still lives. After that
// its output is complete.
func Printing(f *os.File) (bool, error) { return isLocked(f) }
