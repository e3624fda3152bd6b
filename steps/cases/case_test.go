package cases

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	written "github.com/mxflow/mxflow/plans/cases"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
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
	res := load.Bytes("plan.hcl", []byte(caseHead+phases), steps.Registry(), load.Options{})
	if !res.OK() {
		t.Fatal(res.Diagnostics)
	}
	return res
}

// decidedCase is how a case of feature f comes out.
func decidedCase(t *testing.T, head, lines string) *Outcome {
	t.Helper()
	res := casePlanOf(t, casePhases)
	cases, found := written.Bytes(res, "c.mxtest.hcl", []byte("case \"c\" {\n  "+head+"\n  expect = \"pass\"\n"+lines+"\n}\n"))
	if !found.OK() {
		t.Fatalf("%s: %v", lines, found.Diagnostics)
	}
	return Decide(res.Plan, cases[0])
}

// others are what the deciding criteria of f need besides chat.tg.
const others = `"chat.ttft" = { gain = 0.1 }, "engine.memory_gb" = { base = 2, delta = 1 }`

func TestDecide(t *testing.T) {
	clear := `"chat.tg" = { base = [31.58, 31.82, 31.63], candidate = [38.4, 38.6, 38.5] }, ` + others
	for _, c := range []struct{ lines, want, says string }{
		{"", "invalid", "gives nothing for f"},
		{"levels = {}", "inconclusive", "no launch"},
		{"launches = { " + clear + " }", "inconclusive", "3 launches per arm"},
		{"launches = { " + clear + " }\nnoise = { \"chat.tg\" = { sd = 0.001, df = 9 }, \"chat.ttft\" = { sd = 0.001, df = 9 } }", "pass", "lower bound +19.3%, 3 launches per arm"},
		{"launches = { " + clear + " }\nnoise = { \"chat.tg\" = { sd = 0.1, df = 9 } }", "inconclusive", ""},
		{"launches = { \"chat.tg\" = { gain = 0.3 }, " + others + " }", "pass", "+30.0%"},
		{"launches = { \"chat.tg\" = { gain = 0.3 } }", "inconclusive", "has no chat.ttft"},
		{"launches = { \"chat.tg\" = { gain = 0 }, " + others + " }", "fail", "upper bound +1.2%"},
		{"launches = { \"chat.tg\" = { gain = 0.1 }, " + others + " }", "inconclusive", "+10.0%"},
		{"launches = { \"chat.tg\" = { gain = 0.3, launches = 1 }, " + others + " }", "inconclusive", "1 launch per arm"},
		{"launches = { \"chat.tg\" = { gain = -0.3, launches = 1 }, " + others + " }", "inconclusive", "-30.0%"},
		{"launches = { \"chat.tg\" = { gain = 0.3, spread = 0.2, launches = 8 }, " + others + " }", "inconclusive", "8 launches per arm"},
		{"launches = { \"chat.tg\" = { base = [30, 30, 30, 30], candidate = [40, 0, 40, 40] }, " + others + " }", "invalid", "above zero"},
		{"launches = { \"chat.tg\" = { base = [30, 30, 30, 30], candidate = [40, -1, 40, 40] }, " + others + " }", "invalid", "above zero"},
		{"launches = { \"chat.tg\" = { base = 30, candidate = 40, spread = 0 }, " + others + " }", "pass", "+33.3%"},
		// One launch has everything but this metric; the whole arm is incomplete.
		{"launches = { \"chat.tg\" = { base = [30, 30, 30, 30], candidate = [40, null, 40, 40] }, " + others + " }", "inconclusive", "f#2 has no chat.tg"},
		{"levels = { smoke = \"pass\", kernels = \"pass\" }\nlaunches = { \"chat.tg\" = { gain = 0.3 }, " + others + " }", "pass", ""},
		{"broken = \"kernels\"\nlaunches = { \"chat.tg\" = { gain = 0.3 }, " + others + " }", "invalid", "level kernels failed"},
		{"levels = { smoke = \"error\" }\nlaunches = { \"chat.tg\" = { gain = 0.3 }, " + others + " }", "error", "level smoke ended in error"},
		{"levels = { smoke = \"inconclusive\" }\nlaunches = { \"chat.tg\" = { gain = 0.3 }, " + others + " }", "inconclusive", "level smoke is inconclusive"},
		// Only criteria in accept decide.
		{"launches = { \"chat.tg\" = { gain = 0.3 }, \"chat.ttft\" = { gain = 0.1 }, \"engine.memory_gb\" = { base = 2, delta = 9 } }", "pass", "9 GB"},
		// A confirmation counts where the case gives it.
		{"given \"f\" {\n launches = { \"chat.tg\" = { gain = 0.3 }, " + others + " }\n}\ngiven \"f@other\" {\n launches = { \"chat.tg\" = { gain = 0 } }\n}", "fail", "confirmation f@other: fail"},
		{"given \"f\" {\n launches = { \"chat.tg\" = { gain = 0.3 }, " + others + " }\n}\ngiven \"f@other\" {\n launches = { \"chat.tg\" = { gain = 0.3 } }\n}", "pass", "confirmation f@other: pass"},
	} {
		o := decidedCase(t, "feature = feature.f", c.lines)
		text := tell.Joined(o.Reasons)
		for _, r := range o.Rules {
			text += "\n" + string(r.Verdict) + " " + tell.Joined(r.Reasons)
		}
		if o.Verdict != verdict.Verdict(c.want) || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s, want %s with %q\n%s", c.lines, o.Verdict, c.want, c.says, text)
		}
		if o.OK() != (c.want == "pass") {
			t.Errorf("%s: expected pass, came out %s, and that is said to be %v", c.lines, o.Verdict, o.OK())
		}
	}
}

