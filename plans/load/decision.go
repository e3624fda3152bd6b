package load

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

// mostLaunches bounds what a plan may write; Registry.Decision knows which numbers are
// offered.
const mostLaunches = 1000

// usual is how gates decide in a plan without a decision block.
var usual = plans.UsualDecision()

var decisionDoc = block(plans.Decision{}, lang.BlockDoc{
	Type: "decision", Times: plans.AtMost1,
	Doc: "Error rates of gates, and how many launches they can take. Only calibrated rates and launches are " +
		"available; see docs/statistics.md.",
})

func (l *loader) decodeDecision(blocks hcl.Blocks) {
	d := l.plan.Decision
	b := l.Single(blocks)
	if b == nil {
		return
	}
	f := l.Read(b, decisionDoc, d)
	d.Min, d.Max = decodeBounds(f, d.Min, d.Max)
	if f.HasErrors() || l.reg.Decision == nil {
		return
	}
	refuse := func(at hcl.Range, err error) bool {
		if err != nil {
			l.Fail(at, "decision-not-offered", "Decision is not offered", "Gates cannot decide with this: %v.", err)
		}
		return err != nil
	}
	// Each with the defaults of the others, to point at the wrong one.
	u := usual
	pass := refuse(f.At("false_pass"), l.reg.Decision(d.FalsePass, u.FalseFail, u.Min, u.Max))
	fail := refuse(f.At("false_fail"), l.reg.Decision(u.FalsePass, d.FalseFail, u.Min, u.Max))
	launches := refuse(f.At("launches"), l.reg.Decision(u.FalsePass, u.FalseFail, d.Min, d.Max))
	if !pass && !fail && !launches {
		refuse(b.DefRange, l.reg.Decision(d.FalsePass, d.FalseFail, d.Min, d.Max))
	}
}

// decodeBounds reads launches = { min = 3, max = 8 }. A missing bound has its default, or
// the value of the other if that is beyond it.
func decodeBounds(f *eval.Body, least, most int) (int, int) {
	v, ok := f.Value("launches")
	if !ok {
		return least, most
	}
	pairs, ok := f.Scope.Pairs(f.Attrs["launches"].Expr, v)
	if !ok {
		f.WrongType("launches", "a map, such as ‹{ min = 4, max = 8 }›", v)
	}
	low, high := 0, 0
	for _, p := range pairs {
		bound := map[string]*int{"min": &low, "max": &high}[p.Key]
		if bound == nil {
			f.Scope.Fail(p.KeyAt, "unknown-bound", "Unknown bound", "launches has min and max, and no %q.%s", p.Key,
				f.Scope.DidYouMean(p.Key, []string{"min", "max"}))
		} else if n, ok := f.Scope.Scalar(plans.Attr{
			Name: "launches." + p.Key, Type: plans.Int, Min: 1, MinSet: true,
			Max: mostLaunches,
		}, p.V, p.At); ok {
			*bound = int(n.(float64))
		}
	}
	switch {
	case low > 0 && high > 0:
		if low > high {
			f.Scope.Fail(f.At("launches"), "invalid-value", "Invalid launches",
				"min (%d) is greater than max (%d). Swap them.", low, high)
		}
		return low, high
	case low > 0:
		return low, max(low, most)
	case high > 0:
		return min(least, high), high
	}
	return least, most
}

// checkOffered checks the launches of benchmarks that set their number.
func (l *loader) checkOffered() {
	d := l.plan.Decision
	if d == nil || l.reg.Decision == nil || l.reg.Decision(d.FalsePass, d.FalseFail, d.Min, d.Max) != nil {
		return // reported at the decision
	}
	for _, pr := range l.plan.Protocols {
		b := pr.Level(plans.BenchmarkLevel)
		if b == nil || !b.Written["launches"] {
			continue
		}
		least, most := l.plan.LaunchesUnder(pr.Name)
		if err := l.reg.Decision(d.FalsePass, d.FalseFail, least, most); err != nil {
			l.Fail(lang.HCL(b.Range), "decision-not-offered", "Decision is not offered",
				"Gates cannot decide with ‹launches = %d›: %v.", most, err)
		}
	}
}
