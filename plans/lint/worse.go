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

// loss is the range of changes against a base that a condition asks for, with the sign
// turned so that more is worse; ok is false for all other conditions.
func (f *fact) loss() (in interval, ok bool) {
	switch f.in.Relation {
	case plans.Change, plans.Delta:
	default:
		return interval{}, false
	}
	switch f.in.Better {
	case string(measure.Lower):
		return f.holds, true
	case string(measure.Higher):
		return f.holds.turned(), true
	}
	return interval{}, false
}

// onlyWorse reports whether a condition holds only if the metric is worse than that of
// its base.
func (f *fact) onlyWorse() bool {
	in, ok := f.loss()
	if !ok || in.empty() {
		return false
	}
	return in.low > 0 || in.low == 0 && (in.openLow || f.leaf.Claim.Tested())
}

// worse warns of a condition that only a loss satisfies: the commonest slip is a sign, or
// < for >, and such a rule passes exactly when it must not. A condition after a not was
// turned with care, and is how an intended loss is written.
func (c *ruleCheck) worse(f *fact) {
	if f.leaf.Negated || !f.onlyWorse() {
		return
	}
	in, size := f.written, math.Abs(f.limit())
	metric := strings.TrimSuffix(strings.TrimSuffix(in.Path, "."+string(in.Relation)), in.Against.Suffix())
	said := fmt.Sprintf("%s passes only if %s is worse than that of %s%s. %s ", f.text, metric, baseName(in), f.byAtLeast(), signOf(in))
	limit := f.leaf.Left.Text + " " + plans.Flipped[f.leaf.Op] + " " + f.leaf.Right.Text
	loss := fmt.Sprintf("%s %s %s", f.leaf.Left.Text, plans.Denied[f.leaf.Op], f.leaf.Right.Text)
	switch {
	case plans.Flipped[f.leaf.Op] == "":
		limit, loss = f.ordered()
		said += fmt.Sprintf("To allow such a loss, write %s.", limit)
	case size == 0:
		said += fmt.Sprintf("To require an improvement, write %s.", limit)
	case slices.Contains(f.rule.Inputs(), in) || in.Stat == "median" || in.Stat == "p50":
		said += fmt.Sprintf("To require an improvement, write %s; to allow a loss of up to that much, %s.", f.mirrored(), limit)
	default:
		said += fmt.Sprintf("To allow a loss of up to that much, write %s.", limit)
	}
	said += fmt.Sprintf(" To require the loss itself, write not (%s).", loss)
	c.leaf(f.rule, f.leaf, hcl.DiagWarning, "only-when-worse", "Passes only when worse", "%s", said)
}

// ordered are inequalities in place of == and in, which counts may have: no worse than
// the worst of the wanted values, and better than the best of them.
func (f *fact) ordered() (limit, better string) {
	if f.written.Relation == plans.Gain || f.in.Better == string(measure.Higher) {
		return fmt.Sprintf("%s >= %g", f.written.Path, f.wants.low), fmt.Sprintf("%s > %g", f.written.Path, f.wants.high)
	}
	return fmt.Sprintf("%s <= %g", f.written.Path, f.wants.high), fmt.Sprintf("%s < %g", f.written.Path, f.wants.low)
}

// limit is the finite end of the wanted values, the lower one if both are.
func (f *fact) limit() float64 {
	if math.IsInf(f.wants.low, 0) {
		return f.wants.high
	}
	return f.wants.low
}

// byAtLeast tells by how much the metric must be worse.
func (f *fact) byAtLeast() string {
	size := min(math.Abs(f.wants.low), math.Abs(f.wants.high))
	switch {
	case size == 0:
		return ""
	case f.in.Relation == plans.Delta:
		return strings.TrimRight(fmt.Sprintf(", by at least %g %s", size, f.in.Unit), " ")
	}
	return fmt.Sprintf(", by at least %g%%", rules.Rounded(100*size))
}

