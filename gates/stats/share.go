package stats

import "math"

// Share is Yes of Of things that were looked at, none twice, among All.
type Share struct{ Yes, Of, All int }

// Value is the share; NaN of none.
func (s Share) Value() float64 { return float64(s.Yes) / float64(s.Of) }

// Bounds are those of the share among all, at so many standard errors: the score interval
// of Wilson (Journal of the American Statistical Association 22, 1927), with the number
// looked at corrected for a finite population. What was looked at in full has none.
func (s Share) Bounds(z float64) (low, high float64) {
	switch {
	case s.Of == 0:
		return 0, 1
	case s.Of >= s.All:
		return s.Value(), s.Value()
	}
	n := float64(s.Of) * float64(s.All-1) / float64(s.All-s.Of)
	p, z2 := s.Value(), z*z/n
	half := z * math.Sqrt(p*(1-p)/n+z2/(4*n))
	return max(0, (p+z2/2-half)/(1+z2)), min(1, (p+z2/2+half)/(1+z2))
}

// Excess are bounds of how much greater a share is than another, at so many standard
// errors: method 10 of Newcombe (Statistics in Medicine 17, 1998).
func (s Share) Excess(over Share, z float64) (low, high float64) {
	l1, u1 := s.Bounds(z)
	l2, u2 := over.Bounds(z)
	if s.Of == 0 || over.Of == 0 {
		return -1, 1
	}
	d := s.Value() - over.Value()
	return d - math.Hypot(s.Value()-l1, u2-over.Value()), d + math.Hypot(u1-s.Value(), over.Value()-l2)
}
