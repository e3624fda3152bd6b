package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/go-connections/nat"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	process "github.com/mxflow/mxflow/engine/run"
)

// execMark identifies the processes of one launch in a container, in a dedicated
// environment variable: a container may be shared by several machines whose mxflow have
// state directories of the same path, and so the same owner.
type execMark struct{ host, owner, launch string }

const envExec = "MXFLOW_EXEC"

func markOf(l engine.Launch) execMark { return execMark{thisHost(), l.Owner, l.ID} }

// String is the value of the variable. Its parts contain no slashes.
func (m execMark) String() string {
	clean := strings.NewReplacer("/", "-", "\n", "-", "\x00", "-").Replace
	return clean(m.host) + "/" + clean(m.owner) + "/" + clean(m.launch)
}

// env are the variables that the launch's processes get. The owner's own is left out:
// engine.Sweep uses it to end processes of this machine, before SweepExec could report
// what was in which container.
func (m execMark) env() []string {
	return []string{"MXFLOW_LAUNCH=" + m.launch, envExec + "=" + m.String()}
}

// shell runs small scripts in one container.
type shell struct {
	d    *Daemon
	id   string
	name string
	info container.InspectResponse
	mark execMark
	// privileged scripts see the processes of every user. Otherwise they run as user, and
	// see only that user's.
	privileged bool
	user       string
}

// running inspects a container that must be running.
func (d *Daemon) running(ctx context.Context, name string) (container.InspectResponse, error) {
	info, err := d.ContainerInspect(ctx, name)
	switch {
	case cerrdefs.IsNotFound(err):
		return info, fmt.Errorf("there is no container %q on %s: %s", name, d.Name, d.others(ctx))
	case err != nil:
		return info, fmt.Errorf("container %q: %w", name, err)
	case info.State == nil || !info.State.Running:
		return info, fmt.Errorf("container %q is not running (%s): start it with docker start %s", name, status(info), name)
	case info.State.Paused:
		return info, fmt.Errorf("container %q is paused: resume it with docker unpause %s", name, name)
	}
	return info, nil
}

func status(info container.InspectResponse) string {
	if info.State == nil {
		return "unknown state"
	}
	if info.State.Status == container.StateExited {
		return "it ended: " + exitOf(info.State.ExitCode).String()
	}
	return string(info.State.Status)
}

// others lists the existing containers.
func (d *Daemon) others(ctx context.Context) string {
	list, err := d.ContainerList(ctx, container.ListOptions{})
	if err != nil || len(list) == 0 {
		return "none is running there"
	}
	var names []string
	for _, c := range list {
		if len(c.Names) > 0 {
			names = append(names, strings.TrimPrefix(c.Names[0], "/"))
		}
	}
	slices.Sort(names)
	const most = 10
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return "running: " + strings.Join(names, ", ")
}

// enter checks a container: that it runs, and has what is needed.
func enter(ctx context.Context, d *Daemon, name string, mark execMark) (*shell, error) {
	info, err := d.running(ctx, name)
	if err != nil {
		return nil, err
	}
	s := &shell{d: d, id: info.ID, name: strings.TrimPrefix(info.Name, "/"), info: info, mark: mark, privileged: true}
	_, err = s.run(ctx, scriptTools)
	if err != nil && !errors.Is(err, errNoProgram) && !lacksGrep(err) {
		// A daemon with user namespaces, or configured that way, grants commands no
		// privileges.
		s.privileged = false
		_, err = s.run(ctx, scriptTools)
	}
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, errNoProgram):
		return nil, fmt.Errorf("container %q has no sh, which mxflow needs to start and stop commands in it: "+
			"use an image with a shell, or a docker block, which needs none", s.name)
	case lacksGrep(err):
		return nil, fmt.Errorf("container %q has no grep, which mxflow needs to find the engine's processes: install it in the image", s.name)
	}
	return nil, fmt.Errorf("cannot run commands in container %q: %w", s.name, err)
}

