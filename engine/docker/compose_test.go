package docker_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/internal/testing/dockertest"
	"github.com/mxflow/mxflow/internal/testing/enginetest"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// needCompose skips the test if compose is missing.
func needCompose(t *testing.T) {
	t.Helper()
	err := exec.Command("docker", "compose", "version").Run()
	if err != nil {
		_, err = exec.LookPath("docker-compose")
	}
	if err != nil {
		err = errors.New("there is neither docker compose nor docker-compose: install the package docker-compose")
	}
	enginetest.Require(t, "compose", err)
}

// composeOf writes a compose file and returns how to launch its service "eng".
func composeOf(t *testing.T, text string, profiles ...string) *engine.Compose {
	t.Helper()
	file := filepath.Join(t.TempDir(), "compose.yaml")
	must.Do(t, os.WriteFile(file, []byte(text), 0o644))
	return &engine.Compose{File: file, Service: "eng", Profiles: profiles}
}

func TestComposeConformance(t *testing.T) {
	if os.Getenv("MXFLOW_TEST_LONG") == "" {
		t.Skip("takes long: set MXFLOW_TEST_LONG=1")
	}
	t.Parallel()
	dockertest.Need(t)
	needCompose(t)
	image := dockertest.Image(t, dockertest.Self(t))
	file := "services:\n  eng:\n    image: " + image + "\n    profiles: [gpu]\n    command: [\"{port}\"]\n"
	composed := func(t *testing.T, spec engine.Spec) engine.Spec {
		spec = enginetest.InContainer(spec)
		spec.Compose = composeOf(t, file, "gpu")
		spec.Compose.Command = spec.Command
		return spec
	}
	faults := enginetest.Fakes()
	for i := range faults {
		spec := faults[i].Spec
		faults[i].Spec = func(t *testing.T) engine.Spec { return composed(t, spec(t)) }
	}
	enginetest.Run(t, docker.Launcher{}, func(t *testing.T) engine.Spec {
		return composed(t, enginetest.Fake(""))
	}, faults...)
	left := projects(t)
	if len(left) > 0 {
		t.Errorf("after all stops there is still %v", left)
	}
}

// projects lists mxflow's compose projects on the daemon.
func projects(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, list := range [][]string{{"ps", "--all"}, {"network", "ls"}} {
		text := dockertest.Must(t,
			append(list, "--format", `{{.Label "com.docker.compose.project"}} {{.Label "`+docker.LabelOwner+`"}}`)...)
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "mxflow-") && strings.Contains(line, " test-") {
				names = append(names, line)
			}
		}
	}
	return names
}

// TestComposeReadAtOnce: what one mxflow starts to read a file must not be ended by
// another that has already read its own.
func TestComposeReadAtOnce(t *testing.T) {
	t.Parallel()
	dockertest.Need(t)
	needCompose(t)
	spec := engine.Spec{Compose: composeOf(t, "services:\n  eng:\n    image: busybox\n")}
	failed := make(chan error)
	const readers = 3
	for range readers {
		go func() { failed <- docker.ReadService(t.Context(), spec) }()
	}
	for range readers {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}
