package session

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

func TestCheckCompare(t *testing.T) {
	for _, c := range []struct {
		name  string
		attrs map[string]any
		want  string // summaries, joined
	}{
		{"good", map[string]any{"engines": []any{"openai.a", "openai.b"}, "reference": "openai.b", "workloads": []any{"chat"}}, ""},
		{"commands", map[string]any{"engines": []any{"command.a", "command.b"}, "reference": "command.b"}, ""},
		{"mixed", map[string]any{"engines": []any{"command.a", "openai.b"}, "reference": "openai.b", "workloads": []any{"chat"}}, ""},
		{"one", map[string]any{"engines": []any{"openai.a"}, "reference": "openai.a", "workloads": []any{"chat"}}, "Nothing to compare"},
		{"stranger", map[string]any{"engines": []any{"openai.a", "openai.b"}, "reference": "openai.c", "workloads": []any{"chat"}}, "Reference is not compared"},
		{"optional", map[string]any{"engines": []any{"openai.a", "openai.b"}, "optional": []any{"openai.a"}, "reference": "openai.b", "workloads": []any{"chat"}}, ""},
		{"optional reference", map[string]any{"engines": []any{"openai.a", "openai.b"}, "optional": []any{"openai.b"}, "reference": "openai.b", "workloads": []any{"chat"}}, "Optional reference"},
		{"optional stranger", map[string]any{"engines": []any{"openai.a", "openai.b"}, "optional": []any{"openai.c"}, "reference": "openai.b", "workloads": []any{"chat"}}, "Optional engine is not compared"},
		{"silence", map[string]any{"engines": []any{"openai.a", "command.b"}, "reference": "openai.a"}, "Comparison sends nothing"},
		{"commands are sent nothing", map[string]any{"engines": []any{"command.a", "command.b"}, "reference": "command.b", "workloads": []any{"chat"}}, "Workloads for a command"},
	} {
		var got []string
		for _, e := range CompareSchema.Check(&plans.Block{Attrs: c.attrs}) {
			got = append(got, e.Summary)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Engines with tokenizers of their own are sent the same text, and the table
// says that it is not the same number of tokens.
func TestOtherTokens(t *testing.T) {
	launch := func(tokens float64) *ledger.Launch {
		return &ledger.Launch{ID: "l", Metrics: map[string]measure.Summary{
			"chat.prompt_tokens": {Stats: map[string]float64{"median": tokens}}, "chat.tg": {Stats: map[string]float64{"median": 1}},
		}}
	}
	if got := otherTokens([]*ledger.Launch{launch(52)}, []*ledger.Launch{launch(48)}); len(got) != 1 || !strings.Contains(got[0].String(), "52 tokens long by its own count, 48") {
		t.Errorf("got %q", verdict.Lines(got))
	}
	if got := otherTokens([]*ledger.Launch{launch(48)}, []*ledger.Launch{launch(48)}); len(got) != 0 {
		t.Errorf("got %q", verdict.Lines(got))
	}
}

// Launches of one engine that say different things of themselves are no row.
func TestCompareWantsOneEngine(t *testing.T) {
	kind := &kinds.Kind{Observe: []kinds.Pattern{{Name: "attention", Type: "string"}}}
	v := &variant.Variant{Name: "openai.a", Engine: "openai.a", Key: "A", Spec: engine.Spec{Profile: kind}}
	for name, c := range map[string]struct {
		one, two string
		want     verdict.Verdict
	}{
		"the same": {"fa", "fa", ""}, "another": {"fa", "fi", verdict.Invalid},
	} {
		e := &gates.Contender{}
		it := &comparison{session: &session{}, compareConfig: compareConfig{Launches: 2}, variants: []*variant.Variant{v}, entries: map[*variant.Variant]*gates.Contender{v: e}}
		for i, said := range []string{c.one, c.two} {
			it.all = append(it.all, &ledger.Launch{
				ID: []string{"1", "2"}[i], VariantKey: "A", OK: true, Ordinal: i + 1, Fingerprint: map[string]string{"cpu": "c"},
				Observed: map[string]ledger.Observed{"attention": {Value: said, Line: "attention=" + said, Whole: true}},
			})
		}
		it.adoptLaunches(it.all)
		step := &compare{lab: newLab(&plans.Plan{}, nil)}
		err := step.validate(t.Context(), it, it.collectLaunches(&ledger.Decision{}))
		if err != nil || e.Broken != c.want || (c.want != "") != strings.Contains(e.Cause.String(), `differ in attention: "fa" in launch 1`) {
			t.Errorf("%s: %v, %q (%s)", name, err, e.Broken, e.Cause.String())
		}
	}
}
