package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
)

// outputLimit bounds what a command in a container may print.
const outputLimit = 64 << 20

// Output implements engine.Instance: it runs a command in the container, with
// the container's environment, and returns its standard output. A status other
// than 0 is an error with what the command wrote to its standard error.
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
		return nil, fmt.Errorf("%s cannot be run in the container: %w", name, err)
	}
	stream, err := d.ContainerExecAttach(ctx, created.ID, container.ExecAttachOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s cannot be run in the container: %w", name, err)
	}
	defer stream.Close()
	release := context.AfterFunc(ctx, stream.Close) // ends the copying below
	defer release()
	stdout, stderr := &limited{most: outputLimit}, &tailBuffer{}
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
		return nil, fmt.Errorf("how %s ended in the container is unknown: %w", name, err)
	case state.Running:
		return nil, fmt.Errorf("the output of %s in the container was cut off: it still runs", name)
	case state.ExitCode != 0:
		said := stderr.String()
		if said == "" { // the daemon reports a missing program in place of its output
			said = strings.Join(strings.Fields(stdout.buf.String()), " ")
		}
		return nil, fmt.Errorf("%s ended with %s in the container: %s", name, exitOf(state.ExitCode), said)
	}
	return stdout.buf.Bytes(), nil
}

var errTooMuch = errors.New("too much output")

// limited keeps what is written until it is too much.
type limited struct {
	buf  bytes.Buffer
	most int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.buf.Len()+len(p) > l.most {
		return 0, errTooMuch
	}
	return l.buf.Write(p)
}
