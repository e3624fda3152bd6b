package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/go-connections/nat"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/machine"
	process "github.com/mxflow/mxflow/engine/run"
	ready "github.com/mxflow/mxflow/engine/run"
)

// Launcher starts engines in their own containers. The zero value is ready to use.
//
// The engine listens inside the container on its own port, which the daemon publishes
// where only mxflow can reach it. An init process reaps what the engine leaves behind,
// and the container is never restarted: an engine that ended has ended.
type Launcher struct {
	// LogLimit limits the log file, in bytes; zero means 256 MiB.
	LogLimit int64
	// Progress receives the progress of image pulls; may be nil.
	Progress func(Progress)
	// Fetched keeps the launches of one apply from requesting an image repeatedly; nil
	// lets each request it.
	Fetched *FetchMemo
	// Remember is called with a daemon before anything is started there, so leftovers can
	// be found; may be nil.
	Remember func(*Daemon) error
}

var _ interface {
	engine.Launcher
	engine.Identifier
} = Launcher{}

// Launch implements engine.Launcher.
func (l Launcher) Launch(ctx context.Context, spec engine.Spec, launch engine.Launch) (engine.Instance, error) {
	inst, failure := l.launch(ctx, spec, launch)
	if failure != nil {
		return nil, failure
	}
	return inst, nil
}

func (l Launcher) launch(ctx context.Context, spec engine.Spec, launch engine.Launch) (*instance, *engine.Failure) {
	if err := ctx.Err(); err != nil {
		return nil, engine.StartFailure(err, "it was cancelled before it started")
	}
	kind, failure := spec.Prepare()
	if failure != nil {
		return nil, failure
	}
	if failure := launch.Check(); failure != nil {
		return nil, failure
	}
	if spec.Docker == nil {
		return nil, engine.StartFailure(nil, "the plan has no docker block for it")
	}
	ref := imageOf(spec, kind)
	if ref == "" {
		return nil, engine.StartFailure(nil, "the image is missing: set image in the docker block")
	}
	d, err := Connect(ctx)
	if err != nil {
		return nil, engine.StartFailure(err, "%v", err)
	}
	if l.Remember != nil {
		if err := l.Remember(d); err != nil {
			return nil, engine.StartFailure(err, "cannot record that daemon %s is in use: %v", d.Name, err)
		}
	}
	info, err := l.Fetched.image(ctx, d, ref, spec.Docker.Pull, l.Progress)
	if err != nil {
		return nil, engine.StartFailure(err, "%v", err)
	}
	at, err := d.portsFor(ctx, spec, kind)
	if err != nil {
		return nil, engine.StartFailure(err, "%v", err)
	}
	inst, failure := l.start(ctx, d, spec, kind, launch, info, at)
	if failure != nil {
		at.release()
	}
	return inst, failure
}

// start creates and starts the container; on an error it removes what it created.
func (l Launcher) start(ctx context.Context, d *Daemon, spec engine.Spec, kind kinds.Kind, launch engine.Launch,
	info image.InspectResponse, at *ports,
) (*instance, *engine.Failure) {
	ref := imageOf(spec, kind)
	config, host, err := containerOf(spec, launch, ref, at)
	if err != nil {
		return nil, engine.StartFailure(err, "%v", err)
	}
	name := containerName(launch.ID)
	created, err := d.ContainerCreate(ctx, config, host, nil, nil, name)
	if err != nil {
		return nil, d.startFailed(err)
	}
	inst, failure := l.run(ctx, d, spec, kind, launch, created.ID, name, at)
	if failure != nil {
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
		defer cancel()
		if err := d.removeContainer(cleaning, created.ID); err != nil {
			failure.Reason += fmt.Sprintf("; its container %s was not removed: %v", name, err)
		}
		return nil, failure
	}
	inst.about["image"], inst.about["image_id"] = ref, info.ID
	if digest := digestOf(ref, info); digest != "" {
		inst.about["image_digest"] = digest
	}
	return inst, nil
}

