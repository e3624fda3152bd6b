package validity

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/variant"
)

// LaunchWithoutEvidence names the launch of a variant that does not prove its knob values; no fact if
// all known ones do. Results are cached: kept logs do not change.
func (j *Checker) LaunchWithoutEvidence(launches []*ledger.Launch, v *variant.Variant, protocol string) (verdict.Reason,
	error,
) {
	evidence := j.Launches.Variants.EvidenceKey(v.Knobs)
	for _, launch := range launches {
		key := runtime.Digest("proved", launch.ID, protocol, evidence)
		if _, known := j.proved.Load(key); known {
			continue
		}
		got, reasons, err := levels.KernelsVerdict(j.Launches, j.Launches.Variants.Plan.Protocol(protocol), v, launch)
		if err != nil {
			return verdict.Reason{}, fmt.Errorf("the evidence of launch %s: %w", launch.ID, err)
		}
		if got != verdict.Pass {
			return verdict.New(code.LaunchSays).On(launch.ID).From(reasons...), nil
		}
		j.proved.Store(key, true)
	}
	return verdict.Reason{}, nil
}

// IncomparableObservations is why launches are not comparable, as far as the engines report; no fact if
// nothing differs but what is under test. Settings must agree: within an arm always, and
// between arms unless a knob that differs between them changes them. A knob does so if it
// declares it (changes), if its evidence observes them, and if its evidence is the very line
// that they were taken from.
func (j *Checker) IncomparableObservations(launches []*ledger.Launch, vs []*variant.Variant) (verdict.Reason, error) {
	setting := map[string]bool{} // the observations that must agree
	byArm := byKey(launches)
	for _, v := range vs {
		patterns, err := j.Launches.Variants.Patterns(v)
		if err != nil {
			return verdict.Reason{}, err
		}
		for _, p := range patterns {
			setting[p.Name] = setting[p.Name] || !p.Consequence
		}
	}
	compared := func(launches ...*ledger.Launch) (names []string) {
		for _, launch := range launches {
			for name := range launch.Observed {
				if setting[name] {
					names = append(names, name)
				}
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	for _, v := range vs {
		// Launches that report different things about themselves are not of one variant.
		own := byArm[v.Key]
		for _, name := range compared(own...) {
			for _, launch := range own[1:] {
				if own[0].Observed[name].Value != launch.Observed[name].Value {
					return verdict.Say("observation.changed",
						"launches of {subject} differ in {name}: {value} in launch {one}, {other_value} in launch "+
							"{other}; it depends on something outside the plan",
						verdict.Text("name", name),
						verdict.Text("value", own[0].Observed[name].String()), verdict.Text("one", own[0].ID),
						verdict.Text("other_value", launch.Observed[name].String()),
						verdict.Text("other", launch.ID)).On(v.Name), nil
				}
			}
		}
	}
	one := vs[0]
	for _, other := range vs[1:] {
		left, right := byArm[one.Key], byArm[other.Key]
		if len(left) == 0 || len(right) == 0 {
			continue
		}
		var free, knobs, names, values, others, apart, quoted []string // what may differ, and the knobs that do
		var evidence []logscan.Glob
		whole := false // all that they are is under test
		for _, k := range j.Launches.Variants.Plan.Knobs {
			if one.Knobs[k.Name] == other.Knobs[k.Name] {
				continue
			}
			whole = whole || k.Arms
			knobs, free = append(knobs, k.Name), append(free, observationsOfKnob(k)...)
			for _, v := range k.Values {
				for _, text := range slices.Concat(v.MustSee.Log, v.MustNotSee.Log) {
					if g, err := logscan.ParseGlob(text); err == nil {
						evidence = append(evidence, g)
					}
				}
			}
		}
		for _, name := range compared(left[0], right[0]) {
			x, y := left[0].Observed[name], right[0].Observed[name]
			// Evidence for a knob value that is about it, by its position in the line.
			proves := slices.ContainsFunc(evidence, func(g logscan.Glob) bool {
				return g.Names(x.Line, x.At, x.To, x.Whole) || g.Names(y.Line, y.At, y.To, y.Whole)
			})
			if whole || x.Value == y.Value || slices.Contains(free, name) || proves {
				continue
			}
			names, values, others = append(names, name), append(values, x.String()), append(others, y.String())
			apart = append(apart, fmt.Sprintf("%s is %s against %s", name, x, y))
			quoted = append(quoted, strconv.Quote(name))
		}
		if len(names) > 0 {
			return verdict.New(code.DiffersUntested, verdict.List("names", names), verdict.Text("other", other.Name),
				verdict.Text("apart", strings.Join(apart, "; ")), verdict.List("quoted", quoted),
				verdict.List("values", values), verdict.List("other_values", others),
				verdict.List("knobs", knobs)).On(one.Name), nil
		}
	}
	return verdict.Reason{}, nil
}

// FreeObservations are the observations that knobs may change, for the decision's key: changing them
// decides again.
func (j *Checker) FreeObservations() []any {
	j.freed.Do(func() {
		for _, k := range j.Launches.Variants.Plan.Knobs {
			if names := observationsOfKnob(k); len(names) > 0 {
				j.free = append(j.free, k.Name, names)
			}
		}
	})
	return j.free
}

// observationsOfKnob are the observations that a knob may change: those it names, those that its
// evidence reads, and those that show the settings it sets.
func observationsOfKnob(k *plans.Knob) []string {
	names := slices.Clone(k.Changes)
	for _, v := range k.Values {
		names = slices.AppendSeq(names, maps.Keys(v.MustSee.Observed))
		names = slices.AppendSeq(names, maps.Keys(v.MustNotSee.Observed))
		for setting := range v.Settings {
			names = append(names, kinds.ObservationsOf(setting)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
