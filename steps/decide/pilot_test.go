package decide

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// piloted makes up the launches of a pilot, of which those beside neighbours differ from
// those alone by what beside says of each round.
func piloted(rounds int, beside func(round int) float64) (all []*ledger.Launch) {
	launch := func(arm string, round int, tg float64) {
		l := &ledger.Launch{
			ID: fmt.Sprintf("%s.%d", arm, round), Variant: arm, Ordinal: round, OK: true, Purpose: ledger.ForBenchmark,
			Place: &ledger.Place{Name: fmt.Sprint("slot ", (round-1)%4)}, Metrics: map[string]measure.Summary{},
		}
		for _, address := range []string{"chat.tg", "chat.output_tokens"} {
			l.Metrics[address] = measure.Summary{Stats: map[string]float64{"median": tg}}
		}
		all = append(all, l)
	}
	for r := 1; r <= rounds; r++ {
		// Places differ by 10%, and launches vary by what looks random.
		level := 100 * (1 + 0.1*float64((r-1)%4))
		wobble := func(i int) float64 { return 1 + 0.001*math.Sin(float64(7*r*r+11*i)) }
		launch(PilotAlone, r, level*wobble(1))
		launch(PilotBeside, r, level*wobble(2)*beside(r))
		launch(PilotNeighbour, r, level)
	}
	return all
}

