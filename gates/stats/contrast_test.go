package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// TestContrastIsWelch: for two arms with equal weights it is the difference.
func TestContrastIsWelch(t *testing.T) {
	a, b := []float64{1.1, 1.3, 1.2, 1.25}, []float64{0.9, 1.0, 0.8}
	want, err := RawDifference(a, b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Contrast([]Weighted{{a, []float64{.25, .25, .25, .25}}, {b, []float64{-1. / 3, -1. / 3, -1. / 3}}})
	if err != nil || !got.Bounded {
		t.Fatal(err, got)
	}
	for name, pair := range map[string][2]float64{
		"estimate": {got.Estimate, want.Estimate}, "se": {got.SE, want.SE}, "df": {got.DF, want.DF}, "low": {got.Low, want.Low}, "high": {got.High, want.High},
	} {
		near(t, name, pair[0], pair[1], 1e-9)
	}
}

// TestContrastOfIndependentIsProduct: without shared launches it is the result of
// productInterval.
func TestContrastOfIndependentIsProduct(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	arm := func() []float64 {
		out := make([]float64, 5)
		for i := range out {
			out[i] = random.NormFloat64()
		}
		return out
	}
	var parts []Difference
	var all []Weighted
	weights := func(w float64) []float64 { return []float64{w / 5, w / 5, w / 5, w / 5, w / 5} }
	var stack Difference
	for i, sign := range []float64{1, -1, -1} {
		a, b := arm(), arm()
		d, err := RawDifference(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			stack = d
		} else {
			parts = append(parts, d)
		}
		all = append(all, Weighted{a, weights(sign)}, Weighted{b, weights(-sign)})
	}
	want, err := productInterval(stack, parts)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Contrast(all)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "estimate", got.Estimate, want.Estimate, 1e-12)
	near(t, "se", got.SE, want.SE, 1e-12)
	// Pooled from six arms, or from three differences of two: nearly the same.
	near(t, "df", got.DF, want.DF, 1e-6)
}

// TestSharedLaunchesCountOnce: two gains over one baseline have its noise twice,
// in the same direction.
func TestSharedLaunchesCountOnce(t *testing.T) {
	still := []float64{1, 1}
	base := []float64{0, 1, 0, 1}
	w := func(x float64, n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = x / float64(n)
		}
		return out
	}
	got, err := Contrast([]Weighted{{still, w(-2, 2)}, {base, w(2, 4)}})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "se", got.SE, 2*math.Sqrt(1./3/4), 1e-12)
	near(t, "estimate", got.Estimate, -1, 1e-12)
}

func TestContrastNeedsLaunches(t *testing.T) {
	for name, arms := range map[string][]Weighted{
		"none": nil, "one launch": {{[]float64{1}, []float64{1}}}, "no weights": {{[]float64{1, 2}, nil}},
		"nan": {{[]float64{1, math.NaN()}, []float64{1, 1}}},
	} {
		if d, err := Contrast(arms); err == nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d, err := Contrast([]Weighted{{[]float64{1, 1}, []float64{.5, .5}}}); err != nil || d.Bounded {
		t.Errorf("nothing varies: %+v, %v", d, err)
	}
}

// productInterval is what Contrast comes to if no launches are shared. It compares the
// gain of a stack with the product of the gains of its parts: the stack's difference of
// logs minus the sum of the parts', with the two-sided 95% interval of Welch and
// Satterthwaite. Below zero the parts get in each other's way, above it they help each
// other; exp of it is the factor.
//
// The differences must be independent: measured with their own launches. It returns an
// error without parts, and if one has no standard error, whose share of the uncertainty
// would be missing.
func productInterval(stack Difference, parts []Difference) (Difference, error) {
	if len(parts) == 0 {
		return Difference{}, errors.New("a stack without parts has no product to compare with")
	}
	out := Difference{Estimate: stack.Estimate}
	variances, df := make([]float64, 0, len(parts)+1), make([]float64, 0, len(parts)+1)
	for i, d := range append([]Difference{stack}, parts...) {
		if !(d.SE > 0) || !(d.DF > 0) || check([]float64{d.Estimate, d.SE, d.DF}) != nil {
			return Difference{}, errors.New("a gain without a standard error cannot be compared: at least two launches per arm that differ are needed")
		}
		if i > 0 {
			out.Estimate -= d.Estimate
		}
		variances, df = append(variances, d.SE*d.SE), append(df, d.DF)
		out.SE = math.Hypot(out.SE, d.SE)
	}
	out.DF = satterthwaite(variances, df)
	t := Quantile(0.025, out.DF)
	out.Low, out.High, out.Bounded = out.Estimate-t*out.SE, out.Estimate+t*out.SE, true
	return out, nil
}
