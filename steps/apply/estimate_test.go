package apply

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// made is a launch on record.
func made(id, variant, purpose, work string, start, seconds float64) *ledger.Launch {
	return &ledger.Launch{
		ID: id, Node: "node", Purpose: purpose, VariantKey: variant, Work: work, Seconds: seconds, OK: true,
		Engine:  map[string]string{"kind": "vllm", "command": "vllm serve org/model --port 1"},
		Metrics: map[string]measure.Summary{"engine.startup_s": {Stats: map[string]float64{"median": start}}},
	}
}

func toMake(variant, purpose, work, model string, pace float64) piece {
	return piece{Launch: runtime.Launch{
		VariantKey: variant, Engine: "vllm", Model: model, Purpose: purpose, Work: work,
		Sure: true,
	}, node: "node", pace: pace, beside: 1}
}

// TestMedian: what is like a launch says how long it takes, less than that how long a start
// takes, and nothing makes numbers up.
func TestMedian(t *testing.T) {
	k := &LaunchHistory{}
	for i, l := range []*ledger.Launch{
		made("q", "v1", "qualification", "", 60, 62),
		made("a", "v1", "benchmark", "w", 60, 100), made("b", "v1", "benchmark", "w", 60, 104),
		{ID: "broken", VariantKey: "v3", Purpose: "benchmark", Seconds: 3, Engine: map[string]string{"kind": "vllm"}},
	} {
		if k.add(l); len(k.all) != min(i+1, 3) {
			t.Errorf("%s: %d are known", l.ID, len(k.all))
		}
	}
	soaks := toMake("v1", "qualification", "", "org/model", 600)
	soaks.Paced = 600
	beside := toMake("v1", "benchmark", "w", "org/model", 0)
	beside.beside = 4
	for _, c := range []struct {
		name    string
		l       piece
		seconds float64
		known   bool
	}{
		{"as it was launched", toMake("v1", "benchmark", "w", "org/model", 0), 102, true},
		{"no faster than its clock", toMake("v1", "benchmark", "w", "org/model", 300), 300, true},
		{"another variant", toMake("v2", "benchmark", "w", "org/model", 0), 102, true},
		{"the agreement asks less", toMake("v2", "agreement", "", "org/model", 0), 102, true},
		{"another load: a start", toMake("v1", "benchmark", "w2", "org/model", 0), 60, false},
		{"and what its clock says", toMake("v1", "benchmark", "w2", "org/model", 600), 660, false},
		{"another model", toMake("v4", "benchmark", "w", "org/other", 0), 0, false},
		{"a soak that was declared since", soaks, 662, true},
		{"side by side", beside, 25.5, true},
	} {
		if seconds, known := k.median(c.l); seconds != c.seconds || known != c.known {
			t.Errorf("%s: %v s, %v", c.name, seconds, known)
		}
	}
	k.add(made("soaked", "v1", "qualification", "", 60, 665))
	k.add(made("soaked", "v1", "qualification", "", 60, 665))
	if seconds, _ := k.median(soaks); seconds != 665 {
		t.Errorf("a soak that was seen: %v s", seconds)
	}
	// One launch of which nothing is known leaves the end open.
	e := k.of([]piece{toMake("v1", "benchmark", "w", "org/model", 0), toMake("v4", "benchmark", "w", "org/other", 0)})
	if e.Low == 0 || e.High != 0 || e.Launches != 2 || e.Least != 2 {
		t.Errorf("%+v", e)
	}
}

// The range holds in 9 of 10 applies, however few launches it rests on, as much as they
// differ, and wherever the rules stop.
func TestRangeHolds(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, sd := range []float64{0.02, 0.1, 0.25} {
		for _, before := range []int{1, 2, 4, 12} {
			name, holds := fmt.Sprintf("%d launches that differ by %v", before, sd), 0
			const applies = 200
			for range applies {
				seconds := func(mean float64) float64 { return mean * math.Exp(sd*draw.NormFloat64()) }
				k := &LaunchHistory{}
				for range before {
					k.add(made("", "a", "benchmark", "w", 60, seconds(100)))
					k.add(made("", "b", "benchmark", "w", 60, seconds(70)))
				}
				var pieces []piece
				stop, launchTime := 4+4*draw.IntN(2), 0.0
				for round := range 8 {
					for variant, mean := range map[string]float64{"a": 100, "b": 70} {
						l := toMake(variant, "benchmark", "w", "org/model", 0)
						l.Sure = round < 4
						if pieces = append(pieces, l); round < stop {
							launchTime += seconds(mean)
						}
					}
				}
				if e := k.of(pieces); e.Low <= launchTime && launchTime <= e.High {
					holds++
				}
			}
			if share := float64(holds) / applies; share < 0.9 {
				t.Errorf("%s: the range holds in %.1f%%", name, 100*share)
			}
		}
	}
}

