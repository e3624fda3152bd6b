package docker

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	randv2 "math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/internal/sorted"
)

// inside is a running container in which a launch has processes.
type inside struct {
	*daemon
	container.InspectResponse
	// mark is in the environment of the launch's processes, as MXFLOW_EXEC: a container may
	// be shared by several machines whose mxflow have state directories of the same path,
	// and so the same owner.
	mark string
	// as is how our own scripts run: with what sees the processes of every user, or without
	// where the daemon grants no privileges.
	as container.ExecOptions
}

// markOf is the mark of a launch. Without its ID it is the beginning of those of an owner.
func markOf(owner, id string) string {
	clean := strings.NewReplacer("/", "-", "\n", "-", "\x00", "-").Replace
	mark := "MXFLOW_EXEC=" + clean(thisHost()) + "/" + clean(owner) + "/"
	if id != "" {
		mark += clean(id) + "/"
	}
	return mark
}

// execInstance is an engine that is a command in a container. Its processes are those with
// its mark in their environment, and those of the session that the daemon opened for it.
type execInstance struct {
	instance
	in  inside
	env []string // the marks, beside the Spec's environment
	// folder in the container holds the configuration file; empty is none.
	folder string
	// exec is the daemon's ID of the command, and session its process ID inside the container,
	// where it leads its own session.
	exec, session string
}

func (e *execInstance) discard() (err error) {
	if e.shown != nil {
		_, err = e.killAll()
	}
	e.unfollow()
	e.removeFolder()
	e.closeLogs()
	return err
}

