package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

// Distributions of Lengths.
const (
	Uniform   = "uniform"
	Normal    = "normal"
	Lognormal = "lognormal"
)

// maxLength is more tokens than any engine of this decade takes.
const maxLength = 100_000_000

// Lengths draws numbers of tokens.
type Lengths struct {
	// Distribution is Uniform (each of Min to Max is as likely), Normal or Lognormal
	// (of the Mean and Std of the length itself, not of its logarithm). What falls
	// outside Min to Max is moved to the nearer end; Max 0 is no bound for the
	// latter two.
	Distribution string
	Min, Max     int
	Mean, Std    float64
}

// Check reports whether lengths can be drawn, and if not, why.
func (l Lengths) Check() error {
	finite := func(v float64) bool { return !math.IsNaN(v) && v >= 0 && v <= maxLength }
	switch {
	case l.Distribution != Uniform && l.Distribution != Normal && l.Distribution != Lognormal:
		return fmt.Errorf("unknown distribution %q of lengths: use %q, %q or %q", l.Distribution, Uniform, Normal, Lognormal)
	case l.Min < 0 || l.Max < 0 || l.Max > maxLength || l.Max > 0 && l.Min > l.Max:
		return fmt.Errorf("lengths from %d to %d: the least must be at least 1 and no more than the greatest, which is at most %d", l.Min, l.Max, maxLength)
	case l.Distribution == Uniform && (l.Min < 1 || l.Max < 1):
		return fmt.Errorf("uniform lengths from %d to %d: both bounds are needed, at least 1", l.Min, l.Max)
	case l.Distribution == Uniform:
		return nil
	case !finite(l.Mean) || !finite(l.Std) || l.Mean < 1:
		return fmt.Errorf("%s lengths of mean %v and standard deviation %v: the mean must be from 1 to %d and the deviation from 0", l.Distribution, l.Mean, l.Std, maxLength)
	}
	return nil
}

// at is the length with an index. It depends on nothing but the arguments: not
// on the cell, so that cells that differ in something else have the same
// lengths, and not on how many are drawn.
func (l Lengths) at(seed int64, what, series string, index, turn int) int {
	sum := sha256.Sum256(fmt.Appendf(nil, "mxflow length 1\n%d\n%s\n%s\n%d\n%d\n", seed, what, series, index, turn))
	r := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])))
	if l.Distribution == Uniform {
		return l.Min + r.IntN(l.Max-l.Min+1)
	}
	x := l.Mean + l.Std*r.NormFloat64()
	if l.Distribution == Lognormal {
		// The logarithm is normal with variance v and mean m, so that the mean of
		// the length is exp(m+v/2) and its variance (exp(v)-1)·exp(2m+v).
		v := math.Log1p(l.Std / l.Mean * (l.Std / l.Mean))
		x = math.Exp(math.Log(l.Mean) - v/2 + math.Sqrt(v)*r.NormFloat64())
	}
	most := l.Max
	if most == 0 {
		most = maxLength
	}
	return int(math.Round(min(max(x, float64(max(l.Min, 1))), float64(most))))
}
