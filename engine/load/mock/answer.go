package mock

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

var errStopped = errors.New("the mock server stops")

// answer is one stream as it is sent. Until it is handed to a wheel it belongs
// to its connection's goroutine, then to the wheel until ended brings it back.
type answer struct {
	conn   net.Conn
	frames *frames
	plan   schedule
	id     uint64
	prompt int

	// due is the deadline of the next event; sent of events have been sent.
	due          int64
	sent, events int
	truth        Truth
	ended        chan error
	// record keeps the truth.
	record func(Truth)

	raw     syscall.RawConn
	try     func(fd uintptr) bool
	pending []byte
	wrote   int
	failed  error
}

func newAnswer(conn *net.TCPConn, f *frames, p Pacing, arrival int64) (*answer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	a := &answer{conn: conn, frames: f, plan: p.schedule(arrival), events: p.events(), ended: make(chan error, 1), raw: raw}
	a.due = a.plan.due(0)
	a.truth = Truth{ID: p.ID, Arrival: arrival, Tokens: p.Tokens, PerEvent: p.PerEvent, Sent: make([]int64, 0, a.events)}
	a.try = func(fd uintptr) bool {
		for {
			a.wrote, a.failed = unix.Write(int(fd), a.pending)
			if !errors.Is(a.failed, unix.EINTR) {
				return true // whatever came of it: this never waits
			}
		}
	}
	return a, nil
}

// event appends the bytes of the next event, and after the last one those that
// end the answer, to dst.
func (a *answer) event(dst []byte) []byte {
	f := a.frames
	if a.sent == 0 && len(f.head.bytes) > 0 {
		dst = f.head.appendTo(dst, a.id, a.prompt, 0)
	}
	if a.sent < a.events-1 {
		return f.text[a.sent%len(f.text)].appendTo(dst, a.id, a.prompt, (a.sent+1)*a.truth.PerEvent)
	}
	dst = f.last.appendTo(dst, a.id, a.prompt, a.truth.Tokens)
	if len(f.usage.bytes) > 0 {
		dst = f.usage.appendTo(dst, a.id, a.prompt, a.truth.Tokens)
	}
	return append(dst, f.end...)
}

// sending notes that the event goes out now. The truth is kept before the last
// one does: whoever has seen the end can ask for it.
func (a *answer) sending(now int64) {
	a.truth.Sent = append(a.truth.Sent, now)
	a.truth.Lag = max(a.truth.Lag, now-a.due)
	if a.sent++; a.sent == a.events {
		a.record(a.truth)
	}
}

// write writes without waiting, and returns what did not fit.
func (a *answer) write(b []byte) (rest []byte, err error) {
	a.pending, a.wrote, a.failed = b, 0, nil
	if err := a.raw.Write(a.try); err != nil {
		return nil, err
	}
	if a.failed != nil && !errors.Is(a.failed, unix.EAGAIN) {
		return nil, a.failed
	}
	return b[max(a.wrote, 0):], nil
}

// end gives the answer back to its connection.
func (a *answer) end(err error) {
	if a.sent < a.events {
		a.truth.Broken = true
		a.record(a.truth)
	}
	a.ended <- err
}
