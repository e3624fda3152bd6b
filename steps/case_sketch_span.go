package steps

import "math"

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
