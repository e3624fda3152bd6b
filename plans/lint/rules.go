package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/rules"
)

// leaf reports something about one comparison of a rule, at its place.
func (c *check) leaf(r *plans.Rule, leaf *plans.Leaf, severity hcl.DiagnosticSeverity, code, summary, format string, args ...any) {
	e := rules.Wrong(code, summary, format, args...)
	e.At, e.Length = leaf.At, leaf.Length
	d := e.Diagnostic(r.ExprRange, r.Expr, c.scope.Files())
	d.Severity = severity
	c.Diags = append(c.Diags, d)
}

// rules checks the rules of one gate or feature: which outcomes they can have, and whether
// that is what was meant.
func (c *check) rules(list []*plans.Rule) {
	for _, r := range list {
		if r.Program != nil {
			c.conditions(r, r.Program.Logic, true)
		}
	}
}

// conditions checks each comparison of a rule. One that only a loss satisfies is commonly
// a slipped sign, and passes exactly when it must not; one side of an or may well ask for
// a loss, and a not was turned with care.
func (c *check) conditions(r *plans.Rule, l *plans.Logic, holds bool) {
	switch l.Op {
	case plans.LogicAnd, plans.LogicOr:
		for _, part := range l.Args {
			c.conditions(r, part, holds && l.Op == plans.LogicAnd)
		}
	case plans.LogicCompare:
		if !c.comparison(r, l.Leaf) || !holds || l.Negated || l.Leaf.Negated {
			return
		}
		if w, ok := wantOf(l); ok && w.onlyLoss() {
			c.leaf(r, l.Leaf, hcl.DiagWarning, "only-when-worse", "Passes only when worse", "%s passes only if %s is worse than what it is compared with: %s Turn the comparison round, or write not (…) if the loss itself is required.", l.Leaf.Text, w.in.Metric, signOf(w.in))
		}
	}
}

// comparison checks one comparison by itself, and reports whether it found nothing.
func (c *check) comparison(r *plans.Rule, leaf *plans.Leaf) bool {
	for _, in := range leaf.Inputs() {
		if c.tooFew(r, leaf, in) || c.notSent(r, leaf, in) || c.notOwn(r, leaf, in) {
			return false
		}
	}
	in, holds, limit, ok := against(leaf)
	if !ok {
		return true
	}
	all := c.domain(in)
	code, summary, detail := "", "", ""
	switch why := implausible(in, limit); {
	case why != "":
		code, summary, detail = "implausible-value", "Implausible for the unit", why
	case all.meets(holds).empty():
		code, summary, detail = "never-holds", "Comparison can never hold", "No measurement satisfies this. Compare with a value that "+in.Path+" can have."
	case all.meets(holds) == all:
		code, summary, detail = "always-holds", "Comparison always holds", "Every measurement satisfies this, so it decides nothing. Compare with a value of "+in.Path+" that you would not accept."
	case leaf.Claim.Tested() && all.meets(holds).point():
		code, summary, detail = "only-inconclusive", "Can only be inconclusive", "No launches can show "+in.Path+" to be exactly at that limit, so this never passes. Allow a margin, or compare a count."
	default:
		return true
	}
	c.leaf(r, leaf, hcl.DiagWarning, code, summary, "%s", detail)
	return false
}

// tooFew refuses a percentile of fewer values than it takes to determine it. Such a rule
// can only be inconclusive, whatever is measured for however long.
func (c *check) tooFew(r *plans.Rule, leaf *plans.Leaf, in *plans.Input) bool {
	if in.Kind != plans.InputMetric || in.Comparing() || in.Cell == "" {
		return false
	}
	least := measure.LeastToDecide(in.Stat)
	name, _, _ := strings.Cut(in.Cell, ".")
	w := c.ns.Workloads[name]
	if w == nil || least < 2 {
		return false
	}
	var cell plans.Cell
	if i := slices.IndexFunc(c.ns.Cells[name], func(of plans.Cell) bool { return of.Address == in.Cell }); i >= 0 {
		cell = c.ns.Cells[name][i]
	}
	each := max(1, w.Turns) // values that a request gives at most
	if in.Metric == "itl" {
		each *= max(1, w.MostOutput(cell)-1)
	}
	values := cell.Requests * each
	if values >= least {
		return false
	}
	c.leaf(r, leaf, hcl.DiagError, "too-few-values", "Too few requests", "%s needs at least %d values per launch, but workload %q gives at most %d, so this rule could only be inconclusive. Set requests = %d, or use the median.", in.Path, least, w.Name, values, (least+each-1)/each)
	return true
}

