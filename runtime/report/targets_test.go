package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestContests: who is beaten, by the interval and never by the mean alone.
func TestContests(t *testing.T) {
	lower := func(v float64) ledger.Target {
		return ledger.Target{Name: "x", Path: "target.x.chat.tg", Address: "chat.tg", Stat: "median", Value: v, Unit: "tok/s", Better: "lower"}
	}
	other := func(change func(*ledger.Target)) ledger.Target {
		o := target
		change(&o)
		return o
	}
	for name, c := range map[string]struct {
		target ledger.Target
		values []float64
		want   string
	}{
		"beaten":           {target, []float64{60, 61, 60.5, 60.7}, Beaten},
		"not yet":          {target, []float64{50, 51, 50.5, 50.7}, NotYet},
		"within":           {target, []float64{50, 66, 57, 59}, Open},
		"mean above, wide": {target, []float64{58, 90, 57, 75}, Open},
		"one launch":       {target, []float64{99}, Open + ": no interval: 1 launch"},
		"no spread":        {target, []float64{99, 99, 99}, Open + ": no interval: all 3 launches have the same value"},
		"lower is better":  {lower(70), []float64{60, 61, 60.5, 60.7}, Beaten},
		"lower, worse":     {lower(50), []float64{60, 61, 60.5, 60.7}, NotYet},
		"other unit":       {other(func(o *ledger.Target) { o.Unit = "ms" }), []float64{99, 98}, Open + ": launch s-9.baseline.1 has chat.tg in tok/s, the target is in ms"},
		"not measured":     {other(func(o *ledger.Target) { o.Address = "chat.pp" }), []float64{99, 98}, Open + ": launch s-9.baseline.1 has no chat.pp median"},
		"too few for it":   {other(func(o *ledger.Target) { o.Stat = "p99" }), []float64{99, 98}, Open + ": launch s-9.baseline.1 has no chat.tg p99"},
		"target of zero":   {other(func(o *ledger.Target) { o.Value = 0 }), []float64{99, 98}, Open + ": no ratio"},
		"no direction":     {other(func(o *ledger.Target) { o.Better = "" }), []float64{99, 98}, Open + ": no ratio"},
		"nobody says of what": {other(func(o *ledger.Target) {
			o.Address, o.Why = "", verdict.New(code.Broken, verdict.Text("error", "no rule says"))
		}), []float64{99, 98}, Open + ": no rule says"},
		"sent something else": {other(func(o *ledger.Target) { o.Sent = &ledger.Sent{Prompt: 64, Output: 8, Concurrency: 1} }), []float64{99, 98, 97}, Open + ": launch s-9.baseline.1 was sent pp32 tg8 in chat"},
		"not a number":        {target, []float64{99, math.Inf(1)}, Open + ": chat.tg: a value is not a finite number"},
		"zero":                {target, []float64{0, 1, 2}, Open},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.begin("r1", c.target)
			s.add(baselineOf(set()))
			if !math.IsInf(c.values[len(c.values)-1], 1) {
				s.launches("s-9", "baseline", set(), c.values...)
			} else {
				one := Contest{Target: c.target, Standing: Open}
				one.decide([]*ledger.Launch{tgLaunch(99), tgLaunch(math.Inf(1))})
				check(t, one, c.want)
				return
			}
			all := Contests(s.st)
			if len(all) != 1 || all[0].Variant != "baseline" {
				t.Fatal(all)
			}
			check(t, all[0], c.want)
		})
	}
}

func check(t *testing.T, c Contest, want string) {
	t.Helper()
	got := strings.TrimSuffix(c.Standing+": "+tell.Line(c.Note), ": ")
	if !strings.HasPrefix(got, want) || !strings.Contains(want, ":") && c.Standing != want {
		t.Errorf("got %q, want %q: %+v", got, want, c)
	}
	if c.Standing == Beaten && (c.RatioLow == nil || *c.RatioLow <= 1) {
		t.Errorf("beaten without an interval above 1: %+v", c)
	}
}

// TestNumberToBeat: it is shown also where nothing says what to hold against it.
func TestNumberToBeat(t *testing.T) {
	of := func(value float64) string {
		rows := ContestTable([]Contest{{Target: ledger.Target{Name: "x", Path: "target.x.command.lat", Value: value, Unit: "ms"}, Standing: Open}}).Rows
		return rows[0][2]
	}
	if got := of(20); got != "20 ms" {
		t.Errorf("%q", got)
	}
	if got := of(0); got != "–" {
		t.Errorf("of an import: %q", got)
	}
}

// TestStackStands: both accepted ports together were measured as the arm of a
// third, and neither port's own launches, the newest included, stand for them.
func TestStackStands(t *testing.T) {
	s := stacked(t)
	s.launches("s-8", "cache", set("cache=on"), 99, 98)
	all := Contests(s.st)
	if len(all) != 1 || all[0].Variant != "accepted" || all[0].Session != "s-2" || len(all[0].Launches) != 4 || all[0].Standing != Beaten {
		t.Fatalf("%+v", all)
	}
}

