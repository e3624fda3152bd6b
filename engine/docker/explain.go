package docker

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/mxflow/mxflow/engine"
)

// refusals are what daemons say when a container cannot be made or started, and
// what to do about it. The first that matches counts; $1 is what its group caught.
var refusals = []struct {
	says *regexp.Regexp
	hint string
}{
	{
		regexp.MustCompile(`could not select device driver`),
		"the daemon can give no GPU: install the NVIDIA Container Toolkit there (nvidia-ctk runtime configure --runtime=docker, then restart docker), or remove gpus",
	},
	{
		regexp.MustCompile(`nvidia-container-cli|nvidia-container-runtime|libnvidia-ml`),
		"the daemon's machine has no working NVIDIA driver, or not that GPU: try nvidia-smi -L there, then correct gpus",
	},
	{regexp.MustCompile(`unable to find (user|group) ([^:]+)`), "the image has no $1 $2: correct user, or give a numeric one such as \"1000:1000\""},
	{regexp.MustCompile(`bind source path does not exist: (\S+)`), "the path $1 of volumes does not exist on the daemon's machine: create it, or correct volumes"},
	{regexp.MustCompile(`network (\S+) not found`), "the daemon has no network $1: correct network (see docker network ls), or create it"},
	{regexp.MustCompile(`port is already allocated|address already in use`), "a port that it needs is taken on the daemon's machine: stop what uses it"},
	{regexp.MustCompile(`docker-init.*(not found|no such file)`), "the daemon has no init program: install docker-init (package tini or docker-init) there"},
	{
		regexp.MustCompile(`exec: "?([^":]+)"?: (executable file not found|stat .*no such file|permission denied)`),
		`the image has no program "$1" that can be run: correct entrypoint or command, or the image`,
	},
	{regexp.MustCompile(`[Nn]o command specified`), "neither the plan nor the image says what to run: set command in the docker block"},
	{regexp.MustCompile(`no space left on device`), "the disk of the daemon's machine is full: docker system df shows of what"},
}

// startFailed explains why a container was not made or did not start.
func (d *Daemon) startFailed(err error) *engine.Failure {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return failed(err, "it was cancelled while its container started")
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, r := range refusals {
		if at := r.says.FindStringSubmatchIndex(text); at != nil {
			return failed(err, "%s (docker says: %s)", r.says.ExpandString(nil, r.hint, text, at), text)
		}
	}
	return failed(err, "docker refuses to start its container: %s", text)
}
