package main

import (
	"context"
	"crypto/rand"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mxflow/mxflow/engine/docker/dockertest"
	"github.com/mxflow/mxflow/engine/enginetest"
)

// composeThere is the condition [compose]: there is a compose command beside a
// daemon. Where it is required, it is taken to be there.
func composeThere() bool {
	if enginetest.Required("compose") {
		return true
	}
	_, err := exec.LookPath("docker-compose")
	return dockerThere() && (err == nil || exec.Command("docker", "compose", "version").Run() == nil)
}

// busyboxThere is the condition [busybox]: images with a shell can be built.
func busyboxThere() bool {
	_, err := exec.LookPath("busybox")
	return enginetest.Required("docker") || err == nil
}

// cmdDevContainer is
//
//	dev-container VARIABLE
//
// It starts a container that does nothing, of an image with a shell and the mxflow
// under test in it, which all scenarios share. The container's name goes into
// VARIABLE, the image's into VARIABLE_IMAGE. The container goes away with the
// scenario.
func cmdDevContainer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: dev-container VARIABLE")
	}
	d := daemonOf(ts)
	image, err := dockertest.DevOnce(d, program)
	ts.Check(err)
	name := "mxflow-test-" + strings.ToLower(rand.Text()[:10])
	made, err := d.ContainerCreate(context.Background(), &container.Config{Image: image}, nil, nil, nil, name)
	ts.Check(err)
	ts.Defer(func() {
		ts.Check(d.ContainerRemove(context.Background(), made.ID, container.RemoveOptions{Force: true}))
	})
	ts.Check(d.ContainerStart(context.Background(), made.ID, container.StartOptions{}))
	ts.Setenv(args[0], name)
	ts.Setenv(args[0]+"_IMAGE", image)
}

// cmdProcessesIn is
//
//	processes-in CONTAINER N REGEXP
//
// As many processes with a command line that matches run in a container.
func cmdProcessesIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: processes-in CONTAINER N REGEXP")
	}
	if found := processesIn(ts, args[0], args[2]); strconv.Itoa(len(found)) != args[1] {
		ts.Fatalf("in %s there run %d processes %s, want %s: %s", args[0], len(found), args[2], args[1], strings.Join(found, "; "))
	}
}

// cmdWaitProcessesIn waits until processes-in holds.
func cmdWaitProcessesIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: wait-processes-in CONTAINER N REGEXP")
	}
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		if strconv.Itoa(len(processesIn(ts, args[0], args[2]))) == args[1] {
			return
		}
	}
	cmdProcessesIn(ts, neg, args)
}

// processesIn lists the command lines of a container's processes, zombies aside.
func processesIn(ts *testscript.TestScript, name, pattern string) []string {
	match, err := regexp.Compile(pattern)
	ts.Check(err)
	top, err := daemonOf(ts).ContainerTop(context.Background(), name, []string{"-eo", "pid,stat,args"})
	ts.Check(err)
	var found []string
	for _, p := range top.Processes {
		if line := strings.Join(p[2:], " "); !strings.HasPrefix(p[1], "Z") && match.MatchString(line) {
			found = append(found, line)
		}
	}
	return found
}

// cmdDockerNetworks is
//
//	docker-networks N LABEL[=VALUE]
//
// As many networks carry the label, in the words of docker-count.
func cmdDockerNetworks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: docker-networks N LABEL[=VALUE]")
	}
	found, err := daemonOf(ts).NetworkList(context.Background(),
		network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", withOwner(ts, args[1])))})
	ts.Check(err)
	if strconv.Itoa(len(found)) != args[0] {
		ts.Fatalf("%d networks carry %s, want %s: %+v", len(found), args[1], args[0], found)
	}
}
