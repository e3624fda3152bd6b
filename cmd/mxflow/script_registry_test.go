package main

import (
	"context"
	"os/exec"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/docker/dockertest"
	"github.com/mxflow/mxflow/engine/enginetest"
)

// registryThere is the condition [registry]: there is a registry to start, and a
// daemon on this machine to use it. Where it is required, it is taken to be there.
func registryThere() bool {
	if enginetest.Required("registry") {
		return true
	}
	d, err := docker.Connect(context.Background(), "", "")
	if err != nil || !d.Local() {
		return false
	}
	_, err = exec.LookPath(dockertest.RegistryProgram)
	return err == nil
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
	ts.Defer(func() { ts.Check(dockertest.ForgetAll(daemonOf(ts), address)) })
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
	ts.Check(dockertest.Push(context.Background(), daemonOf(ts), args[0], args[1]))
}
