package bisect

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// simulated candidates have a speed each, in logs, and launches that vary by one standard
// deviation of one size. What is found of them is decided by the test of every gate.
type simulated struct {
	speed    []float64
	broken   map[int]bool
	rng      *rand.Rand
	design   stats.Design
	launches int
	// sd is of a launch.
	sd float64
}

// compare decides whether one is at least theta above other, in logs.
func (s *simulated) compare(one, other int, theta float64, lean bool) Finding {
	if s.broken[one] {
		return Finding{State: Skipped}
	}
	n := s.design.Last()
	q := stats.Question{
		Candidate: make([]float64, n), Base: make([]float64, n),
		Terms: stats.Terms{Theta: theta, Pass: s.design.Pass, Fail: s.design.Fail},
	}
	for i := range n {
		q.Candidate[i] = s.speed[one] + s.sd*s.rng.NormFloat64()
		q.Base[i] = s.speed[other] + s.sd*s.rng.NormFloat64()
	}
	outcome, looks, err := stats.Sequential(q, s.design)
	if err != nil {
		panic(err)
	}
	last := looks[len(looks)-1]
	s.launches += 2 * last.N
	gain := math.Expm1(last.Estimate)
	f := Finding{State: Unclear, Gain: &gain}
	switch outcome {
	case stats.Passed:
		f.State = LikeGood
	case stats.Failed, stats.Screened:
		f.State = LikeBad
	default:
		if lean {
			f.State = Lean(last.PPass, last.PFail)
		}
	}
	return f
}

func (s *simulated) Ends(context.Context) (Finding, error) {
	return s.compare(len(s.speed)-1, 0, math.Log1p(-0.03), false), nil
}

func (s *simulated) Side(_ context.Context, i int, gain float64) (Finding, error) {
	return s.compare(i, 0, math.Log1p(gain), true), nil
}

func (s *simulated) Step(_ context.Context, parent, child int) (Finding, error) {
	return s.compare(child, parent, 0, false), nil
}

// TestErrorRates: of searches with one change, at most one in twenty names another candidate,
// whatever their number and the size of the change. The rule is that bad is at most 3% slower;
// with a change of 10%, launches vary by 10% to 1%.
func TestErrorRates(t *testing.T) {
	design, err := stats.DesignFor(0.01, 0.05, 2, 8, stats.Unrecorded)
	must.Do(t, err)
	times := 60
	if os.Getenv("MXFLOW_TEST_LONG") != "" {
		times = 4000
	}
	const change = -0.10
	for _, n := range []int{16, 64, 256, 1024, 4096} {
		for _, effect := range []float64{1, 2, 3, 5, 10} {
			rng := rand.New(rand.NewPCG(uint64(n), uint64(effect)))
			var found, wrong, launches float64
			for range times {
				culprit := 1 + rng.IntN(n)
				s := &simulated{speed: make([]float64, n+1), rng: rng, design: design, sd: -math.Log1p(change) / effect}
				for i := culprit; i <= n; i++ {
					s.speed[i] = math.Log1p(change)
				}
				a, err := Search(t.Context(), n+1, s)
				must.Do(t, err)
				launches += float64(s.launches) / float64(times)
				switch {
				case (a.Outcome == Found || a.Outcome == Between) && (culprit <= a.Parent || culprit > a.Child):
					wrong += 1 / float64(times)
				case a.Outcome == Found:
					found += 1 / float64(times)
				}
			}
			t.Logf("%4d candidates, %2.0f SD: found %5.1f%%, wrong %.2f%%, %.0f launches", n, effect, 100*found,
				100*wrong, launches)
			if wrong > 0.05 {
				t.Errorf("%d candidates, %g SD: wrong in %.1f%%", n, effect, 100*wrong)
			}
			if effect == 10 && found < 0.9 {
				t.Errorf("%d candidates, %g SD: found in only %.1f%%", n, effect, 100*found)
			}
		}
	}
}

// exact candidates are measured without noise.
func exact(speeds ...float64) *simulated {
	design, _ := stats.DesignFor(0.01, 0.05, 2, 8, stats.Unrecorded)
	return &simulated{speed: speeds, broken: map[int]bool{}, rng: rand.New(rand.NewPCG(1, 1)), design: design, sd: 1e-4}
}

func TestSearch(t *testing.T) {
	down := math.Log(0.9)
	broken := func(s *simulated, candidates ...int) *simulated {
		for _, i := range candidates {
			s.broken[i] = true
		}
		return s
	}
	middle := func() *simulated { return exact(0, 0, 0, 0, down, down, down, down, down) }
	for _, c := range []struct {
		name          string
		s             *simulated
		outcome       Outcome
		parent, child int
	}{
		{"one change", exact(0, 0, 0, down, down, down, down, down), Found, 2, 3},
		{"two candidates", exact(0, down), Found, 0, 1},
		{"no change", exact(0, 0, 0, 0, 0), Same, 0, 4},
		{"the first is it", exact(0, down, down, down, down), Found, 0, 1},
		{"the last is it", exact(0, 0, 0, 0, down), Found, 3, 4},
		{"two steps, the larger", exact(0, 0, down/3, down/3, down/3, down, down, down), Found, 4, 5},
		{"what does not build around the change leaves a range", broken(middle(), 3, 4, 5), Between, 2, 6},
		{"elsewhere, its neighbour is taken", broken(middle(), 2, 6), Found, 3, 4},
		{"went and came back in part", exact(0, 2*down, down, down, down, down, down, down), Found, 0, 1},
	} {
		a, err := Search(t.Context(), len(c.s.speed), c.s)
		if err != nil || a.Outcome != c.outcome || a.Parent != c.parent || a.Child != c.child {
			t.Errorf("%s: %+v, %v", c.name, a, err)
		}
	}
	s := exact(0, down, down)
	s.broken = map[int]bool{2: true}
	if a, _ := Search(t.Context(), 3, s); a.Outcome != Open || len(a.Findings) != 1 {
		t.Errorf("a bad end that does not build: %+v", a)
	}
}

func TestMost(t *testing.T) {
	for n, want := range map[int]int{2: 2, 3: 3, 5: 4, 17: 6, 65: 8, 4097: 14} {
		must.Equal(t, n, Most(n), want)
		s := exact(make([]float64, n)...)
		for i := 1; i < n; i++ {
			s.speed[i] = math.Log(0.9)
		}
		if a, err := Search(t.Context(), n, s); err != nil || len(a.Findings)+1 > want {
			t.Errorf("%d candidates took %d comparisons: %v", n, len(a.Findings)+1, fmt.Sprint(err))
		}
	}
}
