package planstest

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/plans"
)

// RulePlan declares one of everything that a rule can address.
const RulePlan = `plan "rules" {}
engine "embedded" "tiny" {}
knob "moe" {
  default = "all"
  value "all" {
    env = { MOE = "all" }
    must_see { log = ["*all experts*"] }
  }
  value "routed" {
    env = { MOE = "routed" }
    must_see { log = ["*routed experts*"] }
  }
}
workload "chat" {
  prompt_tokens = 2048
  output_tokens = 32
}
workload "outs" {
  prompt_tokens = 64
  output_tokens = [32, 64]
}
workload "lens" {
  prompt_tokens = [128, 512]
  output_tokens = [16, 32]
}
workload "unsent" {
  prompt_tokens = 1
  output_tokens = 1
}
target "llamacpp" {
  metrics = { chat = { pp = 2449.83, tg = 57.85 } }
}
protocol "standard" {
  level "smoke" {
    prompt = "?"
    expect = "!"
  }
  level "kernels" {
    from = ["log"]
  }
  level "benchmark" {
    workloads = [workload.chat, workload.outs, workload.lens]
  }
}
protocol "quick" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
phase "one" {
  feature "first" {
    set = { moe = "routed" }
    criterion "decode" { rule = "chat.tg.gain >= 0.1" }
  }
}
phase "two" {
  after = [phase.one]
  feature "second" {
    set = { moe = "routed" }
    criterion "decode" { rule = "chat.tg.gain >= 0.1" }
  }
  feature "third" {
    set      = { moe = "routed" }
    protocol = protocol.quick
    criterion "decode" { rule = "chat.tg.gain >= 0.1" }
  }
}
phase "three" {
  after_decided = [phase.two]
  feature "fourth" {
    set = { moe = "routed" }
    criterion "decode" { rule = "chat.tg.gain >= 0.1" }
  }
}
phase "empty" {
  after = [phase.three]
  step "exec" "build" { command = ["true"] }
}
`

// RulePlanWith is RulePlan with another criterion for feature first.
func RulePlanWith(attribute string) []byte {
	const old = `criterion "decode" { rule = "chat.tg.gain >= 0.1" }`
	return []byte(strings.Replace(RulePlan, old, "criterion \"decode\" {\n"+attribute+"\n}", 1))
}

// ClaimText shows a claim: its form, then "input op threshold".
func ClaimText(c *plans.Claim) string {
	if c == nil {
		return "none"
	}
	if c.Input == nil {
		return string(c.Form)
	}
	op := "<"
	if c.More {
		op = ">"
	}
	if !c.Strict {
		op += "="
	}
	return fmt.Sprintf("%s: %s %s %v", c.Form, c.Input.Path, op, c.Threshold)
}

// ClaimsOf shows the claims of all comparisons.
func ClaimsOf(p *plans.Program) string {
	var list []string
	for _, l := range p.Leaves {
		list = append(list, ClaimText(l.Claim))
	}
	return strings.Join(list, "; ")
}
