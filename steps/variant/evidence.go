package variant

import (
	"slices"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/plans"
)

// Evidence is what must and must not be seen for a set of knob values.
type Evidence struct {
	Knob, Value         string
	MustSee, MustNotSee []string
	// MustCount are lines of which so many must be seen.
	MustCount []plans.Lines `json:",omitempty"`
	// MustObserve and MustNotObserve are values of observations, by name.
	MustObserve    map[string]any `json:",omitempty"`
	MustNotObserve map[string]any `json:",omitempty"`
	// MustTrace and MustNotTrace are looked for in a profile, as are MustLaunch, of which
	// there must be so many.
	MustTrace, MustNotTrace []string      `json:",omitempty"`
	MustLaunch              []plans.Lines `json:",omitempty"`
	// AtStart lets lines from before the first request count for what must be seen.
	AtStart bool `json:",omitempty"`
}

// Globs are what is looked for in the log. Lines that are counted are looked for as
// one glob, which counts a line once, and by each of theirs, which says what they were.
func (e Evidence) Globs() []string {
	globs := slices.Concat(e.MustSee, e.MustNotSee)
	for _, lines := range e.MustCount {
		globs = append(append(globs, lines.AnyOf...), logscan.AnyOf(lines.AnyOf))
	}
	return globs
}

// Said reports whether any of it is what the engine logs or says of itself.
func (e Evidence) Said() bool {
	return len(e.Globs())+len(e.MustObserve)+len(e.MustNotObserve) > 0
}

// Traced reports whether any of it is looked for in a profile.
func (e Evidence) Traced() bool { return len(e.MustTrace)+len(e.MustNotTrace)+len(e.MustLaunch) > 0 }

// Counted is how many of the lines count that were seen, and where: with AtStart those
// from before the first request too.
func (e Evidence) Counted(lines plans.Lines, seen map[string]logscan.Match) (int, logscan.Match) {
	m := seen[logscan.AnyOf(lines.AnyOf)]
	if e.AtStart {
		return m.Count, m
	}
	return m.Used, m
}

// Map is the evidence with every glob put through a function: how secrets are taken
// out of it, as they are out of a log that is kept.
func (e Evidence) Map(f func(string) string) Evidence {
	each := func(globs []string) []string {
		globs = slices.Clone(globs)
		for i := range globs {
			globs[i] = f(globs[i])
		}
		return globs
	}
	e.MustSee, e.MustNotSee, e.MustCount = each(e.MustSee), each(e.MustNotSee), slices.Clone(e.MustCount)
	for i := range e.MustCount {
		e.MustCount[i].AnyOf = each(e.MustCount[i].AnyOf)
	}
	return e
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

// Evidence is what must and must not be seen of a variant. Another revision shows its
// work in words of its own, so nothing is asked of it: it is known by what it was
// started from.
func (v *Variant) Evidence(p *plans.Plan) []Evidence {
	if v.Over != nil {
		return nil
	}
	return EvidenceFor(p, v.Knobs)
}

func evidenceOf(k *plans.Knob, v *plans.KnobValue) Evidence {
	return Evidence{
		Knob: k.Name, Value: v.Name, MustSee: v.MustSee.Log, MustNotSee: v.MustNotSee.Log, MustCount: v.MustSee.Lines,
		MustObserve: v.MustSee.Observed, MustNotObserve: v.MustNotSee.Observed,
		MustTrace: v.MustSee.Trace, MustNotTrace: v.MustNotSee.Trace, MustLaunch: v.MustSee.Kernels, AtStart: v.MustSee.AtStart,
	}
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
