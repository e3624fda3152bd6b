package steps

import (
	"math"

	"github.com/mxflow/mxflow/engine/measure"
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

// span is between what a number has to lie.
type span struct{ low, high float64 }

func anywhere() span { return span{math.Inf(-1), math.Inf(1)} }

func (s span) bounded() bool { return !math.IsInf(s.low, -1) || !math.IsInf(s.high, 1) }

func (s *span) limit(at float64, more bool) {
	if more {
		s.low = max(s.low, at)
	} else {
		s.high = min(s.high, at)
	}
}

// size is the larger of its ends.
func (s span) size() (size float64) {
	for _, end := range []float64{s.low, s.high} {
		if !math.IsInf(end, 0) {
			size = max(size, math.Abs(end))
		}
	}
	return size
}

// factor is a place in a span of factors above zero.
func (s span) factor(margin float64) float64 {
	low, high := max(s.low, 0), s.high
	switch {
	case low > 0 && !math.IsInf(high, 1):
		return math.Sqrt(low * high)
	case low > 0:
		return low * (1 + margin)
	case !math.IsInf(high, 1):
		return high / (1 + margin)
	}
	return 1
}

// place is a place in a span of any numbers, a step from its end.
func (s span) place(step float64) float64 {
	low, high := !math.IsInf(s.low, -1), !math.IsInf(s.high, 1)
	switch {
	case low && high:
		return (s.low + s.high) / 2
	case low:
		return s.low + step
	case high:
		return s.high - step
	}
	return 0
}

// solved is a metric of a sketch in numbers; what is not needed is NaN.
type solved struct{ base, candidate, root, ratio, delta float64 }

// solve finds numbers that lie as asked. Whether they do what is wanted is for the
// rules to say: what contradicts itself has no solution.
func (m *sketchedMetric) solve(ownRoot bool) solved {
	none := math.NaN()
	out := solved{none, none, none, none, none}
	if m.count != nil {
		out.base, out.candidate = 0, *m.count
		switch m.in.Relation {
		case plans.Delta:
			out.candidate, out.delta = none, *m.count
		case plans.Base:
			out.base, out.candidate = *m.count, none
		}
		return out
	}
	ratio, delta, own, base, rootRatio, root := anywhere(), anywhere(), anywhere(), anywhere(), anywhere(), anywhere()
	for _, l := range m.limits {
		in, of := l.in, &own
		switch at, more := l.at, l.more; {
		case in.Ratio():
			if of = &ratio; in.Root && ownRoot {
				of = &rootRatio
			}
			if in.Relation == plans.Gain && in.Better == string(measure.Lower) {
				of.limit(1-at, !more)
			} else {
				of.limit(1+at, more)
			}
		case in.Relation == plans.Delta:
			delta.limit(at, more)
		case in.Relation == plans.Base:
			if of = &base; in.Root && ownRoot {
				of = &root
			}
			of.limit(at, more)
		default:
			own.limit(at, more)
		}
	}
	positive := m.positive()
	level := func(s span) float64 {
		if m.in.Unit == "share" {
			s.low, s.high = max(s.low, 0), min(s.high, 1)
		}
		if positive || s.low > 0 || s.high > 0 && !math.IsInf(s.high, 1) {
			return s.factor(m.margin)
		}
		return s.place(max(1, s.size()) * m.margin)
	}
	switch {
	case own.bounded() && base.bounded():
		out.candidate, out.base = level(own), level(base)
	case own.bounded():
		out.candidate = level(own)
	case base.bounded():
		out.base = level(base)
	}
	if len(m.limits) == 0 {
		out.base, out.candidate = m.usual(), m.usual()
	}
	if ratio.bounded() {
		out.ratio = ratio.factor(m.margin)
	}
	if delta.bounded() {
		out.delta = delta.place(m.step(delta, out))
	}
	if rootRatio.bounded() || root.bounded() {
		if math.IsNaN(out.candidate) {
			out.base = m.usual()
			out.candidate = out.base * or(out.ratio, 1)
			out.ratio = none
		}
		out.root = out.candidate / rootRatio.factor(m.margin)
		if root.bounded() {
			out.root = level(root)
		}
	}
	return out
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

func (m *sketchedMetric) positive() bool {
	return m.in.Better != "" && !m.in.MayBeZero() && m.in.Stat != "std" && m.in.Stat != "cv"
}