// notSent warns of a rule that has no value under the chosen suite.
func (c *check) notSent(r *plans.Rule, leaf *plans.Leaf, in *plans.Input) bool {
	u := in.Unsent
	if u == nil {
		return false
	}
	why := fmt.Sprintf("suite %q does not send workload %s", u.Suite, u.Workload)
	if u.Suite == "" {
		why = fmt.Sprintf("the benchmark of protocol %q does not send workload %s; %s does", u.Protocol, u.Workload, plans.OrList(u.Suites))
	}
	c.leaf(r, leaf, hcl.DiagWarning, "not-sent", "Not sent by this suite", "%s has no value: %s. The rule will be inconclusive.", in.Path, why)
	return true
}

// notOwn reports a rule on the memory of a GPU of this machine that has none of its own.
func (c *check) notOwn(r *plans.Rule, leaf *plans.Leaf, in *plans.Input) bool {
	ofGPU := in.Cell == string(measure.PerGPU) && in.Metric == "memory_gb" || in.Metric == "gpu_memory_gb"
	if in.Kind != plans.InputMetric || !ofGPU || c.unified == nil || !c.unified() {
		return false
	}
	general := strings.TrimSuffix(in.Metric, "memory_gb") + "memory_in_use_gb"
	c.leaf(r, leaf, hcl.DiagWarning, "unified-memory", "GPU has no memory of its own", "A GPU of this machine shares the host's memory, so launches here have no %s, and the rule cannot pass. Read %s.%s, or gpu.process_memory_gb, the memory of the engine's processes.", in.Path, in.Cell, general)
	return true
}

// hypothesis warns of a claim that no criterion tests, and of one that only a loss
// confirms unless a criterion allows for that loss: then it is a price, and was foreseen.
func (c *check) hypothesis(f *plans.Feature) {
	h := f.Hypothesis
	if h == nil || h.Metric == "" {
		return
	}
	claim, err := c.ns.Resolve(strings.Split(h.Metric, "."), &rules.Scope{Own: f, Criterion: true})
	if err != nil {
		return
	}
	reads := func(in *plans.Input) bool {
		return in.Kind == plans.InputMetric && in.Metric == claim.Metric && in.Cell == claim.Cell
	}
	if !slices.ContainsFunc(f.Criteria, func(r *plans.Rule) bool { return slices.ContainsFunc(r.Inputs(), reads) }) {
		c.warn(h.Range, "claim-not-tested", "Hypothesis is not tested", "It claims a change of %s, which no criterion of feature %q reads. Add a criterion on it, or claim a metric that is tested.", h.Metric, f.Name)
		return
	}
	if h.Probe == nil || h.Probe.Program == nil {
		return
	}
	expected, ok := wantOf(h.Probe.Program.Logic)
	if !ok || !expected.onlyLoss() {
		return
	}
	for _, r := range f.Criteria {
		if r.Program == nil {
			continue
		}
		for _, part := range r.Program.Logic.Parts() {
			if w, ok := wantOf(part); ok && w.quantity() == expected.quantity() && w.better.meets(expected.better).empty() {
				c.warn(h.ExpectRange, "only-when-worse", "Hypothesis expects a loss", "%q is confirmed only if %s is worse, and criterion %q then fails: %s Write the other sign, or let the criterion allow that loss.", h.Expect, h.Metric, r.Name, signOf(expected.in))
				return
			}
		}
	}
}

// want is how much better than its base a condition wants a metric to be.
type want struct {
	in     *plans.Input
	better interval
	tested bool
}

// wantOf reads a condition on one change against a base; ok is false for all others.
func wantOf(l *plans.Logic) (w want, ok bool) {
	if l.Op != plans.LogicCompare {
		return want{}, false
	}
	in, holds, _, ok := against(l.Leaf)
	if !ok {
		return want{}, false
	}
	w = want{in: in, better: holds, tested: l.Leaf.Claim.Tested()}
	switch gain := in.Relation == plans.Gain; {
	case !gain && in.Relation != plans.Change && in.Relation != plans.Delta:
		return want{}, false
	case !gain && in.Better == string(measure.Lower):
		w.better = interval{low: 0 - holds.high, high: 0 - holds.low, openLow: holds.openHigh, openHigh: holds.openLow}
	case !gain && in.Better != string(measure.Higher):
		return want{}, false
	}
	return w, true
}

// onlyLoss reports whether the condition holds only if the metric is worse than its base.
func (w want) onlyLoss() bool {
	return w.better.high < 0 || w.better.high == 0 && (w.better.openHigh || w.tested)
}

// quantity is what is wanted to change, whether written as a gain or as a change.
func (w want) quantity() plans.Input {
	q := w.in.Quantity()
	if q.Relation == plans.Gain {
		q.Relation = plans.Change
	}
	return q
}

// signOf explains which sign is better.
func signOf(in *plans.Input) string {
	if in.Relation == plans.Gain {
		return "a positive gain is better, for every metric."
	}
	less := "more"
	if in.Better == string(measure.Lower) {
		less = "less"
	}
	return fmt.Sprintf("a %s has the sign of the number, and for %s %s is better.", in.Relation, in.Metric, less)
}

