package embedded

import (
	"math"

	"github.com/viterin/vek/vek32"
)

// rmsNorm computes out = x / rms(x) * weight with rms(x) = sqrt(mean(x^2) + ε)
// (Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019).
func rmsNorm(out, x, weight []float32, epsilon float32) {
	meanSquare := vek32.Dot(x, x) / float32(len(x))
	scale := float32(1 / math.Sqrt(float64(meanSquare+epsilon)))
	vek32.Mul_Into(out, x, weight)
	vek32.MulNumber_Inplace(out, scale)
}

// ropeFrequency is the angle a position, in radians, of rotary pair i (Su et
// al., "RoFormer", 2021). gpt-oss further stretches these for long contexts
// (YaRN); at the lengths served here that would change nothing worth having.
func ropeFrequency(s shape, i int) float64 {
	return math.Pow(s.ropeTheta, -float64(2*i)/float64(s.headDim))
}

// ropeTable holds cosine and sine of every position and pair.
type ropeTable struct {
	half     int
	cos, sin []float32 // position * half + pair
}

func newRopeTable(s shape) ropeTable {
	half := s.headDim / 2
	t := ropeTable{half: half, cos: make([]float32, s.maxPositions*half), sin: make([]float32, s.maxPositions*half)}
	for i := range half {
		frequency := ropeFrequency(s, i)
		for position := range s.maxPositions {
			sin, cos := math.Sincos(float64(position) * frequency)
			t.cos[position*half+i], t.sin[position*half+i] = float32(cos), float32(sin)
		}
	}
	return t
}

// rotate turns every head in x, in place. Pairs are (i, i + headDim/2), the
// half-split layout that gpt-oss uses.
func (t ropeTable) rotate(x []float32, position int) {
	cos := t.cos[position*t.half : (position+1)*t.half]
	sin := t.sin[position*t.half : (position+1)*t.half]
	for head := 0; head < len(x); head += 2 * t.half {
		a, b := x[head:head+t.half], x[head+t.half:head+2*t.half]
		for i := range cos {
			a[i], b[i] = a[i]*cos[i]-b[i]*sin[i], b[i]*cos[i]+a[i]*sin[i]
		}
	}
}
