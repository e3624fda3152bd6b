package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
)

// ExecLauncher starts engines as commands inside a running container, and stops them,
// with everything that they started, without stopping the container. The zero value is
// ready to use. The container needs sh and grep, and the daemon may be on another
// machine: everything is done inside the container.
type ExecLauncher struct {
	// LogLimit limits the log file, in bytes; zero is the default of every log.
	LogLimit int64
	// Remember is called with a container before anything is started in it, so SweepExec
	// can be called for it; may be nil.
	Remember func(d *Daemon, id string) error
}

var (
	_ engine.Launcher   = ExecLauncher{}
	_ engine.Identifier = ExecLauncher{}
)

// execInstance is an Instance. Its processes are those with its mark in their
// environment, and those of the session that the daemon opened for it.
type execInstance struct {
	run
	serving
	in   *shell
	argv []string
	env  []string
	// folder in the container holds the configuration file; empty is none.
	folder string
	// session is the process ID of the command inside the container, which leads its own
	// session and group.
	session string
	execID  string
	stream  types.HijackedResponse
}

// Launch implements engine.Launcher.
func (x ExecLauncher) Launch(ctx context.Context, spec engine.Spec, l engine.Launch) (engine.Instance, error) {
	kind, failure := spec.Prepare()
	if failure != nil {
		return nil, failure
	}
	if failure := l.Check(); failure != nil {
		return nil, failure
	}
	e := &execInstance{serving: serving{spec: spec, kind: kind, at: &ports{}}}
	e.begin(output{})
	if err := e.launch(ctx, l, x); err != nil {
		e.abandon()
		if own, ok := errors.AsType[*engine.Failure](err); ok {
			return nil, own
		}
		return nil, engine.StartFailure(err, "%v", err)
	}
	go e.await()
	return e, nil
}

// launch returns when the command runs, or why it does not.
func (e *execInstance) launch(ctx context.Context, l engine.Launch, x ExecLauncher) error {
	if e.spec.Exec == nil || e.spec.Exec.Container == "" {
		return errors.New("the container is missing: set container in the exec block")
	}
	block := *e.spec.Exec
	d, err := Connect(ctx)
	if err != nil {
		return err
	}
	if e.in, err = enter(ctx, d, block.Container, markOf(l)); err != nil {
		return err
	}
	if x.Remember != nil {
		if err := x.Remember(d, e.in.id); err != nil {
			return fmt.Errorf("cannot record that container %s is in use: %w", e.in.name, err)
		}
	}
	if e.at, err = e.in.reach(ctx, block.Port, e.kind); err != nil {
		return err
	}
	if err := e.copyConfig(ctx); err != nil {
		return err
	}
	if err := e.resolve(); err != nil {
		return err
	}
	var failure *engine.Failure
	if e.output, failure = openOutput(l, x.LogLimit); failure != nil {
		return failure
	}
	e.about = map[string]string{
		"container": e.in.name, "container_id": e.in.id, "docker": d.Name, "image_id": e.in.info.Image,
		"resolved_command": strings.Join(e.argv, " "),
	}
	if e.in.info.Config != nil {
		e.about["image"] = e.in.info.Config.Image
	}
	e.Started = time.Now()
	return e.start(ctx)
}

