package dockertest

import (
	"context"
	"errors"
	"os/exec"
	"testing"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/enginetest"
)

// ErrNoBusybox says that there is no shell to put into an image.
var ErrNoBusybox = errors.New("images with a shell need a static busybox: install the package busybox-static")

// DevImage is the name of an image like those that people develop in: see
// DevOnce. Without busybox the test is skipped, or fails where docker is required.
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

// DevOnce builds an image with a shell and tools (busybox) beside the program,
// which is /program, the first time that it is asked for; a container of it does
// nothing until it is ended. The image stays until Remove.
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
