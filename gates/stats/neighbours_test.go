package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// pilot makes up rounds of launches alone and beside neighbours, in the order in which
// they run.
type pilot struct {
	rounds, places int
	// sd is how much launches vary, as a share; change is the effect of neighbours, and
	// ratio how many times as much launches vary beside them.
	sd, change, ratio float64
	// apart is how much places differ, and drift how much the machine drifts from one
	// launch to the next; both in units of sd.
	apart, drift float64
}

func (p pilot) draw(rng *rand.Rand, alone, beside []float64, on []int) {
	level := make([]float64, p.places)
	for i := range level {
		level[i] = p.apart * p.sd * rng.NormFloat64()
	}
	effect := math.Log1p(p.change)
	for r := range p.rounds {
		on[r] = r % p.places
		first, second := float64(2*r), float64(2*r+1)
		if bits.OnesCount(uint(r))%2 == 1 {
			first, second = second, first
		}
		at := level[on[r]]
		alone[r] = math.Exp(at + p.sd*(p.drift*first+rng.NormFloat64()))
		beside[r] = math.Exp(at + effect + p.sd*(p.drift*second+p.ratio*rng.NormFloat64()))
	}
}

// rates is how often it finds that neighbours are harmless, and that they are harmful.
func (p pilot) rates(t *testing.T, times int) (harmless, harmful float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(18, 1))
	alone, beside, on := make([]float64, p.rounds), make([]float64, p.rounds), make([]int, p.rounds)
	for range times {
		p.draw(rng, alone, beside, on)
		n, err := AmongNeighbours(alone, beside, on, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case n.Harmless():
			harmless++
		case n.Harmful():
			harmful++
		}
	}
	return harmless / float64(times), harmful / float64(times)
}

// TestRatesOfNeighbours: neighbours that disturb by exactly what is allowed pass in at
// most 5%, however much places differ, and how often neighbours pass that do not disturb.
func TestRatesOfNeighbours(t *testing.T) {
	most := within(neighboursLevel, times())
	for _, c := range []struct {
		name string
		p    pilot
		// bad neighbours must not pass; of others at least this share does.
		bad   bool
		least float64
	}{
		{"slower by the bound, SD 0.1%", pilot{rounds: 12, places: 4, sd: 0.001, change: -0.01, ratio: 1}, true, 0},
		{"slower by the bound, SD 0.5%", pilot{rounds: 12, places: 4, sd: 0.005, change: -0.01, ratio: 1}, true, 0},
		{"slower by the bound, SD 1%", pilot{rounds: 12, places: 4, sd: 0.01, change: -0.01, ratio: 1}, true, 0},
		{"faster by the bound, SD 0.5%", pilot{rounds: 12, places: 4, sd: 0.005, change: 0.01, ratio: 1}, true, 0},
		{"slower by the bound, 4 places that differ by 50 SD", pilot{rounds: 12, places: 4, sd: 0.001, change: -0.01, ratio: 1, apart: 50}, true, 0},
		{"slower by the bound, drift of 2 SD a launch", pilot{rounds: 12, places: 4, sd: 0.001, change: -0.01, ratio: 1, drift: 2}, true, 0},
		{"slower by the bound, 6 rounds", pilot{rounds: 6, places: 2, sd: 0.002, change: -0.01, ratio: 1}, true, 0},
		{"3 times the spread of SD 0.03%", pilot{rounds: 12, places: 4, sd: 0.0003, ratio: 3}, false, 0.9},
		{"3 times the spread of SD 0.1%", pilot{rounds: 12, places: 4, sd: 0.001, ratio: 3}, false, 0},
		{"3 times the spread of SD 0.2%, 2 places", pilot{rounds: 12, places: 2, sd: 0.002, ratio: 3}, true, 0},
		{"3 times the spread of SD 0.2%, 4 places", pilot{rounds: 12, places: 4, sd: 0.002, ratio: 3}, true, 0},
		{"3 times the spread of SD 0.5%", pilot{rounds: 12, places: 4, sd: 0.005, ratio: 3}, true, 0},
		{"3 times the spread of SD 0.2%, places differ by 50 SD", pilot{rounds: 12, places: 4, sd: 0.002, ratio: 3, apart: 50}, true, 0},
		{"3 times the spread of SD 0.2%, drift of 0.2 SD a launch", pilot{rounds: 12, places: 4, sd: 0.002, ratio: 3, drift: 0.2}, false, 0},
		{"3 times the spread of SD 0.2%, drift of 1 SD a launch", pilot{rounds: 12, places: 4, sd: 0.002, ratio: 3, drift: 1}, false, 0},
		{"5 times the spread of SD 0.2%", pilot{rounds: 12, places: 4, sd: 0.002, ratio: 5}, true, 0},
		{"harmless, SD 0.1%, 12 rounds on 2 places", pilot{rounds: 12, places: 2, sd: 0.001, ratio: 1}, false, 0.9},
		{"harmless, SD 0.1%, 12 rounds on 4", pilot{rounds: 12, places: 4, sd: 0.001, ratio: 1}, false, 0.85},
		{"harmless, SD 0.5%, 12 rounds on 4", pilot{rounds: 12, places: 4, sd: 0.005, ratio: 1}, false, 0.8},
		{"harmless, SD 1%, 12 rounds on 4", pilot{rounds: 12, places: 4, sd: 0.01, ratio: 1}, false, 0.4},
		{"harmless, SD 0.1%, 6 rounds on 2", pilot{rounds: 6, places: 2, sd: 0.001, ratio: 1}, false, 0.4},
		{"harmless, SD 0.5%, 6 rounds on 2", pilot{rounds: 6, places: 2, sd: 0.005, ratio: 1}, false, 0.2},
		{"harmless, SD 1%, 24 rounds on 4", pilot{rounds: 24, places: 4, sd: 0.01, ratio: 1}, false, 0.85},
		{"harmless, SD 0.1%, 12 rounds on 8", pilot{rounds: 12, places: 8, sd: 0.001, ratio: 1}, false, 0.4},
		{"harmless, SD 0.1%, 24 rounds on 8", pilot{rounds: 24, places: 8, sd: 0.001, ratio: 1}, false, 0.9},
		{"slower by 3%, SD 0.5%", pilot{rounds: 12, places: 4, sd: 0.005, change: -0.03, ratio: 1}, true, 0},
	} {
		harmless, harmful := c.p.rates(t, times())
		t.Logf("%-52s harmless %.4f harmful %.4f", c.name, harmless, harmful)
		if c.bad && harmless > most {
			t.Errorf("%s: %.4f pass", c.name, harmless)
		}
		if !c.bad && harmless < c.least {
			t.Errorf("%s: only %.4f pass", c.name, harmless)
		}
	}
}
