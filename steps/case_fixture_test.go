package steps

import (
	"testing"

	"github.com/mxflow/mxflow/plans/cases"
	"github.com/mxflow/mxflow/plans/load"
)

// caseHead is what the plans of these tests have in common.
const caseHead = `plan "cases" {}
engine "embedded" "tiny" {}
engine "embedded" "other" {
  settings = { threads = 1 }
}
knob "moe" {
  default = "all"
  value "all" {
    env = { MXFLOW_EMBEDDED_MOE = "all" }
    must_see {
      log = ["*moe_all_experts*"]
    }
  }
  value "routed" {
    env = { MXFLOW_EMBEDDED_MOE = "routed" }
    must_see {
      log = ["*moe_routed*"]
    }
  }
  value "few" {
    env = { MXFLOW_EMBEDDED_MOE = "routed", FEW = "1" }
    must_see {
      log = ["*moe_routed*"]
    }
  }
}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
  requests      = 40
}
protocol "standard" {
  level "smoke" {
    expect = "Paris"
  }
  level "kernels" {}
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
`

const casePhases = `phase "one" {
  feature "f" {
    set = { moe = "routed" }
    criterion "faster" {
      rule = "chat.tg.gain >= 0.1"
    }
    criterion "sooner" {
      rule = "chat.ttft.gain >= 0"
    }
    accept = ["faster", "sooner"]
    criterion "lean" {
      rule = "engine.memory_gb.delta <= 2"
    }
    confirm {
      engine   = engine.embedded.other
      criteria = ["faster"]
    }
  }
  feature "picks" {
    choose = { moe = ["routed", "few"] }
    criterion "faster" {
      rule = "chat.tg.gain >= 0.1"
    }
  }
  feature "stacked" {
    set       = { moe = "routed" }
    builds_on = accepted
    criterion "noted" {
      rule = "engine.crashes == 0 and chat.tg >= 50 and chat.tg.cv <= 0.2 and engine.startup_s <= 20"
    }
    criterion "either" {
      rule = "chat.tg.gain >= 0.25 or (chat.ttft.gain > 0.5 and not (chat.e2e.change > 0.05))"
    }
    criterion "far" {
      rule = "chat.tg.root.gain >= 1"
    }
    criterion "more" {
      rule = "chat.tg.delta > 5 and chat.queue.delta <= 0"
    }
  }
  gate {
    rule "kernels" {
      expr = "feature[\"f\"].levels.kernels == 'pass'"
    }
    rule "one of them" {
      expr = "feature[\"f\"].accepted or feature[\"picks\"].verdict == 'pass'"
    }
    rule "said" {
      expr = "feature[\"f\"].engine.observed.attention == 'decode_attention_kvcache' and feature[\"f\"].knob.moe in ['routed']"
    }
    rule "counted" {
      expr = "feature[\"f\"].chat.tg.n >= 3 and feature[\"f\"].chat.output_tokens.min == 16"
    }
  }
}
`

func casePlanOf(t *testing.T, phases string) *load.Result {
	t.Helper()
	res := load.LoadBytes("plan.hcl", []byte(caseHead+phases), Registry(), load.Options{})
	if !res.OK() {
		t.Fatal(res.Diagnostics)
	}
	return res
}

// decidedCase is how a case of feature f comes out.
func decidedCase(t *testing.T, head, lines string) *CaseOutcome {
	t.Helper()
	res := casePlanOf(t, casePhases)
	cases, found := cases.LoadCaseBytes(res, "c.mxtest.hcl", []byte("case \"c\" {\n  "+head+"\n  expect = \"pass\"\n"+lines+"\n}\n"))
	if !found.OK() {
		t.Fatalf("%s: %v", lines, found.Diagnostics)
	}
	return DecideCase(res.Plan, cases[0])
}

// others are what the deciding criteria of f need besides chat.tg.
const others = `"chat.ttft" = { gain = 0.1 }, "engine.memory_gb" = { base = 2, delta = 1 }`
