package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime/ledger"
)

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
