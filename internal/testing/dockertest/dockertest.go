// Package dockertest gives tests a real docker daemon, and images that need no
// registry: they are built FROM scratch, around one static program.
package dockertest

import (
	"crypto/rand"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/internal/testing/enginetest"
)

// Need skips the test without a docker daemon, or fails it if docker is required.
func Need(t testing.TB) {
	t.Helper()
	_, err := docker.Connect(t.Context())
	enginetest.Require(t, "docker", err)
}

// Docker runs a docker command and returns what it prints.
func Docker(args ...string) (string, error) {
	cmd := exec.Command("docker", args...)
	var says strings.Builder
	cmd.Stderr = &says
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("docker %s: %w: %s", args[0], err, says.String())
	}
	return strings.TrimSpace(string(out)), err
}

// Must is Docker for a test that ends if it fails.
func Must(t testing.TB, args ...string) string {
	t.Helper()
	out, err := Docker(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
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
func Image(t testing.TB, program string, lines ...string) string {
	t.Helper()
	name, err := Once(program, lines...)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// Once builds an image as Image does, on first use. It stays until Remove.
func Once(program string, lines ...string) (name string, err error) {
	lines = append([]string{"COPY program /program", `ENTRYPOINT ["/program"]`}, lines...)
	return build(lines, map[string]string{"program": program})
}

// ErrNoBusybox means that there is no shell to put into an image.
var ErrNoBusybox = errors.New("images with a shell need a static busybox: install the package busybox-static")

// DevImage is the name of an image like those for development: see DevOnce. Without
// busybox the test is skipped, or fails if docker is required.
func DevImage(t testing.TB, program string) string {
	t.Helper()
	name, err := DevOnce(program)
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
func DevOnce(program string) (name string, err error) {
	box, err := exec.LookPath("busybox")
	if err != nil || !static(box) {
		return "", ErrNoBusybox
	}
	return build([]string{
		"COPY program /program", "COPY busybox /bin/busybox", `RUN ["/bin/busybox", "mkdir", "/tmp"]`,
		`RUN ["/bin/busybox", "--install", "-s", "/bin"]`, `CMD ["sleep", "1000000"]`,
	}, map[string]string{"program": program, "busybox": box})
}

// shared is what this process's tests share: images by their ingredients, and cleanup
// functions, run in reverse order.
var shared struct {
	sync.Mutex
	images map[string]func() (string, error)
	undo   []func() error
}

// build builds an image of these lines and files, once.
func build(lines []string, files map[string]string) (string, error) {
	key := fmt.Sprint(lines, files)
	shared.Lock()
	if shared.images == nil {
		shared.images = map[string]func() (string, error){}
	}
	if shared.images[key] == nil {
		shared.images[key] = sync.OnceValues(func() (string, error) {
			folder, err := os.MkdirTemp("", "mxflow-image")
			if err != nil {
				return "", err
			}
			defer os.RemoveAll(folder)
			for to, from := range sorted.All(files) {
				text, err := os.ReadFile(from)
				if err == nil {
					err = os.WriteFile(filepath.Join(folder, to), text, 0o755)
				}
				if err != nil {
					return "", err
				}
			}
			file := filepath.Join(folder, "Dockerfile")
			if err := os.WriteFile(file, []byte("FROM scratch\n"+strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
				return "", err
			}
			name := "mxflow-test/" + strings.ToLower(rand.Text()[:10]) + ":1"
			if _, err := Docker("build", "--force-rm", "--tag", name, folder); err != nil {
				return "", err
			}
			atEnd(func() error { _, err := Docker("rmi", "--force", name); return err })
			return name, nil
		})
	}
	get := shared.images[key]
	shared.Unlock()
	return get()
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
