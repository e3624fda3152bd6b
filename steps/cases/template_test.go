package cases

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	written "github.com/mxflow/mxflow/plans/cases"
	"github.com/mxflow/mxflow/plans/load"
)

// templateOutcomes decides the cases of templates; comments are not among them.
func templateOutcomes(t *testing.T, res *load.Result, text string) (outcomes []*Outcome) {
	t.Helper()
	cases, found := written.Bytes(res, "plan.mxtest.hcl", []byte(text))
	if !found.OK() {
		t.Fatalf("%v\n%s", found.Diagnostics, text)
	}
	for _, c := range cases {
		o := Decide(res.Plan, c)
		if outcomes = append(outcomes, o); !o.OK() {
			t.Errorf("%s: %+v", c.Name, o.Unexpected)
		}
	}
	return outcomes
}

// TestCaseTemplates: each feature and gate, whatever its rules, gets a case that
// passes and one that fails; those that numbers beside the thresholds do not
// decide are comments, and the others come out as they say.
func TestTemplates(t *testing.T) {
	res := casePlanOf(t, casePhases)
	text, open := Templates(res, nil)
	for _, what := range []string{"feature f", "feature picks", "feature stacked", "gate one"} {
		for _, word := range []string{"passes", "fails"} {
			if strings.Count(text, `case "`+what+" "+word+`"`) != 1 {
				t.Errorf("no case in which %s %s:\n%s", what, word, text)
			}
		}
	}
	outcomes := templateOutcomes(t, res, text)
	if len(outcomes) != 8-open || len(outcomes) < 5 || open != strings.Count(text, "# Fill in measurements") {
		t.Errorf("%d cases, %d as a comment:\n%s", len(outcomes), open, text)
	}
	if again, stillOpen := Templates(res, outcomes); stillOpen != open || strings.Contains("\n"+again, "\ncase ") {
		t.Errorf("written although it is shown:\n%s", again)
	}
	// A case that came out otherwise has shown nothing.
	for _, o := range outcomes {
		o.Unexpected = []Unexpected{{Want: verdict.Fail, Got: verdict.Pass}}
	}
	if again, _ := Templates(res, outcomes); again != text {
		t.Errorf("now it is\n%s\nand was\n%s", again, text)
	}
}

// TestCaseTemplatesOfForms: a threshold on either side of every form of comparison.
func TestCaseTemplatesOfForms(t *testing.T) {
	for _, rule := range []string{
		"chat.tg.gain >= 0.1", "chat.ttft.gain >= 0.1", "not (chat.e2e.change > 0.05)", "chat.tg >= 50", "100 >= chat.ttft.p50", "chat.tg.delta > 5",
		"engine.memory_gb.delta <= 2", "0.97 * chat.tg.base <= chat.tg", "engine.crashes == 0", "chat.output_tokens.min >= 16", "chat.tg.gain >= 0.5 or chat.e2e.gain >= 0.5",
	} {
		res := casePlanOf(t, "phase \"one\" {\n  feature \"f\" {\n    set = { moe = \"routed\" }\n    criterion \"it\" { rule = \""+rule+"\" }\n  }\n}\n")
		text, open := Templates(res, nil)
		if outcomes := templateOutcomes(t, res, text); open > 0 || len(outcomes) != 2 || outcomes[0].Verdict != verdict.Pass || outcomes[1].Verdict != verdict.Fail {
			t.Errorf("%s:\n%s", rule, text)
		}
	}
}

// TestCaseTemplatesOfRoot: what is held against the baseline gets numbers of its own if
// the baseline is not the parent.
func TestCaseTemplatesOfRoot(t *testing.T) {
	for _, rule := range []string{
		"chat.tg.root.gain >= -0.03", "chat.ttft.root.gain >= -0.03 and chat.ttft.gain >= 0.1", "engine.memory_gb.root.delta <= 1",
		"chat.tg.root.gain >= 0.1", "chat.tg.gain >= 0.1 and chat.tg.root.change >= 0.5",
	} {
		res := casePlanOf(t, "phase \"one\" {\n  feature \"f\" {\n    set = { moe = \"routed\" }\n    builds_on = accepted\n    criterion \"it\" { rule = \""+rule+"\" }\n  }\n}\n")
		text, open := Templates(res, nil)
		if outcomes := templateOutcomes(t, res, text); open > 0 || len(outcomes) != 2 || outcomes[0].Verdict != verdict.Pass || outcomes[1].Verdict != verdict.Fail {
			t.Errorf("%s:\n%s", rule, text)
		}
	}
}

// TestCaseTemplatesOfWhatCannotPass: each rule can pass alone, and all at once
// cannot, so that the case that passes stays a comment.
func TestCaseTemplatesOfWhatCannotPass(t *testing.T) {
	res := casePlanOf(t, `phase "one" {
  feature "f" {
    set = { moe = "routed" }
    criterion "faster" { rule = "chat.tg.gain >= 0.1" }
  }
  gate {
    rule "more" { expr = "chat.tg.gain >= 0.5" }
    rule "less" { expr = "chat.tg.gain <= 0.2" }
  }
}
`)
	text, open := Templates(res, nil)
	if open == 0 || !strings.Contains(text, `# case "gate one passes"`) {
		t.Error(text)
	}
	shown := func(rule string, gain string) string {
		return "case \"" + rule + "\" {\n  gate = phase.one\n  launches = { \"chat.tg\" = { gain = " + gain + " } }\n  expect_rules = { " + rule + " = \"pass\" }\n}\n"
	}
	if got := NeverWhole(res.Plan, templateOutcomes(t, res, shown("more", "0.6")+shown("less", "0.1"))); len(got) != 1 || got[0] != "one" {
		t.Errorf("%v", got)
	}
}

// TestCaseTemplatesQuote: what an engine says is any text, also what a plan would
// read as a template.
func TestCaseTemplatesQuote(t *testing.T) {
	res := casePlanOf(t, `phase "one" {
  feature "f" {
    set = { moe = "routed" }
    criterion "faster" { rule = "chat.tg.gain >= 0.1" }
  }
  gate {
    rule "said" { expr = "feature.f.engine.observed.attention == 'decode_$${kv}'" }
  }
}
`)
	text, open := Templates(res, nil)
	if open > 0 || !strings.Contains(text, `"attention" = "decode_$${kv}"`) {
		t.Errorf("%d\n%s", open, text)
	}
}
