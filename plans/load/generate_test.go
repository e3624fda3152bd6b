package load

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/plans/planstest"
)

// TestGenerationIsBounded has plans that would make very much out of little.
func TestGenerationIsBounded(t *testing.T) {
	phases := func(body string) string {
		return "plan \"p\" {}\nlocals {\n  n = [for i in range(1000) : \"x${i}\"]\n}\n" + body
	}
	feature := "set = { k = \"on\" }\n criterion \"c\" {\n rule = \"chat.tg.gain > 0\"\n }\n"
	for name, src := range map[string]string{
		"features of phases": phases("phase \"p\" {\n for_each = local.n\n feature \"f\" {\n for_each = local.n\n" + feature + "}\n}\n"),
		"dynamic in dynamic": phases("knob \"k\" {\n default = \"a\"\n dynamic \"value\" {\n for_each = local.n\n labels = [value.value]\n content {\n" +
			" dynamic \"must_see\" {\n for_each = local.n\n content {\n log = [\"x\"]\n }\n }\n }\n }\n}\n"),
		"many blocks": phases(numbered(30, func(i int) string {
			return fmt.Sprintf("workload \"w%d\" {\n for_each = local.n\n prompt_tokens = 1\n output_tokens = 1\n}\n", i)
		})),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			res := loadText(src)
			if took := time.Since(start); took > planstest.Hang {
				t.Errorf("took %v", took)
			}
			if res.OK() || strings.Contains(planstest.Text(&res.Findings), "Internal error") {
				t.Errorf("ok %v\n%s", res.OK(), planstest.Text(&res.Findings))
			}
		})
	}
}

// inPhase is a plan up to the content of its phase.
const inPhase = `plan "p" {}
locals {
  repos  = ["a", "b"]
  prefix = "port"
  ports  = { x = { on = "routed", least = [0.1, 0.2] } }
}
engine "embedded" "tiny" {}
knob "moe" {
  default = "all"
  value "all" {
    settings = { moe = "all" }
    must_see { log = ["all"] }
  }
  value "routed" {
    settings = { moe = "routed" }
    must_see { log = ["routed"] }
  }
}
workload "chat" {
  prompt_tokens = 16
  output_tokens = 24
}
protocol "usual" {
  level "smoke" {
    prompt = "?"
    expect = "!"
  }
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.usual
}
phase "p" {
`

// TestDynamicInPhase: dynamic blocks use locals and each, and make no features.
func TestDynamicInPhase(t *testing.T) {
	const step = `dynamic "step" {
    for_each = %s
    labels   = ["exec", "${local.prefix}_${step.value}"]
    content {
      command = ["true"]
    }
  }
`
	res := loadText(inPhase + fmt.Sprintf(step, "local.repos") + `
  feature "port" {
    for_each = local.ports
    set      = { moe = each.value.on }
    dynamic "criterion" {
      for_each = each.value.least
      labels   = ["at_least_${criterion.key}"]
      content {
        rule = "chat.tg.gain >= ${criterion.value}"
      }
    }
  }
}
`)
	if !res.OK() {
		t.Fatal(planstest.Text(&res.Findings))
	}
	ph := res.Plan.Phases[0]
	got := []string{ph.Steps[0].Name, ph.Steps[1].Name, ph.Features[0].Name, ph.Features[0].Criteria[1].Expr}
	if want := []string{"port_a", "port_b", "port_x", "chat.tg.gain >= 0.2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if res := loadText(inPhase + "dynamic \"feature\" {\n for_each = [1]\n labels = [\"f\"]\n content {}\n}\n}\n"); !strings.Contains(planstest.Text(&res.Findings), "Feature in dynamic") {
		t.Error(planstest.Text(&res.Findings))
	}
	for _, wrong := range []string{"local.repo", "5"} {
		res := loadText(inPhase + fmt.Sprintf(step, wrong) + "}\n")
		if text := planstest.Text(&res.Findings); len(res.DiagnosticsJSON()) == 0 {
			t.Errorf("for_each = %s has another fault than that:\n%s", wrong, text)
		}
	}
}
