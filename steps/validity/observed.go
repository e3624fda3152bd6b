package validity

import (
	"fmt"
	"maps"
	"math"
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

// Unproved names the launch of a variant that does not prove its knob values; no fact if
// all known ones do. Results are cached: kept logs do not change.
func (j *Judge) Unproved(launches []*ledger.Launch, v *variant.Variant, protocol string) (verdict.Reason, error) {
	evidence := j.EvidenceKey(v.Knobs)
	for _, launch := range launches {
		key := runtime.Digest("proved", launch.ID, protocol, evidence)
		if _, known := j.proved.Load(key); known {
			continue
		}
		got, reasons, err := levels.Proved(&j.Lab, j.Plan.Protocol(protocol), v, launch)
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

// largeConsequence is a difference that must not be overlooked.
const largeConsequence = 0.05

// Consequences are the consequences of the settings in which arms differ: numbers of one
// arm that are all above or all below the other's.
func (j *Judge) Consequences(launches []*ledger.Launch, vs []*variant.Variant) (notes []verdict.Reason, err error) {
	byArm := byKey(launches)
	for _, v := range vs[1:] {
		patterns, err := j.Patterns(v)
		if err != nil {
			return nil, err
		}
		var done []string
		for _, p := range patterns {
			if !p.Consequence || slices.Contains(done, p.Name) {
				continue
			}
			done = append(done, p.Name)
			theirs, mine := numbersOf(byArm[vs[0].Key], p.Name), numbersOf(byArm[v.Key], p.Name)
			if len(theirs) == 0 || len(mine) == 0 || slices.Max(theirs) >= slices.Min(mine) && slices.Max(mine) >= slices.Min(theirs) {
				continue
			}
			was, is := mean(theirs), mean(mine)
			what, args := code.Of("observation.consequence",
				"{subject}: {name} {value}, {other} {other_value}{change? ({change})}"), []verdict.Arg{verdict.Text("name", p.Name), verdict.Num("value", is, p.Unit), verdict.Num("other_value", was, p.Unit), verdict.Text("other", vs[0].Name)}
			if was != 0 {
				args = append(args, verdict.Num("change", is/was-1, "ratio"))
			}
			if was == 0 || math.Abs(is/was-1) >= largeConsequence {
				what = code.Of("observation.consequence_large",
					"{subject}: {name} {value}, {other} {other_value}{change? ({change})}: a large difference")
			}
			notes = append(notes, verdict.New(what, args...).On(v.Name))
		}
	}
	return notes, nil
}

// numbersOf are the launches' values of an observation, if they are numbers.
func numbersOf(launches []*ledger.Launch, name string) (numbers []float64) {
	for _, launch := range launches {
		if n, ok := launch.Observed[name].Value.(float64); ok {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

func mean(numbers []float64) (sum float64) {
	for _, n := range numbers {
		sum += n / float64(len(numbers))
	}
	return sum
}

// settings checks that the arms of a comparison differ only in what is under test, as
// far as the engines report. Settings must agree: within an arm always, and between arms
// unless a knob that differs between them changes them. A knob does so if it declares it
// (changes), if its evidence observes them, and if its evidence is the very line that
// they were taken from.
type settings struct {
	judge *Judge
	// setting are the observations that must agree.
	setting map[string]bool
}

// Disagree is why launches are not comparable; no fact if they are.
func (j *Judge) Disagree(launches []*ledger.Launch, vs []*variant.Variant) (verdict.Reason, error) {
	a := settings{judge: j, setting: map[string]bool{}}
	byArm := byKey(launches)
	for _, v := range vs {
		patterns, err := j.Patterns(v)
		if err != nil {
			return verdict.Reason{}, err
		}
		for _, p := range patterns {
			a.setting[p.Name] = a.setting[p.Name] || !p.Consequence
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

// compared are the names that must agree among launches.
func (a settings) compared(launches []*ledger.Launch) (names []string) {
	for _, launch := range launches {
		for name := range launch.Observed {
			if a.setting[name] {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// within compares the launches of one arm: launches that report different things about
// themselves are not of one variant.
func (a settings) within(v *variant.Variant, launches []*ledger.Launch) verdict.Reason {
	for _, name := range a.compared(launches) {
		for _, launch := range launches[1:] {
			if launches[0].Observed[name].Value != launch.Observed[name].Value {
				return verdict.Say("observation.changed",
					"launches of {subject} differ in {name}: {value} in launch {one}, {other_value} in launch "+
						"{other}; it depends on something outside the plan",
					verdict.Text("name", name),
					verdict.Text("value", launches[0].Observed[name].String()), verdict.Text("one", launches[0].ID),
					verdict.Text("other_value", launch.Observed[name].String()), verdict.Text("other", launch.ID)).On(v.Name)
			}
		}
	}
	return verdict.Reason{}
}

// between compares two arms, each of which agrees within itself.
func (a settings) between(one, other *variant.Variant, byArm map[string][]*ledger.Launch) verdict.Reason {
	left, right := byArm[one.Key], byArm[other.Key]
	if len(left) == 0 || len(right) == 0 {
		return verdict.Reason{}
	}
	var free, knobs, names, values, others []string // what may differ, and the knobs that do
	for _, k := range a.judge.Plan.Knobs {
		if one.Knobs[k.Name] != other.Knobs[k.Name] {
			knobs, free = append(knobs, k.Name), append(free, freedBy(k)...)
		}
	}
	for _, name := range a.compared([]*ledger.Launch{left[0], right[0]}) {
		x, y := left[0].Observed[name], right[0].Observed[name]
		if x.Value == y.Value || slices.Contains(free, name) || a.proves(knobs, x, y) {
			continue
		}
		names, values, others = append(names, name), append(values, x.String()), append(others, y.String())
	}
	if len(names) == 0 {
		return verdict.Reason{}
	}
	apart, quoted := make([]string, len(names)), make([]string, len(names))
	for i, name := range names {
		apart[i], quoted[i] = fmt.Sprintf("%s is %s against %s", name, values[i], others[i]), strconv.Quote(name)
	}
	return verdict.New(code.DiffersUntested, verdict.List("names", names), verdict.Text("other", other.Name),
		verdict.Text("apart", strings.Join(apart, "; ")), verdict.List("quoted", quoted),
		verdict.List("values", values), verdict.List("other_values", others), verdict.List("knobs", knobs)).On(one.Name)
}

// proves reports whether evidence for a knob value is about one of some observations, by
// its position in the line: then they are what it is about.
func (a settings) proves(knobs []string, seen ...ledger.Observed) bool {
	for _, k := range a.judge.Plan.Knobs {
		if !slices.Contains(knobs, k.Name) {
			continue
		}
		for _, v := range k.Values {
			for _, text := range slices.Concat(v.MustSee.Log, v.MustNotSee.Log) {
				g, err := logscan.ParseGlob(text)
				if err == nil && slices.ContainsFunc(seen, func(o ledger.Observed) bool { return g.Names(o.Line, o.At, o.To, o.Whole) }) {
					return true
				}
			}
		}
	}
	return false
}

// Freed are the observations that knobs may change, for the decision's key: changing them
// decides again.
func (j *Judge) Freed() (free []any) {
	for _, k := range j.Plan.Knobs {
		if names := freedBy(k); len(names) > 0 {
			free = append(free, k.Name, names)
		}
	}
	return free
}

// freedBy are the observations that a knob may change: those it names, those that its
// evidence reads, and those that show the settings it sets.
func freedBy(k *plans.Knob) []string {
	names := slices.Clone(k.Changes)
	for _, v := range k.Values {
		names = slices.AppendSeq(names, maps.Keys(v.MustSee.Observed))
		names = slices.AppendSeq(names, maps.Keys(v.MustNotSee.Observed))
		for setting := range v.Settings {
			names = append(names, kinds.Shown(setting)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
