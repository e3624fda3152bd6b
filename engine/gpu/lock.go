package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/internal/flock"
)

// Holder is who holds a GPU, as recorded in the lock's file: one line of JSON. It is for
// people to read; whether the lock is held is determined by the operating system alone,
// so what a dead process left there misleads nobody. Other users may write it: it is
// shown, and never trusted.
type Holder struct {
	PID  int    `json:"pid"`
	User string `json:"user,omitempty"`
	// State is the mark of the state directory on whose behalf it is held.
	State string    `json:"state,omitempty"`
	Since time.Time `json:"since"`
}

// HeldError is the error that another process has a GPU.
type HeldError struct {
	GPU  GPU
	Path string
	// Holder is nil if it has not identified itself.
	Holder *Holder
}

func (e *HeldError) Error() string {
	who := "another mxflow"
	if h := e.Holder; h != nil {
		who = fmt.Sprintf("process %d", h.PID)
		if h.User != "" {
			who += " of user " + logscan.Clean(h.User)
		}
		who += fmt.Sprintf(", an mxflow with another state directory, since %s", h.Since.Local().Format("2006-01-02 15:04:05"))
	}
	return fmt.Sprintf("%s is held by %s (%s)", e.GPU, who, e.Path)
}

// Lock is the right to measure on a GPU. It ends with Unlock or with the
// process, however that ends.
type Lock struct{ file *os.File }

// LockDir is the folder of the lock files, one for the whole machine whatever the user:
// MXFLOW_GPU_LOCK_DIR, for containers that share a GPU but not /run/lock; else /run/lock
// if everybody may write there; else /tmp.
func LockDir() string {
	if dir := os.Getenv("MXFLOW_GPU_LOCK_DIR"); dir != "" {
		return dir
	}
	const all = 0o002
	if info, err := os.Stat("/run/lock"); err == nil && info.IsDir() && info.Mode().Perm()&all != 0 {
		return "/run/lock"
	}
	return "/tmp"
}

// lockEvery is how often a held lock is retried.
const lockEvery = 250 * time.Millisecond

// Acquire locks GPUs, in the order of their UUIDs, so two that want the same ones cannot
// deadlock. It waits while another process holds one: for up to wait, and until ctx is
// done. held is called once per GPU that has to be waited for. The locks are by UUID. The
// error is a *HeldError if waiting did not help; nothing is locked then.
func Acquire(ctx context.Context, dir string, gpus []GPU, me Holder, wait time.Duration, held func(*HeldError)) (map[string]*Lock, error) {
	gpus = slices.Clone(gpus)
	slices.SortFunc(gpus, func(a, b GPU) int { return strings.Compare(a.UUID, b.UUID) })
	limit := time.NewTimer(wait)
	defer limit.Stop()
	locks := map[string]*Lock{}
	for _, g := range gpus {
		l, err := acquire(ctx, dir, g, me, limit.C, held)
		if err != nil {
			for _, l := range locks {
				_ = l.Unlock()
			}
			return nil, err
		}
		locks[g.UUID] = l
	}
	return locks, nil
}

func acquire(ctx context.Context, dir string, g GPU, me Holder, limit <-chan time.Time, held func(*HeldError)) (*Lock, error) {
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		l, err := tryAcquire(dir, g, me)
		var busy *HeldError
		if !errors.As(err, &busy) {
			return l, err
		}
		if first && held != nil {
			held(busy)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-limit:
			return nil, busy
		case <-tick.C:
		}
	}
}

// tryAcquire locks one GPU at once, or returns who has it.
func tryAcquire(dir string, g GPU, me Holder) (*Lock, error) {
	path := filepath.Join(dir, "mxflow-"+safe(g.UUID)+".lock")
	f, err := openLock(path)
	if err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w; set MXFLOW_GPU_LOCK_DIR to another folder for its lock, the same for all users of the GPU", g, err)
	}
	taken, err := flock.Exclusive(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock %s: %s: %w", g, path, err), f.Close())
	}
	if taken {
		defer f.Close()
		return nil, &HeldError{GPU: g, Path: path, Holder: readHolder(f)}
	}
	l := &Lock{f}
	// The holder is informational: on a full disk the lock is still held.
	if text, err := json.Marshal(me); err == nil && f.Truncate(0) == nil {
		_, _ = f.WriteAt(append(text, '\n'), 0)
	}
	return l, nil
}

// openLock opens a lock file that any user may have created. It is first opened without
// O_CREAT: in a folder with the sticky bit Linux refuses that flag for others' files
// (fs.protected_regular), even to root. Links are not followed.
func openLock(path string) (*os.File, error) {
	const mode = os.O_RDWR | flock.NoFollow
	f, err := os.OpenFile(path, mode, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(path, mode|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			// The umask removed permissions that others need.
			_ = f.Chmod(0o666)
		} else if errors.Is(err, fs.ErrExist) {
			f, err = os.OpenFile(path, mode, 0)
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		// Reading is enough to hold it.
		f, err = os.OpenFile(path, os.O_RDONLY|flock.NoFollow, 0)
	}
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", path), err, f.Close())
	}
	return f, nil
}

// readHolder returns nil for incomplete or invalid contents.
func readHolder(f *os.File) *Holder {
	text, err := io.ReadAll(io.LimitReader(f, 4<<10))
	h := new(Holder)
	if err != nil || json.Unmarshal(text, h) != nil || h.PID == 0 {
		return nil
	}
	return h
}

// Unlock releases the lock. The file stays, empty: removing it would let two processes
// hold locks on two files of the same name.
func (l *Lock) Unlock() error {
	_ = l.file.Truncate(0)
	return l.file.Close()
}

// safe turns a UUID into a file name.
func safe(uuid string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, uuid)
}
