package dockertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"

	"github.com/mxflow/mxflow/engine/docker"
)

// RegistryProgram is the tests' registry, in Debian's package of that name.
const RegistryProgram = "docker-registry"

// listening matches the registry's message with its port.
var listening = regexp.MustCompile(`listening on 127\.0\.0\.1:([0-9]+)`)

// Registry starts a registry on a free port, which keeps its data in folder until stop.
// Docker uses plain HTTP for its address.
func Registry(folder string) (address string, stop func(), err error) {
	config := filepath.Join(folder, "registry.yml")
	text := "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: " + filepath.Join(folder, "images") + "\nhttp:\n  addr: 127.0.0.1:0\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return "", nil, err
	}
	cmd := exec.Command(RegistryProgram, "serve", config)
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, fmt.Errorf("tests of pulling need a registry: install the package %s: %w", RegistryProgram, err)
	}
	lines := bufio.NewScanner(log)
	said := ""
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			drained := make(chan struct{})
			go func() {
				_, _ = io.Copy(io.Discard, log)
				close(drained)
			}()
			return "127.0.0.1:" + m[1], func() {
				_ = cmd.Process.Kill()
				<-drained
				_ = cmd.Wait()
			}, nil
		}
		said += lines.Text() + "\n"
	}
	return "", nil, fmt.Errorf("the registry ended: %w\n%s", cmd.Wait(), said)
}

// Push pushes an image to a registry under a name that starts with the registry's
// address. Afterwards the name refers to the same image on the daemon as before.
func Push(ctx context.Context, d *docker.Daemon, from, name string) error {
	was, missing := d.ImageInspect(ctx, name)
	if err := d.ImageTag(ctx, from, name); err != nil {
		return err
	}
	// No login is required, but the daemon requires an empty one.
	stream, err := d.ImagePush(ctx, name, image.PushOptions{RegistryAuth: "e30="})
	if err != nil {
		return err
	}
	defer stream.Close()
	for dec := json.NewDecoder(stream); ; {
		var m struct{ Error string }
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			if missing != nil {
				return Forget(ctx, d, name)
			}
			return d.ImageTag(ctx, was.ID, name)
		} else if err != nil {
			return err
		}
		if m.Error != "" {
			return fmt.Errorf("image %s cannot be pushed: %s", name, m.Error)
		}
	}
}

// Forget removes a name of an image, and its registry digest, from the daemon.
func Forget(ctx context.Context, d *docker.Daemon, name string) error {
	_, err := d.ImageRemove(ctx, name, image.RemoveOptions{})
	return err
}

// ForgetAll removes everything that came from a registry from the daemon.
func ForgetAll(d *docker.Daemon, address string) error {
	all, err := d.ImageList(context.Background(), image.ListOptions{})
	for _, it := range all {
		for _, name := range slices.Concat(it.RepoTags, it.RepoDigests) {
			if !strings.HasPrefix(name, address+"/") {
				continue
			}
			// A tag may take its digest with it.
			if wrong := Forget(context.Background(), d, name); !cerrdefs.IsNotFound(wrong) {
				err = errors.Join(err, wrong)
			}
		}
	}
	return err
}
