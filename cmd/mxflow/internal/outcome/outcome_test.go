package outcome

import (
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// A feature that other engines confirm has the row of the first engine above it, and
// does not say its criteria again.
func TestConfirmedRowIsShort(t *testing.T) {
	decode := ledger.Rule{Name: "decode", Role: "criterion", Verdict: verdict.Pass, Reasons: facts("enough")}
	d := &ledger.Decision{
		Kind: "feature", Verdict: verdict.Pass, Reasons: []verdict.Reason{verdict.New(code.Confirmed).On("embedded.prod"), decode.Reason()},
		Rules: []ledger.Rule{decode},
	}
	if got := strings.Join(verdict.Lines(whyHere(d)), "\n"); !strings.Contains(got, "decode: enough") {
		t.Errorf("without confirmations: %q", got)
	}
	d.Confirmations = []ledger.Confirmation{{Engine: "embedded.prod", Reason: d.Reasons[0]}}
	if got, want := strings.Join(verdict.Lines(whyHere(d)), "\n"), "confirmed on engine.embedded.prod\nand on the first engine, see above"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestExitStatusOnce(t *testing.T) {
	exit := 9
	d := &ledger.Decision{Kind: "step", Verdict: verdict.Error, Reasons: []verdict.Reason{verdict.Say("step.ended",
		"{exit}",
		verdict.Text("exit", "exit status 9"))}, Exit: &exit}
	if got := strings.Join(verdict.Lines(Why(d)), "\n"); got != "exit status 9" {
		t.Errorf("%q", got)
	}
	d.Reasons = facts("the command failed")
	if got := strings.Join(verdict.Lines(Why(d)), "\n"); got != "the command failed\nexit status 9" {
		t.Errorf("%q", got)
	}
}

// TestBrokenBy: of a gate in error only what is in error is to be mended.
func TestBrokenBy(t *testing.T) {
	feature := func(name string, v verdict.Verdict) verdict.Reason { return verdict.New(code.Feature).On(name).Is(v) }
	lat := ledger.Rule{Name: "lat", Role: "rule", Verdict: verdict.Pass}
	tg := ledger.Rule{Name: "tg", Role: "rule", Verdict: verdict.Error, Reasons: facts("nothing came")}
	for want, d := range map[string]*ledger.Decision{
		"feature nan":             {Reasons: []verdict.Reason{feature("a", verdict.Pass), feature("nan", verdict.Error), feature("b", verdict.Fail)}},
		`rule "tg": nothing came`: {Rules: []ledger.Rule{lat, tg}, Reasons: []verdict.Reason{lat.Reason(), tg.Reason()}},
		"step exec make broke":    {Kind: "gate", Reasons: facts("step exec make broke")},
		"level smoke: no answer":  {Levels: []ledger.Level{{Name: "smoke", Verdict: verdict.Error, Reasons: facts("no answer")}, {Name: "kernels", Verdict: verdict.Fail}}},
	} {
		d.Verdict = verdict.Error
		if got := verdict.Semicolons(BrokenBy(d)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestHeadline: what was chosen stands before the levels and criteria, also where
// these are called as a sentence of another kind begins.
func TestHeadline(t *testing.T) {
	level, odd := ledger.Level{Name: "smoke", Verdict: verdict.Pass}, ledger.Rule{Name: "level best", Role: "criterion", Verdict: verdict.Pass, Reasons: facts("enough")}
	d := &ledger.Decision{
		Kind: "feature", Verdict: verdict.Pass, Levels: []ledger.Level{level}, Rules: []ledger.Rule{odd},
		Reasons: []verdict.Reason{fact("criterion a is what was chosen by"), level.WithoutCauses(), odd.Reason()},
	}
	if got, want := verdict.Lines(Why(d)), []string{"criterion a is what was chosen by", "level best: enough"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTableSaysOnce: a long cause stands in the table once; what tests found is said
// of each decision.
func TestTableSaysOnce(t *testing.T) {
	const late = "launch 1 (baseline): the client woke up to 162 ms late, and 100ms is allowed"
	cause := ledger.Level{Name: "benchmark", Verdict: verdict.Invalid, Reasons: facts(late)}.Reason()
	const found = "chat.tg.gain is +38.2%, as wanted (>= +20.0%): at least +33.1% shown, 3 launches per arm, p = 0.000495 ≤ 0.002"
	page := &verdict.Page{}
	row := func(kind runtime.Kind, rule ledger.Rule, levels ...ledger.Level) string {
		d := &ledger.Decision{Kind: string(kind), Verdict: rule.Verdict, Rules: []ledger.Rule{rule}, Levels: levels}
		return strings.Join((&view{}).why(&runtime.State{Node: &runtime.Node{Kind: kind}, Decision: d}, page), "\n")
	}
	absent := ledger.Rule{Name: "decode", Verdict: verdict.Invalid, Reasons: []verdict.Reason{verdict.New(code.Missing).On("chat.tg.gain").From(cause)}}
	if got, want := row(runtime.KindFeature, absent), "decode: level benchmark is invalid: "+late; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	absent.Name = "twice"
	if got, want := row(runtime.KindGate, absent), "twice: level benchmark is invalid, see above"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	tested := ledger.Rule{Name: "decode", Verdict: verdict.Pass, Reasons: facts(found)}
	for _, kind := range []runtime.Kind{runtime.KindFeature, runtime.KindGate} {
		if got, want := row(kind, tested), "decode: "+found; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func fact(text string) verdict.Reason {
	return verdict.Say("broken", "{error}", verdict.Text("error", text))
}

func facts(texts ...string) (reasons []verdict.Reason) {
	for _, text := range texts {
		reasons = append(reasons, fact(text))
	}
	return reasons
}
