// Package dockertest gives tests a real docker daemon, and images that need no
// registry: they are built FROM scratch, around one static program.
package dockertest

import (
	"archive/tar"
	"bytes"
	"context"
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
// folder: the binary that runs, where it is one. It is built once, and removed by
// Remove.
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
	// Without symbols: every container with it has less to be copied.
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

// Image is the name of an image FROM scratch that has the program as /program
// and, with lines such as `ENV NAME=value`, more. All tests of a process share
// it: see Once.
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
