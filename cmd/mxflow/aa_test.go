package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scenario"
	"github.com/mxflow/mxflow/gates/verdict"
)

// TestAA applies a change that does nothing, again and again: whatever the noise
// of this machine is like, it must not pass a rule of at least 5%. A change that
// is known to slow the engine down must fail, and one that is known to help must
// pass. It takes minutes: MXFLOW_TEST_AA says how many applies there are of the
// change that does nothing, 20 where it is 1.
func TestAA(t *testing.T) {
	times, err := strconv.Atoi(os.Getenv("MXFLOW_TEST_AA"))
	switch {
	case os.Getenv("MXFLOW_TEST_AA") == "":
		t.Skip("takes minutes: set MXFLOW_TEST_AA=1")
	case err != nil || times < 1:
		t.Fatal("MXFLOW_TEST_AA is no number of applies")
	case times == 1:
		times = 20
	}
	apply := func(feature string) (exit int, said string) {
		c := exec.Command(scenario.Program, "apply", "--var", "feature="+feature, "--state", t.TempDir(), "testdata/plans/aa.hcl")
		out, err := c.CombinedOutput()
		t.Logf("%s\n%s", c, out)
		var failed *exec.ExitError
		if err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode(), string(out)
	}
	// Invalid has the same exit status as fail, and proves nothing.
	if got, said := apply("slower"); got != verdict.ExitFail || !strings.Contains(said, "\nfail ") {
		t.Errorf("recomputing what a cache holds ended with %d", got)
	}
	if got, _ := apply("faster"); got != verdict.ExitPass {
		t.Errorf("a cache in place of recomputing ended with %d", got)
	}
	ended := map[int]int{}
	for range times {
		got, said := apply("nothing")
		if ended[got]++; got == verdict.ExitPass {
			t.Error("a change that does nothing passed a rule of at least 5%")
		}
		if strings.Contains(said, "\ninvalid ") {
			t.Error("what was measured did not count, which shows nothing")
		}
	}
	if ended[verdict.ExitFail]+ended[verdict.ExitInconclusive] != times {
		t.Errorf("of %d applies that change nothing, by exit status: %v", times, ended)
	}
	t.Logf("of %d applies that change nothing: %v by exit status", times, ended)
}

// TestTuneAA is TestAA of an engine that tunes itself, up to 5% faster or slower, from
// empty caches each time: that it is 3% faster than itself must not pass if each launch
// draws a tune. If each arm keeps its first one, as the mark says, it passes now and then:
// TestTuneIsADraw shows how often.
func TestTuneAA(t *testing.T) {
	if os.Getenv("MXFLOW_TEST_LONG") == "" {
		t.Skip("takes minutes: set MXFLOW_TEST_LONG=1")
	}
	const times, atOnce = 20, 4 // its steps sleep most of the time
	for _, tuning := range []string{"drawn", "pinned"} {
		exits := make(chan int, times)
		var sessions sync.WaitGroup
		for range atOnce {
			sessions.Go(func() {
				for range times / atOnce {
					c := exec.Command(scenario.Program, "apply", "--var", "tuning="+tuning, "--state", t.TempDir(), "testdata/plans/aa.hcl")
					out, _ := c.CombinedOutput()
					exits <- c.ProcessState.ExitCode()
					if marked := strings.Contains(string(out), "the verdict holds for these tunes only"); marked != (tuning == "pinned") || strings.Contains(string(out), "\ninvalid ") {
						t.Errorf("%s\n%s", c, out)
					}
				}
			})
		}
		sessions.Wait()
		close(exits)
		ended := map[int]int{}
		for exit := range exits {
			ended[exit]++
		}
		t.Logf("%s: %v by exit status", tuning, ended)
		if passed := ended[verdict.ExitPass]; tuning == "drawn" && passed > 0 || passed+ended[verdict.ExitFail]+ended[verdict.ExitInconclusive] != times {
			t.Errorf("%s: %v by exit status", tuning, ended)
		}
	}
}
