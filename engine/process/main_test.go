package process_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/enginetest"
	"github.com/mxflow/mxflow/engine/process"
)

// applyEnv makes this binary an mxflow that starts an engine, says so, and
// waits to be killed: "owner=log path".
const applyEnv = "MXFLOW_TEST_APPLY"

func TestMain(m *testing.M) {
	if owner := os.Getenv(applyEnv); owner != "" && os.Getenv("MXFLOW_LAUNCH") == "" {
		apply(owner, os.Args[1])
	}
	enginetest.Main(m)
}

func apply(owner, log string) {
	inst, err := process.Launcher{}.Launch(context.Background(), enginetest.Fake(enginetest.Grandchildren),
		engine.Launch{ID: "launch-1", Owner: owner, LogPath: log})
	if err == nil {
		err = inst.Ready(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(inst.BaseURL())
	select {}
}

func TestProcessLauncherConforms(t *testing.T) {
	healthy := func(*testing.T) engine.Spec { return enginetest.Fake("") }
	enginetest.Run(t, process.Launcher{}, healthy, enginetest.Fakes()...)
}
