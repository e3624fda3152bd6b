package load

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

// These bound what a plan may write; Registry.Decision knows which numbers are offered.
const (
	leastRate, mostRate = 0.0001, 0.5
	mostLaunches        = 1000
)

// usual is how gates decide in a plan without a decision block.
var usual = plans.UsualDecision()

var decisionDoc = &lang.BlockDoc{
	Type: "decision", Times: plans.AtMost1,
	Doc: "Error rates of gates, and how many launches they can take. Only calibrated rates and launches are available; see docs/statistics.md.",
	Attrs: []plans.Attr{
		{Name: "false_pass", Type: plans.Number, Default: usual.FalsePass, Min: leastRate, MinSet: true, Max: mostRate, Doc: "The maximum chance that a rule passes whose claim is just false."},
		{Name: "false_fail", Type: plans.Number, Default: usual.FalseFail, Min: leastRate, MinSet: true, Max: mostRate, Doc: "The maximum chance that a rule fails whose claim is just true."},
		{Name: "launches", Type: plans.Bounds, Default: map[string]any{"min": usual.Min, "max": usual.Max}, Unit: "launches per arm", Min: 1, MinSet: true, Max: mostLaunches, Doc: "The first look at the rules is at `min` launches per arm, or at 4 if no launch-to-launch variance is recorded; the last is at `max`. Two launches decide only what is clear by recorded variance. A benchmark's own `launches` replaces `max`."},
	},
	Example: `decision {
  false_pass = 0.01
  false_fail = 0.05
  launches   = { min = 4, max = 8 }
}`,
}

func (l *loader) decodeDecision(blocks hcl.Blocks) {
	d := l.plan.Decision
	b := l.Single(blocks)
	if b == nil {
		return
	}
	before := len(l.Diags)
	f := l.Fields(b, decisionDoc)
	d.FalsePass = f.Number("false_pass")
	d.FalseFail = f.Number("false_fail")
	d.Min, d.Max = decodeBounds(f, "launches", d.Min, d.Max)
	if len(l.Diags) > before || l.reg.Decision == nil {
		return
	}
	// Each with the defaults of the others, to point at the wrong one.
	u, failed := usual, false
	for _, c := range []struct {
		attr string
		err  error
	}{
		{"false_pass", l.reg.Decision(d.FalsePass, u.FalseFail, u.Min, u.Max)},
		{"false_fail", l.reg.Decision(u.FalsePass, d.FalseFail, u.Min, u.Max)},
		{"launches", l.reg.Decision(u.FalsePass, u.FalseFail, d.Min, d.Max)},
	} {
		if c.err != nil {
			failed = true
			l.Fail(f.At(c.attr), "decision-not-offered", "Decision is not offered", "Gates cannot decide with this: %v.", c.err)
		}
	}
	if err := l.reg.Decision(d.FalsePass, d.FalseFail, d.Min, d.Max); err != nil && !failed {
		l.Fail(b.DefRange, "decision-not-offered", "Decision is not offered", "Gates cannot decide with this: %v.", err)
	}
}

// decodeBounds reads { min = 3, max = 8 }. A missing bound has its default, or the value
// of the other if that is beyond it.
func decodeBounds(f *eval.Body, name string, least, most int) (int, int) {
	v, ok := f.Value(name)
	if !ok {
		return least, most
	}
	pairs, ok := f.Scope.Pairs(f.Attrs[name].Expr, v)
	if !ok {
		f.WrongType(name, "a map, such as { min = 4, max = 8 }", v)
		return least, most
	}
	written := map[string]int{}
	for _, p := range pairs {
		switch p.Key {
		case "min", "max":
			if n, ok := f.Scope.Scalar(plans.Attr{Name: name + "." + p.Key, Type: plans.Int, Min: 1, MinSet: true, Max: mostLaunches}, p.V, p.At); ok {
				written[p.Key] = int(n.(float64))
			}
		default:
			f.Scope.Fail(p.KeyAt, "unknown-bound", "Unknown bound", "%s has min and max, and no %q.%s", name, p.Key, f.Scope.DidYouMean(p.Key, []string{"min", "max"}))
		}
	}
	low, hasLow := written["min"]
	high, hasHigh := written["max"]
	switch {
	case hasLow && hasHigh:
		if low > high {
			f.Scope.Fail(f.At(name), "invalid-value", "Invalid "+name, "min (%d) is greater than max (%d). Swap them.", low, high)
		}
		return low, high
	case hasLow:
		return low, max(low, most)
	case hasHigh:
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
			l.Fail(lang.HCL(b.Range), "decision-not-offered", "Decision is not offered", "Gates cannot decide with launches = %d: %v.", most, err)
		}
	}
}
