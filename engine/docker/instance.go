package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/run"
)

// instance is an engine whose output a docker command shows until the engine ends.
type instance struct {
	spec  engine.Spec
	kind  kinds.Kind
	about map[string]string
	// port is where it listens in its container, 0 if it is not a server; reach is where
	// requests go, as host:port. shared is set if it uses its machine's network.
	port   int
	reach  string
	shared bool

	log, out *logscan.File // out is nil where standard output goes into log
	shows    *exec.Cmd
	shown    chan struct{} // closed when the docker command has ended
	started  time.Time
	startup  atomic.Int64 // ns, 0 before ready
	exited   chan struct{}
	how      ending // valid once exited is closed
	peak     engine.Peak
	killed   atomic.Bool // by us
	stopper  engine.Stopper
}

type ending struct {
	exit engine.Exit
	// why adds to the exit what it does not show, empty if nothing.
	why string
	err error
}

func (i *instance) openLogs(l engine.Launch, limit int64) (err error) {
	if i.log, err = logscan.Open(l.LogPath, limit, l.Evidence); err == nil && l.OutPath != "" {
		i.out, err = logscan.Open(l.OutPath, limit, logscan.Evidence{})
	}
	if err != nil {
		i.closeLogs()
		return fmt.Errorf("cannot write its log: %w", err)
	}
	return nil
}

func (i *instance) closeLogs() {
	for _, to := range []*logscan.File{i.log, i.out} {
		if to != nil {
			to.Close()
		}
	}
}

// follow starts a docker command that shows the engine's output. A next start of mxflow
// finds it by the launch's marks, as it finds other processes.
func (i *instance) follow(c command, l engine.Launch) error {
	c.env = append(c.env, "MXFLOW_OWNER="+l.Owner, "MXFLOW_LAUNCH="+l.ID)
	i.started, i.shown, i.exited = time.Now(), make(chan struct{}), make(chan struct{})
	i.shows = c.prepare(context.Background())
	i.shows.Stdout, i.shows.Stderr = i.log, i.log
	if i.out != nil {
		i.shows.Stdout = i.out
	}
	if err := i.shows.Start(); err != nil {
		return err
	}
	go func() {
		_ = i.shows.Wait()
		close(i.shown)
	}()
	return nil
}

// unfollow ends the docker command, if it has not ended, and returns once it has.
func (i *instance) unfollow() {
	if i.shown == nil {
		return
	}
	_ = syscall.Kill(-i.shows.Process.Pid, syscall.SIGKILL)
	<-i.shown
}

func (i *instance) BaseURL() string {
	if i.reach == "" {
		return ""
	}
	return "http://" + i.reach
}

func (i *instance) Access() engine.Access { return engine.Access{BaseURL: i.BaseURL()} }

func (i *instance) About() map[string]string { return maps.Clone(i.about) }

func (i *instance) Startup() time.Duration { return time.Duration(i.startup.Load()) }

func (i *instance) LogPath() string { return i.log.Path }

func (i *instance) Exited() <-chan struct{} { return i.exited }

func (i *instance) Exit() *engine.Exit {
	select {
	case <-i.exited:
		exit := i.how.exit
		return &exit
	default:
		return nil
	}
}

// LogBroken reports whether some of the engine's output was missed, so what its log lacks
// proves nothing.
func (i *instance) LogBroken() bool {
	select {
	case <-i.shown:
		<-i.exited
		return errors.Is(i.how.err, ErrUnreachable)
	default:
		return false
	}
}

// portUser implements engine.Listener for an engine with these processes. The daemon itself
// binds what it publishes; in its machine's network anybody may listen.
func (i *instance) portUser(pids func() []int) (who string, seen bool) {
	switch {
	case !i.shared || i.port == 0:
		return "", true
	case len(pids()) == 0:
		return "", false
	}
	return run.PortUser(i.port, pids)
}

