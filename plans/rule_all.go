package plans

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// compileRules compiles every rule of p strictly against the typed environment
// that the plan declares, and sets their Program.
func compileRules(ns *namespace, files map[string]*hcl.File) hcl.Diagnostics {
	var diags hcl.Diagnostics
	p := ns.plan
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			sc := &scope{own: f, criterion: true}
			for _, r := range f.Criteria {
				diags = append(diags, ns.compileInto(r, sc, files)...)
			}
			diags = append(diags, ns.hypothesis(f)...)
			diags = append(diags, ns.preference(f)...)
		}
		if ph.Gate == nil {
			continue
		}
		sc := ns.gateScope(ph)
		for _, r := range ph.Gate.Rules {
			diags = append(diags, ns.compileInto(r, sc, files)...)
		}
	}
	return diags
}

func (ns *namespace) compileInto(r *Rule, sc *scope, files map[string]*hcl.File) hcl.Diagnostics {
	if r.Expr == "" {
		return nil // reported by the decoder
	}
	program, errs := ns.compile(r.Expr, sc)
	var diags hcl.Diagnostics
	for _, e := range errs {
		diags = append(diags, e.diagnostic(r.ExprRange, r.Expr, files))
	}
	r.Program = program
	return diags
}

// hypothesis checks that the claim names a metric that will be measured.
func (ns *namespace) hypothesis(f *Feature) hcl.Diagnostics {
	h := f.Hypothesis
	if h == nil || h.Metric == "" {
		return nil
	}
	sc := &scope{own: f, criterion: true}
	in, err := ns.resolve(strings.Split(h.Metric, "."), sc)
	at := h.MetricRange
	if err == nil && in.Kind == InputMetric && in.Relation == Own {
		if err = ns.probe(h, in, sc); err == nil {
			return nil
		}
		at = h.ExpectRange
	}
	if err == nil {
		err = wrong("Hypothesis without a metric", "%q is no metric. Write a workload and a metric, such as \"chat.tg\"; how much it changes is said by expect.", h.Metric)
	}
	err.at = -1 // it is about a rule that nobody wrote
	return hcl.Diagnostics{err.diagnostic(at, "", nil)}
}
