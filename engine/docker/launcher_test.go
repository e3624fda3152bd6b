package docker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/internal/testing/dockertest"
	"github.com/mxflow/mxflow/internal/testing/enginetest"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// boxed runs a fake engine in a container of an image.
func boxed(spec engine.Spec, image string) engine.Spec {
	spec = enginetest.InContainer(spec)
	spec.Docker = &engine.Docker{Image: image, Pull: "never"}
	return spec
}

// ownImage is an image of this program, for a test that runs beside others.
func ownImage(t *testing.T, lines ...string) string {
	t.Helper()
	t.Parallel()
	dockertest.Need(t)
	return dockertest.Image(t, dockertest.Self(t), lines...)
}

func TestConformance(t *testing.T) {
	image := ownImage(t)
	faults := enginetest.Fakes()
	for i := range faults {
		spec := faults[i].Spec
		faults[i].Spec = func(t *testing.T) engine.Spec { return boxed(spec(t), image) }
	}
	enginetest.Run(t, docker.Launcher{}, func(*testing.T) engine.Spec {
		return boxed(enginetest.Fake(""), image)
	}, faults...)
}

// script is the Spec of a container whose program does what words say, see play.
func script(image string, words ...string) engine.Spec {
	return engine.Spec{
		Kind: "openai", Command: words, Env: map[string]string{playEnv: "1"}, ReadyTimeout: time.Minute,
		StopGrace: time.Minute,
		Docker:    &engine.Docker{Image: image, Pull: "never", Port: 8000},
	}
}

func launchOf(t testing.TB) engine.Launch {
	return engine.Launch{
		ID: "test-" + t.Name(), Owner: "test-" + t.Name(),
		LogPath: filepath.Join(t.TempDir(), "engine.log"),
	}
}

// launched starts spec and stops it with the test.
func launched(t *testing.T, l docker.Launcher, spec engine.Spec, to engine.Launch) engine.Instance {
	t.Helper()
	inst, err := l.Launch(t.Context(), spec, to)
	must.Do(t, err)
	t.Cleanup(func() {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		must.Do(t, inst.Stop(done))
	})
	return inst
}

// left lists the containers that carry an owner's label.
func left(t *testing.T, owner string) []string {
	t.Helper()
	return strings.Fields(dockertest.Must(t, "ps", "--all", "--quiet", "--filter",
		"label="+docker.LabelOwner+"="+owner))
}

func noneLeft(t *testing.T, owner string) {
	t.Helper()
	if n := len(left(t, owner)); n != 0 {
		t.Errorf("%d containers stayed", n)
	}
}

