package docker

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/registry"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestAddress(t *testing.T) {
	for host, far := range map[string]bool{
		"unix:///run/d.sock": false, "tcp://127.0.0.1:2375": false, "tcp://10.0.0.3:2375": true, "ssh://me@gb10": true,
		"10.0.0.3:2375": true,
	} {
		t.Setenv("DOCKER_HOST", host)
		d, err := dial()
		if (err != nil) != far || !far && d.host != host || far && !strings.Contains(err.Error(), `executor "ssh"`) {
			t.Errorf("DOCKER_HOST %q: %v, %v", host, d, err)
		}
	}
}

// write writes a file below a folder.
func write(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	must.Do(t, err)
}

// TestEndpoint: the daemon is the one that the docker command would use.
func TestEndpoint(t *testing.T) {
	for _, name := range []string{
		"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS", "DOCKER_TLS_VERIFY",
		"DOCKER_CERT_PATH",
	} {
		t.Setenv(name, "")
	}
	config, run := t.TempDir(), t.TempDir()
	t.Setenv("DOCKER_CONFIG", config)
	t.Setenv("XDG_RUNTIME_DIR", run)
	for name, meta := range map[string]string{
		"rootless": `{"Name":"rootless","Metadata":{},"Endpoints":{"docker":{"Host":"unix:///run/user/1000/docker.sock","SkipTLSVerify":false}}}`,
		"remote":   `{"Name":"remote","Endpoints":{"docker":{"Host":"tcp://10.0.0.3:2376","SkipTLSVerify":true}}}`,
	} {
		write(t, config, "contexts/meta/"+contextID(name)+"/meta.json", meta)
	}
	write(t, config, "contexts/tls/"+contextID("remote")+"/docker/ca.pem", "")
	there := func(host string) {
		t.Helper()
		if at, err := findEndpoint(); err != nil || at.host != host {
			t.Errorf("the daemon is %+v, %v; want %s", at, err, host)
		}
	}
	write(t, config, "config.json", `{"currentContext": "rootless"}`)
	there("unix:///run/user/1000/docker.sock")
	t.Setenv("DOCKER_CONTEXT", "remote")
	there("tcp://10.0.0.3:2376")
	if at, _ := findEndpoint(); at.certs != filepath.Join(config, "contexts/tls", contextID("remote"), "docker") ||
		!at.trusting {
		t.Errorf("its certificates are %+v", at)
	}
	if _, err := (Launcher{}).Launch(t.Context(),
		engine.Spec{Kind: "openai", Docker: &engine.Docker{Image: "any", Port: 1}}, engine.Launch{
			ID: "l", Owner: "o",
			LogPath: filepath.Join(run, "log"),
		}); err == nil || !strings.Contains(err.Error(), "not on this machine") {
		t.Errorf("a daemon of another machine: %v", err)
	}
	t.Setenv("DOCKER_CONTEXT", "gone")
	if _, err := findEndpoint(); err == nil ||
		!strings.Contains(err.Error(), `docker's context "gone" cannot be read`) {
		t.Errorf("a context that does not exist: %v", err)
	}
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:2376")
	there("tcp://127.0.0.1:2376")
	t.Setenv("DOCKER_TLS_VERIFY", "1")
	if at, _ := findEndpoint(); at.certs != config || at.trusting {
		t.Errorf("DOCKER_TLS_VERIFY: %+v", at)
	}
	t.Setenv("DOCKER_HOST", "")
	t.Setenv("DOCKER_CONTEXT", "default")
	if _, err := os.Stat("/var/run/docker.sock"); err == nil {
		there("unix:///var/run/docker.sock")
		return
	}
	write(t, run, "podman/podman.sock", "")
	there("unix://" + run + "/podman/podman.sock")
	if env := commandEnv(); len(env) != 1 || env[0] != "DOCKER_HOST=unix://"+run+"/podman/podman.sock" {
		t.Errorf("docker's commands are given %q", env)
	}
}

// fakeDaemon answers as a daemon does, and keeps what it was asked.
type fakeDaemon struct {
	mu    sync.Mutex
	asked map[string][]byte
	auth  string
}

// newFakeDaemon serves answers, by method and the end of the path, and makes it the daemon.
func newFakeDaemon(t *testing.T, answers map[string]string) *fakeDaemon {
	t.Helper()
	d := &fakeDaemon{asked: map[string][]byte{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Api-Version", "1.41")
		w.Header().Set("Content-Type", "application/json")
		for end, answer := range answers {
			method, path, _ := strings.Cut(end, " ")
			if r.Method != method || !strings.HasSuffix(r.URL.Path, path) {
				continue
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			d.asked[end], d.auth = body, r.Header.Get("X-Registry-Auth")
			if status, text, ok := strings.Cut(answer, " "); ok && len(status) == 3 {
				w.WriteHeader(map[string]int{"404": 404, "401": 401, "500": 500}[status])
				answer = text
			}
			_, _ = io.WriteString(w, answer)
			return
		}
		w.WriteHeader(http.StatusOK)
	}))
	t.Cleanup(server.Close)
	t.Setenv("DOCKER_HOST", "tcp://"+server.Listener.Addr().String())
	t.Setenv("DOCKER_TLS_VERIFY", "")
	t.Setenv("DOCKER_TLS", "")
	return d
}

