package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/scenario"
)

func TestMain(m *testing.M) { scenario.Main(m) }

// mxflow runs a command in this process.
func mxflow(args ...string) (exit int, stdout, stderr string) {
	var out, errs bytes.Buffer
	exit = run(context.Background(), args, &out, &errs)
	return exit, out.String(), errs.String()
}

// program runs a command in a process of its own, in a folder, with more in its environment.
func program(t testing.TB, dir string, env []string, args ...string) (exit int, out string) {
	t.Helper()
	c := exec.Command(scenario.Program, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	text, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(text)
}

// inFull reports whether all is tried, and not a part that shows as much of the code.
func inFull() bool { return os.Getenv("MXFLOW_TEST_LONG") != "" }

// fact is a fact of which only its words matter.
func fact(text string) verdict.Reason {
	return verdict.Say("broken", "{error}", verdict.Text("error", text))
}

func facts(texts ...string) (reasons []verdict.Reason) {
	for _, text := range texts {
		reasons = append(reasons, fact(text))
	}
	return reasons
}