// lacksGrep reports that scriptTools found no grep.
func lacksGrep(err error) bool {
	var ended *execError
	return errors.As(err, &ended) && ended.code == statusNoGrep
}

// run runs a script with arguments and returns what it prints.
func (s *shell) run(ctx context.Context, script string, args ...string) (string, error) {
	options := container.ExecOptions{Cmd: append([]string{"sh", "-c", script, "mxflow"}, args...), User: s.user}
	if s.privileged {
		options.User, options.Privileged = "0", true
	}
	out, err := s.d.exec(ctx, s.id, options)
	return string(out), err
}

// lost is why the container no longer runs, or has been restarted; empty while it is the
// one that was entered, as far as known.
func (s *shell) lost() string {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	info, err := s.d.ContainerInspect(ctx, s.id)
	switch {
	case err == nil && info.State == nil, err != nil && !cerrdefs.IsNotFound(err):
		return ""
	case err != nil, info.State.Status == container.StateRemoving, info.State.Status == container.StateDead:
		return fmt.Sprintf("the container %s in which it ran was removed", s.name)
	case !info.State.Running:
		return fmt.Sprintf("the container %s in which it ran was stopped (%s)", s.name, status(info))
	case s.info.State != nil && info.State.StartedAt != s.info.State.StartedAt:
		return fmt.Sprintf("the container %s in which it ran was restarted", s.name)
	}
	return ""
}

var errUnset = errors.New("in a container, only names of letters, digits and underscores can be unset")

// scriptTools fails if a tool is missing, and lists the listening sockets.
const scriptTools = `command -v grep >/dev/null || exit 78
cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; exit 0`

// statusNoGrep is scriptTools' status without grep.
const statusNoGrep = 78

// scriptFamily iterates over the processes of a launch: those with the mark $1 and those
// of session $2, except zombies, which a container without a real init keeps forever. An
// x before the session means that its leader has ended: a process with that PID is
// another one then. 0 is not a session. $3 is "memory", or a signal that each is sent
// after it was listed, followed by SIGCONT, as a stopped process receives nothing. With
// "prefix" as $4 the mark is a prefix; those in $5 are listed and sent nothing.
const scriptFamily = `mark=$1 session=$2 what=$3 whole=-x
[ "$4" != prefix ] || whole=
case $session in
x*) session=${session#x}; [ ! -d "/proc/$session" ] || session=0 ;;
esac
{
	grep -lsz $whole -F -e "$mark" /proc/[0-9]*/environ
	[ "$session" = 0 ] || grep -lsE "^[0-9]+ \(.*\) [^ZX] [0-9]+ [0-9]+ $session " /proc/[0-9]*/stat
} | while IFS=/ read -r none proc pid file; do
	case "$seen " in *" $pid "*) continue ;; esac
	seen="$seen $pid"
	case $what in
	memory) grep -sE '^Vm(HWM|RSS)' "/proc/$pid/status" ;;
	*)
		echo "$pid"
		case " $5 " in *" $pid "*) continue ;; esac
		kill "-$what" "$pid" 2>/dev/null; kill -CONT "$pid" 2>/dev/null ;;
	esac
done
exit 0`

// scriptStart becomes the command: $1 is the mark for people who list the container's
// processes, $2 the folder, $3 how many names to unset follow. Its first line confirms
// the start, with its process ID, which exec keeps.
const scriptStart = `shift
[ -z "$1" ] || cd "$1" 2>/dev/null || { echo "mxflow: no folder"; exit 126; }
shift; n=$1; shift
while [ "$n" -gt 0 ]; do unset "$1"; shift; n=$((n-1)); done
command -v "$1" >/dev/null 2>&1 || { echo "mxflow: no program"; exit 127; }
echo "mxflow: $$"
exec "$@"`

// execName is $0 of scriptStart, by which the sweep recognizes what mxflow started.
const execName = "mxflow-exec"

