package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/internal/flock"
	"github.com/mxflow/mxflow/internal/foreign"
)

// GPUHolder identifies the holder of a GPU lock, as recorded in the lock's file: one line
// of JSON, for people to read. The operating system alone determines whether the lock is
// held, so a dead process's entry misleads nobody. Other users may write it: it is shown,
// and never trusted.
type GPUHolder struct {
	PID  int    `json:"pid"`
	User string `json:"user,omitempty"`
	// State is the mark of the state directory on whose behalf it is held.
	State string    `json:"state,omitempty"`
	Since time.Time `json:"since"`
}

// GPUHeldError is the error that another process has a GPU.
type GPUHeldError struct {
	GPU  GPU
	Path string
	// Holder is nil if it has not identified itself.
	Holder *GPUHolder
}

func (e *GPUHeldError) Error() string {
	who := "another mxflow"
	if h := e.Holder; h != nil {
		who = fmt.Sprintf("process %d", h.PID)
		if h.User != "" {
			who += " of user " + foreign.Clean(h.User)
		}
		who += fmt.Sprintf(", an mxflow with another state directory, since %s",
			h.Since.Local().Format("2006-01-02 15:04:05"))
	}
	return fmt.Sprintf("%s is held by %s (%s)", e.GPU, who, e.Path)
}

// GPULock is the right to measure on a GPU. It ends with Unlock or with the process,
// however that ends.
type GPULock struct{ file *os.File }

// GPULockDir is the folder of the lock files, one for the whole machine whatever the user:
// MXFLOW_GPU_LOCK_DIR, for containers that share a GPU but not /run/lock; else /run/lock
// if everybody may write there; else /tmp.
func GPULockDir() string {
	if dir := os.Getenv("MXFLOW_GPU_LOCK_DIR"); dir != "" {
		return dir
	}
	const all = 0o002
	if info, err := os.Stat("/run/lock"); err == nil && info.IsDir() && info.Mode().Perm()&all != 0 {
		return "/run/lock"
	}
	return "/tmp"
}

// LockGPUs locks GPUs, in the order of their UUIDs, so two that want the same ones cannot
// deadlock. It waits while another process holds one: for up to wait, and until ctx is
// done. held is called once per GPU that has to be waited for. The locks are by UUID. The
// error is a *GPUHeldError if waiting did not help; nothing is locked then.
func LockGPUs(ctx context.Context, dir string, gpus []GPU, me GPUHolder, wait time.Duration,
	held func(*GPUHeldError),
) (map[string]*GPULock, error) {
	const retry = 250 * time.Millisecond
	end := time.Now().Add(wait)
	locks := map[string]*GPULock{}
	for _, g := range slices.SortedFunc(slices.Values(gpus), func(a, b GPU) int {
		return strings.Compare(a.UUID, b.UUID)
	}) {
		for told := false; locks[g.UUID] == nil; {
			l, err := lockGPU(dir, g, me)
			busy, isBusy := errors.AsType[*GPUHeldError](err)
			if isBusy && !told && held != nil {
				held(busy)
			}
			told = true
			if err == nil {
				locks[g.UUID] = l
			} else if isBusy && time.Now().Before(end) && ctx.Err() == nil {
				sleep(ctx, min(retry, time.Until(end)))
			} else {
				for _, l := range locks {
					_ = l.Unlock()
				}
				if isBusy && ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				return nil, err
			}
		}
	}
	return locks, nil
}

// notInNames is what is not kept of a UUID in the name of a file.
var notInNames = regexp.MustCompile(`[^a-zA-Z0-9-]`)

// lockGPU locks one GPU at once, or returns who has it.
func lockGPU(dir string, g GPU, me GPUHolder) (*GPULock, error) {
	path := filepath.Join(dir, "mxflow-"+notInNames.ReplaceAllString(g.UUID, "_")+".lock")
	f, err := openLock(path)
	if err != nil {
		return nil,
			fmt.Errorf("cannot lock %s: %w; set MXFLOW_GPU_LOCK_DIR to another folder for its lock, the same for all "+
				"users of the GPU", g, err)
	}
	taken, err := flock.Exclusive(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock %s: %s: %w", g, path, err), f.Close())
	}
	if taken {
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, 4<<10))
		h := new(GPUHolder)
		if err != nil || json.Unmarshal(text, h) != nil || h.PID == 0 {
			h = nil
		}
		return nil, &GPUHeldError{GPU: g, Path: path, Holder: h}
	}
	// The holder is informational: on a full disk the lock is still held.
	if text, err := json.Marshal(me); err == nil && f.Truncate(0) == nil {
		_, _ = f.WriteAt(append(text, '\n'), 0)
	}
	return &GPULock{f}, nil
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
			_ = f.Chmod(0o666) // the umask removed permissions that others need
		} else if errors.Is(err, fs.ErrExist) {
			f, err = os.OpenFile(path, mode, 0)
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		f, err = os.OpenFile(path, os.O_RDONLY|flock.NoFollow, 0) // reading is enough to hold it
	}
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", path), err, f.Close())
	}
	return f, nil
}

// Unlock releases the lock. The file stays, empty: removing it would let two processes
// hold locks on two files of the same name.
func (l *GPULock) Unlock() error {
	_ = l.file.Truncate(0)
	return l.file.Close()
}
