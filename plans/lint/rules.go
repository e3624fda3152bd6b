package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/rules"
)

// compare reports something about one comparison of a rule, at its place.
func (c *check) compare(r *plans.Rule, cmp *plans.Compare, severity hcl.DiagnosticSeverity,
	code, summary, format string, args ...any,
) {
	e := rules.Wrong(code, summary, format, args...)
	e.At, e.Length = cmp.At, cmp.Length
	d := e.Diagnostic(r.ExprRange, r.Expr, c.scope.Files())
	d.Severity = severity
	c.Diags = append(c.Diags, d)
}

// rules checks the rules of one gate or feature: which outcomes they can have, and whether
// that is what was meant.
func (c *check) rules(list []*plans.Rule) {
	for _, r := range list {
		if r.Cond == nil {
			continue
		}
		required := map[*plans.Compare]bool{}
		for _, part := range r.Cond.Parts() {
			required[part.Compare] = true
		}
		for _, cmp := range r.Compares() {
			if c.possible(r, cmp) && required[cmp] && !cmp.Negated {
				c.onlyWhenWorse(r, cmp)
			}
		}
	}
}

// onlyWhenWorse warns of a comparison with another arm that only a loss satisfies, which is
// commonly a slipped sign and passes exactly when it must not. One side of an or may well
// ask for a loss, and a not was turned with care.
func (c *check) onlyWhenWorse(r *plans.Rule, cmp *plans.Compare) {
	in := cmp.Metric
	if in == nil || !in.Comparing() || in.Stat == "std" || in.Stat == "cv" {
		return
	}
	atLeast, limit := cmp.AtLeast, cmp.Threshold // of the improvement
	switch {
	case in.Relation == plans.Gain || in.Better == string(measure.Higher):
	case in.Better == string(measure.Lower):
		atLeast, limit = !atLeast, -limit
	default:
		return
	}
	if !atLeast && (limit < 0 || limit == 0 && (cmp.Strict || cmp.Tested())) {
		c.compare(r, cmp, hcl.DiagWarning, "only-when-worse", "Passes only when worse",
			"%s passes only if %s is worse than its reference: a positive gain is better, for every metric; a change "+
				"or delta "+
				"has the sign of the number. Turn the comparison round, or write not (…) if the loss itself is "+
				"required.",
			cmp.Text, in.Metric)
	}
}

// possible reports whether a comparison can come out either way, and warns if not.
func (c *check) possible(r *plans.Rule, cmp *plans.Compare) bool {
	for _, in := range cmp.Inputs() {
		if c.tooFew(r, cmp, in) || c.notSent(r, cmp, in) || c.sharedGPUMemory(r, cmp, in) {
			return false
		}
	}
	in, limit := cmp.Metric, cmp.Threshold
	if in == nil {
		return true
	}
	low, high, open := c.domain(in)
	edge, beyond := high, limit > high // of what the comparison wants
	if !cmp.AtLeast {
		edge, beyond = low, limit < low
	}
	atEdge := limit == edge && !beyond
	closed := cmp.AtLeast || !open // the domain has its edge
	code, summary, detail := "", "", ""
	switch {
	case beyond || atEdge && (cmp.Strict || !closed):
		code, summary, detail = "never-holds", "Comparison can never hold",
			"No measurement satisfies this. Compare with a value that "+in.Path+" can have."
	case cmp.AtLeast && (limit < low || limit == low && (open || !cmp.Strict)),
		!cmp.AtLeast && (limit > high || limit == high && !cmp.Strict):
		code, summary, detail = "always-holds", "Comparison always holds",
			"Every measurement satisfies this, so it decides nothing. Compare with a value of "+in.Path+
				" that you would not accept."
	case cmp.Tested() && atEdge:
		code, summary, detail = "only-inconclusive", "Can only be inconclusive", "No launches can show "+in.Path+
			" to be exactly at that limit, so this never passes. Allow a margin, or compare a count."
	default:
		return true
	}
	c.compare(r, cmp, hcl.DiagWarning, code, summary, "%s", detail)
	return false
}

