package steps

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

const interferingPlan = `plan "stacks" {}
engine "embedded" "tiny" {}
%s
workload "chat" {
  prompt_tokens = 32
  output_tokens = 8
  requests      = 2
}
protocol "quick" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.quick
}
phase "all" {
%s
}
`

// lab is a plan with knobs a to d and a state directory, both without engines.
type interfering struct {
	t     *testing.T
	lab   *Lab
	scope *runtime.Scope
	works map[string]string
}

func newInterfering(t *testing.T, features string) *interfering {
	knobs := ""
	for _, k := range []string{"a", "b", "c", "d"} {
		knobs += fmt.Sprintf("knob %q {\n  default = \"off\"\n  value \"off\" {}\n  value \"on\" {}\n}\n", k)
	}
	res := load.LoadBytes("plan.hcl", fmt.Appendf(nil, interferingPlan, knobs, features), Registry(), load.Options{})
	if !res.OK() {
		t.Fatal(res.Diagnostics.Error())
	}
	g, err := runtime.NewGraph(res.Plan)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	lab := NewLab(res.Plan, g)
	lab.Store = st
	i := &interfering{t: t, lab: lab, works: map[string]string{}}
	i.scope = &runtime.Scope{Plan: res.Plan, LockedBy: func(string) verdict.Reason { return verdict.Reason{} }, Outcome: func(node string) *ledger.Decision {
		d, _, _ := st.Latest(node)
		return d
	}}
	return i
}

func (i *interfering) add(r *ledger.Record) {
	i.t.Helper()
	if r.Run = "r1"; r.Time.IsZero() {
		r.Time = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	}
	if err := i.lab.Store.Append(r); err != nil {
		i.t.Fatal(err)
	}
}

// arm are four launches of the baseline with the knobs in on switched on. Their
// logs lie around that of tg, 1% apart.
func (i *interfering) arm(session, on string, tg float64) gates.Arm {
	knobs := map[string]string{"a": "off", "b": "off", "c": "off", "d": "off"}
	for _, k := range on {
		knobs[string(k)] = "on"
	}
	arm := gates.Arm{Name: "x" + on}
	for n, off := range []float64{-0.015, -0.005, 0.005, 0.015} {
		id := fmt.Sprintf("%s.%s.%d", session, on, n)
		v := tg * math.Exp(off)
		i.add(&ledger.Record{Type: "launch", Launch: &ledger.Launch{
			ID: id, Session: session, Purpose: "benchmark", Variant: "x" + on, VariantKey: "key" + on, Block: "embedded.tiny", Knobs: maps.Clone(knobs),
			OK: true, Work: "work" + i.works[session], Started: time.Unix(int64(n), 0).UTC(),
			Metrics: map[string]measure.Summary{
				"chat.tg":   {N: 5, Stats: map[string]float64{"median": v}},
				"chat.ttft": {N: 5, Stats: map[string]float64{"median": 1 / v}},
			},
		}})
		arm.Launches = append(arm.Launches, gates.Launch{ID: id})
	}
	return arm
}

func (i *interfering) decide(name string, candidate, parent gates.Arm) {
	first, _ := i.lab.Store.LaunchByID(candidate.Launches[0].ID)
	ids := func(a gates.Arm) (arm ledger.Arm) {
		for _, l := range a.Launches {
			arm.Launches = append(arm.Launches, l.ID)
		}
		return arm
	}
	i.add(&ledger.Record{Type: "decision", Decision: &ledger.Decision{
		Node: "feature." + name, Kind: "feature", Feature: name, Attempt: 1, Verdict: verdict.Pass, Accepted: true, Variant: first.Knobs,
		Evidence: []ledger.Evidence{{Feature: name, Candidate: ids(candidate), Parent: ids(parent)}},
	}})
}

func (i *interfering) of(name string, ev *gates.Feature) []ledger.Interference {
	return i.lab.interference(i.scope, i.lab.Plan.Feature(name), ev)
}

func feature(name, knob, on, rule string) string {
	return fmt.Sprintf("  feature %q {\n    set = { %s = \"on\" }\n    builds_on = %s\n    criterion \"r\" {\n      rule = %q\n    }\n  }\n", name, knob, on, rule)
}

const faster = "chat.tg.gain >= 0.01"
