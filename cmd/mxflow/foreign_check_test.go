package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
)

// foreignLaunch is what a test reads of a launch.
type foreignLaunch struct {
	ID       string                    `json:"id"`
	Observed map[string]map[string]any `json:"observed"`
	Notes    []string                  `json:"notes"`
	Cells    []measure.CellRun         `json:"cells"`
	Metrics  map[string]struct {
		Stats map[string]float64 `json:"stats"`
	} `json:"metrics"`
}

// check reads the launches in the ledger.
func (f foreignEngine) check(t *testing.T, dir string) {
	out, err := exec.Command(program, "show", "latest", dir, "--json").Output()
	if err != nil {
		t.Fatalf("show: %v", err)
	}
	var run struct {
		Launches []foreignLaunch `json:"launches"`
	}
	if err := json.Unmarshal(out, &run); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "show", "latest", dir, "--recompute").CombinedOutput(); err != nil {
		t.Errorf("the metrics are not what is computed from the raw data: %v\n%s", err, out)
	}
	if len(run.Launches) != 10 {
		t.Errorf("%d launches, want 2 to qualify and 8 to benchmark", len(run.Launches))
	}
	measured := 0
	for _, l := range run.Launches {
		var seen []string
		for name := range l.Observed {
			seen = append(seen, fmt.Sprintf("%s=%v", name, l.Observed[name]["value"]))
		}
		slices.Sort(seen)
		t.Logf("launch %s: %s; notes %q", l.ID, strings.Join(seen, " "), l.Notes)
		for _, want := range f.observed {
			if l.Observed[want] == nil {
				t.Errorf("launch %s did not observe %s", l.ID, want)
			}
		}
		if len(l.Cells) == 0 {
			continue // a qualification sends no workload
		}
		measured++
		for cell, tokens := range map[string]float64{"busy.d0.c1": 40, "busy.d0.c2": 40, "busy.d64.c1": 104, "busy.d64.c2": 104} {
			f.cell(t, l, cell, tokens)
		}
	}
	if measured != 8 {
		t.Errorf("%d launches were measured, want 8", measured)
	}
}

// cell reads what was measured of a cell of the workload "busy", whose prompts
// have so many tokens with what comes before them.
func (f foreignEngine) cell(t *testing.T, l foreignLaunch, cell string, tokens float64) {
	t.Helper()
	median := func(metric string) float64 {
		x, ok := l.Metrics[cell+"."+metric].Stats["median"]
		if !ok {
			t.Errorf("launch %s has no %s.%s", l.ID, cell, metric)
		}
		return x
	}
	if got := median("prompt_tokens"); got != tokens && !(f.roughly && got > tokens/2 && got < 2*tokens) {
		t.Errorf("launch %s: prompts of %s have %v tokens by the engine's count, want %v", l.ID, cell, got, tokens)
	}
	if got := median("output_tokens"); got != 96 {
		t.Errorf("launch %s: answers of %s have %v tokens by the engine's count, want 96", l.ID, cell, got)
	}
	if got := median("tg_total"); got <= 0 {
		t.Errorf("launch %s: %s.tg_total is %v", l.ID, cell, got)
	}
	if !f.drafts {
		return
	}
	length, rate, first := median("accept_length"), median("accept_rate"), median("accept_pos0")
	t.Logf("launch %s: %s: accept_length %.2f, accept_rate %.2f, accept_pos0 %.2f", l.ID, cell, length, rate, first)
	if length < 2 || !(rate > 0 && rate <= 1) || !(first > 0 && first <= 1) {
		t.Errorf("launch %s: %s is of a text that repeats itself, so that drafts are accepted", l.ID, cell)
	}
	if got := median("cached_tokens"); got != 0 {
		t.Errorf("launch %s: %v tokens of prompts of %s were cached", l.ID, got, cell)
	}
}
