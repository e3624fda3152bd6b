package decide_test

import (
	"testing"

	"github.com/mxflow/mxflow/plans/load"
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
