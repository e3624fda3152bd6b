package docker_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/docker/dockertest"
	"github.com/mxflow/mxflow/engine/kinds"
)

// What cannot be started is refused with the reason and what to do, and nothing
// of it stays on the daemon.
func TestRefusals(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	image := dockertest.Image(t, d, dockertest.Self(t))
	for name, test := range map[string]struct {
		change func(*engine.Spec)
		want   []string
	}{
		"no GPU": {
			func(s *engine.Spec) { s.Docker.GPUs = "all" },
			[]string{"could not select device driver", "NVIDIA Container Toolkit", "remove gpus"},
		},
		"missing path": {
			func(s *engine.Spec) { s.Docker.Volumes = map[string]string{"/no/such/folder": "/data"} },
			[]string{"the path /no/such/folder of volumes does not exist"},
		},
		"unknown network": {
			func(s *engine.Spec) { s.Docker.Network = "nowhere" },
			[]string{"the daemon has no network nowhere", "docker network ls"},
		},
		"no network": {
			func(s *engine.Spec) { s.Docker.Network = "none" },
			[]string{"leaves no way to reach the engine"},
		},
		"unknown user": {
			func(s *engine.Spec) { s.Docker.User = "nobody-here" },
			[]string{"the image has no user nobody-here", "1000:1000"},
		},
		"image that may not be pulled": {
			func(s *engine.Spec) { s.Docker.Image = "mxflow-test/never-built:1" },
			[]string{`image "mxflow-test/never-built:1" is not on the docker daemon`, `pull = "never"`},
		},
		"registry that does not answer": {
			func(s *engine.Spec) { s.Docker.Image, s.Docker.Pull = freeAddress(t)+"/no/such:1", "missing" },
			[]string{"cannot be pulled", "its registry cannot be reached", "connection refused"},
		},
		"always pulled": {
			func(s *engine.Spec) { s.Docker.Image, s.Docker.Pull = freeAddress(t)+"/no/such:1", "always" },
			[]string{"cannot be pulled", "its registry cannot be reached"},
		},
		"name of an image": {
			func(s *engine.Spec) { s.Docker.Image = "Not A Name" },
			[]string{`"Not A Name"`},
		},
		"no image": {
			func(s *engine.Spec) { s.Docker.Image = "" },
			[]string{"no image is named"},
		},
		"port not known": {
			func(s *engine.Spec) {
				s.Docker.Port, s.Profile = 0, &kinds.Kind{Name: "own", Ready: []kinds.Probe{{Path: "/"}}, DefaultReadyTimeout: time.Minute}
			},
			[]string{"not known on which port", "{port}"},
		},
		"program of this machine": {
			func(s *engine.Spec) { s.Command = []string{"{mxflow}"} },
			[]string{"{mxflow}", "not in the container"},
		},
		"GPUs that are none": {
			func(s *engine.Spec) { s.Docker.GPUs = "some" },
			[]string{`gpus = "some"`},
		},
		"name of a variable": {
			func(s *engine.Spec) { s.Env["A=B"] = "c" },
			[]string{`"A=B" cannot be the name`},
		},
		"name of a config file": {
			func(s *engine.Spec) { s.Config, s.ConfigName = []byte("x"), "../x" },
			[]string{`"../x" is no file name`},
		},
		"no daemon": {
			func(s *engine.Spec) { s.Docker.Host = "unix://" + filepath.Join(t.TempDir(), "docker.sock") },
			[]string{"no daemon listens there", "systemctl start docker"},
		},
		"unknown context": {
			func(s *engine.Spec) { s.Docker.Context = "gb11" },
			[]string{`no docker context "gb11"`, "default"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec, to := script(image, "sleep"), launchOf(t)
			test.change(&spec)
			_, err := docker.Launcher{}.Launch(t.Context(), spec, to)
			var f *engine.Failure
			if !errors.As(err, &f) || f.Op != "start" {
				t.Fatalf("got %v, want a *engine.Failure to start", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
			if n := len(left(t, d, to.Owner)); n != 0 {
				t.Errorf("%d containers stayed", n)
			}
		})
	}
}

func TestProgramThatIsNotThere(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	spec := script(dockertest.Image(t, d, dockertest.Self(t)), "serve")
	spec.Docker.Entrypoint = []string{"/usr/bin/vllm"}
	inst := launched(t, docker.Launcher{}, spec, launchOf(t))
	err := inst.Ready(t.Context())
	if err == nil || !strings.Contains(err.Error(), `the image has no program "/usr/bin/vllm" that can be run (no such file or directory)`) {
		t.Errorf("Ready: %v", err)
	}
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	image := dockertest.Image(t, d, dockertest.Self(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to := launchOf(t)
	_, err := docker.Launcher{}.Launch(ctx, script(image, "sleep"), to)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Launch: %v", err)
	}
	// Cancelled in the middle: the daemon is noted right before the container is
	// made.
	ctx, cancel = context.WithCancel(t.Context())
	l := docker.Launcher{Remember: func(*docker.Daemon) error { cancel(); return nil }}
	if _, err := l.Launch(ctx, script(image, "sleep"), to); !errors.Is(err, context.Canceled) {
		t.Errorf("Launch: %v", err)
	}
	if n := len(left(t, d, to.Owner)); n != 0 {
		t.Errorf("%d containers stayed", n)
	}
}

func TestRemovedByAnother(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	inst := launched(t, docker.Launcher{}, script(dockertest.Image(t, d, dockertest.Self(t)), "print", "started", "sleep"), launchOf(t))
	waitForLog(t, inst, "started")
	err := d.ContainerRemove(t.Context(), inst.About()["container"], container.RemoveOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	<-inst.Exited()
	var f *engine.Failure
	if err := inst.Ready(t.Context()); !errors.As(err, &f) || f.Exit == nil || !strings.Contains(f.Reason, "somebody else removed its container") {
		t.Errorf("Ready: %v", err)
	}
	if err := inst.Stop(t.Context()); err != nil {
		t.Errorf("Stop: %v", err)
	}
}

func TestPausedContainerIsStopped(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	spec := script(dockertest.Image(t, d, dockertest.Self(t)), "print", "started", "sleep")
	spec.StopGrace = 100 * time.Millisecond
	to := launchOf(t)
	inst := launched(t, docker.Launcher{}, spec, to)
	waitForLog(t, inst, "started")
	if err := d.ContainerPause(t.Context(), inst.About()["container"]); err != nil {
		t.Fatal(err)
	}
	if err := inst.Stop(t.Context()); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if n := len(left(t, d, to.Owner)); n != 0 {
		t.Errorf("%d containers stayed", n)
	}
}
