package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/mxflow/mxflow/engine"
)

// execMark tells the processes of one launch in a container, in an environment
// variable of its own: a container may be shared by several machines whose
// mxflow have state directories of the same path, and so the same owner.
type execMark struct{ host, owner, launch string }

const envExec = "MXFLOW_EXEC"

func markOf(l engine.Launch) execMark { return execMark{thisHost(), l.Owner, l.ID} }

// String is the value of the variable. Nothing of it has a slash inside.
func (m execMark) String() string {
	clean := strings.NewReplacer("/", "-", "\n", "-", "\x00", "-").Replace
	return clean(m.host) + "/" + clean(m.owner) + "/" + clean(m.launch)
}

// env are the variables that processes of the launch get. The owner's own is left
// out: by it engine.Sweep ends processes of this machine, before SweepExec could
// say what was in which container.
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
	// privileged scripts see the processes of every user. Without it they run as
	// user, and see those of that user alone.
	privileged bool
	user       string
}

// running inspects a container that must run.
func (d *Daemon) running(ctx context.Context, name string) (container.InspectResponse, error) {
	info, err := d.ContainerInspect(ctx, name)
	switch {
	case cerrdefs.IsNotFound(err):
		return info, fmt.Errorf("there is no container %q on %s: %s", name, d.Name, d.others(ctx))
	case err != nil:
		return info, fmt.Errorf("container %q: %w", name, err)
	case info.State == nil || !info.State.Running:
		return info, fmt.Errorf("container %q does not run (%s): start it with docker start %s", name, status(info), name)
	case info.State.Paused:
		return info, fmt.Errorf("container %q is paused: let it go on with docker unpause %s", name, name)
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

// others says which containers there are instead.
func (d *Daemon) others(ctx context.Context) string {
	list, err := d.ContainerList(ctx, container.ListOptions{})
	if err != nil || len(list) == 0 {
		return "none runs there"
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
	return "running are " + strings.Join(names, ", ")
}

// enter looks into a container: whether it runs, and has what is needed.
func enter(ctx context.Context, d *Daemon, name string, mark execMark) (*shell, error) {
	info, err := d.running(ctx, name)
	if err != nil {
		return nil, err
	}
	s := &shell{d: d, id: info.ID, name: strings.TrimPrefix(info.Name, "/"), info: info, mark: mark, privileged: true}
	_, err = s.run(ctx, scriptTools)
	if err != nil && !missingShell(err) && !strings.Contains(err.Error(), "no-grep") {
		// A daemon with user namespaces, or one that is told to, gives no
		// privileges to a command.
		s.privileged = false
		_, err = s.run(ctx, scriptTools)
	}
	switch {
	case err == nil:
		return s, nil
	case missingShell(err):
		return nil, fmt.Errorf("container %q has no sh, without which mxflow can neither start a command in it nor end what it started: "+
			"use an image with a shell, or launch the engine with a docker block", s.name)
	case strings.Contains(err.Error(), "no-grep"):
		return nil, fmt.Errorf("container %q has no grep, by which mxflow finds what the engine started: install it in the image", s.name)
	}
	return nil, fmt.Errorf("no command can be run in container %q: %w", s.name, err)
}

func missingShell(err error) bool {
	text := err.Error()
	return strings.Contains(text, `"sh": executable file not found`) || strings.Contains(text, "exec: \"sh\"") ||
		strings.Contains(text, "exec sh failed")
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

// lost says how it came that the container does not run any more, or is another
// run of it; empty while it is the one that was entered, as far as is known.
func (s *shell) lost() string {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	info, err := s.d.ContainerInspect(ctx, s.id)
	switch {
	case err == nil && info.State == nil, err != nil && !cerrdefs.IsNotFound(err):
		return ""
	case err != nil, info.State.Status == container.StateRemoving, info.State.Status == container.StateDead:
		return fmt.Sprintf("somebody removed the container %s in which it ran", s.name)
	case !info.State.Running:
		return fmt.Sprintf("the container %s in which it ran was stopped (%s)", s.name, status(info))
	case s.info.State != nil && info.State.StartedAt != s.info.State.StartedAt:
		return fmt.Sprintf("the container %s in which it ran was restarted", s.name)
	}
	return ""
}

var errUnset = errors.New("only names of letters, digits and underscores can be unset in a container")
