package docker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// scriptTools fails where something is missing, and lists the sockets that are
// listened on.
const scriptTools = `command -v grep >/dev/null || { echo no-grep >&2; exit 1; }
cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; exit 0`

// scriptFamily goes over the processes of a launch: those that carry the mark $1
// and those of session $2, but no zombies, which an init that is no init leaves
// for good. An x before the session says that its leader has ended: while there
// is a process of that number, another one has got it. 0 is no session. $3 is
// "memory", or a signal that each is sent, after it was listed, and then SIGCONT,
// since a stopped process hears nothing. With "prefix" as $4 the mark is the
// beginning of one; those in $5 are listed and sent nothing.
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

// scriptStart becomes the command: $1 is the mark for those who list what runs in
// a container, $2 the folder, $3 how many names to unset follow. Its first line
// says that it came so far, and its process ID, which exec keeps.
const scriptStart = `shift
[ -z "$1" ] || cd "$1" 2>/dev/null || { echo "mxflow: no folder"; exit 126; }
shift; n=$1; shift
while [ "$n" -gt 0 ]; do unset "$1"; shift; n=$((n-1)); done
command -v "$1" >/dev/null 2>&1 || { echo "mxflow: no program"; exit 127; }
echo "mxflow: $$"
exec "$@"`

// execName is $0 of scriptStart, by which the sweep knows what mxflow started.
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

// greeting is the writer of a command's standard output: it takes off the first
// line and hands on what follows.
type greeting struct {
	line chan string // gets the first line, or what there was of it at the end
	text []byte
	done bool
	rest io.Writer
}

// greetingLimit is how long the first line of a start may be.
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

// close gives what there is of a first line. It may be called again.
func (g *greeting) close() {
	if !g.done {
		g.done = true
		g.line <- strings.Join(strings.Fields(string(g.text)), " ")
	}
}

// sessionOf reads the first line of scriptStart.
func sessionOf(line, program, folder, where string) (string, error) {
	said, ok := strings.CutPrefix(line, "mxflow: ")
	switch {
	case !ok:
		return "", fmt.Errorf("the command cannot be started in container %q: %s", where, line)
	case said == "no folder":
		return "", fmt.Errorf("container %q has no folder %q that can be entered: correct workdir, or create it", where, folder)
	case said == "no program":
		return "", fmt.Errorf("container %q has no program %q: install it there, give its full path, or set PATH in the engine's env", where, program)
	}
	if pid, err := strconv.Atoi(said); err != nil || pid <= 1 {
		return "", fmt.Errorf("the command was started in container %q and gave no process ID but %q", where, said)
	}
	return said, nil
}

// family sends each process of the launch a signal, but for some, and lists all.
func (s *shell) family(ctx context.Context, session, signal string, but ...string) ([]string, error) {
	out, err := s.run(ctx, scriptFamily, envExec+"="+s.mark.String(), session, signal, "", strings.Join(but, " "))
	return strings.Fields(out), err
}

// memory is what the processes of the launch hold now, or the most that one of
// them ever held where that is more; bytes.
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
