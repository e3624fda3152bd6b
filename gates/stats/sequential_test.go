package stats

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// around are launches that scatter around a level with a deviation of 0.01.
func around(level float64, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = level + 0.01*[]float64{1, -1, 0.5, -0.5}[i%4]
	}
	return values
}

func asked(q Question) Question {
	q.Pass, q.Fail = 0.002, 0.015
	return q
}

func TestWhenItStops(t *testing.T) {
	usual, blind, quick := mustOffer(t, 3, 8, true), mustOffer(t, 3, 3, false), mustOffer(t, 1, 8, true)
	clear := mustOfferClear(t)
	three := around(0, 3)
	for _, c := range []struct {
		name  string
		q     Question
		d     Design
		want  Outcome
		looks int
	}{
		{"no launches yet decide nothing", Question{Candidate: around(1, 2), Base: around(0, 2)}, usual, Open, 0},
		{"passes at the first look", Question{Candidate: around(1, 3), Base: three}, usual, Passed, 1},
		{"fails at the first look", Question{Candidate: around(-1, 3), Base: three}, usual, Failed, 1},
		{
			"latches whatever came after",
			Question{Candidate: append(around(1, 3), around(-9, 5)...), Base: around(0, 8)},
			usual, Passed, 1,
		},
		{"waits for the arm with fewer", Question{Candidate: around(0.03, 8), Base: three}, usual, Open, 1},
		{"between looks it is open", Question{Candidate: around(0.022, 5), Base: around(0, 5)}, usual, Open, 2},
		{"gives up where nothing can come", Question{Candidate: around(0, 8), Base: around(0, 8)}, usual, Futile, 1},
		{"ends undecided", Question{
			Candidate: []float64{0.02, 0.06, 0.01, 0.07, -0.01, 0.02, 0, 0.03},
			Base:      around(0.0, 8),
		}, usual, Ended, 4},
		{"without a record 3 do not decide", Question{Candidate: around(1, 3), Base: three}, blind, Ended, 1},
		{
			"one launch never passes",
			Question{Candidate: []float64{99}, Base: []float64{0}, Screen: math.Log(0.75)},
			quick, Open, 1,
		},
		{
			"one launch far off is screened",
			Question{Candidate: []float64{-0.3}, Base: []float64{0}, Screen: math.Log(0.75)},
			quick, Screened, 1,
		},
		{"a screen latches too", Question{
			Candidate: append([]float64{-0.3}, around(1, 7)...), Base: around(0, 8),
			Screen: math.Log(0.75),
		}, quick, Screened, 1},
		{"not far enough for the noise", Question{
			Candidate: []float64{-0.5}, Base: []float64{0},
			Screen: math.Log(0.75), Terms: Terms{Floor: 0.1},
		}, quick, Open, 1},
		{
			"no look at 1, no screen",
			Question{Candidate: []float64{-9}, Base: []float64{0}, Screen: math.Log(0.75)},
			usual, Open, 0,
		},
		{"two launches pass what is clear", Question{
			Candidate: around(1, 2), Base: around(0, 2),
			Terms: Terms{Floor: 0.01, FloorDF: 8},
		}, clear, Passed, 1},
		{"two launches pass nothing less clear", Question{
			Candidate: around(0.5, 2), Base: around(0, 2),
			Terms: Terms{Floor: 0.01, FloorDF: 8},
		}, clear, Open, 1},
		{"two launches need 9% whatever the record", Question{
			Candidate: []float64{0.085, 0.085}, Base: []float64{0, 0},
			Terms: Terms{Floor: 1e-5, FloorDF: 8, Gap: UsualGap},
		}, clear, Open, 1},
		{"of two speeds four launches show one", Question{
			Candidate: around(0.06, 4), Base: around(0, 4),
			Terms: Terms{Gap: UsualGap},
		}, mustOffer(t, 4, 8, false), Open, 1},
		{
			"and eight show both",
			Question{Candidate: around(0.05, 8), Base: around(0, 8), Terms: Terms{Gap: UsualGap}},
			mustOffer(t, 4, 8, false), Passed, 3,
		},
		{"what is farther off is no speed of theirs", Question{
			Candidate: around(0.07, 4), Base: around(0, 4),
			Terms: Terms{Gap: UsualGap},
		}, mustOffer(t, 4, 8, false), Passed, 1},
		{"four that end leave it open", Question{
			Candidate: around(0.06, 4), Base: around(0, 4),
			Terms: Terms{Gap: UsualGap},
		}, mustOffer(t, 4, 4, false), Ended, 1},
		{"six will not tell either", Question{
			Candidate: around(0.03, 4), Base: around(0, 4),
			Terms: Terms{Gap: UsualGap},
		}, mustOffer(t, 4, 6, false), Futile, 1},
		{"two launches that differ go on", Question{
			Candidate: []float64{1, 1.04}, Base: around(0, 2),
			Terms: Terms{Floor: 0.01, FloorDF: 8},
		}, clear, Open, 1},
		{
			"two launches without a record",
			Question{Candidate: around(1, 2), Base: around(0, 2), Terms: Terms{Floor: 0.01}},
			clear, Open, 1,
		},
		{
			"two launches of one arm",
			Question{Candidate: around(1, 2), Single: true, Terms: Terms{Floor: 0.01, FloorDF: 8}},
			clear, Open, 1,
		},
		{"two launches never give up", Question{
			Candidate: around(0, 2), Base: around(0, 2),
			Terms: Terms{Floor: 0.01, FloorDF: 8},
		}, clear, Open, 1},
		{"one arm passes", Question{Candidate: around(1, 3), Single: true}, usual, Passed, 1},
		{"one arm is screened", Question{Candidate: []float64{-0.3}, Single: true, Screen: 0.2877}, quick, Screened, 1},
	} {
		outcome, looks, err := Sequential(asked(c.q), c.d)
		if err != nil || outcome != c.want || len(looks) != c.looks {
			t.Errorf("%s: %s with %d looks (%v), want %s with %d", c.name, outcome, len(looks), err, c.want, c.looks)
		}
		for i, l := range looks {
			if last := i == len(looks)-1; l.Chance != 0 && last &&
				(outcome == Passed || outcome == Failed || l.N == c.d.Last()) {
				t.Errorf("%s: the deciding look has a chance: %+v", c.name, l)
			}
		}
	}
}

