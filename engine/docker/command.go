package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/mxflow/mxflow/engine/run"
	"github.com/mxflow/mxflow/internal/foreign"
)

const (
	// cancelGrace is how long a command may take to cancel its work on the daemon.
	cancelGrace = 10 * time.Second
	// outputLimit limits what a command may print.
	outputLimit = 64 << 20
)

// exited is a command that ended with a nonzero status.
type exited struct {
	code int
	// says is the end of its standard error, on one line.
	says string
}

func (e *exited) Error() string {
	if e.says != "" {
		return e.says
	}
	return exitOf(e.code).String()
}

// printed keeps what a command prints, standard error as its end.
type printed struct {
	out  foreign.Head
	says foreign.Tail
}

func newPrinted() *printed {
	return &printed{out: foreign.Head{Limit: outputLimit}, says: foreign.Tail{Limit: 4 << 10}}
}

// result is what was printed on standard output, and an error for a nonzero status.
func (p *printed) result(code int) (string, error) {
	text, over := p.out.Bytes()
	switch {
	case over:
		return "", fmt.Errorf("it printed more than %d MiB", outputLimit>>20)
	case code == 0:
		return string(text), nil
	}
	said := p.says.String()
	if said == "" { // why a program in a container could not be run is printed there
		_, _ = p.says.Write(text)
		said = p.says.String()
	}
	return string(text), &exited{code: code, says: strings.Join(strings.Fields(said), " ")}
}

// command is a command of this machine to run to its end.
type command struct {
	argv []string
	// env is set, as NAME=value, on top of mxflow's environment without unset.
	env, unset []string
	dir        string
	stdin      io.Reader
	limit      time.Duration
}

// output runs the command and returns its standard output. It has a process group of its
// own: Ctrl-C is for mxflow only, and what the command starts ends with it.
func (c command) output(ctx context.Context) (string, error) {
	limited, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	cmd := exec.CommandContext(limited, c.argv[0], c.argv[1:]...)
	cmd.Env = append(run.Inherited(c.unset), c.env...)
	cmd.Dir, cmd.WaitDelay = c.dir, cancelGrace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	p := newPrinted()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, &p.out, &p.says
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what its plugins left
	}
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("the %s command is not in PATH: install it (Debian: apt install docker.io)", c.argv[0])
	case limited.Err() != nil:
		return "", fmt.Errorf("%s %s did not end within %s%w", c.argv[0], c.argv[1], c.limit, quiet{ErrUnreachable})
	case ended:
		return p.result(exit.ExitCode())
	case err != nil:
		return "", err
	}
	return p.result(0)
}

// commandEnv is how docker's commands find a daemon that they would not look for.
func commandEnv() []string {
	if at, err := findEndpoint(); err == nil && at.found {
		return []string{"DOCKER_HOST=" + at.host}
	}
	return nil
}
