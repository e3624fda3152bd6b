package steps

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// TestSkeleton: each rule, of whatever form, gets a case that it passes and one
// that it fails, and all come out as they say.
func TestSkeleton(t *testing.T) {
	res := casePlanOf(t, casePhases)
	text, left := Skeleton(res, nil)
	if len(left) > 0 {
		t.Errorf("%v", left)
	}
	cases, found := res.LoadCaseBytes("plan.mxtest.hcl", []byte(text))
	if !found.OK() || len(cases) == 0 {
		t.Fatalf("%v\n%s", found.Diagnostics, text)
	}
	var outcomes []*CaseOutcome
	for _, c := range cases {
		o := DecideCase(res.Plan, c)
		if outcomes = append(outcomes, o); !o.OK() {
			t.Errorf("%s: %+v", c.Name, o.Unexpected)
		}
	}
	for _, c := range Coverage(res.Plan, outcomes) {
		if !c.Passes || !c.Fails {
			t.Errorf("%+v", c)
		}
	}
	if lacks := res.Plan.UntestedGates(cases); len(lacks) > 0 {
		t.Errorf("still untested: %v", lacks)
	}
	if again, _ := Skeleton(res, outcomes); again != "" {
		t.Errorf("written although nothing is missing:\n%s", again)
	}
	// A case that came out otherwise has shown nothing.
	for _, o := range outcomes {
		o.Unexpected = []Unexpected{{Want: verdict.Fail, Got: verdict.Pass}}
	}
	if again, _ := Skeleton(res, outcomes); strings.Count(again, "(2)") != len(cases) {
		t.Errorf("they are not written in other names:\n%s", again)
	}
}

// TestSkeletonOfWhatCannotPass: each rule can pass alone, and all at once cannot.
func TestSkeletonOfWhatCannotPass(t *testing.T) {
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
	text, left := Skeleton(res, nil)
	if len(left) != 1 || left[0].Code != code.NoWholeCase || left[0].Subject != "gate one" {
		t.Errorf("left: %+v", left)
	}
	cases, found := res.LoadCaseBytes("plan.mxtest.hcl", []byte(text))
	if !found.OK() {
		t.Fatal(found.Diagnostics)
	}
	var outcomes []*CaseOutcome
	for _, c := range cases {
		outcomes = append(outcomes, DecideCase(res.Plan, c))
	}
	if got := NeverWhole(res.Plan, outcomes); len(got) != 1 || got[0] != "one" {
		t.Errorf("%v of %d cases", got, len(cases))
	}
}

// TestSkeletonQuotes: what an engine says is any text, also what a plan would read as
// a template.
func TestSkeletonQuotes(t *testing.T) {
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
	text, left := Skeleton(res, nil)
	if len(left) > 0 || !strings.Contains(text, `attention = "decode_$${kv}"`) {
		t.Errorf("left: %+v\n%s", left, text)
	}
}

// TestSkeletonOfALoss: a case in which a rule passes on a loss says that this is
// hardly meant.
func TestSkeletonOfALoss(t *testing.T) {
	res := casePlanOf(t, `phase "one" {
  feature "f" {
    set = { moe = "routed" }
    criterion "shorter" { rule = "chat.ttft.gain <= -0.05" }
    criterion "kept" { rule = "chat.tg.gain >= -0.05" }
  }
}
`)
	text, left := Skeleton(res, nil)
	if len(left) > 0 {
		t.Fatal(left)
	}
	said := strings.Join(strings.Fields(strings.ReplaceAll(text, "\n#", " ")), " ")
	for _, part := range []string{`# Look at "shorter" first:`, "worse than that of its base, by at least 5 %", "write chat.ttft.gain >= 0.05;"} {
		if strings.Count(said, part) != 1 {
			t.Errorf("%d times %q in\n%s", strings.Count(said, part), part, text)
		}
	}
	if before, _, _ := strings.Cut(text, "case "); !strings.Contains(before, "Look at") {
		t.Errorf("it does not stand over the case that passes:\n%s", text)
	}
}
