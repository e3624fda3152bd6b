package steps

import (
	"maps"
	"slices"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// agreement checks that the arms of a comparison differ in nothing but what is
// under test, as far as the engines say. What their patterns do not call varying
// has to agree: within an arm always, and between
// arms unless a knob that differs between them changes them. A knob does so where
// it says so (changes), where its evidence observes them, and where its evidence
// is the very line that they were taken from.
type agreement struct {
	lab *Lab
	// steady are the observations that have to agree.
	steady map[string]bool
}

// disagree is why launches do not make a comparison; no fact where they do.
func (l *Lab) disagree(launches []*ledger.Launch, vs []*variant.Variant) (verdict.Reason, error) {
	a := agreement{lab: l, steady: map[string]bool{}}
	byArm := map[string][]*ledger.Launch{}
	for _, launch := range launches {
		byArm[launch.VariantKey] = append(byArm[launch.VariantKey], launch)
	}
	for _, v := range vs {
		patterns, err := l.Patterns(v)
		if err != nil {
			return verdict.Reason{}, err
		}
		for _, p := range patterns {
			a.steady[p.Name] = a.steady[p.Name] || !p.Varies
		}
	}
	for _, v := range vs {
		if why := a.within(v, byArm[v.Key]); !why.IsZero() {
			return why, nil
		}
	}
	for _, v := range vs[1:] {
		if why := a.between(vs[0], v, byArm); !why.IsZero() {
			return why, nil
		}
	}
	return verdict.Reason{}, nil
}

// compared are the names that have to agree among launches.
func (a agreement) compared(launches []*ledger.Launch) (names []string) {
	for _, launch := range launches {
		for name := range launch.Observed {
			if a.steady[name] {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// within compares the launches of one arm: launches of one variant that say
// different things of themselves are not launches of one variant.
func (a agreement) within(v *variant.Variant, launches []*ledger.Launch) verdict.Reason {
	for _, name := range a.compared(launches) {
		for _, launch := range launches[1:] {
			if launches[0].Observed[name].Value != launch.Observed[name].Value {
				return verdict.New(code.SaysOtherwise, verdict.Text("name", name),
					verdict.Text("value", launches[0].Observed[name].String()), verdict.Text("one", launches[0].ID),
					verdict.Text("other_value", launch.Observed[name].String()), verdict.Text("other", launch.ID)).On(v.Name)
			}
		}
	}
	return verdict.Reason{}
}

// between compares two arms, each of which agrees within itself.
func (a agreement) between(one, other *variant.Variant, byArm map[string][]*ledger.Launch) verdict.Reason {
	left, right := byArm[one.Key], byArm[other.Key]
	if len(left) == 0 || len(right) == 0 {
		return verdict.Reason{}
	}
	free, knobs := a.underTest(one, other)
	for _, name := range a.compared([]*ledger.Launch{left[0], right[0]}) {
		x, y := left[0].Observed[name], right[0].Observed[name]
		if x.Value == y.Value || slices.Contains(free, name) || a.proves(knobs, x.Line, y.Line) {
			continue
		}
		return verdict.New(code.DiffersUntested, verdict.Text("name", name), verdict.Text("other", other.Name),
			verdict.Text("value", x.String()), verdict.Text("other_value", y.String()), verdict.List("knobs", knobs)).On(one.Name)
	}
	return verdict.Reason{}
}

// proves reports whether one of the lines from which an observation was taken is
// evidence for a value of the knobs: then it is what they are about.
func (a agreement) proves(knobs []string, lines ...string) bool {
	for _, k := range a.lab.Plan.Knobs {
		if !slices.Contains(knobs, k.Name) {
			continue
		}
		for _, v := range k.Values {
			for _, text := range slices.Concat(v.MustSee.Log, v.MustNotSee.Log) {
				g, err := logscan.ParseGlob(text)
				if err == nil && slices.ContainsFunc(lines, func(line string) bool { return line != "" && g.Match(line) }) {
					return true
				}
			}
		}
	}
	return false
}

// underTest are the observations that may differ between two arms, and the knobs
// that do.
func (a agreement) underTest(one, other *variant.Variant) (free, knobs []string) {
	for _, k := range a.lab.Plan.Knobs {
		if one.Knobs[k.Name] == other.Knobs[k.Name] {
			continue
		}
		knobs = append(knobs, k.Name)
		free = append(free, k.Changes...)
		for _, v := range k.Values {
			for name := range v.MustSee.Observed {
				free = append(free, name)
			}
			for name := range v.MustNotSee.Observed {
				free = append(free, name)
			}
		}
	}
	return free, knobs
}

// freed are the observations that knobs may change, for the decision's key: it
// is decided again when they do.
func (l *Lab) freed() []any {
	l.freeing.Do(func() { l.free = freedBy(l.Plan) })
	return l.free
}

func freedBy(p *plans.Plan) (parts []any) {
	for _, k := range p.Knobs {
		names := slices.Clone(k.Changes)
		for _, v := range k.Values {
			names = slices.AppendSeq(names, maps.Keys(v.MustSee.Observed))
			names = slices.AppendSeq(names, maps.Keys(v.MustNotSee.Observed))
		}
		if len(names) > 0 {
			slices.Sort(names)
			parts = append(parts, k.Name, slices.Compact(names))
		}
	}
	return parts
}