// launch returns when the command runs, or why it does not.
func (e *execInstance) launch(ctx context.Context, l Launcher, launch engine.Launch) (err error) {
	block := *e.spec.Exec
	if e.spec.Exec = &block; len(e.spec.Command) == 0 {
		e.spec.Command = block.Command
	}
	switch {
	case block.Container == "":
		return errors.New("the container is missing: set container in the exec block")
	case len(e.spec.Command) == 0 || e.spec.Command[0] == "":
		return errors.New("it has no command: add one to the exec block")
	}
	if e.in, err = enter(ctx, block.Container, markOf(launch.Owner, launch.ID)); err != nil {
		return err
	}
	e.daemon, block.Container = e.in.daemon, e.in.ID
	if err := l.remember(e.in.host, e.in.ID); err != nil {
		return err
	}
	if err := e.choosePort(ctx, block.Port); err != nil {
		return err
	}
	if err := e.copyConfig(ctx); err != nil {
		return err
	}
	// setproctitle must leave the marks alone. The owner's own is left out: the sweep of
	// processes uses it to end those of this machine, before SweepExec could report what
	// was in which container.
	e.env = []string{"SPT_NOENV=1", "MXFLOW_LAUNCH=" + launch.ID, e.in.mark}
	if e.port != 0 {
		e.env = append(e.env, "MXFLOW_PORT="+strconv.Itoa(e.port))
	}
	options, err := e.options(e.spec.Command)
	if err != nil {
		return err
	}
	if err := e.openLogs(launch, l.LogLimit); err != nil {
		return err
	}
	// The resident sets of all processes of the launch, or, if larger, the most that one of them
	// ever held: when the engine is ready and before it is stopped, as each look starts a shell in
	// the container, which must not disturb the measurement.
	e.lookAtMemory = func() {
		all, _ := e.in.family(context.Background(), e.sessionNow(), "0")
		var sum int64
		for _, m := range all {
			sum += m.memory
			e.peak.Raise(m.peak)
		}
		e.peak.Raise(sum)
	}
	e.about = map[string]string{
		"container": e.in.Name, "container_id": e.in.ID, "docker": e.in.host,
		"image": e.in.Config.Image, "image_id": e.in.Image, "resolved_command": strings.Join(options.Cmd, " "),
	}
	options.AttachStdout, options.AttachStderr = true, true
	made, err := ask(ctx, e.daemon, callLimit, func(ctx context.Context) (container.ExecCreateResponse, error) {
		return e.ContainerExecCreate(ctx, e.in.ID, options)
	})
	if err != nil {
		return err
	}
	e.exec = made.ID
	err = e.follow(ctx, false, func(ctx context.Context) (*stream, error) {
		return hijacked(e.ContainerExecAttach(ctx, e.exec, container.ExecAttachOptions{}))
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for e.session == "" {
		found, err := e.in.family(ctx, "0", "0")
		if err != nil {
			if why := e.in.lostSoon(); why != "" {
				return errors.New(why)
			}
			return fmt.Errorf("cannot list the processes in container %s: %w", e.in.Name, err)
		}
		select {
		case <-e.shown: // it ended before it was seen, or never began
			e.session = "0"
			how, err := e.execEnd(ctx, e.exec)
			if err != nil || how.ExitCode != 126 && how.ExitCode != 127 {
				continue
			}
			refused := errors.New(strings.Join(logscan.Tail(e.LogPath(), 3), " "))
			err = e.lacking(ctx, refused, request{
				container: e.in.ID, command: options.Cmd, user: block.User, workdir: block.WorkDir,
			})
			if err != refused {
				return err
			}
		default:
			if len(found) > 0 {
				e.session = found[0].session
			}
		}
	}
	return nil
}

// options are those by which argv runs in the container as the engine's own command does:
// what it starts carries the launch's marks, so Stop ends it too.
func (e *execInstance) options(argv []string) (o container.ExecOptions, err error) {
	config := ""
	if e.folder != "" {
		config = e.folder + "/" + e.spec.ConfigName
	}
	expand := engine.Placeholders(e.port, config)
	env, err := e.spec.Environ(expand)
	if err != nil {
		return o, err
	}
	o = container.ExecOptions{
		User: e.spec.Exec.User, WorkingDir: e.spec.Exec.WorkDir,
		Env: append(slices.Clone(e.env), env...),
	}
	for _, name := range e.spec.Unset { // which a daemon cannot do for a command
		if _, set := e.spec.Env[name]; !set {
			o.Cmd = append(o.Cmd, "-u", name)
		}
	}
	if len(o.Cmd) > 0 {
		o.Cmd = slices.Insert(o.Cmd, 0, "env")
	}
	args, err := expanded(argv, expand)
	o.Cmd = append(o.Cmd, args...)
	return o, err
}

// running inspects a container that must be running.
func (d *daemon) running(ctx context.Context, name string) (container.InspectResponse, error) {
	of, err := d.inspect(ctx, name)
	switch {
	case isMissing(err):
		var names []string
		all, _ := d.containers(ctx)
		for _, c := range all {
			if c.State == container.StateRunning && len(names) < 10 {
				names = append(names, strings.TrimPrefix(c.Names[0], "/"))
			}
		}
		return of, fmt.Errorf("there is no container %q on %s; running: %s", name, d.host, strings.Join(names, ", "))
	case err != nil:
		return of, err
	case !of.State.Running:
		return of,
			fmt.Errorf("container %q is not running (%s): start it with docker start %s", name, of.State.Status, name)
	case of.State.Paused:
		return of, fmt.Errorf("container %q is paused: resume it with docker unpause %s", name, name)
	}
	return of, nil
}

// enter checks a container: that it runs, and has what is needed.
func enter(ctx context.Context, name, mark string) (in inside, err error) {
	if in.daemon, err = connect(ctx); err != nil {
		return in, err
	}
	if in.InspectResponse, err = in.running(ctx, name); err != nil {
		return in, err
	}
	in.mark = mark
	const tools = "command -v grep >/dev/null || { echo there is no grep; exit 1; }"
	in.as = container.ExecOptions{User: "0", Privileged: true}
	if _, err = in.run(ctx, nil, tools); err != nil {
		// A daemon with user namespaces, or configured that way, grants no privileges.
		in.as = container.ExecOptions{}
		_, err = in.run(ctx, nil, tools)
	}
	if err != nil {
		err = fmt.Errorf("cannot run commands in container %q, which must have sh and grep: use an image that has "+
			"them, or a docker block, which needs none: %w", in.Name, err)
	}
	return in, err
}

// run runs a script with arguments and returns what it prints.
func (in inside) run(ctx context.Context, stdin io.Reader, script string, args ...string) (string, error) {
	options := in.as
	options.Cmd = append([]string{"sh", "-c", script, "mxflow"}, args...)
	return in.execute(ctx, callLimit, in.ID, options, stdin)
}

// lost is why the container no longer runs, or has been restarted; empty while it is the
// one that was entered, as far as known.
func (in inside) lost() string {
	of, err := in.inspect(context.Background(), in.ID)
	switch {
	case isMissing(err), of.State.Status == "removing", of.State.Status == "dead":
		return fmt.Sprintf("the container %s in which it ran was removed", in.Name)
	case err != nil:
		return ""
	case !of.State.Running:
		return fmt.Sprintf("the container %s in which it ran was stopped (%s)", in.Name, of.State.Status)
	case of.State.StartedAt != in.State.StartedAt:
		return fmt.Sprintf("the container %s in which it ran was restarted", in.Name)
	}
	return ""
}

// lostSoon is lost of a container in which something ended by force or cannot be run: its
// own end is seen a moment later.
func (in inside) lostSoon() (why string) {
	for again := range 5 {
		if why = in.lost(); why != "" || again == 4 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return why
}

// scriptFamily lists the processes of a launch, with their sessions, the pages that they
// hold and the most that they ever held, in KiB: those with the mark $1 and those of
// session $2, except zombies, which a container without a real init keeps
// forever. It writes an x before a session whose leader has ended, because that PID may
// belong to another process by now; 0 is no session. It sends the signal $3 to each process
// after listing it, and SIGCONT, because a stopped process receives nothing. 0 sends no
// signal. Processes in $4 get none.
const scriptFamily = `mark=$1 session=$2 signal=$3 but=$4
case $session in
x*) session=${session#x}; [ ! -d "/proc/$session" ] || session=0 ;;
esac
{
	grep -lsz -F -e "$mark" /proc/[0-9]*/environ
	[ "$session" = 0 ] || grep -lsE "^[0-9]+ \(.*\) [^ZX] [0-9]+ [0-9]+ $session " /proc/[0-9]*/stat
} | while IFS=/ read -r none proc pid file; do
	case "$seen " in *" $pid "*) continue ;; esac
	seen="$seen $pid"
	stat=$(cat "/proc/$pid/stat" 2>/dev/null) || continue
	set -- ${stat##*) }
	echo "$pid $4 ${22}" $(grep -s ^VmHWM "/proc/$pid/status" | tr -dc 0-9)
	case "$signal $but " in "0 "*|*" $pid "*) continue ;; esac
	kill "-$signal" "$pid" 2>/dev/null; kill -CONT "$pid" 2>/dev/null
done
exit 0`

// member is a process of a launch in its container.
type member struct {
	pid, session string
	// memory is what it holds, or the most that it ever held.
	memory, peak int64
}

// family sends each process of the launch a signal, except some, and lists all.
func (in inside) family(ctx context.Context, session, signal string, but ...member) (all []member, err error) {
	out, err := in.run(ctx, nil, scriptFamily, in.mark, session, signal, strings.Join(pidsOf(but), " "))
	for line := range strings.Lines(out) {
		var m member
		var kib int64
		if n, _ := fmt.Sscan(line, &m.pid, &m.session, &m.memory, &kib); n >= 3 {
			m.memory, m.peak = m.memory*int64(os.Getpagesize()), kib<<10
			all = append(all, m)
		}
	}
	return all, err
}

func pidsOf(all []member) (pids []string) {
	for _, m := range all {
		pids = append(pids, m.pid)
	}
	return pids
}

// choosePort chooses the port and how to reach it: a port that the plan names, else one
// that the container publishes, else any free one of its address.
func (e *execInstance) choosePort(ctx context.Context, port int) error {
	if len(e.kind.Ready) == 0 && port == 0 {
		return nil // not a server
	}
	home := e.in.InspectResponse
	if mode := home.HostConfig.NetworkMode; mode.IsContainer() {
		var err error
		if home, err = e.running(ctx, mode.ConnectedContainer()); err != nil {
			return fmt.Errorf("container %q shares the network of another: %w", e.in.Name, err)
		}
	}
	if port == 0 && published(home, e.kind.Port) != "" {
		port = e.kind.Port
	}
	for at := range sorted.All(home.NetworkSettings.Ports) { // any published one
		if number := at.Int(); port == 0 && published(home, number) != "" {
			port = number
		}
	}
	if port == 0 {
		port = 18000 + randv2.IntN(14000)
	}
	e.port, e.shared = port, home.HostConfig.NetworkMode.IsHost()
	// Field 2 of the table is the local address in hexadecimal, and 4 the state: 0A listens.
	const listens = `grep -hE "^ *[0-9]+: [0-9A-F]+:$1 [0-9A-F:]+ 0A " /proc/net/tcp /proc/net/tcp6; exit 0`
	taken, err := e.in.run(ctx, nil, listens, fmt.Sprintf("%04X", port))
	switch {
	case err != nil:
		return fmt.Errorf("cannot list the listening ports of container %q: %w", e.in.Name, err)
	case taken != "":
		return fmt.Errorf("port %d in container %q is in use (docker exec %s ps shows by what): stop that, or set "+
			"another port in the exec block", port, e.in.Name, e.in.Name)
	}
	if e.reach = published(home, port); e.reach != "" {
		return nil
	}
	if e.shared {
		e.reach = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		return nil
	}
	for _, n := range sorted.All(home.NetworkSettings.Networks) {
		if n.IPAddress != "" {
			e.reach = net.JoinHostPort(n.IPAddress, strconv.Itoa(port))
			return nil
		}
	}
	return fmt.Errorf("container %q has no address on any network: publish port %d (docker run -p 127.0.0.1:%d:%d)",
		e.in.Name, port, port, port)
}

// copyConfig copies the configuration file into a folder for this launch, in the
// container's /tmp.
func (e *execInstance) copyConfig(ctx context.Context) error {
	name := e.spec.ConfigName
	if len(e.spec.Config) == 0 {
		return nil
	}
	if name == "" || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q is not a valid file name", name)
	}
	e.folder = "/tmp/mxflow-" + strings.ToLower(rand.Text())
	const write = `mkdir -p "$1" && cat >"$1/$2" && chmod a+rX "$1" "$1/$2"`
	_, err := e.in.run(ctx, bytes.NewReader(e.spec.Config), write, e.folder, name)
	if err != nil {
		return fmt.Errorf("cannot copy its configuration file into container %q: %w", e.in.Name, err)
	}
	return nil
}

// removeFolder removes the configuration file, as far as possible.
func (e *execInstance) removeFolder() {
	if e.folder != "" {
		_, _ = e.in.run(context.Background(), nil, `rm -rf "$1"`, e.folder)
	}
}

func (e *execInstance) await() {
	defer func() { e.End(e.how.exit) }()
	<-e.shown
	ended, lost := e.execEnd(context.Background(), e.exec)
	code := ended.ExitCode
	e.how.exit = exitOf(code)
	look := e.in.lost
	if code == 137 && !e.killed.Load() {
		look = e.in.lostSoon
	}
	if e.how.why = look(); e.how.why != "" {
		e.how.exit = engine.Exit{Code: -1, Signal: "SIGKILL"}
		return
	}
	// Where the command outlived its docker exec, the daemon or the connection broke.
	left, err := e.in.family(context.Background(), "0", "0")
	runs := ended.Running || slices.ContainsFunc(left, func(m member) bool { return m.pid == e.session })
	if err = errors.Join(lost, err); err != nil && e.in.lost() == "" || runs {
		e.how = wentAway(e.host, err)
	}
}

// Output implements engine.Instance: in the container, with the engine's environment,
// folder and user.
func (e *execInstance) Output(ctx context.Context, argv ...string) ([]byte, error) {
	options, err := e.options(argv)
	if err != nil {
		return nil, err
	}
	return e.outputOf(ctx, e.in.ID, options)
}

// Stop implements engine.Instance: it asks every process of the launch to end, once each,
// and kills the rest after the grace period. The container itself keeps running; one that
// has stopped has no processes.
func (e *execInstance) Stop(ctx context.Context) error {
	return e.stopper.Stop(ctx, func(hurry <-chan struct{}) error {
		grace := time.NewTimer(e.spec.StopGrace)
		defer grace.Stop()
		if e.Exit() == nil {
			e.lookAtMemory()
		}
		var asked []member
		for wait, patient := 20*time.Millisecond, true; patient; wait = min(2*wait, time.Second) {
			left, err := e.in.family(context.Background(), e.sessionNow(), "TERM", asked...)
			if err != nil || len(left) == 0 {
				break
			}
			asked = left
			select {
			case <-time.After(wait):
			case <-grace.C:
				patient = false
			case <-hurry:
				patient = false
			}
		}
		if _, err := e.killAll(); err != nil {
			return e.failure("stop", err, "%v", err)
		}
		select {
		case <-e.Exited(): // no process of the launch is left, so its output ends
		case <-time.After(killWait):
			e.unfollow()
			<-e.Exited()
		}
		e.removeFolder()
		e.closeLogs()
		return nil
	})
}

// killAll kills the launch's processes until none is left, and returns how many there were.
func (e *execInstance) killAll() (killed int, err error) {
	seen := map[string]bool{}
	end := time.Now().Add(killWait)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		left, err := e.in.family(context.Background(), e.sessionNow(), "KILL")
		for _, m := range left {
			seen[m.pid] = true
		}
		switch {
		case err == nil && len(left) == 0, err != nil && e.in.lost() != "":
			return len(seen), nil
		case time.Now().Before(end):
		case err != nil:
			return len(seen), fmt.Errorf("cannot list the processes in container %s: %w", e.in.Name, err)
		default:
			return len(seen), fmt.Errorf("in container %s still running %s after SIGKILL: %s", e.in.Name, killWait,
				strings.Join(pidsOf(left), ", "))
		}
		e.killed.Store(true)
		time.Sleep(wait)
	}
}

// sessionNow is the session in the form of scriptFamily.
func (e *execInstance) sessionNow() string {
	switch {
	case e.session == "" || e.session == "0":
		return "0"
	case e.killed.Load() || e.Exit() != nil:
		return "x" + e.session
	}
	return e.session
}
