package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// The simulations of docs/internals/evidence/README.md. They prove the promises with 8,000 repetitions
// per row, and print the tables of the page with 400,000:
//
//	MXFLOW_TEST_LONG=1 go test -v -run 'TestRates|TestOffered' ./gates/stats
func times() int {
	if os.Getenv("MXFLOW_TEST_LONG") != "" {
		return 400_000
	}
	return 8_000
}

// agrees checks a simulated rate against another program's: within four standard errors of the difference.
func agrees(t *testing.T, what string, got, want float64, wantTimes int) {
	t.Helper()
	p := (got + want) / 2
	se := math.Sqrt(p * (1 - p) * (1/float64(times()) + 1/float64(wantTimes)))
	if math.Abs(got-want) > 4*se+1e-9 {
		t.Errorf("%s: %.5f, want %.5f ± %.5f", what, got, want, 4*se)
	}
}

// keeps checks the promise, with an allowance for sampling error.
func keeps(t *testing.T, what string, r rates) {
	t.Helper()
	if r.pass > 0.012 || r.fail > 0.055 {
		t.Errorf("%s: %v", what, r)
	}
}

func TestRatesAtTheBoundary(t *testing.T) {
	d := mustOffer(t, 3, 8, true)
	for i, want := range readWorked(t).Boundary {
		r := simulate(t, scenario{ratio: want.Gap}, d, times(), uint64(i))
		t.Logf("SD ratio %5.2f: %v", want.Gap, r)
		keeps(t, "boundary", r)
		agrees(t, "pass", r.pass, want.Pass, 1_000_000)
		agrees(t, "fail", r.fail, want.Fail, 1_000_000)
		near(t, "launches", r.launches, want.Launches, 16/math.Sqrt(float64(times())))
	}
}

func TestRatesByEffect(t *testing.T) {
	d := mustOffer(t, 3, 8, true)
	for i, want := range readWorked(t).OC {
		r := simulate(t, scenario{gap: want.Gap, ratio: 1}, d, times(), uint64(i))
		t.Logf("gap %3.0f: %v", want.Gap, r)
		agrees(t, "pass", r.pass, want.Pass, 400_000)
		agrees(t, "fail", r.fail, want.Fail, 400_000)
		near(t, "launches", r.launches, want.Launches, 16/math.Sqrt(float64(times())))
	}
}

func TestRatesOfOneArm(t *testing.T) {
	for _, most := range []int{4, 8, 12} {
		r := simulate(t, scenario{ratio: 1, single: true}, mustOffer(t, 3, most, true), times(), 1)
		t.Logf("one arm, at most %2d: %v", most, r)
		keeps(t, "one arm", r)
	}
}

// bimodal draws launches of which half are 8% faster, each with 0.3% of noise.
func bimodal(rng *rand.Rand) float64 {
	return 0.003*rng.NormFloat64() + math.Log(1.08)*float64(rng.IntN(2))
}

// A change without effect, under a rule that requires 5% more: it passes if chance gives all fast launches to one arm.
func TestRatesWithBimodalStarts(t *testing.T) {
	early, late := mustOffer(t, 3, 8, true), mustOffer(t, 3, 8, false)
	same := scenario{gap: -math.Log(1.05), ratio: 1, noise: bimodal}
	floored := same
	floored.floor = math.Log(1.08) / 2
	for _, c := range []struct {
		name        string
		s           scenario
		d           Design
		least, most float64 // of false passes
	}{
		// If this one were low, there would be no reason to begin at 4.
		{"no change, first look at 3, no floor", same, early, 0.012, 1},
		{"no change, first look at 4", same, late, 0, 0.01},
		{"no change, first look at 3, floored by the record", floored, early, 0, 0.001},
		{"5% in truth, first look at 4", scenario{ratio: 1, noise: bimodal}, late, 0, 0.012},
	} {
		r := simulate(t, c.s, c.d, times(), 1)
		t.Logf("%s: %v", c.name, r)
		if r.pass < c.least || r.pass > c.most || c.s.gap == 0 && r.fail > 0.055 {
			t.Errorf("%s: %v", c.name, r)
		}
	}
}

