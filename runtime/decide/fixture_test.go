package decide

import (
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// viewOf is what a decision by a plan sees where these are the outcomes and locks. The key
// of a variant is its engine and its knobs.
func viewOf(t *testing.T, src string, outcomes map[string]*ledger.Decision, locked map[string]verdict.Reason) *View {
	t.Helper()
	v := &View{
		Outcome:  func(id string) *ledger.Decision { return outcomes[id] },
		LockedBy: func(id string) verdict.Reason { return locked[id] },
	}
	v.Arms = func(f *plans.Feature) (Arms, error) {
		a, err := ArmsOf(v, f)
		resolve := func(arm *Arm) {
			if err == nil {
				arm.Knobs = v.Plan.DefaultKnobs()
				maps.Copy(arm.Knobs, arm.Set)
			}
			arm.Key = runtime.Digest(arm.Engine, arm.Knobs)
		}
		resolve(&a.Parent)
		resolve(&a.Candidate)
		resolve(&a.Root)
		return a, err
	}
	if src == "" {
		return v
	}
	res := load.Bytes("plan.hcl", []byte(src), planstest.Registry(), load.Options{})
	if !res.OK() {
		t.Fatal(res.Diagnostics)
	}
	g, err := runtime.NewGraph(res.Plan)
	must.Do(t, err)
	v.Plan, v.Graph = res.Plan, g
	return v
}

// fact is a fact of which only the words are told apart.
func fact(words string) verdict.Reason {
	return verdict.Say("broken", "{error}", verdict.Text("error", words))
}

// ledgerOf are launches and decisions as records, oldest first.
type ledgerOf []*ledger.Record

func (l ledgerOf) records() iter.Seq2[int, *ledger.Record] {
	return slices.All(l)
}

func (l ledgerOf) launch(id string) (*ledger.Launch, bool) {
	for _, r := range l {
		if r.Launch != nil && r.Launch.ID == id {
			return r.Launch, true
		}
	}
	return nil, false
}
