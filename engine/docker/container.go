package docker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
)

const (
	// callLimit bounds one question to the daemon: a daemon that hangs must not
	// hang mxflow.
	callLimit = 30 * time.Second
	// drainLimit is how long the end of a container waits for the rest of its
	// output.
	drainLimit = 10 * time.Second
	// killWait is how long a container may take to end after SIGKILL.
	killWait = 30 * time.Second
)

// Container is one container that runs: its output is followed into a bounded
// file, its memory is watched, and its end is waited for. It does everything of
// an engine.Instance that has to do with the container alone.
type Container struct {
	Daemon *Daemon
	ID     string
	// Name is for people; Of is engine.Failure's.
	Name string
	Of   string
	// Started is when it was asked for.
	Started time.Time
	// Keep says that the container stays where it is when it is stopped.
	Keep bool

	tty bool
	// attached is its output from the first byte on, nil where it was started
	// before anybody could listen.
	attached *types.HijackedResponse
	read     bool // some of a terminal's log was read
	log      *logscan.Sink
	out      *logscan.Sink   // nil where stdout goes into log
	life     context.Context // ends when nothing is to be followed any more
	end      context.CancelFunc
	drained  chan struct{} // closed when its output has ended
	exited   chan struct{}
	how      ending // valid once exited is closed
	peak     atomic.Int64
	cached   atomic.Int64 // the most that cached files took, see resident
	killed   atomic.Bool  // by us
	unread   atomic.Bool  // there is output that is not in the log, as far as is known
	stopper  engine.Stopper
}

// Watch follows a container that was started just now or runs. Its output goes
// into log, and its standard output into out where that is not nil; both are
// closed by Stop. Of a container that does not exist it tells as of one that was
// removed.
func Watch(d *Daemon, id, name string, tty bool, log, out *logscan.Sink) *Container {
	return watch(d, id, name, tty, log, out, nil)
}

func watch(d *Daemon, id, name string, tty bool, log, out *logscan.Sink, attached *types.HijackedResponse) *Container {
	c := &Container{
		Daemon: d, ID: id, Name: name, Started: time.Now(), tty: tty, log: log, out: out, attached: attached,
		drained: make(chan struct{}), exited: make(chan struct{}),
	}
	c.life, c.end = context.WithCancel(context.Background())
	go c.follow()
	go c.sampleMemory()
	go func() {
		c.how = c.await()
		if errors.Is(c.how.err, ErrUnreachable) {
			c.end() // nothing more can come
		}
		select {
		case <-c.drained:
		case <-time.After(drainLimit):
		}
		close(c.exited)
		c.end()
	}()
	return c
}

// Exited implements engine.Instance.
func (c *Container) Exited() <-chan struct{} { return c.exited }

// Exit implements engine.Instance.
func (c *Container) Exit() *engine.Exit {
	select {
	case <-c.exited:
		exit := c.how.exit
		return &exit
	default:
		return nil
	}
}

// LogPath implements engine.Instance.
func (c *Container) LogPath() string { return c.log.Path() }

// Failure describes what broke together with how the container is doing.
func (c *Container) Failure(op string, cause error, format string, args ...any) *engine.Failure {
	f := &engine.Failure{
		Of: c.Of, Op: op, Reason: fmt.Sprintf(format, args...), Err: cause,
		Exit: c.Exit(), LogTail: logscan.Tail(c.log.Path(), engine.TailLines),
	}
	if f.Exit == nil {
		return f
	}
	if f.Err == nil {
		f.Err = c.how.err
	}
	why := c.how.why
	if why == "" {
		why = missingProgram(f)
	}
	if why != "" {
		f.Reason += "; " + why
	}
	return f
}