// Dividing the level by the number of criteria divides the rate by less if the arms vary
// very differently: the page says by how much.
func TestRatesOfManyCriteria(t *testing.T) {
	for _, c := range []struct{ criteria, ratio, most float64 }{
		{2, 1, 0.05},
		{2, 8, 0.06},
		{3, 1, 0.05},
		{3, 8, 0.06},
		{5, 2, 0.055},
		{5, 8, 0.08},
		{20, 1, 0.055},
		{20, 2, 0.065},
		{20, 8, 0.12},
	} {
		d := mustOffer(t, 3, 8, true)
		d.Fail /= c.criteria
		one := simulate(t, scenario{ratio: c.ratio}, d, times(), 1).fail
		anyOf := 1 - math.Pow(1-one, c.criteria)
		t.Logf("%2.0f independent criteria, SD ratio %v: any fails %.4f", c.criteria, c.ratio, anyOf)
		if anyOf > c.most {
			t.Errorf("%v criteria at SD ratio %v: any fails %.4f", c.criteria, c.ratio, anyOf)
		}
	}
}

// slow draws launches of which one in ten is size standard deviations slower than the
// others; the mean is 0 nevertheless.
func slow(size float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 {
		x := rng.NormFloat64() + size/10
		if rng.IntN(10) == 0 {
			x -= size
		}
		return x
	}
}

// What the promise does not cover: launches far from normal in one arm only. The numbers
// are on the page, and are kept from growing unnoticed here.
func TestRatesWithOutliers(t *testing.T) {
	for _, c := range []struct {
		name       string
		s          scenario
		pass, fail float64
	}{
		{"in both arms alike", scenario{ratio: 1, noise: slow(5)}, 0.01, 0.05},
		{"in the candidate only", scenario{ratio: 1, own: slow(5)}, 0.03, 0.05},
		{"in one arm against a number", scenario{ratio: 1, single: true, own: slow(5)}, 0.05, 0.05},
	} {
		r := simulate(t, c.s, mustOffer(t, 3, 8, true), times(), 1)
		t.Logf("one launch in ten 5 SD slower, %s: %v", c.name, r)
		if r.pass > c.pass || r.fail > c.fail {
			t.Errorf("outliers %s: %v", c.name, r)
		}
	}
}

// within is the highest rate to be expected in n repetitions.
func within(rate float64, n int) float64 { return rate + 4*math.Sqrt(rate*(1-rate)/float64(n)) }

// Two arms with equal means, of which the candidate alone has two speeds that each start
// draws anew: its first launches often agree by chance and look quiet. Without Question.Gap
// such a claim passes as often as all launches of the first look are fast.
func TestRatesWithModes(t *testing.T) {
	quiet := func(rng *rand.Rand) float64 { return 0.003 * rng.NormFloat64() }
	// modes draws starts of which a share is fast, with a mean of 0.
	modes := func(apart, fast float64) func(*rand.Rand) float64 {
		return func(rng *rand.Rand) float64 {
			x := quiet(rng) - fast*math.Log1p(apart)
			if rng.Float64() < fast {
				x += math.Log1p(apart)
			}
			return x
		}
	}
	gaps, shares := []float64{0.08}, []float64{0.3, 0.5}
	if os.Getenv("MXFLOW_TEST_LONG") != "" {
		gaps, shares = []float64{0.04, 0.08, 0.1, 0.12, 0.2}, []float64{0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9}
	}
	for _, c := range []struct {
		name     string
		first    int
		recorded bool
		floor    float64
	}{{"first look at 4", 4, false, 0}, {"first look at 3, 0.3% of noise on record", 3, true, 0.003}} {
		d := mustOffer(t, c.first, 8, c.recorded)
		for _, apart := range gaps {
			for _, fast := range shares {
				one := scenario{ratio: 1, noise: quiet, own: modes(apart, fast), floor: c.floor}
				before := simulate(t, one, d, times(), 1)
				one.modes = UsualGap
				r := simulate(t, one, d, times(), 1)
				both := simulate(t, scenario{ratio: 1, noise: modes(apart, fast), floor: c.floor, modes: UsualGap}, d,
					times(), 1)
				t.Logf("%s, %.0f%% apart, %.0f%% fast: %v; without the margin pass %.4f fail %.4f; both arms pass "+
					"%.4f fail %.4f",
					c.name, 100*apart, 100*fast, r, before.pass, before.fail, both.pass, both.fail)
				if fast == 0.5 && apart == 0.08 && before.pass < 0.05 {
					t.Errorf("without the margin only %.4f pass: there is no reason for it", before.pass)
				}
				if apart > math.Expm1(UsualGap)+1e-9 {
					continue
				}
				// Of the slower speed, at least every second start has to be: a rarer one is missed
				// by all launches that a plan makes. And the reverse for false fails.
				if fast <= 0.5 && r.pass > within(0.01, times()) || fast >= 0.5 && r.fail > within(0.05, times()) {
					t.Errorf("%s, %.0f%% apart, %.0f%% fast: %v", c.name, 100*apart, 100*fast, r)
				}
				if c.floor == 0 && (both.pass > within(0.01, times()) || both.fail > within(0.05, times())) {
					t.Errorf("%s, %.0f%% apart, %.0f%% fast, both arms: %v", c.name, 100*apart, 100*fast, both)
				}
			}
		}
	}
}

