package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/load/coherence"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/record"
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

// A row's answers are held against the reference's by kind and by share: what an honest
// engine says differs by engine, and no one slip of the reference excuses broken numerics.
func TestValidRow(t *testing.T) {
	kept, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	prose := prompt.Prose()
	// Two launches get the same 8 prompts: the first few answers are bad, the rest sound.
	launches := func(key string, bad string, few int, sound func(i int) string) (all []*ledger.Launch) {
		for n := range 2 {
			l := &ledger.Launch{ID: fmt.Sprint(key, ".", n+1), VariantKey: key, OK: true}
			var samples []measure.Sample
			for i := range 8 {
				text := sound(i)
				if i < few {
					text = bad
				}
				if text != "" {
					text += fmt.Sprint(" ", n)
				}
				samples = append(samples, measure.Sample{Workload: "chat", Index: i, PromptSum: fmt.Sprint(i), Text: text, Events: []measure.Event{{}}})
			}
			for _, f := range coherence.Incoherent(samples) {
				l.Incoherent = append(l.Incoherent, record.FindingOf(f).On(f.Cell))
			}
			if err := kept.WriteSamples("", l, samples); err != nil {
				t.Fatal(err)
			}
			all = append(all, l)
		}
		return all
	}
	plain := func(i int) string { return prose[i] + " " + prose[i+8] }
	chinese := func(i int) string {
		words := []rune("水在高山上沸腾的温度较低所以豆子要煮得更久河流把沙子带到海里大海又把一部分还给海滩月亮引起潮汐每天两次面包因为酵母把糖变成气体而膨胀")
		var b strings.Builder
		for k := range 60 {
			b.WriteRune(words[(k*(2*i+3)+k*k)%len(words)])
		}
		return b.String()
	}
	circles := func(i int) string {
		return prose[i] + strings.Repeat(" And then the ferry went back to the other side.", 12)
	}
	nan, empty := "nan nan nan, nan", ""
	slips := launches("r", empty, 2, plain)
	clean := launches("r", "", 0, plain)
	invalid := func(l []*ledger.Launch, disturbed bool) []*ledger.Launch {
		l[1].Invalid, l[1].Disturbed = verdict.Because(code.FromCache), disturbed
		return l
	}
	server, command := &variant.Variant{Name: "vllm.a", Key: "r"}, &variant.Variant{Name: "command.a", Key: "r", Command: &variant.Command{}}
	row := &variant.Variant{Name: "sglang.b", Key: "o"}
	for _, c := range []struct {
		name, mode     string
		own, reference []*ledger.Launch
		beside         *variant.Variant
		want           verdict.Verdict
		says           string
	}{
		{"the same", "baseline", launches("o", "", 0, plain), clean, server, verdict.Pass, ""},
		{"as much garbage of another kind", "baseline", launches("o", nan, 2, plain), slips, server, verdict.Invalid, "answers of sglang.b to chat are worse than those of vllm.a (4 of 16)"},
		{"the same slips", "baseline", launches("o", empty, 2, plain), slips, server, verdict.Pass, ""},
		{"one slip more", "baseline", launches("o", empty, 3, plain), slips, server, verdict.Pass, ""},
		{"nothing but empty answers", "baseline", launches("o", empty, 8, plain), slips, server, verdict.Invalid, "worse than those of vllm.a"},
		{"other words", "baseline", launches("o", "", 0, func(i int) string { return prose[(i+9)%len(prose)] }), clean, server, verdict.Pass, ""},
		{"another language", "baseline", launches("o", "", 0, chinese), clean, server, verdict.Pass, ""},
		{"circles past the end of an answer", "baseline", launches("o", "", 0, circles), clean, server, verdict.Pass, ""},
		{"each answer is looked at", "absolute", launches("o", empty, 1, plain), clean, server, verdict.Invalid, "of sglang.b are not readable text"},
		{"each of the reference's", "absolute", launches("o", "", 0, plain), slips, server, verdict.Invalid, "of vllm.a are not readable text"},
		{"nobody looks", "off", launches("o", nan, 8, plain), clean, server, verdict.Pass, "answers of chat were not checked"},
		{"beside a command", "baseline", launches("o", nan, 1, plain), nil, command, verdict.Invalid, "of sglang.b are not readable text"},
		{"beside a reference that broke", "baseline", launches("o", empty, 1, plain), nil, server, verdict.Invalid, "of sglang.b are not readable text"},
		{"disturbed", "baseline", invalid(launches("o", "", 0, plain), true), clean, server, verdict.Inconclusive, "launch o.2"},
		{"cached", "off", invalid(launches("o", "", 0, plain), false), clean, server, verdict.Invalid, "launch o.2"},
	} {
		lab := newLab(nil, nil)
		lab.Store = kept
		w := &plans.Workload{Name: "chat", Coherence: c.mode, PromptTokens: []int{1}, OutputTokens: []int{1}, Depth: []int{0}, Concurrency: []int{1}}
		got, said, err := lab.validRow(row, c.beside, c.own, c.reference, []*plans.Workload{w})
		if err != nil || got != c.want || !strings.Contains(tell.Joined(said), c.says) {
			t.Errorf("%s: %s %q, %v; want %s saying %q", c.name, got, tell.Lines(said), err, c.want, c.says)
		}
	}
	w := &plans.Workload{Name: "chat", Coherence: "baseline", PromptTokens: []int{1}, OutputTokens: []int{1}, Depth: []int{0}, Concurrency: []int{1}}
	lab := newLab(nil, nil)
	lab.Store = kept
	if got, said, err := lab.validRow(server, server, slips, slips, []*plans.Workload{w}); err != nil || got != verdict.Pass {
		t.Errorf("the reference itself: %s %q, %v", got, tell.Lines(said), err)
	}
}

