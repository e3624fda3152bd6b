package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/docker/go-connections/nat"
)

// inspect is what the daemon says of a container; its name has no slash.
func (d *daemon) inspect(ctx context.Context, id string) (container.InspectResponse, error) {
	of, err := ask(ctx, d, callLimit, func(ctx context.Context) (container.InspectResponse, error) {
		return d.ContainerInspect(ctx, id)
	})
	if err == nil {
		of.Name = strings.TrimPrefix(of.Name, "/")
	}
	return of, err
}

// published is where the daemon publishes a port, empty if nowhere.
func published(of container.InspectResponse, port int) string {
	for _, b := range of.NetworkSettings.Ports[nat.Port(strconv.Itoa(port)+"/tcp")] {
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

// containers lists those with all of the labels, running or not.
func (d *daemon) containers(ctx context.Context, labels ...string) ([]container.Summary, error) {
	return ask(ctx, d, callLimit, func(ctx context.Context) ([]container.Summary, error) {
		return d.ContainerList(ctx, container.ListOptions{All: true, Filters: labelled(labels)})
	})
}

// networks lists those with all of the labels.
func (d *daemon) networks(ctx context.Context, labels ...string) ([]network.Summary, error) {
	return ask(ctx, d, callLimit, func(ctx context.Context) ([]network.Summary, error) {
		return d.NetworkList(ctx, network.ListOptions{Filters: labelled(labels)})
	})
}

func labelled(labels []string) filters.Args {
	args := filters.NewArgs()
	for _, label := range labels {
		args.Add("label", label)
	}
	return args
}

// remove removes containers with their nameless volumes, and returns when they are gone.
// Those that are already gone, or being removed by somebody else, are no error.
func (d *daemon) remove(ids ...string) error {
	for _, id := range ids {
		if id == "" {
			continue
		}
		err := d.do(context.Background(), callLimit, func(ctx context.Context) error {
			return d.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		})
		if errdefs.IsConflict(err) {
			err = d.wait(id, container.WaitConditionRemoved, killWait)
		}
		if err != nil && !isMissing(err) {
			return err
		}
	}
	return nil
}

// wait returns when a container has got so far.
func (d *daemon) wait(id string, until container.WaitCondition, limit time.Duration) error {
	return d.do(context.Background(), limit, func(ctx context.Context) error {
		is, failed := d.ContainerWait(ctx, id, until)
		select {
		case <-is:
			return nil
		case err := <-failed:
			return err
		}
	})
}

// removeNetwork removes a network, unless it is gone.
func (d *daemon) removeNetwork(ctx context.Context, id string) error {
	err := d.do(ctx, callLimit, func(ctx context.Context) error { return d.NetworkRemove(ctx, id) })
	if isMissing(err) {
		return nil
	}
	return err
}

// usage is the memory in use of a container as docker stats shows it: without files that
// the kernel can reclaim. 0 is unknown.
func (d *daemon) usage(ctx context.Context, id string) int64 {
	stats, err := ask(ctx, d, callLimit, func(ctx context.Context) (s container.StatsResponse, err error) {
		answer, err := d.ContainerStatsOneShot(ctx, id)
		if err == nil {
			defer answer.Body.Close()
			err = json.NewDecoder(answer.Body).Decode(&s)
		}
		return s, err
	})
	if err != nil {
		return 0
	}
	used, files := stats.MemoryStats.Usage, stats.MemoryStats.Stats["total_inactive_file"] // cgroup v1
	if files == 0 {
		files = stats.MemoryStats.Stats["inactive_file"]
	}
	return int64(used - min(used, files))
}

// execute runs a command in a container to its end and returns its standard output. A
// nonzero status is an error with its standard error.
func (d *daemon) execute(ctx context.Context, limit time.Duration, id string, options container.ExecOptions,
	stdin io.Reader,
) (string, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	options.AttachStdout, options.AttachStderr, options.AttachStdin = true, true, stdin != nil
	made, err := ask(limited, d, callLimit, func(ctx context.Context) (container.ExecCreateResponse, error) {
		return d.ContainerExecCreate(ctx, id, options)
	})
	if err != nil {
		return "", err
	}
	output, err := open(limited, d, callLimit, func(ctx context.Context) (*stream, error) {
		return hijacked(d.ContainerExecAttach(ctx, made.ID, container.ExecAttachOptions{}))
	})
	if err != nil {
		return "", err
	}
	defer output.Close()
	unblock := context.AfterFunc(limited, func() { output.Close() })
	defer unblock()
	if stdin != nil {
		go func() {
			_, _ = io.Copy(output.input.Conn, stdin)
			_ = output.input.CloseWrite()
		}()
	}
	p := newPrinted()
	_, broken := stdcopy.StdCopy(&p.out, &p.says, output)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "", fmt.Errorf("%s did not end within %s", options.Cmd[0], limit)
	}
	how, err := d.execEnd(ctx, made.ID)
	switch {
	case err != nil:
		return "", err
	case how.Running:
		return "", d.explain(errors.Join(io.ErrUnexpectedEOF, broken))
	}
	return p.result(how.ExitCode)
}

// execEnd is how a command in a container ended whose output has; it is still running
// where the connection to the daemon broke. No request waits for it, so it is asked about
// until the daemon has noticed.
func (d *daemon) execEnd(ctx context.Context, exec string) (how container.ExecInspect, err error) {
	for wait := time.Millisecond; ; wait *= 2 {
		how, err = ask(ctx, d, callLimit, func(ctx context.Context) (container.ExecInspect, error) {
			return d.ContainerExecInspect(ctx, exec)
		})
		if err != nil || !how.Running || wait > time.Second {
			return how, err
		}
		select {
		case <-ctx.Done():
			return how, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// outputOf runs a user's command in a container, for as long as ctx lets it.
func (d *daemon) outputOf(ctx context.Context, id string, options container.ExecOptions) ([]byte, error) {
	if len(options.Cmd) == 0 {
		return nil, errors.New("no command to run")
	}
	out, err := d.execute(ctx, pullLimit, id, options, nil)
	if failed, ok := errors.AsType[*exited](err); ok {
		err = fmt.Errorf("%s ended with %s in the container: %w", options.Cmd[0], exitOf(failed.code), err)
	}
	return []byte(out), err
}
