package dockertest

import (
	"context"
	"crypto/rand"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/image"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/enginetest"
)

// ErrNoBusybox says that there is no shell to put into an image.
var ErrNoBusybox = errors.New("images with a shell need a static busybox: install the package busybox-static")

// DevImage builds an image like those that people develop in, and removes it with
// the test: see BuildDev. Without busybox the test is skipped, or fails where
// docker is required.
func DevImage(t testing.TB, d *docker.Daemon, program string) string {
	t.Helper()
	name, remove, err := BuildDev(t.Context(), d, program)
	if errors.Is(err, ErrNoBusybox) {
		enginetest.Require(t, "docker", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Errorf("image %s stays: %v", name, err)
		}
	})
	return name
}

// BuildDev builds an image with a shell and tools (busybox) beside the program,
// which is /program; a container of it does nothing until it is ended.
func BuildDev(ctx context.Context, d *docker.Daemon, program string) (name string, remove func() error, err error) {
	box, err := exec.LookPath("busybox")
	if err != nil || !static(box) {
		return "", nil, ErrNoBusybox
	}
	name = "mxflow-test/" + strings.ToLower(rand.Text()[:10]) + ":1"
	first := strings.TrimSuffix(name, "1") + "program"
	if err := Build(ctx, d, first, program); err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, removeImage(d, first)) }()
	err = Build(ctx, d, name, box, "COPY program /bin/busybox", "COPY --from="+first+" /program /program",
		`RUN ["/bin/busybox", "mkdir", "/tmp"]`, `RUN ["/bin/busybox", "--install", "-s", "/bin"]`,
		`ENTRYPOINT []`, `CMD ["sleep", "1000000"]`)
	return name, func() error { return removeImage(d, name) }, err
}

func removeImage(d *docker.Daemon, name string) error {
	_, err := d.ImageRemove(context.Background(), name, image.RemoveOptions{Force: true})
	return err
}
