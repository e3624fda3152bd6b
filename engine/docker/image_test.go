package docker_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/internal/testing/dockertest"
	"github.com/mxflow/mxflow/internal/testing/enginetest"
	"github.com/mxflow/mxflow/internal/testing/must"
)

func nobody(string) string { return "" }

// An apply asks a real registry for an image once, before identifying it.
func TestFetch(t *testing.T) {
	t.Parallel()
	dockertest.Need(t)
	_, err := exec.LookPath(dockertest.RegistryProgram)
	enginetest.Require(t, "registry", err)
	address, stop, err := dockertest.Registry(t.TempDir())
	must.Do(t, err)
	t.Cleanup(stop)
	first := dockertest.Image(t, dockertest.Self(t))
	second := dockertest.Image(t, dockertest.Self(t), "ENV SECOND=1")
	name := address + "/mxflow/engine:1"
	push := func(from string) {
		t.Helper()
		must.Do(t, dockertest.Push(from, name))
	}
	push(first)
	t.Cleanup(func() {
		if err := dockertest.ForgetAll(address); err != nil {
			t.Error(err)
		}
	})
	spec := func(pull string) engine.Spec {
		return engine.Spec{Kind: "openai", Docker: &engine.Docker{Image: name, Pull: pull, Port: 8000}}
	}
	pulled := 0
	apply := func() docker.Launcher {
		return docker.Launcher{Images: &docker.Images{Pulling: func(string, int64, int64) { pulled++ }}}
	}
	fetch := func(l docker.Launcher, pull string, pulls int, made func(string) string) (string, error) {
		t.Helper()
		before := pulled
		err := l.Fetch(t.Context(), spec(pull), made)
		if pulled-before != pulls {
			t.Errorf("%s: %d pulls, want %d", pull, pulled-before, pulls)
		}
		is, _ := l.Identify(t.Context(), spec(pull))
		return is, err
	}

	l := apply()
	if is, err := fetch(l, "never", 0, nobody); is != "missing" || err != nil {
		t.Errorf("never: %s, %v", is, err)
	}
	maker := func(image string) string {
		if docker.SameImage(image, name) {
			return "phase.build.step.docker_build.it"
		}
		return ""
	}
	if is, err := fetch(apply(), "missing", 0, maker); is != "missing" || err == nil ||
		!strings.Contains(err.Error(), "because phase.build.step.docker_build.it builds it") {
		t.Errorf("an image of a later step: %s, %v", is, err)
	}
	one, err := fetch(l, "missing", 1, nobody)
	if err != nil || !strings.HasPrefix(one, "sha256:") {
		t.Fatalf("missing: %s, %v", one, err)
	}
	push(second)
	dockertest.Must(t, "rmi", name)
	two, err := fetch(apply(), "missing", 1, nobody)
	if err != nil || two == one {
		t.Errorf("a new push, and none there: %s, %v; was %s", two, err, one)
	}
	push(first)
	if again, err := fetch(apply(), "missing", 0, nobody); err != nil || again != two {
		t.Errorf("missing, there: %s, %v; want %s", again, err, two)
	}
	if again, err := fetch(apply(), "always", 0, maker); err != nil || again != two {
		t.Errorf("always, of a step: %s, %v; want %s", again, err, two)
	}
	l = apply()
	if newest, err := fetch(l, "always", 1, nobody); err != nil || newest != one {
		t.Errorf("always: %s, %v; want %s", newest, err, one)
	}
	push(second)
	if same, err := fetch(l, "always", 0, nobody); err != nil || same != one {
		t.Errorf("always, the second time in an apply: %s, %v; want %s", same, err, one)
	}
	unknown := spec("missing")
	unknown.Docker.Image = address + "/mxflow/engine:2"
	if err := l.Fetch(t.Context(), unknown, nobody); err == nil ||
		!strings.Contains(err.Error(), "has no such image or tag") {
		t.Errorf("unknown tag: %v", err)
	}

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := apply().Fetch(cancelled, spec("always"), nobody); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	stop()
	l = apply()
	for pulls := range 2 {
		if _, err := fetch(l, "always", 1-pulls, nobody); err == nil || !strings.Contains(err.Error(),
			"its registry cannot be reached") || !strings.Contains(err.Error(), `set pull = "missing" to use it`) {
			t.Errorf("a dead registry: %v", err)
		}
	}
	if _, err := fetch(apply(), "missing", 0, nobody); err != nil {
		t.Errorf("a dead registry and an image that is there: %v", err)
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	dockertest.Need(t)
	name := dockertest.Image(t, dockertest.Self(t))
	id := dockertest.Must(t, "image", "inspect", "--format", "{{.Id}}", name)
	for what, test := range map[string]struct {
		box       engine.Docker
		want, err string
	}{
		"built here": {engine.Docker{Image: name}, id, ""},
		"not there":  {engine.Docker{Image: "mxflow-test/never-built:1"}, "missing", "is not on the docker daemon"},
		"no image":   {engine.Docker{}, "missing", "the image is missing"},
	} {
		got, err := docker.Launcher{}.Identify(t.Context(), engine.Spec{Kind: "openai", Docker: &test.box})
		if got != test.want || (err == nil) != (test.err == "") || err != nil &&
			!strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %q, %v; want %q, %q", what, got, err, test.want, test.err)
		}
	}
	// Another image is another engine.
	again := dockertest.Image(t, dockertest.Self(t), "ENV OTHER=1")
	other, err := docker.ImageIdentity(t.Context(), again)
	if err != nil || other == id || !strings.HasPrefix(other, "sha256:") {
		t.Errorf("another image is %q, %v", other, err)
	}
}
