package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// abRows are a metric that differs by no more than launches do, and one that does.
func abRows() []abRow {
	rows := []abRow{{Metric: "pp2048", Unit: "tok/s", A: 4470, B: 4481, Change: 4481.0/4470 - 1}, {Metric: "host memory", Unit: "GB", A: 4.2, B: 4.4, Change: 4.4/4.2 - 1, Better: "worse"}}
	rows[0].bound([]float64{4400, 4541}, []float64{4481, 4482})
	rows[1].bound([]float64{4.2, 4.201}, []float64{4.4, 4.401})
	return rows
}

// Every metric that a claim can be about has a direction and is positive.
func TestABMetrics(t *testing.T) {
	for _, m := range abMetrics() {
		if m.Better == measure.Neither {
			t.Errorf("%s is better in no direction", m.Name)
		}
	}
}

// An interval around no change at all calls nothing better or worse, and one start
// of each bounds nothing.
func TestABAlsoMeasured(t *testing.T) {
	for _, c := range []struct {
		a, b           []float64
		bounded, apart bool
	}{
		{[]float64{1008, 900, 1100, 950}, []float64{840, 1090, 700, 1120}, true, false},
		{[]float64{100, 101, 99, 100}, []float64{120, 121, 119, 120}, true, true},
		{[]float64{100, 101, 99, 100}, []float64{80, 81, 79, 80}, true, true},
		{[]float64{100}, []float64{200}, false, false},
		{nil, nil, false, false},
		{[]float64{100, 100}, []float64{200, 200}, false, false},
		{[]float64{0, 1}, []float64{2, 3}, false, false},
	} {
		row := abRow{}
		if apart := row.bound(c.a, c.b); apart != c.apart || (row.Low != nil) != c.bounded {
			t.Errorf("%v against %v: apart %v, interval %v", c.b, c.a, apart, row.Low)
		}
	}
}

// The command line that stands in a plan asks for the same plan again.
func TestABLine(t *testing.T) {
	q := &ab{a: "vllm serve m", b: "vllm serve m --x", pp: 64, tg: 16, concurrency: 1, metric: "tg", api: "completions", caches: "own"}
	q.coherence, q.expect, q.timeout, q.maxLag = "off", "Paris is", 20*time.Minute, 300*time.Millisecond
	if err := q.check(new(app).abCommand()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--coherence off", "--expect 'Paris is'", "--timeout 20m0s", "--max-lag 300ms"} {
		if !strings.Contains(q.commandLine, want) {
			t.Errorf("%q is not in %s", want, q.commandLine)
		}
	}
}

// A launch that another one stands in for counts nowhere, and is told.
func TestABReplaced(t *testing.T) {
	first := &ledger.Launch{ID: "s.B.1", OK: true, Invalid: facts("woken up late")}
	second := &ledger.Launch{ID: "s.B.1r1", OK: true, Replaces: "s.B.1"}
	all := []*ledger.Launch{first, second}
	if !again(first, all) || again(second, all) {
		t.Errorf("%v, %v", again(first, all), again(second, all))
	}
	var out bytes.Buffer
	r := &abResult{}
	r.B = abSide{Launches: []abLaunch{{Order: 2, Value: 3}}, Replaced: 1}
	(&abShow{app: &app{stdout: &out}, q: &ab{}}).launchLines(r)
	if !strings.Contains(out.String(), "  in the order B; 1 launch made again because the machine was disturbed") {
		t.Error(out.String())
	}
}
