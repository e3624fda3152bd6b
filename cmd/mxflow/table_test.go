package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// A feature that other engines confirm has the row of the first engine above it, and
// does not say its criteria again.
func TestConfirmedRowIsShort(t *testing.T) {
	d := &ledger.Decision{
		Kind: "feature", Verdict: verdict.Pass, Reasons: []string{"confirmed on engine.embedded.prod", "criterion decode: pass: enough"},
		Rules: []ledger.Rule{{Name: "decode", Role: "criterion", Verdict: verdict.Pass, Reasons: []string{"enough"}}},
	}
	if got := strings.Join(whyHere(d), "\n"); !strings.Contains(got, "decode: enough") {
		t.Errorf("without confirmations: %q", got)
	}
	d.Confirmations = []ledger.Confirmation{{Engine: "embedded.prod", Reason: d.Reasons[0]}}
	if got, want := strings.Join(whyHere(d), "\n"), "confirmed on engine.embedded.prod\nand on the first engine as above"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestExitStatusOnce(t *testing.T) {
	exit := 9
	d := &ledger.Decision{Kind: "step", Verdict: verdict.Error, Reasons: []string{"the command failed (exit status 9)"}, Exit: &exit}
	if got := strings.Join(why(d), "\n"); got != d.Reasons[0] {
		t.Errorf("%q", got)
	}
	d.Reasons = []string{"the command failed"}
	if got := strings.Join(why(d), "\n"); got != "the command failed\nexit status 9" {
		t.Errorf("%q", got)
	}
}

// TestBrokenBy: of a gate in error only what is in error is to be mended.
func TestBrokenBy(t *testing.T) {
	for want, d := range map[string]*ledger.Decision{
		"feature nan":             {Reasons: []string{"feature a: pass", "feature nan: error", "feature b: fail"}},
		`rule "tg": nothing came`: {Rules: []ledger.Rule{{Name: "lat", Role: "rule", Verdict: verdict.Pass}, {Name: "tg", Role: "rule", Verdict: verdict.Error, Reasons: []string{"nothing came"}}}, Reasons: []string{"lat: pass", "tg: error: nothing came"}},
		"step exec make broke":    {Kind: "gate", Reasons: []string{"step exec make broke"}},
		"level smoke: no answer":  {Levels: []ledger.Level{{Name: "smoke", Verdict: verdict.Error, Reasons: []string{"no answer"}}, {Name: "kernels", Verdict: verdict.Fail}}},
	} {
		if d.Verdict = verdict.Error; brokenBy(d) != want {
			t.Errorf("%q, want %q", brokenBy(d), want)
		}
	}
}

// TestHeadline: what was chosen stands before the levels and criteria, also where
// these are called as a sentence of another kind begins.
func TestHeadline(t *testing.T) {
	level, odd := ledger.Level{Name: "smoke", Verdict: verdict.Pass}, ledger.Rule{Name: "level best", Role: "criterion", Verdict: verdict.Pass, Reasons: []string{"enough"}}
	d := &ledger.Decision{
		Kind: "feature", Verdict: verdict.Pass, Levels: []ledger.Level{level}, Rules: []ledger.Rule{odd},
		Reasons: []string{"criterion a is what was chosen by", level.Line(), odd.Says()},
	}
	if got, want := why(d), []string{d.Reasons[0], "level best: enough"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTableSaysOnce: a long cause stands in the table once; what tests found is said
// of each decision.
func TestTableSaysOnce(t *testing.T) {
	const cause = "level benchmark is invalid: launch 1 (baseline): the client was woken up to 162 ms late, and 100ms is allowed"
	const found = "chat.tg.gain is +38.2 %, as wanted (>= +20.0 %): at least +33.1 % shown, 3 launches an arm, p = 0.000495 ≤ 0.002"
	said := &report.Said{}
	row := func(kind runtime.Kind, rule ledger.Rule, levels ...ledger.Level) string {
		d := &ledger.Decision{Kind: string(kind), Verdict: rule.Verdict, Rules: []ledger.Rule{rule}, Levels: levels}
		return tableRow(runtime.Row{Node: &runtime.Node{Kind: kind}, Decision: d}, said)[3]
	}
	absent := ledger.Rule{Name: "decode", Verdict: verdict.Invalid, Reasons: []string{"chat.tg.gain: " + cause}}
	if got, want := row(runtime.KindFeature, absent), "decode: "+cause; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	absent.Name = "twice"
	if got, want := row(runtime.KindGate, absent), "twice: level benchmark is invalid, as said above"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	tested := ledger.Rule{Name: "decode", Verdict: verdict.Pass, Reasons: []string{found}}
	for _, kind := range []runtime.Kind{runtime.KindFeature, runtime.KindGate} {
		if got, want := row(kind, tested), "decode: "+found; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
