package steps

import (
	"context"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/variant"
)

const sessionPlan = `
plan "s" {}
engine "embedded" "tiny" {}
knob "k" {
  default = "off"
  value "off" {}
  value "one" { env = { K = "1" } }
  value "two" { env = { K = "2" } }
}
workload "w" {
  prompt_tokens = 16
  output_tokens = 8
  coherence     = "off"
}
protocol "p" {
  level "benchmark" { workloads = [workload.w] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
phase "one" {
  feature "x" {
    set = { k = "one" }
    criterion "c" { rule = "w.tg.gain >= 0.10" }
  }
  feature "y" {
    set = { k = "two" }
    criterion "c" { rule = "w.tg.gain >= 0.10" }
  }
}
`

// speeds are tokens a second of a variant, launch by launch.
type speeds map[string]func(round int) float64

// wobble is a speed whose launches differ by about a part of it, in a fixed order.
func wobble(mean, part float64) func(int) float64 {
	shape := []float64{0.3, -0.9, 1.1, -0.4, 0.8, -1.2, 0.1, 0.2, -0.6, 0.9, -0.3, 0}
	return func(round int) float64 { return mean * (1 + part*shape[(round-1)%len(shape)]) }
}

// rig is a session whose launches are made up, by a lab that is otherwise real.
type rig struct {
	*session
	made []string
	// numbers are those of the slots, as people count them, and orders of the launches.
	numbers, orders []int
	// spoil changes a launch that was made.
	spoil func(l *ledger.Launch, n int)
}

func newRig(t *testing.T, speed speeds) *rig {
	t.Helper()
	lab := labOf(t, sessionPlan)
	p := lab.Plan
	scope := &runtime.Scope{Outcome: func(string) *ledger.Decision { return nil }}
	parent := &variant.Variant{Name: "baseline", Key: "base"}
	r := &rig{session: &session{lab: lab, scope: scope, id: "s-1", ws: p.Workloads}}
	for _, f := range p.Phases[0].Features {
		candidate := &variant.Variant{Name: f.Name, Key: f.Name}
		r.members = append(r.members, newMember(p, f, launch.Arms{Candidate: candidate, Parent: parent, Root: parent}, []*variant.Variant{parent, candidate}))
	}
	r.launch = func(_ context.Context, sl slot, _ int, tries []*ledger.Launch) (*ledger.Launch, error) {
		l := &ledger.Launch{
			ID: launchID(r.id, sl, len(tries)), Session: r.id, VariantKey: sl.variant.Key, Variant: sl.variant.Name, Ordinal: sl.ordinal, Order: sl.order, OK: true,
			Fingerprint: map[string]string{"cpu": "one"},
			Metrics: map[string]measure.Summary{"w.tg": {
				Unit: "tok/s", Better: measure.Higher, N: 10, Requests: 10, Stats: map[string]float64{"median": speed[sl.variant.Key](sl.ordinal)},
			}},
		}
		if r.spoil != nil {
			r.spoil(l, len(r.made))
		}
		r.made = append(r.made, sl.variant.Key)
		r.numbers, r.orders = append(r.numbers, sl.number), append(r.orders, sl.order)
		return l, nil
	}
	return r
}

// short is what was launched, one letter each: b for the baseline.
func (r *rig) short() string {
	var text strings.Builder
	for _, key := range r.made {
		text.WriteByte(key[0])
	}
	return text.String()
}

func (r *rig) conclusion(t *testing.T, i int) (ledger.Level, *ledger.Decision) {
	t.Helper()
	var level ledger.Level
	out := &ledger.Decision{}
	if err := r.conclude(t.Context(), r.members[i], out, &level); err != nil {
		t.Fatal(err)
	}
	return level, out
}