func TestTies(t *testing.T) {
	d := mustOffer(t, 3, 8, true)
	same := func(x float64, n int) []float64 { return slices.Repeat([]float64{x}, n) }
	for n, want := range map[int]Outcome{3: Open, 8: Ended} {
		q := asked(Question{Candidate: same(1, n), Base: same(0, n)})
		outcome, looks, err := Sequential(q, d)
		if err != nil || outcome != want {
			t.Fatal(outcome, err)
		}
		for _, l := range looks {
			low, high := q.Bounds(l, d)
			if l.PPass != 1 || l.PFail != 1 || l.DF != 0 || !math.IsInf(low, -1) || !math.IsInf(high, 1) ||
				l.Estimate != 1 {
				t.Errorf("ties have %+v between %v and %v", l, low, high)
			}
		}
	}
	for x, want := range map[float64]Outcome{1: Passed, -1: Failed} {
		for _, single := range []bool{false, true} {
			q := asked(Question{Candidate: same(x, 3), Base: same(0, 3), Single: single, Terms: Terms{Floor: 0.01}})
			if outcome, looks, err := Sequential(q, d); outcome != want || err != nil || looks[0].DF != 2 {
				t.Errorf("with a floor %v is %s %+v %v", x, outcome, looks, err)
			}
		}
	}
	// One arm without variation: all degrees of freedom are the other's.
	_, looks, err := Sequential(asked(Question{Candidate: around(1, 4), Base: same(0, 4)}), Design{Looks: []int{4}})
	if err != nil || math.Abs(looks[0].DF-3) > 1e-12 {
		t.Error(looks, err)
	}
}