// interval is a range of numbers; open ends do not belong to it.
type interval struct {
	low, high         float64
	openLow, openHigh bool
}

var (
	everything = interval{low: math.Inf(-1), high: math.Inf(1)}
	notBelow0  = interval{low: 0, high: math.Inf(1)}
	above0     = interval{low: 0, high: math.Inf(1), openLow: true}
)

func (a interval) meets(b interval) interval {
	if b.low > a.low || b.low == a.low && b.openLow {
		a.low, a.openLow = b.low, b.openLow
	}
	if b.high < a.high || b.high == a.high && b.openHigh {
		a.high, a.openHigh = b.high, b.openHigh
	}
	return a
}

func (a interval) empty() bool {
	return a.low > a.high || a.low == a.high && (a.openLow || a.openHigh)
}

func (a interval) point() bool { return a.low == a.high && !a.empty() }

// against splits a comparison of one input with a number of the plan: the input, the
// values of it for which the rule holds, and the number.
func against(leaf *plans.Leaf) (in *plans.Input, holds interval, limit float64, ok bool) {
	var op string
	if c := leaf.Claim; c != nil && c.Input != nil {
		in, limit, op = c.Input, c.Threshold, "<"
		if c.More {
			op = ">"
		}
		if !c.Strict {
			op += "="
		}
	} else {
		left, right := leaf.Left, leaf.Right
		if op = leaf.Op; left.Input == nil || !left.Input.Measured() {
			left, right, op = right, left, plans.Turned(op)
		}
		if leaf.Negated {
			op = plans.Denied[op]
		}
		measured := func(other *plans.Input) bool { return other.Kind != plans.InputTarget }
		if in = left.Input; in == nil || in.Type != plans.NumberInput || !in.Measured() || slices.ContainsFunc(right.Inputs(), measured) {
			return nil, everything, 0, false
		}
		v, err := right.Value(func(t *plans.Input) any { return t.Number })
		if limit, ok = v.(float64); !ok || err != nil {
			return nil, everything, 0, false
		}
	}
	holds = everything
	switch op {
	case "<", "<=":
		holds.high, holds.openHigh = limit, op == "<"
	case ">", ">=":
		holds.low, holds.openLow = limit, op == ">"
	case "==":
		holds.low, holds.high = limit, limit
	default:
		return nil, everything, 0, false
	}
	return in, holds, limit, true
}

// domain is the range of values that an input can have.
func (c *check) domain(in *plans.Input) interval {
	switch {
	case in.Kind != plans.InputMetric, in.Relation == plans.Delta, in.Ratio(), in.Unit == "°C", measure.OfCommand(in.Cell):
		return everything // rules bounds ratios
	case in.Stat == "n":
		if most := c.ns.LaunchesOf(in.Feature); most > 0 {
			return interval{low: 1, high: float64(most)}
		}
		return notBelow0
	case in.Stat == "std" || in.Stat == "cv" || in.Stat == "n_requests":
		return notBelow0
	case in.Unit == "share":
		return interval{low: 0, high: 1}
	case in.Metric == "itl" || in.MayBeZero() || in.Better == string(measure.Neither):
		return notBelow0
	}
	return above0
}

// usual are the sizes of units; numbers outside were meant in another one. The bounds are
// far out: a wrong warning costs trust.
var usual = map[string]struct {
	low, high float64
	meant     string
}{
	"ms": {1, math.Inf(1), "seconds"},
	"s":  {0, 10_000, "milliseconds"},
	"GB": {0, 4096, "MB"},
}

// implausible explains why a number is hardly meant in the unit of what it is compared
// with; empty if it may be.
func implausible(in *plans.Input, limit float64) string {
	size := math.Abs(limit)
	if in.UnitWord() == plans.RatioUnit {
		if size < 5 || in.Relation == plans.Own && in.Stat != "cv" {
			return ""
		}
		return fmt.Sprintf("%s is a ratio: 0.10 is 10%%, and %g is %g%%. Did you mean %g?", in.Path, limit, limit*100, limit/100)
	}
	u, known := usual[in.Unit]
	if !known || measure.OfCommand(in.Cell) || in.Relation == plans.Delta || in.Stat == "std" || size == 0 {
		return "" // differences and spreads can be of any size
	}
	switch m, _ := measure.Lookup(in.Metric); {
	case m.MayBeZero:
		u.low = 0
	case m.Least > 0:
		u.low = m.Least
	}
	if size >= u.low && size <= u.high {
		return ""
	}
	return fmt.Sprintf("%s is in %s, and %g is an implausible size. Did you mean %s?", in.Path, in.Unit, limit, u.meant)
}
