package scenario

import (
	"context"
	"crypto/rand"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/internal/testing/dockertest"
	"github.com/mxflow/mxflow/internal/testing/enginetest"
	"github.com/mxflow/mxflow/steps/apply"
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
	image, err := dockertest.DevOnce(Program)
	ts.Check(err)
	name := "mxflow-test-" + strings.ToLower(rand.Text()[:10])
	ts.Defer(func() { runDocker(ts, "rm", "--force", name) })
	runDocker(ts, "run", "--detach", "--name", name, image)
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
		ts.Fatalf("in %s there run %d processes %s, want %s: %s", args[0], len(found), args[2], args[1],
			strings.Join(found, "; "))
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
	var found []string
	for _, line := range runDocker(ts, "top", name, "-eo", "pid,stat,args")[1:] {
		f := strings.Fields(line)
		if args := strings.Join(f[2:], " "); !strings.HasPrefix(f[1], "Z") && match.MatchString(args) {
			found = append(found, args)
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
	found := runDocker(ts, "network", "ls", "--format", "{{.Name}}", "--filter", "label="+withOwner(ts, args[1]))
	if strconv.Itoa(len(found)) != args[0] {
		ts.Fatalf("%d networks carry %s, want %s: %+v", len(found), args[1], args[0], found)
	}
}

// dockerThere is the condition [docker]: a daemon answers. Where it is required,
// it is taken to be there, so that scenarios fail without it.
func dockerThere() bool {
	if enginetest.Required("docker") {
		return true
	}
	_, err := docker.Connect(context.Background())
	return err == nil
}

// runDocker runs a docker command and returns the lines that it prints.
func runDocker(ts *testscript.TestScript, args ...string) []string {
	out, err := dockertest.Docker(args...)
	ts.Check(err)
	if out == "" {
		return nil
	}
	return strings.Split(out, "\n")
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
	name, err := dockertest.Once(Program, args[1:]...)
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
	if found := labelled(ts, "--all", args[1:]); strconv.Itoa(len(found)) != args[0] {
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
		if len(labelled(ts, "--filter=status=running", args)) > 0 {
			return
		}
	}
	ts.Fatalf("no container with %v ever ran", args)
}

// labelled lists the containers with these labels.
func labelled(ts *testscript.TestScript, which string, labels []string) []string {
	args := []string{"ps", which, "--format", "{{.Names}}"}
	for _, label := range labels {
		args = append(args, "--filter", "label="+withOwner(ts, label))
	}
	return runDocker(ts, args...)
}

// withOwner replaces owner(DIR).
func withOwner(ts *testscript.TestScript, label string) string {
	before, dir, ok := strings.Cut(label, "owner(")
	if !ok {
		return label
	}
	return before + apply.Owner(ts.MkAbs(strings.TrimSuffix(dir, ")")))
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
	run := []string{"run", "--detach"}
	for _, label := range args[1:] {
		run = append(run, "--label", withOwner(ts, label))
	}
	id := runDocker(ts, append(run, args[0], "engine", "serve")...)[0]
	ts.Defer(func() { _, _ = dockertest.Docker("rm", "--force", id) })
}

// registryThere is the condition [registry]: there is a registry to start, and a
// daemon on this machine to use it. Where it is required, it is taken to be there.
func registryThere() bool {
	if enginetest.Required("registry") {
		return true
	}
	_, err := exec.LookPath(dockertest.RegistryProgram)
	return dockerThere() && err == nil
}

// registryStop is how the registry of a scenario is stopped.
type registryStop struct{}

// cmdRegistry is
//
//	registry VARIABLE
//
// It starts a registry for the scenario, and puts its address into a variable.
func cmdRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: registry VARIABLE")
	}
	address, stop, err := dockertest.Registry(ts.Getenv("WORK"))
	ts.Check(err)
	ts.Defer(stop)
	ts.Defer(func() { ts.Check(dockertest.ForgetAll(address)) })
	ts.Setenv(args[0], address)
	*ts.Value(registryStop{}).(*func()) = stop
}

// cmdRegistryStop is registry-stop: nobody answers at its address any more.
func cmdRegistryStop(ts *testscript.TestScript, neg bool, args []string) {
	(*ts.Value(registryStop{}).(*func()))()
}

// cmdRegistryPush is
//
//	registry-push IMAGE NAME
//
// It gives an image to the registry under a name. On the daemon the name
// stands for what it did before.
func cmdRegistryPush(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: registry-push IMAGE NAME")
	}
	ts.Check(dockertest.Push(args[0], args[1]))
}
