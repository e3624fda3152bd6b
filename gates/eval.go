package gates

import (
	"fmt"
	"math"

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
		out.Verdict = verdict.Error
		out.Reasons = []string{"the rule was not compiled; this is a mistake in mxflow, not in the plan"}
		return out
	}
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
		env[in.Var] = value(in, r)
	}
	if len(absent) > 0 {
		out.Verdict = verdict.Join(absent...)
		return out
	}
	if problem := compare(&out, p, env, readings); problem != "" {
		out.Verdict = verdict.Invalid
		out.Reasons = append(out.Reasons, problem)
		return out
	}
	decide(&out, p, env)
	return out
}

// value is what the expression sees of an input.
func value(in *plans.Input, r *reading) any {
	switch in.Type {
	case plans.WordInput:
		return *r.Text
	case plans.BoolInput:
		return *r.Text == "true"
	default:
		return *r.Value
	}
}

// compare works out both sides of every comparison for the reasons, and
// refuses numbers that are not finite: 1/0 > 5 is true in expr-lang.
func compare(out *verdict.Rule, p *plans.Program, env map[string]any, readings map[*plans.Input]*reading) string {
	for _, leaf := range p.Leaves {
		left, err := operand(leaf.Left, env)
		if err != "" {
			return err
		}
		right, err := operand(leaf.Right, env)
		if err != "" {
			return err
		}
		holds, err := holds(leaf.Op, left, right)
		if err != "" {
			return err
		}
		c := verdict.Comparison{
			Text: leaf.Text, Op: leaf.Op, Holds: holds,
			Left: show(leaf.Left, left, leaf.Right, readings), Right: show(leaf.Right, right, leaf.Left, readings),
		}
		out.Comparisons = append(out.Comparisons, c)
		out.Reasons = append(out.Reasons, reason(leaf, c, readings))
	}
	return ""
}

func operand(o *plans.Operand, env map[string]any) (any, string) {
	v := o.Constant
	switch {
	case o.Input != nil:
		v = env[o.Input.Var]
	case o.VM != nil:
		var err error
		if v, err = expr.Run(o.VM, env); err != nil {
			return nil, fmt.Sprintf("%s cannot be computed: %v", o.Text, err)
		}
	}
	if i, ok := v.(int); ok {
		v = float64(i)
	}
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil, fmt.Sprintf("%s is not a finite number", o.Text)
	}
	if v == nil {
		return nil, fmt.Sprintf("%s has no value", o.Text)
	}
	return v, ""
}

func holds(op string, left, right any) (bool, string) {
	if l, ok := left.(float64); ok {
		if r, ok := right.(float64); ok {
			switch op {
			case "<":
				return l < r, ""
			case "<=":
				return l <= r, ""
			case ">":
				return l > r, ""
			case ">=":
				return l >= r, ""
			}
		}
	}
	switch op {
	case "==":
		return left == right, ""
	case "!=":
		return left != right, ""
	case "in":
		if list, ok := right.([]any); ok {
			for _, e := range list {
				if i, ok := e.(int); ok {
					e = float64(i)
				}
				if e == left {
					return true, ""
				}
			}
			return false, ""
		}
	}
	return false, fmt.Sprintf("cannot compare %v %s %v", left, op, right)
}

// decide runs the whole expression and cross-checks it against the comparisons
// where the rule is nothing but one.
func decide(out *verdict.Rule, p *plans.Program, env map[string]any) {
	result, err := expr.Run(p.VM, env)
	if err != nil {
		out.Verdict = verdict.Error
		out.Reasons = append(out.Reasons, fmt.Sprintf("the rule cannot be computed: %v", err))
		return
	}
	yes, ok := result.(bool)
	switch {
	case !ok:
		out.Verdict = verdict.Error
		out.Reasons = append(out.Reasons, fmt.Sprintf("the rule gave %T, not yes or no", result))
	case yes:
		out.Verdict = verdict.Pass
	default:
		out.Verdict = verdict.Fail
	}
	for _, in := range p.Inputs {
		if in.Type == plans.BoolInput {
			out.Reasons = append(out.Reasons, fmt.Sprintf("%s is %v", in.Path, env[in.Var]))
		}
	}
}
