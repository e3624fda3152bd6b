package run

import (
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/machine"
)

// localhost is where requests to a process are sent.
var localhost = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Activity is what the processes of a starting engine do. It implements engine.Starter.
type Activity struct {
	// Port is where the engine is to listen, 0 if it is not a server; Log is its log.
	Port int
	Log  string
	// PIDs are its processes on this machine, none if they are not seen; Alone is set if
	// nobody else is in their network namespace. IP is where requests to that go.
	PIDs  func() []int
	Alone bool
	IP    netip.Addr

	mu   sync.Mutex
	used machine.Used
	// looked is when they were looked at last, and says what was seen then. steady is set if
	// nothing changed since began, when they had used seconds of a processor.
	looked, began time.Time
	says          engine.Doing
	seconds       float64
	steady        bool
}

// idleFor is how long an engine that waits for nothing but requests is watched to be sure:
// one that loads computes, logs, or waits for a disk. idleShare is how much of a processor
// it uses at most.
var idleFor = 5 * time.Second

const idleShare = 0.1

// Doing implements engine.Starter.
func (a *Activity) Doing() engine.Doing {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if now.Sub(a.looked) < idleFor/5 {
		return a.says
	}
	first, last := a.looked.IsZero(), a.says
	a.looked, a.says = now, engine.Doing{Port: a.Port, Processor: last.Processor, Idle: last.Idle}
	if info, err := os.Stat(a.Log); err == nil {
		a.says.Logged = info.ModTime()
	}
	pids := a.PIDs()
	for _, at := range listening(pids, a.Alone) {
		if a.Port != 0 && reaches(at, a.Port) && !(a.Alone && at.Addr().IsLoopback()) {
			a.says.Listens = true
		} else {
			a.says.Elsewhere = append(a.says.Elsewhere, at)
		}
	}
	seconds, seen := a.used.Read("/", pids)
	changed := !a.says.Logged.Equal(last.Logged) || a.says.Listens != last.Listens ||
		!slices.Equal(a.says.Elsewhere, last.Elsewhere)
	switch {
	case first || !seen:
		a.began, a.seconds, a.steady = now, seconds, true
		a.says.Processor, a.says.Idle = -1, false
		return a.says
	case changed:
		a.steady, a.says.Idle = false, false
	}
	if spent := now.Sub(a.began); spent >= idleFor {
		a.says.Processor = max(0, seconds-a.seconds) / spent.Seconds()
		a.says.Idle = a.steady && a.says.Processor < idleShare && !machine.Busy(pids)
		a.began, a.seconds, a.steady = now, seconds, true
	}
	return a.says
}

// reaches reports whether a request to 127.0.0.1 can end at a listener of this port.
func reaches(at netip.AddrPort, port int) bool {
	return int(at.Port()) == port && (at.Addr() == localhost || at.Addr().IsUnspecified())
}

// host is where a request to a listener goes from here; empty if it does not get there.
func (a *Activity) host(at netip.AddrPort) string {
	ip := at.Addr()
	switch {
	case a.Alone && (ip.IsLoopback() || !a.IP.IsValid()):
		return ""
	case a.Alone:
		ip = a.IP
	case ip.IsUnspecified():
		ip = localhost
	}
	return netip.AddrPortFrom(ip, at.Port()).String()
}