// A floor may widen and never narrow: with it, no look shows more than without.
func TestFloorOnlyWidens(t *testing.T) {
	d := Design{Looks: []int{5}}
	rng := rand.New(rand.NewPCG(2, 9))
	for range 1000 {
		q := asked(Question{Candidate: make([]float64, 5), Base: make([]float64, 5), Single: rng.IntN(2) == 0})
		for i := range q.Candidate {
			q.Candidate[i], q.Base[i] = 2+math.Exp(3*rng.NormFloat64())*rng.NormFloat64(), rng.NormFloat64()
		}
		_, free, err := Sequential(q, d)
		q.Floor = math.Exp(2 * rng.NormFloat64())
		_, floored, again := Sequential(q, d)
		if err != nil || again != nil {
			t.Fatal(err, again)
		}
		a, b := free[0], floored[0]
		low, high := q.Bounds(b, d)
		if freeLow, freeHigh := q.Bounds(a, d); low > freeLow || high < freeHigh {
			t.Fatalf("the floor %v narrows the bounds %v and %v to %v and %v", q.Floor, freeLow, freeHigh, low, high)
		}
		if b.SE < a.SE || b.DF != a.DF || math.Abs(b.T) > math.Abs(a.T) || b.Estimate != a.Estimate {
			t.Fatalf("the floor %v narrows %+v to %+v", q.Floor, a, b)
		}
	}
}

// The bounds are those thresholds at which the look would just decide.
func TestBounds(t *testing.T) {
	cases := []Question{
		{Candidate: []float64{1, 1.3, 0.9, 1.2}, Base: []float64{0, 0.1, 0.05, 0.02}},
		{Candidate: []float64{1, 1.3, 0.9, 1.2}, Single: true},
		{Candidate: []float64{1, 1.3, 0.9, 1.2}, Base: []float64{0, 0.1, 0.05, 0.02}, Terms: Terms{Gap: 2}},
		{Candidate: []float64{1, 1.3, 0.9, 1.2}, Single: true, Terms: Terms{Gap: 2}},
		{
			Candidate: []float64{1, 1.001}, Base: []float64{0, 0.001},
			Terms: Terms{Floor: 0.001, FloorDF: 8, Gap: UsualGap},
		},
		{Candidate: []float64{1, 1.01}, Base: []float64{0, 0.01}, Terms: Terms{Floor: 0.01, FloorDF: 8}},
	}
	for _, q := range cases {
		q = asked(q)
		d := Design{Looks: []int{len(q.Candidate)}}
		_, looks, err := Sequential(q, d)
		if err != nil {
			t.Fatal(err)
		}
		if l, err := q.At(len(q.Candidate)); err != nil || l.Estimate != looks[0].Estimate || l.SE != looks[0].SE ||
			l.DF != looks[0].DF || l.T != looks[0].T {
			t.Errorf("one look is %+v, %v, want that of the test, %+v", l, err, looks[0])
		}
		low, high := q.Bounds(looks[0], d)
		for theta, want := range map[float64]Outcome{
			low - 1e-9: Passed, low + 1e-9: Ended, high - 1e-9: Ended,
			high + 1e-9: Failed,
		} {
			q.Theta = theta
			if got, _, _ := Sequential(q, d); got != want {
				t.Errorf("at %v it %s, want %s", theta, got, want)
			}
		}
	}
}

// A single look is refused like a test with one look.
func TestAt(t *testing.T) {
	if l, err := (&Question{
		Candidate: []float64{1, math.NaN()}, Base: []float64{1, 2},
		Terms: Terms{Pass: 0.01, Fail: 0.01},
	}).At(2); err == nil || l.DF != 0 {
		t.Errorf("a value that is not finite is looked at: %+v", l)
	}
}

