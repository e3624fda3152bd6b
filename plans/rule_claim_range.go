package plans

import "github.com/mxflow/mxflow/engine/measure"

// impossible refuses a threshold that no ratio can have, on whichever side of it
// the rule wants to be: there is no logarithm to test it with, and nothing that a
// measurement could decide.
func (f *claimed) impossible(c *Claim) *ruleError {
	in := c.Input
	if !in.Ratio() {
		return nil
	}
	saved := in.Relation == Gain && in.Better == string(measure.Lower)
	var limits string
	switch {
	case saved && c.Threshold >= 1:
		limits = "less than 1, since no more than all of it can be saved"
	case !saved && c.Threshold <= -1:
		limits = "more than -1, since no more than all of it can be lost"
	default:
		return nil
	}
	if saved == c.More {
		return wrong("Comparison can never hold", "%s is %s, so that %s never passes. Ratios are fractions: 0.10 is 10 %%.", in.Path, limits, f.leaf.Text)
	}
	return wrong("Comparison always holds", "%s is %s, so that %s decides nothing. Ratios are fractions: compare with the one that you would not accept, such as -0.03 for 3 %%.", in.Path, limits, f.leaf.Text)
}
