package docker_test

import (
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/docker/dockertest"
	"github.com/mxflow/mxflow/engine/enginetest"
)

// boxed makes a fake engine run in a container of an image.
func boxed(spec engine.Spec, image string) engine.Spec {
	spec = enginetest.InContainer(spec)
	spec.Docker = &engine.Docker{Image: image, Pull: "never"}
	return spec
}

func TestConformance(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	image := dockertest.Image(t, d, dockertest.Self(t))
	faults := enginetest.Fakes()
	for i := range faults {
		spec := faults[i].Spec
		faults[i].Spec = func(t *testing.T) engine.Spec { return boxed(spec(t), image) }
	}
	enginetest.Run(t, docker.Launcher{}, func(*testing.T) engine.Spec { return boxed(enginetest.Fake(""), image) }, faults...)
}
