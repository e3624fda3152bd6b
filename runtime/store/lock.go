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
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/internal/flock"
)

// Holder is who holds a lock, as recorded in the lock's file: one line of JSON. Whether
// the lock is held is determined by the operating system alone, so what a dead process
// left in the file misleads nobody.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Command []string  `json:"command"`
	// Born distinguishes the process from a later one with its PID: when the kernel
	// started it, in ticks since the boot, which boot, and the PID namespace. Empty if
	// the system does not say.
	Born string `json:"born,omitempty"`
	// Run is the run that it is working on, by ID: empty before it started one, nil if
	// the file does not say.
	Run *string `json:"run"`
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

// Error says who holds it; what to do depends on who wants it.
func (e *HeldError) Error() string {
	if e.Holder == nil {
		return e.Path + " is locked: another apply has just started on this state directory"
	}
	h := e.Holder
	return fmt.Sprintf("%s is locked: process %d on %s has been using this state directory since %s (%s)",
		e.Path, h.PID, h.Host, h.Started.Local().Format("2006-01-02 15:04:05"), strings.Join(h.typed(), " "))
}

// typed is the command as a person typed it: without the program's folder.
func (h *Holder) typed() []string {
	words := slices.Clone(h.Command)
	if len(words) > 0 {
		words[0] = filepath.Base(words[0])
	}
	return words
}

// Lock locks a state directory, which is created if missing. If another process holds the
// lock, the error is a *HeldError. The lock needs a file system that all contenders reach
// through the same kernel: on a network file system, run apply on one host.
func Lock(dir string) (*DirLock, error) {
	d := layout(dir)
	if err := d.make(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(d.lock(), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, d.explain(err)
	}
	held, err := tryLock(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock %s: %w", d.lock(), err), f.Close())
	}
	if held {
		err := &HeldError{Path: d.lock(), Holder: readHolder(f)}
		f.Close()
		return nil, err
	}
	l := &DirLock{f}
	if err := l.sign(""); err != nil {
		return nil, errors.Join(d.explain(err), l.Unlock())
	}
	return l, nil
}

// lookers is how often a lock is retried that no writer holds: a process that only checks
// it releases it at once.
const lookers = 200

// tryLock locks an open file, or reports that somebody else holds it.
func tryLock(f *os.File) (held bool, err error) {
	for range lookers {
		if held, err = flock.Exclusive(f); !held || err != nil {
			return held, err
		}
		if held, err = isLocked(f); held || err != nil {
			return held, err
		}
		time.Sleep(time.Millisecond)
	}
	return true, nil
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
	f, err := os.Open(layout(dir).lock())
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
	// Between taking the lock and signing it, the file still names the previous holder.
	if by = readHolder(f); by != nil && dead(by) {
		by = nil
	}
	return true, by, nil
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

// sign records who holds the lock.
func (l *DirLock) sign(run string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed host"
	}
	pid := os.Getpid()
	text, err := json.Marshal(Holder{PID: pid, Host: host, Started: time.Now().UTC(), Command: os.Args, Born: born(pid), Run: &run})
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
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
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

// born distinguishes a process from a later one with its PID, in the form of a Holder;
// empty if the process no longer runs, or this system does not say.
func born(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	return bornBy(numbered(), string(stat))
}

// numbered names this process's PID namespace and the boot: the first namespace has the
// same name on every machine, and a state directory may be shared.
func numbered() string {
	space, err := os.Readlink("/proc/self/ns/pid")
	boot, unknown := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || unknown != nil {
		return ""
	}
	return space + "@" + strings.TrimSpace(string(boot))
}

// bornBy reads proc_pid_stat(5): fields are counted after the name, which may contain
// anything.
func bornBy(space, stat string) string {
	const state, threads, start = 0, 17, 19
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if space == "" || len(fields) <= start {
		return ""
	}
	// It waits to be reaped. With running threads it is alive.
	if (fields[state] == "Z" || fields[state] == "X") && (fields[threads] == "0" || fields[threads] == "1") {
		return ""
	}
	return space + " " + fields[start]
}

// dead reports whether the signer of a lock is known to have ended: nothing is known here
// about a process in another PID namespace, or on another machine.
func dead(h *Holder) bool {
	space, _, ok := strings.Cut(h.Born, " ")
	return ok && space == numbered() && born(h.PID) != h.Born
}
