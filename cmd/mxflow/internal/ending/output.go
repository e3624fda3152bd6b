package ending

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// Output is a writer that remembers its first error, as nobody checks the error of each
// printed line.
type Output struct {
	To  io.Writer
	mu  sync.Mutex
	err error
}

func (o *Output) Write(p []byte) (int, error) {
	n, err := o.To.Write(p)
	// A closed reader has read what it wanted.
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// Err is the first error of a Write.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