// TestNewestByTheLedger: somebody sets the clock back, and what was measured since
// is still the newest.
func TestNewestByTheLedger(t *testing.T) {
	s := newStory(t)
	s.begin("r1", target)
	s.add(baselineOf(set()))
	s.launches("s-1", "baseline", set(), 99, 98)
	s.at = s.at.Add(-time.Hour)
	s.launches("s-2", "baseline", set(), 20, 20.4)
	if all := Contests(s.st); len(all) != 1 || all[0].Session != "s-2" || all[0].Standing != NotYet {
		t.Fatalf("%+v", all)
	}
}

// TestStackOfPartsAlone: what was never measured together has no number.
func TestStackOfPartsAlone(t *testing.T) {
	s := newStory(t)
	s.begin("r1", target)
	s.add(baselineOf(set()))
	base := s.launches("s-1", "baseline", set(), 20, 20.4)
	s.feature("cache", true, set("cache=on"), "baseline", base, s.launches("s-1", "cache", set("cache=on"), 99, 98), 1, 1)
	s.feature("moe", true, set("moe=routed"), "baseline", base, s.launches("s-1", "moe", set("moe=routed"), 99, 98), 1, 1)
	all := Contests(s.st)
	if len(all) != 1 || all[0].Standing != Open || all[0].Note.Code != code.NoLaunch || *all[0].Note.Args["features"].Number != 2 {
		t.Fatalf("%+v", all)
	}
}

// TestNewestThatMeasuredIt: a feature's own protocol sends another workload, and each
// target is held against the newest session that measured its metric.
func TestNewestThatMeasuredIt(t *testing.T) {
	other := target
	other.Path, other.Address, other.Sent, other.Value = "target.llamacpp.deep.tg", "deep.tg", nil, 10
	s := newStory(t)
	s.begin("r1", target, other)
	s.add(baselineOf(set()))
	s.launches("s-1", "baseline", set(), 20, 20.4, 20.1)
	for i, v := range []float64{12, 12.1} {
		s.add(&ledger.Record{Type: "launch", Run: "r1", Launch: &ledger.Launch{
			ID: fmt.Sprintf("s-2.baseline.%d", i+1), Session: "s-2", Purpose: "benchmark", Node: "feature.y.benchmark", Variant: "baseline",
			Block: "embedded.tiny", Knobs: set(), Ordinal: i + 1, Order: i + 1, Started: s.at, OK: true,
			Cells:   []measure.CellRun{{Cell: "deep"}},
			Metrics: map[string]measure.Summary{"deep.tg": {Unit: "tok/s", N: 10, Stats: map[string]float64{"median": v}}},
		}})
	}
	all := Contests(s.st)
	if len(all) != 2 || all[0].Session != "s-1" || all[0].Standing != NotYet || all[1].Session != "s-2" || all[1].Standing != Beaten {
		t.Fatalf("%+v", all)
	}
	want := "Measured: chat.tg of baseline in session s-1, 3 launches; deep.tg of baseline in session s-2, 2 launches; means over launches with their 95% intervals."
	if got := ContestNotes(all)[0]; !strings.HasPrefix(got, want) {
		t.Error(got)
	}
}

// TestNewestThatSentIt: where the newest session sent the workload and has no number
// of it, an older one's does not stand in its place.
func TestNewestThatSentIt(t *testing.T) {
	s := newStory(t)
	s.begin("r1", target)
	s.add(baselineOf(set()))
	s.launches("s-1", "baseline", set(), 99, 98)
	s.add(&ledger.Record{Type: "launch", Run: "r1", Launch: &ledger.Launch{
		ID: "s-2.baseline.1", Session: "s-2", Purpose: "benchmark", Node: "feature.y.benchmark", Variant: "baseline",
		Block: "embedded.tiny", Knobs: set(), Ordinal: 1, Order: 1, Started: s.at, OK: true,
		Cells: []measure.CellRun{{Cell: "chat", Prompt: 32, Output: 8, Concurrency: 1}},
	}})
	all := Contests(s.st)
	if len(all) != 1 || all[0].Session != "s-2" || all[0].Standing != Open || all[0].Note.Code != code.LaunchLacks || all[0].Note.Subject != "s-2.baseline.1" || all[0].Note.Args["address"].Text != "chat.tg" {
		t.Fatalf("%+v", all)
	}
}

