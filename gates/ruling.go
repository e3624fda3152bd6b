package gates

import (
	"fmt"

	"github.com/expr-lang/expr"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// ruling is one rule while it is decided.
type ruling struct {
	*decider
	program  *plans.Program
	out      verdict.Rule
	readings map[*plans.Input]*reading
	leaves   map[*plans.Leaf]*finding
	absent   []verdict.Verdict
}

// decide reads the inputs, decides each comparison and joins them. One absent
// input decides for the whole rule, also where an or could do without it: whoever
// wrote the rule believed that both sides were being looked at, and a metric that
// disappears must not make a rule easier to pass.
func (c *ruling) decide() verdict.Rule {
	for _, in := range c.program.Inputs {
		c.out.Inputs = append(c.out.Inputs, c.read(in).Input)
	}
	for _, leaf := range c.program.Leaves {
		f, err := c.find(leaf)
		if err != nil {
			if len(c.absent) > 0 {
				break
			}
			c.out.Verdict, c.out.Comparisons = verdict.Invalid, nil
			c.out.Reasons = append(c.out.Reasons, err.Error())
			return c.out
		}
		c.leaves[leaf] = f
	}
	if len(c.absent) > 0 {
		c.out.Verdict = verdict.Join(c.absent...)
		_, c.out.Open = c.join(c.program.Logic)
		return c.out
	}
	if err := c.agree(); err != nil {
		return broke(c.out, "%v", err)
	}
	for _, leaf := range c.program.Leaves {
		f := c.leaves[leaf]
		c.out.Comparisons = append(c.out.Comparisons, f.Comparison)
		c.out.Reasons = append(c.out.Reasons, f.reason)
	}
	for _, in := range c.program.Inputs {
		if in.Type == plans.BoolInput && !c.compared(in) {
			c.out.Reasons = append(c.out.Reasons, fmt.Sprintf("%s is %v", in.Path, c.readings[in].value(in)))
		}
	}
	c.out.Verdict, c.out.Open = c.join(c.program.Logic)
	return c.unsettle()
}

// read reads an input once.
func (c *ruling) read(in *plans.Input) *reading {
	if r := c.readings[in]; r != nil {
		return r
	}
	r := read(in, c.ev)
	c.readings[in] = r
	if r.absent != "" {
		c.absent = append(c.absent, r.absent)
		c.out.Reasons = append(c.out.Reasons, r.Absence())
	}
	return r
}

func (c *ruling) compared(in *plans.Input) bool {
	for _, leaf := range c.program.Leaves {
		for _, other := range leaf.Inputs() {
			if other == in {
				return true
			}
		}
	}
	return false
}

// agree runs the whole expression on the estimates. It must come out as the
// comparisons joined by hand do.
func (c *ruling) agree() error {
	env := map[string]any{}
	for _, in := range c.program.Inputs {
		env[in.Var] = c.readings[in].value(in)
	}
	result, err := expr.Run(c.program.VM, env)
	if err != nil {
		return fmt.Errorf("the rule cannot be computed: %w", err)
	}
	yes, ok := result.(bool)
	if !ok {
		return fmt.Errorf("the rule gave %T, not yes or no", result)
	}
	joined := c.program.Logic.Holds(
		func(leaf *plans.Leaf) bool { return c.leaves[leaf].mean },
		func(in *plans.Input) bool { return c.readings[in].value(in) == true },
	)
	if yes != joined {
		return fmt.Errorf("the rule came out as %v, against its own comparisons; this is a mistake in mxflow", yes)
	}
	return nil
}
