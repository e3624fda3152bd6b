package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// recordOf draws the standard deviation that a record with df degrees of freedom shows.
func recordOf(rng *rand.Rand, sd float64, df int) float64 {
	var squares float64
	for range df {
		x := rng.NormFloat64()
		squares += x * x
	}
	return sd * math.Sqrt(squares/float64(df))
}

// early repeats tests that look at two launches first, each with its own record. draw
// fills both arms, in the order AB BA: candidate first in odd rounds.
func early(t *testing.T, d Design, sd float64, df int, draw func(rng *rand.Rand, q *Question)) (all, atTwo rates) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(df), 11))
	s := scenario{}
	q, looks := s.question(d), make([]Look, 0, len(d.Looks))
	q.FloorDF, q.Gap = float64(df), UsualGap
	for range times() {
		q.Floor = recordOf(rng, sd, df)
		draw(rng, &q)
		outcome, made, err := q.run(d, looks[:0])
		if err != nil {
			t.Fatal(err)
		}
		n := made[len(made)-1].N
		all.launches += 2 * float64(n)
		switch outcome {
		case Passed:
			all.pass++
			if n == Clear {
				atTwo.pass++
			}
		case Failed:
			all.fail++
			if n == Clear {
				atTwo.fail++
			}
		}
	}
	n := float64(times())
	return rates{all.pass / n, all.fail / n, all.launches / n}, rates{atTwo.pass / n, atTwo.fail / n, 0}
}