// TestROCm: what a container of an AMD image is created with.
func TestROCm(t *testing.T) {
	d := newFakeDaemon(t, map[string]string{
		"GET /images/rocm/vllm:latest/json": `{"Id":"sha256:1"}`,
		"POST /containers/create":           `500 {"message":"that is as far as it goes"}`,
	})
	folder := t.TempDir()
	launch := func(block engine.Docker) (asked struct {
		container.Config
		HostConfig container.HostConfig
	},
	) {
		t.Helper()
		block.Image, block.Port = "rocm/vllm:latest", 8000
		_, err := Launcher{}.Launch(t.Context(),
			engine.Spec{Kind: "openai", Command: []string{"serve"}, Docker: &block},
			engine.Launch{ID: "l", Owner: "o", LogPath: filepath.Join(folder, "log")})
		if err == nil || !strings.Contains(err.Error(), "as far as it goes") {
			t.Fatal(err)
		}
		must.Do(t, json.Unmarshal(d.asked["POST /containers/create"], &asked))
		return asked
	}
	// Groups are by number: images know them by others.
	byNumber := func(h container.HostConfig) string {
		groups := strings.Trim(strings.Join(h.GroupAdd, ""), "0123456789")
		return fmt.Sprintln(h.Devices, h.SecurityOpt, len(h.DeviceRequests), groups)
	}
	host := launch(engine.Docker{GPUs: "amd"}).HostConfig
	if got := byNumber(host); got != "[{/dev/kfd /dev/kfd rwm} {/dev/dri /dev/dri rwm}] [seccomp=unconfined] 0 \n" {
		t.Errorf("amd: %s", got)
	}
	host = launch(engine.Docker{
		Devices: []string{"/dev/kfd", "/dev/dri:/dev/dri:rw", "amd.com/gpu=0"}, GroupAdd: []string{"video", "109"},
		CapAdd:      []string{"SYS_PTRACE"},
		SecurityOpt: []string{"seccomp=unconfined", "systempaths=unconfined"}, IPC: "host", ShmSize: "16g",
		Ulimits: map[string]string{"memlock": "-1"},
	}).HostConfig
	got := fmt.Sprintln(host.Devices, host.GroupAdd, host.CapAdd, host.SecurityOpt, host.MaskedPaths, host.IpcMode,
		host.ShmSize>>30, host.Ulimits[0].Name, host.Ulimits[0].Hard, host.DeviceRequests[0].Driver)
	want := "[{/dev/kfd /dev/kfd rwm} {/dev/dri /dev/dri rw}] [video 109] [CAP_SYS_PTRACE] [seccomp=unconfined] []" +
		" host 16 memlock -1 cdi\n"
	if got != want || host.MaskedPaths == nil {
		t.Errorf("by name: %s, want %s", got, want)
	}
	if asked := launch(engine.Docker{GPUs: "all"}); asked.HostConfig.DeviceRequests[0].Count != -1 ||
		asked.HostConfig.Devices != nil {
		t.Errorf("all: %+v", asked.HostConfig)
	}
	listed := launch(engine.Docker{GPUs: []any{"1", "GPU-5d1e"}}).HostConfig.DeviceRequests[0].DeviceIDs
	if fmt.Sprint(listed) != "[1 GPU-5d1e]" {
		t.Errorf("a list: %q", listed)
	}
}