// mirrored is the condition with the opposite sign, which asks for an improvement.
func (f *fact) mirrored() string {
	size := f.opposite()
	if f.written.Relation == plans.Gain || f.in.Better == string(measure.Higher) {
		return fmt.Sprintf("%s >= %g", f.written.Path, size)
	}
	return fmt.Sprintf("%s <= %g", f.written.Path, -size)
}

// named tells which rule a condition belongs to, and its place.
func (c *ruleCheck) named(f *fact) string {
	at := c.about(f.rule, f.leaf, &rules.Error{}).Subject
	return fmt.Sprintf("%s %q (%s:%d)", f.kind, f.rule.Name, at.Filename, at.Start.Line)
}

// opposite is how much better the metric must be to mirror the loss.
func (f *fact) opposite() float64 {
	size := math.Abs(f.limit())
	if f.in.Better == string(measure.Lower) && size >= 1 && f.in.Relation == plans.Change {
		return rules.Rounded(1 - 1/(1+size)) // the opposite of twice as long is half
	}
	return size
}

func baseName(in *plans.Input) string {
	if in.Against == plans.Parent {
		return "its base"
	}
	return "the " + string(in.Against)
}

// signOf explains which sign is better.
func signOf(in *plans.Input) string {
	if in.Relation == plans.Gain {
		return "A positive gain is better, for every metric."
	}
	less := "more"
	if in.Better == string(measure.Lower) {
		less = "less"
	}
	return fmt.Sprintf("A %s has the sign of the number, and for %s %s is better.", in.Relation, in.Metric, less)
}

// expectsLoss warns of a hypothesis that only a loss confirms, unless a criterion of the
// feature allows for that loss: then it is a price, and was foreseen.
func (c *ruleCheck) expectsLoss(f *plans.Feature) {
	h := f.Hypothesis
	if h == nil || h.Probe == nil || h.Probe.Program == nil || h.Probe.Program.Logic.Op != plans.LogicCompare {
		return
	}
	claim := factOf("hypothesis", h.Probe, h.Probe.Program.Logic)
	if claim == nil || !claim.onlyWorse() {
		return
	}
	read, against := c.lossOf(f, claim)
	if read && against == nil {
		return
	}
	why := "no criterion allows that loss"
	if against != nil {
		why = fmt.Sprintf("%s requires %s", c.named(against), against.text)
	}
	sign, meant, bound := "+", "-", "<= "
	if claim.in.Better == string(measure.Higher) {
		sign, meant, bound = "-", "+", ">= "
	}
	meant = fmt.Sprintf("%q", fmt.Sprintf("%s%g%%", meant, rules.Rounded(100*claim.opposite())))
	if !strings.ContainsAny(h.Expect, "<>") {
		meant += fmt.Sprintf("; if at most that loss, %q", bound+strings.TrimSpace(h.Expect))
	}
	c.warn(h.ExpectRange, "only-when-worse", "Hypothesis expects a loss", "%q is confirmed only if %s is worse than that of its base, and %s. The sign is that of the number, as in .change and unlike .gain: for %s, %s is worse. If you expect an improvement, write %s. If you expect the loss, add a criterion on how much of it you accept.",
		h.Expect, h.Metric, why, claim.in.Metric, sign, meant)
}

// lossOf reports whether criteria of a feature read the metric of a claimed loss, and
// which of them contradicts it, if any.
func (c *ruleCheck) lossOf(f *plans.Feature, claim *fact) (read bool, against *fact) {
	for _, r := range f.Criteria {
		for _, in := range r.Inputs() {
			read = read || in.Kind == plans.InputMetric && in.Metric == claim.in.Metric && in.Cell == claim.in.Cell
		}
		if r.Program == nil {
			continue
		}
		for _, part := range r.Program.Logic.Parts() {
			other := factOf("criterion", r, part)
			if other == nil || other.in.Quantity() != claim.in.Quantity() {
				continue
			}
			slip := !part.Negated && !part.Leaf.Negated && other.onlyWorse()
			both := other.holds.meets(claim.holds)
			if slip || both.empty() || both.point() && !other.holds.point() { // "-3%" and >= -0.03 share only their limit
				return true, other
			}
		}
	}
	return read, nil
}
