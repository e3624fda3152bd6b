package docker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	process "github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/plans/redact"
)

const (
	// callLimit bounds one call to the daemon: a hanging daemon must not hang mxflow.
	callLimit = 30 * time.Second
	// drainLimit is how long the end of a container waits for the rest of its output.
	drainLimit = 10 * time.Second
	// killWait is how long a container may take to end after SIGKILL.
	killWait = 30 * time.Second
)

// Container is one running container: its output is followed into a bounded file, its
// memory is watched, and its end is waited for. It implements the parts of
// engine.Instance that concern only the container.
type Container struct {
	Daemon *Daemon
	ID     string
	// Name is for people.
	Name string
	// Keep leaves the container in place when it is stopped.
	Keep bool

	run
	tty bool
	// attached is its output from the first byte on, nil if it was started before anybody
	// could listen.
	attached *types.HijackedResponse
	cached   engine.Peak // the maximum that cached files took, see resident
	unread   atomic.Bool // some output is not in the log, as far as known
}

// run is something that runs in a container, or the container itself.
type run struct {
	// Started is when it was requested.
	Started time.Time

	output
	life    context.Context // ends when there is nothing left to follow
	end     context.CancelFunc
	drained chan struct{} // closed when its output has ended
	exited  chan struct{}
	how     ending // valid once exited is closed
	peak    engine.Peak
	killed  atomic.Bool // by us
	stopper engine.Stopper
}

func (r *run) begin(to output) {
	r.Started, r.output, r.drained, r.exited = time.Now(), to, make(chan struct{}), make(chan struct{})
	r.life, r.end = context.WithCancel(context.Background())
}

// Exited implements engine.Instance.
func (r *run) Exited() <-chan struct{} { return r.exited }

// Exit implements engine.Instance.
func (r *run) Exit() *engine.Exit {
	select {
	case <-r.exited:
		exit := r.how.exit
		return &exit
	default:
		return nil
	}
}

// watch follows a container that was just started or is running. Stop closes its output.
// A container that does not exist is treated as removed.
func watch(d *Daemon, id, name string, tty bool, to output, attached *types.HijackedResponse) *Container {
	c := &Container{Daemon: d, ID: id, Name: name, tty: tty, attached: attached}
	c.begin(to)
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

// Failure describes what broke together with the state of the container.
func (c *Container) Failure(op string, cause error, format string, args ...any) *engine.Failure {
	f := &engine.Failure{
		Op: op, Reason: fmt.Sprintf(format, args...), Err: cause,
		Exit: c.Exit(), LogTail: logscan.Tail(c.LogPath(), engine.TailLines),
	}
	if f.Exit == nil {
		return f
	}
	if f.Err == nil {
		f.Err = c.how.err
	}
	if why := cmp.Or(c.how.why, missingProgram(f)); why != "" {
		f.Reason += "; " + why
	}
	return f
}

// logEnds is what a log says if the rest of it is lost.
const logEnds = "\n[mxflow] the log ends here because the connection to the daemon broke: lines are missing\n"

// follow copies the container's output until it ends: from the attached stream, if there
// is one, and otherwise from the daemon's log. If that breaks off, the rest is lost.
func (c *Container) follow() {
	defer close(c.drained)
	err := c.copyOutput()
	if c.ended() {
		return
	}
	c.unread.Store(true)
	fmt.Fprint(c.log, logEnds)
	if err != nil {
		fmt.Fprintf(c.log, "[mxflow] docker says: %v\n", err)
	}
}

func (c *Container) copyOutput() error {
	if c.attached != nil {
		release := context.AfterFunc(c.life, c.attached.Close)
		defer release()
		defer c.attached.Close()
		_, err := stdcopy.StdCopy(c.stdout(), c.log, c.attached.Reader)
		return err
	}
	stream, err := c.Daemon.ContainerLogs(c.life, c.ID, container.LogsOptions{ShowStdout: true, ShowStderr: true, Follow: true})
	if err != nil {
		return err
	}
	defer stream.Close()
	if c.tty {
		_, err = io.Copy(c.stdout(), stream)
	} else {
		_, err = stdcopy.StdCopy(c.stdout(), c.log, stream)
	}
	return err
}

// LogBroken reports whether some of the container's output was missed, so what its log
// lacks proves nothing.
func (c *Container) LogBroken() bool { return c.unread.Load() }

// ended reports whether a stream broke off because the container ended. The daemon closes
// it a moment before reporting that.
func (c *Container) ended() bool {
	ctx, cancel := context.WithTimeout(c.life, 2*time.Second)
	defer cancel()
	ended, failed := c.Daemon.ContainerWait(ctx, c.ID, container.WaitConditionNotRunning)
	select {
	case <-ended:
		return true
	case err := <-failed:
		return cerrdefs.IsNotFound(err) || c.life.Err() != nil
	}
}

// PeakMemory implements engine.Instance. It is the daemon's count for the container once
// a second, less the file pages that the kernel can reclaim at any time, as in `docker
// stats`; and resident's value for a peak between two counts.
func (c *Container) PeakMemory() int64 { return c.peak.Load() }

// sampleMemory raises the peak until the container ends.
func (c *Container) sampleMemory() {
	stats, err := c.Daemon.ContainerStats(c.life, c.ID, true)
	if err != nil {
		return // memory that cannot be read is unknown, which is not a failure
	}
	defer stats.Body.Close()
	c.readStats(stats.Body)
}

// lookAtMemory takes one sample. It returns when it has one, when done is closed, or, if
// there is already a sample, after a tenth of a second, while it continues in the
// background: daemons up to Docker 20.10 make callers wait up to a second for their next
// count.
func (c *Container) lookAtMemory(done <-chan struct{}) {
	const limit = 3 * time.Second
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		ctx, cancel := context.WithTimeout(c.life, limit)
		defer cancel()
		stats, err := c.Daemon.ContainerStatsOneShot(ctx, c.ID)
		if err != nil {
			return
		}
		defer stats.Body.Close()
		c.readStats(stats.Body)
	}()
	wait := limit
	if c.peak.Load() > 0 {
		wait = 100 * time.Millisecond
	}
	select {
	case <-looked:
	case <-done:
	case <-time.After(wait):
	}
}

