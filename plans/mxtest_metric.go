package plans

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/engine/measure"
)

// measured is the metric of launches that an address means; nil where it is none,
// which has been reported.
func (l *caseLoader) measured(address string, at hcl.Range, ft *Feature) *Input {
	refuse := func(e *ruleError) *Input {
		l.fail(at, e.summary, "%s", e.detail)
		return nil
	}
	elements := strings.Split(address, ".")
	if slices.Contains(elements, "") {
		return refuse(wrong("Invalid metric address", "%q is no address. Write a workload and a metric, such as \"chat.tg\".", address))
	}
	in, err := l.ns.ofFeature(&Input{Path: address, Type: NumberInput}, elements, ft)
	switch {
	case err != nil && err.summary == "Unknown name in a rule":
		roots := append(workloadNames(l.plan), "engine", "gpu", "host")
		if l.plan.commandEngine() != nil {
			roots = append(roots, commandKind)
		}
		return refuse(wrong("Invalid metric address", "%q is neither a workload nor one of engine, gpu, host.%s", elements[0], l.didYouMean(elements[0], roots)))
	case err != nil:
		return refuse(err)
	case in.Kind == InputLevel:
		return refuse(wrong("Not a metric", "%s is the verdict of a level. Write levels = { %s = \"pass\" }.", address, in.Name))
	case in.Kind == InputObserved:
		return refuse(wrong("Not a metric", "%s is a word or a truth. Write observed = { %s = … }.", address, in.Name))
	case in.Kind == InputKnob:
		return refuse(wrong("Not a metric", "%s is the value of a knob. Write knobs = { %s = \"…\" }.", address, in.Name))
	case in.Kind != InputMetric:
		return refuse(wrong("Not a metric", "%q is no metric of launches. Write a workload and a metric, such as \"chat.tg\".", address))
	case in.Relation != Own:
		metric := in.launchAddress()
		if in.Stat != "median" {
			metric += "." + in.Stat
		}
		return refuse(wrong("Not what a launch measures", "%s comes from two arms, and a launch measures %s. Write %q = { base = […], candidate = […] }, or { gain = 0.2 }.", address, metric, metric))
	case in.Counts():
		return refuse(wrong("Not what a launch measures", "%s is counted from what the case gives: its launches, and their requests.", address))
	}
	return in
}

// notNumber says what to write where a number should stand.
func notNumber(v cty.Value, what, unit string) string {
	in := ""
	if unit != "" && unit != RatioUnit {
		in = " in " + unit
	}
	if v.IsNull() || v.Type() != cty.String {
		return fmt.Sprintf("%s takes a number%s; this is %s.", what, in, describe(v))
	}
	text := strings.TrimSpace(v.AsString())
	if n, percent, ok := numberIn(text); ok && percent && !isShare(unit) {
		return fmt.Sprintf("%s takes a number%s, and this is the text %q. Per cent of what? Write the number itself, without quotes; of a comparison with the base, { gain = %g }.", what, in, text, n)
	} else if ok && percent {
		return fmt.Sprintf("%s takes a number%s, and this is the text %q. Ratios are fractions: write %g, without quotes.", what, in, text, n)
	}
	number, word, _ := strings.Cut(text, " ")
	if _, err := strconv.ParseFloat(number, 64); err == nil && word != "" {
		return fmt.Sprintf("%s takes a plain number%s, and this is the text %q. Write it in that unit, without the unit and without quotes.", what, in, text)
	}
	switch strings.ToLower(strings.TrimLeft(text, "+-.")) {
	case "nan", "inf", "infinity":
		return fmt.Sprintf("%s takes a number%s; %q is none, and no launch counts with it. Write null for a launch that does not have the metric.", what, in, text)
	}
	return fmt.Sprintf("%s takes a number%s; this is the text %q. Write it without quotes.", what, in, text)
}

// requestsOf is how many requests a launch's number comes from by the plan; 0 for
// what a launch has once.
func (l *caseLoader) requestsOf(in *Input) int {
	if _, ok := measure.LookupIn(in.Metric, measure.PerRequest); !ok {
		return 0
	}
	if c := l.cellOf(in); c != nil {
		return max(1, c.Requests)
	}
	return 0
}

// cellOf is the cell of a workload that an input belongs to; nil where it belongs
// to none.
func (l *caseLoader) cellOf(in *Input) *Cell {
	cells := l.ns.cells[strings.Split(in.Cell, ".")[0]]
	for i := range cells {
		if cells[i].Address == in.Cell {
			return &cells[i]
		}
	}
	return nil
}

// evenArms refuses lists of different lengths: which launch is missing would be
// anybody's guess.
func (l *caseLoader) evenArms(all []*measurement, list []GivenMetric) {
	if len(all) != len(list) {
		return // reported
	}
	var first string
	n := 0
	for i, g := range list {
		for _, arm := range []struct {
			name   string
			values []*float64
		}{{"base", g.Base}, {"candidate", g.Candidate}, {"root", g.Root}} {
			what := fmt.Sprintf("%s of %s", arm.name, all[i].key)
			switch {
			case len(arm.values) == 0:
			case n == 0:
				first, n = what, len(arm.values)
			case len(arm.values) != n:
				at, ok := all[i].at[arm.name]
				if !ok {
					at = all[i].pair.at
				}
				l.fail(at, "Unequal launches", "%s has %d launches, and %s has %d. Launches of one place in the lists stood beside each other: write null for one that was not made, or does not have the metric.", first, n, what, len(arm.values))
				return
			}
		}
	}
}
