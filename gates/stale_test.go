package gates

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
)

// Numbers of a server that was running before its launches decide nothing, for
// nor against; levels, knobs and targets do not depend on them.
func TestStaleLaunchesDecideNothing(t *testing.T) {
	last := func(a *Arm) { a.Launches[len(a.Launches)-1].Stale = true }
	both := func(f *Feature) { last(&f.Candidate); last(&f.Parent) }
	for _, c := range []struct {
		rule   string
		change func(f *Feature)
		want   verdict.Verdict
		says   string
	}{
		{"chat.tg.gain >= 0.10", both, verdict.Inconclusive, "would be pass, but launches of f were no fresh starts"},
		{"chat.tg.gain >= 1.0", both, verdict.Inconclusive, "would be fail, but launches of f were"},
		{"chat.tg.gain >= 0.10", func(f *Feature) { last(&f.Parent) }, verdict.Inconclusive, "launches of baseline were"},
		{"chat.tg >= 38", func(f *Feature) { last(&f.Candidate) }, verdict.Inconclusive, "launches of f were"},
		{"chat.tg >= 38", func(f *Feature) { last(&f.Parent) }, verdict.Pass, ""},
		{"chat.tg >= 38 and chat.tg.root.change > 0", func(f *Feature) { last(&f.Candidate); last(&f.Root) }, verdict.Inconclusive, "launches of f were"},
		{"levels.kernels == 'pass'", both, verdict.Pass, ""},
		{"levels.kernels == 'fail'", both, verdict.Fail, ""},
	} {
		got := decided(compiled(t, c.rule), with(c.change))
		reasons := tell.Joined(got.Reasons)
		if got.Verdict != c.want || !strings.Contains(reasons, c.says) {
			t.Errorf("%s: %s: %s\nwant %s with %q", c.rule, got.Verdict, reasons, c.want, c.says)
		}
		for _, cmp := range got.Comparisons {
			if stale := c.says != ""; (cmp.Verdict == verdict.Inconclusive) != stale {
				t.Errorf("%s: %s is %s", c.rule, cmp.Text, cmp.Verdict)
			}
		}
		if c.says != "" && !strings.Contains(reasons, "chat.tg") {
			t.Errorf("%s: the numbers are not shown: %s", c.rule, reasons)
		}
	}
}

// In a table of engines the numbers stay, and no row with them passes, nor any
// that is held against them.
func TestStaleRowsDecideNothing(t *testing.T) {
	row := func(name string, running bool) Contender {
		c := contender(name, []float64{200, 220}, []float64{5, 5})
		c.Launches[1].Stale = running
		return c
	}
	for _, c := range []struct {
		own, reference bool
		want           []verdict.Verdict
	}{
		{false, false, []verdict.Verdict{verdict.Pass, verdict.Pass}},
		{true, false, []verdict.Verdict{verdict.Inconclusive, verdict.Pass}},
		{false, true, []verdict.Verdict{verdict.Inconclusive, verdict.Inconclusive}},
	} {
		rows := Compare([]Contender{row("own", c.own), row("reference", c.reference)}, "reference")
		for i, want := range c.want {
			if rows[i].Verdict != want || len(rows[i].Cells) == 0 || (want != verdict.Pass) != (!rows[i].Why.IsZero()) {
				t.Errorf("%+v: row %s is %s (%s) with %d numbers, want %s", c, rows[i].Name, rows[i].Verdict, tell.Line(rows[i].Why), len(rows[i].Cells), want)
			}
		}
	}
}
