package variant

import (
	"github.com/mxflow/mxflow/plans"
)

// Evidence is what must and must not be seen for a set of knob values.
type Evidence struct {
	Knob, Value         string
	MustSee, MustNotSee []string
	// MustObserve and MustNotObserve are values of observations, by name.
	MustObserve    map[string]any `json:",omitempty"`
	MustNotObserve map[string]any `json:",omitempty"`
	// AtStart lets lines from before the first request count for what must be seen.
	AtStart bool `json:",omitempty"`
}

// EvidenceFor lists the kernel evidence of every knob value of a variant.
func EvidenceFor(p *plans.Plan, knobs map[string]string) []Evidence {
	if len(p.Knobs) == 0 {
		return nil
	}
	out := make([]Evidence, 0, len(p.Knobs))
	for _, k := range p.Knobs {
		if v := k.Value(knobs[k.Name]); v != nil {
			out = append(out, evidenceOf(k, v))
		}
	}
	return out
}

func evidenceOf(k *plans.Knob, v *plans.KnobValue) Evidence {
	return Evidence{k.Name, v.Name, v.MustSee.Log, v.MustNotSee.Log, v.MustSee.Observed, v.MustNotSee.Observed, v.MustSee.AtStart}
}

// EvidenceKey stands for EvidenceFor in keys. A plan has many knobs and variants that
// differ in a few, so it is the digest of the evidence for all values of the baseline,
// which is made once, and the evidence for those that differ.
func (l *Resolver) EvidenceKey(set map[string]string) (string, []Evidence) {
	base := l.base()
	var other []Evidence
	for _, i := range base.places(set) {
		k := l.Plan.Knobs[i]
		name := set[k.Name]
		if of, has := base.knobs[k.Name]; has && of == name {
			continue
		}
		e := Evidence{Knob: k.Name, Value: name} // one that it does not have is another too
		if v := k.Value(name); v != nil {
			e = evidenceOf(k, v)
		}
		other = append(other, e)
	}
	return base.evidence, other
}
