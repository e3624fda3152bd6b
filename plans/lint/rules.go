package lint

import (
	"fmt"
	"math"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/rules"
)

// ruleCheck checks the rules of a plan: which outcomes they can have, and whether that is
// what was meant.
type ruleCheck struct {
	*findings
	plan  *plans.Plan
	ns    *rules.Namespace
	files map[string]*hcl.File
	// unified is the Registry's; it is called if a rule depends on it.
	unified func() bool
}

// leaf reports something about one comparison of a rule.
func (c *ruleCheck) leaf(r *plans.Rule, leaf *plans.Leaf, severity hcl.DiagnosticSeverity, code, summary, format string, args ...any) {
	d := c.about(r, leaf, rules.Wrong(code, summary, format, args...))
	d.Severity = severity
	c.Diags = append(c.Diags, d)
}

// about is a mistake at the place of a comparison.
func (c *ruleCheck) about(r *plans.Rule, leaf *plans.Leaf, e *rules.Error) *hcl.Diagnostic {
	e.At, e.Length = leaf.At, leaf.Length
	return e.Diagnostic(r.ExprRange, r.Expr, c.files)
}

// rules checks the rules of one gate or feature.
func (c *ruleCheck) rules(kind string, rules []*plans.Rule) {
	same := map[string]*plans.Rule{}
	for _, r := range rules {
		if r.Program == nil {
			continue
		}
		text := strings.Join(strings.Fields(r.Expr), " ")
		if first := same[text]; first != nil {
			c.warn(r.ExprRange, "same-rule-twice", "Same rule twice", "%q on line %d is the same. Remove one, or correct the copy.", first.Name, first.Range.Start.Line)
			continue
		}
		same[text] = r
		c.conditions(kind, r, r.Program.Logic, true)
	}
}

// conditions checks each comparison of a rule. One side of an or need not hold, and may
// well ask for a loss.
func (c *ruleCheck) conditions(kind string, r *plans.Rule, l *plans.Logic, holds bool) {
	switch l.Op {
	case plans.LogicAnd, plans.LogicOr:
		for _, part := range l.Args {
			c.conditions(kind, r, part, holds && l.Op == plans.LogicAnd)
		}
	case plans.LogicCompare:
		if !c.comparison(r, l.Leaf) || !holds {
			return
		}
		if f := factOf(kind, r, l); f != nil {
			c.worse(f)
		}
	}
}

// comparison checks one comparison by itself, and reports whether it found nothing.
func (c *ruleCheck) comparison(r *plans.Rule, leaf *plans.Leaf) bool {
	for _, in := range leaf.Inputs() {
		if c.tooFew(r, leaf, in) || c.notSent(r, leaf, in) || c.notOwn(r, leaf, in) {
			return false
		}
	}
	in, op, limit, ok := against(leaf)
	if !ok {
		c.words(r, leaf)
		return true
	}
	if why := implausible(in, limit); why != "" {
		c.leaf(r, leaf, hcl.DiagWarning, "implausible-value", "Implausible for the unit", "%s", why)
		return false
	}
	all := c.domain(in)
	holds := where(op, limit)
	switch {
	case all.meets(holds).empty():
		c.certain(r, leaf, false, in, all)
	case all.within(holds):
		c.certain(r, leaf, true, in, all)
	case leaf.Claim.Tested() && all.meets(holds).point():
		c.leaf(r, leaf, hcl.DiagWarning, "only-inconclusive", "Can only be inconclusive", "%s is %s, and with launch-to-launch variance no launches can show it to be exactly at that limit: this never passes. Allow a margin, or compare a count.", in.Path, all)
	default:
		return true
	}
	return false
}

