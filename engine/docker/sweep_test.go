package docker_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/docker/dockertest"
)

// farFuture is after every start.
var farFuture = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func TestSweepTouchesNothingElse(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	image := dockertest.Image(t, d, dockertest.Self(t))
	ours := docker.Labels(engine.Launch{Owner: "test-sweep", ID: "launch-1"})
	but := func(name, value string) map[string]string {
		l := maps.Clone(ours)
		if l[name] = value; value == "" {
			delete(l, name)
		}
		return l
	}
	made := map[string]string{} // IDs, by what it is
	for what, labels := range map[string]map[string]string{
		"ours, running": ours, "ours, only created": ours,
		"of another owner": but(docker.LabelOwner, "test-other"), "of another machine": but(docker.LabelHost, "elsewhere"),
		"started later":   but(docker.LabelStarted, time.Now().Add(time.Hour).Format(time.RFC3339Nano)),
		"without a start": but(docker.LabelStarted, ""), "without a launch": but(docker.LabelLaunch, ""), "without labels": nil,
	} {
		c, err := d.ContainerCreate(t.Context(), &container.Config{
			Image: image, Cmd: []string{"sleep"}, Env: []string{playEnv + "=1"}, Labels: labels,
		}, nil, nil, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		made[what] = c.ID
		t.Cleanup(func() {
			_ = d.ContainerRemove(context.Background(), c.ID, container.RemoveOptions{Force: true})
		})
	}
	if err := d.ContainerStart(t.Context(), made["ours, running"], container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	swept, err := docker.Sweep(t.Context(), d, "test-sweep", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(swept) != 2 || swept[0].Launch != "launch-1" || swept[0].Image != image || swept[0].Name == "" || swept[0].Started.IsZero() {
		t.Errorf("swept %+v", swept)
	}
	for what, id := range made {
		_, err := d.ContainerInspect(t.Context(), id)
		if gone := what[:4] == "ours"; gone != (err != nil) {
			t.Errorf("the container %s: %v", what, err)
		}
	}
	if again, err := docker.Sweep(t.Context(), d, "test-sweep", time.Now()); err != nil || len(again) != 0 {
		t.Errorf("a second sweep: %v, %v", again, err)
	}
	if _, err := docker.Sweep(t.Context(), d, "", time.Now()); err == nil {
		t.Error("a sweep without an owner")
	}
}
