package plans

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/measure"
)

// rules looks at the rules of one gate or feature.
func (c *planCheck) rules(kind string, rules []*Rule) {
	same := map[string]*Rule{}
	for _, r := range rules {
		if r.Program == nil {
			continue
		}
		text := strings.Join(strings.Fields(r.Expr), " ")
		if first := same[text]; first != nil {
			c.warn(r.ExprRange, "Same rule twice", "%q on line %d asks for the same. Remove one of them, or correct what was copied.", first.Name, first.Range.Start.Line)
			continue
		}
		same[text] = r
		c.conditions(kind, r, r.Program.Logic, true)
	}
}

// conditions looks at each comparison of a rule. One side of an or need not hold,
// and may well ask for a loss.
func (c *planCheck) conditions(kind string, r *Rule, l *Logic, holds bool) {
	switch l.Op {
	case LogicAnd, LogicOr:
		for _, part := range l.Args {
			c.conditions(kind, r, part, holds && l.Op == LogicAnd)
		}
	case LogicCompare:
		if !c.comparison(r, l.Leaf) || !holds {
			return
		}
		if f := factOf(kind, r, l); f != nil {
			c.worse(f)
		}
	}
}

// comparison looks at one comparison by itself, and reports whether there was
// nothing to say of it.
func (c *planCheck) comparison(r *Rule, leaf *Leaf) bool {
	for _, in := range leaf.Inputs() {
		if c.tooFew(r, leaf, in) || c.notSent(r, leaf, in) {
			return false
		}
	}
	in, op, limit, ok := against(leaf)
	if !ok {
		c.words(r, leaf)
		return true
	}
	if why := implausible(in, limit); why != "" {
		c.leaf(r, leaf, hcl.DiagWarning, "Implausible for the unit", "%s", why)
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
		c.leaf(r, leaf, hcl.DiagWarning, "Can only be inconclusive", "%s is %s, and launches scatter, so that none of them shows it to be at the very end: this never passes. Leave room, as much as you would accept, or compare what is counted.", in.Path, all)
	default:
		return true
	}
	return false
}

// certain reports a comparison that comes out the same whatever is measured.
func (c *planCheck) certain(r *Rule, leaf *Leaf, holds bool, in *Input, all interval) {
	if holds {
		c.leaf(r, leaf, hcl.DiagWarning, "Comparison always holds", "%s is %s, whatever is measured, so this decides nothing. Compare with the value that you would not accept.", in.Path, all)
		return
	}
	c.leaf(r, leaf, hcl.DiagWarning, "Comparison can never hold", "%s is %s, whatever is measured. Compare with a value that it can have.", in.Path, all)
}

// words looks at a level or verdict that is compared with a list of all words.
func (c *planCheck) words(r *Rule, leaf *Leaf) {
	list, ok := leaf.Right.Constant.([]any)
	in := leaf.Left.Input
	if !ok || in == nil || in.Type != WordInput || in.Kind == InputKnob || in.Kind == InputObserved {
		return
	}
	for _, word := range decidedWords {
		found := false
		for _, v := range list {
			found = found || v == any(word)
		}
		if !found {
			return
		}
	}
	c.leaf(r, leaf, hcl.DiagWarning, "Comparison always holds", "%s is one of %s, whatever happens, so this decides nothing. Leave out what you would not accept.", in.Path, strings.Join(decidedWords, ", "))
}

// tooFew refuses a percentile of fewer values than it can be told from. Such a
// rule has no verdict but inconclusive, whatever is measured for however long.
func (c *planCheck) tooFew(r *Rule, leaf *Leaf, in *Input) bool {
	if in.Kind != InputMetric || in.Comparing() || in.Cell == "" {
		return false
	}
	least := measure.LeastToDecide(in.Stat)
	name, _, _ := strings.Cut(in.Cell, ".")
	w := c.ns.workloads[name]
	if w == nil || least < 2 {
		return false
	}
	cell := c.cellOf(in.Cell)
	requests := cell.Requests * max(1, w.Turns) // at most
	values, need := requests, least
	if in.Metric == "itl" {
		gaps := max(1, w.mostOutput(cell)-1)
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
	c.leaf(r, leaf, hcl.DiagError, "Too few requests", "%s needs at least %d values in each launch, and workload %q %s %d, so this rule could only ever be inconclusive. Set requests = %d, or read the median.", in.Path, least, w.Name, gives, values, need)
	return true
}

// mostOutput is the longest answer that a cell asks for.
func (w *Workload) mostOutput(cell Cell) int {
	switch {
	case cell.Output > 0 && w.Data == nil:
		return cell.Output
	case w.OutputLengths != nil:
		return w.OutputLengths.Max
	}
	return maxTokens // as each line of the file says
}

func (c *planCheck) cellOf(address string) Cell {
	name, _, _ := strings.Cut(address, ".")
	for _, cell := range c.ns.cells[name] {
		if cell.Address == address {
			return cell
		}
	}
	return Cell{}
}

// notSent warns of a rule that the chosen suite leaves without a value.
func (c *planCheck) notSent(r *Rule, leaf *Leaf, in *Input) bool {
	if in.Unsent == "" {
		return false
	}
	c.leaf(r, leaf, hcl.DiagWarning, "Not sent by this suite", "%s has no value: %s. The rule will be inconclusive.", in.Path, in.Unsent)
	return true
}
