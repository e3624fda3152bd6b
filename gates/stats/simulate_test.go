package stats

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// scenario is a test that is repeated on simulated launches.
type scenario struct {
	// gap is how far the candidate is above the threshold, and ratio the candidate's
	// standard deviation, both in standard deviations of the base.
	gap, ratio float64
	single     bool
	// modes is Question.Gap.
	floor, modes float64
	// noise draws a launch's deviation, own the candidate's if it has its own; normal if
	// nil.
	noise, own func(*rand.Rand) float64
}

// rates are how often a scenario had each outcome, and the mean launches of all arms
// together.
type rates struct{ pass, fail, launches float64 }

func (r rates) String() string {
	return fmt.Sprintf("pass %.4f fail %.4f inconclusive %.4f launches %.2f", r.pass, r.fail, 1-r.pass-r.fail, r.launches)
}

// draw simulates the launches. The base varies around 0, which is the threshold.
func (s scenario) draw(q *Question, rng *rand.Rand) {
	noise, own := s.noise, s.own
	if noise == nil {
		noise = (*rand.Rand).NormFloat64
	}
	if own == nil {
		own = noise
	}
	for i := range q.Candidate {
		q.Candidate[i] = s.gap + s.ratio*own(rng)
		if !s.single {
			q.Base[i] = noise(rng)
		}
	}
}

func (s scenario) question(d Design) Question {
	return Question{
		Candidate: make([]float64, d.Last()), Base: make([]float64, d.Last()), Single: s.single,
		Pass: d.Pass, Fail: d.Fail, Floor: s.floor, Gap: s.modes,
	}
}

// made simulates launches: question is a test of them, which draw fills.
type made interface {
	question(d Design) Question
	draw(q *Question, rng *rand.Rand)
}

// simulate repeats a test of simulated launches with a design and seed.
func simulate(t testing.TB, s made, d Design, times int, seed uint64) rates {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 6))
	q, looks, arms := s.question(d), make([]Look, 0, len(d.Looks)), 2.0
	if q.Single {
		arms = 1
	}
	var r rates
	for range times {
		s.draw(&q, rng)
		outcome, made, err := q.run(d, looks[:0])
		if err != nil {
			t.Fatal(err)
		}
		switch outcome {
		case Passed:
			r.pass++
		case Failed:
			r.fail++
		}
		r.launches += arms * float64(made[len(made)-1].N)
	}
	n := float64(times)
	return rates{r.pass / n, r.fail / n, r.launches / n}
}

// BenchmarkRun is one complete test, as the simulations run it.
func BenchmarkRun(b *testing.B) {
	b.ReportAllocs()
	simulate(b, scenario{ratio: 2}, mustOffer(b, 3, 8, true), b.N, 1)
}

// BenchmarkSequential is the same with the bounds of each look, as gates request them.
func BenchmarkSequential(b *testing.B) {
	d := mustOffer(b, 3, 8, true)
	s := scenario{ratio: 2}
	q, rng := s.question(d), rand.New(rand.NewPCG(1, 1))
	b.ReportAllocs()
	for b.Loop() {
		s.draw(&q, rng)
		if _, _, err := Sequential(q, d); err != nil {
			b.Fatal(err)
		}
	}
}

// mustOffer is the design with the default error rates.
func mustOffer(t testing.TB, least, most int, recorded bool) Design {
	t.Helper()
	first := Unrecorded
	if recorded {
		first = Recorded
	}
	d, err := Offer(0.01, 0.05, least, most, first)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
