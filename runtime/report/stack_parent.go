package report

import (
	"maps"
	"strings"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// stackVariant is what the stack is called as an arm.
const stackVariant = "accepted"

// changes is what a feature sets: the knobs in which its candidate differs from
// the variant that it was measured on, by that one's launches; where no launch
// says what it was, from the baseline. A feature that chooses sets what its winner
// does. s are those below it.
func changes(st *store.Store, d *ledger.Decision, s Stack) (on string, set map[string]string, chosen string) {
	under := s.Baseline
	if l := parentOf(st, d); l != nil {
		on = s.named(l)
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

// named is what a launch that others were measured against was of. What was accepted
// then is told by its knobs, since decisions may have been made again.
func (s Stack) named(l *ledger.Launch) string {
	if l.Variant != stackVariant || l.Knobs == nil {
		return l.Variant
	}
	knobs, names := maps.Clone(s.Baseline), []string(nil)
	for _, f := range s.Features {
		if !within(f.Set, l.Knobs) {
			continue
		}
		if knobs == nil {
			knobs = map[string]string{}
		}
		maps.Copy(knobs, f.Set)
		names = append(names, f.Name())
	}
	switch {
	case !maps.Equal(knobs, l.Knobs):
		return l.Variant
	case len(names) == 0:
		return ledger.Baseline
	}
	return strings.Join(names, " + ")
}

// within reports whether a variant has all these knob values.
func within(set, knobs map[string]string) bool {
	for knob, value := range set {
		if has, ok := knobs[knob]; !ok || has != value {
			return false
		}
	}
	return len(set) > 0
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
	return nil
}
