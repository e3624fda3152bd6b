package gates

import (
	"fmt"
	"math"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// finding is what the evidence says of one comparison.
type finding struct {
	verdict.Comparison
	reason string
	// mean says whether the estimates fulfil it, as the compiled rule sees them.
	mean bool
	// open names the features of which more launches could still settle it.
	open []string
	// stale names arms whose launches are no fresh starts.
	stale []string
}

// find decides one comparison. It works out both sides also of those that the
// rule's logic would skip, and returns an error for numbers that are not finite
// (1/0 > 5 is true in expr-lang) and for launches that cannot be tested.
func (c *ruling) find(leaf *plans.Leaf) (*finding, error) {
	f := &finding{Comparison: verdict.Comparison{Text: leaf.Text, Op: leaf.Op, Verdict: verdict.Inconclusive}}
	if !c.there(f, leaf.Inputs()) {
		return f, nil
	}
	if in := leaf.Claim.Input; in != nil && !c.there(f, []*plans.Input{in}) {
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
	f.mean = f.Holds
	if leaf.Claim.Form == verdict.Exact {
		f.Left, f.Right = show(leaf, left, right)
		return f, c.exact(f, leaf)
	}
	if err := c.test(f, leaf); err != nil {
		return nil, err
	}
	left, right = looked(leaf, f.Test, left, right)
	f.Left, f.Right = show(leaf, left, right)
	f.reason = c.argued(leaf, f)
	return f, nil
}

// there reports whether inputs are present, and notes on what arms that were
// running before they rest and what launches they wait for.
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

// test decides a claim about launches.
func (c *ruling) test(f *finding, leaf *plans.Leaf) (err error) {
	claim := leaf.Claim
	r := c.readings[claim.Input]
	if claim.Form == verdict.Range {
		f.Verdict, f.Test, err = c.wholeRange(claim, r)
	} else {
		f.Verdict, f.Test, err = c.ttest(claim, r, c.shares[leaf])
	}
	if err != nil {
		return err
	}
	if f.Test.Stop == verdict.StopOpen && len(f.stale) == 0 {
		f.open = []string{claim.Input.Feature}
	}
	if !claim.Input.Comparing() && claim.Tested() {
		unsteady(f, r.own, Address(claim.Input))
	}
	return nil
}

// unsteady takes the decision away from a number of one arm whose requests drift
// within its launches: nothing stands beside it that drifts too.
func unsteady(f *finding, t taken, address string) {
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
	if math.IsNaN(drift) {
		f.Test.Note = "how requests drift within launches is not a finite number"
		return
	}
	f.Test.Note = fmt.Sprintf("within launches %s drifts by %s from the first half of the requests to the second, and nothing stands beside one arm that would drift with it",
		address, verdict.Percent(math.Expm1(-drift), 1))
}