func (c *Container) readStats(from io.Reader) {
	for dec := json.NewDecoder(from); ; {
		var s container.StatsResponse
		if dec.Decode(&s) != nil {
			return
		}
		c.cached.Raise(cachedFiles(s.MemoryStats))
		c.peak.Raise(resident(s.MemoryStats, c.cached.Load()))
	}
}

// resident is the memory in use without cached files, or, if larger, the maximum ever in
// use less the maximum that such files ever took: a spike between two counts. Only cgroup
// v1 has that mark; it includes files, whose size at the time is unknown.
func resident(m container.MemoryStats, mostCached int64) int64 {
	return max(int64(m.Usage)-cachedFiles(m), int64(m.MaxUsage)-mostCached)
}

// cachedFiles are the reclaimable file pages: inactive_file in cgroup v2,
// total_inactive_file in v1.
func cachedFiles(m container.MemoryStats) int64 {
	cached, ok := m.Stats["total_inactive_file"]
	if !ok {
		cached = m.Stats["inactive_file"]
	}
	return int64(min(cached, m.Usage))
}

// outputLimit limits the output of a command in a container.
const outputLimit = 64 << 20

// Output implements engine.Instance: it runs a command in the container, with the
// container's environment, and returns its standard output. A nonzero status is an error
// with the command's standard error.
func (c *Container) Output(ctx context.Context, argv ...string) ([]byte, error) {
	return c.Daemon.exec(ctx, c.ID, container.ExecOptions{Cmd: argv})
}

func (d *Daemon) exec(ctx context.Context, id string, options container.ExecOptions) ([]byte, error) {
	if len(options.Cmd) == 0 {
		return nil, errors.New("no command to run")
	}
	name := options.Cmd[0]
	options.AttachStdout, options.AttachStderr = true, true
	created, err := d.ContainerExecCreate(ctx, id, options)
	if err != nil {
		return nil, notRun(name, err)
	}
	stream, err := d.ContainerExecAttach(ctx, created.ID, container.ExecAttachOptions{})
	if err != nil {
		return nil, notRun(name, err)
	}
	defer stream.Close()
	release := context.AfterFunc(ctx, stream.Close) // ends the copying below
	defer release()
	stdout, stderr := &boundedBuffer{most: outputLimit}, &tailBuffer{}
	_, err = stdcopy.StdCopy(stdout, stderr, stream.Reader)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errTooMuch):
		return nil, fmt.Errorf("%s printed more than %d MiB", name, outputLimit>>20)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("the output of %s in the container was cut off: %w", name, err)
	}
	state, err := d.ContainerExecInspect(ctx, created.ID)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the exit status of %s in the container is unknown: %w", name, err)
	case state.Running:
		return nil, fmt.Errorf("the output of %s in the container was cut off: it is still running", name)
	case state.ExitCode != 0:
		said := stderr.String()
		if said == "" { // the daemon reports a missing program in its output
			said = strings.Join(strings.Fields(stdout.buf.String()), " ")
		}
		return nil, &execError{program: name, code: state.ExitCode, said: said}
	}
	return stdout.buf.Bytes(), nil
}

