package capacity

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// steep violates nothing below its capacity, and above it by a jump, which no smooth curve meets.
func steep(at float64, client float64) func(rate float64) (Probe, error) {
	return func(rate float64) (Probe, error) {
		p := Probe{Rate: rate, Requests: 1000, Violations: []float64{0}, Late: rate > client}
		if rate > at {
			p.Violations[0] = math.Round(1000 * min(1, rate/at-1+0.01))
		}
		return p, nil
	}
}

func TestSearch(t *testing.T) {
	slo := []Criterion{{"ttft", 100, 0.99}}
	all := math.Inf(1)
	for name, c := range map[string]struct {
		at, client, start, most float64
		low, high               float64 // of the rate that is found
		atLeast                 bool
	}{
		"from far below":         {at: 100, client: all, start: 1, most: 1000, low: 88, high: 103},
		"from far above":         {at: 2, client: all, start: 500, most: 1000, low: 1.76, high: 2.1},
		"from where it is":       {at: 20, client: all, start: 20, most: 1000, low: 17.6, high: 21},
		"max_rate":               {at: 100, client: all, start: 1, most: 50, low: 50, high: 50, atLeast: true},
		"start at max_rate":      {at: 100, client: all, start: 50, most: 50, low: 50, high: 50, atLeast: true},
		"the client":             {at: 100, client: 40, start: 10, most: 1000, low: 10, high: 40, atLeast: true},
		"no rate":                {at: 0, client: all, start: 10, most: 1000},
		"the client at any rate": {at: 100, client: 0, start: 10, most: 1000},
	} {
		probes, err := Search(Options{SLO: slo, Start: c.start, Most: c.most, Probes: 10}, steep(c.at, c.client))
		r := Estimate(slo, probes)
		if err != nil || r.Rate < c.low || r.Rate > c.high || r.AtLeast != c.atLeast || len(probes) > MostProbes(10) ||
			r.Known() != (r.Rate > 0 && !c.atLeast) {
			t.Errorf("%s: %+v after %d probes, %v", name, r, len(probes), err)
		}
		if c.high == 0 && c.client > 0 && (r.Limiting != slo[0] || !(r.Kept < 0.99) || r.Lowest > 0.1) {
			t.Errorf("%s: %+v", name, r)
		}
		// The same probes give the same rate in whatever order.
		slices.Reverse(probes)
		if again := Estimate(slo, probes); math.Abs(again.Rate-r.Rate) > 1e-9*r.Rate {
			t.Errorf("%s: %g, in reverse %g", name, r.Rate, again.Rate)
		}
	}
	broken := errors.New("the engine ended")
	n := 0
	probes, err := Search(Options{SLO: slo, Start: 1, Most: 10, Probes: 10}, func(rate float64) (Probe, error) {
		if n++; n > 2 {
			return Probe{}, broken
		}
		return steep(100, all)(rate)
	})
	if !errors.Is(err, broken) || len(probes) != 2 {
		t.Errorf("%v after %d probes", err, len(probes))
	}
}

// At the lowest rate that may be sent one failed probe of few requests is chance, a second is the server.
func TestLowestRate(t *testing.T) {
	slo := []Criterion{{"ttft", 100, 0.9}}
	for bad, want := range map[int]int{1: MostProbes(6), 2: 3} {
		n := 0
		o := Options{SLO: slo, Start: 2.2, Least: 2, Most: 1000, Probes: 6}
		probes, err := Search(o, func(rate float64) (Probe, error) {
			if n++; n <= bad+1 { // those at the start and at the lowest rate
				return Probe{Rate: rate, Requests: 20, Violations: []float64{6}}, nil
			}
			return steep(3, math.Inf(1))(rate)
		})
		r := Estimate(slo, probes)
		if err != nil || len(probes) > want || bad == 1 && !r.Known() ||
			bad == 2 && (len(probes) != want || r.Rate != 0 || r.Lowest != 2) {
			t.Errorf("%d failed: %+v after %d probes, %v", bad, r, len(probes), err)
		}
	}
}

// The criterion that is crossed first limits, and a hiccup among few requests is none.
func TestEstimate(t *testing.T) {
	slo := []Criterion{{"ttft", 100, 0.99}, {"errors", 0, 0.999}}
	var probes []Probe
	for _, rate := range []float64{5, 6, 7, 8, 9} {
		probes = append(probes, Probe{Rate: rate, Requests: 1000, Violations: []float64{0, max(0, rate-6)}})
	}
	if r := Estimate(slo, probes); r.Limiting != slo[1] ||
		!(r.Rate > 6 && r.Rate < 8) || r.Known() != (r.Near >= 3000) {
		t.Errorf("%+v", r)
	}
	for n, keeps := range map[int]bool{1: false, 19: false, 20: true, 99: true} {
		if _, _, kept := (Probe{Requests: n, Violations: []float64{1, 0}}).Worst(slo); kept != keeps {
			t.Errorf("one violation of %d: kept %v", n, kept)
		}
	}
	if _, _, kept := (Probe{Violations: []float64{0, 0}}).Worst(slo); kept {
		t.Error("a probe without requests keeps an SLO")
	}
	if r := Estimate(slo, nil); r.Rate != 0 || r.Known() {
		t.Errorf("%+v without probes", r)
	}
}
