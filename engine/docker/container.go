package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/go-connections/nat"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/internal/sorted"
)

// Launcher starts engines in containers of their own, engines that are a service of a
// compose file, and engines that are a command inside a running container: these it stops,
// with everything that they started, without stopping the container, which needs sh and
// grep. The zero value is ready to use.
//
// In its own container the engine listens on its own port, which the daemon publishes on
// loopback. An init process reaps what the engine leaves behind, and the container is
// never restarted: an engine that ended has ended.
type Launcher struct {
	// LogLimit limits the log file, in bytes; zero means 256 MiB.
	LogLimit int64
	// Images keeps the launches of one apply from requesting an image repeatedly; nil lets
	// each request it.
	Images *Images
	// Remember is called with the daemon's address before anything is started there, and
	// with the container if that is not mxflow's own, so leftovers can be found; may be nil.
	Remember func(host, container string) error
}

var _ interface {
	engine.Launcher
	engine.Identifier
	engine.Fetcher
} = Launcher{}

func (l Launcher) Launch(ctx context.Context, spec engine.Spec, launch engine.Launch) (engine.Instance, error) {
	kind, failure := spec.Prepare()
	if failure == nil {
		failure = launch.Check()
	}
	if failure != nil {
		return nil, failure
	}
	var i interface {
		engine.Instance
		launch(context.Context, Launcher, engine.Launch) error
		await()
		discard() error // undoes a failed start
	} = &box{instance: instance{spec: spec, kind: kind}, name: containerName(launch.ID)}
	if spec.Exec != nil {
		i = &execInstance{instance: instance{spec: spec, kind: kind}}
	}
	if err := i.launch(ctx, l, launch); err != nil {
		failure := startFailure(err)
		if err := i.discard(); err != nil {
			failure.Reason += fmt.Sprintf("; what was started of it was not removed: %v", err)
		}
		return nil, failure
	}
	go i.await()
	return i, nil
}

func (l Launcher) remember(host, container string) error {
	if l.Remember == nil {
		return nil
	}
	if err := l.Remember(host, container); err != nil {
		return fmt.Errorf("cannot record that docker daemon %s is in use: %w", host, err)
	}
	return nil
}

func (c *box) launch(ctx context.Context, l Launcher, launch engine.Launch) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.daemon, err = connect(ctx); err != nil {
		return err
	}
	is, err := l.Images.needed(ctx, c.spec)
	if err != nil {
		return err
	}
	if err := l.remember(c.host, ""); err != nil {
		return err
	}
	var on image.InspectResponse
	if is.ref != "" && (is.project == nil || is.pull != "never") {
		if on, err = l.Images.get(ctx, c.daemon, is.ref, is.pull); err != nil {
			return err
		}
	}
	block := engine.Docker{}
	if c.project = is.project; c.project != nil {
		block.Port, block.Network = c.spec.Compose.Port, is.project.file.Services[c.spec.Compose.Service].NetworkMode
	} else {
		block = *c.spec.Docker
		block.Image = is.ref
	}
	c.spec.Docker, c.shared = &block, block.Network == "host"
	if err := c.claimPort(); err != nil {
		return err
	}
	if err := c.writeConfig(launch); err != nil {
		return err
	}
	if err := c.openLogs(launch, l.LogLimit); err != nil {
		return err
	}
	c.id = c.name // by which it is removed if it was created and that is not known
	if c.project != nil {
		err = c.project.up(ctx, c, launch)
	} else {
		err = c.start(ctx, launch)
	}
	if err != nil {
		return err
	}
	of, err := c.inspect(ctx, c.id)
	if err == nil {
		err = c.entered(of)
	}
	if err == nil && c.project != nil {
		err = c.follow(ctx, of.Config.Tty, func(ctx context.Context) (*stream, error) {
			shown := container.LogsOptions{ShowStdout: true, ShowStderr: true, Follow: true}
			output, err := c.ContainerLogs(ctx, c.id, shown)
			return &stream{Reader: output, Closer: output}, err
		})
	}
	if err != nil {
		return err
	}
	c.about = map[string]string{
		"container": c.name, "docker": c.host,
		"resolved_command": strings.Join(append([]string{of.Path}, of.Args...), " "),
		"image":            of.Config.Image, "image_id": of.Image,
	}
	if digest := digestOf(on, is.ref); digest != "" {
		c.about["image_digest"] = digest
	}
	if p := c.project; p != nil {
		c.about["compose_file"], c.about["compose_service"] = p.spec.File, p.spec.Service
		c.about["compose_project"], c.about["compose_command"] = p.name, strings.Join(p.argv, " ")
	}
	go c.sampleMemory()
	return nil
}

