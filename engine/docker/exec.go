package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
)

// ExecLauncher starts engines as commands inside a container that already runs,
// and stops them, with everything that they started, without stopping it. The
// zero value is ready to use. The container needs sh and grep, and the daemon
// may be on another machine: everything is done from inside the container.
type ExecLauncher struct {
	// LogLimit bounds the log file, in bytes; zero is the limit of every log.
	LogLimit int64
	// Remember is told of a container before anything is started in it, so that
	// SweepExec can be called for it; nil where nobody does.
	Remember func(d *Daemon, id string) error
}

var (
	_ engine.Launcher   = ExecLauncher{}
	_ engine.Identifier = ExecLauncher{}
)

// execed is an Instance. Its processes are those that carry its mark in their
// environment, and those of the session that the daemon opened for it.
type execed struct {
	spec  engine.Spec
	kind  kinds.Kind
	in    *shell
	reach reach
	argv  []string
	env   []string
	// folder in the container holds the configuration file; empty is none.
	folder string
	// session is the process ID of the command inside the container, which leads
	// a session and a group of its own.
	session string
	execID  string
	stream  types.HijackedResponse
	log     *logscan.Sink
	out     *logscan.Sink
	started time.Time
	startup atomic.Int64
	peak    atomic.Int64

	life    context.Context
	end     context.CancelFunc
	drained chan struct{} // closed when its output has ended
	exited  chan struct{}
	how     ending // valid once exited is closed
	killed  atomic.Bool
	stopper engine.Stopper
}

// Launch implements engine.Launcher.
func (x ExecLauncher) Launch(ctx context.Context, spec engine.Spec, l engine.Launch) (engine.Instance, error) {
	kind, failure := spec.Prepare()
	if failure != nil {
		return nil, failure
	}
	e := &execed{
		spec: spec, kind: kind, drained: make(chan struct{}), exited: make(chan struct{}),
	}
	e.life, e.end = context.WithCancel(context.Background())
	if err := e.launch(ctx, l, x); err != nil {
		e.abandon()
		return nil, &engine.Failure{Op: "start", Reason: err.Error(), Err: err}
	}
	go e.await()
	return e, nil
}

// launch returns when the command runs, or says why it does not.
func (e *execed) launch(ctx context.Context, l engine.Launch, x ExecLauncher) error {
	if l.ID == "" || l.Owner == "" {
		return errors.New("the launch has no ID or no owner, by which its processes are found again")
	}
	if e.spec.Exec == nil || e.spec.Exec.Container == "" {
		return errors.New("no container is named: set container in the exec block")
	}
	block := *e.spec.Exec
	d, err := Connect(ctx, block.Host, block.Context)
	if err != nil {
		return err
	}
	if e.in, err = enter(ctx, d, block.Container, markOf(l)); err != nil {
		return err
	}
	if x.Remember != nil {
		if err := x.Remember(d, e.in.id); err != nil {
			return fmt.Errorf("the container %s cannot be noted as used: %w", e.in.name, err)
		}
	}
	if e.reach, err = e.in.reach(ctx, block.Port, e.kind, l); err != nil {
		return err
	}
	if err := e.copyConfig(ctx); err != nil {
		return err
	}
	if err := e.resolve(); err != nil {
		return err
	}
	if e.log, err = logscan.OpenSink(l.LogPath, x.LogLimit, l.Evidence); err != nil {
		return fmt.Errorf("its log cannot be written: %w", err)
	}
	if l.OutPath != "" {
		if e.out, err = logscan.OpenSink(l.OutPath, x.LogLimit, logscan.Evidence{}); err != nil {
			return fmt.Errorf("its output cannot be written: %w", err)
		}
	}
	e.started = time.Now()
	return e.start(ctx)
}

// start runs the command and waits until it has begun.
func (e *execed) start(ctx context.Context) error {
	cmd, err := wrapped(e.in.mark, e.spec.Exec.WorkDir, e.spec.Unset, e.argv)
	if err != nil {
		return err
	}
	created, err := e.in.d.ContainerExecCreate(ctx, e.in.id, container.ExecOptions{
		Cmd: cmd, Env: e.env, User: e.spec.Exec.User, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return fmt.Errorf("the daemon refuses the command: %w", err)
	}
	e.execID = created.ID
	// Its stream lives on when ctx, which bounds the start alone, has ended.
	if e.stream, err = e.in.d.ContainerExecAttach(e.life, e.execID, container.ExecAttachOptions{}); err != nil {
		return fmt.Errorf("the command cannot be started in %s: %w", e.in.name, err)
	}
	stdout := io.Writer(e.log)
	if e.out != nil {
		stdout = e.out
	}
	first := newGreeting(stdout)
	go e.follow(first)
	select {
	case said := <-first.line:
		e.session, err = sessionOf(said, e.argv[0], e.spec.Exec.WorkDir, e.in.name)
		return err
	case <-ctx.Done():
		return fmt.Errorf("the start was cancelled: %w", context.Cause(ctx))
	}
}

// abandon takes back what a start that failed has done.
func (e *execed) abandon() {
	if e.stream.Conn != nil {
		e.stream.Close()
	}
	if e.execID != "" {
		_ = e.in.killAll("0", killWait)
	}
	e.removeFolder()
	e.reach.release()
	for _, log := range []*logscan.Sink{e.log, e.out} {
		if log != nil {
			log.Close()
		}
	}
	e.end()
}
