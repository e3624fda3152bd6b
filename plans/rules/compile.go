package rules

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
)

// Compile reads, resolves and compiles one rule strictly. Mistakes carry rune
// offsets into src.
func (ns *Namespace) Compile(src string, sc *Scope) (*plans.Program, []*Error) {
	if err := lexicalLimits(src); err != nil {
		return nil, []*Error{err}
	}
	tree, err := parser.ParseWithConfig(src, &conf.Config{})
	if err != nil {
		return nil, []*Error{fromExpr(err, src)}
	}
	r := &reader{ns: ns, sc: sc, p: &plans.Program{}, text: []rune(src), seen: map[string]*plans.Input{}, done: map[ast.Node]*plans.Operand{}}
	r.p.Logic = r.condition(&tree.Node, false)
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	if !measures(r.p) {
		r.refuse(tree.Node, "rule-reads-nothing", "Rule reads nothing", "This rule has the same result whatever is measured. Compare a metric, such as chat.tg.gain >= 0.10.")
		return nil, r.errs
	}
	return r.p, nil
}

// Address resolves an address that stands alone, as a rule in this scope would.
func (ns *Namespace) Address(src string, sc *Scope) (*plans.Input, *Error) {
	if err := lexicalLimits(src); err != nil {
		return nil, err
	}
	tree, err := parser.ParseWithConfig(src, &conf.Config{})
	if err != nil {
		return nil, fromExpr(err, src)
	}
	r := &reader{text: []rune(src)}
	elements := r.elements(tree.Node)
	if elements == nil {
		return nil, r.errs[0]
	}
	return ns.Resolve(elements, sc)
}

func measures(p *plans.Program) bool {
	for _, in := range p.Inputs {
		if in.Measured() {
			return true
		}
	}
	return false
}

// CompileAll compiles every rule of p strictly against the typed environment
// that the plan declares, and sets their Program.
func CompileAll(ns *Namespace, files map[string]*hcl.File) hcl.Diagnostics {
	var diags hcl.Diagnostics
	p := ns.plan
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			sc := &Scope{Own: f, Criterion: true}
			for _, r := range f.Criteria {
				diags = append(diags, ns.compileInto(r, sc, files)...)
			}
			diags = append(diags, ns.hypothesis(f)...)
			diags = append(diags, ns.preference(f)...)
		}
		if ph.Gate == nil {
			continue
		}
		sc := ns.GateScope(ph)
		for _, r := range ph.Gate.Rules {
			diags = append(diags, ns.compileInto(r, sc, files)...)
		}
	}
	return diags
}

func (ns *Namespace) compileInto(r *plans.Rule, sc *Scope, files map[string]*hcl.File) hcl.Diagnostics {
	if r.Expr == "" {
		return nil // reported by the decoder
	}
	program, errs := ns.Compile(r.Expr, sc)
	var diags hcl.Diagnostics
	for _, e := range errs {
		diags = append(diags, e.Diagnostic(r.ExprRange, r.Expr, files))
	}
	r.Program = program
	return diags
}

// hypothesis checks that the claim names a metric that will be measured.
func (ns *Namespace) hypothesis(f *plans.Feature) hcl.Diagnostics {
	h := f.Hypothesis
	if h == nil || h.Metric == "" {
		return nil
	}
	sc := &Scope{Own: f, Criterion: true}
	in, err := ns.Resolve(strings.Split(h.Metric, "."), sc)
	at := h.MetricRange
	if err == nil && in.Kind == plans.InputMetric && in.Relation == plans.Own {
		if err = ns.probe(h, in, sc); err == nil {
			return nil
		}
		at = h.ExpectRange
	}
	if err == nil {
		err = Wrong("invalid-address", "Hypothesis without a metric", "%q is not a metric. Write a workload and a metric, such as \"chat.tg\"; expect says by how much it changes.", h.Metric)
	}
	err.At = -1 // it is about a rule that nobody wrote
	return hcl.Diagnostics{err.Diagnostic(at, "", nil)}
}