// start creates and starts a container that is the engine's own. Its output is attached to
// before, so the log has the first line.
func (c *box) start(ctx context.Context, launch engine.Launch) error {
	inside, host, err := configs(c.spec, c.port, c.config)
	if err != nil {
		return err
	}
	inside.Labels = labels(launch)
	inside.Env = append([]string{"MXFLOW_LAUNCH=" + launch.ID}, inside.Env...)
	host.Init, host.RestartPolicy.Name = new(true), container.RestartPolicyDisabled
	// The daemon's own copy of the log, which ours does not need, by the driver that podman has too.
	host.LogConfig = container.LogConfig{
		Type:   "json-file",
		Config: map[string]string{"max-size": "64m", "max-file": "3"},
	}
	if c.port != 0 {
		inside.Env = append(inside.Env, "MXFLOW_PORT="+strconv.Itoa(c.port))
		if at := nat.Port(strconv.Itoa(c.port) + "/tcp"); !c.shared {
			inside.ExposedPorts = nat.PortSet{at: {}}
			host.PortBindings = nat.PortMap{at: {{HostIP: "127.0.0.1"}}}
		}
	}
	made, err := ask(ctx, c.daemon, callLimit, func(ctx context.Context) (container.CreateResponse, error) {
		return c.ContainerCreate(ctx, inside, host, nil, nil, c.name)
	})
	if err != nil {
		return c.lacking(ctx, err, request{block: c.spec.Docker, command: c.spec.Command})
	}
	c.id = made.ID
	unattached := c.follow(ctx, false, func(ctx context.Context) (*stream, error) {
		return hijacked(c.ContainerAttach(ctx, c.id, container.AttachOptions{Stream: true, Stdout: true, Stderr: true}))
	})
	// Podman creates what it runs when it is attached to, and the start says what it lacks.
	err = c.do(ctx, startLimit, func(ctx context.Context) error {
		return c.ContainerStart(ctx, c.id, container.StartOptions{})
	})
	if err != nil {
		return c.lacking(ctx, err, request{container: c.id, block: c.spec.Docker, command: c.spec.Command})
	}
	return unattached
}

// box is an engine in a container that was created for its launch.
type box struct {
	instance
	id, name string
	// config is the configuration file on this machine, in a folder of its own.
	config   string
	giveBack func() // the port
	memory   cgroup
	// project is the compose project that the container is part of, nil if none.
	project *project
}

var _ interface {
	engine.Instance
	engine.Resident
	engine.Listener
} = (*box)(nil)

// entered takes over what the daemon says of a container that has started.
func (c *box) entered(of container.InspectResponse) error {
	at, err := time.Parse(time.RFC3339Nano, of.State.StartedAt)
	if err == nil && at.After(c.Started) && at.Before(time.Now()) {
		c.Started = at
	}
	switch {
	case c.port == 0:
	case c.shared:
		c.reach = net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port))
	default:
		if c.reach = published(of, c.port); c.reach == "" && of.State.Running {
			return fmt.Errorf("the daemon published no port for %d/tcp", c.port)
		} else if c.reach == "" {
			c.reach = "127.0.0.1:1" // it has ended: no request is sent there
		}
	}
	c.memory = cgroupOf(of.State.Pid, c.id)
	c.lookAtMemory = func() {
		if c.memory.dir != "" {
			c.peak.Raise(c.memory.bytes())
		} else {
			c.peak.Raise(c.usage(context.Background(), c.id))
		}
	}
	c.Activity.PIDs, c.Alone = c.PIDs, c.port != 0 && !c.shared && !of.HostConfig.NetworkMode.IsContainer()
	if c.Alone {
		for _, n := range sorted.All(of.NetworkSettings.Networks) {
			if ip, err := netip.ParseAddr(n.IPAddress); err == nil {
				c.IP = ip
			}
		}
	}
	return nil
}

// lateEvent is how long after a container's end the daemon may say why: Docker 20.10 sends
// the event that it was out of memory late, and then leaves its state as it is.
const lateEvent = time.Second

