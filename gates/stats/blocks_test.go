package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// devices are made-up rounds on several devices, at the threshold.
type devices struct {
	// n is how many there are; each has its own level, which varies by apart, and drifts
	// by drift per round, and the last is worse by last.
	n                  int
	apart, drift, last float64
	// each is how much the effect differs from device to device, neighbour how much a
	// launch is slowed by each candidate beside it.
	each, neighbour float64
	ratio           float64
	single          bool
}

func (d devices) question(of Design) Question {
	q := Question{Candidate: make([]float64, of.Last()), Blocks: make([]int, of.Last()), Single: d.single, Pass: of.Pass, Fail: of.Fail}
	if !d.single {
		q.Base = make([]float64, of.Last())
	}
	return q
}

func (d devices) draw(q *Question, rng *rand.Rand) {
	level, drift, effect := make([]float64, d.n), make([]float64, d.n), make([]float64, d.n)
	mean := 0.0
	for i := range d.n {
		level[i], drift[i], effect[i] = d.apart*rng.NormFloat64(), d.drift*rng.NormFloat64(), d.each*rng.NormFloat64()
		if i == d.n-1 {
			level[i] -= d.last
		}
		mean += level[i] / float64(d.n)
	}
	low := math.Inf(1)
	for i := range level {
		if d.single {
			low = min(low, level[i])
		}
	}
	for r := range q.Candidate {
		on := r % d.n
		q.Blocks[r] = on
		at := level[on] + drift[on]*float64(r)
		// Orders alternate, so half of the neighbours run the candidate at any time.
		beside := d.neighbour * float64(d.n-1) / 2
		q.Candidate[r] = at + effect[on] + d.ratio*rng.NormFloat64() - beside
		if d.single {
			q.Candidate[r] = level[on] - low + d.ratio*rng.NormFloat64() // the worst is at the threshold
			continue
		}
		q.Base[r] = at + rng.NormFloat64() - beside
	}
}

// TestRatesInBlocks: the promised rates hold if rounds run on devices that differ, in
// whatever way.
func TestRatesInBlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		d    devices
	}{
		{"4 that are alike", devices{n: 4, ratio: 1}},
		{"2 that differ by 10 SD", devices{n: 2, apart: 10, ratio: 1}},
		{"4 that differ by 50 SD", devices{n: 4, apart: 50, ratio: 1}},
		{"8 that differ by 50 SD", devices{n: 8, apart: 50, ratio: 1}},
		{"4 that differ, the candidate varies 5 times as much", devices{n: 4, apart: 50, ratio: 5}},
		{"4 that differ, the candidate varies a fifth", devices{n: 4, apart: 50, ratio: 0.2}},
		{"4 that drift, each its own way", devices{n: 4, apart: 10, drift: 3, ratio: 1}},
		{"one bad of 8", devices{n: 8, last: 100, ratio: 1}},
		{"8 on which the effect differs by 2 SD", devices{n: 8, apart: 10, each: 2, ratio: 1}},
		{"4 whose launches slow each other", devices{n: 4, apart: 10, neighbour: 5, ratio: 1}},
		{"a level on 2", devices{n: 2, single: true, apart: 3, ratio: 1}},
		{"a level on 4 alike", devices{n: 4, single: true, ratio: 1}},
		{"a level on 4 that differ", devices{n: 4, single: true, apart: 3, ratio: 1}},
	} {
		for _, recorded := range []bool{false, true} {
			d := mustOffer(t, 3, 8, recorded)
			r := simulate(t, c.d, d, times(), 9)
			t.Logf("%-52s first look at %d: %v", c.name, d.First, r)
			keeps(t, c.name, r)
		}
	}
}

// TestPowerInBlocks: the t-test within rounds shows what differing devices would hide.
func TestPowerInBlocks(t *testing.T) {
	d := mustOffer(t, 3, 8, false)
	power := func(apart, gap float64, blocks bool) float64 {
		q := Question{Candidate: make([]float64, 8), Base: make([]float64, 8), Pass: d.Pass, Fail: d.Fail}
		rng, passed := rand.New(rand.NewPCG(1, 9)), 0.0
		for range times() {
			q.Blocks = make([]int, 8)
			devices{n: 4, apart: apart, ratio: 1}.draw(&q, rng)
			for i := range q.Candidate {
				q.Candidate[i] += gap
			}
			if !blocks {
				q.Blocks = nil
			}
			if outcome, _, err := q.run(d, nil); err == nil && outcome == Passed {
				passed++
			}
		}
		return passed / float64(times())
	}
	if within, apart := power(10, 6, true), power(10, 6, false); within < 0.9 || apart > 0.1 {
		t.Errorf("6 SD pass with %.2f within rounds and %.2f without", within, apart)
	}
}

func TestLookInBlocks(t *testing.T) {
	d := Design{Pass: 0.002, Fail: 0.015, Looks: []int{4, 6}, First: 4}
	base := []float64{10, 20, 10.1, 20.1, 10, 20}
	plus := func(by ...float64) (out []float64) {
		for i := range base {
			out = append(out, base[i]+by[i%len(by)])
		}
		return out
	}
	two := []int{0, 1, 0, 1, 0, 1}
	for _, c := range []struct {
		name string
		q    Question
		want Outcome
	}{
		{"what devices differ by cancels", Question{Candidate: plus(1, 1.01, 0.99, 1), Base: base, Blocks: two}, Passed},
		{"an effect on one of two devices is none", Question{Candidate: plus(2, 0), Base: base, Blocks: two}, Futile},
		{"a level that holds on both", Question{Candidate: base, Single: true, Blocks: two, Theta: 9}, Passed},
		{"a level that holds on one", Question{Candidate: base, Single: true, Blocks: two, Theta: 15}, Ended},
		{"a level that holds on neither", Question{Candidate: base, Single: true, Blocks: two, Theta: 22}, Failed},
	} {
		c.q.Pass, c.q.Fail = d.Pass, d.Fail
		got, looks, err := Sequential(c.q, d)
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s (%+v)", c.name, got, err, c.want, looks)
		}
	}
	if _, _, err := Sequential(Question{Candidate: base, Base: base, Blocks: two[:5], Pass: 0.1, Fail: 0.1}, d); err == nil {
		t.Error("rounds without a block are no error")
	}
	_, looks, _ := Sequential(Question{Candidate: base, Single: true, Blocks: two, Theta: 15, Pass: 0.002, Fail: 0.015}, d)
	if s := fmt.Sprint(looks[0].PPass, looks[0].PFail); s != "1 1" {
		t.Errorf("a level between two devices has p %s", s)
	}
}

// TestBlocksAlike: devices with the same mean are taken in one order, and the one with the
// fewest launches bounds the level on either side.
func TestBlocksAlike(t *testing.T) {
	q := Question{
		Candidate: []float64{0, 0, 0, 0, 0, 0}, Single: true, Blocks: []int{0, 1, 1, 2, 2, 2},
		Theta: -1, Pass: 0.002, Fail: 0.015, Floor: 0.1,
	}
	d := Design{Pass: 0.002, Fail: 0.015, Looks: []int{6}, First: 6}
	for range 20 {
		_, looks, err := Sequential(q, d)
		if err != nil || len(looks) != 1 {
			t.Fatal(looks, err)
		}
		if l := looks[0]; l.SE != 0.1 || l.Low != -0.1*Quantile(0.002, 3) || l.High != 0.1*Quantile(0.015, 3) {
			t.Fatalf("%+v", l)
		}
	}
}
