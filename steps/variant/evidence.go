package variant

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// Evidence is what must and must not be seen for a set of knob values.
type Evidence struct {
	Knob, Value         string
	MustSee, MustNotSee []string
	// MustObserve and MustNotObserve are values of observations, by name.
	MustObserve    map[string]any `json:",omitempty"`
	MustNotObserve map[string]any `json:",omitempty"`
}

// EvidenceFor lists the kernel evidence of every knob value of a variant.
func EvidenceFor(p *plans.Plan, knobs map[string]string) []Evidence {
	if len(p.Knobs) == 0 {
		return nil
	}
	out := make([]Evidence, 0, len(p.Knobs))
	for _, k := range p.Knobs {
		if v := k.Value(knobs[k.Name]); v != nil {
			out = append(out, Evidence{k.Name, v.Name, v.MustSee.Log, v.MustNotSee.Log, v.MustSee.Observed, v.MustNotSee.Observed})
		}
	}
	return out
}

// Fact is one about the value of the knob.
func (e Evidence) Fact(what code.Code, args ...verdict.Arg) verdict.Reason {
	return verdict.New(what, append(args, verdict.Text("value", e.Value))...).On(e.Knob)
}
