package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

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
					ID: fmt.Sprintf("%s.%s.%d", session, variant, i), Session: session, Variant: variant, Ordinal: i + 1, OK: true,
					Metrics: map[string]measure.Summary{}, Knobs: map[string]string{"moe": variant},
				})
			}
			a.Launches[i].Metrics[address] = measure.Summary{Unit: unit, Better: better, N: 1, Stats: map[string]float64{"median": v}}
		}
	}
	return a
}

// TestValues: a column shows the row's own number with its change, or what its relation asks for,
// the same for a feature and, as times better, for a row of a comparison.
func TestValues(t *testing.T) {
	base := armOf("s", "slow", map[string][]float64{"chat.tg": {10, 10.2, 9.8}, "chat.ttft": {8, 8.2, 7.8}})
	own := armOf("s", "fast", map[string][]float64{"chat.tg": {40, 40.8, 39.2}, "chat.ttft": {2, 2.05, 1.95}, "chat.pp": {5}})
	r := row{own: own, base: base}
	marked := r
	marked.uncounted = true
	tg, ttft := plans.Input{Cell: "chat", Metric: "tg", Unit: "tok/s"}, plans.Input{Cell: "chat", Metric: "ttft", Unit: "ms", Better: "lower"}
	with := func(in plans.Input, to plans.Relation) plans.Input { in.Relation = to; return in }
	for _, c := range []struct {
		column      *plans.Column
		row         row
		plain, many string
	}{
		{columnOf("chat.tg", tg), r, "39.99 ± 0.8|4.0× (3.82× to 4.2×) better", "39.99 ± 0.8|4× (3.82× to 4.19×)"},
		{columnOf("chat.ttft", ttft), r, "2 ± 0.05|-75% (-76% to -74%) better", "2 ± 0.05|4× (3.78× to 4.23×)"},
		{columnOf("chat.tg.base", with(tg, plans.Base)), r, "9.999 ± 0.2", "9.999 ± 0.2"},
		{columnOf("chat.tg.gain", with(tg, plans.Gain)), r, "4.0× (3.82× to 4.2×) better", "4× (3.82× to 4.19×)"},
		{columnOf("chat.ttft.gain", with(ttft, plans.Gain)), r, "+75% (+74% to +76%) better", "4× (3.78× to 4.23×)"},
		{columnOf("chat.ttft.change", with(ttft, plans.Change)), r, "-75% (-76% to -74%) better", "4× (3.78× to 4.23×)"},
		{columnOf("chat.tg.delta", with(tg, plans.Delta)), r, "+30 tok/s (+28.2 tok/s to +31.8 tok/s) better", "+30 tok/s (+28.2 tok/s to +31.8 tok/s) better"},
		{columnOf("chat.tg", tg), marked, "❌ 39.99 ± 0.8", "❌ 39.99 ± 0.8"},
		{columnOf("chat.tg", tg), row{own: own}, "39.99 ± 0.8", "39.99 ± 0.8"},
		{columnOf("chat.tg", tg), row{}, "–", "–"},
		{columnOf("chat.pp", plans.Input{Cell: "chat", Metric: "pp"}), r, "–", "–"}, // one of three launches has it
		{columnOf("knob.moe", plans.Input{}), r, "fast", "fast"},
		{columnOf("chat.tg", tg), row{numbers: map[Column]ledger.Target{{"chat", "tg", "median", ""}: {Value: 57.85, Unit: "tok/s"}}}, "57.85", "57.85"},
	} {
		if c.column.Path == "knob.moe" {
			c.column.Input.Kind, c.column.Input.Type, c.column.Input.Name = plans.InputKnob, plans.WordInput, "moe"
		}
		v := c.row.value(shownOf(c.column), &Ports{})
		plain, many := strings.ReplaceAll(v.Text(false), "\n", "|"), strings.ReplaceAll(v.Text(true), "\n", "|")
		if plain != c.plain || many != c.many {
			t.Errorf("%s: %q and %q, want %q and %q", c.column.Path, plain, many, c.plain, c.many)
		}
	}
}

// TestSheet: tables of the plan keep their order and headings, and name what no row has; without a
// plan they have what people decide by.
func TestSheet(t *testing.T) {
	s := newStory(t)
	s.begin("r1")
	s.add(baselineOf(set()))
	base := s.launches("s-1", "baseline", set(), 20, 20.4, 19.8, 20.1)
	s.feature("cache", true, set("cache=on"), "baseline", base, s.launches("s-1", "cache", set("cache=on"), 40, 40.8, 39.6, 40.2), 1, 0.9)
	tg, power := columnOf("chat.tg", plans.Input{Cell: "chat", Metric: "tg", Unit: "tok/s"}), columnOf("gpu.power_w", plans.Input{Cell: "gpu", Metric: "power_w", Unit: "W"})
	tg.Heading = "Decode"
	p := &plans.Plan{Phases: []*plans.Phase{{Name: "p", Features: []*plans.Feature{{Name: "cache"}, {Name: "later", BlockedBy: []string{"a driver"}}}}}}
	p.Tables = []*plans.Table{{Name: "power", Columns: []*plans.Column{power}}, {Columns: []*plans.Column{power, tg}}}
	grids := SheetOf(s.st, p).Results()
	if len(grids) != 2 || !slices.Equal(grids[0].Missing, []string{"gpu.power_w"}) || len(grids[0].Columns) != 0 {
		t.Fatalf("%+v", grids)
	}
	if got := strings.Join(grids[1].Table().Head, "|"); got != "Configuration|n|Decode (tok/s)|Outcome" {
		t.Error(got)
	}
	var names []string
	for _, r := range grids[1].Rows {
		names = append(names, r.Name+": "+r.Status)
	}
	if got := strings.Join(names, ", "); got != "baseline: reference, cache: pass, accepted, later: blocked by a driver" {
		t.Error(got)
	}
	if grids = SheetOf(s.st, nil).Results(); len(grids) != 1 || grids[0].Columns[0].Path != "chat.tg" || grids[0].Missing != nil {
		t.Errorf("%+v", grids)
	}
}