func TestContainerIsAsAsked(t *testing.T) {
	image := ownImage(t, "ENV FROM_IMAGE=1", "ENV KEPT=image")
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
	for format, want := range map[string]string{
		`{{.HostConfig.ShmSize}} {{.HostConfig.IpcMode}} {{.Config.User}} {{.Config.WorkingDir}}`: "134217728 shareable 1234:5678 /work",
		"{{.HostConfig.RestartPolicy.Name}} {{.HostConfig.Init}} {{.HostConfig.AutoRemove}}":      "no true false",
		"{{range .HostConfig.Ulimits}}{{.Name}} {{.Soft}} {{.Hard}}{{end}}":                       "nofile 512 1024",
		`{{range .Mounts}}{{if eq .Destination "/data"}}{{.Source}} {{.RW}}{{end}}{{end}}`:        folder + " false",
		"{{range .HostConfig.PortBindings}}{{range .}}{{.HostIp}}{{end}}{{end}}":                  "127.0.0.1",
		`{{index .Config.Labels "` + docker.LabelOwner + `"}} {{index .Config.Labels "` + docker.LabelLaunch +
			`"}}`: to.Owner + " " + to.ID,
	} {
		if got := dockertest.Must(t, "container", "inspect", "--format", format, name); got != want {
			t.Errorf("%s is %q, want %q", format, got, want)
		}
	}
	about := inst.About()
	if about["image"] != image || about["image_id"] != dockertest.Must(t, "image", "inspect", "--format", "{{.Id}}",
		image) || about["image_digest"] != "" ||
		about["resolved_command"] !=
			"/program play --port 8000 --config /etc/mxflow/config.yml cat /etc/mxflow/config.yml env sleep" {
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
	inst := launched(t, docker.Launcher{}, script(ownImage(t), "sleep"), launchOf(t))
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

// Both streams arrive, byte for byte, and stdout separately if requested.
func TestLogIsRaw(t *testing.T) {
	to := launchOf(t)
	to.OutPath = filepath.Join(t.TempDir(), "out")
	inst := launched(t, docker.Launcher{}, script(ownImage(t), "bytes", "exit", "0"), to)
	<-inst.Exited()
	for path, want := range map[string]string{
		to.OutPath: rawBytes + "\n",
		to.LogPath: "to stderr: " + rawBytes + "\n",
	} {
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", filepath.Base(path), got, err, want)
		}
	}
}

func TestLogIsBounded(t *testing.T) {
	const limit = 256 << 10
	spec := script(ownImage(t), "print", "first", "flood", "300000", "print", "last", "exit", "0")
	inst := launched(t, docker.Launcher{LogLimit: limit}, spec, launchOf(t))
	<-inst.Exited()
	info, err := os.Stat(inst.LogPath())
	if err != nil || info.Size() > 2*limit {
		t.Errorf("the log has %d bytes, %v", info.Size(), err)
	}
	if tail := logscan.Tail(inst.LogPath(), 2); len(tail) != 2 || tail[0] != "line 299999 of a flood" ||
		tail[1] != "last" {
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
		if slices.ContainsFunc(logscan.Tail(inst.LogPath(), 100), func(line string) bool {
			return strings.Contains(line, want)
		}) {
			return
		}
	}
	t.Fatalf("the log never had %q: %q", want, logscan.Tail(inst.LogPath(), 100))
}

// refusals are launches that cannot be started, and what is said of each, separated by |, beside the
// daemon's own words.
func refusals(t *testing.T) map[string]refusal {
	return map[string]refusal{
		"no GPU": {func(s *engine.Spec) { s.Docker.GPUs = "all" }, "NVIDIA Container Toolkit|remove gpus"},
		"missing path": {
			func(s *engine.Spec) { s.Docker.Volumes = map[string]string{"/no/such/folder": "/data"} },
			"the path /no/such/folder of volumes does not exist",
		},
		"unknown network": {
			func(s *engine.Spec) {
				s.Docker.Network = "nowhere"
			}, "the daemon has no network nowhere|docker network ls",
		},
		"no network": {func(s *engine.Spec) { s.Docker.Network = "none" }, "the engine cannot be reached"},
		"unknown user": {
			func(s *engine.Spec) { s.Docker.User = "nobody-here" }, "the image has no user nobody-here|1000:1000",
		},
		"missing device": {
			func(s *engine.Spec) { s.Docker.Devices = []string{"/dev/no-such"} },
			"the daemon's machine has no /dev/no-such|correct devices",
		},
		"unknown group": {
			func(s *engine.Spec) { s.Docker.GroupAdd = []string{"no-group-here"} },
			"the image has no group no-group-here|group_add",
		},
		"image that may not be pulled": {
			func(s *engine.Spec) { s.Docker.Image = "mxflow-test/never-built:1" },
			`image "mxflow-test/never-built:1" is not on the docker daemon|pull = "never"`,
		},
		"registry that does not answer": {
			func(s *engine.Spec) { s.Docker.Image, s.Docker.Pull = freeAddress(t)+"/no/such:1", "missing" },
			"cannot pull image|its registry cannot be reached",
		},
		"always pulled": {
			func(s *engine.Spec) { s.Docker.Image, s.Docker.Pull = freeAddress(t)+"/no/such:1", "always" },
			"cannot pull image|its registry cannot be reached",
		},
		"name of an image": {func(s *engine.Spec) { s.Docker.Image = "Not A Name" }, `"Not A Name"`},
		"no image":         {func(s *engine.Spec) { s.Docker.Image = "" }, "the image is missing"},
		"port not known": {
			func(s *engine.Spec) {
				s.Docker.Port, s.Profile = 0,
					&kinds.Kind{Name: "own", Ready: []kinds.Probe{{Path: "/"}}, DefaultReadyTimeout: time.Minute}
			}, "its port in the container is unknown|{port}",
		},
		"program of this machine": {
			func(s *engine.Spec) { s.Command = []string{"{mxflow}"} }, "{mxflow}|not in the container",
		},
		"GPUs that are none": {func(s *engine.Spec) { s.Docker.GPUs = "some" }, `gpus = "some"`},
		"name of a variable": {func(s *engine.Spec) { s.Env["A=B"] = "c" }, `"A=B" has an invalid name`},
		"name of a config file": {
			func(s *engine.Spec) { s.Config, s.ConfigName = []byte("x"), "../x" }, `"../x" is not a valid file name`,
		},
	}
}

type refusal struct {
	change func(*engine.Spec)
	want   string
}

// Anything that cannot be started is refused with the reason and the remedy, and leaves nothing on the daemon.
func TestRefusals(t *testing.T) {
	t.Parallel()
	dockertest.Need(t)
	refuses(t)
}

// A daemon may say everything in other words: what comes of it is the same, as are the remedies.
func TestOtherWords(t *testing.T) {
	dockertest.Need(t)
	image := dockertest.Image(t, dockertest.Self(t))
	own, host := os.Getenv("DOCKER_HOST"), reworded(t)
	t.Setenv("DOCKER_HOST", host)
	refuses(t)

	inst := launched(t, docker.Launcher{}, script(image, "print", "started", "sleep"), launchOf(t))
	waitForLog(t, inst, "started")
	t.Setenv("DOCKER_HOST", own)
	dockertest.Must(t, "rm", "--force", inst.About()["container"])
	t.Setenv("DOCKER_HOST", host)
	<-inst.Exited()
	var f *engine.Failure
	err := inst.Ready(t.Context())
	if !errors.As(err, &f) || f.Exit == nil ||
		!strings.Contains(f.Reason, "was removed by something other than mxflow") {
		t.Errorf("removed by another: %v", err)
	}
	must.Do(t, inst.Stop(t.Context()))
	e := script(image, "sleep")
	e.Docker, e.Exec = nil, &engine.Exec{Container: "no-such-container"}
	if _, err := (docker.Launcher{}).Launch(t.Context(), e, launchOf(t)); err == nil ||
		!strings.Contains(err.Error(), `there is no container "no-such-container"`) {
		t.Errorf("no container: %v", err)
	}
	if id, err := docker.ImageID(t.Context(), "mxflow-test/never-built:1"); id != "" || err != nil {
		t.Errorf("no image: %q, %v", id, err)
	}
	if name, processes, err := docker.SweepExec(t.Context(), "no-such-container", "o"); name != "no-such-container" ||
		processes != 0 || err != nil {
		t.Errorf("sweep in a container that is gone: %d, %v", processes, err)
	}
}

// reworded is the address of the real daemon, all of whose errors say one and the same.
func reworded(t *testing.T) string {
	t.Helper()
	at, _ := docker.Connect(t.Context())
	socket, ok := strings.CutPrefix(at, "unix://")
	if !ok {
		t.Skipf("the daemon %s is not on a socket of this machine", at)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "docker" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}},
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode < http.StatusBadRequest || r.Request.Method == http.MethodHead {
				return nil
			}
			r.Body.Close()
			text := `{"message":"nix da"}`
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return nil
		},
	})
	t.Cleanup(server.Close)
	return "tcp://" + server.Listener.Addr().String()
}

