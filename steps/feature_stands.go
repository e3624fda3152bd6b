package steps

import (
	"maps"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// standsFor is the variant that stands for a feature: of one that chooses, the
// alternative that won, or without a winner the one that its decision shows. It
// returns runtime.ErrUndecided while that is not known.
func (l *Lab) standsFor(s *runtime.Scope, f *plans.Feature) (*plans.Feature, error) {
	if f == nil || f.Choose == nil {
		return f, nil
	}
	value := l.chosenValue(s, f)
	if value == "" {
		if why := s.LockedBy(runtime.FeatureID(f.Name)); !why.IsZero() {
			return nil, &verdict.Fault{Reason: verdict.New(code.ChooserNotRun).On(f.Name).From(why)}
		}
		return nil, runtime.ErrUndecided
	}
	for _, a := range f.Alternatives {
		if a.Set[f.Choose.Knob] == value {
			return a, nil
		}
	}
	return nil, &verdict.Fault{Reason: verdict.New(code.ChosenUnknown, verdict.Text("knob", f.Choose.Knob), verdict.Text("value", value)).On(f.Name)}
}

// chosenValue is the value of the knob that a feature chose; empty while it has
// not. Where others confirm it, it is chosen on the first engine.
func (l *Lab) chosenValue(s *runtime.Scope, f *plans.Feature) string {
	for _, id := range []string{runtime.FirstID(f.Name), runtime.FeatureID(f.Name)} {
		if d := s.Outcome(id); d != nil && d.Variant[f.Choose.Knob] != "" {
			return d.Variant[f.Choose.Knob]
		}
	}
	return ""
}

// sets is the knob values that a candidate differs in from its parent. What
// confirms a feature that chooses confirms what it chose.
func (l *Lab) sets(s *runtime.Scope, f *plans.Feature) (map[string]string, error) {
	of := l.Plan.Feature(f.Of)
	if of == nil || of.Choose == nil || f.Engine == "" {
		return f.Set, nil
	}
	value := l.chosenValue(s, of)
	if value == "" {
		return nil, runtime.ErrUndecided
	}
	return with(f.Set, of.Choose.Knob, value), nil
}

// enters is the knob values that an accepted feature brings into the stack.
func enters(f *plans.Feature, d *ledger.Decision) map[string]string {
	if f.Choose == nil {
		return f.Set
	}
	return with(f.Set, f.Choose.Knob, d.Variant[f.Choose.Knob])
}

// with is a copy of knob values in which one knob has this value.
func with(set map[string]string, knob, value string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, set)
	out[knob] = value
	return out
}
