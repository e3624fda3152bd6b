package ending

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// Output is a writer that remembers what went wrong: nobody looks at the error of
// each line that is printed.
type Output struct {
	To  io.Writer
	mu  sync.Mutex
	err error
}

func (o *Output) Write(p []byte) (int, error) {
	n, err := o.To.Write(p)
	// A reader that was closed has read what it wanted.
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
