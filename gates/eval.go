package gates

import (
	"fmt"

	"github.com/expr-lang/expr"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// Eval decides one rule. Every input is checked to be present, finite and from
// enough samples before the expression runs: expr-lang calls !(NaN < 0.95)
// true, so nothing that is missing may reach it.
func Eval(rule *plans.Rule, ev *Evidence) verdict.Rule {
	out := verdict.Rule{
		Name: rule.Name, Expr: rule.Expr, Decides: true,
		Source: fmt.Sprintf("%s:%d:%d", rule.ExprRange.File, rule.ExprRange.Start.Line, rule.ExprRange.Start.Column),
	}
	p := rule.Program
	if p == nil || p.VM == nil || len(p.Inputs) == 0 {
		return broke(out, "the rule was not compiled; this is a mistake in mxflow, not in the plan")
	}
	values := map[*plans.Input]any{}
	env := map[string]any{}
	var absent []verdict.Verdict
	readings := map[*plans.Input]*reading{}
	for _, in := range p.Inputs {
		r := read(in, ev)
		readings[in] = r
		out.Inputs = append(out.Inputs, r.Input)
		if r.absent != "" {
			absent = append(absent, r.absent)
			out.Reasons = append(out.Reasons, in.Path+": "+r.Missing)
			continue
		}
		values[in] = r.value(in)
		env[in.Var] = values[in]
	}
	if len(absent) > 0 {
		out.Verdict = verdict.Join(absent...)
		return out
	}
	if err := compare(&out, p, values, readings); err != nil {
		out.Verdict = verdict.Invalid
		out.Reasons = append(out.Reasons, err.Error())
		return out
	}
	return unsettle(decide(out, p, env), readings)
}

func broke(out verdict.Rule, format string, args ...any) verdict.Rule {
	out.Verdict = verdict.Error
	out.Reasons = append(out.Reasons, fmt.Sprintf(format, args...))
	return out
}

// compare works out both sides of every comparison, also of those that the
// rule's logic would skip, and refuses numbers that are not finite: 1/0 > 5 is
// true in expr-lang.
func compare(out *verdict.Rule, p *plans.Program, values map[*plans.Input]any, readings map[*plans.Input]*reading) error {
	of := func(in *plans.Input) any { return values[in] }
	for _, leaf := range p.Leaves {
		left, err := leaf.Left.Value(of)
		if err != nil {
			return err
		}
		right, err := leaf.Right.Value(of)
		if err != nil {
			return err
		}
		holds, err := holds(leaf.Op, left, right)
		if err != nil {
			return err
		}
		l, r := show(leaf, left, right)
		c := verdict.Comparison{Text: leaf.Text, Left: l, Op: leaf.Op, Right: r, Holds: holds}
		out.Comparisons = append(out.Comparisons, c)
		out.Reasons = append(out.Reasons, reason(leaf, c, readings))
	}
	return nil
}

func holds(op string, left, right any) (bool, error) {
	switch op {
	case "==":
		return left == right, nil
	case "!=":
		return left != right, nil
	case "in":
		if list, ok := right.([]any); ok {
			for _, e := range list {
				if e == left {
					return true, nil
				}
			}
			return false, nil
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
	return false, fmt.Errorf("cannot compare %v %s %v", left, op, right)
}

// decide runs the whole expression. A rule that is nothing but one comparison
// must come out as that did.
func decide(out verdict.Rule, p *plans.Program, env map[string]any) verdict.Rule {
	result, err := expr.Run(p.VM, env)
	if err != nil {
		return broke(out, "the rule cannot be computed: %v", err)
	}
	yes, ok := result.(bool)
	if !ok {
		return broke(out, "the rule gave %T, not yes or no", result)
	}
	if one := p.Alone(); one != nil && yes != (out.Comparisons[0].Holds != one.Negated) {
		return broke(out, "the rule came out as %v, against its own comparison; this is a mistake in mxflow", yes)
	}
	out.Verdict = verdict.Fail
	if yes {
		out.Verdict = verdict.Pass
	}
	compared := map[*plans.Input]bool{}
	for _, leaf := range p.Leaves {
		for _, in := range append(leaf.Left.Inputs(), leaf.Right.Inputs()...) {
			compared[in] = true
		}
	}
	for _, in := range p.Inputs {
		if !compared[in] {
			out.Reasons = append(out.Reasons, fmt.Sprintf("%s is %v", in.Path, env[in.Var]))
		}
	}
	return out
}
