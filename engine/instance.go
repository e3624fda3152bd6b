package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

type Access struct {
	// BaseURL is the root of its HTTP API, without a trailing slash and without
	// /v1.
	BaseURL string
	// Header is sent with every request (Authorization); nil sends none.
	Header http.Header
	// TLS is nil if the system's own trust is enough.
	TLS *tls.Config
}

type Exit struct {
	// Code is the exit status, -1 if ended by a signal.
	Code int
	// Signal is the signal's name, empty if the process exited by itself.
	Signal string
}

// String is "exit status 3" or "ended by SIGKILL".
func (e Exit) String() string {
	switch {
	case e.Signal != "":
		return "ended by " + e.Signal
	case e.Code < 0:
		return "no longer reachable"
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

type Instance interface {
	Command
	// BaseURL is the root of its HTTP API, without a trailing slash and
	// without /v1.
	BaseURL() string
	// Access is how requests reach it: BaseURL, with what else they need.
	Access() Access
	// About is the launcher's record of what it started: image and its digest, container,
	// resolved command. It contains the plan's values, secrets included.
	About() map[string]string
	// Output runs a command where the engine lives, with the engine's environment, and
	// returns its standard output: on this machine, or inside the container. The error is
	// ErrElsewhere if nothing can be run there.
	Output(ctx context.Context, argv ...string) ([]byte, error)
	// Ready waits until the engine passes its readiness check. It fails at once if the
	// process exits, and after the Spec's ReadyTimeout. The error is a *Failure.
	Ready(ctx context.Context) error
	// Startup is the time from process start to readiness; zero before.
	Startup() time.Duration
	// PeakMemory is the most host memory of its processes seen so far, in bytes; 0 if
	// unknown. The accelerator's is not part of it.
	PeakMemory() int64
}

// ErrElsewhere means that the engine lives where mxflow can run nothing.
var ErrElsewhere = errors.New("no command can be run on the engine's host")

// Command is a running command that is not an engine: it has no port and no readiness,
// but is otherwise managed like an engine.
type Command interface {
	// Exited is closed when the process has ended, however it ended.
	Exited() <-chan struct{}
	// Exit is how it ended; nil while it runs.
	Exit() *Exit
	// LogPath is the file that holds its output.
	LogPath() string
	// Stop ends the whole process group: SIGTERM, then SIGKILL after the grace period, or
	// at once when ctx is done. It returns when nothing of it runs any more, is
	// idempotent, and safe for concurrent use. Everything launched must be stopped, even if
	// the process has ended by itself.
	Stop(ctx context.Context) error
}

// Checker is an Instance whose end mxflow is not notified of: it must be polled.
type Checker interface {
	// Alive is nil while the server can be reached; otherwise it is why not, and Exited
	// is closed from then on.
	Alive(ctx context.Context) error
}

// Resident is an Instance whose processes run on this machine, so their resources can be
// told from others'.
type Resident interface {
	// PIDs are its present processes, by this machine's numbers; none if they cannot be
	// seen.
	PIDs() []int
}

// Listener is an Instance that can tell who listens at its port.
type Listener interface {
	// PortUser names a program that is no part of the engine and listens there; empty if
	// there is none. seen is false if that cannot be told.
	PortUser() (who string, seen bool)
}

// Starter is an Instance that can tell what its processes do while it starts.
type Starter interface {
	Doing() Doing
}

// Doing is what the processes of an engine do.
type Doing struct {
	// Port is where the engine is to listen, and Listens reports whether it does. Elsewhere
	// is where else it does.
	Port      int
	Listens   bool
	Elsewhere []netip.AddrPort
	// Logged is when its log grew last, zero if unknown.
	Logged time.Time
	// Processor is how much of a processor they used in the last seconds, 1 being all of
	// one; negative if unknown. Idle is set if that is next to nothing, and nothing was
	// logged, opened or read from a disk.
	Processor float64
	Idle      bool
}

// Where names where an engine listens in place of its port: by ports, or by addresses if
// those are the mistake. It is empty if it listens where it should, or nowhere.
func (d Doing) Where() string {
	var names []string
	for _, at := range d.Elsewhere {
		name := strconv.Itoa(int(at.Port()))
		if int(at.Port()) == d.Port || !at.Addr().IsUnspecified() && !at.Addr().IsLoopback() {
			name = at.String()
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if d.Listens || d.Port == 0 {
		return ""
	}
	return strings.Join(names, ", ")
}

// Intruder is an Instance that can report that its processes had memory of mxflow open.
type Intruder interface {
	// Opened is that memory: "/proc/1234/mem"; empty if none was seen open.
	Opened() string
}

// Leaver is an Instance that can report what its engine left behind.
type Leaver interface {
	// Left names, once Stop has returned, the processes that kept running after the
	// engine had ended, until they were ended.
	Leftovers() []string
}