// Neither quantity nor unit matters: neither very small nor very large numbers lose their decision.
func TestScale(t *testing.T) {
	d := mustOffer(t, 3, 8, true)
	for _, scale := range []float64{1e-150, 1e-9, 1e9, 1e150} {
		q := asked(Question{Candidate: around(1, 3), Base: around(0, 3), Terms: Terms{Theta: 0.5 * scale}})
		for i := range q.Candidate {
			q.Candidate[i] *= scale
			q.Base[i] *= scale
		}
		outcome, looks, err := Sequential(q, d)
		if err != nil || outcome != Passed {
			t.Fatalf("%g: %s %+v %v", scale, outcome, looks, err)
		}
		near(t, "degrees of freedom", looks[0].DF, 4, 1e-9)
	}
}

func TestNothingIsDecidedOfNonsense(t *testing.T) {
	good, d := asked(Question{Candidate: around(1, 3), Base: around(0, 3)}), mustOffer(t, 3, 8, true)
	for name, change := range map[string]func(*Question, *Design){
		"empty candidate":  func(q *Question, _ *Design) { q.Candidate = nil },
		"empty base":       func(q *Question, _ *Design) { q.Base = nil },
		"NaN":              func(q *Question, _ *Design) { q.Candidate[2] = math.NaN() },
		"NaN past a look":  func(q *Question, _ *Design) { q.Base = append(q.Base, math.NaN()) },
		"infinite":         func(q *Question, _ *Design) { q.Base[0] = math.Inf(-1) },
		"overflow":         func(q *Question, _ *Design) { q.Base[0], q.Base[1] = math.MaxFloat64, math.MaxFloat64 },
		"spread overflows": func(q *Question, _ *Design) { q.Base[0], q.Base[1] = math.MaxFloat64, -math.MaxFloat64 },
		"threshold":        func(q *Question, _ *Design) { q.Theta = math.NaN() },
		"floor":            func(q *Question, _ *Design) { q.Floor = -1 },
		"floor DF":         func(q *Question, _ *Design) { q.FloorDF = math.NaN() },
		"gap NaN":          func(q *Question, _ *Design) { q.Gap = math.NaN() },
		"gap":              func(q *Question, _ *Design) { q.Gap = -1 },
		"huge floor":       func(q *Question, _ *Design) { q.Floor = 1e200 },
		"no level":         func(q *Question, _ *Design) { q.Pass = 0 },
		"level NaN":        func(q *Question, _ *Design) { q.Fail = math.NaN() },
		"level of 1":       func(q *Question, _ *Design) { q.Fail = 1 },
		"no looks":         func(_ *Question, d *Design) { d.Looks = nil },
		"look at 0":        func(_ *Question, d *Design) { d.Looks = []int{0, 3} },
		"looks descend":    func(_ *Question, d *Design) { d.Looks = []int{3, 3} },
	} {
		q, bad := good, d
		q.Candidate, q.Base = append([]float64(nil), good.Candidate...), append([]float64(nil), good.Base...)
		change(&q, &bad)
		if outcome, looks, err := Sequential(q, bad); err == nil || outcome != Open || looks != nil {
			t.Errorf("%s: %s %+v %v", name, outcome, looks, err)
		}
	}
	if _, _, err := Sequential(asked(Question{Base: around(0, 3)}), d); !errors.Is(err, errEmpty) {
		t.Error(err)
	}
}

// worked is testdata/sequential.json: cases calculated by another program, with which the design was calibrated.
type worked struct {
	Golden []struct {
		Name                string
		Baseline, Candidate []float64
		Threshold           float64
		Est                 float64 `json:"est_pct"`
		Lower               float64 `json:"lower_pct"`
		Upper               float64 `json:"upper_pct"`
		SE                  float64 `json:"se_log"`
		DF                  float64
		PPass               float64 `json:"p_pass"`
		PFail               float64 `json:"p_fail"`
		Chance              float64 `json:"projected_chance"`
		Verdict             string
	}
	Boundary   []expected           `json:"boundary_by_sd_ratio"`
	OC         []expected           `json:"oc_equal_sd"`
	K          map[string][]float64 `json:"k_pass80_pass90_fail80_fail90"`
	TQuantiles map[string]float64   `json:"t_quantiles"`
}

