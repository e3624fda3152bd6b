package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestOf: ± is of logs where the mean is, so one launch far off does not dwarf the mean; a share has
// the mean of its rule, and its interval stays within what a share can be.
func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		unit       string
		values     []float64
		mean, std  float64
		low, above float64 // the lower bound, and what the upper one is not above
	}{
		"one far off":   {"tok/s", []float64{1, 1, 1, 16}, 2, 2 * math.Log(16) / 2, 0.2, 100},
		"a share":       {"share", []float64{0.5, 0.98}, 0.74, 0.3394, 0, 1},
		"above a limit": {"share", []float64{0.9, 1.3}, 1.1, 0.2828, 0, 1.3},
	} {
		a := &Arm{}
		for _, v := range c.values {
			a.Launches = append(a.Launches,
				&ledger.Launch{Metrics: map[string]measure.Summary{
					"chat.x": {Unit: c.unit, Better: measure.Higher, Stats: map[string]float64{"median": v}},
				}})
		}
		v, ok := a.Of("chat.x", "median")
		if !ok || math.Abs(v.Mean-c.mean) > 1e-3 || math.Abs(v.SD-c.std) > 1e-3 {
			t.Errorf("%s: %v ± %v, want %v ± %v", name, v.Mean, v.SD, c.mean, c.std)
		}
		if v.Low == nil || *v.Low < c.low || *v.High > c.above || !(*v.Low <= v.Mean && v.Mean <= *v.High) {
			t.Errorf("%s: the interval %v is not within %v and %v", name, v, c.low, c.above)
		}
	}
}

// TestArmsStand: of what a session launched, only what a decision read is averaged: not an alternative whose session is
// invalid, a launch that another replaced, nor what another decision replaced.
func TestArmsStand(t *testing.T) {
	s := newStory(t)
	s.nodes = []string{"baseline", "feature.draft", "feature.gone"}
	s.begin("r1")
	s.add(baselineOf(set()))
	base := s.launches("s-1", "baseline", set(), 20, 20.4, 19.8, 20.1)
	short := s.launches("s-1", "draft[short]", set("cache=on"), 40, 40.4, 39.8, 282018)
	garbage := s.launches("s-2", "draft[long]", set("cache=long"), 9000, 9000)
	must.Contain(t, "before a decision reads them", markdown(t, s),
		"No measurement stands: 10 launches on record count for no decision.")
	s.feature("draft", true, set("cache=on"), "baseline", base[:3], short[:3], 1, 0.9, func(d *ledger.Decision) {
		d.Session, d.Launches = "s-1", slices.Concat(base, short, garbage)
		d.Alternatives = []ledger.Alternative{{
			Name: "draft[short]", Set: map[string]string{"cache": "on"},
			Verdict: verdict.Pass, Chosen: true,
		}, {Name: "draft[long]", Verdict: verdict.Invalid}}
		d.Evidence[0].Candidate.Name = "draft[short]"
		d.Evidence = append(d.Evidence, gates.Feature{
			Name: "draft[long]", Candidate: gates.Arm{Name: "draft[long]"},
			Parent: gates.Arm{Name: "baseline"},
		})
	})
	gone := s.launches("s-1", "gone", set("moe=routed"), 77, 78)
	s.feature("gone", true, set("moe=routed"), "baseline", base[:2], gone, 3, 2, func(d *ledger.Decision) {
		d.Session = "s-1"
	})
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
		Node: "feature.gone", Kind: "feature", Phase: "p", Feature: "gone", Attempt: 2, Verdict: verdict.Invalid,
		Supersedes: true, Session: "s-1",
	}})
	var got []string
	for _, a := range s.summary().Arms {
		v, _ := a.Of("chat.tg", "median")
		got = append(got, fmt.Sprintf("%s %s %d %s", a.Session, a.Variant, v.N(), v.Bare()))
	}
	if want := "s-1 baseline 3 20.07 ± 0.3|s-1 draft[short] 3 40.07 ± 0.31"; strings.Join(got, "|") != want {
		t.Errorf("%s, want %s", strings.Join(got, "|"), want)
	}
	page := markdown(t, s)
	if !strings.Contains(page, "| chat.tg | 20.07 ± 0.3 tok/s | 40.07 ± 0.31 tok/s | +100% (+93% to +107%) better |") ||
		!strings.Contains(page, "| draft[long] | invalid | 2 | ❌ 9,000 |") || strings.Contains(page, "282018") {
		t.Errorf("a launch that does not count is averaged:\n%s", page)
	}
}