// run starts a created container and starts following it.
func (l Launcher) run(ctx context.Context, d *Daemon, spec engine.Spec, kind kinds.Kind, launch engine.Launch, id, name string, at *ports) (*instance, *engine.Failure) {
	if err := d.putConfig(ctx, id, spec, "/", configFolder); err != nil {
		return nil, engine.StartFailure(err, "cannot copy its configuration file into the container: %v", err)
	}
	to, failure := openOutput(launch, l.LogLimit)
	if failure != nil {
		return nil, failure
	}
	attached, err := d.ContainerAttach(ctx, id, container.AttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		to.close()
		return nil, d.startFailed(err)
	}
	running, failure := d.letRun(ctx, id, at)
	if failure != nil {
		attached.Close()
		to.close()
		return nil, failure
	}
	return &instance{
		Container: watch(d, id, name, false, to, &attached),
		serving: serving{spec: spec, kind: kind, at: at, about: map[string]string{
			"container": name, "docker": d.Name,
			"resolved_command": strings.Join(append([]string{running.Path}, running.Args...), " "),
		}},
	}, nil
}

// letRun starts a container and determines how to reach it.
func (d *Daemon) letRun(ctx context.Context, id string, at *ports) (container.InspectResponse, *engine.Failure) {
	err := d.ContainerStart(ctx, id, container.StartOptions{})
	var running container.InspectResponse
	if err == nil {
		running, err = d.ContainerInspect(ctx, id)
	}
	if err == nil {
		err = at.published(running)
	}
	if err != nil {
		return running, d.startFailed(err)
	}
	return running, nil
}

// output is where an engine's output goes.
type output struct {
	log *logscan.File
	out *logscan.File // nil where standard output goes into log
}

func openOutput(launch engine.Launch, limit int64) (o output, failure *engine.Failure) {
	var err error
	if o.log, err = logscan.Open(launch.LogPath, limit, launch.Evidence); err == nil && launch.OutPath != "" {
		o.out, err = logscan.Open(launch.OutPath, limit, logscan.Evidence{})
	}
	if err != nil {
		o.close()
		return o, engine.StartFailure(err, "cannot write its log: %v", err)
	}
	return o, nil
}

// stdout is where standard output goes.
func (o output) stdout() *logscan.File {
	if o.out != nil {
		return o.out
	}
	return o.log
}

// LogPath implements engine.Instance.
func (o output) LogPath() string { return o.log.Path }

func (o output) close() {
	for _, to := range []*logscan.File{o.log, o.out} {
		if to != nil {
			to.Close()
		}
	}
}

// serving is the request for an engine in a container, whoever created that, and how to
// reach it.
type serving struct {
	spec    engine.Spec
	kind    kinds.Kind
	at      *ports
	about   map[string]string
	startup atomic.Int64 // ns, 0 before ready
}

// BaseURL implements engine.Instance.
func (s *serving) BaseURL() string {
	if s.at.reach == "" {
		return ""
	}
	return "http://" + s.at.reach
}

// Access implements engine.Instance.
func (s *serving) Access() engine.Access { return engine.Access{BaseURL: s.BaseURL()} }

// About implements engine.Instance.
func (s *serving) About() map[string]string { return maps.Clone(s.about) }

// Startup implements engine.Instance.
func (s *serving) Startup() time.Duration { return time.Duration(s.startup.Load()) }

// others are who listens at the engine's port beside its processes. The daemon itself
// binds what it publishes; in its machine's network anybody may listen.
func (s *serving) others(d *Daemon, pids func() []int) (who string, seen bool) {
	switch {
	case !s.at.shared || s.at.inside == 0:
		return "", true
	case !d.Local() || pids == nil || len(pids()) == 0:
		return "", false
	}
	return process.Others(s.at.inside, pids)
}

// ready waits for an engine that runs.
func (s *serving) ready(ctx context.Context, of *run, others func() (string, bool), failure func(op string, cause error, format string, args ...any) *engine.Failure) error {
	took, err := ready.Waiter{
		Kind: s.kind, Model: s.spec.Model, Access: s.Access(), Started: of.Started, Limit: s.spec.ReadyTimeout,
		Exited: of.exited, Exit: of.Exit, Others: others, Failure: failure,
	}.Wait(ctx)
	if err == nil {
		s.startup.CompareAndSwap(0, int64(took))
	}
	return err
}

// instance is an engine in a container created for it.
type instance struct {
	*Container
	serving
	given atomic.Bool // the ports were given back
}

var _ engine.Instance = (*instance)(nil)

// Ready implements engine.Instance.
func (i *instance) Ready(ctx context.Context) error {
	err := i.ready(ctx, &i.run, i.Others, i.notReady)
	if err == nil {
		i.lookAtMemory(ctx.Done())
	}
	return err
}

// Others implements engine.Listener.
func (i *instance) Others() (who string, seen bool) { return i.others(i.Daemon, i.PIDs) }