// TestCaseIsDecidedAsGiven: the made launches have the very gain at every look.
func TestCaseIsDecidedAsGiven(t *testing.T) {
	o := decidedCase(t, "feature = feature.f", `launches = { "chat.tg" = { gain = 0.15, spread = 0.03, launches = 8 }, `+others+` }`)
	test := o.Rules[0].Comparisons[0].Test
	if len(test.Looks) < 2 {
		t.Fatalf("%+v", test)
	}
	for _, l := range test.Looks {
		if math.Abs(l.Estimate-math.Log(1.15)) > 1e-9 {
			t.Errorf("at %d launches the gain is %v", l.N, math.Expm1(l.Estimate))
		}
	}
}

// TestCaseOfAlternatives: at most one wins, and each has its part of the budget.
func TestCaseOfAlternatives(t *testing.T) {
	given := func(name, gain string) string {
		return fmt.Sprintf("given %q {\n launches = { \"chat.tg\" = { gain = %s } }\n}\n", name, gain)
	}
	o := decidedCase(t, "feature = feature.picks", given("picks[routed]", "0.3")+given("picks[few]", "0"))
	if o.Verdict != verdict.Pass || !slices.ContainsFunc(o.Reasons, verdict.New(code.CaseAlternative).On("picks[few]").Is(verdict.Fail).Equal) {
		t.Errorf("%s %v", o.Verdict, o.Reasons)
	}
	if o.Chosen != "routed" {
		t.Errorf("chosen was %q", o.Chosen)
	}
	o = decidedCase(t, "feature = feature.picks\n  expect_chosen = \"routed\"", given("picks[routed]", "0.3")+given("picks[few]", "0.5"))
	if o.OK() || len(o.Unexpected) != 1 || o.Unexpected[0].GotChosen != "few" {
		t.Errorf("the better of two is %q: %+v", o.Chosen, o.Unexpected)
	}
	if test := o.Rules[0].Comparisons[0].Test; test.Pass != 0.001 || !slices.ContainsFunc(test.Share, func(s verdict.Share) bool { return s.Of == verdict.ShareAlternatives }) {
		t.Errorf("%v %v", test.Pass, test.Share)
	}
	if o := decidedCase(t, "feature = feature.picks", given("picks[routed]", "0")+given("picks[few]", "0")); o.Verdict != verdict.Fail || o.Chosen != "" {
		t.Errorf("%s %v", o.Verdict, o.Reasons)
	}
}

// TestCaseOfGate: what is not given of a feature never passes.
func TestCaseOfGate(t *testing.T) {
	f := `levels = { kernels = "pass" }
verdict = "pass"
observed = { attention = "decode_attention_kvcache" }
launches = { "chat.tg" = { gain = 0.3 }, "chat.output_tokens.min" = { candidate = 16 } }`
	for _, c := range []struct{ lines, want string }{
		{"", "invalid"},
		{"given \"f\" {\n" + f + "\n}", "invalid"},
		{"given \"f\" {\n" + f + "\n}\ngiven \"picks\" {\nverdict = \"fail\"\n}", "pass"},
		{"given \"f\" {\n" + strings.Replace(f, `verdict = "pass"`, `verdict = "fail"`, 1) + "\n}\ngiven \"picks\" {\nverdict = \"fail\"\n}", "fail"},
		{"given \"f\" {\n" + f + "\nknobs = { moe = \"all\" }\n}\ngiven \"picks\" {\nverdict = \"pass\"\n}", "fail"},
	} {
		o := decidedCase(t, "gate = phase.one", c.lines)
		if o.Verdict != verdict.Verdict(c.want) {
			t.Errorf("%s: %s, want %s", c.lines, o.Verdict, c.want)
			for _, r := range o.Rules {
				t.Log(r.Name, r.Verdict, r.Reasons)
			}
		}
	}
}