// TestChangeIsOfWhatDecided: a change by which a rule decided has that decision's estimate
// and bounds, in its own direction, and the means of its launches; any other its 95% interval.
func TestChangeIsOfWhatDecided(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	launches := func(variant string, values ...float64) (out []*ledger.Launch) {
		for i, v := range values {
			out = append(out,
				&ledger.Launch{
					ID: fmt.Sprint(variant, i), Ordinal: i + 1,
					Metrics: map[string]measure.Summary{
						"chat.ttft": {Unit: "ms", Better: measure.Lower, Stats: map[string]float64{"median": v}},
					},
				})
		}
		return out
	}
	base, own := &Arm{Launches: launches("base", 10, 10, 10, 12)}, &Arm{Launches: launches("own", 9, 9, 9, 10)}
	test := &verdict.Test{
		Form: verdict.Ratio, Relation: "gain", Saved: true, Metric: "chat.ttft", Stat: "median",
		Launches: []string{"own0", "own1"}, BaseLaunches: []string{"base0", "base1"},
		Estimate: at(0.1), Low: at(0.05), High: at(0.15), Looks: []stats.Look{{N: 2}},
	}
	for _, c := range []struct {
		tests []*verdict.Test
		low   float64
		want  string
		row   string
	}{
		{
			[]*verdict.Test{nil, test},
			0.05, "10% less time [5.0% to 15%], by the first 2 of 4 launches",
			"10 → 9 ms 10% less time",
		},
		{[]*verdict.Test{test}, -0.02, "~ -10% [-15% to +2.0%], by the first 2 of 4 launches", "10 → 9 ms ~ -10%"},
		{
			[]*verdict.Test{{
				Relation: "gain", Metric: "chat.ttft", Stat: "p99", Estimate: at(1), Low: at(1),
				High: at(1), Launches: test.Launches, BaseLaunches: test.BaseLaunches,
			}},
			0,
			"~ -12% (-24% to +1.3%)", "10.5 → 9.24 ms ~ -12%",
		},
		{nil, 0, "~ -12% (-24% to +1.3%)", "10.5 → 9.24 ms ~ -12%"},
	} {
		test.Low = &c.low
		by := Tests{}
		for _, t := range c.tests {
			by.add(t)
		}
		column := Column{Cell: "chat", Metric: "ttft", Stat: "median"}
		if got := Compare(own, base, column, by).ChangeText(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		m := (&Port{Arm: own, Parent: base, of: &Summary{Store: newStory(t).st, tests: by}}).Value(column)
		must.Equal(t, "a row is", m.FromTo()+" "+m.Brief(), c.row)
	}
}

func tgLaunches(values ...float64) (launches []*ledger.Launch) {
	for _, v := range values {
		l := tgLaunch(v)
		l.OK, l.Cells = true,
			[]measure.CellRun{{Cell: "chat", Dimensions: measure.Dimensions{Prompt: 32, Output: 8, Concurrency: 1}}}
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
		"measured": {func(l []*ledger.Launch) {
			l[0].Cells[0].ExactOutput = !l[0].Cells[0].ExactOutput
		}, code.MeasuredApart.Kind},
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
	if err != nil || len(pairs) != 1 || pairs[0].Old.Session != "s-1" || pairs[0].New.Session != "s-1" ||
		len(pairs[0].Notes) != 0 {
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

func columnOf(path string, in plans.Input) *plans.Column {
	in.Path, in.Kind, in.Stat, in.Type = path, plans.InputMetric, "median", plans.NumberInput
	return &plans.Column{Path: path, Input: &in}
}

// armOf is an arm whose launches have each metric at these values.
func armOf(session, variant string, metrics map[string][]float64) *Arm {
	a := &Arm{Session: session, Variant: variant, Block: "e.x"}
	for address, values := range metrics {
		unit, better := "tok/s", measure.Higher
		if strings.HasSuffix(address, "ttft") {
			unit, better = "ms", measure.Lower
		}
		for i, v := range values {
			if i == len(a.Launches) {
				a.Launches = append(a.Launches, &ledger.Launch{
					ID: fmt.Sprintf("%s.%s.%d", session, variant, i), Session: session, Variant: variant,
					Ordinal: i + 1, OK: true,
					Metrics: map[string]measure.Summary{}, Knobs: map[string]string{"moe": variant},
				})
			}
			a.Launches[i].Metrics[address] = measure.Summary{
				Unit: unit, Better: better, N: 1,
				Stats: map[string]float64{"median": v},
			}
		}
	}
	return a
}

// TestValues: a column shows the row's own number with its change, or what its relation asks for,
// the same for a feature and, as times better, for a row of a comparison.
func TestValues(t *testing.T) {
	base := armOf("s", "slow", map[string][]float64{"chat.tg": {10, 10.2, 9.8}, "chat.ttft": {8, 8.2, 7.8}})
	own := armOf("s", "fast",
		map[string][]float64{"chat.tg": {40, 40.8, 39.2}, "chat.ttft": {2, 2.05, 1.95}, "chat.pp": {5}})
	r := row{own: own, base: base}
	bad := *own
	bad.Uncounted = "invalid"
	marked := row{own: &bad, base: base}
	tg, ttft := plans.Input{Cell: "chat", Metric: "tg", Unit: "tok/s"},
		plans.Input{Cell: "chat", Metric: "ttft", Unit: "ms", Better: "lower"}
	with := func(in plans.Input, to plans.Relation) plans.Input { in.Relation = to; return in }
	for _, c := range []struct {
		column      *plans.Column
		row         row
		plain, many string
	}{
		{columnOf("chat.tg", tg), r, "39.99 ± 0.8|4.0× (3.82× to 4.2×) better", "39.99 ± 0.8|4× (3.82× to 4.19×)"},
		{columnOf("chat.ttft", ttft), r, "2 ± 0.05|75% less time (73% to 77%)", "2 ± 0.05|4× (3.77× to 4.24×)"},
		{columnOf("chat.tg.base", with(tg, plans.Base)), r, "10 ± 0.2", "10 ± 0.2"},
		{columnOf("chat.tg.gain", with(tg, plans.Gain)), r, "4.0× (3.82× to 4.2×) better", "4× (3.82× to 4.19×)"},
		{columnOf("chat.ttft.gain", with(ttft, plans.Gain)), r, "75% less time (73% to 77%)", "4× (3.77× to 4.24×)"},
		{
			columnOf("chat.ttft.change", with(ttft, plans.Change)), r, "75% less time (73% to 77%)",
			"4× (3.77× to 4.24×)",
		},
		{
			columnOf("chat.tg.delta", with(tg, plans.Delta)), r, "+30 tok/s (+28.1 tok/s to +31.9 tok/s) better",
			"+30 tok/s (+28.1 tok/s to +31.9 tok/s) better",
		},
		{columnOf("chat.tg", tg), marked, "❌ 39.99 ± 0.8", "❌ 39.99 ± 0.8"},
		{columnOf("chat.tg", tg), row{own: own}, "39.99 ± 0.8", "39.99 ± 0.8"},
		{columnOf("chat.tg", tg), row{}, "–", "–"},
		{columnOf("chat.pp", plans.Input{Cell: "chat", Metric: "pp"}), r, "–", "–"}, // one of three launches has it
		{columnOf("knob.moe", plans.Input{}), r, "fast", "fast"},
		{
			columnOf("chat.tg", tg),
			row{numbers: map[Column]ledger.Target{{"chat", "tg", "median"}: {Value: 57.85, Unit: "tok/s"}}},
			"57.85", "57.85",
		},
	} {
		if c.column.Path == "knob.moe" {
			c.column.Input.Kind, c.column.Input.Type, c.column.Input.Name = plans.InputKnob, plans.WordInput, "moe"
		}
		v := c.row.value(shownOf(c.column), &Summary{})
		plain, many := strings.ReplaceAll(v.Text(false), "\n", "|"), strings.ReplaceAll(v.Text(true), "\n", "|")
		if plain != c.plain || many != c.many {
			t.Errorf("%s: %q and %q, want %q and %q", c.column.Path, plain, many, c.plain, c.many)
		}
	}
}

// TestResults: tables of the plan keep their order and headings, and name what no row has; without a
// plan they have what people decide by.
func TestResults(t *testing.T) {
	s := begun(t)
	base := s.launches("s-1", "baseline", set(), 20, 20.4, 19.8, 20.1)
	s.feature("cache", true, set("cache=on"), "baseline", base,
		s.launches("s-1", "cache", set("cache=on"), 40, 40.8, 39.6, 40.2), 1, 0.9)
	tg, power := columnOf("chat.tg", plans.Input{Cell: "chat", Metric: "tg", Unit: "tok/s"}),
		columnOf("gpu.power_w", plans.Input{Cell: "gpu", Metric: "power_w", Unit: "W"})
	tg.Heading = "Decode"
	p := &plans.Plan{Phases: []*plans.Phase{
		{Name: "p", Features: []*plans.Feature{{Name: "cache"}, {Name: "later", BlockedBy: []string{"a driver"}}}},
	}}
	p.Tables = []*plans.Table{{Name: "power", Columns: []*plans.Column{power}}, {Columns: []*plans.Column{power, tg}}}
	grids := SummaryOf(s.st, p, time.Now()).Results()
	if len(grids) != 2 || !slices.Equal(grids[0].Missing, []string{"gpu.power_w"}) || len(grids[0].Columns) != 0 {
		t.Fatalf("%+v", grids)
	}
	if got := strings.Join(grids[1].Table().Head, "|"); got != "Configuration|Outcome|n|Decode (tok/s)" {
		t.Error(got)
	}
	var names []string
	for _, r := range grids[1].Rows {
		names = append(names, r.Name+": "+r.Status)
	}
	if got := strings.Join(names,
		", "); got != "baseline: reference, cache: accepted, later: blocked by a driver" {
		t.Error(got)
	}
	if grids = s.summary().Results(); len(grids) != 1 || grids[0].Columns[0].Path != "chat.tg" ||
		grids[0].Missing != nil {
		t.Errorf("%+v", grids)
	}
	if r := (Row{Node: "feature.cache@qwen"}).named(); r.Feature != "" {
		t.Error("an engine that confirms a feature is a port of its own")
	}
}

func one(unit string, v float64) measure.Summary {
	return measure.Summary{Unit: unit, N: 1, Stats: map[string]float64{"median": v, "mean": v, "max": v}}
}

// TestColumns: tables hold what decides, in one order, and nothing that is zero everywhere.
func TestColumns(t *testing.T) {
	l := &ledger.Launch{
		ID: "s-1.baseline.1", OK: true,
		Cells: []measure.CellRun{
			{Cell: "users.c16", Dimensions: measure.Dimensions{Prompt: 512, Output: 32, Depth: 4096, Concurrency: 16}},
			{Cell: "users.c1", Dimensions: measure.Dimensions{Prompt: 512, Output: 32, Depth: 4096, Concurrency: 1}},
			{Cell: "drawn", Dimensions: measure.Dimensions{Output: 8, Rate: 2.5}},
		},
		Metrics: map[string]measure.Summary{
			"users.c1.ttft": one("ms", 9), "users.c1.tg": one("tok/s", 100), "users.c16.tg": one("tok/s", 50),
			"users.c16.tg_total": one("tok/s", 700),
			"users.c16.itl":      {Unit: "ms", N: 8, Stats: map[string]float64{"median": 3}},
			"users.c1.queue":     one("ms", 0),
			"drawn.tg":           one("tok/s", 90), "drawn.queue": one("ms", 4),
			"drawn.prompt_tokens": one("tokens", 27.4),
			"drawn.errors":        one("count", 0),
			"engine.startup_s":    one("s", 2), "engine.crashes": one("count", 0), "host.memory_gb": one("GB", 3),
			"gpu.power_w": one("W", 300),
		},
	}
	var got []string
	for _, c := range Columns([]*ledger.Launch{l}) {
		got = append(got, c.Name())
	}
	want := []string{
		"users.c16.tg", "users.c16.itl.p99", "users.c16.tg_total", "users.c1.tg", "users.c1.ttft",
		"drawn.tg", "drawn.queue", "engine.startup_s", "host.memory_gb", "gpu.power_w",
	}
	if !slices.Equal(got, want) {
		t.Errorf("columns are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for cell, want := range map[string]string{
		"users.c16": "pp512 tg32 @ d4096, c16", "users.c1": "pp512 tg32 @ d4096", "drawn": "pp~27 tg8, 2.5 req/s",
		"elsewhere": "–",
	} {
		must.Equal(t, cell, Sent([]*ledger.Launch{l}, cell), want)
	}
}

// TestColumnsWithoutCells: a launch of a command holds no cells, and is shown by what it measured, with
// labels in the order in which people count.
func TestColumnsWithoutCells(t *testing.T) {
	l := &ledger.Launch{OK: true, Metrics: map[string]measure.Summary{
		"chat.tg": one("tok/s", 1), "chat.prompt_tokens": one("tokens", 64), "chat.output_tokens": one("tokens", 32),
		"command.speed": one("m/s", 2), "command.tp10.speed": one("m/s", 2), "command.tp2.speed": one("m/s", 2),
	}}
	var got []string
	for _, c := range Columns([]*ledger.Launch{l}) {
		got = append(got, c.Name())
	}
	must.Equal(t, "columns", strings.Join(got, " "), "chat.tg command.tp2.speed command.tp10.speed command.speed")
}

// TestValueBrief: the log of zero is no number, and no mean is zero for it.
func TestValueBrief(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{0, 3}, "1.5 tok/s"},
		{[]float64{1, 4}, "2 tok/s"},
		{nil, "–"},
		{[]float64{1, math.Inf(1)}, "–"},
	} {
		a := &Arm{}
		for _, v := range c.values {
			a.Launches = append(a.Launches, tgLaunch(v))
		}
		m := row{own: a}.value(shownAs(Column{"chat", "tg", "median"}, ""), &Summary{})
		must.Equal(t, c.values, m.New.Brief(), c.want)
	}
}