// Engines with tokenizers of their own are sent the same text, and the table
// says that it is not the same number of tokens.
func TestRowNotesOnTokens(t *testing.T) {
	launch := func(tokens float64) *ledger.Launch {
		return &ledger.Launch{ID: "l", Metrics: map[string]measure.Summary{
			"chat.prompt_tokens": {Stats: map[string]float64{"median": tokens}}, "chat.tg": {Stats: map[string]float64{"median": 1}},
		}}
	}
	if got := rowNotes([]*ledger.Launch{launch(52)}, []*ledger.Launch{launch(48)}); len(got) != 1 || !strings.Contains(tell.Line(got[0]), "52 of its tokens, 48") {
		t.Errorf("got %q", tell.Lines(got))
	}
	if got := rowNotes([]*ledger.Launch{launch(48)}, []*ledger.Launch{launch(48)}); len(got) != 0 {
		t.Errorf("got %q", tell.Lines(got))
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
		it := &comparison{compareConfig: compareConfig{Launches: 2}, variants: []*variant.Variant{v}}
		it.slots = interleave(it.variants, 2)
		for i, said := range []string{c.one, c.two} {
			l := observingLaunch([]string{"1", "2"}[i], "A", map[string]any{"attention": said})
			l.Ordinal, l.Fingerprint = i+1, map[string]string{"cpu": "c"}
			it.have = append(it.have, l)
		}
		step, e := &compare{lab: newLab(&plans.Plan{}, nil)}, &gates.Contender{}
		entries := map[*variant.Variant]*gates.Contender{v: e}
		used, _ := it.gather(entries)
		err := step.doubt(t.Context(), it, used, entries)
		if err != nil || e.Broken != c.want || (c.want != "") != strings.Contains(tell.Line(e.Cause), `differ in attention: "fa" in launch 1`) {
			t.Errorf("%s: %v, %q (%s)", name, err, e.Broken, tell.Line(e.Cause))
		}
	}
}
