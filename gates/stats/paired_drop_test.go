package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPairedDrop(t *testing.T) {
	const z2 = 2.3263478740408408 * 2.3263478740408408
	if got, want := PairedDrop(0, 0, 500), z2/(500+z2); math.Abs(got-want) > 1e-9 {
		t.Errorf("without a lost pair: %v, want %v", got, want)
	}
	for _, wrong := range [][3]int{{0, 0, 0}, {-1, 0, 5}, {3, 3, 5}} {
		if got := PairedDrop(wrong[0], wrong[1], wrong[2]); got != 1 {
			t.Errorf("%v: %v, want 1, which says nothing", wrong, got)
		}
	}
	// Of true drops, about 1% lie above the bound.
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range [][2]float64{{0.02, 0}, {0.05, 0.03}, {0.2, 0.1}} {
		missed := 0
		const tries, n = 8000, 500
		for range tries {
			lost, won := 0, 0
			for range n {
				switch u := r.Float64(); {
				case u < c[0]:
					lost++
				case u < c[0]+c[1]:
					won++
				}
			}
			if PairedDrop(lost, won, n) < c[0]-c[1] {
				missed++
			}
		}
		if share := float64(missed) / tries; share > 0.016 {
			t.Errorf("lost %v, won %v: %.3f of the bounds are too low, want about 0.01", c[0], c[1], share)
		}
	}
}