func (c *box) await() {
	defer func() { c.End(c.how.exit) }()
	<-c.shown
	// The output of a container can end a moment before it does.
	_ = c.wait(c.id, container.WaitConditionNotRunning, 2*time.Second)
	if c.how = c.ended(); c.how.err != nil || c.how.exit.Signal != "SIGKILL" || c.how.why != "" || c.killed.Load() {
		return
	}
	// Whoever removes a running container kills it first.
	ctx, cancel := context.WithTimeout(context.Background(), 2*lateEvent)
	defer cancel()
	messages, failed := c.Events(ctx, events.ListOptions{
		Since: strconv.FormatInt(c.Started.Unix(), 10),
		Until: strconv.FormatInt(time.Now().Add(lateEvent).Unix()+1, 10),
		Filters: filters.NewArgs(filters.Arg("container", c.id), filters.Arg("event", string(events.ActionOOM)),
			filters.Arg("event", string(events.ActionDestroy))),
	})
	select {
	case m := <-messages:
		if m.Action == events.ActionOOM {
			c.how.why = outOfMemory
			return
		}
	case <-failed:
	}
	c.how = c.ended()
}

const outOfMemory = "the kernel killed it for lack of memory (OOMKilled): raise the container's memory limit, or " +
	"make " +
	"the engine use less"

// ended says how a container ended that runs no more.
func (c *box) ended() ending {
	of, err := c.inspect(context.Background(), c.id)
	switch {
	case isMissing(err) && c.killed.Load():
		return ending{exit: engine.Exit{Code: -1, Signal: "SIGKILL"}}
	case isMissing(err):
		return ending{
			exit: engine.Exit{Code: -1, Signal: "SIGKILL"}, err: err,
			why: "its container " + c.name + " was removed by something other than mxflow",
		}
	case err != nil || of.State.Running:
		return wentAway(c.host, err)
	}
	how := ending{exit: exitOf(of.State.ExitCode), why: of.State.Error}
	switch code := of.State.ExitCode; {
	case of.State.OOMKilled:
		how.why = outOfMemory
	case code == 126 || code == 127: // of the init process, for one
		if what := c.lackProgram(context.Background(), of, nil); what != "" {
			how.why = what
		}
	}
	return how
}

// PIDs implements engine.Resident: the container's processes by this machine's PIDs; none
// if they cannot be seen here.
func (c *box) PIDs() []int {
	if c.Exit() != nil {
		return nil
	}
	return c.memory.pids()
}

// Output implements engine.Instance: it runs a command in the container, with the
// container's environment, and returns its standard output. A nonzero status is an error
// with the command's standard error.
func (c *box) Output(ctx context.Context, argv ...string) ([]byte, error) {
	return c.outputOf(ctx, c.id, container.ExecOptions{Cmd: argv})
}

// sampleMemory raises the peak until the container ends: once a second what the kernel counts
// for it, less the file pages that it can reclaim at any time. Memory that cannot be read is
// unknown, which is not a failure.
func (c *box) sampleMemory() {
	for c.memory.dir != "" {
		c.lookAtMemory()
		select {
		case <-c.Exited():
			return
		case <-time.After(time.Second):
		}
	}
}

// Stop implements engine.Instance: SIGTERM, then SIGKILL after the grace period, or at
// once when ctx is done. The rest of a compose project goes after the engine; volumes
// with a name stay.
func (c *box) Stop(ctx context.Context) error {
	return c.stopper.Stop(ctx, func(hurry <-chan struct{}) error {
		grace := time.NewTimer(c.spec.StopGrace)
		defer grace.Stop()
		if c.Exit() == nil {
			c.lookAtMemory() // the last chance
			// A lost signal is noticed because nothing ends.
			_ = c.do(context.Background(), callLimit, func(ctx context.Context) error {
				return c.ContainerKill(ctx, c.id, "TERM")
			})
			select {
			case <-c.Exited():
			case <-grace.C:
			case <-hurry:
			}
		}
		if c.Exit() == nil {
			c.killed.Store(true)
		}
		err := c.remove()
		if err == nil {
			select {
			case <-c.Exited():
			case <-time.After(killWait):
				err = fmt.Errorf("docker still shows its output %s after SIGKILL", killWait)
			}
		}
		if err != nil {
			return c.failure("stop", err, "cannot remove its container %s: %v; once the daemon %s answers again, "+
				"remove it with docker rm -f %s", c.name, err, c.host, c.name)
		}
		c.release()
		return nil
	})
}

