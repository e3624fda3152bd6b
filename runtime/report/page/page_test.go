package page

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/pagetest"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

func pageOf(t testing.TB, s *pagetest.State, p *plans.Plan) string {
	m := Of(report.SummaryOf(s.Store, p, time.Now()), nil, nil)
	var out bytes.Buffer
	must.Do(t, Write(&out, m))
	return out.String()
}

// TestNothingInjects: names of plans, engines and logs stay text, in the HTML and in its
// JSON, and nothing is asked of a network.
func TestNothingInjects(t *testing.T) {
	s, plan := pagetest.Whole(t)
	text := pageOf(t, s, plan)
	if n := strings.Count(text, `<path class="tip"`); n != 4 {
		t.Errorf("%d arrowheads for %d needs: what a phase needs is told from what needs it", n, 4)
	}
	if strings.Contains(text, "<script>boom") || strings.Contains(text, "<img") {
		t.Error("a name became an element")
	}
	if n := strings.Count(text, "<script"); n != 2 {
		t.Errorf("%d scripts", n)
	}
	for _, forbidden := range []string{"<link", "@import", "url(", "<iframe"} {
		if strings.Contains(text, forbidden) {
			t.Errorf("the page has %s", forbidden)
		}
	}
	if !strings.Contains(text, "default-src &#39;none&#39;") || strings.Contains(policy(), "unsafe") {
		t.Error("the policy lets more in than the page has")
	}
}

// TestScriptsAreGraphic: a page that goes to standard output keeps its scripts to the byte,
// or a browser refuses them by their hash.
func TestScriptsAreGraphic(t *testing.T) {
	for name, text := range map[string]string{"page.js": script, "page.css": style} {
		for at, r := range text {
			if r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
				t.Errorf("%s has %U at byte %d", name, r, at)
			}
		}
	}
}

// TestEmptySections: what has no data has no section, and a state directory without a run has no page.
func TestEmptySections(t *testing.T) {
	s := pagetest.New(t)
	s.Add(&ledger.Record{Type: "run", RunStart: &ledger.RunStart{Plan: "p", Nodes: []string{"phase.a"}}})
	text := pageOf(t, s, pagetest.PlanOf([][2]string{{"gone", "a"}}))
	for _, id := range []string{"features", "stack", "targets", "matrix", "machine"} {
		if strings.Contains(text, `id="`+id+`"`) {
			t.Errorf("section %s is empty", id)
		}
	}
	if !strings.Contains(text, "not decided yet") || !strings.Contains(text, "did not finish") {
		t.Error("what is open is not said")
	}
}

// TestLayout: a phase stands behind what it needs, and a circle ends.
func TestLayout(t *testing.T) {
	g := layout([]Item{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		pagetest.PlanOf([][2]string{{"a", "b"}, {"b", "c"}, {"a", "c"}}).Phases)
	if g.Boxes[0].X >= g.Boxes[1].X || g.Boxes[1].X >= g.Boxes[2].X || len(g.Edges) != 3 {
		t.Errorf("%+v", g)
	}
	layout([]Item{{Name: "a"}, {Name: "b"}}, pagetest.PlanOf([][2]string{{"a", "b"}, {"b", "a"}}).Phases)
}

// TestFirstLaunch: a session with one launch so far has a figure that a browser can draw.
func TestFirstLaunch(t *testing.T) {
	s := pagetest.New(t)
	s.Add(&ledger.Record{Type: "run", RunStart: &ledger.RunStart{Plan: "p", Nodes: []string{"feature.moe"}}},
		&ledger.Record{Type: "launch", Launch: s.Launch("s-1", ledger.Baseline, 1, 60, false)})
	m := Of(report.SummaryOf(s.Store, nil, time.Now()), nil, nil)
	b := &builder{
		Model:    m,
		launches: map[[2]string][]*ledger.Launch{{"s-1", ledger.Baseline}: s.Store.Launches(store.LaunchFilter{})},
	}
	figures := b.rounds("s-1", "moe", ledger.Baseline, nil)
	if len(figures) != 1 || len(figures[0].Plot.XTicks) != 1 || len(figures[0].Plot.YTicks) == 0 {
		t.Fatalf("%+v", figures)
	}
	if at := figures[0].Plot.Lines[0].At; len(at) != 1 || at[0].X != 50 || math.IsNaN(at[0].Y) {
		t.Errorf("%+v", at)
	}
}

// TestNeeded: a rule on time that is saved allows so much of it.
func TestNeeded(t *testing.T) {
	s, plan := pagetest.Whole(t)
	m := Of(report.SummaryOf(s.Store, plan, time.Now()), nil, nil)
	b := &builder{Model: m, launches: map[[2]string][]*ledger.Launch{
		{"s-moe", ledger.Baseline}: s.Store.Launches(store.LaunchFilter{Node: "feature.x.benchmark"}),
	}}
	test := verdict.Test{
		Metric: "chat.ttft", Stat: "median", Unit: "ms", Arm: "moe", Against: ledger.Baseline, Relation: "gain",
		Threshold: 0.5, More: true, Saved: true, Base: []float64{150, 150},
	}
	figures := b.rounds("s-moe", "moe", ledger.Baseline, &test)
	if len(figures) != 1 || figures[0].Plot.Need == nil || figures[0].Plot.Need.Label != "allowed ≤ 75 ms" {
		t.Errorf("%+v", figures)
	}
}

// TestAttempts: a feature that was decided several times has each, the newest last.
func TestAttempts(t *testing.T) {
	s, plan := pagetest.Whole(t)
	if _, text, is := strings.Cut(pageOf(t, s, plan), "Attempts, "); is {
		t.Errorf("one attempt is a list: %.300s", text)
	}
	again := *s.Store.History("feature.moe")[0].Decision
	again.Attempt, again.Verdict = 2, verdict.Fail
	s.Add(&ledger.Record{Type: "decision", Decision: &again})
	m := Of(report.SummaryOf(s.Store, plan, time.Now()), nil, nil)
	at := slices.IndexFunc(m.Features[0].Figures, func(f Figure) bool { return strings.HasPrefix(f.Title, "Attempts") })
	if at < 0 {
		t.Fatal("two attempts are not shown")
	}
	made := m.Features[0].Figures[at].Bars.Rows
	if len(made) != 2 || made[0].Mark.Word != "pass" || made[1].Mark.Word != "fail" || made[0].Text == "" ||
		made[0].Low >= made[0].To || made[0].To >= made[0].High {
		t.Errorf("%+v", made)
	}
}

// TestScale: an axis has a few round numbers between its ends, whatever they are.
func TestScale(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		log       bool
		want      string
	}{
		{11.3, 161, true, "[20 50 100]"},
		{64, 3285, true, "[100 200 500 1000 2000]"},
		{102, 730, true, "[200 400 600]"},
		{0.002, 0.0021, false, "[0.002 0.00205]"},
		{5, 5, false, "[4.8 5 5.2]"},
		{0, 0, true, "[-1 -0.5 0 0.5 1]"},
		{-3, 4, true, "[-2 0 2 4]"},
	} {
		at, ticks := scale(c.low, c.high, c.log, 0, 100, 4)
		if fmt.Sprintf("%.4g", ticks) != c.want {
			t.Errorf("%v to %v: %v, wanted %s", c.low, c.high, ticks, c.want)
		}
		for _, x := range append(ticks, c.low, c.high) {
			if p := at(x); math.IsNaN(p) || p < -1e-6 || p > 100+1e-6 {
				t.Errorf("%v to %v: %v is at %v", c.low, c.high, x, p)
			}
		}
	}
}
