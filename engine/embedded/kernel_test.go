package embedded

import (
	"math"
	"strings"
	"testing"
)

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b))
}

// Values from the formula, computed in float64.
func TestClampedSwiGLU(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-1.702*x)) }
	for _, test := range []struct{ gate, up, want float64 }{
		{0, 5, 0},
		{1, 0, sigmoid(1)},
		{1, 2, 3 * sigmoid(1)},
		{-2, 1, -4 * sigmoid(-2)},
		{100, 0, 7 * sigmoid(7)},        // gate is clamped from above
		{-100, 0, -100 * sigmoid(-100)}, // but not from below
		{1, 100, 8 * sigmoid(1)},        // up is clamped on both sides
		{1, -100, -6 * sigmoid(1)},
		{2, -1, 0},
	} {
		if got := clampedSwiGLU(float32(test.gate), float32(test.up)); !near(float64(got), test.want, 1e-6) {
			t.Errorf("swiglu(%v, %v) = %v, want %v", test.gate, test.up, got, test.want)
		}
	}
	nan := float32(math.NaN())
	for _, pair := range [][2]float32{{nan, 1}, {1, nan}} {
		if got := clampedSwiGLU(pair[0], pair[1]); got == got {
			t.Errorf("swiglu%v = %v: clamping must not hide NaN", pair, got)
		}
	}
}

func TestSoftmaxWithSink(t *testing.T) {
	for _, test := range []struct {
		name string
		in   []float32
		sink float32
		want []float64
	}{
		{"sink takes its share", []float32{0, 0}, 0, []float64{1.0 / 3, 1.0 / 3}},
		{"sink is far below", []float32{1, 1}, -100, []float64{0.5, 0.5}},
		{"sink is far above", []float32{1, 1}, 100, []float64{0, 0}},
		{"large scores do not overflow", []float32{1000, 1000}, 1000, []float64{1.0 / 3, 1.0 / 3}},
	} {
		softmaxWithSink(test.in, test.sink)
		for i := range test.want {
			if !near(float64(test.in[i]), test.want[i], 1e-6) {
				t.Errorf("%s: %v, want %v", test.name, test.in, test.want)
			}
		}
	}
	poisoned := []float32{0, float32(math.NaN()), 1}
	softmaxWithSink(poisoned, 0)
	if poisoned[0] == poisoned[0] {
		t.Errorf("a NaN score left %v", poisoned)
	}
}

func TestTopKSoftmax(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		name     string
		in, want []float64
	}{
		{"two largest", []float64{0, 1, -3, 1}, []float64{0, 0.5, 0, 0.5}},
		{"lower index wins a tie", []float64{2, 2, 2, 2}, []float64{0.5, 0.5, 0, 0}},
		{"weights", []float64{math.Log(3), -9, 0, -9}, []float64{0.75, 0, 0.25, 0}},
		{"NaN stays", []float64{nan, nan, nan, nan}, []float64{nan, nan, 0, 0}},
	} {
		got := make([]float32, len(test.in))
		for i, x := range test.in {
			got[i] = float32(x)
		}
		topKSoftmax(got, 2)
		for i, want := range test.want {
			if math.IsNaN(want) != (got[i] != got[i]) || (!math.IsNaN(want) && !near(float64(got[i]), want, 1e-6)) {
				t.Errorf("%s: %v, want %v", test.name, got, test.want)
			}
		}
	}
}

func TestDot(t *testing.T) {
	for n := 0; n <= 160; n += 8 {
		a, b, want := make([]float32, n), make([]float32, n), float32(0)
		for i := range a {
			a[i], b[i] = float32(i%7-3), float32(i%5-1)
			want += a[i] * b[i] // all are whole numbers, so no order rounds
		}
		if got := dot(a, b); got != want {
			t.Errorf("%d products add up to %v, want %v", n, got, want)
		}
	}
	sums := []float32{1e8, 3, 5, 7, 1, 2, -1e8, 4} // rounds in another order
	if got := dot(sums, []float32{1, 1, 1, 1, 1, 1, 1, 1}); got != 24 {
		t.Errorf("the sums are added in another order: %v", got)
	}
}

func TestRMSNorm(t *testing.T) {
	out := make([]float32, 8)
	rmsNorm(out, []float32{1, -2, 3, -4, 0, 0, 0, 0}, []float32{1, 1, 2, 0, 1, 1, 1, 1}, 0)
	root := math.Sqrt(30.0 / 8)
	for i, want := range []float64{1 / root, -2 / root, 6 / root, 0, 0} {
		if !near(float64(out[i]), want, 1e-6) {
			t.Errorf("element %d is %v, want %v", i, out[i], want)
		}
	}
}

// Evidence is found by name, so no name may be part of another.
func TestKernelNamesAreDistinct(t *testing.T) {
	names := []string{
		kernelPrefillCached, kernelDecodeCached, kernelRecompute, kernelMoERouted, kernelMoEAll, kernelHeadF32,
		kernelSoftmaxSinks, kernelSoftmaxNoSinks, kernelPrefixLookup, kernelPrefixReuse,
		kernelPromptLookup, kernelVerify,
		kernelKVInt8,
	}
	for i, a := range names {
		for j, b := range names {
			if i != j && strings.Contains(a, b) {
				t.Errorf("%s is a part of %s", b, a)
			}
		}
	}
}
