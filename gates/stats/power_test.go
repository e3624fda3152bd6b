package stats

import (
	"math"
	"strconv"
	"testing"
)

// One look must come close to the reference's several looks, whose numbers are
// from a simulation: never more than 1% less, and at most 5% more.
func TestResolvableAgainstWorkedCases(t *testing.T) {
	for name, want := range readWorked(t).K {
		n, err := strconv.Atoi(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range want {
			level, chance := []float64{0.002, 0.002, 0.015, 0.015}[i], []float64{0.8, 0.9, 0.8, 0.9}[i]
			near(t, "k of "+name, Resolvable(n, level, chance, false), k, 0.001)
			// A level that the reference lacks, slightly off.
			one := Resolvable(n, level*1.0001, chance, false)
			if one < 0.99*k || one > 1.05*k {
				t.Errorf("one look at %d has k %.3f at level %v, the reference %.3f", n, one, level, k)
			}
		}
	}
	for n, want := range map[int]float64{3: 13.9, 4: 5.9, 6: 2.9, 8: 2.1} {
		near(t, "k of one arm", Resolvable(n, 0.002, 0.9, true), want, 0.05)
	}
}

func TestResolvableIsThePowerOfALook(t *testing.T) {
	for _, n := range []int{3, 5, 12} {
		for _, single := range []bool{false, true} {
			d := Design{Pass: 0.005, Fail: 0.005, Looks: []int{n}}
			got := simulate(t, scenario{gap: Resolvable(n, 0.005, 0.8, single), ratio: 1, single: single}, d, 20_000, 1)
			near(t, "power", got.pass, 0.8, 0.012)
		}
	}
}

func TestNothingResolved(t *testing.T) {
	for _, k := range []float64{
		Resolvable(2, 0.002, 0.9, false), Resolvable(0, 0.002, 0.9, true), Resolvable(4, 0, 0.9, false),
		Resolvable(4, math.NaN(), 0.9, false), Resolvable(4, 0.002, 1, false), NoiseBound(0), NoiseBound(math.NaN()),
	} {
		if !math.IsInf(k, 1) {
			t.Errorf("resolves %v", k)
		}
	}
}

// From tables of the chi-square distribution: its 20% points are 4.594 at 8 and 1.649 at
// 4 degrees of freedom.
func TestNoiseBound(t *testing.T) {
	near(t, "8", NoiseBound(8), math.Sqrt(8/4.594), 1e-3)
	near(t, "4", NoiseBound(4), math.Sqrt(4/1.649), 1e-3)
}