func mustOfferClear(t *testing.T) Design {
	t.Helper()
	d, err := Offer(0.01, 0.05, Clear, 8, Clear)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The look at two launches before the others: together with all of them, a claim at the
// threshold keeps to the rates, however much the candidate's launches vary, and however
// well the record is known.
func TestRatesOfTwoLaunches(t *testing.T) {
	d := mustOfferClear(t)
	normal := func(sd, own, base float64) func(*rand.Rand, *Question) {
		return func(rng *rand.Rand, q *Question) {
			for i := range q.Candidate {
				q.Candidate[i], q.Base[i] = own*sd*rng.NormFloat64(), base*sd*rng.NormFloat64()
			}
		}
	}
	sds, ratios := []float64{0.003}, []float64{8, 20, 50}
	if os.Getenv("MXFLOW_TEST_LONG") != "" {
		sds, ratios = []float64{0.003, 0.02}, []float64{1, 3, 8, 20, 50, 80}
	}
	for _, sd := range sds {
		for _, df := range []int{8, 16} {
			for _, r := range ratios {
				all, two := early(t, d, sd, df, normal(sd, r, 1))
				t.Logf("record %.1f%% of %2d degrees, SD ratio %5.2f: %v; at 2 pass %.5f fail %.5f", 100*sd, df, r, all, two.pass, two.fail)
				keeps(t, "two launches", all)
			}
			all, _ := early(t, d, sd, df, normal(sd, 10, 10))
			keeps(t, "a machine that became noisier", all)
		}
	}
}

// What launches do besides being normal: two speeds, drift and rare slow ones.
func TestRatesOfTwoLaunchesOddly(t *testing.T) {
	d := mustOfferClear(t)
	// in calls f with each launch in the order AB BA BA AB.
	in := func(f func(rng *rand.Rand, place int) float64) func(*rand.Rand, *Question) {
		return func(rng *rand.Rand, q *Question) {
			for i := range q.Candidate {
				first := &q.Candidate[i]
				second := &q.Base[i]
				if i%4 == 1 || i%4 == 2 {
					first, second = second, first
				}
				*first, *second = f(rng, 2*i), f(rng, 2*i+1)
			}
		}
	}
	for _, sd := range []float64{0.001, 0.003} {
		for _, gap := range []float64{0.08, 0.15} {
			_, two := early(t, d, sd, 16, func(rng *rand.Rand, q *Question) {
				for i := range q.Candidate {
					q.Candidate[i] = sd*rng.NormFloat64() + math.Log1p(gap)*(float64(rng.IntN(2))-0.5)
					q.Base[i] = sd * rng.NormFloat64()
				}
			})
			if two.pass > 0 || two.fail > 0.005 {
				t.Errorf("two speeds %v apart decide at two launches: %v", gap, two)
			}
		}
		for name, shift := range map[string]func(rng *rand.Rand) func(place int) float64{
			"linear": func(rng *rand.Rand) func(int) float64 {
				by := sd * rng.NormFloat64()
				return func(place int) float64 { return by * float64(place) }
			},
			"a step": func(rng *rand.Rand) func(int) float64 {
				at, by := rng.IntN(16), 0.1*rng.NormFloat64()
				return func(place int) float64 {
					if place < at {
						return 0
					}
					return by
				}
			},
		} {
			var drift func(int) float64
			all, two := early(t, d, sd, 16, in(func(rng *rand.Rand, place int) float64 {
				if place == 0 {
					drift = shift(rng)
				}
				return sd*rng.NormFloat64() + drift(place)
			}))
			t.Logf("record %.1f%%, drift: %s: %v; at 2 pass %.5f fail %.5f", 100*sd, name, all, two.pass, two.fail)
			keeps(t, name, all)
			if two.pass+two.fail > 0 {
				t.Errorf("drift (%s) decides at two launches: %v", name, two)
			}
		}
		for _, both := range []bool{true, false} {
			one := slow(5)
			all, two := early(t, d, sd, 16, func(rng *rand.Rand, q *Question) {
				for i := range q.Candidate {
					q.Candidate[i], q.Base[i] = sd*one(rng), sd*rng.NormFloat64()
					if both {
						q.Base[i] = sd * one(rng)
					}
				}
			})
			t.Logf("record %.1f%%, one launch in ten 5 SD slower, both arms %v: %v", 100*sd, both, all)
			if two.pass+two.fail > 0 {
				t.Errorf("outliers decide at two launches: %v", two)
			}
		}
	}
}

// If the levels differ, the look at two follows them: it takes the part of the rate that
// the later looks leave.
func TestRatesOfTwoLaunchesAtEveryLevel(t *testing.T) {
	for i, p := range passLevels {
		f := failLevels[min(i, len(failLevels)-1)]
		d, err := Offer(p.rate, f.rate, Clear, 8, Clear)
		if err != nil {
			t.Fatal(err)
		}
		const sd = 0.02
		for _, r := range []float64{8, 20} {
			all, two := early(t, d, sd, 16, func(rng *rand.Rand, q *Question) {
				for i := range q.Candidate {
					q.Candidate[i], q.Base[i] = r*sd*rng.NormFloat64(), sd*rng.NormFloat64()
				}
			})
			what := fmt.Sprintf("false_pass %v, false_fail %v, SD ratio %v", p.rate, f.rate, r)
			t.Logf("%s: %v; at 2 pass %.5f fail %.5f", what, all, two.pass, two.fail)
			if all.pass > within(p.rate, times()) || all.fail > within(f.rate, times()) {
				t.Errorf("%s: %v", what, all)
			}
			if two.pass > within(p.short/8, times()) || two.fail > within(f.short/8, times()) {
				t.Errorf("%s: two launches alone %v", what, two)
			}
		}
	}
}

// From ClearGap on, including the variation of an estimate, two launches decide nine
// times in ten.
func TestPowerOfTwoLaunches(t *testing.T) {
	d := mustOfferClear(t)
	for _, sd := range []float64{0.001, 0.003, 0.01} {
		for _, df := range []float64{8, 16} {
			gap := Error{d.FalsePass, d.Pass}.ClearGap(sd, df, UsualGap)
			t.Logf("record %.1f%% of %2.0f degrees: %.1f%% beyond the threshold", 100*sd, df, 100*math.Expm1(gap))
			q, rng := scenario{}.question(d), rand.New(rand.NewPCG(1, 1))
			q.Floor, q.FloorDF, q.Gap = sd, df, UsualGap
			decided := 0
			for range 20_000 {
				for i := range q.Candidate {
					q.Candidate[i], q.Base[i] = gap+1.45*sd+sd*rng.NormFloat64(), sd*rng.NormFloat64()
				}
				if _, made, err := q.run(d, nil); err == nil && made[len(made)-1].N == Clear {
					decided++
				}
			}
			near(t, "decided at two", float64(decided)/20_000, 0.905, 0.01)
		}
	}
}
