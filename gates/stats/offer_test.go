package stats

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestLooks(t *testing.T) {
	for _, c := range []struct {
		least, most int
		from        int
		looks       []int
	}{
		{3, 8, Recorded, []int{3, 4, 6, 8}},
		{3, 8, Unrecorded, []int{4, 6, 8}},
		{1, 8, Recorded, []int{1, 3, 4, 6, 8}},
		{1, 1, Recorded, []int{1}},
		{1, 2, Unrecorded, []int{1, 2}},
		{2, 2, Recorded, []int{2}},
		{3, 3, Unrecorded, []int{3}}, // decides nothing
		{3, 5, Recorded, []int{3, 4, 5}},
		{5, 8, Recorded, []int{5, 6, 8}},
		{7, 7, Unrecorded, []int{7}},
		{3, 12, Recorded, []int{3, 4, 6, 8, 12}},
		{3, 10, Unrecorded, []int{4, 6, 8, 10}},
		{2, 8, TwoLaunches, []int{2, 3, 4, 6, 8}},
		{2, 2, TwoLaunches, []int{2}},
		{3, 8, TwoLaunches, []int{3, 4, 6, 8}}, // a plan that asks for more
	} {
		d := must.Get(DesignFor(0.01, 0.05, c.least, c.most, c.from))(t)
		if !slices.Equal(d.Looks, c.looks) || d.First != c.from {
			t.Errorf("%d to %d from %d: looks %v from %d, want %v", c.least, c.most, c.from, d.Looks, d.First, c.looks)
		}
		pass, fail := 0.002, 0.015
		if c.most > 8 {
			pass, fail = 0.0016, 0.013
		}
		if d.Pass != pass || d.Fail != fail || d.FalsePass != 0.01 || d.FalseFail != 0.05 {
			t.Errorf("%d to %d: %+v", c.least, c.most, d)
		}
	}
}

func TestNotOffered(t *testing.T) {
	for _, c := range []struct {
		falsePass, falseFail float64
		least, most          int
		says                 string
	}{
		{
			0.03, 0.05, 3, 8,
			"false_pass = 0.03 is not calibrated: offered are 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, " +
				"0.02, 0.05",
		},
		{0.01, 0.06, 3, 8, "false_fail = 0.06 is not calibrated: offered are 0.01, 0.02, 0.05, 0.1"},
		{0.1, 0.05, 3, 8, "false_pass"},
		{0.01, 0.05, 0, 8, "the least is 1"},
		{0.01, 0.05, 4, 3, "fewer than at least 4"},
		{0.01, 0.05, 3, 13, "at most 12"},
	} {
		d, err := DesignFor(c.falsePass, c.falseFail, c.least, c.most, Recorded)
		if err == nil || !strings.Contains(err.Error(), c.says) || len(d.Looks) > 0 {
			t.Errorf("%+v: %+v %v", c, d, err)
		}
	}
}

// TestOffered proves every level and last look of the offer at the worst SD ratio, and at
// others with MXFLOW_TEST_LONG. The tolerance is four standard errors of the rate.
func TestOffered(t *testing.T) {
	ratios, n := []float64{8}, 8_000
	if os.Getenv("MXFLOW_TEST_LONG") != "" {
		ratios, n = []float64{1, 5, 8, 20}, 200_000
	}
	prove := func(falsePass, falseFail float64, least, most int) {
		d := must.Get(DesignFor(falsePass, falseFail, least, most, Recorded))(t)
		var worst rates
		for _, ratio := range ratios {
			r := simulate(t, scenario{ratio: ratio}, d, n, uint64(most))
			worst.pass, worst.fail = max(worst.pass, r.pass), max(worst.fail, r.fail)
		}
		t.Logf("false_pass %5.3f false_fail %4.2f, launches %2d to %2d: %.5f and %.4f at levels %g and %g", falsePass,
			falseFail, least, most, worst.pass, worst.fail, d.Pass, d.Fail)
		if worst.pass > within(falsePass, n) || worst.fail > within(falseFail, n) {
			t.Errorf("looks %v promise %v and %v: got %.5f and %.4f", d.Looks, falsePass, falseFail,
				worst.pass, worst.fail)
		}
	}
	for most := 3; most <= MostLaunches; most++ {
		prove(0.01, 0.05, 3, most)
	}
	prove(0.01, 0.05, 5, 8)
	prove(0.01, 0.05, 6, 12)
	for i, p := range passLevels {
		f := failLevels[min(i, len(failLevels)-1)]
		prove(p.rate, f.rate, 3, usualLaunches)
		prove(p.rate, f.rate, 3, MostLaunches)
	}
}

// TestRung: each rate offered is at most half of the next, so all tries together pass at
// most twice as often as the first, and at some point none is left.
func TestRung(t *testing.T) {
	for i, l := range passLevels {
		if i > 0 && passLevels[i-1].rate > l.rate/2 {
			t.Errorf("%v is more than half of %v", passLevels[i-1].rate, l.rate)
		}
		bound, tries := Bound(l.rate)
		if tries != i+1 || bound > 2*l.rate {
			t.Errorf("%v: %d tries, bound %v", l.rate, tries, bound)
		}
		if rate, left := AlphaForTry(l.rate, tries+1); left || rate != 0 {
			t.Errorf("%v: try %d has %v", l.rate, tries+1, rate)
		}
	}
	if rate, left := AlphaForTry(0.01, 3); rate != 0.002 || !left {
		t.Errorf("try 3 at 0.01: %v, %v", rate, left)
	}
	if _, left := AlphaForTry(0.03, 2); left {
		t.Error("a second try at a rate that is not offered")
	}
}