// probe compiles the claim as a rule, in the scope of the feature's criteria. in is the
// input that Metric resolves to.
func (ns *Namespace) probe(h *plans.Hypothesis, in *plans.Input, sc *Scope) *Error {
	if !ExpectForm.MatchString(h.Expect) {
		return nil // reported by the decoder
	}
	expr := h.Metric + " " + strings.Replace(h.Expect, "+", "", 1)
	if percent, relative := strings.CutSuffix(h.Expect, "%"); relative {
		op := strings.TrimRight(percent, "+-.0123456789 ")
		if percent = strings.TrimSpace(percent[len(op):]); op == "" {
			op = ">="
			if strings.HasPrefix(percent, "-") {
				op = "<="
			}
		}
		expr = changeRule(in, op, percent)
	}
	program, errs := ns.Compile(expr, sc)
	if len(errs) > 0 {
		return errs[0]
	}
	h.Probe = &plans.Rule{Name: "hypothesis", Expr: expr, Program: program, Range: h.Range, ExprRange: h.Range}
	return nil
}

// changeRule compares a metric's change with a percentage.
func changeRule(in *plans.Input, op, percent string) string {
	n, _ := strconv.ParseFloat(percent, 64) // its form was checked
	ratio := Rounded(n / 100)
	address := in.Cell + "." + in.Metric
	if in.Cell == "" {
		address = "engine." + in.Metric
	}
	if in.Stat == "median" || in.Stat == "p50" {
		return fmt.Sprintf("%s.change %s %v", address, op, ratio)
	}
	return fmt.Sprintf("%s.%s %s %v * %[1]s.base.%[2]s", address, in.Stat, op, Rounded(1+ratio))
}

// preference compiles the rule that picks the winner: on the metric that the plan
// prefers, or on the first that a decisive criterion compares with the parent.
func (ns *Namespace) preference(f *plans.Feature) hcl.Diagnostics {
	c := f.Choose
	if c == nil {
		return nil
	}
	refuse := func(e *Error) hcl.Diagnostics {
		e.At = -1
		return hcl.Diagnostics{e.Diagnostic(c.Range, "", nil)}
	}
	if c.Prefer == "" {
		var known bool
		if c.Prefer, known = firstCompared(f); !known {
			return nil // a criterion is wrong, which has been reported
		}
	}
	if c.Prefer == "" {
		return refuse(Wrong("choice", "No metric to choose by", "No criterion in accept compares a metric that has a better direction with the parent, so the best of several passing alternatives is undefined. Add prefer, such as prefer = \"chat.tg\"."))
	}
	expr := c.Prefer + ".gain > 0"
	program, errs := ns.Compile(expr, &Scope{Own: f, Criterion: true})
	if len(errs) > 0 {
		return refuse(errs[0])
	}
	c.Probe = &plans.Rule{Name: "prefer", Expr: expr, ExprRange: c.Range, Program: program}
	return nil
}

// firstCompared is the address of the first metric that a decisive criterion compares
// with the parent; empty if none does. known is false if one of the criteria did not
// compile.
func firstCompared(f *plans.Feature) (metric string, known bool) {
	decides := plans.Decisive(f)
	for _, r := range f.Criteria {
		if !decides[r.Name] {
			continue
		}
		if r.Program == nil {
			return "", false
		}
		for _, in := range r.Inputs() {
			if in.Kind != plans.InputMetric || in.Relation == plans.Own || in.Better != "higher" && in.Better != "lower" {
				continue
			}
			cell := in.Cell
			if cell == "" {
				cell = "engine"
			}
			return cell + "." + in.Metric, true
		}
	}
	return "", true
}

var (
	MetricForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$`)
	ExpectForm = regexp.MustCompile(`^([+-][0-9]+(\.[0-9]+)?%|(<|<=|>|>=) *[+-]?[0-9]+(\.[0-9]+)?%?)$`)
)

// Everywhere is a scope that comes after all phases; bare names belong to the given
// feature, or to the plan's only one.
func (ns *Namespace) Everywhere(feature string) *Scope {
	end := &plans.Phase{}
	for _, ph := range ns.plan.Phases {
		end.AfterDecided = append(end.AfterDecided, ph.Name)
		end.Features = append(end.Features, ph.Features...)
	}
	sc := ns.GateScope(end)
	if f := ns.Features[feature]; f != nil {
		sc.Own = f
	}
	return sc
}
