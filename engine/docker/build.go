package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/process"
)

// Build is an image to be built. Paths are those of this machine.
type Build struct {
	Host, DaemonContext string
	Folder, Dockerfile  string
	Tag, Target         string
	Args, Labels        map[string]string
	CacheFrom           []string
	NoCache, Pull       bool
}

// buildGrace is how long the docker command may take to tell the daemon that a
// build is not wanted any more.
const buildGrace = 10 * time.Second

// StartBuild starts `docker build`. The command is used, and not the daemon's own
// API, because only it speaks BuildKit, which RUN --mount, secrets and caches in
// today's Dockerfiles need, and because it alone decides what .dockerignore
// means. The image's ID is written to idFile.
func StartBuild(ctx context.Context, b Build, l engine.Launch, idFile string) (engine.Command, error) {
	d, err := Connect(ctx, b.Host, b.DaemonContext)
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath("docker"); err != nil {
		return nil, errors.New("the docker command, which builds images, is in no folder of PATH: install it (on Debian and Ubuntu: apt install docker.io)")
	}
	set, unset := d.commandEnv()
	argv := []string{"docker", "build", "--force-rm", "--file", b.Dockerfile, "--tag", b.Tag, "--iidfile", idFile}
	if b.Target != "" {
		argv = append(argv, "--target", b.Target)
	}
	for _, image := range b.CacheFrom {
		argv = append(argv, "--cache-from", image)
	}
	if b.NoCache {
		argv = append(argv, "--no-cache")
	}
	if b.Pull {
		argv = append(argv, "--pull")
	}
	for _, name := range slices.Sorted(maps.Keys(b.Labels)) {
		argv = append(argv, "--label", name+"="+b.Labels[name])
	}
	for _, name := range slices.Sorted(maps.Keys(b.Args)) {
		if readByDocker(name) {
			argv = append(argv, "--build-arg", name+"="+b.Args[name])
			continue
		}
		// Through the environment, which other users of the machine cannot see.
		argv = append(argv, "--build-arg", name)
		set[name] = b.Args[name]
	}
	return process.StartCommand(engine.Spec{
		Command: append(argv, "--", b.Folder), Dir: b.Folder, Env: set, Unset: unset, StopGrace: buildGrace,
	}, l)
}

// readByDocker reports whether the docker command itself, or what it starts,
// would take a variable of that name for its own.
func readByDocker(name string) bool {
	upper := strings.ToUpper(name)
	for _, prefix := range []string{"DOCKER_", "BUILDKIT_", "BUILDX_", "MXFLOW_", "SSH_", "LD_", "GODEBUG", "OTEL_"} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	return strings.HasSuffix(upper, "_PROXY") || slices.Contains([]string{"PATH", "HOME", "TMPDIR", "LANG", "TERM"}, upper)
}

// commandEnv is the environment by which the docker command and docker-compose
// talk to the same daemon.
func (d *Daemon) commandEnv() (set map[string]string, unset []string) {
	if d.end.context != "" {
		return map[string]string{"DOCKER_CONTEXT": d.end.context}, []string{"DOCKER_HOST"}
	}
	return map[string]string{"DOCKER_HOST": d.end.host}, []string{"DOCKER_CONTEXT"}
}

// BuiltID reads what StartBuild wrote.
func BuiltID(idFile string) (string, error) {
	text, err := os.ReadFile(idFile)
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(text))
	if id == "" {
		return "", fmt.Errorf("%s is empty", filepath.Base(idFile))
	}
	return id, nil
}

// ImageID is the ID of the image that a tag names now, empty where there is none.
func ImageID(ctx context.Context, host, daemonContext, tag string) (string, error) {
	d, err := Connect(ctx, host, daemonContext)
	if err != nil {
		return "", err
	}
	image, err := d.ImageInspect(ctx, tag)
	if cerrdefs.IsNotFound(err) {
		return "", nil
	}
	return image.ID, err
}
