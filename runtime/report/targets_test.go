package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
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
			o.Address, o.Why = "", verdict.Say("broken", "{error}", verdict.Text("error", "no rule says"))
		}), []float64{99, 98}, Open + ": no rule says"},
		"sent something else": {other(func(o *ledger.Target) { o.Sent = &ledger.Sent{Prompt: 64, Output: 8, Concurrency: 1} }), []float64{99, 98, 97}, Open + ": launch s-9.baseline.1 was sent pp32 tg8 in chat"},
		"zero":                {target, []float64{0, 1, 2}, Open},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.begin("r1", c.target)
			s.add(baselineOf(set()))
			s.measured("s-9", "baseline", set(), c.values...)
			all := Contests(s.st)
			if len(all) != 1 || all[0].Variant != "baseline" {
				t.Fatal(all)
			}
			check(t, all[0], c.want)
		})
	}
	one := Contest{Target: target, Standing: Open}
	one.decide(&Arm{Launches: []*ledger.Launch{tgLaunch(99), tgLaunch(math.Inf(1))}}, nil)
	check(t, one, Open+": chat.tg: a value is not a finite number")
}

func check(t *testing.T, c Contest, want string) {
	t.Helper()
	got := strings.TrimSuffix(c.Standing+": "+c.Note.String(), ": ")
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
	s.measured("s-8", "cache", set("cache=on"), 99, 98)
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
	s.measured("s-1", "baseline", set(), 99, 98)
	s.at = s.at.Add(-time.Hour)
	s.measured("s-2", "baseline", set(), 20, 20.4)
	if all := Contests(s.st); len(all) != 1 || all[0].Session != "s-2" || all[0].Standing != NotYet {
		t.Fatalf("%+v", all)
	}
}

// TestStackOfPartsAlone: what was never measured together has no number.
func TestStackOfPartsAlone(t *testing.T) {
	s := newStory(t)
	s.begin("r1", target)
	s.add(baselineOf(set()))
	base := s.measured("s-1", "baseline", set(), 20, 20.4)
	s.feature("cache", true, set("cache=on"), "baseline", base, s.measured("s-1", "cache", set("cache=on"), 99, 98), 1, 1)
	s.feature("moe", true, set("moe=routed"), "baseline", base, s.measured("s-1", "moe", set("moe=routed"), 99, 98), 1, 1)
	all := Contests(s.st)
	if len(all) != 1 || all[0].Standing != Open || all[0].Note.Kind != code.NoLaunch.Kind || *all[0].Note.Values["features"].Number != 2 {
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
	s.measured("s-1", "baseline", set(), 20, 20.4, 20.1)
	for i, v := range []float64{12, 12.1} {
		s.launch("s-2", "baseline", i+1, set(), measure.CellRun{Cell: "deep"}, map[string]measure.Summary{
			"deep.tg": {Unit: "tok/s", N: 10, Stats: map[string]float64{"median": v}},
		})
	}
	s.stand("s-2", "baseline", []string{"s-2.baseline.1", "s-2.baseline.2"})
	all := Contests(s.st)
	if len(all) != 2 || all[0].Session != "s-1" || all[0].Standing != NotYet || all[1].Session != "s-2" || all[1].Standing != Beaten {
		t.Fatalf("%+v", all)
	}
	for i, want := range []string{"\n3 launches of baseline in session s-1", "\n2 launches of baseline in session s-2"} {
		if got := ContestTable(all).Rows[i][3]; !strings.HasSuffix(got, want) {
			t.Error(got)
		}
	}
}

// TestNewestThatSentIt: where the newest session sent the workload and has no number
// of it, an older one's does not stand in its place.
func TestNewestThatSentIt(t *testing.T) {
	s := newStory(t)
	s.begin("r1", target)
	s.add(baselineOf(set()))
	s.measured("s-1", "baseline", set(), 99, 98)
	s.stand("s-2", "baseline", []string{s.launch("s-2", "baseline", 1, set(), sentChat, nil)})
	all := Contests(s.st)
	if len(all) != 1 || all[0].Session != "s-2" || all[0].Standing != Open || all[0].Note.Kind != "target.launch_lacks" || all[0].Note.Subject != "s-2.baseline.1" || all[0].Note.Values["address"].Text != "chat.tg" {
		t.Fatalf("%+v", all)
	}
}

// TestDecidedOnTheTarget: where a rule decided on the level, its estimate and bounds stand
// against the target, whatever number it asked for, and however its launches went on; what
// was decided of another variant, or of a change, does not.
func TestDecidedOnTheTarget(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	for name, c := range map[string]struct {
		arm      string
		knobs    map[string]string
		test     verdict.Test
		want     string
		decided  bool
		launches int
	}{
		"decided":      {"baseline", set(), verdict.Test{Form: verdict.LogLevel, Metric: "chat.tg", Stat: "median"}, "70 [65, 75]", true, 4},
		"of a variant": {"moe", set("moe=routed"), verdict.Test{Form: verdict.LogLevel, Metric: "chat.tg", Stat: "median"}, "60.55 (95% CI 59.88 to 61.22)", false, 4},
		"of a change":  {"baseline", set(), verdict.Test{Form: verdict.Difference, Metric: "chat.tg", Stat: "median", Against: "baseline"}, "60.55 (95% CI 59.88 to 61.22)", false, 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.begin("r1", target)
			s.add(baselineOf(set()))
			c.test.Launches = s.measured("s-1", c.arm, c.knobs, 70, 70, 70, 70, 10, 10)
			c.test.Estimate, c.test.Low, c.test.High, c.test.Looks = at(70), at(65), at(75), []verdict.Look{{N: 4}}
			s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
				Node: "phase.p", Kind: ledger.KindGate, Phase: "p", Attempt: 1, Verdict: verdict.Pass,
				Rules: []ledger.Rule{{Name: "fast", Role: "rule", Decides: true, Verdict: verdict.Pass, Comparisons: []ledger.Comparison{{Text: "chat.tg > 60", Test: &c.test}}}},
			}})
			s.measured("s-2", "baseline", set(), 60, 61, 60.5, 60.7)
			all := Contests(s.st)
			if got, _, _ := strings.Cut(ContestTable(all).Rows[0][3], "\n"); got != c.want || all[0].Decided != c.decided || len(all[0].Launches) != c.launches || all[0].Standing != Beaten {
				t.Errorf("%s, %+v", got, all[0])
			}
		})
	}
}