// notOwn reports a rule on the memory of a GPU of this machine that has none of its own.
func (c *ruleCheck) notOwn(r *plans.Rule, leaf *plans.Leaf, in *plans.Input) bool {
	ofGPU := in.Cell == string(measure.PerGPU) && in.Metric == "memory_gb" || in.Metric == "gpu_memory_gb"
	if in.Kind != plans.InputMetric || !ofGPU || c.unified == nil || !c.unified() {
		return false
	}
	general := strings.TrimSuffix(in.Metric, "memory_gb") + "memory_in_use_gb"
	c.leaf(r, leaf, hcl.DiagWarning, "unified-memory", "GPU has no memory of its own", "A GPU of this machine shares the host's memory, so launches here have no %s, and the rule cannot pass. Read %s.%s, which is host memory on such a machine and GPU memory on others, or gpu.process_memory_gb, the memory of the engine's processes.", in.Path, in.Cell, general)
	return true
}

// certain reports a comparison with the same outcome whatever is measured.
func (c *ruleCheck) certain(r *plans.Rule, leaf *plans.Leaf, holds bool, in *plans.Input, all interval) {
	if holds {
		c.leaf(r, leaf, hcl.DiagWarning, "always-holds", "Comparison always holds", "%s is always %s, so this decides nothing. Compare with a value that you would not accept.", in.Path, all)
		return
	}
	c.leaf(r, leaf, hcl.DiagWarning, "never-holds", "Comparison can never hold", "%s is always %s. Compare with a value that it can have.", in.Path, all)
}

// words reports a level or verdict that is compared with a list of all words.
func (c *ruleCheck) words(r *plans.Rule, leaf *plans.Leaf) {
	list, ok := leaf.Right.Constant.([]any)
	in := leaf.Left.Input
	if !ok || in == nil || in.Type != plans.WordInput || in.Kind == plans.InputKnob || in.Kind == plans.InputObserved {
		return
	}
	for _, word := range rules.DecidedWords {
		found := false
		for _, v := range list {
			found = found || v == any(word)
		}
		if !found {
			return
		}
	}
	c.leaf(r, leaf, hcl.DiagWarning, "always-holds", "Comparison always holds", "%s is always one of %s, so this decides nothing. Leave out those that you would not accept.", in.Path, strings.Join(rules.DecidedWords, ", "))
}

// tooFew refuses a percentile of fewer values than it takes to determine it. Such a rule
// can only be inconclusive, whatever is measured for however long.
func (c *ruleCheck) tooFew(r *plans.Rule, leaf *plans.Leaf, in *plans.Input) bool {
	if in.Kind != plans.InputMetric || in.Comparing() || in.Cell == "" {
		return false
	}
	least := measure.LeastToDecide(in.Stat)
	name, _, _ := strings.Cut(in.Cell, ".")
	w := c.ns.Workloads[name]
	if w == nil || least < 2 {
		return false
	}
	cell := c.cellOf(in.Cell)
	requests := cell.Requests * max(1, w.Turns) // at most
	values, need := requests, least
	if in.Metric == "itl" {
		gaps := max(1, w.MostOutput(cell)-1)
		values, need = requests*gaps, (least+gaps-1)/gaps
	}
	if values >= least {
		return false
	}
	need = (need + max(1, w.Turns) - 1) / max(1, w.Turns)
	gives := "gives"
	if w.Duration > 0 || w.Turns > 1 {
		gives = "gives at most"
	}
	c.leaf(r, leaf, hcl.DiagError, "too-few-values", "Too few requests", "%s needs at least %d values per launch, but workload %q %s %d, so this rule could only be inconclusive. Set requests = %d, or use the median.", in.Path, least, w.Name, gives, values, need)
	return true
}

func (c *ruleCheck) cellOf(address string) plans.Cell {
	name, _, _ := strings.Cut(address, ".")
	for _, cell := range c.ns.Cells[name] {
		if cell.Address == address {
			return cell
		}
	}
	return plans.Cell{}
}

