package report

import (
	"math"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func tgLaunches(values ...float64) (launches []*ledger.Launch) {
	for _, v := range values {
		l := tgLaunch(v)
		l.OK, l.Cells = true, []measure.CellRun{{Cell: "chat", Prompt: 32, Output: 8, Concurrency: 1}}
		s := l.Metrics["chat.tg"]
		s.Better = measure.Higher
		l.Metrics["chat.tg"] = s
		launches = append(launches, l)
	}
	return launches
}

// TestComparisons: numbers as scipy.stats.ttest_ind(log(new), log(old), equal_var=False) has
// them, and none where there is nothing to compare.
func TestComparisons(t *testing.T) {
	old, new := tgLaunches(20, 20.4, 19.8, 20.1), tgLaunches(21, 20.2, 20.9, 20.7)
	d := Comparisons(old, new, true, nil)[0]
	for name, c := range map[string]struct{ got, want float64 }{
		"change": {*d.Change, 0.031077883151470087}, "p": {*d.P, 0.031565737233913205},
		"low": {*d.Low, 0.003898542832265414}, "high": {*d.High, 0.05899307127667031},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s is %.12f, want %.12f", name, c.got, c.want)
		}
	}
	if !d.Significant() || !strings.HasSuffix(d.ChangeText(), " better") {
		t.Errorf("%+v", d)
	}
	if d := Comparisons(old, new, false, nil)[0]; d.Change == nil || d.P != nil || d.Low != nil {
		t.Errorf("machines that differ: %+v", d)
	}
	if d := Comparisons(old, new[:1], true, nil)[0]; d.Change == nil || d.P != nil {
		t.Errorf("one launch: %+v", d)
	}
	zero := tgLaunches(20, 0, 20, 20)
	if d := Comparisons(zero, new, true, nil)[0]; !d.Absolute || math.Abs(*d.Change-5.7) > 1e-9 {
		t.Errorf("a zero: %+v", d)
	}
	for name, c := range map[string]struct {
		change func([]*ledger.Launch)
		why    code.Kind
	}{
		"other work": {func(l []*ledger.Launch) { l[0].Cells[0].Prompt = 64 }, "compare.sent"},
		"lacking":    {func(l []*ledger.Launch) { delete(l[3].Metrics, "chat.tg") }, "compare.lacking"},
		"measured":   {func(l []*ledger.Launch) { l[0].Cells[0].ExactOutput = !l[0].Cells[0].ExactOutput }, code.MeasuredApart.Kind},
	} {
		other := tgLaunches(21, 20.2, 20.9, 20.7)
		c.change(other)
		if d := Comparisons(old, other, true, nil)[0]; d.Why.Kind != c.why || d.Change != nil || d.P != nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestPairs: sides measured in one session are taken from it, and what a name may
// mean is asked where it is several things.
func TestPairs(t *testing.T) {
	s := stacked(t)
	pairs, err := PairsOf(s.st, "baseline", "cache")
	if err != nil || len(pairs) != 1 || pairs[0].Old.Session != "s-1" || pairs[0].New.Session != "s-1" || len(pairs[0].Notes) != 0 {
		t.Fatalf("%+v, %v", pairs, err)
	}
	pairs, err = PairsOf(s.st, "cache", "head")
	if err != nil || len(pairs[0].Notes) != 1 || pairs[0].Notes[0].Kind != "compare.session" {
		t.Fatalf("%+v, %v", pairs, err)
	}
	for _, c := range []struct{ a, b, want string }{
		{"cache", "cache@r1", "the same launches"},
		{"cache", "nope", `no record is named "nope"`},
		{"cache@r9", "cache", `no record is named "cache@r9"`},
		{"cach@r1", "cache", "run r1 did not measure cach"},
	} {
		if _, err := PairsOf(s.st, c.a, c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.a, c.b, err)
		}
	}
	l := tgLaunches(20)[0]
	l.ID, l.Session, l.Purpose, l.Variant, l.Started = "far", "s-3", ledger.ForBenchmark, "far", s.at
	l.Fingerprint = map[string]string{"gpu": "another"}
	s.add(&ledger.Record{Type: "launch", Run: "r1", Launch: l})
	s.stand("s-3", "far", []string{"far"})
	pairs, err = PairsOf(s.st, "cache", "far")
	if err != nil || pairs[0].Notes[0].Kind != "compare.machine" || pairs[0].Metrics[0].P != nil {
		t.Errorf("%+v, %v", pairs, err)
	}
}