func refuses(t *testing.T) {
	image := dockertest.Image(t, dockertest.Self(t))
	for name, test := range refusals(t) {
		t.Run(name, func(t *testing.T) {
			spec, to := script(image, "sleep"), freshLaunch(t)
			test.change(&spec)
			_, err := docker.Launcher{}.Launch(t.Context(), spec, to)
			var f *engine.Failure
			if !errors.As(err, &f) || f.Op != "start" {
				t.Fatalf("got %v, want a *engine.Failure to start", err)
			}
			for want := range strings.SplitSeq(test.want, "|") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
			noneLeft(t, to.Owner)
		})
	}
}

func TestProgramThatIsNotThere(t *testing.T) {
	spec := script(ownImage(t), "serve")
	spec.Docker.Entrypoint = []string{"/usr/bin/vllm"}
	inst := launched(t, docker.Launcher{}, spec, launchOf(t))
	err := inst.Ready(t.Context())
	if err == nil || !strings.Contains(err.Error(), `the image has no executable program "/usr/bin/vllm"`) {
		t.Errorf("Ready: %v", err)
	}
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	image := ownImage(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to := launchOf(t)
	_, err := docker.Launcher{}.Launch(ctx, script(image, "sleep"), to)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Launch: %v", err)
	}
	// Cancelled in the middle: the daemon is recorded right before the container is created.
	ctx, cancel = context.WithCancel(t.Context())
	l := docker.Launcher{Remember: func(_, _ string) error { cancel(); return nil }}
	if _, err := l.Launch(ctx, script(image, "sleep"), to); !errors.Is(err, context.Canceled) {
		t.Errorf("Launch: %v", err)
	}
	noneLeft(t, to.Owner)
}