// TestConfirmedIsNoPort: an engine that confirms a feature is no port of its own, and the one on which
// it did not pass is why it did not.
func TestConfirmedIsNoPort(t *testing.T) {
	if _, is := FeatureNode("feature.cache@qwen"); is {
		t.Error("a confirmation is a feature")
	}
	d := &ledger.Decision{Kind: ledger.KindFeature, Feature: "cache", Verdict: verdict.Inconclusive, Confirmations: []ledger.Confirmation{
		{Engine: "e.qwen", Verdict: verdict.Pass, Reason: verdict.Say("yes", "confirmed on qwen")},
		{Engine: "e.gemma", Verdict: verdict.Inconclusive, Reason: verdict.Say("no", "too few launches")},
	}}
	if got := Brief(d); got != "too few launches" {
		t.Error(got)
	}
	d.Verdict, d.Confirmations[1].Verdict = verdict.Pass, verdict.Pass
	if got := Brief(d); !strings.HasSuffix(got, "confirmed on e.qwen and e.gemma") {
		t.Error(got)
	}
}

func one(unit string, v float64) measure.Summary {
	return measure.Summary{Unit: unit, N: 1, Stats: map[string]float64{"median": v, "mean": v, "max": v}}
}

// Tables hold what decides, in one order, and nothing that is zero everywhere.
func TestGroups(t *testing.T) {
	l := &ledger.Launch{
		ID: "s-1.baseline.1", OK: true,
		Cells: []measure.CellRun{
			{Cell: "users.c16", Prompt: 512, Output: 32, Depth: 4096, Concurrency: 16},
			{Cell: "users.c1", Prompt: 512, Output: 32, Depth: 4096, Concurrency: 1},
			{Cell: "drawn", Output: 8, Rate: 2.5},
		},
		Metrics: map[string]measure.Summary{
			"users.c1.ttft": one("ms", 9), "users.c1.tg": one("tok/s", 100), "users.c16.tg": one("tok/s", 50), "users.c16.tg_total": one("tok/s", 700),
			"users.c16.itl": {Unit: "ms", N: 8, Stats: map[string]float64{"median": 3}}, "users.c1.queue": one("ms", 0),
			"drawn.tg": one("tok/s", 90), "drawn.queue": one("ms", 4), "drawn.prompt_tokens": one("tokens", 27.4), "drawn.errors": one("count", 0),
			"engine.startup_s": one("s", 2), "engine.crashes": one("count", 0), "host.memory_gb": one("GB", 3), "gpu.power_w": one("W", 300),
		},
	}
	var got []string
	for _, g := range Groups([]*ledger.Launch{l}) {
		var heads []string
		for _, c := range g.Columns {
			heads = append(heads, c.Head)
		}
		got = append(got, g.Name+" "+strings.Join(g.Cells, ",")+": "+strings.Join(heads, ", "))
	}
	want := []string{
		"users users.c16,users.c1: tg (tok/s), ttft (ms), itl p99 (ms), tg_total (tok/s)",
		"drawn drawn: tg (tok/s), queue (ms)",
		"engine engine: startup_s, host.memory_gb",
		"gpu gpu: power_w",
	}
	if !slices.Equal(got, want) {
		t.Errorf("groups are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for cell, want := range map[string]string{
		"users.c16": "pp512 tg32 @ d4096, c16", "users.c1": "pp512 tg32 @ d4096", "drawn": "pp~27 tg8, 2.5 req/s", "elsewhere": "–",
	} {
		if got := Sent([]*ledger.Launch{l}, cell); got != want {
			t.Errorf("%s was sent %q, want %q", cell, got, want)
		}
	}
}

// A launch of a command holds no cells, and is shown by what it measured.
func TestGroupsWithoutCells(t *testing.T) {
	l := &ledger.Launch{OK: true, Metrics: map[string]measure.Summary{
		"chat.tg": one("tok/s", 1), "chat.prompt_tokens": one("tokens", 64), "chat.output_tokens": one("tokens", 32), "command.speed": one("m/s", 2),
	}}
	groups := Groups([]*ledger.Launch{l})
	if len(groups) != 2 || groups[0].Name != "chat" || groups[1].Name != "command" || groups[1].Columns[0].Head != "speed (m/s)" {
		t.Errorf("groups are %+v", groups)
	}
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
		m, _ := (&Port{Arm: a, ports: &Ports{}}).Row(Column{Cell: "chat", Metric: "tg", Stat: "median"})
		if got := m.After(); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}
