package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mxflow/mxflow/engine/docker/dockertest"
)

// program is the mxflow under test: the real binary, since mxflow starts its
// embedded engine by running its own executable again, and a test binary is not
// one.
var program string

func TestMain(m *testing.M) {
	os.Exit(withProgram(m.Run))
}

// withProgram builds mxflow once, as it is shipped: static, and without the race
// detector even where the tests have it, since that would slow the engine.
func withProgram(tests func() int) int {
	dir, err := os.MkdirTemp("", "mxflow-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "mxflow")
	build := exec.Command("go", "build", "-race=false", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "mxflow cannot be built: %v\n%s", err, out)
		return 1
	}
	status := tests()
	if err := dockertest.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// TestScript runs the scenarios in testdata/script. What the commands beyond
// testscript's own do stands where each is defined.
func TestScript(t *testing.T) {
	plans, err := filepath.Abs(filepath.Join("testdata", "plans"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		// Far more than all scenarios take: a hang fails well before go test's own
		// limit, and what hangs is ended.
		Deadline: time.Now().Add(8 * time.Minute),
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+e.Getenv("PATH"))
			// $PLANS/tiny.hcl is the plan that most scenarios vary.
			e.Setenv("PLANS", plans)
			e.Setenv("NO_COLOR", "1")
			e.Setenv("DOCKER_HOST", os.Getenv("DOCKER_HOST"))
			e.Values[processesKey{}] = processes{}
			e.Values[registryStop{}] = new(func())
			return nil
		},
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      cmdExits,
			"start":      cmdStart,
			"wait-for":   cmdWaitFor,
			"signal":     cmdSignal,
			"finish":     cmdFinish,
			"no-engines": cmdNoEngines,
			"flip-byte":  cmdFlipByte,
			"cut-after":  cmdCutAfter,
			"json-count": cmdJSONCount,
			"json-lines": cmdJSONLines,

			"docker-image":    cmdDockerImage,
			"docker-count":    cmdDockerCount,
			"docker-wait":     cmdDockerWait,
			"docker-networks": cmdDockerNetworks,
			"docker-foreign":  cmdDockerForeign,

			"registry":      cmdRegistry,
			"registry-stop": cmdRegistryStop,
			"registry-push": cmdRegistryPush,

			"dev-container":     cmdDevContainer,
			"processes-in":      cmdProcessesIn,
			"wait-processes-in": cmdWaitProcessesIn,

			"free-port": cmdFreePort,
			"tls-front": cmdTLSFront,
		},
		RequireUniqueNames: true,
	})
}

// condition adds [namespaces]: this system lets the test mount file systems that
// nobody else sees; and [docker], see dockerThere.
func condition(name string) (bool, error) {
	if name == "long" {
		return os.Getenv("MXFLOW_TEST_LONG") != "", nil
	}
	if name == "docker" {
		return dockerThere(), nil
	}
	if name == "compose" {
		return composeThere(), nil
	}
	if name == "registry" {
		return registryThere(), nil
	}
	if name == "busybox" {
		return busyboxThere(), nil
	}
	if name != "namespaces" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	return exec.Command("unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt").Run() == nil, nil
}
