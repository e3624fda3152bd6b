package load

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/planstest"
)

const observedPlan = `plan "observed" {}
engine "embedded" "tiny" {
  observe "tactic" {
    type = "string"
  }
}
knob "moe" {
  default = "all"
  changes = CHANGES
  value "all" {
    must_see { log = ["*all*"] }
  }
  value "routed" {
    must_see { observed = MUST }
  }
}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
}
protocol "standard" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
phase "one" {
  feature "f" {
    set = { moe = "routed" }
    criterion "c" { rule = "RULE" }
  }
}
`

func observedRegistry() *plans.Registry {
	r := planstest.Registry()
	r.Engines["embedded"] = plans.EngineKind{Observed: []plans.Observed{
		{Name: "attention", Type: "string"},
		{Name: "cuda_graphs", Type: "bool"},
		{Name: "kv_capacity_tokens", Type: "number", Unit: "tokens"},
		{Name: "weights_gb", Type: "number", Unit: "GiB"},
		{Name: "fallbacks", Type: "count"},
	}}
	r.EngineParts = map[string]plans.Part{"observe": {
		Schema: plans.Schema{Attrs: []plans.Attr{{Name: "type", Type: plans.String}}}, Label: "its name", Times: plans.AnyTimes,
		Observes: func(b *plans.Block) []plans.Observed {
			ty, _ := b.Attrs["type"].(string)
			return []plans.Observed{{Name: b.Name, Type: ty}}
		},
	}}
	return r
}

func loadObserved(rule, must, changes string) *Result {
	text := strings.NewReplacer("RULE", rule, "MUST", must, "CHANGES", changes).Replace(observedPlan)
	return Bytes("plan.hcl", []byte(text), observedRegistry(), Options{})
}

func TestRulesReadObservations(t *testing.T) {
	for rule, want := range map[string]plans.Input{
		"engine.observed.attention == 'FLASHINFER'":         {Kind: plans.InputObserved, Name: "attention", Type: plans.WordInput},
		"engine.observed.tactic in ['a', 'b']":              {Kind: plans.InputObserved, Name: "tactic", Type: plans.WordInput},
		"engine.observed.cuda_graphs":                       {Kind: plans.InputObserved, Name: "cuda_graphs", Type: plans.BoolInput},
		"engine.observed.cuda_graphs == false":              {Kind: plans.InputObserved, Name: "cuda_graphs", Type: plans.BoolInput},
		"engine.observed.kv_capacity_tokens >= 100000":      {Kind: plans.InputMetric, Metric: "observed.kv_capacity_tokens", Stat: "median", Unit: "tokens", Type: plans.NumberInput},
		"engine.observed.kv_capacity_tokens.change > -0.05": {Kind: plans.InputMetric, Metric: "observed.kv_capacity_tokens", Stat: "median", Relation: plans.Change, Type: plans.NumberInput},
		"engine.observed.fallbacks.delta <= 0":              {Kind: plans.InputMetric, Metric: "observed.fallbacks", Stat: "median", Relation: plans.Delta, Type: plans.NumberInput},
		"engine.observed.kv_capacity_tokens.base > 1000":    {Kind: plans.InputMetric, Metric: "observed.kv_capacity_tokens", Stat: "median", Relation: plans.Base, Unit: "tokens", Type: plans.NumberInput},
		"engine.kv_capacity_tokens.gain >= 0":               {Kind: plans.InputMetric, Metric: "kv_capacity_tokens", Stat: "median", Relation: plans.Gain, Better: "higher", Type: plans.NumberInput},
	} {
		res := loadObserved(rule, `{ attention = "x" }`, "[]")
		if !res.OK() {
			t.Errorf("%s: %s", rule, planstest.Text(&res.Findings))
			continue
		}
		in := *res.Plan.Phases[0].Features[0].Criteria[0].Inputs()[0]
		in.Path, in.Feature, in.Of = "", "", ""
		if in != want {
			t.Errorf("%s reads %+v, want %+v", rule, in, want)
		}
	}
}

func TestObservationsThatAreRefused(t *testing.T) {
	good := "engine.observed.cuda_graphs"
	for _, c := range []struct{ rule, must, changes, want string }{
		{"engine.observed.atention == 'x'", "{}", "[]", `Did you mean "attention"?`},
		{"engine.observed == 'x'", "{}", "[]", "Write engine.observed.<name>"},
		{"engine.observed.attention.base == 'x'", "{}", "[]", "has no members"},
		{"engine.observed.attention >= 'x'", "{}", "[]", "Words have no order"},
		{"engine.observed.attention == 3", "{}", "[]", "Cannot compare"},
		{"engine.observed.attention", "{}", "[]", "Not a yes or no"},
		{"engine.observed.cuda_graphs == 'x'", "{}", "[]", "Cannot compare"},
		{"engine.observed.kv_capacity_tokens.gain > 0", "{}", "[]", "No better direction"},
		{"engine.observed.kv_capacity_tokens > engine.startup_s", "{}", "[]", "Units do not match"},
		{"engine.observed.kv_capacity_tokens.p99 > 1", "{}", "[]", "One value per launch"},
		// The catalogue's unit is GB.
		{"engine.weights_gb < 70", "{}", "[]", "Not observed"},
		{good, `{ atention = "x" }`, "[]", `Did you mean "attention"?`},
		{good, `{ attention = true }`, "[]", "attention must be a string, not"},
		{good, `{ cuda_graphs = "true" }`, "[]", "cuda_graphs must be a bool, not"},
		{good, `{ attention = ["a"] }`, "[]", "takes one value"},
		{good, `"x"`, "[]", "Wrong type for observed"},
		{good, `{ attention = "x" }`, `["atention"]`, `Did you mean "attention"?`},
		{good, `{ attention = "x" }`, `"attention"`, "Wrong type for changes"},
	} {
		res := loadObserved(c.rule, c.must, c.changes)
		if text := strings.Join(strings.Fields(planstest.Text(&res.Findings)), " "); res.OK() || !strings.Contains(text, c.want) {
			t.Errorf("%s, %s, %s: want %q, got:\n%s", c.rule, c.must, c.changes, c.want, text)
		}
	}
}

// Observations count as evidence, and what knobs change is part of the plan's meaning.
func TestObservedEvidence(t *testing.T) {
	rule := "engine.observed.cuda_graphs"
	a, b := loadObserved(rule, `{ attention = "x" }`, `["tactic", "attention"]`), loadObserved(rule, `{ attention = "x" }`, `["attention", "tactic"]`)
	if !a.OK() || !b.OK() {
		t.Fatal(planstest.Text(&a.Findings), planstest.Text(&b.Findings))
	}
	if a.Plan.Digest() != b.Plan.Digest() {
		t.Error("the order of changes counts")
	}
	for _, other := range []*Result{loadObserved(rule, `{ attention = "y" }`, `["attention", "tactic"]`), loadObserved(rule, `{ attention = "x" }`, `["attention"]`)} {
		if a.Plan.Digest() == other.Plan.Digest() {
			t.Error("evidence or changes do not count")
		}
	}
	v := a.Plan.Knobs[0].Value("routed")
	if v.MustSee.Empty() || v.MustSee.Observed["attention"] != "x" || !v.MustNotSee.Empty() {
		t.Errorf("evidence %+v, %+v", v.MustSee, v.MustNotSee)
	}
}
