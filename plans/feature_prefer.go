package plans

import "github.com/hashicorp/hcl/v2"

// decodePrefer reads the metric that picks the winner.
func (l *loader) decodePrefer(f *body) string {
	if f.absent("prefer") {
		return ""
	}
	prefer := f.text("prefer", "")
	if prefer != "" && !metricForm.MatchString(prefer) {
		l.fail(f.at("prefer"), "Invalid metric address", `%q is no address. Write a workload and a metric, such as "chat.tg".`, prefer)
		return ""
	}
	return prefer
}

// preference compiles what picks the winner: the metric that the plan prefers, or
// the first that a decisive criterion compares with the parent.
func (ns *namespace) preference(f *Feature) hcl.Diagnostics {
	c := f.Choose
	if c == nil {
		return nil
	}
	refuse := func(e *ruleError) hcl.Diagnostics {
		e.at = -1
		return hcl.Diagnostics{e.diagnostic(c.Range, "", nil)}
	}
	if c.Prefer == "" {
		var known bool
		if c.Prefer, known = firstCompared(f); !known {
			return nil // a criterion is wrong, which has been reported
		}
	}
	if c.Prefer == "" {
		return refuse(wrong("No metric to choose by", "No criterion in accept compares a metric that has a better direction with the parent, so nothing says which alternative is the best of several that pass. Add prefer, such as prefer = \"chat.tg\"."))
	}
	expr := c.Prefer + ".gain > 0"
	program, errs := ns.compile(expr, &scope{own: f, criterion: true})
	if len(errs) > 0 {
		return refuse(errs[0])
	}
	c.Probe = &Rule{Name: "prefer", Expr: expr, ExprRange: c.Range, Program: program}
	return nil
}

// firstCompared is the address of the first metric that a decisive criterion
// compares with the parent; empty where none does. It is not known where one of
// the criteria did not compile.
func firstCompared(f *Feature) (metric string, known bool) {
	decides := decisive(f)
	for _, r := range f.Criteria {
		if !decides[r.Name] {
			continue
		}
		if r.Program == nil {
			return "", false
		}
		for _, in := range r.inputs() {
			if in.Kind != InputMetric || in.Relation == Own || in.Better != "higher" && in.Better != "lower" {
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