// start runs the command and waits until it has started.
func (e *execInstance) start(ctx context.Context) error {
	cmd, err := wrapped(e.in.mark, e.spec.Exec.WorkDir, e.spec.Unset, e.argv)
	if err != nil {
		return err
	}
	created, err := e.in.d.ContainerExecCreate(ctx, e.in.id, container.ExecOptions{
		Cmd: cmd, Env: e.env, User: e.spec.Exec.User, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return fmt.Errorf("the daemon refused the command: %w", err)
	}
	e.execID = created.ID
	// Its stream outlives ctx, which only bounds the start.
	if e.stream, err = e.in.d.ContainerExecAttach(e.life, e.execID, container.ExecAttachOptions{}); err != nil {
		return fmt.Errorf("cannot start the command in %s: %w", e.in.name, err)
	}
	first := newGreeting(e.stdout())
	go e.follow(first)
	select {
	case said := <-first.line:
		e.session, err = sessionOf(said, e.argv[0], e.spec.Exec.WorkDir, e.in.name)
		return err
	case <-ctx.Done():
		return fmt.Errorf("the start was cancelled: %w", context.Cause(ctx))
	}
}

// abandon undoes a failed start.
func (e *execInstance) abandon() {
	if e.stream.Conn != nil {
		e.stream.Close()
	}
	if e.execID != "" {
		_ = e.in.killAll("0", killWait)
	}
	e.removeFolder()
	e.at.release()
	e.output.close()
	e.end()
}

// Identify implements engine.Identifier: the image of the container. Later changes in the
// container are not seen.
func (ExecLauncher) Identify(ctx context.Context, spec engine.Spec) (string, error) {
	d, err := Connect(ctx)
	if err != nil {
		return "missing", err
	}
	info, err := d.running(ctx, spec.Exec.Container)
	if err != nil {
		return "missing", err
	}
	return info.Image + elsewhere(), nil
}

// resolve builds the command line and the environment.
func (e *execInstance) resolve() error {
	command := e.spec.Command
	if len(command) == 0 {
		command = e.spec.Exec.Command
	}
	if len(command) == 0 || command[0] == "" {
		return errors.New("it has no command: add one to the exec block")
	}
	config := ""
	if e.folder != "" {
		config = e.folder + "/" + e.spec.ConfigName
	}
	expand := engine.Placeholders(e.at.inside, config)
	var err error
	if e.argv, err = expanded(command, expand); err != nil {
		return err
	}
	own, err := e.spec.Environ(expand)
	if err != nil {
		return err
	}
	// See engine's own launcher: setproctitle must leave the marks alone.
	e.env = append(append([]string{"SPT_NOENV=1"}, own...), e.in.mark.env()...)
	if e.at.inside != 0 {
		e.env = append(e.env, "MXFLOW_PORT="+strconv.Itoa(e.at.inside))
	}
	return nil
}

// copyConfig copies the configuration file into a folder for this launch, in the
// container's /tmp.
func (e *execInstance) copyConfig(ctx context.Context) error {
	if len(e.spec.Config) == 0 {
		return nil
	}
	name := "mxflow-" + strings.ToLower(rand.Text())
	_, err := e.in.run(ctx, `mkdir -p /tmp`)
	if err == nil {
		err = e.in.d.putConfig(ctx, e.in.id, e.spec, "/tmp", name)
	}
	if err != nil {
		return fmt.Errorf("cannot copy its configuration file into container %q: %w", e.in.name, err)
	}
	e.folder = "/tmp/" + name
	return nil
}

// removeFolder removes the configuration file, as far as possible.
func (e *execInstance) removeFolder() {
	if e.folder == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	_, _ = e.in.run(ctx, `rm -rf "$1"`, e.folder)
	e.folder = ""
}

const (
	// execEvery is how often the daemon is asked whether a command runs: it does not
	// report its end by itself. lastWords is how long its output is waited for after
	// that; its children may hold it open indefinitely.
	execEvery = 200 * time.Millisecond
	lastWords = time.Second
)

// follow copies the command's output into the log until it ends.
func (e *execInstance) follow(stdout *greeting) {
	defer close(e.drained)
	defer stdout.close()
	if _, err := stdcopy.StdCopy(stdout, e.log, e.stream.Reader); err != nil && e.life.Err() == nil {
		fmt.Fprint(e.log, logEnds)
	}
}

// await waits for the end of the command.
func (e *execInstance) await() {
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

// state asks for the state of the command; false if it runs, or the daemon did not answer
// and may come back.
func (e *execInstance) state() (ending, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	info, err := e.in.d.ContainerExecInspect(ctx, e.execID)
	if err == nil && info.Running {
		return ending{}, false
	}
	lost := ending{exit: engine.Exit{Code: -1, Signal: "SIGKILL"}, err: err}
	// A container's death is seen a moment after that of what ran in it.
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
		lost.why = fmt.Sprintf("the daemon %s no longer knows the command in %s: it was restarted", e.in.d.Name, e.in.name)
		return lost, true
	case cerrdefs.IsConflict(err): // the container is stopping
		return ending{}, false
	}
	if !e.in.d.returns(context.Background()) {
		return e.in.d.wentAway(err), true
	}
	return ending{}, false
}

// Ready implements engine.Instance.
func (e *execInstance) Ready(ctx context.Context) error {
	err := e.ready(ctx, &e.run, e.Others, e.failure)
	if err == nil {
		e.sampleMemory()
	}
	return err
}

// Others implements engine.Listener: which processes a command in a container has is not
// known by this machine's PIDs.
func (e *execInstance) Others() (who string, seen bool) { return e.others(e.in.d, nil) }

// failure describes what broke together with the state of the command.
func (e *execInstance) failure(op string, cause error, format string, args ...any) *engine.Failure {
	f := &engine.Failure{
		Op: op, Reason: fmt.Sprintf(format, args...), Err: cause, Exit: e.Exit(),
		LogTail: logscan.Tail(e.LogPath(), engine.TailLines),
	}
	switch {
	case f.Exit != nil:
		if e.how.why != "" {
			f.Reason += "; " + e.how.why
		}
	case f.Exit == nil && op == "become ready":
		ctx, cancel := context.WithTimeout(context.Background(), callLimit)
		defer cancel()
		if why := e.in.deaf(ctx, e.at); why != "" {
			f.Reason += "; " + why
		}
	}
	return f
}

// Output implements engine.Instance: in the container, with the engine's environment,
// folder and user. What it starts carries the launch's marks, so Stop ends it too.
func (e *execInstance) Output(ctx context.Context, argv ...string) ([]byte, error) {
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

// PeakMemory implements engine.Instance: the resident sets of all processes of the
// launch, when the engine is ready and before it is stopped, or, if larger, the maximum
// that one of them ever held.
func (e *execInstance) PeakMemory() int64 { return e.peak.Load() }

// sampleMemory raises the peak. Each sample starts a shell in the container, which must
// not disturb the measurement: so there is one when the engine is ready, and one before
// it is stopped.
func (e *execInstance) sampleMemory() {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	e.peak.Raise(e.in.memory(ctx, e.session))
}

// Stop implements engine.Instance. The container itself keeps running.
func (e *execInstance) Stop(ctx context.Context) error {
	return e.stopper.Stop(ctx, func(hurry <-chan struct{}) error {
		if err := e.finish(hurry); err != nil {
			return e.failure("stop", err, "%v", err)
		}
		return nil
	})
}

// finish asks every process of the launch to end, once each, and kills the rest after the
// grace period; it returns when none is left. Processes that left the command's group are
// not waited for until the command has ended: a daemon may not report that before the
// last process that holds its output has ended as well.
func (e *execInstance) finish(hurry <-chan struct{}) error {
	grace := time.NewTimer(e.spec.StopGrace)
	defer grace.Stop()
	if e.Exit() == nil {
		e.sampleMemory()
	}
	var asked []string
	exited := e.exited
	for wait := 200 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		ended := e.Exit() != nil
		if ended && (e.how.err != nil || e.how.why != "") {
			return e.kill() // none of it can be asked
		}
		if left := e.ask(&asked); ended && !left {
			return e.close()
		}
		if ended {
			exited = nil
		}
		select {
		case <-exited:
		case <-time.After(wait):
		case <-grace.C:
			return e.kill()
		case <-hurry:
			return e.kill()
		}
	}
}

// ask sends SIGTERM to the launch's running processes, except those already asked, and
// reports whether there are any. A lost signal is noticed because nothing ends. A stopped
// container has none.
func (e *execInstance) ask(asked *[]string) bool {
	left, err := e.in.signal(e.sessionNow(), "TERM", *asked...)
	if err != nil {
		return e.in.lost() == ""
	}
	*asked = left
	return len(left) > 0
}

func (e *execInstance) kill() error {
	e.killed.Store(true)
	if err := e.in.killAll(e.sessionNow(), killWait); err != nil {
		return err
	}
	select {
	case <-e.exited:
	case <-time.After(killWait):
		return fmt.Errorf("the daemon %s still reports the command as running", e.in.d.Name)
	}
	return e.close()
}

// close releases everything. No process of the launch is left, so its output ends.
func (e *execInstance) close() error {
	e.removeFolder()
	if e.how.err == nil {
		select {
		case <-e.drained:
		case <-time.After(drainLimit):
		}
	}
	e.end()
	e.stream.Close()
	<-e.drained
	e.output.close()
	e.at.release()
	return nil
}

// sessionNow is the session in the form of scriptFamily.
func (e *execInstance) sessionNow() string {
	if e.Exit() != nil {
		return "x" + e.session
	}
	return e.session
}
