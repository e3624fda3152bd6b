package plans

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// Changes are named as the plan writes them, sensitive values are not shown, and what
// does not change the digest is not a difference.
func TestDifferences(t *testing.T) {
	base := func() *Plan {
		return &Plan{
			Name: "p", Hidden: []string{"hunter2hunter2"},
			Engines: []*Engine{{
				Kind: "vllm", Name: "a", Env: map[string]string{"KEY": "hunter2hunter2", "X": "1"},
				ReadyTimeout: time.Minute,
			}},
			Knobs: []*Knob{
				{Name: "moe", Default: "a", Values: []*KnobValue{{Name: "a"}, {Name: "b", Args: []string{"--x"}}}},
			},
			Workloads: []*Workload{{Name: "chat", OutputTokens: []int{24}, Concurrency: []int{1, 4}}},
			Protocols: []*Protocol{
				{Name: "q", Levels: []*Block{{Kind: "smoke", Attrs: map[string]any{"expect": "Paris"}}}},
			},
			Phases: []*Phase{{
				Name: "one",
				Features: []*Feature{{
					Name: "f", Set: map[string]string{"moe": "b"},
					Criteria: []*Rule{{Name: "fast", Expr: "chat.tg.gain >= 0.1"}},
				}},
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
		{"a number", func(p *Plan) {
			p.Workloads[0].OutputTokens = []int{32}
		}, []Difference{{"workload.chat.output_tokens", "24", "32"}}},
		{"a list", func(p *Plan) {
			p.Workloads[0].Concurrency = []int{1, 8}
		}, []Difference{{"workload.chat.concurrency", "[1, 4]", "[1, 8]"}}},
		{"a timeout", func(p *Plan) {
			p.Engines[0].ReadyTimeout = time.Hour
		}, []Difference{{"engine.vllm.a.ready_timeout", `"1m0s"`, `"1h0m0s"`}}},
		{"a secret", func(p *Plan) {
			p.Engines[0].Env["KEY"] = "other"
		}, []Difference{{"engine.vllm.a.env.KEY", `"[redacted]"`, `"other"`}}},
		{"an entry", func(p *Plan) { delete(p.Engines[0].Env, "X") }, []Difference{{"engine.vllm.a.env.X", `"1"`, ""}}},
		{"a threshold", func(p *Plan) {
			p.Phases[0].Gate.Rules[0].Expr = "chat.tg.gain >= 1"
		}, []Difference{{"phase.one.gate.rule.ok.rule", `"chat.tg.gain >= 0"`, `"chat.tg.gain >= 1"`}}},
		{"a phrase as a name", func(p *Plan) {
			p.Phases[0].Gate.Rules[0].Name = "not slower"
		}, []Difference{{`phase.one.gate.rule["not slower"]`, "", "{…}"}, {"phase.one.gate.rule.ok", "{…}", ""}}},
		{"what a level expects", func(p *Plan) {
			p.Protocols[0].Levels[0].Attrs["expect"] = "Rome"
		}, []Difference{{"protocol.q.level.smoke.expect", `"Paris"`, `"Rome"`}}},
		{"a block", func(p *Plan) { p.Phases[0].Features = nil }, []Difference{{"phase.one.feature.f", "{…}", ""}}},
		{"what is set", func(p *Plan) {
			p.Phases[0].Features[0].Set["moe"] = "a"
		}, []Difference{{"phase.one.feature.f.set.moe", `"b"`, `"a"`}}},
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

// combining is a plan with knobs a, b and so on, and a matrix of all their values: as many
// as given, v0 being the baseline's.
func combining(values ...int) (*Plan, *Matrix) {
	p, m := &Plan{Baseline: &Baseline{}}, &Matrix{Design: FullDesign, Knobs: map[string][]string{}}
	for i, n := range values {
		k := &Knob{Name: string(rune('a' + i)), Default: "v0"}
		for v := range n {
			k.Values = append(k.Values, &KnobValue{Name: fmt.Sprint("v", v)})
		}
		p.Knobs = append(p.Knobs, k)
		m.Knobs[k.Name] = k.ValueNames()
	}
	return p, m
}

func cellNames(t *testing.T, p *Plan, m *Matrix) []string {
	t.Helper()
	cells := must.Get(p.MatrixCells(m))(t)
	return Names(cells, func(c MatrixCell) string { return c.Name })
}

func TestMatrixCells(t *testing.T) {
	p, m := combining(3, 2)
	if got := cellNames(t, p, m); !slices.Equal(got, []string{"b=v1", "a=v1", "a=v1+b=v1", "a=v2", "a=v2+b=v1"}) {
		t.Errorf("full: %v", got)
	}
	m.Design = OneAtATime
	if got := cellNames(t, p, m); !slices.Equal(got, []string{"a=v1", "a=v2", "b=v1"}) {
		t.Errorf("one at a time: %v", got)
	}
	// Without the baseline's value, the first one stands for it.
	m.Knobs["a"] = []string{"v2", "v1"}
	if got := cellNames(t, p, m); !slices.Equal(got, []string{"a=v2", "a=v1", "a=v2+b=v1"}) {
		t.Errorf("one at a time, without the baseline's value: %v", got)
	}
	m.Knobs["b"] = nil
	if got := cellNames(t, p, m); len(got) > 0 {
		t.Errorf("a knob without values: %v", got)
	}
	p, m = combining(slices.Repeat([]int{10}, 9)...)
	_, err := p.MatrixCells(m)
	must.Refuse(t, "10^9 cells", err, "1000000000 cells")
}

func TestExcludeAndInclude(t *testing.T) {
	for _, d := range []string{FullDesign, OneAtATime} {
		p, m := combining(3, 3, 2)
		m.Design = d
		m.Exclude = []map[string]string{{"a": "v1", "b": "v1"}, {"a": "v2"}, {}}
		m.Include = []map[string]string{{"a": "v1", "b": "v2", "c": "v1"}, {"a": "v2"}}
		got := cellNames(t, p, m)
		for _, name := range got {
			set, _ := SetOf(name)
			if set["a"] == "v2" || maps.Equal(set, map[string]string{"a": "v1", "b": "v1"}) ||
				strings.HasPrefix(name, "a=v1+b=v1+") {
				t.Errorf("%s: %s is excluded", d, name)
			}
		}
		if !slices.Contains(got, "a=v1+b=v2+c=v1") {
			t.Errorf("%s: what was included is not there: %v", d, got)
		}
	}
}

// TestBoundsAreTheConstants that other packages count with.
func TestBoundsAreTheConstants(t *testing.T) {
	most := map[string]float64{
		"prompt_tokens": MaxTokens, "output_tokens": MaxTokens, "depth": MaxTokens, "system_tokens": MaxTokens,
		"requests": maxRequests, "warmup": maxRequests, "max_errors": maxRequests,
		"concurrency": maxConcurrency, "max_concurrency": maxConcurrency, "rate": maxRate,
	}
	for _, a := range Attrs(Workload{}) {
		if want, has := most[a.Name]; has && a.Max != want || a.Name == "rate" && a.Min != minRate {
			t.Errorf("%s is bounded by %v and %v", a.Name, a.Min, a.Max)
		}
	}
}