func (i *instance) notReady(op string, cause error, format string, args ...any) *engine.Failure {
	reason := fmt.Sprintf(format, args...)
	if i.at.publish != "" && (strings.Contains(reason, "connection reset") || strings.Contains(reason, "EOF")) {
		reason += fmt.Sprintf("; in a container it must listen on 0.0.0.0, not on 127.0.0.1, and on port %d", i.at.inside)
	}
	return i.Failure(op, cause, "%s", reason)
}

// Stop implements engine.Instance.
func (i *instance) Stop(ctx context.Context) error {
	err := i.Container.Stop(ctx, i.spec.StopGrace)
	if err == nil && i.given.CompareAndSwap(false, true) {
		i.at.release()
	}
	return err
}

// configFolder is where a configuration file is in the container.
const configFolder = "etc/mxflow"

// containerOf translates a Spec into docker's terms.
func containerOf(spec engine.Spec, launch engine.Launch, ref string, at *ports) (*container.Config, *container.HostConfig, error) {
	d := spec.Docker
	var wrong []error
	note := func(err error) {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	expand := inContainer(spec, at)
	command, err := expanded(spec.Command, expand)
	note(err)
	entrypoint, err := expanded(d.Entrypoint, expand)
	note(err)
	if d.Entrypoint != nil && len(entrypoint) == 0 {
		entrypoint = []string{""} // takes the image's away
	}
	env, err := containerEnv(spec, launch, at, expand)
	note(err)
	gpus, err := GPUs(d.GPUs)
	note(err)
	shm, err := Size(d.ShmSize)
	note(err)
	limits, err := Ulimits(d.Ulimits)
	note(err)
	mounts, err := Volumes(d.Volumes)
	note(err)
	if len(wrong) > 0 {
		return nil, nil, errors.Join(wrong...)
	}
	reap := true
	config := &container.Config{
		Image: ref, Cmd: command, Entrypoint: entrypoint, Env: env, User: d.User, WorkingDir: d.WorkDir, Labels: Labels(launch),
	}
	host := &container.HostConfig{
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		Init:          &reap,
		IpcMode:       container.IpcMode(d.IPC), NetworkMode: container.NetworkMode(d.Network), ShmSize: shm, Mounts: mounts,
		Resources: container.Resources{Ulimits: limits, DeviceRequests: gpus, CpusetCpus: engine.CPUList(launch.CPUs)},
		// The daemon's own copy of the log, which ours does not need.
		LogConfig: container.LogConfig{Type: "local", Config: map[string]string{
			"max-size": "64m", "max-file": "3", "compress": "false",
		}},
	}
	if at.publish != "" {
		port := nat.Port(strconv.Itoa(at.inside) + "/tcp")
		config.ExposedPorts = nat.PortSet{port: {}}
		host.PortBindings = nat.PortMap{port: {{HostIP: at.publish}}}
	}
	return config, host, nil
}

// inContainer replaces placeholders by their values in the engine's own container.
func inContainer(spec engine.Spec, at *ports) func(string) string {
	return engine.Placeholders(at.inside, "/"+configFolder+"/"+spec.ConfigName)
}

func expanded(argv []string, expand func(string) string) ([]string, error) {
	var out []string
	for _, arg := range argv {
		if strings.Contains(arg, "{mxflow}") {
			return nil, fmt.Errorf("{mxflow} in %q is a path on this machine, not in the container: use a program of the image", arg)
		}
		out = append(out, expand(arg))
	}
	return out, nil
}

// containerEnv is the container's environment beyond its image's. A name without a value
// removes the image's.
func containerEnv(spec engine.Spec, launch engine.Launch, at *ports, expand func(string) string) ([]string, error) {
	var env []string
	for _, name := range spec.Unset {
		if _, set := spec.Env[name]; !set {
			env = append(env, name)
		}
	}
	own, err := spec.Environ(expand)
	if err != nil {
		return nil, err
	}
	env = append(env, own...)
	// The owner's mark is left out: engine.Sweep uses it to end single processes, but a
	// container is removed as a whole, by its labels.
	env = append(env, "MXFLOW_LAUNCH="+launch.ID)
	if at.inside != 0 {
		env = append(env, "MXFLOW_PORT="+strconv.Itoa(at.inside))
	}
	return env, nil
}

// putConfig copies the configuration file, if there is one, into a new folder of a
// container, readable by any user.
func (d *Daemon) putConfig(ctx context.Context, id string, spec engine.Spec, parent, folder string) error {
	if len(spec.Config) == 0 {
		return nil
	}
	if spec.ConfigName == "" || strings.ContainsAny(spec.ConfigName, "/\x00") {
		return fmt.Errorf("%q is not a valid file name", spec.ConfigName)
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755})
	if err == nil {
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: folder + "/" + spec.ConfigName, Mode: 0o644, Size: int64(len(spec.Config))})
	}
	if err == nil {
		_, err = w.Write(spec.Config)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	return d.CopyToContainer(ctx, id, parent, &buf, container.CopyToContainerOptions{})
}

