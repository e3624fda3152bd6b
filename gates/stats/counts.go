package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Signs is the one-sided sign test (Dixon and Mood, 1946) that the differences of pairs
// lie above zero: the chance that as many are positive by luck, if both signs are equally
// likely. Differences of zero say nothing and are left out; of is how many remain. If
// none does, the chance is 1.
//
// The pairs must be independent. The prompts of one launch are, as far as its noise comes
// from each request, and are not if a launch as a whole differs (a kernel tuned
// differently).
func Signs(differences []float64) (p float64, of int, err error) {
	if len(differences) == 0 {
		return 1, 0, errEmpty
	}
	above := 0
	for _, d := range differences {
		switch {
		case math.IsNaN(d):
			return 1, 0, errNotFinite
		case d > 0:
			above++
			of++
		case d < 0:
			of++
		}
	}
	// The chance of at least this many heads in as many throws.
	if above == 0 {
		return 1, of, nil
	}
	return mathext.RegIncBeta(float64(above), float64(of-above+1), 0.5), of, nil
}

// MoreOften is Fisher's exact test, one-sided: the chance that at least k of k+l things that
// happened are among the first n of n+m, if they are as likely among the others.
func MoreOften(k, n, l, m int) (p float64) {
	for i := k; i <= min(n, k+l); i++ {
		if j := k + l - i; j <= m {
			p += math.Exp(logChoose(n, i) + logChoose(m, j) - logChoose(n+m, k+l))
		}
	}
	return min(p, 1)
}

func logChoose(n, k int) float64 {
	return -math.Log(float64(n+1)) - mathext.Lbeta(float64(n-k+1), float64(k+1))
}

// Share is Yes of Of things that were looked at, none twice, among All.
type Share struct{ Yes, Of, All int }

// Value is the share; NaN of none.
func (s Share) Value() float64 { return float64(s.Yes) / float64(s.Of) }

// Bounds bounds the share among all, at z standard errors: the score interval of Wilson
// (Journal of the American Statistical Association 22, 1927), with the number looked at
// corrected for a finite population. A population looked at in full has none.
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

// Excess bounds how much greater a share is than another, at z standard errors: method 10
// of Newcombe (Statistics in Medicine 17, 1998).
func (s Share) Excess(over Share, z float64) (low, high float64) {
	l1, u1 := s.Bounds(z)
	l2, u2 := over.Bounds(z)
	if s.Of == 0 || over.Of == 0 {
		return -1, 1
	}
	d := s.Value() - over.Value()
	return d - math.Hypot(s.Value()-l1, u2-over.Value()), d + math.Hypot(u1-s.Value(), over.Value()-l2)
}

// AtMost is the upper bound, at this confidence (0.95), of the crash rate after that many
// crashes in n tries: the exact bound of Clopper and Pearson, about 3/n for none in many.
// It is 1, which says nothing, without tries or for impossible numbers.
func AtMost(crashes, n int, confidence float64) float64 {
	if crashes < 0 || crashes >= n || !(confidence > 0 && confidence < 1) {
		return 1
	}
	return mathext.InvRegIncBeta(float64(crashes+1), float64(n-crashes), confidence)
}

// PairedDrop is the upper bound (one-sided, 99%) of how much lower the second share of n pairs is
// than the first, if lost pairs have only the first and won ones only the second: the score
// interval of Tango (Statistics in Medicine 17, 1998).
func PairedDrop(lost, won, n int) float64 {
	if n <= 0 || lost < 0 || won < 0 || lost+won > n {
		return 1
	}
	const z = 2.3263478740408408
	l, w, of := float64(lost), float64(won), float64(n)
	low, high := (l-w)/of, 1.0
	for range 60 {
		d := (low + high) / 2
		b, c := (2*of-l+w)*d-l-w, -w*d*(1-d)
		rare := (math.Sqrt(max(0, b*b-8*of*c)) - b) / (4 * of)
		if of*d-(l-w) > z*math.Sqrt(max(0, of*(2*rare+d*(1-d)))) {
			high = d
		} else {
			low = d
		}
	}
	return high
}