func TestPausedContainerIsStopped(t *testing.T) {
	spec := script(ownImage(t), "print", "started", "sleep")
	spec.StopGrace = 100 * time.Millisecond
	to := launchOf(t)
	inst := launched(t, docker.Launcher{}, spec, to)
	waitForLog(t, inst, "started")
	dockertest.Must(t, "pause", inst.About()["container"])
	must.Do(t, inst.Stop(t.Context()))
	noneLeft(t, to.Owner)
}

func TestOutOfMemoryIsNamed(t *testing.T) {
	inst := launched(t, docker.Launcher{}, script(ownImage(t), "sleep-until", "/go", "eat"), launchOf(t))
	name := inst.About()["container"]
	if _, err := dockertest.Docker("update", "--memory", "32m", "--memory-swap", "32m", name); err != nil {
		t.Skipf("this daemon limits no memory: %v", err)
	}
	if _, err := inst.Output(t.Context(), "/program", "touch", "/go"); err != nil {
		t.Fatal(err)
	}
	<-inst.Exited()
	err := inst.Ready(t.Context())
	var f *engine.Failure
	if !errors.As(err, &f) || f.Exit == nil || f.Exit.Signal != "SIGKILL" || !strings.Contains(f.Reason, "OOMKilled") {
		t.Errorf("Ready: %v", err)
	}
}

// freeAddress is an address of this machine on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer l.Close()
	return l.Addr().String()
}

func TestHostNetwork(t *testing.T) {
	image := ownImage(t)
	spec := boxed(enginetest.Fake(""), image)
	spec.Docker.Network = "host"
	inst := launched(t, docker.Launcher{}, spec, launchOf(t))
	must.Do(t, inst.Ready(t.Context()))
	if who, seen := inst.(engine.Listener).PortUser(); who != "" || seen != (os.Geteuid() == 0) {
		t.Errorf("who else listens at its port: %q, %v", who, seen)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer l.Close()
	spec.Docker = &engine.Docker{Image: image, Pull: "never", Network: "host", Port: l.Addr().(*net.TCPAddr).Port}
	_, err = docker.Launcher{}.Launch(t.Context(), spec, launchOf(t))
	if err == nil || !strings.Contains(err.Error(), "is taken") {
		t.Errorf("Launch on a port that is taken: %v", err)
	}
}

// relay is a connection to the real daemon that can be cut, in place of a daemon on another machine.
type relay struct {
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
}

func newRelay(t *testing.T, l net.Listener, socket string) *relay {
	t.Helper()
	r := &relay{listener: l}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go r.join(from, socket)
		}
	}()
	t.Cleanup(r.cut)
	return r
}