var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// wrapped is the command that starts argv.
func wrapped(mark execMark, folder string, unset, argv []string) ([]string, error) {
	cmd := []string{"sh", "-c", scriptStart, execName, mark.String(), folder, strconv.Itoa(len(unset))}
	for _, name := range unset {
		if !shellName.MatchString(name) {
			return nil, fmt.Errorf("%q: %w", name, errUnset)
		}
	}
	return append(append(cmd, unset...), argv...), nil
}

// greeting is the writer for a command's standard output: it removes the first line and
// passes on the rest.
type greeting struct {
	line chan string // receives the first line, or whatever there was of it at the end
	text []byte
	done bool
	rest io.Writer
}

// greetingLimit is the maximum length of a start's first line.
const greetingLimit = 4 << 10

func newGreeting(rest io.Writer) *greeting { return &greeting{line: make(chan string, 1), rest: rest} }

func (g *greeting) Write(p []byte) (int, error) {
	if g.done {
		return g.rest.Write(p)
	}
	g.text = append(g.text, p...)
	end := bytes.IndexByte(g.text, '\n')
	if end < 0 && len(g.text) < greetingLimit {
		return len(p), nil
	}
	if end < 0 {
		end = len(g.text) - 1
	}
	rest := g.text[end+1:]
	g.text = g.text[:end]
	g.close()
	_, err := g.rest.Write(rest)
	return len(p), err
}

// close delivers what there is of a first line. It may be called again.
func (g *greeting) close() {
	if !g.done {
		g.done = true
		g.line <- strings.Join(strings.Fields(string(g.text)), " ")
	}
}

// sessionOf parses the first line of scriptStart.
func sessionOf(line, program, folder, where string) (string, error) {
	said, ok := strings.CutPrefix(line, "mxflow: ")
	switch {
	case !ok:
		return "", fmt.Errorf("cannot start the command in container %q: %s", where, line)
	case said == "no folder":
		return "", fmt.Errorf("container %q has no accessible folder %q: correct workdir, or create it", where, folder)
	case said == "no program":
		return "", fmt.Errorf("container %q has no program %q: install it there, give its full path, or set PATH in the engine's env", where, program)
	}
	if pid, err := strconv.Atoi(said); err != nil || pid <= 1 {
		return "", fmt.Errorf("the command was started in container %q, but printed %q instead of a process ID", where, said)
	}
	return said, nil
}

// family sends each process of the launch a signal, except some, and lists all.
func (s *shell) family(ctx context.Context, session, signal string, but ...string) ([]string, error) {
	out, err := s.run(ctx, scriptFamily, envExec+"="+s.mark.String(), session, signal, "", strings.Join(but, " "))
	return strings.Fields(out), err
}