// What is clear is decided as early as without the margin.
func TestClearCasesAreDecidedAsEarly(t *testing.T) {
	d := mustOffer(t, 4, 8, false)
	for _, effect := range []float64{-0.3, -0.1, 0.1, 0.3} {
		s := scenario{gap: math.Log1p(effect), ratio: 1, noise: func(rng *rand.Rand) float64 {
			return 0.003 * rng.NormFloat64()
		}}
		before := simulate(t, s, d, times(), 1)
		s.modes = UsualGap
		must.Equal(t, 100*effect, simulate(t, s, d, times(), 1), before)
	}
}

func TestMargin(t *testing.T) {
	for _, c := range []struct {
		n          int
		rate, want float64
	}{
		{2, 0.01, 0.9},
		{3, 0.01, 0.7846},
		{4, 0.01, 0.6838},
		{6, 0.01, 0.5358},
		{8, 0.01, 0},
		{8, 0.001, 0.5783},
		{4, 0.05, 0.5271},
	} {
		near(t, "margin", Error{Rate: c.rate}.Margin(c.n, 1), c.want, 1e-4)
	}
	if m := (Error{Rate: 0.01}).Margin(4, 0); m != 0 {
		t.Error("one speed has a margin:", m)
	}
}

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
			if n == TwoLaunches {
				atTwo.pass++
			}
		case Failed:
			all.fail++
			if n == TwoLaunches {
				atTwo.fail++
			}
		}
	}
	n := float64(times())
	return rates{all.pass / n, all.fail / n, all.launches / n}, rates{atTwo.pass / n, atTwo.fail / n, 0}
}

func mustOfferClear(t *testing.T) Design {
	return must.Get(DesignFor(0.01, 0.05, TwoLaunches, 8, TwoLaunches))(t)
}

