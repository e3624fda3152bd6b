package steps

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// DefaultKnobs is the baseline's value of every knob.
func (l *Resolver) DefaultKnobs() map[string]string { return l.defaults() }

// VariantSpec is what a launch of an engine ("kind.name") with these knob values
// would start, and the kind as the plan has it. Nothing is started, and no image
// and no program is looked at.
func (l *Resolver) VariantSpec(engineKey string, knobs map[string]string) (engine.Spec, kinds.Kind, error) {
	e := l.Plan.Engine(engineKey)
	if e == nil {
		return engine.Spec{}, kinds.Kind{}, fmt.Errorf("the plan has no engine %q%s", engineKey, DidYouMean(engineKey, engineKeys(l.Plan)))
	}
	d, err := l.draft(e, knobs)
	if err != nil {
		return engine.Spec{}, kinds.Kind{}, err
	}
	spec, err := l.spec(d)
	return spec, d.kind, err
}

func engineKeys(p *plans.Plan) (keys []string) {
	for _, e := range p.Engines {
		keys = append(keys, e.Kind+"."+e.Name)
	}
	return keys
}

// DidYouMean is what stands behind a name that is not known: the nearest one, or
// what there is.
func DidYouMean(given string, known []string) string {
	if best := lang.Nearest(given, known); best != "" {
		return fmt.Sprintf(". Did you mean %q?", best)
	}
	if len(known) == 0 {
		return ""
	}
	const most = 12
	more := ""
	if len(known) > most {
		more = fmt.Sprintf(" and %d more", len(known)-most)
	}
	return ". There is: " + strings.Join(known[:min(most, len(known))], ", ") + more + "."
}

// Candidates are all features that have a variant of their own: those of the
// phases, the alternatives among which they choose, and what confirms them.
func Candidates(p *plans.Plan) (all []*plans.Feature) {
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			all = append(all, f)
			all = append(all, slices.Concat(f.Alternatives, f.Confirm)...)
		}
	}
	return all
}

// PlannedKnobs is the knob values of a feature by the plan alone, with accepted as
// those of what it builds on where that is the stack.
func (l *Resolver) PlannedKnobs(f *plans.Feature, accepted map[string]string) map[string]string {
	knobs := l.defaults()
	switch f.BuildsOn.Kind {
	case plans.OnFeature:
		if under := l.Plan.Feature(f.BuildsOn.Feature); under != nil {
			knobs = l.PlannedKnobs(under, accepted)
		}
	case plans.OnAccepted:
		maps.Copy(knobs, accepted)
	}
	maps.Copy(knobs, f.Set)
	return knobs
}

// SecretName reports whether a variable's value is nobody's business by its name,
// although no plan has declared it sensitive: HF_TOKEN.
func SecretName(name string) bool { return secretNames.MatchString(name) }
