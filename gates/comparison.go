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
	// reason compares the measured value with the required one, and names what decided.
	reason verdict.Reason
	// open names the features for which more launches could still settle it.
	open []string
	// stale is set if it reads an arm whose launches are not fresh starts.
	stale bool
}

// find decides one comparison. It evaluates both sides, even those that the rule's logic
// would skip, and returns an error for numbers that are not finite and for launches that
// cannot be tested.
func (c *ruling) find(leaf *plans.Compare) (*finding, error) {
	f := &finding{Comparison: verdict.Comparison{
		Text: leaf.Text, Op: leaf.Op, Turned: leaf.Left.Constant != nil, Verdict: verdict.Inconclusive,
		Reads: plans.Names(leaf.Inputs(), func(in *plans.Input) string { return in.Path }),
	}}
	var tested []*plans.Input // which need not be what is written
	if leaf.Metric != nil {
		tested = append(tested, leaf.Metric)
	}
	for _, inputs := range [][]*plans.Input{leaf.Inputs(), tested} {
		absent := false
		for _, in := range inputs {
			r := c.read(in)
			f.stale = f.stale || r.stale != ""
			if absent = absent || r.absent != ""; r.unmeasured {
				f.open = union(f.open, in.Feature)
			}
		}
		if absent {
			return f, nil
		}
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
	f.Left, f.Right = sides(leaf, left, right)
	switch {
	case leaf.Form == verdict.Exact:
		f.Test = &verdict.Test{Form: verdict.Exact, Negated: leaf.Negated}
		return f, c.exact(f, leaf)
	case leaf.Form == verdict.Range:
		f.Test, err = c.wholeRange(leaf, c.readings[leaf.Metric])
	default:
		f.Test, err = c.ttest(leaf, c.readings[leaf.Metric], c.shares[leaf])
	}
	if err != nil {
		return nil, err
	}
	switch f.Test.Stop {
	case stats.Passed:
		f.Verdict = verdict.Pass
	case stats.Failed, stats.Screened:
		f.Verdict = verdict.Fail
	}
	f.Test.Negated = leaf.Negated
	c.contest(f, leaf)
	f.Left, f.Right = sides(leaf, lastLook(leaf, leaf.Left, f.Test, left), lastLook(leaf, leaf.Right, f.Test, right))
	f.reason = f.statement(leaf, f.Verdict == verdict.Pass).Is(f.Verdict).From(c.explain(leaf, f)...)
	return f, nil
}

// contest withdraws what a test on launches decided where something else speaks against it,
// and says for which feature more launches could settle it.
func (c *ruling) contest(f *finding, leaf *plans.Compare) {
	in := leaf.Metric
	if f.Test.Stop == stats.Open && !f.stale {
		f.open = []string{in.Feature}
	}
	if !in.Comparing() && leaf.Tested() {
		// The requests of a single arm may drift within its launches: there is no other arm
		// beside it that drifts too.
		var drifts []float64
		for _, l := range c.readings[in].own.arm.Launches {
			if v, ok := l.Metrics[in.LaunchAddress()].Stats[measure.Drift]; ok {
				drifts = append(drifts, v)
			}
		}
		switch drift, _, flagged := stats.Drift(drifts); {
		case !flagged:
		case math.IsNaN(drift):
			f.Verdict, f.open = verdict.Inconclusive, nil
			f.Test.Note = verdict.Say("launches.drift_unknown", "drift within launches is not a finite number")
		default:
			f.Verdict, f.open = verdict.Inconclusive, nil
			f.Test.Note = verdict.Say("launches.drift",
				"{subject} drifts by {by} from the first half of a launch's requests to the second, and one arm "+
					"alone cannot cancel that",
				verdict.Num("by", math.Expm1(-drift), plans.RatioUnit)).On(in.LaunchAddress())
		}
	}
	if why, open := c.contradiction(f, leaf); !why.IsZero() {
		if f.Verdict, f.open, f.Test.Note = verdict.Inconclusive, nil, why; open {
			f.open = []string{in.Feature}
		}
	}
}

// isMetric reports whether a side is what the comparison tests, as it is.
func isMetric(leaf *plans.Compare, o plans.Operand) bool {
	in := leaf.Metric
	return in != nil && o.Input != nil && o.Factor == 1 &&
		(o.Input == in || o.Input.Path == in.Path && o.Input.Feature == in.Feature)
}

// lastLook replaces the estimate over all launches by that of the last look for a side
// that was tested: a reported test concerns only the launches it counted.
func lastLook(leaf *plans.Compare, o plans.Operand, t *verdict.Test, value any) any {
	if t.Estimate == nil || len(t.Looks) == 0 || !isMetric(leaf, o) {
		return value
	}
	return *t.Estimate
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
	// A coefficient of variation is a ratio, but not a signed change.
	spread := func(o plans.Operand) bool { return o.Factor == 1 && o.Input != nil && o.Input.Stat == "cv" }
	switch {
	case unit != plans.RatioUnit:
	case spread(leaf.Left) || spread(leaf.Right):
		unit = "spread"
	case leaf.Left.Factor != 1 || leaf.Right.Factor != 1:
		// Twice a change may be below -100%, which no quantity can lose.
		unit = "percent"
	}
	side := func(v any) verdict.Value {
		switch v := v.(type) {
		case float64:
			return verdict.Num("", v, unit).Value
		case []any:
			out := verdict.Value{Unit: unit}
			words := make([]string, len(v))
			for i, e := range v {
				if x, ok := e.(float64); ok {
					out.Numbers = append(out.Numbers, x)
				}
				words[i] = fmt.Sprint(e)
			}
			if len(out.Numbers) == len(v) {
				return out
			}
			return verdict.Value{List: words}
		}
		return verdict.Value{Text: fmt.Sprint(v)}
	}
	return side(left), side(right)
}

// settle decides for good.
func (f *finding) settle(leaf *plans.Compare, wanted bool) {
	f.Verdict, f.Test.Stop, f.Holds = verdict.Fail, stats.Failed, leaf.Negated
	if wanted {
		f.Verdict, f.Test.Stop, f.Holds = verdict.Pass, stats.Passed, !leaf.Negated
	}
}

// statement is the reason (measured against required), and whether the comparison holds.
func (f *finding) statement(leaf *plans.Compare, wanted bool, more ...verdict.Arg) verdict.Reason {
	subject, other, is, want, op := leaf.Left, leaf.Right, f.Left, f.Right, leaf.Op
	if f.Turned {
		subject, other, is, want, op = other, subject, want, is, plans.Mirrored(op)
	}
	c := code.NotAsWanted
	if wanted {
		c = code.AsWanted
	}
	args := append(more, verdict.Arg{Name: "is", Value: is}, verdict.Text("op", op),
		verdict.Arg{Name: "wanted", Value: want})
	if other.Constant == nil {
		args = append(args, verdict.Text("of", other.Text))
	}
	if leaf.Negated {
		args = append(args, verdict.Text("negated", "yes"))
	}
	return verdict.New(c, args...).On(subject.Text)
}

// explain is how launches decided a comparison. An estimate that stopped a test at a pass
// is too good on average, so it is shown with the bound.
func (c *ruling) explain(leaf *plans.Compare, f *finding) []verdict.Reason {
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
	why := t.Note
	if why.IsZero() {
		why = a.ofTest(f.Verdict)
		measured := func(o plans.Operand) bool { return o.Input != nil && o.Input.Measured() }
		left, right := leaf.Left, leaf.Right
		asDecided := isMetric(leaf, left) && !measured(right) || isMetric(leaf, right) && !measured(left)
		if !asDecided { // it is written in another way
			why = why.On(in.Path)
		}
	}
	if len(t.Unpaired) > 0 {
		return []verdict.Reason{why, verdict.New(code.NotPaired, verdict.List("launches", t.Unpaired))}
	}
	return []verdict.Reason{why}
}

// argument is what a test found, for explain.
type argument struct {
	test *verdict.Test
	unit string
	// n is the launches per arm that it counted, most the maximum, and last its last
	// look.
	n, most int
	last    stats.Look
}

// say returns a fact about the launches of a test.
func (a argument) say(c code.Fact, more ...verdict.Arg) verdict.Reason {
	args := append(more, verdict.Int("launches", a.n))
	if a.test.Against != "" {
		args = append(args, verdict.Text("against", a.test.Against))
	}
	return verdict.New(c, args...)
}

// ofTest is what launches show.
func (a argument) ofTest(v verdict.Verdict) verdict.Reason {
	t, last, perArm := a.test, a.last, a.perArm()
	p, level := last.PPass, t.Pass
	if t.Stop == stats.Failed {
		p, level = last.PFail, t.Fail
	}
	bound, args := a.bound()
	args = append(args, verdict.Num("p", p, "p"), verdict.Num("level", level, "level"))
	bounds, both := a.bounds()
	switch {
	case t.Form == verdict.Range:
		return a.ofRange(v)
	case t.ByRecordedNoise():
		kind := code.Kind("test.clear")
		if t.Stop == stats.Failed {
			kind = "test.clear_against"
		}
		args = append(args, verdict.Num("times", math.Abs(last.Estimate-t.Theta)/t.Floor, ""))
		text := ", clear at " + perArm + ": {times:2} recorded standard deviations from the threshold"
		return a.say(code.Of(kind, bound+text), args...)
	case t.Stop == stats.Passed:
		return a.say(code.Of("test.shown", bound+", "+perArm), args...)
	case t.Stop == stats.Failed:
		return a.say(code.Of("test.shown_against", bound+", "+perArm), args...)
	case t.Stop == stats.Screened:
		return a.say(code.Of("test.screened", perArm+": too far off, more would not help"))
	case t.Stop == stats.Futile:
		return a.say(code.Of("test.futile", bounds+", "+perArm+": undecided, more had a {chance:2} chance of deciding"),
			append(both, verdict.Num("chance", last.Chance, shareUnit))...)
	case t.Stop == stats.Ended && a.n > 1 && last.DF == 0 && a.n < t.Sure():
		takes := []verdict.Arg{verdict.Int("takes", t.Sure())}
		if t.FloorDF == 0 {
			takes = append(takes, verdict.Text("unrecorded", "yes"))
		}
		return a.say(code.VerdictTakes, takes...)
	case t.Stop == stats.Ended && last.DF == 0 && a.n > 1, a.n == 1:
		return a.say(code.SaysNothing)
	case t.Stop == stats.Ended:
		return a.say(code.Of("test.could_not_tell", bounds+", "+perArm+": undecided"), both...)
	case len(t.Looks) == 0 && len(t.Plan) > 0:
		return a.say(code.Of("test.before_first_look", perArm+": undecided, first look at {first}"),
			verdict.Int("first", t.Plan[0]))
	}
	return a.say(code.Of("test.goes_on", bounds+", {launches} of up to {most} launches{against? per arm}: undecided"),
		append(both, verdict.Int("most", a.most))...)
}

// ofRange is what the whole range of launches shows.
func (a argument) ofRange(v verdict.Verdict) verdict.Reason {
	bound, args := a.bound()
	all := " over all launches, "
	if a.test.Against != "" {
		all = " over all pairs of launches, "
	}
	switch {
	case v == verdict.Pass:
		return a.say(code.Of("range.shown", bound+all+a.perArm()), args...)
	case v == verdict.Fail:
		return a.say(code.Of("range.shown_against", bound+" at best, "+a.perArm()), args...)
	case a.n == 1:
		return a.say(code.SaysNothing)
	case a.test.Stop == stats.Futile:
		bounds, args := a.bounds()
		return a.say(code.Of("range.straddles", bounds+all+a.perArm()+": undecided"), args...)
	case a.test.Stop == stats.Ended:
		return a.say(code.VerdictTakes, verdict.Int("takes", a.test.First))
	}
	return a.say(code.Of("range.goes_on", "{launches} of at least {takes} launches{against? per arm}: undecided"),
		verdict.Int("takes", a.test.First))
}

func (a argument) perArm() string {
	if a.test.Against == "" {
		return "{launches|launch|launches}"
	}
	return "{launches|launch|launches} per arm"
}

// bound is the text of the bound that decided, with it and the threshold that it clears.
func (a argument) bound() (text string, args []verdict.Arg) {
	text, side, edge := "upper bound {at_most~limit:most}", "at_most", a.test.High
	if a.test.More != (a.test.Stop == stats.Failed) {
		text, side, edge = "lower bound {at_least~limit:least}", "at_least", a.test.Low
	}
	if edge == nil {
		return "{subject?{subject} }no finite bound", nil
	}
	args = []verdict.Arg{verdict.Num(side, *edge, a.unit), verdict.Num("limit", a.test.Threshold, a.unit)}
	return "{subject?{subject} }" + text, args
}

// bounds is the text of both bounds, with them.
func (a argument) bounds() (text string, args []verdict.Arg) {
	if a.test.Low == nil || a.test.High == nil {
		return "{subject?{subject} }no finite bounds", nil
	}
	return "{subject?{subject} }bounds {between:outward}",
		[]verdict.Arg{verdict.Span("between", *a.test.Low, *a.test.High, a.unit)}
}