// The look at two launches before the others: together with all of them, a claim at the threshold keeps to the rates,
// however much the candidate's launches vary, and however well the record is known.
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
				t.Logf("record %.1f%% of %2d degrees, SD ratio %5.2f: %v; at 2 pass %.5f fail %.5f", 100*sd, df, r, all,
					two.pass, two.fail)
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
	sds := []float64{0.003}
	if os.Getenv("MXFLOW_TEST_LONG") != "" {
		sds = []float64{0.001, 0.003}
	}
	for _, sd := range sds {
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

// If the levels differ, the look at two follows them: it takes the part of the rate that the later looks leave.
func TestRatesOfTwoLaunchesAtEveryLevel(t *testing.T) {
	ratios := []float64{20}
	if os.Getenv("MXFLOW_TEST_LONG") != "" {
		ratios = []float64{8, 20}
	}
	for i, p := range passLevels {
		f := failLevels[min(i, len(failLevels)-1)]
		d := must.Get(DesignFor(p.rate, f.rate, TwoLaunches, 8, TwoLaunches))(t)
		const sd = 0.02
		for _, r := range ratios {
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

// From ClearGap on, including the variation of an estimate, two launches decide nine times in ten.
func TestPowerOfTwoLaunches(t *testing.T) {
	d := mustOfferClear(t)
	for _, sd := range []float64{0.001, 0.003, 0.01} {
		for _, df := range []float64{8, 16} {
			gap := Error{d.FalsePass, d.Pass}.ClearGap(sd, df, UsualGap)
			q, rng := scenario{}.question(d), rand.New(rand.NewPCG(1, 1))
			q.Floor, q.FloorDF, q.Gap = sd, df, UsualGap
			decided := 0
			for range 4_000 {
				for i := range q.Candidate {
					q.Candidate[i], q.Base[i] = gap+1.45*sd+sd*rng.NormFloat64(), sd*rng.NormFloat64()
				}
				if _, made, err := q.run(d, nil); err == nil && made[len(made)-1].N == TwoLaunches {
					decided++
				}
			}
			near(t, "decided at two", float64(decided)/4_000, 0.905, 0.02)
		}
	}
}

// scenario is a test that is repeated on simulated launches.
type scenario struct {
	// gap is how far the candidate is above the threshold, and ratio the candidate's
	// standard deviation, both in standard deviations of the base.
	gap, ratio float64
	single     bool
	// modes is Question.Gap.
	floor, modes float64
	// noise draws a launch's deviation, own the candidate's if it has its own; normal if nil.
	noise, own func(*rand.Rand) float64
}

// rates are how often a scenario had each outcome, and the mean launches of all arms together.
type rates struct{ pass, fail, launches float64 }

func (r rates) String() string {
	return fmt.Sprintf("pass %.4f fail %.4f inconclusive %.4f launches %.2f", r.pass, r.fail,
		1-r.pass-r.fail, r.launches)
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
		Terms: Terms{Pass: d.Pass, Fail: d.Fail, Floor: s.floor, Gap: s.modes},
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

// mustOffer is the design with the default error rates.
func mustOffer(t testing.TB, least, most int, recorded bool) Design {
	t.Helper()
	first := Unrecorded
	if recorded {
		first = Recorded
	}
	d := must.Get(DesignFor(0.01, 0.05, least, most, first))(t)
	return d
}

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
	q := Question{
		Candidate: make([]float64, of.Last()), Blocks: make([]int, of.Last()), Single: d.single,
		Terms: Terms{Pass: of.Pass, Fail: of.Fail},
	}
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

// TestRatesInBlocks: the promised rates hold if rounds run on devices that differ, in whatever way.
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
		q := Question{Candidate: make([]float64, 8), Base: make([]float64, 8), Terms: Terms{Pass: d.Pass, Fail: d.Fail}}
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
		{
			"what devices differ by cancels",
			Question{Candidate: plus(1, 1.01, 0.99, 1), Base: base, Blocks: two},
			Passed,
		},
		{"an effect on one of two devices is none", Question{Candidate: plus(2, 0), Base: base, Blocks: two}, Futile},
		{
			"a level that holds on both",
			Question{Candidate: base, Single: true, Blocks: two, Terms: Terms{Theta: 9}},
			Passed,
		},
		{
			"a level that holds on one",
			Question{Candidate: base, Single: true, Blocks: two, Terms: Terms{Theta: 15}},
			Ended,
		},
		{
			"a level that holds on neither",
			Question{Candidate: base, Single: true, Blocks: two, Terms: Terms{Theta: 22}},
			Failed,
		},
	} {
		c.q.Pass, c.q.Fail = d.Pass, d.Fail
		got, looks, err := Sequential(c.q, d)
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s (%+v)", c.name, got, err, c.want, looks)
		}
	}
	if _, _, err := Sequential(Question{
		Candidate: base, Base: base, Blocks: two[:5],
		Terms: Terms{Pass: 0.1, Fail: 0.1},
	}, d); err == nil {
		t.Error("rounds without a block are no error")
	}
	_, looks, _ := Sequential(Question{
		Candidate: base, Single: true, Blocks: two,
		Terms: Terms{Theta: 15, Pass: 0.002, Fail: 0.015},
	}, d)
	must.Equal(t, "a level between two devices has p", fmt.Sprint(looks[0].PPass, looks[0].PFail), "1 1")
}

// TestBlocksAlike: devices with the same mean are taken in one order, and the one with the
// fewest launches bounds the level on either side.
func TestBlocksAlike(t *testing.T) {
	q := Question{
		Candidate: []float64{0, 0, 0, 0, 0, 0}, Single: true, Blocks: []int{0, 1, 1, 2, 2, 2},
		Terms: Terms{Theta: -1, Pass: 0.002, Fail: 0.015, Floor: 0.1},
	}
	d := Design{Pass: 0.002, Fail: 0.015, Looks: []int{6}, First: 6}
	for range 20 {
		_, looks, err := Sequential(q, d)
		if err != nil || len(looks) != 1 {
			t.Fatal(looks, err)
		}
		low, high := q.Bounds(looks[0], d)
		if looks[0].SE != 0.1 || low != -0.1*Quantile(0.002, 3) || high != 0.1*Quantile(0.015, 3) {
			t.Fatalf("%+v between %v and %v", looks[0], low, high)
		}
	}
}
