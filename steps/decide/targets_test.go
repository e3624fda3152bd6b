package decide_test

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/rules"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/decide"
)

// A number that a command prints too is held against it without a rule.
func TestTargetsOfACommand(t *testing.T) {
	res := load.Bytes("plan.hcl", []byte(`
plan "t" {}
engine "command" "bench" {
  process { command = ["true"] }
  metric "lat" {
    jq     = ".lat"
    unit   = "ms"
    better = "lower"
  }
}
protocol "p" {
  level "benchmark" {}
}
baseline {
  engine   = engine.command.bench
  protocol = protocol.p
}
target "peer" {
  metrics = { command = { lat = 20 } }
}
`), steps.Registry(), load.Options{})
	if !res.OK() {
		t.Fatal(res.Diagnostics)
	}
	all := decide.Targets(res.Plan)
	if len(all) != 1 || all[0].Address != "command.lat" || all[0].Unit != "ms" || all[0].Better != "lower" || all[0].Stat != "median" || !all[0].Why.IsZero() || all[0].Value != 20 {
		t.Errorf("%+v", all)
	}
}

// A number of a workload of several cells says which it is of, as rules do or by the
// field's name; one that does not is held against nothing.
func TestTargetsOfCells(t *testing.T) {
	plan := func(metrics string) string {
		return `
plan "t" {}
engine "embedded" "tiny" {}
workload "chat" {
  prompt_tokens = 16
  output_tokens = [24, 32]
}
protocol "p" {
  level "smoke" {
    prompt  = "?"
    pattern = "."
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
target "peer" {
  metrics = ` + metrics + `
}
`
	}
	for _, c := range []struct{ metrics, path, address, why string }{
		{`{ chat = { tg24 = 20 } }`, "target.peer.chat.tg24", "chat.o24.tg", ""},
		{`{ "chat.o32" = { tg = 20 } }`, "target.peer.chat.o32.tg", "chat.o32.tg", ""},
		{`{ chat = { tg = 20 } }`, "target.peer.chat.tg", "", "target.of_cells"},
	} {
		res := load.Bytes("plan.hcl", []byte(plan(c.metrics)), steps.Registry(), load.Options{})
		if !res.OK() {
			t.Fatal(res.Diagnostics)
		}
		all := decide.Targets(res.Plan)
		if len(all) != 1 || all[0].Path != c.path || all[0].Address != c.address || string(all[0].Why.Kind) != c.why || all[0].Unit != "tok/s" || all[0].Value != 20 {
			t.Errorf("%s: %+v", c.metrics, all)
		}
		in, err := rules.New(res.Plan).Resolve(strings.Split(c.path, "."), &rules.Scope{})
		if err != nil || in.Number != 20 || in.Unit != "tok/s" {
			t.Errorf("a rule reads %s as %+v: %v", c.path, in, err)
		}
	}
	for metrics, want := range map[string]string{
		`{ chat = { tg25 = 20 } }`:        "Unknown metric",
		`{ "chat.o25" = { tg = 20 } }`:    "Unknown cell",
		`{ "chatt.o24" = { tg = 20 } }`:   "Unknown workload",
		`{ "chat.o24.tg" = { p50 = 1 } }`: "Unknown address",
	} {
		res := load.Bytes("plan.hcl", []byte(plan(metrics)), steps.Registry(), load.Options{})
		if len(res.Diagnostics) != 1 || res.Diagnostics[0].Summary != want {
			t.Errorf("%s: %v, want %s", metrics, res.Diagnostics, want)
		}
	}
}
