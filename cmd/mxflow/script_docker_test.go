package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/docker/dockertest"
	"github.com/mxflow/mxflow/engine/enginetest"
)

// dockerThere is the condition [docker]: a daemon answers. Where it is required,
// it is taken to be there, so that scenarios fail without it.
func dockerThere() bool {
	if enginetest.Required("docker") {
		return true
	}
	_, err := docker.Connect(context.Background(), "", "")
	return err == nil
}

func daemonOf(ts *testscript.TestScript) *docker.Daemon {
	d, err := docker.Connect(context.Background(), "", "")
	ts.Check(err)
	return d
}

// cmdDockerImage is
//
//	docker-image VARIABLE [LINE]
//
// It puts the name of an image FROM scratch whose only program is the mxflow
// under test, with one more line of its Dockerfile, into an environment variable.
// All scenarios share it.
func cmdDockerImage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: docker-image VARIABLE [LINE]")
	}
	name, err := dockertest.Once(daemonOf(ts), program, args[1:]...)
	ts.Check(err)
	ts.Setenv(args[0], name)
}

// cmdDockerCount is
//
//	docker-count N LABEL[=VALUE]...
//
// As many containers carry all of these labels, running or not. The value
// owner(DIR) is the mark of a state directory.
func cmdDockerCount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: docker-count N LABEL[=VALUE]...")
	}
	if found := labelled(ts, args[1:]); strconv.Itoa(len(found)) != args[0] {
		ts.Fatalf("%d containers carry %v, want %s: %+v", len(found), args[1:], args[0], found)
	}
}

// cmdDockerWait is
//
//	docker-wait LABEL[=VALUE]...
//
// It waits until a container with these labels runs.
func cmdDockerWait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: docker-wait LABEL[=VALUE]...")
	}
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		for _, c := range labelled(ts, args) {
			if c.State == container.StateRunning {
				return
			}
		}
	}
	ts.Fatalf("no container with %v ever ran", args)
}

func labelled(ts *testscript.TestScript, labels []string) []container.Summary {
	match := filters.NewArgs()
	for _, label := range labels {
		match.Add("label", withOwner(ts, label))
	}
	found, err := daemonOf(ts).ContainerList(context.Background(), container.ListOptions{All: true, Filters: match})
	ts.Check(err)
	return found
}

// withOwner replaces owner(DIR).
func withOwner(ts *testscript.TestScript, label string) string {
	before, dir, ok := strings.Cut(label, "owner(")
	if !ok {
		return label
	}
	return before + ownerOf(ts.MkAbs(strings.TrimSuffix(dir, ")")))
}

// cmdDockerForeign is
//
//	docker-foreign IMAGE LABEL=VALUE...
//
// It makes a container with these labels, which somebody else might have made;
// it goes away with the scenario.
func cmdDockerForeign(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: docker-foreign IMAGE LABEL=VALUE...")
	}
	labels := map[string]string{}
	for _, label := range args[1:] {
		name, value, _ := strings.Cut(withOwner(ts, label), "=")
		labels[name] = value
	}
	d := daemonOf(ts)
	c, err := d.ContainerCreate(context.Background(), &container.Config{
		Image: args[0], Cmd: []string{"engine", "serve"}, Labels: labels,
	}, nil, nil, nil, "")
	ts.Check(err)
	ts.Defer(func() {
		_ = d.ContainerRemove(context.Background(), c.ID, container.RemoveOptions{Force: true})
	})
	ts.Check(d.ContainerStart(context.Background(), c.ID, container.StartOptions{}))
}