// notSent warns of a rule that has no value under the chosen suite.
func (c *ruleCheck) notSent(r *plans.Rule, leaf *plans.Leaf, in *plans.Input) bool {
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

// fact is one condition that has to hold: which values of one quantity satisfy it.
type fact struct {
	// kind is "criterion", "rule" or "hypothesis".
	kind string
	rule *plans.Rule
	leaf *plans.Leaf
	text string
	// in is the quantity; for a gain it is the change, whatever was written.
	in    *plans.Input
	holds interval
	// written is the input as written, and wants the values of it that the rule wants.
	written *plans.Input
	wants   interval
}

// factOf is a part of a rule's logic as a condition on one number; nil if it is about
// more than one, or none.
func factOf(kind string, r *plans.Rule, part *plans.Logic) *fact {
	if part.Op != plans.LogicCompare {
		return nil
	}
	f := &fact{kind: kind, rule: r, leaf: part.Leaf, text: part.Leaf.Text}
	if part.Negated {
		f.text = "not (" + f.text + ")"
	}
	if !f.number() && !f.listed() {
		return nil
	}
	return f
}

// number reads a comparison of one number with a bound.
func (f *fact) number() bool {
	in, op, limit, ok := against(f.leaf)
	if !ok {
		return false
	}
	f.written, f.wants = in, where(op, limit)
	f.in, f.holds = in, f.wants
	if in.Relation == plans.Gain {
		change := *in
		change.Relation, change.Path = plans.Change, strings.TrimSuffix(in.Path, ".gain")+".change"
		if f.in = &change; in.Better == string(measure.Lower) {
			f.holds = f.wants.turned()
		}
	}
	return true
}

// listed reads a count that may be one of several numbers, as the range from the least to
// the greatest of them.
func (f *fact) listed() bool {
	in, list := f.leaf.Left.Input, plans.AnyList(f.leaf.Right.Constant)
	if f.leaf.Op != "in" || f.leaf.Negated || in == nil || in.Type != plans.NumberInput || len(list) == 0 {
		return false
	}
	all := interval{low: math.Inf(1), high: math.Inf(-1)}
	for _, v := range list {
		x, ok := v.(float64)
		if !ok {
			return false
		}
		all.low, all.high = min(all.low, x), max(all.high, x)
	}
	f.in, f.holds, f.written, f.wants = in, all, in, all
	return true
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

// where is the set of numbers x for which "x op limit" holds.
func where(op string, limit float64) interval {
	in := everything
	switch op {
	case "<", "<=":
		in.high, in.openHigh = limit, op == "<"
	case ">", ">=":
		in.low, in.openLow = limit, op == ">"
	case "==":
		in.low, in.high = limit, limit
	}
	return in
}

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

func (a interval) within(b interval) bool { return a.meets(b) == a }

// turned is a for the negated number; 0 keeps its sign.
func (a interval) turned() interval {
	return interval{low: 0 - a.high, high: 0 - a.low, openLow: a.openHigh, openHigh: a.openLow}
}

// String describes the numbers in words.
func (a interval) String() string {
	if a.point() {
		return fmt.Sprintf("exactly %g", a.low)
	}
	var words []string
	if !math.IsInf(a.low, 0) {
		word := "at least"
		if a.openLow {
			word = "more than"
		}
		words = append(words, fmt.Sprintf("%s %g", word, a.low))
	}
	if !math.IsInf(a.high, 0) {
		word := "at most"
		if a.openHigh {
			word = "less than"
		}
		words = append(words, fmt.Sprintf("%s %g", word, a.high))
	}
	return strings.Join(words, " and ")
}

// against splits a comparison of one input with a number of the plan, as the rule wants
// it to hold: the input on the left, and no not in front.
func against(leaf *plans.Leaf) (in *plans.Input, op string, limit float64, ok bool) {
	if c := leaf.Claim; c != nil && c.Input != nil {
		op = "<"
		if c.More {
			op = ">"
		}
		if !c.Strict {
			op += "="
		}
		return c.Input, op, c.Threshold, true
	}
	left, right, op := leaf.Left, leaf.Right, leaf.Op
	if left.Input == nil || !left.Input.Measured() {
		left, right, op = right, left, plans.Turned(op)
	}
	if leaf.Negated {
		op = plans.Denied[op]
	}
	if left.Input == nil || left.Input.Type != plans.NumberInput || !left.Input.Measured() || op == "" || op == "in" || op == "!=" {
		return nil, "", 0, false
	}
	for _, other := range right.Inputs() {
		if other.Kind != plans.InputTarget {
			return nil, "", 0, false
		}
	}
	v, err := right.Value(func(t *plans.Input) any { return t.Number })
	limit, ok = v.(float64)
	return left.Input, op, limit, ok && err == nil
}

// domain is the range of values that an input can have.
func (c *ruleCheck) domain(in *plans.Input) interval {
	switch {
	case in.Kind != plans.InputMetric:
		return everything
	case in.Relation == plans.Delta || in.Unit == "°C":
		return everything
	case in.Relation == plans.Gain && in.Better == string(measure.Lower):
		return interval{low: math.Inf(-1), high: 1, openHigh: true} // a gain of 1 saves everything
	case in.Ratio():
		return interval{low: -1, high: math.Inf(1), openLow: true}
	case in.Stat == "n":
		if most := c.ns.LaunchesOf(in.Feature); most > 0 {
			return interval{low: 1, high: float64(most)}
		}
		return notBelow0
	case in.Stat == "std" || in.Stat == "cv" || in.Stat == "n_requests":
		return notBelow0
	case measure.OfCommand(in.Cell):
		return leastOf(c.plan.CommandEngine(), in.Metric)
	case in.Unit == "share":
		return interval{low: 0, high: 1}
	case in.Metric == "itl" || in.MayBeZero() || in.Better == string(measure.Neither):
		return notBelow0
	}
	return above0
}

// usualSize is the usual range of a unit; numbers outside were meant in another one.
type usualSize struct {
	low, high float64
	// below and above convert what was written into what was meant, in the units of these
	// names.
	below, above         float64
	belowName, aboveName string
}

// usuals by unit. The bounds are far out: a wrong warning costs trust.
var usuals = map[string]usualSize{
	"ms": {low: 1, below: 1000, belowName: "seconds"},
	"s":  {high: 10_000, above: 0.001, aboveName: "milliseconds"},
	"GB": {high: 4096, above: 1.0 / 1024, aboveName: "MB"},
}

// implausible explains why a number is hardly meant in the unit of what it is compared
// with; empty if it may be.
func implausible(in *plans.Input, limit float64) string {
	size := math.Abs(limit)
	if in.UnitWord() == plans.RatioUnit {
		word := string(in.Relation)
		if in.Stat == "cv" {
			word = "cv"
		}
		if size < 5 || in.Relation == plans.Own && in.Stat != "cv" {
			return ""
		}
		return fmt.Sprintf("%s is a ratio: 0.10 is 10%%, and %g is %g%%. Did you mean %g?", word, limit, limit*100, limit/100)
	}
	u, known := usuals[in.Unit]
	if !known || measure.OfCommand(in.Cell) ||
		in.Relation == plans.Delta || in.Stat == "std" || size == 0 {
		return "" // differences and spreads can be of any size
	}
	low := u.low
	switch m, _ := measure.Lookup(in.Metric); {
	case m.MayBeZero:
		low = 0
	case m.Least > 0:
		low = m.Least
	}
	switch {
	case size < low:
		return fmt.Sprintf("%s is in %s, and %g %s is implausibly small. If you meant %s, write %g.", in.Path, in.Unit, limit, in.Unit, u.belowName, limit*u.below)
	case u.above > 0 && size > u.high:
		return fmt.Sprintf("%s is in %s, and %g %s is implausibly large. If you meant %s, write %.4g.", in.Path, in.Unit, limit, in.Unit, u.aboveName, limit*u.above)
	}
	return ""
}

// leastOf is the range of a metric of the command: nothing below its min.
func leastOf(e *plans.Engine, metric string) interval {
	if !e.IsCommand() {
		return everything
	}
	for _, b := range e.Parts["metric"] {
		if least, ok := b.Attrs["min"].(float64); ok && b.Name == metric {
			return interval{low: least, high: everything.high}
		}
	}
	return everything
}
