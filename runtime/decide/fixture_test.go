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
	v := &View{Outcomes: &runtime.NodeOutcomes{Decisions: outcomes, Locks: locked}}
	v.Identities = identities{v, verdict.Reason{}}
	if src == "" {
		return v
	}
	res := load.Bytes("plan.hcl", []byte(src), planstest.Registry(), load.Options{})
	if !res.OK() {
		t.Fatal(res.Diagnostics)
	}
	g, err := runtime.NewGraph(res.Plan)
	must.Do(t, err)
	v.Plan, v.Graph, v.Goals = res.Plan, g, Goals(res.Plan)
	return v
}

// identities are arms whose keys are their engine and knobs, and what changed since.
type identities struct {
	*View
	changed verdict.Reason
}

func (i identities) Arms(f *plans.Feature) (Arms, error) {
	a, err := ArmsOf(i.View, f)
	resolve := func(arm *Arm) {
		if err == nil {
			arm.Knobs = i.Plan.DefaultKnobs()
			maps.Copy(arm.Knobs, arm.Set)
		}
		arm.Key = runtime.Digest(arm.Engine, arm.Knobs)
	}
	resolve(&a.Parent)
	resolve(&a.Candidate)
	resolve(&a.Root)
	return a, err
}

func (i identities) Changed(*plans.Feature) verdict.Reason { return i.changed }

// fact is a fact of which only the words are told apart.
func fact(words string) verdict.Reason {
	return verdict.Say("broken", "{error}", verdict.Text("error", words))
}

// ledgerOf are launches and decisions as records, oldest first.
type ledgerOf []*ledger.Record

func (l ledgerOf) Records() iter.Seq2[int, *ledger.Record] {
	return slices.All(l)
}

func (l ledgerOf) LaunchByID(id string) (*ledger.Launch, bool) {
	for _, r := range l {
		if r.Launch != nil && r.Launch.ID == id {
			return r.Launch, true
		}
	}
	return nil, false
}
