package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/internal/flock"
)

// Holder is who holds a lock, as the lock's file tells it: one line of JSON.
// Whether the lock is held is known from the operating system alone, so that what
// a dead process left in the file fools nobody.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Command []string  `json:"command"`
	// Born tells the process from one that has its number later: when the kernel
	// started it, in ticks since the boot, which boot, and in which namespace the number counts.
	// Empty where the system does not say.
	Born string `json:"born,omitempty"`
	// Run is the run that it is at work on, by ID: empty before it began one, nil
	// where the file does not say.
	Run *string `json:"run"`
}

// DirLock is the right to write to a state directory. It ends with Unlock or with
// the process, however that ends.
type DirLock struct {
	file *os.File
}

// HeldError says that another process is at work.
type HeldError struct {
	Path string
	// Holder is nil when the holder has not said who it is yet.
	Holder *Holder
}

func (e *HeldError) Error() string {
	if e.Holder == nil {
		return fmt.Sprintf("%s is locked: another apply has just started on this state directory; wait for it (apply --wait), or use another state directory", e.Path)
	}
	h := e.Holder
	return fmt.Sprintf("%s is locked: process %d on %s has been using this state directory since %s (%s); wait for it (apply --wait), stop it, or use another state directory",
		e.Path, h.PID, h.Host, h.Started.Local().Format("2006-01-02 15:04:05"), strings.Join(h.Command, " "))
}

// Lock locks a state directory, which is created where there is none. If another
// process holds the lock, the error is a *HeldError. The lock needs a file
// system that all contenders reach through the same kernel: on a network file
// system, run apply on one host.
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

// lookers is how often a lock is tried again that nobody has who writes: whoever
// only looks at it lets go of it at once.
const lookers = 200

// tryLock locks an open file, or says that someone else has it.
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

// isLocked reports whether somebody may write, without being in the way of who
// wants to for more than a moment.
func isLocked(f *os.File) (bool, error) {
	if held, err := flock.Shared(f); held || err != nil {
		return held, err
	}
	return false, flock.Unlock(f)
}

// AtWork says whether a process holds the lock of a state directory, and who it is
// as far as it has said; it creates and changes nothing.
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
	// Between taking the lock and signing it, the file still names who had it before.
	if by = readHolder(f); by != nil && dead(by) {
		by = nil
	}
	return true, by, nil
}

// Begin says in the lock's file which run its holder is at work on. It is to be
// called before the run is on record: whoever finds a run there that the lock does
// not name may then rely on it that nobody is at work on it.
func (l *DirLock) Begin(run string) error {
	if err := l.sign(run); err != nil {
		return layout(filepath.Dir(l.file.Name())).explain(err)
	}
	return nil
}

// sign writes who holds the lock.
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
	// Cut behind what is written and not before it, so that who signs again is never
	// found unsigned.
	if _, err := l.file.WriteAt(append(text, '\n'), 0); err != nil {
		return err
	}
	return l.file.Truncate(int64(len(text)) + 1)
}

// readHolder returns nil for what is not, or not yet, whole.
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

// Unlock gives the lock back. The file stays, empty: to remove it would let two
// processes hold locks on two files of the same name.
func (l *DirLock) Unlock() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

// born tells a process from one that has its number later, as a Holder has it;
// empty where the process runs no more, or where this system does not say.
func born(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	return bornBy(numbered(), string(stat))
}

// numbered names the namespace in which this process sees the numbers of others, and
// the boot: the first namespace has one name on every machine, and a state directory
// may be shared.
func numbered() string {
	space, err := os.Readlink("/proc/self/ns/pid")
	boot, unknown := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || unknown != nil {
		return ""
	}
	return space + "@" + strings.TrimSpace(string(boot))
}

// bornBy reads proc_pid_stat(5): fields are counted behind the name, which may hold
// anything.
func bornBy(space, stat string) string {
	const state, threads, start = 0, 17, 19
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if space == "" || len(fields) <= start {
		return ""
	}
	// It waits to be reaped. With threads that run on it is alive.
	if (fields[state] == "Z" || fields[state] == "X") && (fields[threads] == "0" || fields[threads] == "1") {
		return ""
	}
	return space + " " + fields[start]
}

// dead reports whether who signed a lock is known to run no more: of a process whose
// number counts in another namespace, or on another machine, nothing is known here.
func dead(h *Holder) bool {
	space, _, ok := strings.Cut(h.Born, " ")
	return ok && space == numbered() && born(h.PID) != h.Born
}