// The clock counts what is left: what is made again once, nothing of a node that is
// decided or locked, and a launch that a sibling planned.
func TestClock(t *testing.T) {
	launches := map[string]*ledger.Launch{}
	c := newClock(&LaunchHistory{}, []piece{
		toMake("a", "benchmark", "w", "org/model", 0), toMake("b", "benchmark", "w", "org/model", 0),
		{Launch: toMake("b", "benchmark", "w", "org/model", 0).Launch, node: "sibling", beside: 1},
		{Launch: toMake("z", "benchmark", "w", "org/model", 0).Launch, node: "locked", beside: 1},
	}, func(id string) (*ledger.Launch, bool) { l, ok := launches[id]; return l, ok })
	for i, step := range []struct {
		ev         runtime.Event
		launch     *ledger.Launch
		made, left int
		eta, least bool
	}{
		{ev: runtime.Event{Type: "launch_started"}, left: 4},
		{runtime.Event{Type: "launch_done"}, made("1", "a", "benchmark", "w", 5, 9), 1, 3, true, true},
		{runtime.Event{Type: "launch_done", Again: 1}, made("2", "a", "benchmark", "w", 5, 9), 1, 3, true, true},
		{runtime.Event{Type: "launch_done"}, made("3", "b", "benchmark", "w", 5, 9), 2, 2, true, true},
		{runtime.Event{Type: "launch_done"}, made("4", "b", "benchmark", "w", 5, 9), 3, 1, true, true},
		{runtime.Event{Type: "node_locked", Node: "locked"}, nil, 3, 0, false, false},
	} {
		if step.launch != nil {
			launches[step.launch.ID], step.ev.LaunchID = step.launch, step.launch.ID
		}
		if ev := c.at(step.ev); ev.Made != step.made || ev.Left != step.left || (ev.ETA > 0) != step.eta ||
			(ev.ETALeast > 0) != step.least {
			t.Errorf("step %d: %+v", i, ev)
		}
	}
}

// TestSideBySide: no more launches run beside each other than there are places or rounds left,
// and one launch after the other where an engine has one place.
func TestSideBySide(t *testing.T) {
	for _, c := range []struct {
		rounds, slots int
		alone         bool
		want          int
	}{{8, 0, false, 1}, {8, 1, false, 1}, {8, 4, false, 4}, {4, 8, false, 4}, {1, 4, false, 1}, {4, 4, true, 1}} {
		p := &plans.Plan{Executor: &plans.Executor{Kind: plans.LocalExecutor, Slots: c.slots}}
		launches := slices.Repeat([]runtime.Launch{{VariantKey: "v", Purpose: ledger.ForBenchmark, Alone: c.alone}},
			c.rounds)
		for _, l := range piecesOf(p, []*runtime.State{{Node: &runtime.Node{ID: "n"}, Launches: launches}}) {
			must.Equal(t, c, l.beside, c.want)
		}
	}
}

// TestTimeLeft: over a first apply of two features, from the second launch on the whole takes
// half to twice as long as said in 9 of 10 cases.
func TestTimeLeft(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	for _, sd := range []float64{0.02, 0.1, 0.25} {
		const applies = 20
		held, known := 0, 0
		for range applies {
			var plan []piece
			var made []*ledger.Launch
			for feature, mean := range []float64{30, 12} {
				variants := map[string]float64{"base": 60, fmt.Sprint("port", feature): mean}
				stop := 4 + 2*draw.IntN(3)
				for round := range 8 {
					for v, seconds := range variants {
						l := toMake(v, "benchmark", "w", "org/model", 0)
						l.Variant, l.node, l.Sure = v, fmt.Sprint("node", feature), round < 4
						plan = append(plan, l)
						if round < stop {
							made = append(made, madeBy(l, seconds*math.Exp(sd*draw.NormFloat64())))
						}
					}
				}
				made = append(made, nil) // the node ends
			}
			at, total, node := 0.0, 0.0, 0
			for _, l := range made {
				if l != nil {
					total += l.Seconds
				}
			}
			by := map[string]*ledger.Launch{}
			c := newClock(&LaunchHistory{}, plan, func(id string) (*ledger.Launch, bool) {
				return by[id], by[id] != nil
			})
			see := func(ev runtime.Event) {
				ev.Elapsed = at
				ev = c.timed(ev)
				if ev.ETA > 0 && ev.Type == "launch_started" {
					if known++; at+ev.ETA <= 2*total && at+ev.ETA >= total/2 {
						held++
					}
				}
			}
			for i, l := range made {
				if l == nil {
					see(runtime.Event{Type: "node_done", Node: fmt.Sprint("node", node)})
					node++
					continue
				}
				l.ID = fmt.Sprint(i)
				by[l.ID] = l
				see(runtime.Event{Type: "launch_started", Variant: l.Variant, Level: l.Purpose})
				at += l.Seconds
				see(runtime.Event{Type: "launch_done", LaunchID: l.ID, Seconds: l.Seconds})
			}
		}
		if share := float64(held) / float64(known); share < 0.9 {
			t.Errorf("sd %v: the whole was within a factor of two at %.1f%% of %d launches", sd, 100*share, known)
		} else {
			t.Logf("sd %v: within a factor of two at %.1f%% of %d launches", sd, 100*share, known)
		}
	}
}

// madeBy is the launch that a piece becomes.
func madeBy(p piece, seconds float64) *ledger.Launch {
	l := made("", p.VariantKey, p.Purpose, p.Work, 1, seconds)
	l.Variant, l.Node = p.Variant, p.node
	return l
}
