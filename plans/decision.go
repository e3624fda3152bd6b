package plans

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Decision is how a plan's gates decide: the error rates that are kept to, and
// how many launches an arm may take. See docs/statistics.md.
type Decision struct {
	// FalsePass and FalseFail bound the chance of a wrong verdict at the
	// threshold: 0.01 and 0.05 unless the plan says otherwise.
	FalsePass, FalseFail float64
	// Min and Max are launches an arm: the first look is at Min (later where no
	// launch noise is recorded), the last at Max.
	Min, Max int
	// Interactions adds the baseline as an arm of features that build on a stack
	// of two or more, so that the stack's gain can be compared with its parts'.
	Interactions bool
}

// usualDecision is how gates decide in a plan without a decision block. Where one
// of these numbers changes, digestVersion has to: a plan's digest leaves them out.
var usualDecision = Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 3, Max: 8}

// UsualDecision is how gates decide in a plan that says nothing of it.
func UsualDecision() Decision { return usualDecision }

// firstLook is the launches an arm before which nothing is decided where no
// launch noise is recorded: engines whose starts are bimodal look alike for that
// long (docs/statistics.md).
const firstLook = 4

// These bound what a plan may write; which numbers are offered is for
// Registry.Decision to say.
const (
	leastRate, mostRate = 0.0001, 0.5
	mostLaunches        = 1000
)

// usual is how gates decide in a plan without a decision block.
var usual = UsualDecision()

var decisionDoc = &BlockDoc{
	Type: "decision", Times: AtMost1,
	Doc: "How gates decide: how often they may be wrong, and how many launches they may take to decide. A plan without it has the defaults. Only rates and launches for which the levels of the test were calibrated are offered; docs/statistics.md has them.",
	Attrs: []Attr{
		{Name: "false_pass", Type: Number, Default: usual.FalsePass, Min: leastRate, MinSet: true, Max: mostRate, Doc: "The greatest chance that a rule passes whose claim is just not true."},
		{Name: "false_fail", Type: Number, Default: usual.FalseFail, Min: leastRate, MinSet: true, Max: mostRate, Doc: "The greatest chance that a rule fails whose claim is just true."},
		{Name: "launches", Type: Bounds, Default: map[string]any{"min": usual.Min, "max": usual.Max}, Unit: "launches an arm", Min: 1, MinSet: true, Max: mostLaunches, Doc: "At `min` launches of each arm the rules are looked at first, or at 4 where no launch noise is recorded; at `max` last. A benchmark's own `launches` stands in place of `max`."},
		{Name: "interactions", Type: Bool, Default: usual.Interactions, Doc: "Launch the baseline too beside features that build on a stack of two or more, so that the gain of the stack can be compared with the product of its parts'."},
	},
	Example: `decision {
  false_pass = 0.01
  false_fail = 0.05
  launches   = { min = 4, max = 8 }
}`,
}

var decisionSchema = decisionDoc.schema()

func (l *loader) decodeDecision(blocks hcl.Blocks) {
	d := l.plan.Decision
	b := l.single(blocks)
	if b == nil {
		return
	}
	before := len(l.diags)
	f := l.fields(b, decisionSchema, "decision")
	d.FalsePass = f.number("false_pass", d.FalsePass, leastRate, mostRate)
	d.FalseFail = f.number("false_fail", d.FalseFail, leastRate, mostRate)
	d.Min, d.Max = l.decodeBounds(f, "launches", d.Min, d.Max)
	d.Interactions = f.truth("interactions", d.Interactions)
	if len(l.diags) > before || l.reg.Decision == nil {
		return
	}
	// Each against the defaults of the others, to point at the one that is wrong.
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
			l.fail(f.at(c.attr), "Decision is not offered", "Gates cannot decide so: %v.", c.err)
		}
	}
	if err := l.reg.Decision(d.FalsePass, d.FalseFail, d.Min, d.Max); err != nil && !failed {
		l.fail(b.DefRange, "Decision is not offered", "Gates cannot decide so: %v.", err)
	}
}

// decodeBounds reads { min = 3, max = 8 }. What is left out has its default, or
// the value of the other where that is beyond it.
func (l *loader) decodeBounds(f *body, name string, least, most int) (int, int) {
	v, ok := f.value(name)
	if !ok {
		return least, most
	}
	pairs, ok := l.pairs(f.attrs[name].Expr, v)
	if !ok {
		f.wrongType(name, "a map, such as { min = 4, max = 8 }", v)
		return least, most
	}
	written := map[string]int{}
	for _, p := range pairs {
		switch p.key {
		case "min", "max":
			if n, ok := f.asWhole(p.v, p.at, name+"."+p.key, 1, mostLaunches); ok {
				written[p.key] = n
			}
		default:
			l.fail(p.keyAt, "Unknown bound", "%s has min and max, and no %q.%s", name, p.key, l.didYouMean(p.key, []string{"min", "max"}))
		}
	}
	low, hasLow := written["min"]
	high, hasHigh := written["max"]
	switch {
	case hasLow && hasHigh:
		if low > high {
			l.fail(f.at(name), "Invalid "+name, "min is %d and more than max, which is %d. Exchange them.", low, high)
		}
		return low, high
	case hasLow:
		return low, max(low, most)
	case hasHigh:
		return min(least, high), high
	}
	return least, most
}

// LaunchesOf is between how many launches each arm of a feature has: the last look
// is at what its benchmark says, or else the decision block. The name may be that
// of an alternative or a confirmation. Both are 0 for a feature that the plan does
// not have.
func (p *Plan) LaunchesOf(feature string) (least, most int) {
	if i := strings.IndexAny(feature, "[@"); i > 0 {
		feature = feature[:i]
	}
	f := p.Feature(feature)
	if f == nil {
		return 0, 0
	}
	return p.launchesUnder(f.Protocol)
}

func (p *Plan) launchesUnder(protocol string) (least, most int) {
	least, most = usualDecision.Min, usualDecision.Max
	if d := p.Decision; d != nil {
		least, most = d.Min, d.Max
	}
	if pr := p.Protocol(protocol); pr != nil {
		if b := pr.Level(BenchmarkLevel); b != nil {
			if n, ok := b.Attrs["launches"].(float64); ok && n >= 1 {
				most = int(n)
			}
		}
	}
	return min(least, most), most
}

// checkOffered checks the launches of benchmarks that say how many.
func (l *loader) checkOffered() {
	d := l.plan.Decision
	if d == nil || l.reg.Decision == nil || l.reg.Decision(d.FalsePass, d.FalseFail, d.Min, d.Max) != nil {
		return // reported at the decision
	}
	for _, pr := range l.plan.Protocols {
		b := pr.Level(BenchmarkLevel)
		if b == nil || !b.Written["launches"] {
			continue
		}
		least, most := l.plan.launchesUnder(pr.Name)
		if err := l.reg.Decision(d.FalsePass, d.FalseFail, least, most); err != nil {
			l.fail(b.Range.hcl(), "Decision is not offered", "Gates cannot decide with launches = %d: %v.", most, err)
		}
	}
}
