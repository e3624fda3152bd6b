package report

import (
	"maps"
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
	// On is what it was measured on: "baseline", a feature, or those that were
	// accepted then, "cache + spec[short]"; "accepted" where these are not known any more.
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
	for _, d := range Standing(st) {
		if d.Kind != ledger.KindFeature || !d.Accepted || !d.Verdict.Unlocks() {
			continue
		}
		a := Accepted{
			Feature: d.Feature, Phase: d.Phase, Gains: gainsOf(d.Decision), Verdict: d.Verdict, Time: d.Time, Run: d.Run, Record: d.Record,
		}
		a.Gate = gateOf(st, d.Phase)
		a.On, a.Set, a.Chosen = changes(st, d.Decision, s)
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
