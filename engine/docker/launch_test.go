package docker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/docker/dockertest"
	"github.com/mxflow/mxflow/engine/logscan"
)

// script is the Spec of a container whose program does what the words say, see
// Play.
func script(image string, words ...string) engine.Spec {
	return engine.Spec{
		Kind: "openai", Command: words, Env: map[string]string{playEnv: "1"}, ReadyTimeout: time.Minute, StopGrace: time.Minute,
		Docker: &engine.Docker{Image: image, Pull: "never", Port: 8000},
	}
}

func launchOf(t *testing.T) engine.Launch {
	return engine.Launch{ID: "test-" + t.Name(), Owner: "test-" + t.Name(), LogPath: filepath.Join(t.TempDir(), "engine.log")}
}

// launched starts spec and stops it with the test.
func launched(t *testing.T, l docker.Launcher, spec engine.Spec, to engine.Launch) engine.Instance {
	t.Helper()
	inst, err := l.Launch(t.Context(), spec, to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		if err := inst.Stop(done); err != nil {
			t.Errorf("Stop in cleanup: %v", err)
		}
	})
	return inst
}

// left lists the containers that carry an owner's label.
func left(t *testing.T, d *docker.Daemon, owner string) []container.Summary {
	t.Helper()
	found, err := d.ContainerList(context.Background(), container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", docker.LabelOwner+"="+owner)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestContainerIsAsAsked(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	image := dockertest.Image(t, d, dockertest.Self(t), "ENV FROM_IMAGE=1", "ENV KEPT=image")
	folder := t.TempDir()
	spec := script(image, "play", "--port", "{port}", "--config", "{config}", "cat", "{config}", "env", "sleep")
	spec.Env["GIVEN"] = "on {port}"
	spec.Unset = []string{"FROM_IMAGE", "NEVER_SET"}
	spec.Config, spec.ConfigName = []byte("host: 0.0.0.0\n"), "config.yml"
	box := spec.Docker
	box.ShmSize, box.IPC, box.User, box.WorkDir = "128m", "shareable", "1234:5678", "/work"
	box.Ulimits = map[string]string{"nofile": "512:1024"}
	box.Volumes = map[string]string{folder: "/data:ro"}
	to := launchOf(t)
	inst := launched(t, docker.Launcher{}, spec, to)

	name := inst.About()["container"]
	info, err := d.ContainerInspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	host := info.HostConfig
	if host.ShmSize != 128<<20 || host.IpcMode != "shareable" || info.Config.User != "1234:5678" || info.Config.WorkingDir != "/work" ||
		host.RestartPolicy.Name != "no" || host.Init == nil || !*host.Init || host.AutoRemove {
		t.Errorf("the container is not as asked: %+v, %+v", info.Config, host)
	}
	if u := host.Ulimits; len(u) != 1 || u[0].Name != "nofile" || u[0].Soft != 512 || u[0].Hard != 1024 {
		t.Errorf("its limits are %v", u)
	}
	if m := info.Mounts; len(m) != 1 || m[0].Source != folder || m[0].Destination != "/data" || m[0].RW {
		t.Errorf("its volumes are %+v", m)
	}
	for _, want := range []string{docker.LabelOwner, docker.LabelLaunch, docker.LabelStarted, docker.LabelHost} {
		if info.Config.Labels[want] == "" {
			t.Errorf("it has no label %s: %v", want, info.Config.Labels)
		}
	}
	for _, b := range info.NetworkSettings.Ports["8000/tcp"] {
		if b.HostIP != "127.0.0.1" {
			t.Errorf("its port is open on %s", b.HostIP)
		}
	}
	about := inst.About()
	if about["image"] != image || about["image_id"] != info.Image || about["image_digest"] != "" ||
		about["resolved_command"] != "/program play --port 8000 --config /etc/mxflow/config.yml cat /etc/mxflow/config.yml env sleep" {
		t.Errorf("About is %v", about)
	}
	waitForLog(t, inst, "MXFLOW_PORT=8000")
	log := strings.Join(logscan.Tail(inst.LogPath(), 100), "\n")
	for _, want := range []string{"host: 0.0.0.0", "GIVEN=on 8000", "KEPT=image", "MXFLOW_LAUNCH=" + to.ID} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "FROM_IMAGE") {
		t.Errorf("what the image sets was not unset:\n%s", log)
	}
	out, err := inst.Output(t.Context(), "/program", "env", "print", "hello")
	if err != nil || !strings.Contains(string(out), "GIVEN=on 8000") || !strings.HasSuffix(string(out), "hello\n") {
		t.Errorf("Output: %q, %v", out, err)
	}
}

func TestOutputFails(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	inst := launched(t, docker.Launcher{}, script(dockertest.Image(t, d, dockertest.Self(t)), "sleep"), launchOf(t))
	_, err := inst.Output(t.Context(), "/program", "print", "half", "complain", "no such luck", "exit", "3")
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("a command that fails: %v", err)
	}
	if _, err := inst.Output(t.Context(), "/nothing"); err == nil || !strings.Contains(err.Error(), "/nothing") {
		t.Errorf("a command that is not there: %v", err)
	}
	if _, err := inst.Output(t.Context()); err == nil {
		t.Error("no command was run")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := inst.Output(ctx, "/program", "sleep"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a command that hangs: %v", err)
	}
}

// Both streams arrive, byte for byte, and stdout apart where that is asked for.
func TestLogIsRaw(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	to := launchOf(t)
	to.OutPath = filepath.Join(t.TempDir(), "out")
	inst := launched(t, docker.Launcher{}, script(dockertest.Image(t, d, dockertest.Self(t)), "bytes", "exit", "0"), to)
	<-inst.Exited()
	for path, want := range map[string]string{to.OutPath: rawBytes + "\n", to.LogPath: "to stderr: " + rawBytes + "\n"} {
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", filepath.Base(path), got, err, want)
		}
	}
}

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	const limit = 256 << 10
	inst := launched(t, docker.Launcher{LogLimit: limit}, script(dockertest.Image(t, d, dockertest.Self(t)), "print", "first", "flood", "300000", "print", "last", "exit", "0"), launchOf(t))
	<-inst.Exited()
	info, err := os.Stat(inst.LogPath())
	if err != nil || info.Size() > 2*limit {
		t.Errorf("the log has %d bytes, %v", info.Size(), err)
	}
	if tail := logscan.Tail(inst.LogPath(), 2); len(tail) != 2 || tail[0] != "line 299999 of a flood" || tail[1] != "last" {
		t.Errorf("the log ends with %q", tail)
	}
	text, _ := os.ReadFile(inst.LogPath())
	if !strings.HasPrefix(string(text), "first\n") || !strings.Contains(string(text), "[mxflow] log limit reached") {
		t.Errorf("the log begins with %.100q", text)
	}
}

func waitForLog(t *testing.T, inst engine.Instance, want string) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		if slices.ContainsFunc(logscan.Tail(inst.LogPath(), 100), func(line string) bool { return strings.Contains(line, want) }) {
			return
		}
	}
	t.Fatalf("the log never had %q: %q", want, logscan.Tail(inst.LogPath(), 100))
}
