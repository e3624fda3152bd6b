package docker

import (
	"archive/tar"
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
)

// request is what the daemon refused to create or start.
type request struct {
	// container is the one that was created, or in which a command was to run.
	container string
	// block is what it was created by, nil for a command in a container.
	block *engine.Docker
	// command is what it was to run; user and workdir are those of a command in a container.
	command       []string
	user, workdir string
}

// lacking is the daemon's refusal with what was asked for and is not there, if that is why.
func (d *daemon) lacking(ctx context.Context, err error, r request) error {
	if errors.Is(err, ErrUnreachable) || ctx.Err() != nil {
		return err
	}
	if hint := d.lack(ctx, r); hint != "" {
		return engine.StartFailure(err, "%s (docker says: %v)", hint, err)
	}
	return err
}

// lack names what was asked for and is not there, and what to do; it is empty if nothing is
// seen to be missing. It looks for each: a daemon's messages have no fixed words.
func (d *daemon) lack(ctx context.Context, r request) string {
	if b := r.block; b != nil {
		if name := container.NetworkMode(b.Network); name.IsUserDefined() {
			_, err := ask(ctx, d, callLimit, func(ctx context.Context) (network.Inspect, error) {
				return d.NetworkInspect(ctx, b.Network, network.InspectOptions{})
			})
			if isMissing(err) {
				return fmt.Sprintf(
					"the daemon has no network %s: correct network (see docker network ls), or create it", b.Network)
			}
		}
		var asked container.HostConfig
		_, _ = addDevices(b.Devices, &asked), addGPUs(b.GPUs, &asked)
		for _, device := range asked.Devices {
			if absent(device.PathOnHost) {
				return fmt.Sprintf(
					"the daemon's machine has no %s: load its driver (for AMD GPUs, amdgpu), or correct devices "+
						"or gpus", device.PathOnHost)
			}
		}
		all, _ := mounts(b.Volumes)
		for _, m := range all {
			if m.Type == "bind" && absent(m.Source) {
				return fmt.Sprintf(
					"the path %s of volumes does not exist on the daemon's machine: create it, or correct volumes",
					m.Source)
			}
		}
		if len(b.Entrypoint)+len(r.command) == 0 {
			of, err := d.inspectImage(ctx, b.Image)
			if err == nil && of.Config != nil && len(of.Config.Entrypoint)+len(of.Config.Cmd) == 0 {
				return "neither the plan nor the image says what to run: set command in the docker block"
			}
		}
	}
	if of, err := d.inspect(ctx, r.container); r.container != "" && err == nil {
		if what := d.lackInside(ctx, of, r); what != "" {
			return what
		}
	}
	if r.block != nil && r.block.GPUs != nil {
		return "the daemon cannot provide GPUs: check that nvidia-smi -L lists them on its machine, install the " +
			"NVIDIA Container " +
			"Toolkit there (nvidia-ctk runtime configure --runtime=docker, then restart docker), or remove gpus"
	}
	var disk unix.Statfs_t
	info, err := ask(ctx, d, callLimit, d.Info)
	if err == nil && unix.Statfs(info.DockerRootDir, &disk) == nil && disk.Bavail == 0 {
		return "the disk of the daemon's machine is full: docker system df shows what uses it"
	}
	return ""
}

// absent reports whether this machine, which is the daemon's, lacks a path.
func absent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// lackInside is lack for what a container must have.
func (d *daemon) lackInside(ctx context.Context, of container.InspectResponse, r request) string {
	name, group, _ := strings.Cut(cmp.Or(r.user, of.Config.User), ":")
	const unknown = `the image has no %s %s: correct user or group_add, or use a number such as "1000:1000"`
	if d.unknown(ctx, of.ID, "passwd", name) {
		return fmt.Sprintf(unknown, "user", name)
	}
	for _, group := range append([]string{group}, of.HostConfig.GroupAdd...) {
		if d.unknown(ctx, of.ID, "group", group) {
			return fmt.Sprintf(unknown, "group", group)
		}
	}
	if r.workdir != "" {
		if _, missing := d.stat(ctx, of.ID, r.workdir); missing {
			return fmt.Sprintf(`the container has no accessible folder %q: correct workdir, or create it`, r.workdir)
		}
	}
	return d.lackProgram(ctx, of, r.command)
}

// lackProgram is lack for the program of a container, or of a command in it.
func (d *daemon) lackProgram(ctx context.Context, of container.InspectResponse, command []string) string {
	program := of.Path
	if len(command) > 0 && of.State.Running {
		program = command[0]
	}
	folders := []string{""}
	if !strings.Contains(program, "/") {
		folders = strings.Split("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", ":")
		for _, kv := range of.Config.Env {
			if list, ok := strings.CutPrefix(kv, "PATH="); ok {
				folders = strings.Split(list, ":")
			}
		}
	} else if !path.IsAbs(program) {
		folders = []string{cmp.Or(of.Config.WorkingDir, "/")}
	}
	for _, folder := range folders {
		is, missing := d.stat(ctx, of.ID, path.Join(folder, program))
		if !missing && !is.Mode.IsDir() && (is.Mode.Perm()&0o111 != 0 || is.LinkTarget != "") {
			return ""
		}
	}
	return fmt.Sprintf("the image has no executable program %q: correct entrypoint or command, or the image", program)
}

// stat is what the daemon says of a path in a container; one that it cannot look at is not
// called missing.
func (d *daemon) stat(ctx context.Context, id, path string) (is container.PathStat, missing bool) {
	is, err := ask(ctx, d, callLimit, func(ctx context.Context) (container.PathStat, error) {
		return d.ContainerStatPath(ctx, id, path)
	})
	if err != nil && !isMissing(err) {
		is.Mode = 0o755
	}
	return is, isMissing(err)
}

// unknown reports whether a container's /etc/passwd or /etc/group is without a name.
func (d *daemon) unknown(ctx context.Context, id, file, name string) bool {
	if _, err := strconv.Atoi(name); name == "" || err == nil {
		return false
	}
	known, err := ask(ctx, d, callLimit, func(ctx context.Context) (bool, error) {
		content, _, err := d.CopyFromContainer(ctx, id, "/etc/"+file)
		if err != nil {
			return !isMissing(err), nil
		}
		defer content.Close()
		archive := tar.NewReader(content)
		if _, err := archive.Next(); err != nil {
			return true, nil
		}
		for lines := bufio.NewScanner(archive); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), name+":") {
				return true, nil
			}
		}
		return false, nil
	})
	return err == nil && !known
}

func (d *daemon) inspectImage(ctx context.Context, ref string) (image.InspectResponse, error) {
	is, err := ask(ctx, d, callLimit, func(ctx context.Context) (image.InspectResponse, error) {
		return d.ImageInspect(ctx, ref)
	})
	if err != nil && !isMissing(err) && !errors.Is(err, ErrUnreachable) && ctx.Err() == nil {
		err = fmt.Errorf("cannot inspect image %q: %w", ref, err)
	}
	return is, err
}
