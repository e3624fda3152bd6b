package plans

import (
	"slices"
	"testing"
	"time"
)

// Changes are named as the plan writes them, sensitive values are not shown, and what
// does not change the digest is not a difference.
func TestDifferences(t *testing.T) {
	base := func() *Plan {
		return &Plan{
			Name: "p", Hidden: []string{"hunter2hunter2"},
			Engines:   []*Engine{{Kind: "vllm", Name: "a", Env: map[string]string{"KEY": "hunter2hunter2", "X": "1"}, ReadyTimeout: time.Minute}},
			Knobs:     []*Knob{{Name: "moe", Default: "a", Values: []*KnobValue{{Name: "a"}, {Name: "b", Args: []string{"--x"}}}}},
			Workloads: []*Workload{{Name: "chat", OutputTokens: []int{24}, Concurrency: []int{1, 4}}},
			Protocols: []*Protocol{{Name: "q", Levels: []*Block{{Kind: "smoke", Attrs: map[string]any{"expect": "Paris"}}}}},
			Phases: []*Phase{{
				Name: "one", Features: []*Feature{{Name: "f", Set: map[string]string{"moe": "b"}, Criteria: []*Rule{{Name: "fast", Expr: "chat.tg.gain >= 0.1"}}}},
				Gate: &Gate{Rules: []*Rule{{Name: "ok", Expr: "chat.tg.gain >= 0"}}},
			}},
		}
	}
	for _, c := range []struct {
		name   string
		change func(*Plan)
		want   []Difference
	}{
		{"nothing", func(*Plan) {}, nil},
		{"order", func(p *Plan) { slices.Reverse(p.Knobs[0].Values) }, nil},
		{"a number", func(p *Plan) { p.Workloads[0].OutputTokens = []int{32} }, []Difference{{"workload.chat.output_tokens", "24", "32"}}},
		{"a list", func(p *Plan) { p.Workloads[0].Concurrency = []int{1, 8} }, []Difference{{"workload.chat.concurrency", "[1, 4]", "[1, 8]"}}},
		{"a timeout", func(p *Plan) { p.Engines[0].ReadyTimeout = time.Hour }, []Difference{{"engine.vllm.a.ready_timeout", `"1m0s"`, `"1h0m0s"`}}},
		{"a secret", func(p *Plan) { p.Engines[0].Env["KEY"] = "other" }, []Difference{{"engine.vllm.a.env.KEY", `"[redacted]"`, `"other"`}}},
		{"an entry", func(p *Plan) { delete(p.Engines[0].Env, "X") }, []Difference{{"engine.vllm.a.env.X", `"1"`, ""}}},
		{"a threshold", func(p *Plan) { p.Phases[0].Gate.Rules[0].Expr = "chat.tg.gain >= 1" }, []Difference{{"phase.one.gate.rule.ok.expr", `"chat.tg.gain >= 0"`, `"chat.tg.gain >= 1"`}}},
		{"a phrase as a name", func(p *Plan) { p.Phases[0].Gate.Rules[0].Name = "not slower" }, []Difference{{`phase.one.gate.rule["not slower"]`, "", "{…}"}, {"phase.one.gate.rule.ok", "{…}", ""}}},
		{"what a level expects", func(p *Plan) { p.Protocols[0].Levels[0].Attrs["expect"] = "Rome" }, []Difference{{"protocol.q.level.smoke.expect", `"Paris"`, `"Rome"`}}},
		{"a block", func(p *Plan) { p.Phases[0].Features = nil }, []Difference{{"phase.one.feature.f", "{…}", ""}}},
		{"what is set", func(p *Plan) { p.Phases[0].Features[0].Set["moe"] = "a" }, []Difference{{"phase.one.feature.f.set.moe", `"b"`, `"a"`}}},
	} {
		is := base()
		c.change(is)
		if got := is.Differences(base()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if (is.Digest() == base().Digest()) != (len(c.want) == 0) {
			t.Errorf("%s: the digest says otherwise", c.name)
		}
	}
}
