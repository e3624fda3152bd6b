package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mxflow/mxflow/internal/flock"
)

// Holder identifies the holder of a lock, as recorded in the lock's file: one line of
// JSON. The operating system alone determines whether the lock is held, so a dead
// process's entry misleads nobody.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Command []string  `json:"command"`
	// Run is the run that it is working on, by ID: empty before it started one.
	Run string `json:"run"`
}

// DirLock is the right to write to a state directory. It ends with Unlock or with
// the process, however that ends.
type DirLock struct {
	file *os.File
}

// HeldError is the error that another process holds the lock.
type HeldError struct {
	Path string
	// Holder is nil if the holder has not identified itself yet.
	Holder *Holder
}

// Error names the holder; the caller adds what to do.
func (e *HeldError) Error() string {
	if e.Holder == nil {
		return e.Path + " is locked: another apply has just started on this state directory"
	}
	h := e.Holder
	typed := slices.Clone(h.Command)
	if len(typed) > 0 {
		typed[0] = filepath.Base(typed[0]) // as a person typed it
	}
	return fmt.Sprintf("%s is locked: process %d on %s has been using this state directory since %s (%s)",
		e.Path, h.PID, h.Host, h.Started.Local().Format("2006-01-02 15:04:05"), strings.Join(typed, " "))
}

// Lock locks a state directory, which is created if missing. If another process holds the
// lock, the error is a *HeldError. The lock needs a file system that all contenders reach
// through the same kernel: on a network file system, run apply on one host.
func Lock(dir string) (*DirLock, error) {
	d := layout(dir)
	if err := d.make(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(d.path(lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, d.explain(err)
	}
	// A process that only looks at the lock holds it for a moment: it is retried while no
	// writer holds it. So does one that was killed while it started a child, until that has begun.
	held := true
	for tries := 0; held && err == nil && tries < lookers; tries++ {
		if held, err = flock.Exclusive(f); !held || err != nil {
			break
		}
		var writer bool
		again := time.Millisecond
		if writer, err = isLocked(f); writer {
			if again = afterDeath; !readHolder(f).ended() {
				break
			}
		}
		time.Sleep(again)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock %s: %w", d.path(lockFile), err), f.Close())
	}
	if held {
		err := &HeldError{Path: d.path(lockFile), Holder: readHolder(f)}
		f.Close()
		return nil, err
	}
	l := &DirLock{f}
	if err := l.sign(""); err != nil {
		return nil, errors.Join(d.explain(err), l.Unlock())
	}
	return l, nil
}

// lookers is how often a lock is retried that no writer holds, or one that ended; then at this pace.
const (
	lookers    = 200
	afterDeath = 25 * time.Millisecond
)

// ended reports whether the holder was a process of this host that is no more.
func (h *Holder) ended() bool {
	if h == nil {
		return false
	}
	host, err := os.Hostname()
	if err != nil || host != h.Host {
		return false
	}
	p, err := os.FindProcess(h.PID)
	return err == nil && errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// isLocked reports whether a writer holds the lock, blocking one only for a moment.
func isLocked(f *os.File) (bool, error) {
	if held, err := flock.Shared(f); held || err != nil {
		return held, err
	}
	return false, flock.Unlock(f)
}

// AtWork reports whether a process holds the lock of a state directory, and who it is if
// it has identified itself; it creates and changes nothing.
func AtWork(dir string) (held bool, by *Holder, err error) {
	f, err := os.Open(layout(dir).path(lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	defer f.Close()
	if held, err = isLocked(f); !held || err != nil {
		return false, nil, err
	}
	return true, readHolder(f), nil
}

// Begin records in the lock's file which run its holder is working on. Call it before the
// run is on record: then a run on record that the lock does not name is known not to be
// in progress.
func (l *DirLock) Begin(run string) error {
	if err := l.sign(run); err != nil {
		return layout(filepath.Dir(l.file.Name())).explain(err)
	}
	return nil
}

func (l *DirLock) sign(run string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed host"
	}
	text, err := json.Marshal(Holder{
		PID: os.Getpid(), Host: host, Started: time.Now().UTC(),
		Command: os.Args, Run: run,
	})
	if err != nil {
		return err
	}
	// Truncated after writing and not before it, so a re-signed lock is never unsigned in
	// between.
	if _, err := l.file.WriteAt(append(text, '\n'), 0); err != nil {
		return err
	}
	return l.file.Truncate(int64(len(text)) + 1)
}

// readHolder returns nil for incomplete or invalid contents.
func readHolder(f *os.File) *Holder {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 64<<10))
	if err != nil {
		return nil
	}
	h := new(Holder)
	if json.Unmarshal(text, h) != nil {
		return nil
	}
	return h
}

// Unlock releases the lock. The file stays, empty: removing it would let two processes
// hold locks on two files of the same name.
func (l *DirLock) Unlock() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}