// memory is what the launch's processes hold now or, if larger, the maximum that one of
// them ever held; bytes.
func (s *shell) memory(ctx context.Context, session string) int64 {
	out, err := s.run(ctx, scriptFamily, envExec+"="+s.mark.String(), session, "memory")
	if err != nil {
		return 0
	}
	var sum, most int64
	for line := range strings.Lines(out) {
		var name string
		var kib int64
		if n, _ := fmt.Sscanf(line, "%s %d", &name, &kib); n == 2 && name == "VmRSS:" {
			sum += kib << 10
		} else if n == 2 {
			most = max(most, kib<<10)
		}
	}
	return max(sum, most)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// listening are the TCP ports with listeners in the container's network, with their
// addresses.
func (s *shell) listening(ctx context.Context) (map[int][]netip.Addr, error) {
	text, err := s.run(ctx, scriptTools)
	out := map[int][]netip.Addr{}
	for _, l := range process.ParseListening(text) {
		out[int(l.At.Port())] = append(out[int(l.At.Port())], l.At.Addr())
	}
	return out, err
}

// deaf explains why a running engine cannot be reached: it listens where nothing outside
// the container connects. Empty if that is not so.
func (s *shell) deaf(ctx context.Context, p *ports) string {
	if p.inside == 0 || p.shared {
		return ""
	}
	busy, err := s.listening(ctx)
	if err != nil {
		return ""
	}
	at := busy[p.inside]
	for _, ip := range at {
		if !ip.IsLoopback() {
			return ""
		}
	}
	if len(at) > 0 {
		return fmt.Sprintf("it only listens on %s:%d inside the container, which cannot be reached from outside: make it listen on 0.0.0.0 (--host 0.0.0.0)", at[0], p.inside)
	}
	var others []string
	for _, port := range slices.Sorted(maps.Keys(busy)) {
		others = append(others, strconv.Itoa(port))
	}
	if len(others) == 0 {
		return fmt.Sprintf("nothing listens on port %d in the container", p.inside)
	}
	return fmt.Sprintf("nothing listens on port %d in the container, only on %s: pass {port} to the command, or set port in the exec block",
		p.inside, strings.Join(others, ", "))
}

// execPorts are the containers' ports held by launches, as "id:port": an engine that
// still loads does not listen yet.
var execPorts = struct {
	sync.Mutex
	taken map[string]bool
}{taken: map[string]bool{}}

func holdPort(id string, port int) (release func(), ok bool) {
	execPorts.Lock()
	defer execPorts.Unlock()
	key := id + ":" + strconv.Itoa(port)
	if execPorts.taken[key] {
		return nil, false
	}
	execPorts.taken[key] = true
	return func() {
		execPorts.Lock()
		defer execPorts.Unlock()
		delete(execPorts.taken, key)
	}, true
}

// reach chooses the port and how to reach it: a port that the plan names, else one that
// the container publishes, else any free one if the container's network is reachable from
// here.
func (s *shell) reach(ctx context.Context, port int, kind kinds.Kind) (*ports, error) {
	none := &ports{}
	if len(kind.Ready) == 0 && port == 0 {
		return none, nil // not a server
	}
	home, err := s.network(ctx)
	if err != nil {
		return none, err
	}
	busy, err := s.listening(ctx)
	if err != nil {
		return none, fmt.Errorf("cannot list the listening ports of container %q: %w", s.name, err)
	}
	var candidates []int
	switch published := publishedPorts(home); {
	case port != 0:
		candidates = []int{port}
	case slices.Contains(published, kind.Port):
		candidates = []int{kind.Port}
	case len(published) > 0:
		candidates = published
	default:
		for range 50 {
			candidates = append(candidates, 18000+rand.IntN(14000))
		}
	}
	taken := ""
	for _, p := range candidates {
		if at := busy[p]; len(at) > 0 {
			taken = fmt.Sprintf("port %d in container %q is in use (docker exec %s ps shows by what): stop that, or set another port in the exec block",
				p, s.name, s.name)
			continue
		}
		way := &ports{inside: p, shared: networkMode(home) == "host"}
		if way.reach, err = s.way(ctx, home, p); err != nil {
			return none, err
		}
		var ok bool
		if way.give, ok = holdPort(home.ID, p); !ok {
			taken = fmt.Sprintf("port %d of container %q is used by another launch: launch one engine at a time there, or set another port in the exec block", p, s.name)
			continue
		}
		return way, nil
	}
	return none, errors.New(taken)
}

// network is the container whose network this one uses, usually itself.
func (s *shell) network(ctx context.Context) (container.InspectResponse, error) {
	home := s.info
	for range 5 {
		other, shared := strings.CutPrefix(networkMode(home), "container:")
		if !shared {
			break
		}
		var err error
		if home, err = s.d.running(ctx, other); err != nil {
			return home, fmt.Errorf("container %q shares the network of another: %w", s.name, err)
		}
	}
	return home, nil
}

func networkMode(info container.InspectResponse) string {
	if info.ContainerJSONBase == nil || info.HostConfig == nil {
		return ""
	}
	return string(info.HostConfig.NetworkMode)
}

// way is the address of a port in a container, as seen from here.
func (s *shell) way(ctx context.Context, home container.InspectResponse, port int) (string, error) {
	at := func(host string, port any) string { return net.JoinHostPort(host, fmt.Sprint(port)) }
	machine, err := s.d.publishAt(ctx)
	if err != nil {
		return "", err
	}
	ip, _ := netip.ParseAddr(machine)
	near := ip.IsLoopback() // the daemon's addresses are usable
	if b, ok := binding(home, port); ok {
		bound, err := netip.ParseAddr(b.HostIP)
		switch {
		case err != nil || bound.IsUnspecified():
			return at(machine, b.HostPort), nil
		case near || !bound.IsLoopback():
			return at(b.HostIP, b.HostPort), nil
		}
		return "", fmt.Errorf("container %q publishes port %d only on the loopback address of %s, which cannot be reached from here: publish it on another address (docker run -p %d:%d)",
			s.name, port, s.d.Name, port, port)
	}
	switch mode := networkMode(home); {
	case mode == "host":
		return at(machine, port), nil
	case mode == "none":
		return "", fmt.Errorf("container %q has no network (--network none), so the engine cannot be reached: start it with one", s.name)
	case near:
		if own := networks(home); len(own) > 0 {
			return at(own[0], port), nil
		}
		return "", fmt.Errorf("container %q has no address on any network: publish port %d (docker run -p 127.0.0.1:%d:%d)", s.name, port, port, port)
	}
	return "", fmt.Errorf("port %d of container %q cannot be reached from here: the daemon %s is on another machine, and the container does not publish it: "+
		"start the container with -p %d:%d, or with --network host", port, s.name, s.d.Name, port, port)
}

// signal is family with its own time limit.
func (s *shell) signal(session, what string, but ...string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	return s.family(ctx, session, what, but...)
}

// killAll kills the launch's processes until none is left. A stopped container has none.
func (s *shell) killAll(session string, limit time.Duration) error {
	end := time.Now().Add(limit)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		left, err := s.signal(session, "KILL")
		if err == nil && len(left) == 0 {
			return nil
		}
		switch {
		case err != nil && s.lost() != "":
			return nil
		case time.Now().Before(end):
		case err != nil:
			return fmt.Errorf("cannot list the processes in container %s: %w", s.name, err)
		default:
			return errors.New("in container " + s.name + " still running: " + strings.Join(left, ", ") + ", " + limit.String() + " after SIGKILL")
		}
		if !strings.HasPrefix(session, "x") && session != "0" {
			session = "x" + session // its leader was killed
		}
		time.Sleep(wait)
	}
}

// networks are the container's addresses, by the names of its networks.
func networks(home container.InspectResponse) []string {
	var out []string
	if home.NetworkSettings == nil {
		return nil
	}
	for _, name := range sortedKeys(home.NetworkSettings.Networks) {
		if n := home.NetworkSettings.Networks[name]; n != nil && n.IPAddress != "" {
			out = append(out, n.IPAddress)
		}
	}
	return out
}

func binding(home container.InspectResponse, port int) (nat.PortBinding, bool) {
	if home.NetworkSettings == nil {
		return nat.PortBinding{}, false
	}
	for _, b := range home.NetworkSettings.Ports[nat.Port(strconv.Itoa(port)+"/tcp")] {
		if b.HostPort != "" {
			return b, true
		}
	}
	return nat.PortBinding{}, false
}

// publishedPorts are their numbers inside the container.
func publishedPorts(home container.InspectResponse) []int {
	var out []int
	if home.NetworkSettings != nil {
		for port, bindings := range home.NetworkSettings.Ports {
			if len(bindings) > 0 && port.Proto() == "tcp" {
				out = append(out, port.Int())
			}
		}
	}
	slices.Sort(out)
	return out
}
