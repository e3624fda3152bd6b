package nights

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// rules is how many rules of −3% each night has, as of two workloads' tg, pp and one ttft.
const rules = 5

// year simulates a watch: the tests of each session are those of every gate, with the noise of launches on
// record, and what follows is decided by this package.
type year struct {
	// speed is a night's engine, in logs against the anchor. All rules read it.
	speed func(night int) float64
	// sd is of a launch, in logs, of each metric.
	sd  float64
	rng *rand.Rand
	// usual and again are the designs of a first and a second session.
	usual, again stats.Design

	state  State
	last   float64 // speed of last good
	alarms []int
	// noticed is the first night on which a metric was said to have become worse within the rules; 0 for none.
	noticed                     int
	undecided, launches, nights int
}

const margin = -0.03

func newYear(t *testing.T, seed uint64, sd float64, speed func(int) float64) *year {
	y := &year{speed: speed, sd: sd, rng: rand.New(rand.NewPCG(seed, 59))}
	y.usual = must.Get(stats.DesignFor(0.01, 0.05, 2, 8, stats.TwoLaunches))(t)
	y.again = must.Get(stats.DesignFor(0.01, AgainFail, 2, 8, stats.TwoLaunches))(t)
	y.state = State{Good: version(0), Anchor: version(0)}
	return y
}

func version(night int) ledger.Version { return ledger.Version{ID: fmt.Sprintf("v%d", night)} }

// session compares two speeds by all rules, as gates.Decide shares the error budget among them.
func (y *year) session(a Ask, candidate, base float64) Session {
	design := y.usual
	if a.Again {
		design = y.again
	}
	s := Session{Against: a.Against, Again: a.Again, Verdict: verdict.Pass}
	most := 0
	for r := range rules {
		q := stats.Question{
			Candidate: make([]float64, design.Last()), Base: make([]float64, design.Last()),
			Terms: stats.Terms{
				Theta: math.Log1p(margin), Pass: design.Pass, Fail: design.Fail / rules, Floor: y.sd, FloorDF: 16,
				Gap: stats.UsualGap,
			},
		}
		for i := range q.Candidate {
			q.Candidate[i], q.Base[i] = candidate+y.sd*y.rng.NormFloat64(), base+y.sd*y.rng.NormFloat64()
		}
		outcome, looks, err := stats.Sequential(q, design)
		if err != nil {
			panic(err)
		}
		last := looks[len(looks)-1]
		most = max(most, last.N)
		low, high := q.Bounds(last, design)
		s.Effects = append(s.Effects, Effect{
			Metric: fmt.Sprint("m", r), Sign: 1, Is: last.Estimate, Low: low, High: high, Margin: math.Log1p(margin),
		})
		switch outcome {
		case stats.Passed:
		case stats.Failed, stats.Screened:
			s.Verdict = verdict.Fail
		default:
			if s.Verdict == verdict.Pass {
				s.Verdict = verdict.Inconclusive
			}
		}
	}
	y.launches += 2 * most
	return s
}

// night is one night with a new version.
func (y *year) night(n int) ledger.NightOutcome {
	t := Tonight{Candidate: version(n), Anchor: y.state.Anchor, Machine: "one"}
	is := y.speed(n)
	for {
		ask, outcome := y.state.Next(t, 7)
		if ask == nil {
			of := ledger.Watched{Night: &ledger.Night{
				Candidate: t.Candidate, Good: y.state.Good, Anchor: t.Anchor, Machine: t.Machine, Outcome: outcome,
			}}
			y.state = y.state.After(of, t.Sessions)
			switch y.nights++; outcome {
			case ledger.NightAlarm:
				y.alarms = append(y.alarms, n)
			case ledger.NightMoved:
				y.last = is
			case ledger.NightUndecided:
				y.undecided++
			}
			if y.noticed == 0 && len(y.state.Shifted()) > 0 {
				y.noticed = n
			}
			return outcome
		}
		base := 0.0
		if ask.Against == ledger.AgainstGood {
			base = y.last
		}
		t.Sessions = append(t.Sessions, y.session(*ask, is, base))
	}
}

// run goes through nights until one has an alarm, if first is set.
func (y *year) run(nights int, first bool) *year {
	for n := 1; n <= nights; n++ {
		if y.night(n) == ledger.NightAlarm && first {
			break
		}
	}
	return y
}

func (y *year) perNight() float64 { return float64(y.launches) / float64(y.nights) }

// times is how many years are simulated.
func times() int {
	if os.Getenv("MXFLOW_TEST_LONG") != "" {
		return 1000
	}
	return 12
}

var noises = []float64{0.003, 0.005, 0.01, 0.023}

// TestUnchanged: an engine that does not change has at most one false alarm in 365 nights.
func TestUnchanged(t *testing.T) {
	for _, sd := range noises {
		var alarms, undecided, noticed, launches float64
		n := float64(times())
		for i := range times() {
			y := newYear(t, uint64(i), sd, func(int) float64 { return 0 }).run(365, false)
			alarms += float64(len(y.alarms)) / n
			undecided += float64(y.undecided) / 365 / n
			launches += y.perNight() / n
			if y.noticed > 0 {
				noticed += 1 / n
			}
		}
		t.Logf("launches differ by %.1f%%: %.4f alarms a year, %.0f%% of years with a notice, %.1f%% of nights "+
			"undecided, %.0f launches a night", 100*sd, alarms, 100*noticed, 100*undecided, launches)
		if alarms > 1 {
			t.Errorf("%g: %.2f false alarms a year", sd, alarms)
		}
	}
}

// TestFound: after how many nights a step or a drift is an alarm, or is noticed.
func TestFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		speed func(night int) float64
	}{
		{"step of -5%", func(n int) float64 { return step(n, -0.05) }},
		{"step of -4%", func(n int) float64 { return step(n, -0.04) }},
		{"step of -2%", func(n int) float64 { return step(n, -0.02) }},
		{"drift of -0.5% a week", func(n int) float64 { return float64(n) * math.Log1p(-0.005) / 7 }},
	} {
		for _, sd := range noises {
			var found, noticed []float64
			for i := range times() {
				y := newYear(t, uint64(i), sd, c.speed).run(120, true)
				at, seen := 999.0, 999.0
				if len(y.alarms) > 0 {
					at = float64(y.alarms[0])
				}
				if y.noticed > 0 {
					seen = float64(y.noticed)
				}
				found, noticed = append(found, at), append(noticed, seen)
			}
			t.Logf("%-22s %.1f%%: alarm %v, noticed %v", c.name, 100*sd, quantiles(found), quantiles(noticed))
		}
	}
}

// change is when a step comes.
const change = 8

func step(n int, by float64) float64 {
	if n < change {
		return 0
	}
	return math.Log1p(by)
}

func quantiles(x []float64) string {
	slices.Sort(x)
	at := func(q float64) float64 { return x[min(len(x)-1, int(q*float64(len(x))))] }
	return fmt.Sprintf("%.0f %.0f %.0f", at(0.5), at(0.9), at(0.95))
}
