package docker_test

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/docker/dockertest"
)

func TestIdentify(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	name := dockertest.Image(t, d, dockertest.Self(t))
	info, err := d.ImageInspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		box       engine.Docker
		want, err string
	}{
		"built here":    {engine.Docker{Image: name}, info.ID, ""},
		"not there":     {engine.Docker{Image: "mxflow-test/never-built:1"}, "missing", "is not on the docker daemon"},
		"no image":      {engine.Docker{}, "missing", "no image is named"},
		"no daemon":     {engine.Docker{Image: name, Host: "unix:///no/such.sock"}, "missing", "no daemon listens there"},
		"still none":    {engine.Docker{Image: name, Host: "unix:///no/such.sock"}, "missing", "no daemon listens there"},
		"wrong context": {engine.Docker{Image: name, Context: "gb11"}, "missing", "no docker context"},
	} {
		got, err := docker.Launcher{}.Identify(t.Context(), engine.Spec{Kind: "openai", Docker: &test.box})
		if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %q, %v; want %q, %q", what, got, err, test.want, test.err)
		}
	}
	// Another image is another engine.
	again := dockertest.Image(t, d, dockertest.Self(t), "ENV OTHER=1")
	other, err := docker.ImageIdentity(t.Context(), "", "", again)
	if err != nil || other == info.ID || !strings.HasPrefix(other, "sha256:") {
		t.Errorf("another image is %q, %v", other, err)
	}
}
