package plans

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// decodeKnobs reads knob values of the candidate.
func (l *caseLoader) decodeKnobs(f *body, g *GivenFeature) {
	for _, p := range f.pairs("knobs") {
		k := l.ns.knobs[p.key]
		if k == nil {
			l.fail(p.keyAt, "Unknown knob", "The plan declares no knob %q.%s", p.key, l.didYouMean(p.key, keysOf(l.ns.knobs)))
			continue
		}
		name, ok := l.asText(p.v, p.at, "The value of knob "+quoted(p.key))
		if ok && k.Value(name) == nil {
			var known []string
			for _, v := range k.Values {
				known = append(known, v.Name)
			}
			l.fail(p.at, "Unknown knob value", "Knob %q has no value %q.%s", p.key, name, l.didYouMean(name, known))
			continue
		}
		g.Knobs[p.key] = name
	}
}

// decodeSaid reads the words and truths that the engine says of itself.
func (l *caseLoader) decodeSaid(f *body, g *GivenFeature) {
	e := l.plan.underTest()
	for _, p := range f.pairs("observed") {
		if e == nil {
			l.fail(p.keyAt, "Unknown observation", "observed is what the baseline's engine says of itself, and the plan has no baseline.")
			return
		}
		o, names, ok := findObserved(e.Observed, p.key)
		if !ok {
			l.fail(p.keyAt, "Unknown observation", "Nothing called %q is observed of engine.%s.%s.%s", p.key, e.Kind, e.Name, l.didYouMean(p.key, names))
			continue
		}
		ty := inputType(o.Type)
		want := map[InputType]cty.Type{WordInput: cty.String, BoolInput: cty.Bool}[ty]
		switch {
		case p.v.IsNull(): // which is what nobody said
		case ty == NumberInput:
			l.fail(p.at, "Observation is a number", "%s is a number, in which launches may differ. Write it in launches: \"engine.observed.%s\" = { candidate = %s }.", p.key, p.key, orElse(plainNumber(p.v), "1"))
		case p.v.Type() != want:
			l.fail(p.at, "Wrong type for observed", "%s is a %s; this is %s.", p.key, o.Type, describe(p.v))
		default:
			g.Observed[p.key] = plain(p.v)
		}
	}
}

func plainNumber(v cty.Value) string {
	if v.IsNull() || v.Type() != cty.Number {
		return ""
	}
	return v.AsBigFloat().Text('g', 6)
}

// decodeNoise reads the launch noise that was recorded before.
func (l *caseLoader) decodeNoise(f *body, g *GivenFeature, ft *Feature) {
	for _, p := range f.pairs("noise") {
		in := l.measured(p.key, p.keyAt, ft)
		if in == nil {
			continue
		}
		if !in.positive() || in.once() {
			l.fail(p.keyAt, "No noise of this metric", "Launch noise is kept of logs, for what a t-test decides. There is none of %s.", p.key)
			continue
		}
		var n GivenNoise
		var has [2]bool
		entries, ok := l.entries(p, "noise", "{ sd = 0.004, df = 9 }")
		for _, e := range entries {
			least, most := 1e-9, 10.0
			into, i := &n.SD, 0
			switch e.key {
			case "df":
				into, i, most = &n.DF, 1, 1e6
			case "sd":
			default:
				l.fail(e.keyAt, "Unknown name in noise", "noise has sd, the standard deviation of the logs of launches, and df, its degrees of freedom; there is no %q.", e.key)
				continue
			}
			*into, has[i] = f.asNumber(e.v, e.at, e.key, least, most)
		}
		if !has[0] || !has[1] {
			if ok && len(entries) < 2 {
				l.fail(p.at, "Missing sd or df", "Noise is a standard deviation and its degrees of freedom: { sd = 0.004, df = 9 }.")
			}
			continue
		}
		if g.Noise == nil {
			g.Noise = map[string]GivenNoise{}
		}
		key := in.launchAddress()
		if in.Stat != "median" && in.Stat != "p50" {
			key += "." + in.Stat
		}
		g.Noise[key] = n
	}
}

// launchAddress is where a launch keeps the metric of an input.
func (in *Input) launchAddress() string {
	if in.Cell == "" {
		return "engine." + in.Metric
	}
	return in.Cell + "." + in.Metric
}

// entries are the pairs of a map within a map.
func (l *caseLoader) entries(p pair, attr, example string) (pairs []pair, ok bool) {
	pairs, ok = l.pairs(l.valueAt(p), p.v)
	if !ok {
		l.fail(p.at, "Wrong type for "+attr, "%s takes a map, such as %s; this is %s.", p.key, example, describe(p.v))
	}
	return pairs, ok
}

// numberIn is a number of a case; what says what a text in its place should be.
func (l *caseLoader) numberIn(v cty.Value, at hcl.Range, what, unit string) (float64, bool) {
	if !v.IsNull() && v.Type() == cty.Number {
		n, _ := v.AsBigFloat().Float64()
		return n, true
	}
	l.fail(at, "Not a number", "%s", notNumber(v, what, unit))
	return 0, false
}
