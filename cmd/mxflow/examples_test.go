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

// What patient looks for in a plan.
var (
	maxLag       = regexp.MustCompile(`(?m)^ *max_lag *=.*\n`)
	workloadLine = regexp.MustCompile(`(?m)^workload "[^"]+" \{$`)
	threads      = regexp.MustCompile(`(?m)^    threads = 1$`)
)

// cannotTell is what mxflow says where launches differ more than the effect, as they
// do on a machine with many times the work that it has processors for. That is no
// fault of the example, while every other verdict than its own is, and so is an
// inconclusive one for want of numbers.
var (
	cannotTell   = regexp.MustCompile(`inconclusive: .* (could not tell|that more would tell)`)
	lacksNumbers = regexp.MustCompile(`inconclusive: .* has no `)
)

// longExamples are applied where MXFLOW_TEST_LONG is set, as CI does.
var longExamples = map[string]bool{"frameworks": true, "load": true, "choose": true}

// halfTheLayers are the examples of which every feature still shows on a model of
// half the depth, in a third of the time.
var halfTheLayers = map[string]bool{"quickstart": true, "rejected": true}

// TestExamples applies every example, so that none of them is a promise that
// nobody keeps. How late the client may be is not what they are about, and tests run
// where much else does, so each is applied as it stands but for that.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "plan.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if longExamples[name] && os.Getenv("MXFLOW_TEST_LONG") == "" {
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
			plan, state := patient(t, file, text), t.TempDir()
			cmd := exec.Command(program, "apply", "--state", state, plan)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil {
				t.Fatal(err)
			}
			switch got := strconv.Itoa(cmd.ProcessState.ExitCode()); {
			case got == string(wanted[1]):
			case got == "3" && cannotTell.Match(out) && !lacksNumbers.Match(out):
				t.Logf("%s is inconclusive, since this machine is too busy to tell:\n%s", file, out)
			default:
				t.Errorf("%s ended with %s, want %s:\n%s", file, got, wanted[1], out)
			}
			checkLaunches(t, name, state, plan)
		})
	}
}

// patient copies an example to a folder of its own, with workloads whose client may
// be late. The copy has the files that lie beside the plan.
func patient(t *testing.T, file string, text []byte) string {
	t.Helper()
	dir, name := t.TempDir(), filepath.Base(filepath.Dir(file))
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(file))); err != nil {
		t.Fatal(err)
	}
	plan := maxLag.ReplaceAll(text, nil)
	plan = workloadLine.ReplaceAll(plan, []byte("$0\n  max_lag = \"1m\""))
	if halfTheLayers[name] {
		if !threads.Match(plan) {
			t.Fatalf("%s has no threads = 1 after which the number of layers could stand", file)
		}
		plan = threads.ReplaceAll(plan, []byte("$0\n    layers = 2"))
	}
	copied := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(copied, plan, 0o644); err != nil {
		t.Fatal(err)
	}
	return copied
}
