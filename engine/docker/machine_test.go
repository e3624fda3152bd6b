package docker_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/docker/dockertest"
	"github.com/mxflow/mxflow/engine/enginetest"
)

func TestOutOfMemoryIsNamed(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	inst := launched(t, docker.Launcher{}, script(dockertest.Image(t, d, dockertest.Self(t)), "sleep-until", "/go", "eat"), launchOf(t))
	name := inst.About()["container"]
	_, err := d.ContainerUpdate(t.Context(), name, container.UpdateConfig{Resources: container.Resources{Memory: 32 << 20, MemorySwap: 32 << 20}})
	if err != nil {
		t.Skipf("this daemon limits no memory: %v", err)
	}
	if _, err := inst.Output(t.Context(), "/program", "touch", "/go"); err != nil {
		t.Fatal(err)
	}
	<-inst.Exited()
	err = inst.Ready(t.Context())
	var f *engine.Failure
	if !errors.As(err, &f) || f.Exit == nil || f.Exit.Signal != "SIGKILL" || !strings.Contains(f.Reason, "OOMKilled") {
		t.Errorf("Ready: %v", err)
	}
}

// freeAddress is an address of this machine that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestHostNetwork(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	image := dockertest.Image(t, d, dockertest.Self(t))
	spec := boxed(enginetest.Fake(""), image)
	spec.Docker.Network = "host"
	inst := launched(t, docker.Launcher{}, spec, launchOf(t))
	if err := inst.Ready(t.Context()); err != nil {
		t.Error(err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	spec.Docker = &engine.Docker{Image: image, Pull: "never", Network: "host", Port: l.Addr().(*net.TCPAddr).Port}
	_, err = docker.Launcher{}.Launch(t.Context(), spec, launchOf(t))
	if err == nil || !strings.Contains(err.Error(), "is taken") {
		t.Errorf("Launch on a port that is taken: %v", err)
	}
}