// imageOf is the image of a Spec, or else of its kind.
func imageOf(spec engine.Spec, kind kinds.Kind) string {
	if spec.Docker.Image != "" {
		return spec.Docker.Image
	}
	return kind.Image
}

// containerName is the name in `docker ps`: the launch, and a unique suffix.
func containerName(launch string) string {
	safe := strings.Map(func(r rune) rune {
		if r < 128 && (r == '.' || r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return r
		}
		return '-'
	}, launch)
	return "mxflow-" + safe[:min(len(safe), 80)] + "-" + strings.ToLower(rand.Text()[:6])
}

// The labels on everything that mxflow starts in docker. Only with all four is a
// container mxflow's.
const (
	// LabelOwner is engine.Launch.Owner.
	LabelOwner = "mxflow.owner"
	// LabelLaunch is engine.Launch.ID.
	LabelLaunch = "mxflow.launch"
	// LabelStarted is when mxflow requested it, by mxflow's own clock.
	LabelStarted = "mxflow.started"
	// LabelHost is mxflow's machine, hashed: several may use one daemon, with state
	// directories of the same path and so the same owner.
	LabelHost = "mxflow.host"
)

// Labels mark what is started for a launch.
func Labels(l engine.Launch) map[string]string {
	return map[string]string{
		LabelOwner: l.Owner, LabelLaunch: l.ID, LabelHost: thisHost(),
		LabelStarted: time.Now().UTC().Format(time.RFC3339Nano),
	}
}

var thisHost = sync.OnceValue(func() string { return machine.Environment()["host"] })

// refusals are daemons' messages for containers that cannot be created or started, and
// what to do. The first match counts; $1 is its group.
var refusals = []struct {
	says *regexp.Regexp
	hint string
}{
	{
		regexp.MustCompile(`could not select device driver`),
		"the daemon cannot provide GPUs: install the NVIDIA Container Toolkit there (nvidia-ctk runtime configure --runtime=docker, then restart docker), or remove gpus",
	},
	{
		regexp.MustCompile(`nvidia-container-cli|nvidia-container-runtime|libnvidia-ml`),
		"the daemon's machine has no working NVIDIA driver, or lacks that GPU: run nvidia-smi -L there, then correct gpus",
	},
	{regexp.MustCompile(`unable to find (user|group) ([^:]+)`), "the image has no $1 $2: correct user, or use a numeric one such as \"1000:1000\""},
	{regexp.MustCompile(`bind source path does not exist: (\S+)`), "the path $1 of volumes does not exist on the daemon's machine: create it, or correct volumes"},
	{regexp.MustCompile(`network (\S+) not found`), "the daemon has no network $1: correct network (see docker network ls), or create it"},
	{regexp.MustCompile(`port is already allocated|address already in use`), "a port that it needs is taken on the daemon's machine: stop what uses it"},
	{regexp.MustCompile(`docker-init.*(not found|no such file)`), "the daemon has no init program: install docker-init (package tini or docker-init) there"},
	{
		regexp.MustCompile(`exec: "?([^":]+)"?: (executable file not found|stat .*no such file|permission denied)`),
		`the image has no executable program "$1": correct entrypoint or command, or the image`,
	},
	{regexp.MustCompile(`[Nn]o command specified`), "neither the plan nor the image says what to run: set command in the docker block"},
	{regexp.MustCompile(`no space left on device`), "the disk of the daemon's machine is full: docker system df shows what uses it"},
}

// startFailed explains why a container was not created or did not start.
func (d *Daemon) startFailed(err error) *engine.Failure {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return engine.StartFailure(err, "it was cancelled while its container started")
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, r := range refusals {
		if at := r.says.FindStringSubmatchIndex(text); at != nil {
			return engine.StartFailure(err, "%s (docker says: %s)", r.says.ExpandString(nil, r.hint, text, at), text)
		}
	}
	return engine.StartFailure(err, "docker did not start its container: %s", text)
}
