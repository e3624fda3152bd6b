package rules

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
)

// CompileAll sets the Cond of every rule of the plan, and reports the mistakes in them.
func CompileAll(ns *Namespace, files map[string]*hcl.File) hcl.Diagnostics {
	var diags hcl.Diagnostics
	for _, ph := range ns.plan.Phases {
		for _, f := range ph.Features {
			sc := &Scope{Own: f, Criterion: true}
			for _, r := range f.Criteria {
				diags = append(diags, ns.compile(r, sc, files)...)
			}
			diags = append(diags, ns.hypothesis(f, sc)...)
			diags = append(diags, ns.preference(f, sc)...)
		}
		if ph.Gate == nil {
			continue
		}
		sc := ns.GateScope(ph)
		for _, r := range ph.Gate.Rules {
			diags = append(diags, ns.compile(r, sc, files)...)
		}
	}
	if w := ns.plan.Watch; w != nil && ns.plan.Baseline != nil {
		sc := &Scope{Own: &plans.Feature{Name: "watch", Protocol: ns.plan.Baseline.Protocol}, Criterion: true}
		for _, r := range w.Criteria {
			diags = append(diags, ns.compile(r, sc, files)...)
		}
	}
	return append(diags, ns.Columns()...)
}

func (ns *Namespace) compile(r *plans.Rule, sc *Scope, files map[string]*hcl.File) (diags hcl.Diagnostics) {
	var errs []*Error
	switch {
	case r.Bound != nil:
		var err *Error
		if r.Cond, err = ns.bounded(r.Bound, sc); err != nil {
			errs = []*Error{err}
		}
	case r.Expr != "": // else reported by the decoder
		r.Cond, errs = ns.Compile(r.Expr, sc)
	}
	for _, e := range errs {
		diags = append(diags, e.Diagnostic(r.ExprRange, r.Expr, files))
	}
	return diags
}

// bounded is the comparison of a metric's address with a number.
func (ns *Namespace) bounded(b *plans.Bound, sc *Scope) (*plans.Cond, *Error) {
	in, err := ns.Resolve(strings.Split(b.Address, "."), sc)
	if err != nil {
		return nil, err
	}
	return bound(in, b.Op, b.Limit)
}

// hypothesis makes the comparison that a feature's hypothesis stands for: of the metric's
// change, if expect is in per cent, else of its value. The number is signed, and without an
// operator the sign says which way it goes.
func (ns *Namespace) hypothesis(f *plans.Feature, sc *Scope) hcl.Diagnostics {
	h := f.Hypothesis
	if h == nil || h.Metric == "" {
		return nil
	}
	in, wrong := ns.Resolve(strings.Split(h.Metric, "."), sc)
	if wrong == nil && (in.Kind != plans.InputMetric || in.Relation != plans.Own) {
		wrong = Wrong("invalid-address", "Hypothesis without a metric",
			"%q is not a metric. Write a workload and a metric, such as \"chat.tg\"; expect says by how much it "+
				"changes.", h.Metric)
	}
	if wrong != nil {
		return hcl.Diagnostics{wrong.Diagnostic(h.MetricRange, "", nil)}
	}
	number := strings.TrimLeft(h.Expect, "<>= ")
	op := strings.TrimSpace(strings.TrimSuffix(h.Expect, number))
	digits, relative := strings.CutSuffix(number, "%")
	limit, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return nil // reported by the decoder
	}
	if relative {
		in = related(in, plans.Parent, plans.Change)
		cell := in.Cell
		if cell == "" {
			cell = "engine"
		}
		in.Path = strings.Replace(cell+"."+in.Metric+"."+in.Stat+".change", ".median.", ".", 1)
		limit = rounded(limit / 100)
	}
	switch {
	case op == "" && strings.HasPrefix(number, "-"):
		op = "<="
	case op == "":
		op = ">="
	}
	cond, wrong := bound(in, op, limit)
	if wrong != nil {
		return hcl.Diagnostics{wrong.Diagnostic(h.ExpectRange, "", nil)}
	}
	h.Probe = &plans.Rule{Name: "hypothesis", Expr: cond.Compare.Text, Cond: cond, Range: h.Range, ExprRange: h.Range}
	return nil
}

// preference makes the comparison that picks the winner of a choice: on the metric that
// the plan prefers, or on the first that a decisive criterion compares with the parent.
func (ns *Namespace) preference(f *plans.Feature, sc *Scope) hcl.Diagnostics {
	c := f.Choose
	if c == nil {
		return nil
	}
	decides := plans.Decisive(f)
	for _, r := range f.Criteria {
		switch {
		case c.Prefer != "" || !decides[r.Name]:
			continue
		case r.Cond == nil:
			return nil // it is wrong, which has been reported
		}
		for _, in := range r.Inputs() {
			directed := in.Better == string(measure.Higher) || in.Better == string(measure.Lower)
			if c.Prefer == "" && in.Kind == plans.InputMetric && in.Relation != plans.Own && directed {
				c.Prefer = in.LaunchAddress()
			}
		}
	}
	if c.Prefer == "" {
		return hcl.Diagnostics{
			Wrong("choice", "No metric to choose by",
				"No criterion in accept compares a metric that has a better direction with the parent, so the best "+
					"of several passing alternatives is undefined. Add prefer, such as ‹prefer = \"chat.tg\"›.").
				Diagnostic(c.Range, "", nil),
		}
	}
	cond, err := ns.bounded(&plans.Bound{Address: c.Prefer + ".gain", Op: ">"}, sc)
	if err != nil {
		return hcl.Diagnostics{err.Diagnostic(c.Range, "", nil)}
	}
	c.Probe = &plans.Rule{Name: "prefer", Expr: cond.Compare.Text, ExprRange: c.Range, Cond: cond}
	return nil
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
