package docker

import (
	"context"
	"fmt"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/ready"
)

const (
	// execEvery is how often the daemon is asked whether a command runs: it tells
	// nobody of its end by itself. lastWords is how long its output is waited for
	// after that; children of it may hold it open for good.
	execEvery = 200 * time.Millisecond
	lastWords = time.Second
)

// follow copies the command's output into the log until it ends.
func (e *execed) follow(stdout *greeting) {
	defer close(e.drained)
	defer stdout.close()
	_, err := stdcopy.StdCopy(stdout, e.log, e.stream.Reader)
	if err != nil && e.life.Err() == nil {
		fmt.Fprintf(e.log, "\n[mxflow] the log ends here, since the connection to the daemon broke: lines are missing\n")
	}
}

// await waits for the end of the command.
func (e *execed) await() {
	defer close(e.exited)
	drained := e.drained
	for wait := execEvery; ; {
		select {
		case <-time.After(wait):
		case <-drained: // the end is near
			drained, wait = nil, 20*time.Millisecond
		case <-e.life.Done():
		}
		how, ended := e.state()
		if ended {
			e.how = how
			break
		}
		wait = min(2*wait, execEvery)
	}
	select {
	case <-e.drained:
	case <-time.After(lastWords):
	}
}

// state asks how the command does; false where it runs, or where the daemon
// gave no answer and may come back.
func (e *execed) state() (ending, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	info, err := e.in.d.ContainerExecInspect(ctx, e.execID)
	if err == nil && info.Running {
		return ending{}, false
	}
	lost := ending{exit: engine.Exit{Code: -1, Signal: "SIGKILL"}, err: err}
	// A container is seen to have died a moment after what ran in it.
	doubt := time.Now().Add(lastWords)
	for lost.why = e.in.lost(); lost.why == "" && err == nil && exitOf(info.ExitCode).Signal == "SIGKILL" &&
		!e.killed.Load() && time.Now().Before(doubt); lost.why = e.in.lost() {
		time.Sleep(execEvery / 4)
	}
	if lost.why != "" {
		return lost, true
	}
	switch {
	case err == nil:
		return ending{exit: exitOf(info.ExitCode)}, true
	case cerrdefs.IsNotFound(err):
		lost.why = fmt.Sprintf("the daemon %s knows the command in %s no longer: it was restarted", e.in.d.Name, e.in.name)
		return lost, true
	case cerrdefs.IsConflict(err): // the container is on its way to stop
		return ending{}, false
	}
	if !e.daemonReturns() {
		lost.exit.Signal = "unknown"
		lost.why = fmt.Sprintf("the docker daemon %s went away while it ran; whether it still runs there is unknown", e.in.d.Name)
		return lost, true
	}
	return ending{}, false
}

func (e *execed) daemonReturns() bool {
	limit := time.Now().Add(returnLimit)
	for time.Now().Before(limit) {
		ctx, cancel := context.WithDeadline(context.Background(), limit)
		err := e.in.d.check(ctx)
		cancel()
		if err == nil {
			return true
		}
		time.Sleep(execEvery)
	}
	return false
}

// Ready implements engine.Instance.
func (e *execed) Ready(ctx context.Context) error {
	took, err := ready.Waiter{
		Kind: e.kind, Model: e.spec.Model, Access: e.Access(), Started: e.started, Limit: e.spec.ReadyTimeout,
		Exited: e.exited, Exit: e.Exit, Failure: e.failure,
	}.Wait(ctx)
	if err == nil {
		e.startup.CompareAndSwap(0, int64(took))
		e.sampleMemory()
	}
	return err
}

// failure describes what broke together with how the command is doing.
func (e *execed) failure(op string, cause error, format string, args ...any) *engine.Failure {
	f := &engine.Failure{
		Op: op, Reason: fmt.Sprintf(format, args...), Err: cause, Exit: e.Exit(),
		LogTail: logscan.Tail(e.log.Path(), engine.TailLines),
	}
	switch {
	case f.Exit != nil:
		if e.how.why != "" {
			f.Reason += "; " + e.how.why
		}
	case f.Exit == nil && op == "become ready":
		ctx, cancel := context.WithTimeout(context.Background(), callLimit)
		defer cancel()
		if why := e.in.deaf(ctx, e.reach); why != "" {
			f.Reason += "; " + why
		}
	}
	return f
}

// Output implements engine.Instance: in the container, with the environment,
// the folder and the user of the engine. What it starts carries the marks of the
// launch, so that Stop ends it too.
func (e *execed) Output(ctx context.Context, argv ...string) ([]byte, error) {
	if len(argv) == 0 {
		return nil, fmt.Errorf("no command to run")
	}
	cmd, err := wrapped(e.in.mark, e.spec.Exec.WorkDir, e.spec.Unset, argv)
	if err != nil {
		return nil, err
	}
	out, err := e.in.d.exec(ctx, e.in.id, container.ExecOptions{Cmd: cmd, Env: e.env, User: e.spec.Exec.User})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	first, rest, _ := strings.Cut(string(out), "\n")
	if _, err := sessionOf(first, argv[0], e.spec.Exec.WorkDir, e.in.name); err != nil {
		return nil, err
	}
	return []byte(rest), nil
}

// sampleMemory raises the peak. Each look starts a shell in the container, which
// must not disturb what is measured: so there is one when the engine is ready,
// and one before it is stopped.
func (e *execed) sampleMemory() {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	now := e.in.memory(ctx, e.session)
	for peak := e.peak.Load(); now > peak && !e.peak.CompareAndSwap(peak, now); {
		peak = e.peak.Load()
	}
}
