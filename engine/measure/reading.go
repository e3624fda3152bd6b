package measure

import (
	"slices"
	"time"
)

// within are the values read inside of windows, in order of time.
func (s Series) within(windows []window) []float64 {
	var out []float64
	for i, at := range s.At {
		if slices.ContainsFunc(windows, func(w window) bool { return w.holds(at) }) {
			out = append(out, s.Value[i])
		}
	}
	return out
}

// peak is the highest value read inside of windows.
func (s Series) peak(windows []window) (float64, bool) {
	values := s.within(windows)
	if len(values) == 0 {
		return 0, false
	}
	return slices.Max(values), true
}

// average is the mean of the values read inside of windows.
func (s Series) average(windows []window) (float64, bool) {
	values := s.within(windows)
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	return meanOf(values), true
}

// spoken is average without zeros, for gauges in which zero says that there was
// nothing to say.
func (s Series) spoken(windows []window) (float64, bool) {
	values := slices.DeleteFunc(s.within(windows), func(x float64) bool { return x <= 0 })
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	return meanOf(values), true
}

// middle is the median of the values read inside of windows.
func (s Series) middle(windows []window) (float64, bool) {
	values := s.within(windows)
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	return Quantile(values, 0.5), true
}

// edges are the last reading at or before a window and the first at or after it.
func (s Series) edges(w window) (first, last int, ok bool) {
	i, exact := slices.BinarySearch(s.At, w.from)
	for exact && i+1 < len(s.At) && s.At[i+1] == w.from {
		i++
	}
	if !exact {
		i--
	}
	j, _ := slices.BinarySearch(s.At, w.to)
	if i < 0 || j >= len(s.At) || w.from-s.At[i] > maxGap || s.At[j]-w.to > maxGap {
		return 0, 0, false
	}
	return i, j, w.exists()
}

// covers is edges where the series was read all the time in between.
func (s Series) covers(w window) (first, last int, ok bool) {
	first, last, ok = s.edges(w)
	for i := first; ok && i < last; i++ {
		ok = s.At[i+1]-s.At[i] <= maxGap
	}
	return first, last, ok
}

// difference is how much a counter grew over a window, between the readings at
// its edges. It is not known when there are none, and when the counter fell:
// then the engine began to count anew.
func (s Series) difference(w window) (float64, bool) {
	i, j, ok := s.edges(w)
	if !ok || !slices.IsSorted(s.Value[i:j+1]) {
		return 0, false
	}
	return s.Value[j] - s.Value[i], true
}

// growth is difference with the counter interpolated at the edges, for counters
// that are read all the time and grow steadily, such as energy.
func (s Series) growth(w window) (float64, bool) {
	i, j, ok := s.covers(w)
	if !ok || !slices.IsSorted(s.Value[i:j+1]) {
		return 0, false
	}
	return s.value(w.to, j) - s.value(w.from, i+1), true
}

// integral is the area below the readings over a window by the trapezoidal
// rule, in units of the value times seconds.
func (s Series) integral(w window) (float64, bool) {
	i, j, ok := s.covers(w)
	if !ok {
		return 0, false
	}
	sum := 0.0
	for k := i; k < j; k++ {
		from, to := max(s.At[k], w.from), min(s.At[k+1], w.to)
		if to > from {
			sum += float64((s.value(from, k+1) + s.value(to, k+1)) / 2 * (to - from).Seconds())
		}
	}
	return sum, true
}

// value interpolates between a reading and the one before it.
func (s Series) value(at time.Duration, next int) float64 {
	if at >= s.At[next] {
		return s.Value[next]
	}
	a, b := s.At[next-1], s.At[next]
	if at <= a {
		return s.Value[next-1]
	}
	part := float64(at-a) / float64(b-a)
	// The product is rounded so that it is not fused with the sum.
	return s.Value[next-1] + float64((s.Value[next]-s.Value[next-1])*part)
}

// standing is for how long of a window readings stood that bad says so of: each
// until the next, the last to the end.
func (s Series) standing(w window, bad func(i int) bool) time.Duration {
	var sum time.Duration
	for i, at := range s.At {
		until := w.to
		if i+1 < len(s.At) {
			until = min(until, s.At[i+1])
		}
		if from := max(at, w.from); until > from && bad(i) {
			sum += until - from
		}
	}
	return sum
}