// TestRuledOtherwise: where a rule and the standing table differ, one line says why.
func TestRuledOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		more bool
		came verdict.Verdict
		now  []float64
		said bool
	}{
		"passed, and open now":  {"chat.tg > target.llamacpp.chat.tg", true, verdict.Pass, []float64{50, 66, 57, 59}, true},
		"failed, and beaten":    {"target.llamacpp.chat.tg < chat.tg", true, verdict.Fail, []float64{60, 61, 60.5, 60.7}, true},
		"passed and beaten":     {"chat.tg > target.llamacpp.chat.tg", true, verdict.Pass, []float64{60, 61, 60.5, 60.7}, false},
		"asks for the opposite": {"chat.tg < target.llamacpp.chat.tg", false, verdict.Pass, []float64{50, 66, 57, 59}, false},
		"another target":        {"chat.tg > target.llamacpp.chat.tg_total", true, verdict.Pass, []float64{50, 66, 57, 59}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.begin("r1", target)
			s.add(baselineOf(set()))
			first := s.launches("s-1", "baseline", set(), 70, 71)
			s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
				Node: "phase.p", Kind: ledger.KindGate, Phase: "p", Attempt: 1, Verdict: c.came,
				Rules: []ledger.Rule{{Name: "beats llama.cpp", Role: "rule", Decides: true, Verdict: c.came, Comparisons: []ledger.Comparison{
					{Text: c.text, Verdict: c.came, Test: &verdict.Test{Form: verdict.LogLevel, More: c.more, Threshold: target.Value, Launches: first}},
				}}},
			}})
			s.launches("s-2", "baseline", set(), c.now...)
			notes := strings.Join(ContestNotes(Contests(s.st)), "\n")
			if said := strings.Contains(notes, `Rule "beats llama.cpp" of phase.p is `+string(c.came)); said != c.said {
				t.Errorf("said %v, want %v: %s", said, c.said, notes)
			}
			if c.said && !strings.Contains(notes, "of session s-1 up to the deciding look, at the plan's error rates; this table uses all of session s-2") {
				t.Error(notes)
			}
		})
	}
}

// ruledOn is a story with one rule of a gate about the target, decided on launches of
// an arm, and newer launches of the baseline, which beat the target.
func ruledOn(t *testing.T, arm string, knobs map[string]string, came verdict.Verdict, c ledger.Comparison) *story {
	s := newStory(t)
	s.begin("r1", target)
	s.add(baselineOf(set()))
	c.Verdict, c.Test.Launches = came, s.launches("s-1", arm, knobs, 50, 51)
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
		Node: "phase.p", Kind: ledger.KindGate, Phase: "p", Attempt: 1, Verdict: came,
		Rules: []ledger.Rule{{Name: "beats llama.cpp", Role: "rule", Decides: true, Verdict: came, Comparisons: []ledger.Comparison{c}}},
	}})
	s.launches("s-2", "baseline", set(), 60, 61, 60.5, 60.7)
	return s
}

// TestRuledOtherwiseSaysTheCause: a rule that asks for another number than the
// target's, or that was decided on another variant, came out otherwise for that.
func TestRuledOtherwiseSaysTheCause(t *testing.T) {
	causes := []string{
		"up to the deciding look",
		"the rule requires more than 60.74 tok/s, but the target is 57.85 tok/s",
		"it was decided on launches of moe, but this table uses those of baseline",
	}
	for name, c := range map[string]struct {
		arm  string
		came verdict.Verdict
		asks float64
		said []bool
	}{
		"asks for the target":            {"baseline", verdict.Fail, 1, []bool{true, false, false}},
		"asks for more, and fails":       {"baseline", verdict.Fail, 1.05, []bool{false, true, false}},
		"asks for more, and is open":     {"baseline", verdict.Inconclusive, 1.05, []bool{false, true, false}},
		"of another variant":             {"moe", verdict.Fail, 1, []bool{false, false, true}},
		"both":                           {"moe", verdict.Fail, 1.05, []bool{false, true, true}},
		"asks for less, and fails still": {"baseline", verdict.Fail, 0.9, []bool{true, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			knobs := set()
			if c.arm == "moe" {
				knobs = set("moe=routed")
			}
			s := ruledOn(t, c.arm, knobs, c.came, ledger.Comparison{
				Text: "chat.tg > 1.05 * target.llamacpp.chat.tg",
				Test: &verdict.Test{Form: verdict.LogLevel, More: true, Threshold: c.asks * target.Value},
			})
			notes := strings.Join(ContestNotes(Contests(s.st)), "\n")
			for i, cause := range causes {
				if strings.Contains(notes, cause) != c.said[i] {
					t.Errorf("%q, want %v: %s", cause, c.said[i], notes)
				}
			}
		})
	}
}

// TestChangeIsNotAskedOfTheTarget: how much better than its parent an arm is says
// nothing of whether a target is beaten, whatever number the change is held against.
func TestChangeIsNotAskedOfTheTarget(t *testing.T) {
	s := ruledOn(t, "baseline", set(), verdict.Fail, ledger.Comparison{
		Text: "chat.tg.delta > 0.1 * target.llamacpp.chat.tg",
		Test: &verdict.Test{Form: verdict.Difference, More: true, Against: "baseline", Threshold: 5.785},
	})
	if got := Contests(s.st)[0].Rulings; len(got) > 0 {
		t.Errorf("%+v", got)
	}
}