func TestPilot(t *testing.T) {
	plan := &plans.Plan{Executor: &plans.Executor{Kind: plans.LocalExecutor, PerLaunch: 1, Slots: 4}}
	by := func(x float64) func(int) float64 { return func(int) float64 { return x } }
	spread := func(x float64) func(int) float64 {
		return func(r int) float64 { return 1 + x*math.Cos(float64(5*r*r)) }
	}
	find := func(all []*ledger.Launch, id string) *ledger.Launch {
		return all[slices.IndexFunc(all, func(l *ledger.Launch) bool { return l.ID == id })]
	}
	broke := verdict.New(code.Broken, verdict.Text("error", "out of memory"))
	for _, c := range []struct {
		name   string
		rounds int
		beside func(int) float64
		change func(all []*ledger.Launch)
		done   bool
		slots  int
		want   verdict.Verdict
		why    code.Code
		of     verdict.Verdict
	}{
		{name: "nothing is felt", rounds: 12, beside: by(1), done: true, slots: 4, want: verdict.Pass, why: code.PilotChange, of: verdict.Pass},
		{name: "too early to say so", rounds: 11, beside: by(1)},
		{name: "harm after six", rounds: 6, beside: by(0.97), done: true, slots: 1, want: verdict.Pass, why: code.PilotChange, of: verdict.Fail},
		{name: "harm after five", rounds: 5, beside: by(0.5)},
		{name: "faster is no better", rounds: 6, beside: by(1.03), done: true, slots: 1, want: verdict.Pass, why: code.PilotChange, of: verdict.Fail},
		{name: "at the bound", rounds: 12, beside: by(0.99), done: true, slots: 1, want: verdict.Pass, why: code.PilotChange, of: verdict.Inconclusive},
		{name: "a spread of many times as much", rounds: 12, beside: spread(0.012), done: true, slots: 1, want: verdict.Pass, why: code.PilotChange, of: verdict.Inconclusive},
		{
			name: "one lacks its speed", rounds: 12, beside: by(1), done: true, slots: 1, want: verdict.Pass, why: code.PilotUnread, of: verdict.Inconclusive,
			change: func(all []*ledger.Launch) { delete(find(all, "beside.12").Metrics, "chat.tg") },
		},
		{
			name: "no speed at all", rounds: 12, beside: by(1), done: true, slots: 1, want: verdict.Pass,
			change: func(all []*ledger.Launch) {
				for _, l := range all {
					delete(l.Metrics, "chat.tg")
				}
			},
		},
		{name: "NaN", rounds: 12, beside: by(math.NaN()), done: true, slots: 1, want: verdict.Pass, why: code.PilotUnread, of: verdict.Inconclusive},
		{name: "zero", rounds: 12, beside: by(0), done: true, slots: 1, want: verdict.Pass, why: code.PilotUnread, of: verdict.Inconclusive},
		{
			name: "another place", rounds: 12, beside: by(1), done: true, slots: 1, want: verdict.Pass, why: code.PilotUnread, of: verdict.Inconclusive,
			change: func(all []*ledger.Launch) { find(all, "beside.3").Place = &ledger.Place{Name: "slot 9"} },
		},
		{
			name: "all on one value", rounds: 12, beside: by(1), done: true, slots: 1, want: verdict.Pass, why: code.PilotChange, of: verdict.Inconclusive,
			change: func(all []*ledger.Launch) {
				for _, l := range all {
					l.Metrics["chat.tg"].Stats["median"] = 32
				}
			},
		},
		{
			name: "a neighbour breaks", rounds: 2, beside: by(1), done: true, slots: 1, want: verdict.Pass, why: code.PilotLost,
			change: func(all []*ledger.Launch) { l := find(all, "neighbour.2"); l.OK, l.Error = false, broke },
		},
		{
			name: "one breaks beside neighbours", rounds: 2, beside: by(1), done: true, slots: 1, want: verdict.Pass, why: code.PilotLost,
			change: func(all []*ledger.Launch) { l := find(all, "beside.2"); l.OK, l.Error = false, broke },
		},
		{
			name: "one is disturbed, and made again", rounds: 2, beside: by(1),
			change: func(all []*ledger.Launch) {
				l := find(all, "beside.2")
				l.Disturbed, l.Invalid = true, []verdict.Reason{broke}
			},
		},
		{
			name: "one does not count, and is not made again", rounds: 2, beside: by(1), done: true, slots: 1, want: verdict.Pass, why: code.PilotLost,
			change: func(all []*ledger.Launch) { find(all, "beside.2").Invalid = []verdict.Reason{broke} },
		},
		{
			name: "one breaks alone", rounds: 2, beside: by(1), done: true, want: verdict.Error, why: code.Broken,
			change: func(all []*ledger.Launch) { l := find(all, "alone.2"); l.OK, l.Error = false, broke },
		},
		{name: "nothing was launched", beside: by(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := piloted(c.rounds, c.beside)
			if c.change != nil {
				c.change(all)
			}
			got := Pilot(plan, plans.Pilot{Within: 0.01}, all)
			if got.Done != c.done || got.Slots != c.slots || got.Verdict != c.want {
				t.Fatalf("%+v", got)
			}
			if c.why == "" {
				return
			}
			why := got.Reasons[0].Causes[0]
			if why.Code != c.why || why.Verdict != c.of {
				t.Errorf("%+v", got.Reasons)
			}
		})
	}
}

// TestPilotKeys: what rules read decides what is looked at, whichever relation they ask for.
func TestPilotKeys(t *testing.T) {
	const src = `
plan "p" {}
engine "embedded" "tiny" {}
knob "a" {
  default = "off"
  value "off" {
    must_see { log = ["*off*"] }
  }
  value "on" {
    must_see { log = ["*on*"] }
  }
}
workload "w" {
  prompt_tokens = 16
  output_tokens = 8
  requests      = 30
}
protocol "p" {
  level "kernels" { from = ["log"] }
  level "benchmark" { workloads = [workload.w] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
phase "one" {
  feature "first" {
    set = { a = "on" }
    criterion "c" { rule = "w.tg.gain >= 0 and w.tg.p90 >= 1 and engine.memory_gb.delta <= 1 and w.errors <= 0" }
  }
  gate {
    rule "g" { expr = "w.ttft.gain >= 0 and engine.startup_s.gain >= -1 and w.output_tokens >= 1" }
  }
}
`
	got := strings.Join(PilotKeys(viewOf(t, src, nil, nil).Plan), " ")
	if want := "engine.startup_s w.tg w.tg.p90 w.ttft"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
