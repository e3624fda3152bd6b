package steps

import (
	"math"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// sketchedMetric is one metric with what is asked of it.
type sketchedMetric struct {
	key    string
	in     *plans.Input
	limits []sketchLimit
	margin float64
	// launches and requests are how many there are, 0 for the usual.
	launches, requests int
	// count is set where it is counted.
	count *float64
}

// sketchLimit asks for an input to be more, or less, than a number.
type sketchLimit struct {
	in   *plans.Input
	form verdict.Form
	at   float64
	more bool
}

// margins are how far from a threshold a sketch stays, in the order in which they
// are tried: far enough for four launches that differ by half a per cent, and near
// enough to show which side is which; then far, for what is known to a whole token.
var margins = []float64{0.1, 1}

// solved is a metric of a sketch in numbers; what is not needed is NaN.
type solved struct{ base, candidate, root, ratio, delta float64 }

// asked are the spans that the limits of a metric leave of its numbers; rootRatio and
// root are those of a baseline that is not the parent.
type asked struct{ own, base, root, ratio, rootRatio, delta span }

func (m *sketchedMetric) asked(ownRoot bool) asked {
	a := asked{anywhere(), anywhere(), anywhere(), anywhere(), anywhere(), anywhere()}
	for _, l := range m.limits {
		in, at, more := l.in, l.at, l.more
		of, root := &a.own, l.in.Root && ownRoot
		switch {
		case in.Ratio() && root:
			of = &a.rootRatio
		case in.Ratio():
			of = &a.ratio
		case in.Relation == plans.Delta:
			of = &a.delta
		case in.Relation == plans.Base && root:
			of = &a.root
		case in.Relation == plans.Base:
			of = &a.base
		}
		if in.Relation == plans.Gain && in.Better == string(measure.Lower) {
			at, more = -at, !more
		}
		if in.Ratio() {
			at++
		}
		of.limit(at, more)
	}
	return a
}

// solve finds numbers that lie as asked. Whether they do what is wanted is for the
// rules to say: what contradicts itself has no solution.
func (m *sketchedMetric) solve(ownRoot bool) solved {
	none := math.NaN()
	out := solved{none, none, none, none, none}
	if m.count != nil {
		m.solveCount(&out)
		return out
	}
	a := m.asked(ownRoot)
	if a.own.bounded() {
		out.candidate = m.level(a.own)
	}
	if a.base.bounded() {
		out.base = m.level(a.base)
	}
	if len(m.limits) == 0 {
		out.base, out.candidate = m.usual(), m.usual()
	}
	if a.ratio.bounded() {
		out.ratio = a.ratio.factor(m.margin)
	}
	if a.delta.bounded() {
		out.delta = a.delta.place(m.step(a.delta, out))
	}
	if a.rootRatio.bounded() || a.root.bounded() {
		m.solveRoot(&out, a)
	}
	return out
}

// solveCount is for what is counted: a number, and none of what it is compared with.
func (m *sketchedMetric) solveCount(out *solved) {
	switch m.in.Relation {
	case plans.Delta:
		out.base, out.delta = 0, *m.count
	case plans.Base:
		out.base = *m.count
	default:
		out.base, out.candidate = 0, *m.count
	}
}

// solveRoot adds a baseline that is not the parent.
func (m *sketchedMetric) solveRoot(out *solved, a asked) {
	if math.IsNaN(out.candidate) {
		out.base = m.usual()
		out.candidate = out.base * or(out.ratio, 1)
		out.ratio = math.NaN()
	}
	out.root = out.candidate / a.rootRatio.factor(m.margin)
	if a.root.bounded() {
		out.root = m.level(a.root)
	}
}

// level is a number of one arm in a span.
func (m *sketchedMetric) level(s span) float64 {
	if m.in.Unit == "share" {
		s.low, s.high = max(s.low, 0), min(s.high, 1)
	}
	if gates.Geometric(m.in) || s.low > 0 || s.high > 0 && !math.IsInf(s.high, 1) {
		return s.factor(m.margin)
	}
	return s.place(max(1, s.size()) * m.margin)
}

func or(f, fallback float64) float64 {
	if math.IsNaN(f) {
		return fallback
	}
	return f
}

// step is how far a difference stays from its limit.
func (m *sketchedMetric) step(s span, so solved) float64 {
	size := s.size()
	if m.in.Unit == "GB" {
		return max(size*m.margin, 0.01)
	}
	return max(size, or(so.candidate, or(so.base, m.usual()))) * m.margin
}

// usual is a base that nothing is asked of.
func (m *sketchedMetric) usual() float64 {
	switch m.in.Unit {
	case "share":
		return 0.5
	case "GB":
		return 10
	}
	return 100
}