// errNoProgram is the error for a program missing from the container.
var errNoProgram = errors.New("the container does not have this program")

// execError is a program in a container that ended with a nonzero status, or is missing.
type execError struct {
	program, said string
	code          int
}

func (e *execError) Error() string {
	return fmt.Sprintf("%s ended with %s in the container: %s", e.program, exitOf(e.code), e.said)
}

// Is recognizes a missing program by the status of a shell that looked for it, or by the
// message of runtimes without a status for that.
func (e *execError) Is(target error) bool {
	return target == errNoProgram && (e.code == 127 || noSuchProgram.MatchString(e.said))
}

// noSuchProgram is how container runtimes say that there is no such program.
var noSuchProgram = regexp.MustCompile("executable file (?:not found|`[^`]*` not found)|exec: \"[^\"]*\"|exec \\S+ failed")

// notRun is a program that the daemon did not run.
func notRun(name string, err error) error {
	if noSuchProgram.MatchString(err.Error()) {
		err = fmt.Errorf("%w: %w", errNoProgram, err)
	}
	return fmt.Errorf("cannot run %s in the container: %w", name, err)
}

var errTooMuch = errors.New("too much output")

// boundedBuffer keeps what is written until it is too much.
type boundedBuffer struct {
	buf  bytes.Buffer
	most int
}

func (l *boundedBuffer) Write(p []byte) (int, error) {
	if l.buf.Len()+len(p) > l.most {
		return 0, errTooMuch
	}
	return l.buf.Write(p)
}

// tailBuffer keeps the end of a command's output.
type tailBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *tailBuffer) Write(p []byte) (int, error) {
	const most = 2 << 10
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	b.text = b.text[max(0, len(b.text)-most):]
	return len(p), nil
}

// String is its contents on one line.
func (b *tailBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := redact.Known().Begun(string(bytes.ToValidUTF8(b.text, nil)))
	return strings.Join(strings.Fields(text), " ")
}

// PIDs implements engine.Resident: the container's processes by this machine's PIDs.
// There are none if the daemon is on another machine, or its processes are in another PID
// namespace.
func (c *Container) PIDs() []int {
	if !c.Daemon.Local() {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.life, 2*time.Second)
	defer cancel()
	info, err := c.Daemon.ContainerInspect(ctx, c.ID)
	if err != nil || info.State == nil || info.State.Pid == 0 {
		return nil
	}
	return process.Descendants(info.State.Pid)
}

// returnLimit is how long a vanished daemon may take to come back, as after a restart.
// Tests shorten it.
var returnLimit = 10 * time.Second

// ending is how a container ended.
type ending struct {
	exit engine.Exit
	// why adds to the exit what it does not show, empty if nothing.
	why string
	err error
}

// await waits until the container has ended, surviving a brief absence of the daemon.
func (c *Container) await() ending {
	for {
		ended, failed := c.Daemon.ContainerWait(c.life, c.ID, container.WaitConditionNotRunning)
		select {
		case <-ended:
		case err := <-failed:
			if !cerrdefs.IsNotFound(err) && !c.Daemon.returns(c.life) {
				return c.Daemon.wentAway(err)
			}
		}
		if how, ended := c.inspectEnd(); ended {
			return c.perhapsRemoved(how)
		}
	}
}

// perhapsRemoved checks a container that was killed by somebody else: removing a running
// container kills it first.
func (c *Container) perhapsRemoved(how ending) ending {
	for range 10 {
		if how.exit.Signal != "SIGKILL" || how.why != "" || c.killed.Load() {
			break
		}
		time.Sleep(50 * time.Millisecond)
		if again, ended := c.inspectEnd(); ended {
			how = again
		}
	}
	return how
}

