package endpoint

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
)

// followEvery is how often the server's log is read.
const followEvery = 200 * time.Millisecond

// followedLog copies what is appended to the server's log from the launch
// on, so that nothing an earlier start printed is taken for evidence of this
// one. A file that is replaced or cut, as a rotation or a restart does, is read
// on from its beginning.
type followedLog struct {
	from string

	mu     sync.Mutex
	to     *logscan.File
	open   *os.File // nil while the file is not there
	offset int64
	ended  bool
	stop   chan struct{}
	done   chan struct{}
}

// followLog begins at the end of the log. A log that may come later, with the
// restart of the server, need not be there yet.
func followLog(from, to string, later bool) (*followedLog, *engine.Failure) {
	f := &followedLog{from: from, stop: make(chan struct{}), done: make(chan struct{})}
	switch file, err := os.Open(from); {
	case err == nil:
		info, err := file.Stat()
		if err != nil || !info.Mode().IsRegular() {
			file.Close()
			return nil, engine.StartFailure(err, "its log_file %q is not a regular file", from)
		}
		f.open, f.offset = file, info.Size()
	case later && errors.Is(err, fs.ErrNotExist):
	default:
		return nil, engine.StartFailure(err, "cannot read its log_file: %v: correct log_file, or remove it", err)
	}
	var err error
	if f.to, err = logscan.Open(to, 0, logscan.Evidence{}); err != nil {
		f.shut()
		return nil, engine.StartFailure(err, "cannot write its log: %v", err)
	}
	go f.run()
	return f, nil
}

func (f *followedLog) run() {
	defer close(f.done)
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-tick.C:
			f.catchUp()
		}
	}
}

// catchUp copies what has been written since the last time.
func (f *followedLog) catchUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	f.copy()
	now, err := os.Stat(f.from)
	if err != nil {
		return
	}
	if f.open != nil {
		if have, err := f.open.Stat(); err == nil && os.SameFile(have, now) {
			return
		}
	}
	file, err := os.Open(f.from)
	if err != nil {
		return
	}
	f.shut()
	f.open, f.offset = file, 0
	f.copy()
}

// copy appends what the open file has beyond the offset.
func (f *followedLog) copy() {
	if f.open == nil {
		return
	}
	if info, err := f.open.Stat(); err == nil && info.Size() < f.offset {
		f.offset = 0
	}
	const piece = 16 << 20 // between two looks at how large the copy has become
	for {
		n, err := io.Copy(f.to.Out, io.NewSectionReader(f.open, f.offset, piece))
		f.offset += n
		f.to.Bound()
		if err != nil || n < piece {
			return
		}
	}
}

// found reports whether the log has been there.
func (f *followedLog) found() bool {
	f.catchUp()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open != nil
}

func (f *followedLog) shut() {
	if f.open != nil {
		f.open.Close()
		f.open = nil
	}
}

// close copies what is left and ends. It may be called again.
func (f *followedLog) close() {
	f.catchUp()
	f.mu.Lock()
	ended := f.ended
	f.ended = true
	f.mu.Unlock()
	if ended {
		return
	}
	close(f.stop)
	<-f.done
	f.shut()
	f.to.Close()
}