func (i *instance) ready(ctx context.Context, others func() (string, bool)) error {
	took, err := run.Waiter{
		Kind: i.kind, Model: i.spec.Model, Access: i.Access(), Started: i.started, Limit: i.spec.ReadyTimeout,
		Exited: i.exited, Exit: i.Exit, PortUser: others, Failure: i.failure,
	}.Wait(ctx)
	if err == nil {
		i.startup.CompareAndSwap(0, int64(took))
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
		why := i.how.why
		if why == "" && (f.Exit.Code == 126 || f.Exit.Code == 127) {
			why = refusals.find(strings.Join(f.LogTail, "\n"))
		}
		if why != "" {
			f.Reason += "; " + why
		}
	case op == "become ready" && !i.shared && i.port != 0:
		f.Reason += fmt.Sprintf("; in a container it must listen on 0.0.0.0 (--host 0.0.0.0), not on 127.0.0.1, on port %d",
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
	if failed, ok := errors.AsType[*Error](err); ok {
		if hint := refusals.find(failed.Says); hint != "" {
			return engine.StartFailure(err, "%s (docker says: %v)", hint, err)
		}
	}
	return engine.StartFailure(err, "%v", err)
}

// refusals are messages for containers and commands that cannot be created or started.
var refusals = newRemedies(
	`could not select device driver`,
	"the daemon cannot provide GPUs: install the NVIDIA Container Toolkit there (nvidia-ctk runtime configure "+
		"--runtime=docker, then restart docker), or remove gpus",
	`nvidia-container-cli|nvidia-container-runtime|libnvidia-ml`,
	"the daemon's machine has no working NVIDIA driver, or lacks that GPU: run nvidia-smi -L there, then correct gpus",
	`unable to find (user|group) ([^:]+)`,
	"the image has no $1 $2: correct user, or use a numeric one such as \"1000:1000\"",
	`bind source path does not exist: (\S+)`,
	"the path $1 of volumes does not exist on the daemon's machine: create it, or correct volumes",
	`network (\S+) not found`,
	"the daemon has no network $1: correct network (see docker network ls), or create it",
	`port is already allocated|address already in use`,
	"a port that it needs is taken on the daemon's machine: stop what uses it",
	`docker-init.*(not found|no such file)`,
	"the daemon has no init program: install docker-init (package tini or docker-init) there",
	`chdir to cwd \("([^"]*)"\)`,
	`the container has no accessible folder "$1": correct workdir, or create it`,
	`exec: "?([^":]+)"?: (?:executable file not found|stat .*no such file|permission denied)`,
	`the image has no executable program "$1": correct entrypoint or command, or the image`,
	"executable file `([^`]*)` not found", // crun
	`the image has no executable program "$1": correct entrypoint or command, or the image`,
	`\[FATAL tini \(\d+\)\] exec (.*) failed: (.*)`, // the container's init process
	`the image has no executable program "$1" ($2): correct entrypoint or command, or the image`,
	`[Nn]o command specified`,
	"neither the plan nor the image says what to run: set command in the docker block",
	`no space left on device`,
	"the disk of the daemon's machine is full: docker system df shows what uses it",
)

// info is what docker inspect says about a container.
type info struct {
	ID, Name, Path, Image string
	Args                  []string
	State                 struct {
		Status             string
		Running, OOMKilled bool
		Paused             bool
		Pid, ExitCode      int
		Error, StartedAt   string
	}
	Config struct {
		Image string
		Cmd   []string
	}
	HostConfig      struct{ NetworkMode string }
	NetworkSettings struct {
		Ports    map[string][]struct{ HostIP, HostPort string }
		Networks map[string]struct{ IPAddress string }
	}
}

func inspect(ctx context.Context, container string) (of info, err error) {
	text, err := call(ctx, "container", "inspect", "--format", "{{json .}}", container)
	if err == nil {
		err = json.Unmarshal([]byte(text), &of)
	}
	of.Name = strings.TrimPrefix(of.Name, "/")
	return of, err
}

// published is where the daemon publishes a port, empty if nowhere.
func (of info) published(port int) string {
	for _, b := range of.NetworkSettings.Ports[strconv.Itoa(port)+"/tcp"] {
		switch {
		case b.HostPort == "" || b.HostPort == "0":
		case b.HostIP == "" || b.HostIP == "0.0.0.0" || b.HostIP == "::":
			return net.JoinHostPort("127.0.0.1", b.HostPort)
		default:
			return net.JoinHostPort(b.HostIP, b.HostPort)
		}
	}
	return ""
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
