package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

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
		args := []string{"apply", "--var", "feature=" + feature, "--state", t.TempDir(), "testdata/plans/aa.hcl"}
		exit, said = program(t, "", nil, args...)
		t.Log(said)
		return exit, said
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
