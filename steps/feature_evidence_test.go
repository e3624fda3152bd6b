package steps

import (
	"fmt"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

// TestEvidenceTakesEveryLaunch: a feature is decided on all launches that its
// benchmark made, and not on fewer because one is not on record.
func TestEvidenceTakesEveryLaunch(t *testing.T) {
	l := labOf(t, variantPlan)
	var err error
	if l.Store, err = store.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Store.Close() })
	f := l.Plan.Feature("first")
	bench := &ledger.Decision{Node: runtime.BenchmarkID(f.Name), Kind: string(runtime.KindBenchmark), Verdict: verdict.Pass, Session: "s-1"}
	s := scopeOf(map[string]*ledger.Decision{runtime.QualifyID(f.Name): {Verdict: verdict.Pass}, bench.Node: bench}, nil)
	a, err := l.armsOf(s, f)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range []*variant.Variant{a.parent, a.candidate, a.candidate, a.parent} {
		id := fmt.Sprintf("s-1.%d", i+1)
		bench.Launches = append(bench.Launches, id)
		if _, _, err := l.evidenceOf(s, f); verdict.OfError(err).Code != code.LaunchUnrecorded || verdict.OfError(err).Subject != id {
			t.Errorf("without launch %s: %v", id, err)
		}
		now := time.Now().UTC()
		err := l.Store.Append(&ledger.Record{Type: "launch", Run: "r", Time: now, Launch: &ledger.Launch{
			ID: id, Session: "s-1", Purpose: "benchmark", VariantKey: v.Key, Ordinal: 1 + i/2, Order: i + 1, Started: now, OK: true, Work: "w",
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	ev, out, err := l.evidenceOf(s, f)
	if err != nil || ev.Broken != "" || len(ev.Candidate.Launches) != 2 || len(ev.Parent.Launches) != 2 || out.Session != "s-1" {
		t.Errorf("%+v, %+v, %v", ev, out, err)
	}
}
