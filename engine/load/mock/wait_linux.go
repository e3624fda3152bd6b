package mock

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// waiter sleeps until a time on the clock or until woken. Go's timers are rounded to a
// millisecond when the process is idle (epoll_wait counts in them), which is too coarse
// for pacing; ppoll counts in ns.
type waiter struct {
	fd     int
	mu     sync.Mutex
	closed bool
}

func newWaiter() (*waiter, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return &waiter{fd: fd}, err
}

// wait returns after d, or when wake was called; a negative d waits for wake only.
func (w *waiter) wait(d time.Duration) {
	fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
	var limit *unix.Timespec
	if d >= 0 {
		ts := unix.NsecToTimespec(int64(d))
		limit = &ts
	}
	if n, _ := unix.Ppoll(fds, limit, nil); n > 0 {
		var count [8]byte
		_, _ = unix.Read(w.fd, count[:])
	}
}

// wake ends the current wait, or the next one.
func (w *waiter) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		_, _ = unix.Write(w.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

// close must not be called during a wait.
func (w *waiter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	_ = unix.Close(w.fd)
}
