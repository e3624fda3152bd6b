package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
)

// mixed refuses a comparison of something counted with something measured.
func (f *claimed) mixed() *Error {
	var counted, measured string
	for _, in := range f.leaf.Inputs() {
		switch {
		case !in.Exact() && measured == "":
			measured = in.Path
		case in.Exact() && in.Kind != plans.InputTarget && counted == "":
			counted = in.Path
		}
	}
	return Wrong("undecidable-comparison", "Count and measurement in one comparison", "%s is an exact count, %s varies from launch to launch: one comparison cannot be decided both ways. Compare each with a number, and join the two with and.", counted, measured)
}

// oneAndAll refuses a comparison of a count in each launch with a count over all of them:
// the first is checked launch by launch.
func (f *claimed) oneAndAll() *Error {
	var one, all string
	for _, in := range f.leaf.Inputs() {
		switch {
		case in.Counted():
			one = in.Path
		case in.Kind == plans.InputMetric && in.Counts():
			all = in.Path
		}
	}
	if one == "" || all == "" {
		return nil
	}
	return Wrong("undecidable-comparison", "Per-launch and overall count in one comparison", "%s is counted per launch, %s over all launches. Compare each with a number, and join the two with and; the share of failed requests is error_rate.", one, all)
}

// equality refuses == and in on measurements, which are never quite equal.
func (f *claimed) equality() *Error {
	low, high := math.Inf(1), math.Inf(-1)
	list, _ := f.leaf.Right.Constant.([]any)
	for _, v := range list {
		x, _ := v.(float64)
		low, high = min(low, x), max(high, x)
	}
	var texts []string
	why := "Two measurements are never exactly equal, so no number of launches can show that " + f.leaf.Text + "."
	left, right := f.leaf.Left, f.leaf.Right
	if list == nil {
		as := *f
		as.sc = &Scope{Own: f.sc.Own, trial: true}
		if c, err := as.read(">="); err == nil {
			low, high = c.Threshold, c.Threshold
			left = &plans.Operand{Text: c.Input.Path, Input: c.Input}
		} else {
			left = nil
		}
	}
	if left != nil && left.Input != nil {
		in := left.Input
		if in.Once() {
			why = "Launches may differ in " + plainPath(in) + ", so their full range is compared: set a lower and an upper bound."
		}
		if in.Metric == "error_rate" && low == 0 && high == 0 && in.Relation == plans.Own {
			texts = append(texts, strings.Replace(in.Path, ".error_rate", ".errors", 1)+" == 0")
		}
		texts = append(texts, bounds(left.Text, in, low, high))
	} else if list != nil {
		texts = append(texts, fmt.Sprintf("%s >= %g and %[1]s <= %[3]g", left.Text, low, high))
	}
	if list == nil {
		texts = append(texts, fmt.Sprintf("%s >= 0.98 * %s and %[1]s <= 1.02 * %[2]s", f.leaf.Left.Text, right.Text))
	}
	return Wrong("equality-of-measurements", "Equal to a measurement", "%s %s", why, f.instead("Set a lower and an upper bound, with >= and <=.", texts...))
}

// several refuses a comparison of different things.
func (f *claimed) several(a, b *plans.Input) *Error {
	switch {
	case a.Feature != b.Feature:
		return f.features(a, b)
	case a.Relation == plans.Base && b.Relation == plans.Base:
		return Wrong("undecidable-comparison", "Nothing of the candidate", "%s compares the parent with the baseline, without the candidate. For the candidate against the baseline write %s.root.change, against its parent %[2]s.change.", f.leaf.Text, plainPath(a))
	}
	return Wrong("undecidable-comparison", "Different measurements compared", "%s compares %s and %s, but only the candidate and the base of one metric can be tested against each other. %s", f.leaf.Text, a.Path, b.Path, f.each())
}

// features refuses to compare two features that were not measured side by side.
func (f *claimed) features(a, b *plans.Input) *Error {
	for _, pair := range [][2]*plans.Input{{a, b}, {b, a}} {
		own, parent := pair[0], pair[1]
		if c := f.ns.Features[own.Feature]; c != nil && c.BuildsOn.Feature == parent.Feature && own.Relation == plans.Own && parent.Relation == plans.Own {
			return Wrong("features-compared", "Features compared", "%s compares two features, and %q builds on %q, its base. Compare it with its base, as in %s.", f.leaf.Text, own.Feature, parent.Feature, better(own))
		}
	}
	return Wrong("features-compared", "Features compared", "%s compares two features that were not measured in one session. Compare each with its parent, as in %s and %s, or let one feature choose between them.", f.leaf.Text, better(a), better(b))
}

// instead is a sentence with what to write: the first of the texts that would be accepted
// in the comparison's place, or else otherwise.
func (f *claimed) instead(otherwise string, texts ...string) string {
	if f.sc.trial {
		return otherwise
	}
	sc := *f.sc
	sc.trial = true
	for _, text := range texts {
		if text == "" {
			continue
		}
		if _, errs := f.ns.Compile(text, &sc); len(errs) == 0 {
			if strings.Contains(text, " or ") || f.leaf.Negated && strings.Contains(text, " and ") {
				text = "(" + text + ")"
			}
			return "Write instead: " + text + "."
		}
	}
	return otherwise
}

// bounds is a comparison with a range around low to high: with that range if it is one
// already or nothing varies, else 2% wider on either side.
func bounds(text string, in *plans.Input, low, high float64) string {
	slack := 0.0
	switch {
	case low < high || in.Once() && !in.Comparing():
	case in.Ratio() || low == 0:
		slack = 0.02
	default:
		slack = math.Abs(low) * 0.02
	}
	low, high = Rounded(low-slack), Rounded(high+slack)
	switch level := in.Relation == plans.Own || in.Relation == plans.Base; {
	case level && low < 0 && (in.MayBeZero() || in.Positive()):
		return fmt.Sprintf("%s <= %g", text, high)
	case level && high > 1 && in.Unit == "share":
		return fmt.Sprintf("%s >= %g", text, low)
	}
	return fmt.Sprintf("%s >= %g and %[1]s <= %[3]g", text, low, high)
}

// plainPath is an address without what follows the metric.
func plainPath(in *plans.Input) string {
	path, words := in.Path, append(measure.Stats(), "base", "gain", "change", "delta", string(plans.Root))
	for cut := true; cut; {
		cut = false
		for _, word := range words {
			if p, ok := strings.CutSuffix(path, "."+word); ok && strings.Contains(p, ".") {
				path, cut = p, true
			}
		}
	}
	return path
}

// each is a sentence that shows how to compare each number by itself.
func (f *claimed) each() string {
	var paths []string
	for _, in := range f.leaf.Inputs() {
		if in.Exact() {
			continue
		}
		if p := better(in); !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	if len(paths) == 1 {
		return fmt.Sprintf("Compare it with its base, as in %s, or with a constant.", paths[0])
	}
	return "Compare each with its own base, as in " + strings.Join(paths[:min(len(paths), 3)], " and ") + ", or with a constant."
}

// better is an example of a rule that wants an input's metric to be better than
// that of its parent.
func better(in *plans.Input) string {
	if in.Better == string(measure.Neither) {
		return plainPath(in) + ".change >= 0.05"
	}
	return plainPath(in) + ".gain >= 0.05"
}