// remove removes the container, running or not, and the rest of its compose project.
func (c *box) remove() error {
	if c.daemon == nil {
		return nil
	}
	err := c.daemon.remove(c.id)
	if err == nil && c.project != nil {
		err = c.project.remove(c.daemon)
	}
	return err
}

func (c *box) discard() error {
	err := c.remove()
	if err != nil {
		err = fmt.Errorf("container %s: %w", c.name, err)
	}
	c.unfollow()
	c.release()
	return err
}

// release gives back what a container that is gone has used.
func (c *box) release() {
	c.closeLogs()
	if c.config != "" {
		_ = os.RemoveAll(filepath.Dir(c.config))
	}
	if c.giveBack != nil {
		c.giveBack()
	}
}

// writeConfig writes the configuration file. It may contain keys, and any user of the
// container must read it: so it is open to all in a folder that is not.
func (c *box) writeConfig(launch engine.Launch) error {
	name := c.spec.ConfigName
	if len(c.spec.Config) == 0 {
		return nil
	}
	if name == "" || name != filepath.Base(name) {
		return fmt.Errorf("%q is not a valid file name", name)
	}
	folder := launch.LogPath + ".config"
	c.config = filepath.Join(folder, name)
	err := os.MkdirAll(filepath.Dir(folder), 0o755)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		err = os.WriteFile(c.config, c.spec.Config, 0o644)
	}
	if err != nil {
		return fmt.Errorf("cannot write its configuration file: %w", err)
	}
	return nil
}

// anyPort is where an engine listens in its container if its command takes the port and
// the choice does not matter.
const anyPort = 8000

// portInside is where an engine listens in its container, as its Spec says: 0 if it is not
// a server, or, if it asks for one, takes a free port of the machine whose network it
// shares.
func portInside(spec engine.Spec, kind kinds.Kind) (port int, asks bool, err error) {
	words := slices.Concat(spec.Command, spec.Docker.Entrypoint)
	for _, value := range sorted.All(spec.Env) {
		words = append(words, value)
	}
	asks = slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "{port}") })
	network := spec.Docker.Network
	if port = spec.Docker.Port; port == 0 && !(network == "host" && asks) {
		port = kind.Port
	}
	switch {
	case network == "host" || port == 0 && !asks && len(kind.Ready) == 0:
	case port == 0 && !asks:
		err = errors.New("its port in the container is unknown: set port in its block, or put {port} into its command")
	case network == "none" || strings.HasPrefix(network, "container:"):
		err = unreachableBy(network)
	case port == 0:
		port = anyPort
	}
	return port, asks, err
}

// claimPort chooses the engine's port; one of this machine must be free.
func (c *box) claimPort() error {
	port, asks, err := portInside(c.spec, c.kind)
	switch c.port = port; {
	case err != nil || !c.shared || port == 0 && !asks:
		return err
	case port == 0:
		if c.port, c.giveBack, err = run.FreePort(); err != nil {
			err = fmt.Errorf("no free port on this machine: %w", err)
		}
		return err
	}
	l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return fmt.Errorf("port %d of this machine, which the engine needs with network = \"host\", "+
			"is taken: %w; stop the program that listens there, or set another port", port, err)
	}
	return l.Close()
}

var notInName = regexp.MustCompile(`[^-._a-zA-Z0-9]`)

// containerName is the name in `docker ps`: the launch, and a unique suffix.
func containerName(launch string) string {
	safe := notInName.ReplaceAllString(launch, "-")
	return "mxflow-" + safe[:min(len(safe), 80)] + "-" + strings.ToLower(rand.Text()[:6])
}

// The labels on everything that mxflow starts in docker. Only with all four is a
// container mxflow's.
const (
	LabelOwner  = "mxflow.owner"
	LabelLaunch = "mxflow.launch"
	// LabelStarted is when mxflow requested it, by mxflow's own clock.
	LabelStarted = "mxflow.started"
	// LabelHost is mxflow's machine, hashed: several may use one daemon, with state
	// directories of the same path and so the same owner.
	LabelHost = "mxflow.host"
)

// labels mark what is started for a launch.
func labels(l engine.Launch) map[string]string {
	return map[string]string{
		LabelOwner: l.Owner, LabelLaunch: l.ID, LabelHost: thisHost(),
		LabelStarted: time.Now().UTC().Format(time.RFC3339Nano),
	}
}

var thisHost = sync.OnceValue(func() string { return machine.Environment()["host"] })
