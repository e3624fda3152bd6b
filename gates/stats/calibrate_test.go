package stats

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// sdRatios are the ratios of the arms' standard deviations for which the error rates
// hold. By symmetry r and 1/r are the same for normal noise.
var sdRatios = []float64{1, 2, 3, 5, 8, 12, 20}

// TestCalibrate prints levels for the tables in offer.go. It draws launches at the
// boundary once for each ratio, and adjusts both levels until the worst ratio has the
// required error rates. Run it with
//
//	MXFLOW_CALIBRATE=1 go test -v -run TestCalibrate ./gates/stats
//
// and round down what it prints; TestOffered proves the rounded levels.
func TestCalibrate(t *testing.T) {
	if os.Getenv("MXFLOW_CALIBRATE") == "" {
		t.Skip("takes minutes: set MXFLOW_CALIBRATE=1")
	}
	for _, looks := range [][]int{{3, 4, 6, 8}, {3, 4, 6, 8, 12}} {
		var drawn [][]boundaryLooks
		for i, ratio := range sdRatios {
			drawn = append(drawn, drawBoundary(t, ratio, looks, 200_000, uint64(i)))
		}
		for _, falsePass := range []float64{0.001, 0.005, 0.01, 0.02, 0.05} {
			for _, falseFail := range []float64{0.01, 0.02, 0.05, 0.1} {
				pass, fail := falsePass/5, falseFail/4
				var p, f float64
				for range 6 {
					p, f = 0, 0
					for _, reps := range drawn {
						gotPass, gotFail := decideDrawn(reps, looks, pass, fail)
						p, f = max(p, gotPass), max(f, gotFail)
					}
					pass *= falsePass / p
					fail *= falseFail / f
				}
				t.Logf("to %2d: false pass %.3f fail %.2f: levels %.3g and %.3g (last %.5f and %.5f)", looks[len(looks)-1], falsePass, falseFail, pass, fail, p, f)
			}
		}
	}
}

// boundaryLooks is what decisions need from one repetition: estimate, standard error and
// p of pass at each look.
type boundaryLooks [5]struct{ estimate, se, p float64 }

func drawBoundary(t *testing.T, ratio float64, looks []int, times int, seed uint64) []boundaryLooks {
	rng := rand.New(rand.NewPCG(seed, 7))
	last := looks[len(looks)-1]
	q := Question{Candidate: make([]float64, last), Base: make([]float64, last)}
	out := make([]boundaryLooks, times)
	for r := range out {
		for i := range last {
			q.Candidate[i], q.Base[i] = ratio*rng.NormFloat64(), rng.NormFloat64()
		}
		for i, n := range looks {
			l, err := q.look(n, true, Design{})
			if err != nil {
				t.Fatal(err)
			}
			out[r][i].estimate, out[r][i].se, out[r][i].p = l.Estimate, l.SE, l.PPass
		}
	}
	return out
}

// decideDrawn applies Sequential to what was drawn.
func decideDrawn(reps []boundaryLooks, looks []int, pass, fail float64) (passed, failed float64) {
	last := looks[len(looks)-1]
	tp, tf := Quantile(pass, float64(2*last-2)), Quantile(fail, float64(2*last-2))
	for r := range reps {
		for i, n := range looks {
			l := &reps[r][i]
			if l.p <= pass {
				passed++
				break
			}
			if 1-l.p <= fail {
				failed++
				break
			}
			final, move := l.se*math.Sqrt(float64(n)/float64(last)), l.se*math.Sqrt(1-float64(n)/float64(last))
			if n < last && upper((tp*final-l.estimate)/move)+upper((tf*final+l.estimate)/move) < futileBelow {
				break
			}
		}
	}
	return passed / float64(len(reps)), failed / float64(len(reps))
}

// TestCalibrateRare prints levels for rates at which TestCalibrate sees too few cases. It
// lets nothing but a pass end a test, so what it prints is on the safe side.
func TestCalibrateRare(t *testing.T) {
	if os.Getenv("MXFLOW_CALIBRATE") == "" {
		t.Skip("takes minutes: set MXFLOW_CALIBRATE=1")
	}
	const times = 2_000_000
	rates := []float64{0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005}
	for _, looks := range [][]int{{3, 4, 6, 8}, {3, 4, 6, 8, 12}} {
		levels := make([]float64, len(rates))
		for i := range levels {
			levels[i] = 1
		}
		for i, ratio := range sdRatios[2:] {
			rng := rand.New(rand.NewPCG(uint64(i), 8))
			last := looks[len(looks)-1]
			q := Question{Candidate: make([]float64, last), Base: make([]float64, last)}
			var least []float64
			for range times {
				for i := range last {
					q.Candidate[i], q.Base[i] = ratio*rng.NormFloat64(), rng.NormFloat64()
				}
				p := 1.0
				for _, n := range looks {
					l, err := q.look(n, true, Design{})
					if err != nil {
						t.Fatal(err)
					}
					p = min(p, l.PPass)
				}
				if p < 0.01 {
					least = append(least, p)
				}
			}
			slices.Sort(least)
			for j, rate := range rates {
				level := least[int(rate*times)]
				t.Logf("to %2d, ratio %2.0f: false pass %.4f: %.3g", last, ratio, rate, level)
				levels[j] = min(levels[j], level)
			}
		}
		t.Logf("to %2d: false pass %v: levels %.3g", looks[len(looks)-1], rates, levels)
	}
}
