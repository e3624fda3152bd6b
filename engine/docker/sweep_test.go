package docker_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/internal/testing/dockertest"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// farFuture is after every start.
var farFuture = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func TestSweepTouchesNothingElse(t *testing.T) {
	t.Parallel()
	dockertest.Need(t)
	image := dockertest.Image(t, dockertest.Self(t))
	ours := docker.Labels(engine.Launch{Owner: "test-sweep", ID: "launch-1"})
	but := func(name, value string) []string {
		l := slices.DeleteFunc(slices.Clone(ours), func(label string) bool {
			return strings.HasPrefix(label, name+"=")
		})
		if value != "" {
			l = append(l, name+"="+value)
		}
		return l
	}
	made := map[string]string{} // IDs, by what it is
	for what, labels := range map[string][]string{
		"ours, running": ours, "ours, only created": ours,
		"of another owner":   but(docker.LabelOwner, "test-other"),
		"of another machine": but(docker.LabelHost, "elsewhere"),
		"started later":      but(docker.LabelStarted, time.Now().Add(time.Hour).Format(time.RFC3339Nano)),
		"without a start":    but(docker.LabelStarted, ""), "without a launch": but(docker.LabelLaunch, ""),
		"without labels": nil,
	} {
		args := []string{"create", "--env", playEnv + "=1"}
		for _, label := range labels {
			args = append(args, "--label", label)
		}
		id := dockertest.Must(t, append(args, image, "sleep")...)
		made[what] = id
		t.Cleanup(func() { _, _ = dockertest.Docker("rm", "--force", id) })
	}
	dockertest.Must(t, "start", made["ours, running"])
	swept, err := docker.Sweep(t.Context(), "test-sweep", time.Now())
	must.Do(t, err)
	if len(swept) != 2 || swept[0].Launch != "launch-1" || swept[0].Image != image || swept[0].Name == "" ||
		swept[0].Started.IsZero() {
		t.Errorf("swept %+v", swept)
	}
	for what, id := range made {
		_, err := dockertest.Docker("container", "inspect", id)
		if gone := what[:4] == "ours"; gone != (err != nil) {
			t.Errorf("the container %s: %v", what, err)
		}
	}
	if again, err := docker.Sweep(t.Context(), "test-sweep", time.Now()); err != nil || len(again) != 0 {
		t.Errorf("a second sweep: %v, %v", again, err)
	}
	if _, err := docker.Sweep(t.Context(), "", time.Now()); err == nil {
		t.Error("a sweep without an owner")
	}
}
