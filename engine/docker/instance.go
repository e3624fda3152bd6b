package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync/atomic"
	"syscall"

	"github.com/docker/docker/pkg/stdcopy"
	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/run"
)

// instance is an engine whose output the daemon streams until the engine ends.
type instance struct {
	*daemon
	*run.Activity
	engine.Lifetime
	spec  engine.Spec
	kind  kinds.Kind
	about map[string]string
	// port is where it listens in its container, 0 if it is not a server; reach is where
	// requests go, as host:port. shared is set if it uses its machine's network.
	port   int
	reach  string
	shared bool

	log, out *logscan.File // out is nil where standard output goes into log
	stream   *stream
	shown    chan struct{} // closed when the stream has ended
	how      ending        // valid once it has ended
	peak     engine.Peak
	// lookAtMemory raises the peak.
	lookAtMemory func()
	killed       atomic.Bool // by us
	stopper      engine.Stopper
}

type ending struct {
	exit engine.Exit
	// why adds to the exit what it does not show, empty if nothing.
	why string
	err error
}

func (i *instance) openLogs(l engine.Launch, limit int64) (err error) {
	i.Begin()
	if i.log, err = logscan.Open(l.LogPath, limit, l.Evidence); err == nil && l.OutPath != "" {
		i.out, err = logscan.Open(l.OutPath, limit, logscan.Evidence{})
	}
	if err != nil {
		i.closeLogs()
		return fmt.Errorf("cannot write its log: %w", err)
	}
	// The processes of a command in a container are not known by this machine's PIDs.
	i.Activity = &run.Activity{Port: i.port, Log: i.log.Path, PIDs: func() []int { return nil }}
	return nil
}

func (i *instance) closeLogs() {
	for _, to := range []*logscan.File{i.log, i.out} {
		if to != nil {
			to.Close()
		}
	}
}

// follow copies the engine's output into its logs. A container with a terminal has one
// stream, others have both in one.
func (i *instance) follow(ctx context.Context, tty bool, output func(context.Context) (*stream, error)) error {
	stream, err := open(ctx, i.daemon, callLimit, output)
	if err != nil {
		return err
	}
	i.stream, i.shown = stream, make(chan struct{})
	stdout := i.log
	if i.out != nil {
		stdout = i.out
	}
	go func() {
		defer close(i.shown)
		if tty {
			_, _ = io.Copy(stdout, stream)
		} else {
			_, _ = stdcopy.StdCopy(stdout, i.log, stream)
		}
	}()
	return nil
}

// unfollow ends the stream, if it has not ended, and returns once it has.
func (i *instance) unfollow() {
	if i.shown != nil {
		i.stream.Close()
		<-i.shown
	}
}

func (i *instance) BaseURL() string {
	if i.reach == "" {
		return ""
	}
	return "http://" + i.reach
}

func (i *instance) Access() engine.Access { return engine.Access{BaseURL: i.BaseURL()} }

func (i *instance) About() map[string]string { return maps.Clone(i.about) }

func (i *instance) LogPath() string { return i.log.Path }

// LogBroken reports whether some of the engine's output was missed, so what its log lacks
// proves nothing.
func (i *instance) LogBroken() bool {
	select {
	case <-i.shown:
		<-i.Exited()
		return errors.Is(i.how.err, ErrUnreachable)
	default:
		return false
	}
}

// PortUser implements engine.Listener. The daemon itself binds what it publishes; in its
// machine's network anybody may listen.
func (i *instance) PortUser() (who string, seen bool) {
	switch {
	case !i.shared || i.port == 0:
		return "", true
	case len(i.Activity.PIDs()) == 0:
		return "", false
	}
	return run.PortUser(i.port, func(bool) []int { return i.Activity.PIDs() })
}

// PeakMemory implements engine.Instance: the highest that lookAtMemory saw.
func (i *instance) PeakMemory() int64 { return i.peak.Load() }

func (i *instance) Ready(ctx context.Context) error {
	err := run.Waiter{
		Kind: i.kind, Model: i.spec.Model, Access: i.Access(), Lifetime: &i.Lifetime, Limit: i.spec.ReadyTimeout,
		PortUser: i.PortUser, Failure: i.failure, Activity: i.Activity,
	}.Wait(ctx)
	if err == nil {
		i.lookAtMemory()
	}
	return err
}

// failure describes what broke together with how the engine ended.
func (i *instance) failure(op string, cause error, format string, args ...any) *engine.Failure {
	f := &engine.Failure{
		Op: op, Reason: fmt.Sprintf(format, args...), Err: cause, Exit: i.Exit(),
		LogTail: logscan.Tail(i.LogPath(), engine.TailLines),
	}
	switch {
	case f.Exit != nil:
		if f.Err == nil {
			f.Err = i.how.err
		}
		if i.how.why != "" {
			f.Reason += "; " + i.how.why
		}
	case op == "become ready" && !i.shared && i.port != 0:
		f.Reason += fmt.Sprintf(
			"; in a container it must listen on 0.0.0.0 (--host 0.0.0.0), not on 127.0.0.1, on port %d",
			i.port)
	}
	return f
}

func startFailure(err error) *engine.Failure {
	if own, ok := errors.AsType[*engine.Failure](err); ok {
		return own
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return engine.StartFailure(err, "it was cancelled, or its time ended, before it was started")
	}
	return engine.StartFailure(err, "%v", err)
}

// exitOf interprets docker's exit status: 128 plus a signal's number is how the
// container's init process, like a shell, reports a program ended by a signal.
func exitOf(code int) engine.Exit {
	if code > 128 && code <= 128+64 {
		if name := unix.SignalName(syscall.Signal(code - 128)); name != "" {
			return engine.Exit{Code: -1, Signal: name}
		}
	}
	return engine.Exit{Code: code}
}

// wentAway is the end of something whose daemon cannot be asked any more, or that it no
// longer shows: such a launch is repeated.
func wentAway(host string, err error) ending {
	return ending{
		exit: engine.Exit{Code: -1, Signal: "unknown"}, err: errors.Join(ErrUnreachable, err),
		why: fmt.Sprintf("docker shows it no longer: the daemon %s, or the connection to it, went away while it ran; "+
			"it may still be running there", host),
	}
}
