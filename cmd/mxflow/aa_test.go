package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
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
	must.Equal(t, "applies that fail or are inconclusive", ended[verdict.ExitFail]+ended[verdict.ExitInconclusive],
		times)
	t.Logf("of %d applies that change nothing: %v by exit status", times, ended)
}

// TestQuickstartBesideOthers applies the README's first plan as often as
// MXFLOW_TEST_QUICKSTART says, 100 times where it is 1, while two loops take the
// processors. Each apply passes or is inconclusive: what the machine does is never the
// engine's fault, and no launch that counts is three times as fast as its arm's median.
func TestQuickstartBesideOthers(t *testing.T) {
	times, err := strconv.Atoi(os.Getenv("MXFLOW_TEST_QUICKSTART"))
	switch {
	case os.Getenv("MXFLOW_TEST_QUICKSTART") == "":
		t.Skip("takes about a minute for each apply: set MXFLOW_TEST_QUICKSTART=1")
	case err != nil || times < 1:
		t.Fatal("MXFLOW_TEST_QUICKSTART is no number of applies")
	case times == 1:
		times = 100
	}
	ctx := t.Context()
	for range 2 {
		go func() {
			for ctx.Err() == nil {
			}
		}()
	}
	ended, replaced, launches := map[int]int{}, 0, 0
	for range times {
		state := t.TempDir()
		exit, out := program(t, "", nil, "apply", "--state", state, "../../examples/quickstart/plan.hcl")
		if ended[exit]++; exit != verdict.ExitPass && exit != verdict.ExitInconclusive {
			t.Errorf("ended with %d\n%s", exit, out)
		}
		st, err := store.OpenReadOnly(state)
		must.Do(t, err)
		arms := map[[2]string][]float64{}
		for _, r := range st.Records() {
			l := r.Launch
			switch {
			case l == nil || l.Purpose != ledger.ForBenchmark:
			case decide.Usable(l):
				arm := [2]string{l.Session, l.Variant}
				arms[arm] = append(arms[arm], l.Metrics["chat.tg"].Stats["median"])
				launches++
			case l.Disturbed:
				replaced++
			}
		}
		for arm, values := range arms {
			slices.Sort(values)
			if fastest, median := values[len(values)-1], measure.Quantile(values, 0.5); !(fastest <= 3*median) {
				t.Errorf("a launch of %s had %.0f tok/s, and the median is %.0f: %.0f", arm[1], fastest, median, values)
			}
		}
	}
	t.Logf("%d applies: %v by exit status; %d launches, and %d that the machine disturbed", times, ended,
		launches, replaced)
}
