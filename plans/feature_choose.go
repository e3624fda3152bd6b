package plans

import (
	"fmt"
	"maps"

	"github.com/hashicorp/hcl/v2"
)

// Choose is what a feature chooses among: several values of one knob.
type Choose struct {
	Knob   string
	Values []string
	// Prefer is the metric, such as "chat.tg", by whose gain the winner is picked
	// among the alternatives that pass. Load fills it in where the plan does not.
	Prefer string
	// Probe reads that gain. Set by Load.
	Probe *Rule `json:"-"`
	// Range is where prefer is written, or choose where it is not.
	Range Range `json:"-"`
}

// leastAlternatives and mostAlternatives are how many values choose tries: each
// gets its part of the chance of a false pass, and a session that holds them all
// has to end some day.
const leastAlternatives, mostAlternatives = 2, 12

// decodeChoose reads the knob whose values the feature tries; nil where it does
// not choose.
func (l *loader) decodeChoose(f *body, ft *Feature, notes *featureNotes) *Choose {
	if f.absent("choose") {
		if !f.absent("prefer") {
			l.fail(f.at("prefer"), "Nothing to prefer", "prefer picks among the alternatives of choose, and feature %q has none. Remove prefer, or add choose = { knob = [\"one\", \"other\"] }.", ft.Name)
		}
		return nil
	}
	pairs := f.pairs("choose")
	if v, ok := f.value("choose"); !ok || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return nil // reported
	}
	if len(pairs) != 1 {
		l.fail(f.at("choose"), "Not one knob to choose", `choose tries values of exactly one knob, and this names %d. Write choose = { knob = ["one", "other"] }; what all alternatives have in common stands in set.`, len(pairs))
		return nil
	}
	p := pairs[0]
	k := l.checks.knobs[p.key]
	if k == nil {
		l.fail(p.keyAt, "Unknown knob", "The plan declares no knob %q.%s", p.key, l.didYouMean(p.key, l.symbols.of("knob").order))
		return nil
	}
	if fixed, both := ft.Set[p.key]; both {
		l.fail(p.keyAt, "Knob is set and chosen", "set fixes knob %q to %q, so there is nothing to choose. Remove it from set, or from choose.", p.key, fixed)
		return nil
	}
	c := &Choose{Knob: p.key, Prefer: l.decodePrefer(f), Range: rangeOf(f.at("choose"))}
	if c.Prefer != "" {
		c.Range = rangeOf(f.at("prefer"))
	}
	notes.chooseAt = map[string]hcl.Range{}
	values, complete := l.decodeAlternatives(p, k, notes.chooseAt)
	if c.Values = values; complete && (len(values) < leastAlternatives || len(values) > mostAlternatives) {
		l.fail(p.at, "Not several values to choose", "choose tries %d to %d values of a knob, and this names %d. One value alone is not chosen but set: set = { %s = \"value\" }.", leastAlternatives, mostAlternatives, len(values), p.key)
		return nil
	}
	if len(values) == 0 {
		return nil
	}
	return c
}

// decodeAlternatives reads the values to try and notes where each is written;
// false where some are wrong.
func (l *loader) decodeAlternatives(p pair, k *Knob, at map[string]hcl.Range) (values []string, complete bool) {
	expr := l.valueAt(p)
	elems, ok := l.elements(expr, p.v)
	if !ok {
		l.fail(p.at, "Wrong type for choose", `choose takes the values to try as a list, such as { %s = ["one", "other"] }; this is %s.`, p.key, describe(p.v))
		return nil, false
	}
	complete = true
	var known []string
	for _, v := range k.Values {
		known = append(known, v.Name)
	}
	for _, e := range elems {
		name, ok := l.asText(e.v, e.at, "Each value of knob "+quoted(p.key))
		_, twice := at[name]
		switch {
		case !ok:
			complete = false
			continue
		case k.Value(name) == nil:
			complete = false
			l.fail(e.at, "Unknown knob value", "Knob %q has no value %q.%s", p.key, name, l.didYouMean(name, known))
			continue
		case twice:
			complete = false
			l.fail(e.at, "Duplicate value in choose", "%q is in the list already. Remove one.", name)
			continue
		}
		at[name] = e.at
		values = append(values, name)
	}
	return values, complete
}

// valueAt is the expression of a map's value where it is written out, for the
// places of what stands in it; otherwise an expression that is as a whole where
// the value comes from.
func (l *evalScope) valueAt(p pair) hcl.Expression {
	if p.expr != nil {
		return p.expr
	}
	return hcl.StaticExpr(p.v, p.at)
}

// makeAlternatives gives a feature that chooses its alternatives. Their criteria
// are its own, whose inputs name it.
func makeAlternatives(f *Feature) {
	if f.Choose == nil {
		return
	}
	for _, value := range f.Choose.Values {
		a := *f
		a.Name, a.Of = fmt.Sprintf("%s[%s]", f.Name, value), f.Name
		a.Choose, a.Alternatives, a.Confirm, a.Hypothesis = nil, nil, nil, nil
		if a.Set = maps.Clone(f.Set); a.Set == nil {
			a.Set = map[string]string{}
		}
		a.Set[f.Choose.Knob] = value
		f.Alternatives = append(f.Alternatives, &a)
	}
}
