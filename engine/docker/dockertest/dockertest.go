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
	"testing"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/image"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/enginetest"
)

// Daemon is the docker daemon of this machine; without one the test is skipped,
// or fails where docker is required.
func Daemon(t testing.TB) *docker.Daemon {
	t.Helper()
	d, err := docker.Connect(t.Context(), "", "")
	enginetest.Require(t, "docker", err)
	return d
}

// Self is a static build of the test binary of the package in the current
// folder: the binary that runs, where it is one.
func Self(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if static(self) {
		return self
	}
	path := filepath.Join(t.TempDir(), "static.test")
	cmd := exec.Command("go", "test", "-c", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the test binary cannot be built for a container: %v\n%s", err, out)
	}
	return path
}

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

// Image builds an image FROM scratch that has the program as /program and, with
// lines such as `ENV NAME=value`, more; it is removed with the test. The result
// is its name.
func Image(t testing.TB, d *docker.Daemon, program string, lines ...string) string {
	t.Helper()
	name := "mxflow-test/" + strings.ToLower(rand.Text()[:10]) + ":1"
	if err := Build(t.Context(), d, name, program, lines...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := d.ImageRemove(context.Background(), name, image.RemoveOptions{Force: true})
		if err != nil {
			t.Errorf("image %s stays: %v", name, err)
		}
	})
	return name
}

// Build builds an image as Image does.
func Build(ctx context.Context, d *docker.Daemon, name, program string, lines ...string) error {
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
	built, err := d.ImageBuild(ctx, &buf, build.ImageBuildOptions{Tags: []string{name}, Remove: true, ForceRemove: true})
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
