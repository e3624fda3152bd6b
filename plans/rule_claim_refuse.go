package plans

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// mixed refuses what is counted beside what is measured.
func (f *claimed) mixed() *ruleError {
	var counted, measured string
	for _, in := range f.leaf.Inputs() {
		switch {
		case !in.exact() && measured == "":
			measured = in.Path
		case in.exact() && in.Kind != InputTarget && counted == "":
			counted = in.Path
		}
	}
	return wrong("Counted and measured in one comparison", "%s is counted and has no noise, %s is measured and has: one comparison cannot be decided in both ways. Compare each of them by itself with a number, and join the two with and.", counted, measured)
}

// oneAndAll refuses what each launch counts beside a number of all of them: the first
// is held against the rule launch by launch.
func (f *claimed) oneAndAll() *ruleError {
	var one, all string
	for _, in := range f.leaf.Inputs() {
		switch {
		case in.Counted():
			one = in.Path
		case in.Kind == InputMetric && in.Counts():
			all = in.Path
		}
	}
	if one == "" || all == "" {
		return nil
	}
	return wrong("One launch against all in one comparison", "%s is counted in each launch, and %s over all of them. Compare each by itself with a number, and join the two with and; the share of requests that failed is error_rate.", one, all)
}

// equality refuses == and in on measurements, which are never quite equal.
func (f *claimed) equality() *ruleError {
	low, high := math.Inf(1), math.Inf(-1)
	list, _ := f.leaf.Right.Constant.([]any)
	for _, v := range list {
		x, _ := v.(float64)
		low, high = min(low, x), max(high, x)
	}
	var texts []string
	why := "Two measurements are never quite equal, so that no number of launches shows that " + f.leaf.Text + "."
	left, right := f.leaf.Left, f.leaf.Right
	if list == nil {
		as := *f
		as.sc = &scope{own: f.sc.own, trial: true}
		if c, err := as.read(">="); err == nil {
			low, high = c.Threshold, c.Threshold
			left = &Operand{Text: c.Input.Path, Input: c.Input}
		} else {
			left = nil
		}
	}
	if left != nil && left.Input != nil {
		in := left.Input
		if in.once() {
			why = "Launches may differ in " + plainPath(in) + ", so that their whole range is compared, with a bound to each side."
		}
		if in.Metric == "error_rate" && low == 0 && high == 0 && in.Relation == Own {
			texts = append(texts, strings.Replace(in.Path, ".error_rate", ".errors", 1)+" == 0")
		}
		texts = append(texts, bounds(left.Text, in, low, high))
	} else if list != nil {
		texts = append(texts, fmt.Sprintf("%s >= %g and %[1]s <= %[3]g", left.Text, low, high))
	}
	if list == nil {
		texts = append(texts, fmt.Sprintf("%s >= 0.98 * %s and %[1]s <= 1.02 * %[2]s", f.leaf.Left.Text, right.Text))
	}
	return wrong("Equal to a measurement", "%s %s", why, f.instead("Say between which bounds it may lie, with >= and <=.", texts...))
}

// knotted refuses arithmetic that leads to no single number with a distribution
// that is known.
func (f *claimed) knotted(k *knot) *ruleError {
	o := k.at
	switch {
	case o == nil:
	case slices.Contains(builtins, o.Op):
		return wrong("Function of a measurement", "%s of what is measured has no noise that statistics know, so that %s cannot be decided. %s", o.Op, f.leaf.Text,
			f.instead("Compare what stands inside of "+o.Op+" by itself, and join the comparisons with and or or.", f.unfolded()))
	case o.Op == "/" && len(o.Args) == 2 && len(o.Args[1].Inputs()) == 0:
		return wrong("Not a number", "%s divides by zero.", o.Text)
	}
	text := f.leaf.Text
	if o != nil {
		text = o.Text
	}
	return wrong("Product of measurements", "%s multiplies or divides measurements with each other, and how such a number varies between launches is not known. %s", text, f.each())
}

// divides refuses to divide by what may be zero.
func (f *claimed) divides(by linear) *ruleError {
	return wrong("Product of measurements", "%s divides by %s, which may be zero or less, so that nothing is known of how the result varies. %s", f.leaf.Text, by.names(), f.each())
}

// scaledAndShifted refuses own >= 0.9 * base + 5.
func (f *claimed) scaledAndShifted(own, base *Input, ratio, shift float64) *ruleError {
	if ratio <= 0 {
		return wrong("Different measurements compared", "%s adds up %s and %s, which is neither a ratio nor a difference. %s", f.leaf.Text, own.Path, base.Path, f.each())
	}
	return wrong("Relative and absolute in one comparison", "%s compares %s with a multiple of %s and a number besides, which is neither a ratio nor a difference. Compare either with a multiple, as in %s >= %g, or with a number, as in %s >= %.4g.",
		f.leaf.Text, own.Path, base.Path, related(own, base, Change).Path, rounded(ratio-1), related(own, base, Delta).Path, shift)
}

// several refuses a comparison of different things.
func (f *claimed) several(sum linear) *ruleError {
	a, b := sum.terms[0].in, sum.terms[1].in
	switch {
	case a.Feature != b.Feature:
		return f.features(a, b)
	case a.Relation == Base && b.Relation == Base:
		return wrong("Nothing of the candidate", "%s compares the parent with the baseline, and reads nothing of the candidate. For the candidate against the baseline write %s.root.change, against its parent %[2]s.change.", f.leaf.Text, plainPath(a))
	}
	return wrong("Different measurements compared", "%s compares %s, and whether they differ by more than their noise is not known: only a metric's candidate and base are tested against each other. %s", f.leaf.Text, sum.names(), f.each())
}

// features refuses to compare two features that were not measured side by side.
func (f *claimed) features(a, b *Input) *ruleError {
	for _, pair := range [][2]*Input{{a, b}, {b, a}} {
		own, parent := pair[0], pair[1]
		if c := f.ns.features[own.Feature]; c != nil && c.BuildsOn.Feature == parent.Feature && own.Relation == Own && parent.Relation == Own {
			return wrong("Features compared", "%s compares two features, and %q builds on %q: its launches stood beside those of that one. Compare it with its base, as in %s.", f.leaf.Text, own.Feature, parent.Feature, better(own))
		}
	}
	return wrong("Features compared", "%s compares two features, whose launches did not stand beside each other. Compare each with its parent, as in %s and %s, or let one feature choose between the two.", f.leaf.Text, better(a), better(b))
}
