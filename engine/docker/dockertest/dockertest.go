// Package dockertest gives tests a real docker daemon, and images that need no
// registry: they are built FROM scratch, around one static program.
package dockertest

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	dockerbuild "github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/image"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/enginetest"
)

// Daemon is this machine's docker daemon; without one the test is skipped, or fails if
// docker is required.
func Daemon(t testing.TB) *docker.Daemon {
	t.Helper()
	d, err := docker.Connect(t.Context())
	enginetest.Require(t, "docker", err)
	return d
}

// Self is a static build of the test binary of the package in the current folder: the
// running binary, if it is static. It is built once, and removed by Remove.
func Self(t testing.TB) string {
	t.Helper()
	path, err := self()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var self = sync.OnceValues(func() (string, error) {
	running, err := os.Executable()
	if err != nil || static(running) {
		return running, err
	}
	folder, err := os.MkdirTemp("", "mxflow-static")
	if err != nil {
		return "", err
	}
	atEnd(func() error { return os.RemoveAll(folder) })
	path := filepath.Join(folder, "static.test")
	// Without symbols: each container with it has less to copy.
	cmd := exec.Command("go", "test", "-c", "-ldflags=-s -w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the test binary cannot be built for a container: %w\n%s", err, out)
	}
	return path, nil
})

// static reports whether a program needs no loader.
func static(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}

// Image is the name of an image FROM scratch with the program as /program and, by lines
// such as `ENV NAME=value`, more. All tests of a process share it: see Once.
func Image(t testing.TB, d *docker.Daemon, program string, lines ...string) string {
	t.Helper()
	name, err := Once(d, program, lines...)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// build builds an image as Image says.
func build(ctx context.Context, d *docker.Daemon, name, program string, lines ...string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	file := "FROM scratch\nCOPY program /program\nENTRYPOINT [\"/program\"]\n" + strings.Join(lines, "\n") + "\n"
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range []struct {
		name string
		text []byte
	}{{"Dockerfile", []byte(file)}, {"program", text}} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.text))}))
		_, wrong := w.Write(f.text)
		err = errors.Join(err, wrong)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	built, err := d.ImageBuild(ctx, &buf, dockerbuild.ImageBuildOptions{Tags: []string{name}, Remove: true, ForceRemove: true})
	if err != nil {
		return fmt.Errorf("image %s cannot be built: %w", name, err)
	}
	defer built.Body.Close()
	for dec := json.NewDecoder(built.Body); ; {
		var m struct{ Error string }
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if m.Error != "" {
			return fmt.Errorf("image %s cannot be built: %s", name, m.Error)
		}
	}
}

// ErrNoBusybox means that there is no shell to put into an image.
var ErrNoBusybox = errors.New("images with a shell need a static busybox: install the package busybox-static")

// DevImage is the name of an image like those for development: see DevOnce. Without
// busybox the test is skipped, or fails if docker is required.
func DevImage(t testing.TB, d *docker.Daemon, program string) string {
	t.Helper()
	name, err := DevOnce(d, program)
	if errors.Is(err, ErrNoBusybox) {
		enginetest.Require(t, "docker", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// DevOnce builds an image with a shell and tools (busybox) beside the program, which is
// /program, on first use; its container idles until it is ended. The image stays until
// Remove.
func DevOnce(d *docker.Daemon, program string) (name string, err error) {
	box, err := exec.LookPath("busybox")
	if err != nil || !static(box) {
		return "", ErrNoBusybox
	}
	first, err := Once(d, program)
	if err != nil {
		return "", err
	}
	return once(d, "busybox\n"+program, func(name string) error {
		return build(context.Background(), d, name, box, "COPY program /bin/busybox", "COPY --from="+first+" /program /program",
			`RUN ["/bin/busybox", "mkdir", "/tmp"]`, `RUN ["/bin/busybox", "--install", "-s", "/bin"]`,
			`ENTRYPOINT []`, `CMD ["sleep", "1000000"]`)
	})
}

// shared is what this process's tests share: images by their ingredients, and cleanup
// functions, run in reverse order.
var shared struct {
	sync.Mutex
	images map[string]func() (string, error)
	undo   []func() error
}

// Remove removes what this process's tests shared; call it after the last one.
func Remove() error {
	shared.Lock()
	undo := shared.undo
	shared.images, shared.undo = nil, nil
	shared.Unlock()
	var all error
	for i := len(undo) - 1; i >= 0; i-- {
		all = errors.Join(all, undo[i]())
	}
	return all
}

// atEnd adds a cleanup to Remove.
func atEnd(undo func() error) {
	shared.Lock()
	defer shared.Unlock()
	shared.undo = append(shared.undo, undo)
}

// Once builds an image as Image does, on first use. It stays until Remove.
func Once(d *docker.Daemon, program string, lines ...string) (name string, err error) {
	return once(d, program+"\n"+strings.Join(lines, "\n"), func(name string) error {
		return build(context.Background(), d, name, program, lines...)
	})
}

// once makes the image of a key.
func once(d *docker.Daemon, key string, make func(name string) error) (string, error) {
	shared.Lock()
	if shared.images == nil {
		shared.images = map[string]func() (string, error){}
	}
	get, ok := shared.images[key]
	if !ok {
		get = sync.OnceValues(func() (string, error) {
			name := "mxflow-test/" + strings.ToLower(rand.Text()[:10]) + ":1"
			if err := make(name); err != nil {
				return "", err
			}
			atEnd(func() error { return removeImage(d, name) })
			return name, nil
		})
		shared.images[key] = get
	}
	shared.Unlock()
	return get()
}

func removeImage(d *docker.Daemon, name string) error {
	_, err := d.ImageRemove(context.Background(), name, image.RemoveOptions{Force: true})
	if err != nil {
		return fmt.Errorf("image %s stays: %w", name, err)
	}
	return nil
}