// expected are rates of outcomes and mean launches of both arms together; Gap is the distance from the threshold in
// standard deviations, or the ratio of the candidate's standard deviation to the base's.
type expected struct{ Gap, Pass, Fail, Inc, Launches float64 }

func readWorked(t *testing.T) worked {
	t.Helper()
	var w worked
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("testdata/sequential.json"))(t), &w))
	if len(w.Golden) != 6 || len(w.Boundary) != 8 || len(w.OC) != 15 || len(w.K) != 4 || len(w.TQuantiles) != 16 {
		t.Fatalf("the worked cases are incomplete: %+v", w)
	}
	return w
}

func TestSequentialAgainstWorkedCases(t *testing.T) {
	// The verdicts were calculated for the last look only.
	for _, c := range readWorked(t).Golden {
		t.Run(c.Name, func(t *testing.T) {
			d := mustOffer(t, 3, 8, true)
			d.Looks = []int{len(c.Baseline), 8}
			q := Question{
				Candidate: logs(c.Candidate), Base: logs(c.Baseline),
				Terms: Terms{Theta: math.Log1p(c.Threshold), Pass: d.Pass, Fail: d.Fail},
			}
			outcome, looks, err := Sequential(q, d)
			if err != nil || len(looks) != 1 {
				t.Fatal(outcome, looks, err)
			}
			l := looks[0]
			low, high := q.Bounds(l, d)
			near(t, "estimate", 100*math.Expm1(l.Estimate), c.Est, 1e-9)
			near(t, "low", 100*math.Expm1(low), c.Lower, 1e-7)
			near(t, "high", 100*math.Expm1(high), c.Upper, 1e-7)
			near(t, "standard error", l.SE, c.SE, 1e-12)
			near(t, "degrees of freedom", l.DF, c.DF, 1e-9)
			near(t, "p of pass", l.PPass, c.PPass, 1e-9*c.PPass)
			near(t, "p of fail", l.PFail, c.PFail, 1e-9*c.PFail)
			near(t, "chance", l.Chance, c.Chance, 1e-9)
			diff, err := Differ(c.Candidate, c.Baseline, true, false)
			if err != nil || !diff.Bounded {
				t.Fatal(err, diff)
			}
			near(t, "estimate by itself", diff.Estimate, l.Estimate, 1e-12)
			near(t, "its standard error", diff.SE, c.SE, 1e-12)
			near(t, "its degrees of freedom", diff.DF, c.DF, 1e-9)
			near(t, "middle", (diff.Low+diff.High)/2, diff.Estimate, 1e-12)
			want := map[string][]Outcome{"PASS": {Passed}, "FAIL": {Failed}, "INCONCLUSIVE": {Open, Futile}}[c.Verdict]
			if outcome != want[0] && outcome != want[len(want)-1] ||
				(outcome == Futile) != (c.Verdict == "INCONCLUSIVE" && c.Chance < 0.05) {
				t.Errorf("%s with chance %.3f, want %s", outcome, l.Chance, c.Verdict)
			}
		})
	}
}

func TestQuantilesAgainstTables(t *testing.T) {
	for name, want := range readWorked(t).TQuantiles {
		p, df, _ := strings.Cut(strings.Trim(name, "t()"), ",")
		level, err1 := strconv.ParseFloat(p, 64)
		nu, err2 := strconv.ParseFloat(df, 64)
		if err1 != nil || err2 != nil {
			t.Fatal(name)
		}
		near(t, name, Quantile(level, nu), want, 1e-8)
		near(t, "tail at "+name, tail(want, nu), level, 1e-10)
	}
}