// domain is the range of values that an input can have, and whether it is open below.
func (c *check) domain(in *plans.Input) (low, high float64, open bool) {
	switch everything := math.Inf(1); {
	case in.Kind != plans.InputMetric, in.Comparing(), in.Unit == "°C", measure.OfCommand(in.Cell):
		return -everything, everything, true // rules bounds ratios
	case in.Stat == "n":
		if most := c.ns.LaunchesOf(in.Feature); most > 0 {
			return 1, float64(most), false
		}
		return 0, everything, false
	case in.Unit == "share" && in.Stat != "std" && in.Stat != "n_requests":
		return 0, 1, false
	case in.Stat == "std" || in.Stat == "cv" || in.Stat == "n_requests", in.Metric == "itl", in.MayBeZero(),
		in.Better == string(measure.Neither):
		return 0, everything, false
	default:
		return 0, everything, true
	}
}

// tooFew refuses a percentile of fewer values than it takes to determine it. Such a rule
// can only be inconclusive, whatever is measured for however long.
func (c *check) tooFew(r *plans.Rule, cmp *plans.Compare, in *plans.Input) bool {
	name, _, _ := strings.Cut(in.Cell, ".")
	w, least := c.ns.Workloads[name], measure.StatOf(in.Stat).Decide
	if in.Kind != plans.InputMetric || w == nil || least < 2 {
		return false
	}
	var cell plans.Cell
	if i := slices.IndexFunc(c.ns.Cells[name], func(of plans.Cell) bool { return of.Address == in.Cell }); i >= 0 {
		cell = c.ns.Cells[name][i]
	}
	each := max(1, w.Turns) // values that a request gives at most
	if in.Metric == "itl" {
		each *= max(1, w.MostOutput(cell)-1)
	}
	values := cell.Requests * each
	if values >= least {
		return false
	}
	c.compare(r, cmp, hcl.DiagError, "too-few-values", "Too few requests",
		"%s needs at least %d values per launch, but workload %q gives at most %d, so this rule could only be "+
			"inconclusive. Set ‹requests = %d›, or use the median.", in.Path, least, w.Name, values,
		(least+each-1)/each)
	return true
}

// notSent warns of a rule that has no value under the chosen suite.
func (c *check) notSent(r *plans.Rule, cmp *plans.Compare, in *plans.Input) bool {
	u := in.Unsent
	if u == nil {
		return false
	}
	why := fmt.Sprintf("suite %q does not send workload %s", u.Suite, u.Workload)
	if u.Suite == "" {
		why = fmt.Sprintf("the benchmark of protocol %q does not send workload %s; %s does", u.Protocol, u.Workload,
			plans.OrList(u.Suites))
	}
	c.compare(r, cmp, hcl.DiagWarning, "not-sent", "Not sent by this suite",
		"%s has no value: %s. The rule will be inconclusive.", in.Path, why)
	return true
}

// sharedGPUMemory reports a rule on the memory of a GPU of this machine that has none of its own.
func (c *check) sharedGPUMemory(r *plans.Rule, cmp *plans.Compare, in *plans.Input) bool {
	ofGPU := in.Cell == string(measure.PerGPU) && in.Metric == "memory_gb" || in.Metric == "gpu_memory_gb"
	if in.Kind != plans.InputMetric || !ofGPU || c.unified == nil || !c.unified() {
		return false
	}
	general := strings.TrimSuffix(in.Metric, "memory_gb") + "memory_in_use_gb"
	c.compare(r, cmp, hcl.DiagWarning, "unified-memory", "GPU has no memory of its own",
		"A GPU of this machine shares the host's memory, so launches here have no %s, and the rule cannot pass. Read "+
			"%s.%s, or gpu.process_memory_gb, the memory of the engine's processes.", in.Path, in.Cell, general)
	return true
}

// hypothesis warns of a claim that no criterion tests.
func (c *check) hypothesis(f *plans.Feature) {
	h := f.Hypothesis
	if h == nil || h.Probe == nil {
		return
	}
	claim := h.Probe.Cond.Compare.Metric
	reads := func(in *plans.Input) bool {
		return in.Kind == plans.InputMetric && in.Metric == claim.Metric && in.Cell == claim.Cell
	}
	if !slices.ContainsFunc(f.Criteria, func(r *plans.Rule) bool { return slices.ContainsFunc(r.Inputs(), reads) }) {
		c.warn(h.Range, "claim-not-tested", "Hypothesis is not tested",
			"It claims a change of %s, which no criterion of feature %q reads. Add a criterion on it, or claim a "+
				"metric that is tested.", h.Metric, f.Name)
	}
}
