// Package docker launches engines in containers, as services of compose files, and as
// commands in running containers. It drives the docker command, which knows contexts,
// logins and pull policies, and works with any daemon that has one, such as podman's.
// Everything it starts has labels or marks, by which the sweeps find what a killed mxflow
// left behind. It knows neither plans nor an engine's answers once it is ready.
package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mxflow/mxflow/internal/foreign"
)

const (
	// callLimit bounds one docker command: a hanging daemon must not hang mxflow.
	callLimit = 30 * time.Second
	// pullLimit bounds a command that may pull or build images.
	pullLimit = 2 * time.Hour
	// startLimit bounds the start of a container, which may wait for its GPUs.
	startLimit = 10 * time.Minute
	// killWait is how long something may take to end after SIGKILL.
	killWait = 30 * time.Second
	// cancelGrace is how long a docker command may take to cancel its work on the daemon.
	cancelGrace = 10 * time.Second
	// outputLimit limits what a command may print.
	outputLimit = 64 << 20
)

// ErrUnreachable is wrapped by every error that means no daemon answers.
var ErrUnreachable = errors.New("cannot reach the docker daemon")

// Error is a docker command that ended with a nonzero status.
type Error struct {
	// Says is the end of its standard error, on one line.
	Says string
	Code int
}

func (e *Error) Error() string { return cmp.Or(e.Says, exitOf(e.Code).String()) }

// command is a docker command to run to its end.
type command struct {
	argv []string
	// env is set, as NAME=value, on top of mxflow's environment without unset.
	env, unset []string
	dir        string
	stdin      io.Reader
	limit      time.Duration
}

// call runs a docker command and returns what it prints, without space around it.
func call(ctx context.Context, args ...string) (string, error) {
	out, err := command{argv: append([]string{"docker"}, args...)}.output(ctx)
	return strings.TrimSpace(out), err
}

// output runs the command and returns its standard output.
func (c command) output(ctx context.Context) (string, error) {
	limit := cmp.Or(c.limit, callLimit)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := c.prepare(limited)
	const saidLimit = 4 << 10
	out, says := &foreign.Head{Limit: outputLimit}, &foreign.Tail{Limit: saidLimit}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, out, says
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what its plugins left
	}
	text, over := out.Bytes()
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("the %s command is not in PATH: install it (Debian: apt install docker.io)", c.argv[0])
	case limited.Err() != nil:
		return "", fmt.Errorf("%s %s did not end within %s%w", c.argv[0], c.argv[1], limit, quiet{ErrUnreachable})
	case over:
		return "", fmt.Errorf("it printed more than %d MiB", outputLimit>>20)
	case ended:
		said := says.String()
		if said == "" { // docker exec prints there why it could not run a program
			_, _ = says.Write(text)
			said = says.String()
		}
		said = strings.TrimPrefix(strings.Join(strings.Fields(said), " "), "Error response from daemon: ")
		return string(text), unreachable(&Error{Says: said, Code: exit.ExitCode()})
	case err != nil:
		return "", err
	}
	return string(text), nil
}

// signingKey is the variable that may hold the key that signs the record, which no engine
// needs.
const signingKey = "MXFLOW_SIGNING_KEY"

// prepare is the process, in a group of its own: Ctrl-C is for mxflow only, and what the
// command starts ends with it.
func (c command) prepare(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == signingKey || slices.Contains(c.unset, name)
	}), c.env...)
	cmd.Dir, cmd.WaitDelay = c.dir, cancelGrace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	return cmd
}

// quiet is a cause for errors.Is that adds nothing to the text.
type quiet struct{ error }

func (quiet) Error() string   { return "" }
func (q quiet) Unwrap() error { return q.error }

// missing matches what docker says of something that does not exist.
var missing = regexp.MustCompile(`(?i)no such (object|container|image|network)|image not known|no container with`)

// isMissing reports whether a docker command failed for lack of what it was asked about.
func isMissing(err error) bool {
	failed, ok := errors.AsType[*Error](err)
	return ok && missing.MatchString(failed.Says)
}

// remedies maps messages of docker to a cause and a remedy; $1 is the group of a message.
// The first match counts.
type remedies []struct {
	says *regexp.Regexp
	hint string
}

// newRemedies has expressions and hints in turn.
func newRemedies(pairs ...string) remedies {
	all := make(remedies, len(pairs)/2)
	for i := range all {
		all[i].says, all[i].hint = regexp.MustCompile(pairs[2*i]), pairs[2*i+1]
	}
	return all
}

// find is the hint for a text; empty if there is none.
func (all remedies) find(text string) string {
	for _, r := range all {
		if at := r.says.FindStringSubmatchIndex(text); at != nil {
			return string(r.says.ExpandString(nil, r.hint, text, at))
		}
	}
	return ""
}

// deaf are the docker command's messages if no daemon answers it.
var deaf = newRemedies(
	`permission denied while trying to connect|connect: permission denied`,
	"permission denied on its socket: join the group that owns it (sudo usermod -aG docker $$USER, then log in "+
		"again), or use a rootless daemon",
	`Cannot connect to the Docker daemon|Is the docker daemon running|unable to connect to Podman`,
	"no daemon listens there: start it (sudo systemctl start docker), or name another one in DOCKER_HOST",
	`(error during connect.*)`,
	"$1; if it requires TLS, set DOCKER_TLS_VERIFY and DOCKER_CERT_PATH",
)

// unreachable explains an error if it means that no daemon answers.
func unreachable(err *Error) error {
	hint := deaf.find(err.Says)
	if hint == "" {
		return err
	}
	host, _ := address()
	return fmt.Errorf("cannot use docker daemon %s: %s%w", host, hint, quiet{errors.Join(ErrUnreachable, err)})
}

// stored is the address of the docker command's own context.
var stored struct {
	sync.Once
	host string
}

// address is where the docker command finds its daemon. It must be on this machine, as
// mxflow watches the engine's port, files and memory here.
func address() (string, error) {
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		stored.Do(func() {
			out, _ := exec.Command("docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}").Output()
			stored.host = strings.TrimSpace(string(out))
		})
		host = cmp.Or(stored.host, "unix:///var/run/docker.sock") // podman's command has no contexts
	}
	at, err := url.Parse(host)
	near := []string{"", "localhost", "127.0.0.1", "::1"}
	schemes := []string{"unix", "npipe", "tcp"}
	if err != nil || !slices.Contains(schemes, at.Scheme) || !slices.Contains(near, at.Hostname()) {
		return host, fmt.Errorf("the docker daemon %s is not on this machine: name one that is in DOCKER_HOST, "+
			"or run mxflow on that machine (executor \"ssh\" launches engines there, as processes)", host)
	}
	return host, nil
}

// Connect returns the address of the daemon, if one answers there.
func Connect(ctx context.Context) (host string, err error) {
	if host, err = address(); err != nil {
		return host, err
	}
	_, err = call(ctx, "version", "--format", "{{.Server.Version}}")
	return host, err
}