// TestRetries: a change without effect that is tried again until it passes, ten times, passes no more often than the
// bound; without the steps down it would pass five times as often.
func TestRetries(t *testing.T) {
	const falsePass = 0.01
	bound, _ := Bound(falsePass)
	for _, ratio := range []float64{1, 8} {
		rng := rand.New(rand.NewPCG(uint64(ratio), 9))
		retried := func(rung func(try int) (float64, bool)) (rate float64) {
			for range times() / 4 {
				for try := 1; try <= 10; try++ {
					of, left := rung(try)
					if !left {
						break
					}
					d := must.Get(DesignFor(of, 0.05, 3, usualLaunches, Recorded))(t)
					s := scenario{ratio: ratio}
					q := s.question(d)
					s.draw(&q, rng)
					if outcome, _, err := q.run(d, nil); err != nil {
						t.Fatal(err)
					} else if outcome == Passed {
						rate++
						break
					}
				}
			}
			return rate / float64(times()/4)
		}
		spent := retried(func(try int) (float64, bool) { return AlphaForTry(falsePass, try) })
		anew := retried(func(int) (float64, bool) { return falsePass, true })
		t.Logf("SD ratio %v: %.4f of ten tries pass, bound %.4f; %.4f where each has the first one's rate", ratio,
			spent, bound, anew)
		if spent > within(bound, times()/4) || anew < 2*spent {
			t.Errorf("SD ratio %v: %.4f of ten tries pass, bound %.4f; %.4f without steps", ratio, spent, bound, anew)
		}
	}
}

// One look must come close to the reference's several looks, whose numbers are
// from a simulation: never more than 1% less, and at most 5% more.
func TestResolvableAgainstWorkedCases(t *testing.T) {
	for name, want := range readWorked(t).K {
		n := must.Get(strconv.Atoi(name))(t)
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

// From tables of the chi-square distribution: its 20% points are 4.594 at 8 and 1.649 at 4 degrees of freedom.
func TestNoiseBound(t *testing.T) {
	near(t, "8", NoiseBound(8), math.Sqrt(8/4.594), 1e-3)
	near(t, "4", NoiseBound(4), math.Sqrt(4/1.649), 1e-3)
}

// sdRatios are the ratios of the arms' standard deviations for which the error rates
// hold. By symmetry r and 1/r are the same for normal noise.
var sdRatios = []float64{1, 2, 3, 5, 8, 12, 20}

// TestCalibrate prints levels for the tables in offer.go: it repeats tests at the boundary for each
// ratio, and adjusts both levels until the worst ratio has the required error rates. Run it with
//
//	MXFLOW_CALIBRATE=1 go test -timeout 2h -v -run TestCalibrate ./gates/stats
//
// and round down what it prints; TestOffered proves the rounded levels.
func TestCalibrate(t *testing.T) {
	if os.Getenv("MXFLOW_CALIBRATE") == "" {
		t.Skip("takes half an hour: set MXFLOW_CALIBRATE=1")
	}
	for _, looks := range [][]int{{3, 4, 6, 8}, {3, 4, 6, 8, 12}} {
		for _, falsePass := range []float64{0.001, 0.005, 0.01, 0.02, 0.05} {
			for _, falseFail := range []float64{0.01, 0.02, 0.05, 0.1} {
				d, worst := Design{Pass: falsePass / 5, Fail: falseFail / 4, Looks: looks, First: looks[0]}, rates{}
				for range 4 {
					worst = rates{}
					for i, ratio := range sdRatios {
						r := simulate(t, scenario{ratio: ratio}, d, 200_000, uint64(i))
						worst.pass, worst.fail = max(worst.pass, r.pass), max(worst.fail, r.fail)
					}
					d.Pass, d.Fail = d.Pass*falsePass/worst.pass, d.Fail*falseFail/worst.fail
				}
				t.Logf("to %2d: false pass %.3f fail %.2f: levels %.3g and %.3g (last %.5f and %.5f)", d.Last(),
					falsePass, falseFail, d.Pass, d.Fail, worst.pass, worst.fail)
			}
		}
	}
}

// TestCalibrateRare prints levels for rates at which TestCalibrate sees too few cases. It
// lets nothing but a pass end a test, so what it prints is on the safe side.
func TestCalibrateRare(t *testing.T) {
	if os.Getenv("MXFLOW_CALIBRATE") == "" {
		t.Skip("takes minutes: set MXFLOW_CALIBRATE=1")
	}
	const times = 2_000_000
	for _, d := range []Design{{Looks: []int{3, 4, 6, 8}}, {Looks: []int{3, 4, 6, 8, 12}}} {
		for i, ratio := range sdRatios[2:] {
			s, rng, least := scenario{ratio: ratio}, rand.New(rand.NewPCG(uint64(i), 8)), make([]float64, times)
			q := s.question(d)
			for r := range least {
				s.draw(&q, rng)
				least[r] = 1
				for _, n := range d.Looks {
					least[r] = min(least[r], must.Get(q.look(n, true, Design{}))(t).PPass)
				}
			}
			slices.Sort(least)
			for _, rate := range []float64{0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005} {
				t.Logf("to %2d, ratio %2.0f: false pass %.4f: %.3g; the least of all ratios is the level", d.Last(),
					ratio, rate, least[int(rate*times)])
			}
		}
	}
}
