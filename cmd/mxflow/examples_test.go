package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// exitStatus is the comment in which an example says how its apply ends.
var exitStatus = regexp.MustCompile(`(?m)^# exit status: ([0-9]+)$`)

// longExamples are applied where MXFLOW_TEST_LONG is set, as CI does.
var longExamples = map[string]bool{"frameworks": true, "load": true, "choose": true}

// TestExamples applies every example, so that none of them is a promise that
// nobody keeps.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "plan.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			if name := filepath.Base(filepath.Dir(file)); longExamples[name] && os.Getenv("MXFLOW_TEST_LONG") == "" {
				t.Skipf("%s takes ten seconds and more: set MXFLOW_TEST_LONG=1", name)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			wanted := exitStatus.FindSubmatch(text)
			if wanted == nil {
				t.Fatalf("%s does not say how it ends: add a line such as \"# exit status: 0\"", file)
			}
			// Beside the plan is where its reader's own state belongs.
			state := t.TempDir()
			cmd := exec.Command(program, "apply", "--state", state, file)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil {
				t.Fatal(err)
			}
			if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != string(wanted[1]) {
				t.Errorf("%s ended with %s, want %s:\n%s", file, got, wanted[1], out)
			}
			checkLaunches(t, filepath.Base(filepath.Dir(file)), state, file)
		})
	}
}
