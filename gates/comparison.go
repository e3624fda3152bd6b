package gates

import (
	"fmt"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// finding is what the evidence says about one comparison.
type finding struct {
	verdict.Comparison
	// reason is what was found against what was required, from what decided it.
	reason verdict.Reason
	// open names the features for which more launches could still settle it.
	open []string
	// stale names arms whose launches are not fresh starts.
	stale []string
}

// find decides one comparison. It evaluates both sides, even those that the rule's logic
// would skip, and returns an error for numbers that are not finite and for launches that
// cannot be tested.
func (c *ruling) find(leaf *plans.Compare) (*finding, error) {
	f := &finding{Comparison: verdict.Comparison{Text: leaf.Text, Reads: paths(leaf.Inputs()), Op: leaf.Op, Turned: leaf.Left.Constant != nil, Verdict: verdict.Inconclusive}}
	if !c.there(f, leaf.Inputs()) {
		return f, nil
	}
	if in := leaf.Metric; in != nil && !c.ev.exact() && !c.there(f, []*plans.Input{in}) {
		return f, nil
	}
	value := func(in *plans.Input) any { return c.readings[in].value(in) }
	left, err := leaf.Left.Value(value)
	if err != nil {
		return nil, err
	}
	right, err := leaf.Right.Value(value)
	if err != nil {
		return nil, err
	}
	if f.Holds, err = holds(leaf.Op, left, right); err != nil {
		return nil, err
	}
	if c.ev.exact() {
		f.Left, f.Right = sides(leaf, left, right)
		f.Test = &verdict.Test{Form: verdict.Exact, Negated: leaf.Negated}
		f.settle(leaf, f.Holds != leaf.Negated)
		f.reason = f.found(leaf, f.Verdict == verdict.Pass).Is(f.Verdict)
		return f, nil
	}
	if leaf.Form == verdict.Exact {
		f.Left, f.Right = sides(leaf, left, right)
		return f, c.exact(f, leaf)
	}
	if err := c.test(f, leaf); err != nil {
		return nil, err
	}
	left, right = looked(leaf, f.Test, left, right)
	f.Left, f.Right = sides(leaf, left, right)
	f.reason = f.found(leaf, f.Verdict == verdict.Pass).Is(f.Verdict).From(c.argued(leaf, f)...)
	return f, nil
}

func paths(inputs []*plans.Input) (list []string) {
	for _, in := range inputs {
		list = append(list, in.Path)
	}
	return list
}

// there reports whether inputs are present, and notes which of them rest on arms that
// were already running and which launches they wait for.
func (c *ruling) there(f *finding, inputs []*plans.Input) bool {
	all := true
	for _, in := range inputs {
		r := c.read(in)
		if r.absent != "" {
			all = false
			f.open = merged(f.open, r.awaited(in))
		}
		if r.stale != "" {
			f.stale = merged(f.stale, []string{r.stale})
		}
	}
	return all
}

// test decides a comparison of what launches measured.
func (c *ruling) test(f *finding, leaf *plans.Compare) (err error) {
	in := leaf.Metric
	r := c.readings[in]
	if leaf.Form == verdict.Range {
		f.Verdict, f.Test, err = c.wholeRange(leaf, r)
	} else {
		f.Verdict, f.Test, err = c.ttest(leaf, r, c.shares[leaf])
	}
	if err != nil {
		return err
	}
	f.Test.Negated = leaf.Negated
	if f.Test.Stop == verdict.StopOpen && len(f.stale) == 0 {
		f.open = []string{in.Feature}
	}
	if !in.Comparing() && leaf.Tested() {
		unsteady(f, r.own, in.LaunchAddress())
	}
	c.refute(f, leaf)
	return nil
}

// unsteady withdraws a decision about a single arm whose requests drift within its
// launches: there is no other arm beside it that drifts too.
func unsteady(f *finding, t sample, address string) {
	var drifts []float64
	for _, l := range t.arm.Launches {
		if v, ok := l.Metrics[address].Stats[measure.Drift]; ok {
			drifts = append(drifts, v)
		}
	}
	drift, _, flagged := stats.Drift(drifts)
	if !flagged {
		return
	}
	f.Verdict, f.open = verdict.Inconclusive, nil
	if f.Test.Note = verdict.Say("launches.drift_unknown", "drift within launches is not a finite number"); !math.IsNaN(drift) {
		f.Test.Note = verdict.Say("launches.drift",
			"{subject} drifts by {by} from the first half of a launch's requests to the second, and one arm "+
				"alone cannot cancel that",
			verdict.Num("by", math.Expm1(-drift), plans.RatioUnit)).On(address)
	}
}

// direct reports whether a comparison is written as it is decided: one unmodified number
// against the plan's.
func direct(leaf *plans.Compare) bool {
	return isMetric(leaf, leaf.Left) && !measured(leaf.Right) || isMetric(leaf, leaf.Right) && !measured(leaf.Left)
}

func measured(o plans.Operand) bool { return o.Input != nil && o.Input.Measured() }

// isMetric reports whether a side is what the comparison tests, as it is.
func isMetric(leaf *plans.Compare, o plans.Operand) bool {
	in := leaf.Metric
	return in != nil && o.Input != nil && o.Factor == 1 && (o.Input == in || o.Input.Path == in.Path && o.Input.Feature == in.Feature)
}

// looked replaces the estimate of all launches by that of the last look where it is a
// side of the comparison by itself: what is reported of a test concerns the launches it
// counted.
func looked(leaf *plans.Compare, t *verdict.Test, left, right any) (any, any) {
	if t == nil || t.Estimate == nil || len(t.Looks) == 0 {
		return left, right
	}
	switch {
	case isMetric(leaf, leaf.Left):
		left = *t.Estimate
	case isMetric(leaf, leaf.Right):
		right = *t.Estimate
	}
	return left, right
}

func holds(op string, left, right any) (bool, error) {
	switch op {
	case "==":
		return left == right, nil
	case "!=":
		return left != right, nil
	case "in":
		if list, ok := right.([]any); ok {
			return slices.Contains(list, left), nil
		}
	}
	l, lok := left.(float64)
	r, rok := right.(float64)
	if lok && rok {
		switch op {
		case "<":
			return l < r, nil
		case "<=":
			return l <= r, nil
		case ">":
			return l > r, nil
		case ">=":
			return l >= r, nil
		}
	}
	return false, fault(verdict.Say("undecidable.incomparable", "cannot compare {left} {op} {right}",
		verdict.Text("left", fmt.Sprint(left)), verdict.Text("op", op), verdict.Text("right", fmt.Sprint(right))))
}

// sides returns the values of both sides of a comparison in their unit; a constant takes
// the unit of the other side.
func sides(leaf *plans.Compare, left, right any) (verdict.Value, verdict.Value) {
	unit := leaf.Left.Unit
	if unit == "" {
		unit = leaf.Right.Unit
	}
	if unit == plans.RatioUnit {
		switch {
		case spread(leaf.Left) || spread(leaf.Right):
			unit = "spread"
		case leaf.Left.Factor != 1 || leaf.Right.Factor != 1:
			// Twice a change may be below -100%, which no quantity can lose.
			unit = "percent"
		}
	}
	return side(left, unit), side(right, unit)
}

func side(v any, unit string) verdict.Value {
	switch v := v.(type) {
	case float64:
		return verdict.Num("", v, unit).Value
	case []any:
		var numbers []float64
		words := make([]string, len(v))
		for i, e := range v {
			if x, ok := e.(float64); ok {
				numbers = append(numbers, x)
			}
			words[i] = fmt.Sprint(e)
		}
		if len(numbers) == len(v) {
			return verdict.Value{Numbers: numbers, Unit: unit}
		}
		return verdict.Value{List: words}
	}
	return verdict.Value{Text: fmt.Sprint(v)}
}

// spread reports whether a side is a coefficient of variation: a ratio, but not a signed
// change.
func spread(o plans.Operand) bool { return o.Factor == 1 && o.Input != nil && o.Input.Stat == "cv" }

// unitOf is the unit of an input's own number.
func unitOf(in *plans.Input) string {
	if in.Ratio() || in.Stat == "cv" {
		return plans.RatioUnit
	}
	return in.Unit
}

// found is the reason with what was found against what was required, and whether it
// holds.
func (f *finding) found(leaf *plans.Compare, wanted bool, more ...verdict.Arg) verdict.Reason {
	subject, other, is, want, op := leaf.Left, leaf.Right, f.Left, f.Right, leaf.Op
	if f.Turned {
		subject, other, is, want, op = other, subject, want, is, plans.Turned(op)
	}
	c := code.NotAsWanted
	if wanted {
		c = code.AsWanted
	}
	args := append(more, verdict.Arg{Name: "is", Value: is}, verdict.Text("op", op), verdict.Arg{Name: "wanted", Value: want})
	if other.Constant == nil {
		args = append(args, verdict.Text("of", other.Text))
	}
	if leaf.Negated {
		args = append(args, verdict.Text("negated", "yes"))
	}
	return verdict.New(c, args...).On(subject.Text)
}

// rests lists the evidence behind the values of inputs.
func (c *ruling) rests(inputs []*plans.Input) (on []verdict.Reason) {
	for _, in := range inputs {
		if r := c.readings[in]; r != nil && r.N > 0 {
			on = append(on, verdict.New(code.RestsOn, strength(in, r)...).On(in.Path))
		}
	}
	return on
}

// strength is how many launches a value comes from, and how certain it is.
func strength(in *plans.Input, r *reading) []verdict.Arg {
	args := []verdict.Arg{verdict.Int("n", r.N)}
	if r.BaseN > 0 {
		args = append(args, verdict.Int("base_n", r.BaseN))
	}
	if r.Low != nil && r.High != nil && !in.Counted() {
		args = append(args, verdict.Span("interval", *r.Low, *r.High, unitOf(in)))
	}
	return args
}

// argued is how launches decided a comparison. An estimate that stopped a test at a pass
// is too good on average, so it is shown with the bound.
func (c *ruling) argued(leaf *plans.Compare, f *finding) []verdict.Reason {
	t, in := f.Test, leaf.Metric
	a := argument{test: t, unit: unitOf(in), most: c.most(in), n: len(t.Values)}
	if in.Stat == "cv" {
		a.unit = "spread"
	}
	if len(t.Looks) > 0 {
		a.last = t.Looks[len(t.Looks)-1]
		a.n = a.last.N
	} else if t.Against != "" {
		a.n = min(a.n, len(t.Base))
	}
	why := a.shown(f.Verdict)
	if !direct(leaf) && t.Note.IsZero() {
		why = why.On(in.Path)
	}
	out := []verdict.Reason{why}
	if len(t.Unpaired) > 0 {
		out = append(out, verdict.New(code.NotPaired, verdict.List("launches", t.Unpaired)))
	}
	return out
}

// argument is what a test found, for explain.
type argument struct {
	test *verdict.Test
	unit string
	// n is the launches per arm that it counted, most the maximum, and last its last
	// look.
	n, most int
	last    verdict.Look
}

// say returns a fact about the launches of a test.
func (a argument) say(c code.Fact, more ...verdict.Arg) verdict.Reason {
	args := append(more, verdict.Int("launches", a.n))
	if a.test.Against != "" {
		args = append(args, verdict.Text("against", a.test.Against))
	}
	return verdict.New(c, args...)
}

func (a argument) shown(v verdict.Verdict) verdict.Reason {
	t, last := a.test, a.last
	switch {
	case !t.Note.IsZero():
		return t.Note
	case t.Form == verdict.Range:
		return a.ranged(v)
	case t.Clear():
		c, p, level, side := code.Of("test.clear",
			"{subject?{subject} }{at_least?lower bound {at_least~limit}}{at_least!{at_most?upper bound "+
				"{at_most~limit}}{at_most!no finite bound}}, clear at {launches|launch|launches}{against? per arm}: "+
				"{times:2} recorded standard deviations from the threshold"), last.PPass, t.Pass, t.More
		if t.Stop == verdict.StopFail {
			c, p, level, side = code.Of("test.clear_against",
				"{subject?{subject} }{at_least?lower bound {at_least~limit}}{at_least!{at_most?upper bound "+
					"{at_most~limit}}{at_most!no finite bound}}, clear at {launches|launch|launches}{against? per "+
					"arm}: {times:2} recorded standard deviations from the threshold"), last.PFail, t.Fail, !t.More
		}
		return a.say(c, append(a.bound(side), verdict.Num("p", p, "p"), verdict.Num("level", level, "level"), verdict.Num("times", math.Abs(last.Estimate-t.Theta)/t.Floor, ""))...)
	case t.Stop == verdict.StopPass:
		return a.say(code.Of("test.shown",
			"{subject?{subject} }{at_least?lower bound {at_least~limit}}{at_least!{at_most?upper bound "+
				"{at_most~limit}}{at_most!no finite bound}}, {launches|launch|launches}{against? per arm}"),
			append(a.bound(t.More), verdict.Num("p", last.PPass, "p"), verdict.Num("level", t.Pass, "level"))...)
	case t.Stop == verdict.StopFail:
		return a.say(code.Of("test.shown_against",
			"{subject?{subject} }{at_least?lower bound {at_least~limit}}{at_least!{at_most?upper bound "+
				"{at_most~limit}}{at_most!no finite bound}}, {launches|launch|launches}{against? per arm}"),
			append(a.bound(!t.More), verdict.Num("p", last.PFail, "p"), verdict.Num("level", t.Fail, "level"))...)
	case t.Stop == verdict.StopScreen:
		return a.say(code.Of("test.screened",
			"{launches|launch|launches}{against? per arm}: too far off for more to help"))
	case t.Stop == verdict.StopFutile:
		return a.say(code.Of("test.futile",
			"{subject?{subject} }{between?bounds {between}}{between!no finite bounds}, "+
				"{launches|launch|launches}{against? per arm}: undecided, more had a {chance:2} chance of deciding"),
			append(a.between(), verdict.Num("chance", last.Chance, shareUnit))...)
	case t.Stop == verdict.StopEnd && a.n > 1 && last.DF == 0 && a.n < t.Sure():
		takes := []verdict.Arg{verdict.Int("takes", t.Sure())}
		if t.FloorDF == 0 {
			takes = append(takes, verdict.Text("unrecorded", "yes"))
		}
		return a.say(code.VerdictTakes, takes...)
	case t.Stop == verdict.StopEnd && a.n > 1 && last.DF == 0, a.n == 1:
		return a.say(code.SaysNothing)
	case t.Stop == verdict.StopEnd:
		return a.say(code.Of("test.could_not_tell",
			"{subject?{subject} }{between?bounds {between}}{between!no finite bounds}, "+
				"{launches|launch|launches}{against? per arm}: undecided"),
			a.between()...)
	case len(t.Looks) == 0 && len(t.Plan) > 0:
		return a.say(code.Of("test.before_first_look",
			"{launches|launch|launches}{against? per arm}: undecided, first look at {first}"),
			verdict.Int("first", t.Plan[0]))
	}
	return a.say(code.Of("test.goes_on",
		"{subject?{subject} }{between?bounds {between}}{between!no finite bounds}, {launches} of up to {most} "+
			"launches{against? per arm}: undecided"),
		append(a.between(), verdict.Int("most", a.most))...)
}

// ranged is what the whole range of launches shows.
func (a argument) ranged(v verdict.Verdict) verdict.Reason {
	t := a.test
	switch {
	case v == verdict.Pass:
		return a.say(code.Of("range.shown",
			"{subject?{subject} }{at_least?lower bound {at_least~limit}}{at_least!{at_most?upper bound "+
				"{at_most~limit}}{at_most!no finite bound}} over all {against?pairs of }launches, "+
				"{launches|launch|launches}{against? per arm}"),
			a.bound(t.More)...)
	case v == verdict.Fail:
		return a.say(code.Of("range.shown_against",
			"{subject?{subject} }{at_least?lower bound {at_least~limit}}{at_least!{at_most?upper bound "+
				"{at_most~limit}}{at_most!no finite bound}} at best, {launches|launch|launches}{against? per arm}"),
			a.bound(!t.More)...)
	case a.n == 1:
		return a.say(code.SaysNothing)
	case t.Stop == verdict.StopFutile:
		return a.say(code.Of("range.straddles",
			"{subject?{subject} }{between?bounds {between}}{between!no finite bounds} over all {against?pairs of "+
				"}launches, {launches|launch|launches}{against? per arm}: undecided"),
			a.between()...)
	case t.Stop == verdict.StopEnd:
		return a.say(code.VerdictTakes, verdict.Int("takes", t.First))
	}
	return a.say(code.Of("range.goes_on", "{launches} of at least {takes} launches{against? per arm}: undecided"),
		verdict.Int("takes", t.First))
}

// bound is one bound, with the threshold that it clears.
func (a argument) bound(low bool) []verdict.Arg {
	side, edge := "at_most", a.test.High
	if low {
		side, edge = "at_least", a.test.Low
	}
	if edge == nil {
		return nil
	}
	return []verdict.Arg{verdict.Num(side, *edge, a.unit), verdict.Num("limit", a.test.Threshold, a.unit)}
}

// between is both bounds.
func (a argument) between() []verdict.Arg {
	if a.test.Low == nil || a.test.High == nil {
		return nil
	}
	return []verdict.Arg{verdict.Span("between", *a.test.Low, *a.test.High, a.unit)}
}
