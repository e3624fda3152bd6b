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

// followedLog copies what is appended to the server's log from the launch on, so output
// of an earlier start is never taken as evidence of this one. A file that is replaced or
// truncated, by a rotation or a restart, is read from its start again.
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

// followLog starts at the end of the log. With later, a log created by the restart of the
// server need not exist yet.
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

// catchUp copies what was written since the last time.
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
	const piece = 16 << 20 // between two checks of the copy's size
	for {
		n, err := io.Copy(f.to.Out, io.NewSectionReader(f.open, f.offset, piece))
		f.offset += n
		f.to.Bound()
		if err != nil || n < piece {
			return
		}
	}
}

// found reports whether the log has existed.
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

// close copies the rest and ends. It may be called again.
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
