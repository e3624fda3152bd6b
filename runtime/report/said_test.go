package report

import (
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestOnce: a cause that everything above it repeats is said in full once.
func TestOnce(t *testing.T) {
	const cause = "the command's output is no JSON: invalid character 'N'"
	said := &Said{}
	got := said.Once("level execution: error: "+cause, "level benchmark: error: level execution is error: "+cause, "level execution: error: "+cause, "x is missing: "+cause, "x: short")
	want := []string{"level execution: error: " + cause, "level benchmark: error: level execution is error, as said above", "x is missing, as said above", "x: short"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestChain: the root, which stands last, is said in full.
func TestChain(t *testing.T) {
	const cause = "level kernels is fail: the path was not seen in the log"
	said := &Said{}
	got := said.Chain([]string{"f was invalid: " + cause, "f.qualify was fail: " + cause})
	want := []string{"f was invalid: level kernels is fail, as said below", "f.qualify was fail: " + cause}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := said.Chain([]string{"f.qualify was fail: " + cause, "g was fail: " + cause}); !slices.Equal(got, []string{"g was fail: level kernels is fail, as said above"}) {
		t.Errorf("again: %q", got)
	}
}

// TestOutcomesStay: a text that another contains, or that another node said, keeps
// its head and its verdict.
func TestOutcomesStay(t *testing.T) {
	const found = "chat.tg.gain is +38.2 %, as wanted (>= +20.0 %): at least +33.1 % shown"
	const outcome = "feature attention_backend_flashinfer: fail"
	passed := &ledger.Decision{Verdict: verdict.Invalid, Rules: []ledger.Rule{{Name: "decode", Verdict: verdict.Invalid}}}
	texts := []string{outcome, "decode: pass: " + found, "attention was not what the plan asked for in it"}
	for name, again := range map[string]func(said *Said) []string{
		"Each":    func(said *Said) []string { return said.Each(texts...) },
		"Reasons": func(said *Said) []string { return said.Reasons(passed, texts) },
	} {
		said := &Said{}
		said.Each("phase: " + texts[0] + ", and " + texts[2])
		said.Each(texts[1:]...)
		want := []string{outcome, "decode: pass, as said above", texts[2]}
		if got := again(said); !slices.Equal(got, want) {
			t.Errorf("%s: got %q\nwant %q", name, got, want)
		}
	}
	said := &Said{}
	said.Once("phase: " + outcome)
	if got := said.Once(outcome, outcome); !slices.Equal(got, []string{outcome}) {
		t.Errorf("Once: %q", got)
	}
}
