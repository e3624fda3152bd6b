package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// exitStatus is the comment in which an example says how its apply ends.
var exitStatus = regexp.MustCompile(`(?m)^# exit status: ([0-9]+)$`)

// What patient looks for in a plan.
var (
	maxLag       = regexp.MustCompile(`(?m)^ *max_lag *=.*\n`)
	workloadLine = regexp.MustCompile(`(?m)^workload "[^"]+" \{$`)
	threads      = regexp.MustCompile(`(?m)^    threads = 1$`)
)

// longExamples are applied where MXFLOW_TEST_LONG is set, as CI does.
var longExamples = map[string]bool{"frameworks": true, "load": true, "choose": true}

// halfTheLayers are the examples of which every feature still shows on a model of
// half the depth, in a third of the time. With MXFLOW_TEST_LONG they keep theirs.
var halfTheLayers = map[string]bool{"quickstart": true, "rejected": true}

// TestExamples applies every example, so that none of them is a promise that
// nobody keeps. How late the client may be is not what they are about, and tests run
// where much else does, so each is applied as it stands but for that; and but for
// halfTheLayers, so that the default stays short.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "plan.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	var noisy noisyExamples
	t.Cleanup(func() { noisy.again(t) }) // when all that runs in parallel has ended
	for _, file := range files {
		e := examplePlan{name: filepath.Base(filepath.Dir(file)), file: file}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			if longExamples[e.name] && os.Getenv("MXFLOW_TEST_LONG") == "" {
				t.Skipf("%s takes ten seconds and more: set MXFLOW_TEST_LONG=1", e.name)
			}
			text, err := os.ReadFile(file)
			if e.text = text; err != nil {
				t.Fatal(err)
			}
			wanted := exitStatus.FindSubmatch(e.text)
			if wanted == nil {
				t.Fatalf("%s does not say how it ends: add a line such as \"# exit status: 0\"", file)
			}
			e.wanted = string(wanted[1])
			ended := e.apply(t)
			switch {
			case ended.exit == e.wanted:
			case ended.byNoise():
				noisy.add(e)
			default:
				t.Errorf("%s ended with %s, want %s:\n%s", file, ended.exit, e.wanted, ended.out)
			}
			checkLaunches(t, e.name, ended.state, ended.plan)
		})
	}
}

// examplePlan is a plan that says how its apply ends.
type examplePlan struct {
	name, file, wanted string
	text               []byte
}

// applied is how an example ended.
type applied struct {
	exit, out, state, plan string
	// took is the processors' time of all that it started.
	took time.Duration
}

// apply applies an example in a state directory of its own.
func (e examplePlan) apply(t *testing.T) applied {
	t.Helper()
	ended := applied{plan: patient(t, e.file, e.text), state: t.TempDir()}
	cmd := exec.Command(program, "apply", "--state", ended.state, ended.plan)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	ended.exit, ended.out = strconv.Itoa(cmd.ProcessState.ExitCode()), string(out)
	ended.took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return ended
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
	if halfTheLayers[name] && os.Getenv("MXFLOW_TEST_LONG") == "" {
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
