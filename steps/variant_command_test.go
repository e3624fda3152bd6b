package steps

import (
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps/variant"
)

const commandPlan = `
plan "c" {}
engine "openai" "own" {
  args = ["--all"]
  process {
    command = ["./old", "--port", "{port}"]
    port    = 8123
  }
}
engine "openai" "boxed" {
  docker {
    image = "x"
  }
}
knob "build" {
  default = "old"
  value "old" {}
  value "new" {
    command = ["new/serve", "{port}"]
    args    = ["--more"]
  }
}
workload "w" {
  prompt_tokens = 16
  output_tokens = 8
}
protocol "p" {
  level "benchmark" { workloads = [workload.w] }
}
baseline {
  engine   = engine.openai.own
  protocol = protocol.p
}
phase "one" {
  feature "new" {
    set = { build = "new" }
    criterion "c" { rule = "w.tg.gain >= 0.1" }
  }
}
`

// A knob's value may be another program: it takes the place of the command, and
// what is appended to the command is appended to it.
func TestKnobCommand(t *testing.T) {
	res := load.Bytes("plan.hcl", []byte(commandPlan), Registry(), load.Options{})
	if !res.OK() {
		t.Fatal(res.Diagnostics.Error())
	}
	l := &variant.Resolver{Plan: res.Plan}
	for value, want := range map[string][]string{
		"old": {"./old", "--port", "{port}", "--all"},
		"new": {"new/serve", "{port}", "--all", "--more"},
	} {
		v, err := l.Resolve(nil, "x", "openai.own", map[string]string{"build": value})
		if err != nil || !slices.Equal(v.Spec.Command, want) || v.Spec.Port != 8123 {
			t.Errorf("%s: %q, port %d (%v); want %q", value, v.Spec.Command, v.Spec.Port, err, want)
		}
	}
	_, err := l.Resolve(nil, "x", "openai.boxed", map[string]string{"build": "new"})
	if err == nil || !strings.Contains(err.Error(), "is not started as a process") {
		t.Errorf("a command for a container: %v", err)
	}
}

// A server that somebody else runs has no command to replace.
func TestKnobCommandCannotReachAnEndpoint(t *testing.T) {
	text := strings.Replace(commandPlan, "  args = [\"--all\"]\n  process {\n    command = [\"./old\", \"--port\", \"{port}\"]\n    port    = 8123\n  }", "  endpoint {\n    url = \"http://localhost:8000\"\n  }", 1)
	res := load.Bytes("plan.hcl", []byte(text), Registry(), load.Options{})
	if res.OK() || !strings.Contains(res.Diagnostics.Error(), "args and command of value") {
		t.Errorf("a command for an endpoint: %v", res.Diagnostics.Error())
	}
}
