package embedded

import (
	"math/bits"
	"testing"
)

// The memory's margins rest on this bound.
func TestCodesAreNearlyOrthogonal(t *testing.T) {
	var negative []uint32 // by code: a bit for each -1
	for i := 1; i <= maxCodes; i++ {
		var signs uint32
		for k, c := range signCode(i) {
			if c < 0 {
				signs |= 1 << k
			}
		}
		negative = append(negative, signs)
	}
	for i := range negative {
		for j := range i {
			if d := bits.OnesCount32(negative[i] ^ negative[j]); d != 12 && d != 16 && d != 20 {
				t.Fatalf("codes %d and %d differ in %d of 32 places, want 12, 16 or 20", i+1, j+1, d)
			}
		}
	}
}

func TestGF32(t *testing.T) {
	for a := range uint(32) {
		if gf32Multiply(a, 1) != a || gf32Multiply(a, 0) != 0 {
			t.Errorf("%d times one or zero is wrong", a)
		}
		inverses := 0
		for b := range uint(32) {
			if gf32Multiply(a, b) != gf32Multiply(b, a) {
				t.Errorf("%d times %d does not commute", a, b)
			}
			if gf32Multiply(a, b) == 1 {
				inverses++
			}
		}
		if want := min(int(a), 1); inverses != want {
			t.Errorf("%d has %d inverses, want %d", a, inverses, want)
		}
	}
}