// TestLogins: a pull carries the login that docker keeps for the image's registry.
func TestLogins(t *testing.T) {
	bin, config := t.TempDir(), t.TempDir()
	t.Setenv("DOCKER_CONFIG", config)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	write(t, bin, "docker-credential-vault", `#!/bin/sh
read server
case $server in
vault.example) echo '{"ServerURL":"vault.example","Username":"me","Secret":"from vault"}' ;;
token.example) echo '{"ServerURL":"token.example","Username":"<token>","Secret":"tok"}' ;;
*) echo credentials not found in native keychain; exit 1 ;;
esac
`)
	must.Do(t, os.Chmod(filepath.Join(bin, "docker-credential-vault"), 0o755))
	write(t, config, "config.json", `{
		"auths": {
			"plain.example": {"auth": "`+base64.StdEncoding.EncodeToString([]byte("you:a:b"))+`"},
			"https://index.docker.io/v1/": {"identitytoken": "hub"}
		},
		"credHelpers": {"vault.example": "vault", "token.example": "vault", "none.example": "vault", "gone.example": "no-such"}
	}`)
	d := newFakeDaemon(t, map[string]string{"POST /images/create": `500 {"message":"no"}`})
	for image, want := range map[string]registry.AuthConfig{
		"plain.example/x:1": {Username: "you", Password: "a:b", ServerAddress: "plain.example"},
		"vault.example/x:1": {Username: "me", Password: "from vault", ServerAddress: "vault.example"},
		"token.example/x:1": {IdentityToken: "tok", ServerAddress: "token.example"},
		"vllm/vllm-openai":  {IdentityToken: "hub", ServerAddress: dockerHub},
		"none.example/x":    {}, "gone.example/x": {}, "other.example/x": {},
	} {
		daemon, err := dial()
		must.Do(t, err)
		err = (&Images{}).pull(t.Context(), daemon, image)
		if err == nil || strings.Contains(err.Error(), "run docker login") == (want != registry.AuthConfig{}) {
			t.Errorf("%s: %v", image, err)
		}
		var got registry.AuthConfig
		if d.auth != "" {
			text, _ := base64.URLEncoding.DecodeString(d.auth)
			if err := json.Unmarshal(text, &got); err != nil {
				t.Error(err)
			}
		}
		if got != want {
			t.Errorf("%s is pulled as %+v, want %+v", image, got, want)
		}
	}
}

// TestPullRefused: the class of an error says what to do, whatever its words.
func TestPullRefused(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	for answer, want := range map[string]string{
		`404 {"message":"nix da"}`: "has no such image or tag",
		`401 {"message":"nix da"}`: "requires a login: run docker login there.example",
		`500 {"message":"nix da"}`: "cannot be reached",
		`{"status":"Pulling"}` + "\n" + `{"errorDetail":{"code":401,"message":"nix da"}}`: "requires a login",
		`{"status":"Pulling"}` + "\n" + `{"errorDetail":{"message":"nix da"}}`:            "see the daemon's message",
		`{"status":"Pulling"}` + "\n" + `{"errorDetail":`:                                 "cannot use docker daemon",
	} {
		newFakeDaemon(t, map[string]string{"POST /images/create": answer})
		d, err := dial()
		if err == nil {
			err = (&Images{}).pull(t.Context(), d, "there.example/x:1")
		}
		if err == nil || !strings.Contains(err.Error(), want) || want != "cannot use docker daemon" &&
			!strings.Contains(err.Error(), "nix da") {
			t.Errorf("%s: %v; want %q", answer, err, want)
		}
	}
}

// TestPullProgress: layers are counted once, whether they are downloaded or unpacked.
func TestPullProgress(t *testing.T) {
	pullEvery = 0
	t.Cleanup(func() { pullEvery = time.Minute })
	var done, size int64
	err := pulled(strings.NewReader(`{"status":"Pulling from x","id":"1"}
{"status":"Downloading","id":"a","progressDetail":{"current":100,"total":1000}}
{"status":"Downloading","id":"b","progressDetail":{"current":2000,"total":2000}}
{"status":"Extracting","id":"b","progressDetail":{"current":10,"total":2000}}
{"status":"Downloading","id":"a","progressDetail":{"current":900,"total":1000}}
`), func(d, s int64) { done, size = d, s })
	if err != nil || done != 2900 || size != 3000 {
		t.Errorf("%d of %d, %v; want 2900 of 3000", done, size, err)
	}
}

// TestDaemonHangs: one that takes connections and says nothing holds up no request, be its
// answer a document or a stream.
func TestDaemonHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	t.Cleanup(func() { l.Close() })
	t.Setenv("DOCKER_HOST", "tcp://"+l.Addr().String())
	t.Setenv("DOCKER_API_VERSION", "1.41")
	was := callLimit
	callLimit = 50 * time.Millisecond
	t.Cleanup(func() { callLimit = was })
	d, err := dial()
	must.Do(t, err)
	for name, request := range map[string]func(context.Context) error{
		"ping": func(ctx context.Context) error { _, err := Connect(ctx); return err },
		"attach": func(ctx context.Context) error {
			_, err := open(ctx, d, callLimit, func(ctx context.Context) (*stream, error) {
				return hijacked(d.ContainerAttach(ctx, "x", container.AttachOptions{Stream: true}))
			})
			return err
		},
		"exec": func(ctx context.Context) error {
			_, err := d.execute(ctx, time.Minute, "x", container.ExecOptions{Cmd: []string{"ls"}}, nil)
			return err
		},
	} {
		if err := request(t.Context()); !errors.Is(err, ErrUnreachable) ||
			!strings.Contains(err.Error(), "did not answer within") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