func (r *relay) join(from net.Conn, socket string) {
	defer from.Close()
	to, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer to.Close()
	r.mu.Lock()
	r.conns = append(r.conns, from, to)
	r.mu.Unlock()
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(from, to)
}

// cutAll ends the open connections; cut also refuses new ones.
func (r *relay) cutAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

func (r *relay) cut() {
	r.listener.Close()
	r.cutAll()
}

// relayed returns a relay to the daemon, and its address.
func relayed(t *testing.T) (*relay, string) {
	t.Helper()
	at, _ := docker.Connect(t.Context())
	socket, ok := strings.CutPrefix(at, "unix://")
	if !ok {
		t.Skipf("the daemon %s is not on a socket of this machine", at)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	return newRelay(t, l, socket), "tcp://" + l.Addr().String()
}

func TestNoDaemon(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "docker.sock"))
	_, err := docker.Launcher{}.Launch(t.Context(), script("none", "sleep"), launchOf(t))
	var f *engine.Failure
	if !errors.As(err, &f) || f.Op != "start" || !strings.Contains(f.Reason, "no daemon listens there") ||
		!strings.Contains(f.Reason, "systemctl start docker") {
		t.Errorf("got %v, want a *engine.Failure to start", err)
	}
	for range 2 { // asked once
		got, err := docker.Launcher{}.Identify(t.Context(),
			engine.Spec{Kind: "openai", Docker: &engine.Docker{Image: "any"}})
		if got != "missing" || err == nil || !strings.Contains(err.Error(), "no daemon listens there") {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestDaemonGoesAway(t *testing.T) {
	dockertest.Need(t)
	r, host := relayed(t)
	spec := script(dockertest.Image(t, dockertest.Self(t)), "print", "started", "sleep")
	own := os.Getenv("DOCKER_HOST")
	t.Setenv("DOCKER_HOST", host)
	to := launchOf(t)
	inst, err := docker.Launcher{}.Launch(t.Context(), spec, to)
	must.Do(t, err)
	waitForLog(t, inst, "started")
	r.cut()
	<-inst.Exited()
	err = inst.Ready(t.Context())
	var f *engine.Failure
	if !errors.As(err, &f) || !errors.Is(err, docker.ErrUnreachable) ||
		!strings.Contains(f.Reason, "went away while it ran") {
		t.Errorf("Ready: %v", err)
	}
	err = inst.Stop(t.Context())
	if !errors.As(err, &f) || f.Op != "stop" || !strings.Contains(f.Reason, "docker rm -f "+inst.About()["container"]) {
		t.Errorf("Stop: %v", err)
	}
	t.Setenv("DOCKER_HOST", own)
	t.Cleanup(func() { // what mxflow could not remove
		if _, err := docker.Sweep(context.Background(), to.Owner, farFuture); err != nil {
			t.Error(err)
		}
	})
	if n := len(left(t, to.Owner)); n != 1 {
		t.Errorf("%d containers are there, want the one that could not be removed", n)
	}
}

// A launch whose log can no longer be followed is an error, and is repeated.
func TestConnectionBreaks(t *testing.T) {
	dockertest.Need(t)
	r, host := relayed(t)
	spec := script(dockertest.Image(t, dockertest.Self(t)), "print", "started", "sleep")
	t.Setenv("DOCKER_HOST", host)
	inst := launched(t, docker.Launcher{}, spec, launchOf(t))
	waitForLog(t, inst, "started")
	if about := inst.About()["docker"]; about != host {
		t.Errorf("the record says %s, want %s", about, host)
	}
	r.cutAll()
	<-inst.Exited()
	if err := inst.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "went away while it ran") {
		t.Errorf("Ready: %v", err)
	}
}
