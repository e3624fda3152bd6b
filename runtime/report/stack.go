package report

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Stack is what was accepted so far.
type Stack struct {
	// Features are in the order in which they are laid over each other.
	Features []Accepted `json:"features"`
	// Baseline is the value of every knob without them, Knobs with them.
	Baseline map[string]string `json:"baseline,omitempty"`
	Knobs    map[string]string `json:"knobs,omitempty"`
}

// Accepted is one feature of the stack.
type Accepted struct {
	Feature string `json:"feature"`
	Phase   string `json:"phase,omitempty"`
	// On is the variant that it was measured on: "baseline", "accepted", a feature.
	On string `json:"on,omitempty"`
	// Set is what it changes, by knob, and Chosen the alternative that it is of a
	// feature that chooses.
	Set     map[string]string `json:"set"`
	Chosen  string            `json:"chosen,omitempty"`
	Gains   []Gain            `json:"gains"`
	Verdict verdict.Verdict   `json:"verdict"`
	// Gate is what its phase's gate came to, and that it is waived where it is.
	Gate string    `json:"gate,omitempty"`
	Time time.Time `json:"time"`
	Run  string    `json:"run"`
	// Record is the position of the decision in the ledger, from 0.
	Record int `json:"record"`
}

// AcceptedStack is the stack by the decisions that stand. The order is that of
// the plan, as an apply lays the features over each other, whichever of them was
// decided again last.
func AcceptedStack(st *store.Store) Stack {
	s := Stack{Features: []Accepted{}}
	if d, _, ok := st.Latest(ledger.Baseline); ok {
		s.Baseline = d.Variant
	}
	s.Knobs = maps.Clone(s.Baseline)
	for _, d := range inPlanOrder(st, Standing(st)) {
		if d.Kind != ledger.KindFeature || !d.Accepted || !d.Verdict.Unlocks() {
			continue
		}
		a := Accepted{
			Feature: d.Feature, Phase: d.Phase, Gains: gainsOf(d.Decision), Verdict: d.Verdict, Time: d.Time, Run: d.Run, Record: d.Record,
		}
		a.Gate = gateOf(st, d.Phase)
		a.On, a.Set, a.Chosen = changes(st, d.Decision, s.Baseline)
		if s.Knobs == nil {
			s.Knobs = map[string]string{}
		}
		maps.Copy(s.Knobs, a.Set)
		s.Features = append(s.Features, a)
	}
	return s
}

// gateOf is what the gate of a phase came to, with what people decided about it.
func gateOf(st *store.Store, phase string) string {
	d, _, ok := st.Latest("phase." + phase)
	if !ok || d.Kind != ledger.KindGate {
		return ""
	}
	o := OverruledOf(d, st.Waiver(d.Node), time.Now())
	return strings.TrimSuffix(o.Word()+", "+o.Note(), ", ")
}

// inPlanOrder sorts decisions as the plan had their nodes at the end of the newest
// run; what it does not list keeps its place behind those.
func inPlanOrder(st *store.Store, all []store.Decided) []store.Decided {
	end := lastFinished(st)
	if end == nil || len(end.Nodes) == 0 {
		return all
	}
	place := map[string]int{}
	for i, n := range end.Nodes {
		place[n] = i + 1
	}
	at := func(d store.Decided) int {
		if i := place[d.Node]; i > 0 {
			return i
		}
		return len(end.Nodes) + 1
	}
	slices.SortStableFunc(all, func(a, b store.Decided) int { return at(a) - at(b) })
	return all
}

// changes is what a feature sets: the knobs in which its candidate differs from
// the variant that it was measured on, by that one's launches; where no launch
// says what it was, from the baseline. A feature that chooses sets what its winner
// does.
func changes(st *store.Store, d *ledger.Decision, baseline map[string]string) (on string, set map[string]string, chosen string) {
	under := baseline
	if l := parentOf(st, d); l != nil {
		on = l.Variant
		if l.Knobs != nil {
			under = l.Knobs
		}
	}
	for _, a := range d.Alternatives {
		if a.Chosen {
			return on, maps.Clone(a.Set), a.Name
		}
	}
	set = map[string]string{}
	for knob, value := range d.Variant {
		if under[knob] != value {
			set[knob] = value
		}
	}
	return on, set, ""
}

// parentOf is a launch of the variant that a feature was measured on; nil where
// none is on record.
func parentOf(st *store.Store, d *ledger.Decision) *ledger.Launch {
	for _, e := range d.Evidence {
		if e.Feature != d.Feature || len(e.Parent.Launches) == 0 {
			continue
		}
		if l, ok := st.LaunchByID(e.Parent.Launches[0]); ok {
			return l
		}
	}
	// A record of before evidence was kept: the arm that is not the candidate's,
	// and not the baseline where that stands beside another one.
	var parent *ledger.Launch
	for _, id := range d.Launches {
		l, ok := st.LaunchByID(id)
		if !ok || l.Purpose != ledger.ForBenchmark || l.Variant == d.Feature {
			continue
		}
		if parent == nil || parent.Variant == ledger.Baseline {
			parent = l
		}
	}
	return parent
}