// inspectEnd asks how the container ended; false if it runs, or the daemon did not
// answer.
func (c *Container) inspectEnd() (ending, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	info, err := c.Daemon.ContainerInspect(ctx, c.ID)
	switch {
	case cerrdefs.IsNotFound(err):
		return ending{
			exit: engine.Exit{Code: -1, Signal: "SIGKILL"}, err: err,
			why: fmt.Sprintf("its container %s was removed by something other than mxflow", c.Name),
		}, true
	case err != nil || info.State == nil || info.State.Running || info.State.Restarting:
		return ending{}, false
	}
	how := ending{exit: exitOf(info.State.ExitCode), why: info.State.Error}
	if info.State.OOMKilled {
		how.why = "the kernel killed it for lack of memory (OOMKilled): raise the container's memory limit, or make the engine use less"
	}
	return how, true
}

// returns waits for a vanished daemon.
func (d *Daemon) returns(life context.Context) bool {
	waiting, cancel := context.WithTimeout(life, returnLimit)
	defer cancel()
	for waiting.Err() == nil {
		if d.check(waiting) == nil {
			return true
		}
		select {
		case <-waiting.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	return false
}

// wentAway is the end of something whose daemon does not come back.
func (d *Daemon) wentAway(err error) ending {
	return ending{
		exit: engine.Exit{Code: -1, Signal: "unknown"}, err: errors.Join(ErrUnreachable, err),
		why: fmt.Sprintf("the docker daemon %s went away while it ran; it may still be running there", d.Name),
	}
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

// initFailed matches the message of a container's init process (tini) if it cannot start
// the program.
var initFailed = regexp.MustCompile(`\[FATAL tini \(\d+\)\] exec (.*) failed: (.*)`)

// missingProgram explains a status of 126 or 127 reported by the container's init
// process; empty for anything else.
func missingProgram(f *engine.Failure) string {
	if f.Exit.Code != 126 && f.Exit.Code != 127 {
		return ""
	}
	for _, line := range f.LogTail {
		if m := initFailed.FindStringSubmatch(line); m != nil {
			return `the image has no executable program "` + m[1] + `" (` + strings.ToLower(m[2]) + "): correct entrypoint or command, or the image"
		}
	}
	return ""
}

// Stop ends the container and removes it: SIGTERM, then SIGKILL after the grace period,
// or at once when ctx is done. It is idempotent and safe for concurrent use. The error is
// an *engine.Failure.
func (c *Container) Stop(ctx context.Context, grace time.Duration) error {
	return c.stopper.Stop(ctx, func(hurry <-chan struct{}) error {
		if failure := c.finish(grace, hurry); failure != nil {
			return failure
		}
		return nil
	})
}

// finish returns when the container is gone.
func (c *Container) finish(grace time.Duration, hurry <-chan struct{}) *engine.Failure {
	if c.Exit() == nil {
		c.lookAtMemory(hurry) // the last chance
		timer := time.NewTimer(grace)
		defer timer.Stop()
		// A lost signal is noticed because nothing ends.
		_ = c.signal("SIGTERM")
		select {
		case <-c.exited:
		case <-timer.C:
		case <-hurry:
		}
	}
	if c.Exit() == nil {
		c.killed.Store(true)
		if err := c.signal("SIGKILL"); cerrdefs.IsConflict(err) {
			// A paused container receives nothing.
			_ = c.call(func(ctx context.Context) error { return c.Daemon.ContainerUnpause(ctx, c.ID) })
			_ = c.signal("SIGKILL")
		}
		select {
		case <-c.exited:
		case <-time.After(killWait):
		}
	}
	if err := c.remove(); err != nil {
		return c.Failure("stop", err, "cannot remove its container %s: %v; once the daemon %s answers again, remove it with docker rm -f %s",
			c.Name, err, c.Daemon.Name, c.Name)
	}
	<-c.exited
	c.end()
	c.output.close()
	return nil
}

func (c *Container) signal(name string) error {
	return c.call(func(ctx context.Context) error { return c.Daemon.ContainerKill(ctx, c.ID, name) })
}

// call makes a request to the daemon with its own time limit.
func (c *Container) call(ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	return ask(ctx)
}

func (c *Container) remove() error {
	if c.Keep {
		if c.Exit() == nil {
			return fmt.Errorf("it did not end within %s of SIGKILL", killWait)
		}
		return nil
	}
	return c.call(func(ctx context.Context) error { return c.Daemon.removeContainer(ctx, c.ID) })
}

// removeContainer removes a container, running or not, and returns when it is gone. One
// that is already gone, or being removed by somebody else, is not an error.
func (d *Daemon) removeContainer(ctx context.Context, id string) error {
	for {
		err := d.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil, cerrdefs.IsNotFound(err):
			return nil
		case !cerrdefs.IsConflict(err):
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
