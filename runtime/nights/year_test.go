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

// times is how many years are simulated of each.
func times() int {
	if os.Getenv("MXFLOW_TEST_LONG") != "" {
		return 100
	}
	return 3
}

// noises are how much launches differ: 0.5% is an engine on a GPU on record, 2.3% a disturbed machine.
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
			launches += float64(y.launches) / float64(y.nights) / n
			if y.noticed > 0 {
				noticed += 1 / n
			}
		}
		t.Logf("launches differ by %.1f%%: %.2f alarms a year, %.0f%% of years with a notice, %.1f%% of nights "+
			"undecided, %.0f launches a night", 100*sd, alarms, 100*noticed, 100*undecided, launches)
		if alarms > 1 {
			t.Errorf("%g: %.2f false alarms a year", sd, alarms)
		}
	}
}

// never is the night of what was not found.
const never = 999

// TestFound: how many nights after a step, or after the first of a drift, there is an alarm or a notice, of 95
// in 100.
func TestFound(t *testing.T) {
	step := func(by float64) func(int) float64 {
		return func(n int) float64 {
			if n < change {
				return 0
			}
			return math.Log1p(by)
		}
	}
	drift := func(n int) float64 { return float64(n-change+1) * math.Log1p(-0.005) / 7 }
	for _, c := range []struct {
		name  string
		speed func(night int) float64
		// alarm and notice are the most nights for each of noises; 0 for no claim.
		alarm, notice [4]int
	}{
		{"step of -5%", step(-0.05), [4]int{1, 1, 2, 0}, [4]int{}},
		{"step of -4%", step(-0.04), [4]int{1, 3, 0, 0}, [4]int{}},
		{"step of -2%", step(-0.02), [4]int{}, [4]int{14, 7, 45, 0}},
		{"drift of -0.5% a week", drift, [4]int{57, 57, 0, 0}, [4]int{57, 57, 57, 0}},
	} {
		for i, sd := range noises {
			var alarms, notices []int
			for seed := range times() {
				y := newYear(t, uint64(seed), sd, c.speed).run(130, true)
				alarm, notice := never, never
				if len(y.alarms) > 0 {
					alarm = y.alarms[0] - change + 1
				}
				if y.noticed > 0 {
					notice = y.noticed - change + 1
				}
				alarms, notices = append(alarms, alarm), append(notices, min(notice, alarm))
			}
			alarm, notice := most(alarms), most(notices)
			t.Logf("%-22s launches differ by %.1f%%: alarm within %3d nights, said within %3d", c.name, 100*sd,
				alarm, notice)
			if c.alarm[i] > 0 && alarm > c.alarm[i] || c.notice[i] > 0 && notice > c.notice[i] {
				t.Errorf("%s at %g: %d and %d nights, want %d and %d", c.name, sd, alarm, notice,
					c.alarm[i], c.notice[i])
			}
		}
	}
}

// change is the night on which a step comes, or a drift begins.
const change = 8

// most is what 95 of 100 are at most.
func most(nights []int) int {
	slices.Sort(nights)
	return nights[len(nights)*95/100]
}
