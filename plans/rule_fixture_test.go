package plans

import (
	"fmt"
	"strings"
	"testing"
)

// rulePlan declares one of everything that a rule can address.
const rulePlan = `plan "rules" {}
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

// rules compiles against rulePlan. The places are "criterion" (of first), and
// the gates of the phases.
type ruleSet struct {
	ns     *namespace
	places map[string]*scope
}

func newRules(t testing.TB) ruleSet {
	t.Helper()
	res := LoadBytes("rules.hcl", []byte(rulePlan), testRegistry(), Options{})
	if !res.OK() {
		t.Fatal(res.text())
	}
	r := ruleSet{ns: newNamespace(res.Plan), places: map[string]*scope{}}
	r.places["criterion"] = &scope{own: res.Plan.Feature("first"), criterion: true}
	for _, ph := range res.Plan.Phases {
		r.places[ph.Name] = r.ns.gateScope(ph)
	}
	return r
}

func (r ruleSet) compile(src, place string) (*Program, []*ruleError) {
	return r.ns.compile(src, r.places[place])
}

// read compiles what need not be decided, as the console does.
func (r ruleSet) read(src, place string) (*Program, []*ruleError) {
	sc := *r.places[place]
	sc.shown = true
	return r.ns.compile(src, &sc)
}

// mistakes are the errors with the text that they point at.
func mistakes(src string, errs []*ruleError) string {
	var list []string
	for _, e := range errs {
		at := "nowhere"
		if e.at >= 0 {
			runes := []rune(src)
			at = string(runes[min(e.at, len(runes)):min(e.at+e.length, len(runes))])
		}
		list = append(list, fmt.Sprintf("%s at %q", e.summary, at))
	}
	return strings.Join(list, "; ")
}
