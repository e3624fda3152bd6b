package gates

import (
	"math"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
)

// TestBadLaunches: what is wrong with the launches decides nothing, is said, and
// asks for more launches only where they can mend it.
func TestBadLaunches(t *testing.T) {
	unit := func(a *Arm, i int, unit string) {
		s := a.Launches[i].Metrics["chat.tg"]
		s.Unit = unit
		a.Launches[i].Metrics["chat.tg"] = s
	}
	correction := func(a *Arm, i int, mode string) {
		s := a.Launches[i].Metrics["chat.tg"]
		s.Correction = mode
		a.Launches[i].Metrics["chat.tg"] = s
	}
	for _, c := range []struct {
		name, rule string
		change     func(f *Feature)
		want       verdict.Verdict
		open       bool
		says       string
	}{
		{"launches missing from one arm", "chat.tg.gain >= 0.1", func(f *Feature) { f.Candidate.Launches = f.Candidate.Launches[:3] }, "inconclusive", true, "3 launches an arm, and the first look is at 4; without a launch of the other arm beside it, and not counted: baseline.4"},
		{"launches of other rounds", "chat.tg.gain >= 0.1", func(f *Feature) {
			f.Candidate.Launches = f.Candidate.Launches[1:]
			f.Parent.Launches = f.Parent.Launches[:3]
		}, "inconclusive", true, "2 launches an arm, and the first look is at 4; without a launch of the other arm beside it, and not counted: f.4 and baseline.1"},
		{"no launch beside another", "chat.tg.gain >= 0.1", func(f *Feature) {
			f.Candidate.Launches = f.Candidate.Launches[2:]
			f.Parent.Launches = f.Parent.Launches[:2]
		}, "inconclusive", true, "0 launches an arm"},
		{"a round twice", "chat.tg.gain >= 0.1", func(f *Feature) { f.Candidate.Launches[3].Round = 3 }, "invalid", false, "f has two launches of round 3, f.3 and f.4"},
		{"a base's round twice", "chat.tg.gain >= 0.1", func(f *Feature) { f.Parent.Launches[0].Round = 3 }, "invalid", false, "baseline has two launches of round 3, baseline.1 and baseline.3"},
		{"no launch", "chat.tg >= 1", func(f *Feature) { f.Candidate.Launches = nil }, "inconclusive", true, "no launch of f was measured"},
		{"no launch of the base", "chat.tg.delta >= 1", func(f *Feature) { f.Parent.Launches = nil }, "inconclusive", true, "no launch of baseline was measured"},
		{"no launch, against a base", "chat.tg >= 0.97 * chat.tg.base", func(f *Feature) { f.Candidate.Launches = nil }, "inconclusive", true, "chat.tg: no launch of f was measured"},
		{"no launch, and broken", "chat.tg.delta >= 1", func(f *Feature) { f.Candidate.Launches = nil; f.Broken, f.Cause = verdict.Error, died("it died") }, "error", false, "it died"},
		{"a launch without it", "chat.tg >= 1", func(f *Feature) { drop(&f.Candidate, 2, "chat.tg") }, "inconclusive", false, "launch f.3 has no chat.tg"},
		{"NaN", "chat.tg.gain >= 0.1", func(f *Feature) { set(&f.Candidate, 3, "chat.tg", "median", math.NaN()) }, "inconclusive", false, "not a finite number"},
		{"infinite", "chat.tg.gain >= 0.1", func(f *Feature) { set(&f.Parent, 3, "chat.tg", "median", math.Inf(1)) }, "inconclusive", false, "not a finite number"},
		{"zero", "chat.tg.gain >= 0.1", func(f *Feature) { set(&f.Parent, 3, "chat.tg", "median", 0) }, "invalid", false, "use .delta"},
		{"negative", "chat.tg.gain >= 0.1", func(f *Feature) { set(&f.Candidate, 3, "chat.tg", "median", -1) }, "invalid", false, "use .delta"},
		{"zero in a level", "chat.tg >= 1", func(f *Feature) { set(&f.Candidate, 3, "chat.tg", "median", 0) }, "invalid", false, "values above zero"},
		{"zero beside a base", "chat.tg >= 0.9 * chat.tg.base", func(f *Feature) { set(&f.Candidate, 3, "chat.tg", "median", 0) }, "invalid", false, "use .delta"},
		{"zero memory", "engine.memory_gb.change <= 0.1", func(f *Feature) { set(&f.Parent, 3, "engine.memory_gb", "median", 0) }, "invalid", false, "use .delta"},
		{"units of launches", "chat.tg >= 1", func(f *Feature) { unit(&f.Candidate, 2, "req/s") }, "invalid", false, `launch f.3 gives chat.tg in "req/s", and those before it in "tok/s"`},
		{"units of arms", "chat.tg.gain >= 0.1", func(f *Feature) {
			for i := range f.Parent.Launches {
				unit(&f.Parent, i, "")
			}
		}, "invalid", false, `launches of f give chat.tg in "tok/s" and those of baseline in ""`},
		{"corrections of launches", "chat.tg >= 1", func(f *Feature) { correction(&f.Candidate, 1, "api") }, "invalid", false, `launch f.2 corrected chat.tg by a latency of mode "api"`},
		{"corrections of arms", "chat.tg.gain >= 0.1", func(f *Feature) {
			for i := range f.Parent.Launches {
				correction(&f.Parent, i, "api")
			}
		}, "invalid", false, `launches of f corrected chat.tg by a latency of mode "" and those of baseline of mode "api"`},
		{"stale", "chat.tg >= 50 or chat.tg.gain > 0.214", func(f *Feature) { f.Candidate.Launches[0].Stale = true }, "inconclusive", false, "no fresh starts"},
		{"too large", "chat.tg.delta >= 1", func(f *Feature) {
			for i := range f.Parent.Launches {
				set(&f.Parent, i, "chat.tg", "median", math.MaxFloat64*math.Pow(-1, float64(i)))
			}
		}, "invalid", false, "finite"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := decided(compiled(t, c.rule), with(c.change))
			if reasons := tell.Joined(got.Reasons); got.Verdict != c.want || !strings.Contains(reasons, c.says) {
				t.Errorf("%s: %s", got.Verdict, reasons)
			}
			if len(got.Reasons) > 3 {
				t.Errorf("says too much: %q", tell.Lines(got.Reasons))
			}
			if open := Open([]verdict.Rule{got}); (len(open) > 0) != c.open {
				t.Errorf("open %v", open)
			}
		})
	}
}
