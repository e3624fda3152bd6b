package decide_test

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/rules"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/steps"
)

// A number that a command prints too is held against it without a rule; one of a workload of several
// cells says which it is of, as rules do or by the field's name, or is held against nothing.
func TestTargets(t *testing.T) {
	const command = `
engine "command" "bench" {
  process { command = ["true"] }
  metric "lat" {
    jq     = ".lat"
    unit   = "ms"
    better = "lower"
  }
}
baseline {
  engine   = engine.command.bench
  protocol = protocol.p
}
protocol "p" {
  level "benchmark" {}
}
`
	const server = `
engine "embedded" "tiny" {}
workload "chat" {
  prompt_tokens = 16
  output_tokens = [24, 32]
}
protocol "p" {
  level "smoke" { pattern = "." }
  level "benchmark" { workloads = [workload.chat] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
`
	loaded := func(plan, metrics string) *load.Result {
		text := "plan \"t\" {}\n" + plan + "target \"peer\" {\n  metrics = " + metrics + "\n}\n"
		return load.Bytes("plan.hcl", []byte(text), steps.Registry(), load.Options{})
	}
	for _, c := range []struct{ plan, metrics, path, address, unit, why string }{
		{command, `{ command = { lat = 20 } }`, "target.peer.command.lat", "command.lat", "ms", ""},
		{server, `{ chat = { tg24 = 20 } }`, "target.peer.chat.tg24", "chat.o24.tg", "tok/s", ""},
		{server, `{ "chat.o32" = { tg = 20 } }`, "target.peer.chat.o32.tg", "chat.o32.tg", "tok/s", ""},
		{server, `{ chat = { tg = 20 } }`, "target.peer.chat.tg", "", "tok/s", "target.of_cells"},
	} {
		res := loaded(c.plan, c.metrics)
		if !res.OK() {
			t.Fatal(res.Diagnostics)
		}
		all := decide.Targets(res.Plan)
		if len(all) != 1 || all[0].Path != c.path || all[0].Address != c.address || all[0].Unit != c.unit ||
			c.address != "" && all[0].Stat != "median" || string(all[0].Why.Kind) != c.why || all[0].Value != 20 {
			t.Errorf("%s: %+v", c.metrics, all)
		}
		in, err := rules.New(res.Plan).Resolve(strings.Split(c.path, "."), &rules.Scope{})
		if err != nil || in.Number != 20 || in.Unit != c.unit {
			t.Errorf("a rule reads %s as %+v: %v", c.path, in, err)
		}
	}
	for metrics, want := range map[string]string{
		`{ chat = { tg25 = 20 } }`:        "Unknown metric",
		`{ "chat.o25" = { tg = 20 } }`:    "Unknown cell",
		`{ "chatt.o24" = { tg = 20 } }`:   "Unknown workload",
		`{ "chat.o24.tg" = { p50 = 1 } }`: "Unknown address",
	} {
		if res := loaded(server, metrics); len(res.Diagnostics) != 1 || res.Diagnostics[0].Summary != want {
			t.Errorf("%s: %v, want %s", metrics, res.Diagnostics, want)
		}
	}
}
