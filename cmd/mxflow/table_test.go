package main

import (
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// A number keeps its minus sign, wherever its line is broken.
func TestTablesBreakBetweenWordsOnly(t *testing.T) {
	for pad := 60; pad < 96; pad++ {
		why := strings.Repeat("x", pad) + " interval -18.8 % to b1-0c1e570, as wanted"
		var b strings.Builder
		writeTable(&b, []string{"what", "why"}, [][]string{{"one", why}}, false)
		for line := range strings.Lines(b.String()) {
			if strings.HasSuffix(strings.TrimSpace(line), "-") {
				t.Fatalf("with %d characters before it, a word is broken after its hyphen:\n%s", pad, b.String())
			}
		}
		if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, why) {
			t.Fatalf("words were lost: %s", got)
		}
	}
}

// A table fits into the terminal as far as its last column can be wrapped.
func TestTablesFitTheTerminal(t *testing.T) {
	head, rows := []string{"node", "why"}, [][]string{{"feature.kv", strings.Repeat("a reason of several words, ", 8)}, {"phase.cache", "short"}}
	for _, width := range []int{60, 80, 100, 400} {
		var b strings.Builder
		drawTable(&b, head, rows, false, lastColumn(head, rows, width))
		for line := range strings.Lines(b.String()) {
			if n := lipgloss.Width(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns, and a line has %d: %s", width, n, line)
			}
		}
	}
	if got := lastColumn([]string{strings.Repeat("x", 90), "why"}, nil, 60); got != leastColumn {
		t.Errorf("beside columns that fill the terminal the last one has %d", got)
	}
}

// A feature that other engines confirm has the row of the first engine above it, and
// does not say its criteria again.
func TestConfirmedRowIsShort(t *testing.T) {
	d := &ledger.Decision{
		Kind: "feature", Verdict: verdict.Pass, Reasons: []string{"confirmed on engine.embedded.prod", "criterion decode: pass: enough"},
		Rules: []ledger.Rule{{Name: "decode", Verdict: verdict.Pass, Reasons: []string{"enough"}}},
	}
	if got := whyHere(d); !strings.Contains(got, "decode: enough") {
		t.Errorf("without confirmations: %q", got)
	}
	d.Confirmations = []ledger.Confirmation{{Engine: "embedded.prod", Reason: d.Reasons[0]}}
	if got, want := whyHere(d), "confirmed on engine.embedded.prod\nand on the first engine as above"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestExitStatusOnce(t *testing.T) {
	exit := 9
	d := &ledger.Decision{Kind: "step", Verdict: verdict.Error, Reasons: []string{"the command failed (exit status 9)"}, Exit: &exit}
	if got := why(d); got != d.Reasons[0] {
		t.Errorf("%q", got)
	}
	d.Reasons = []string{"the command failed"}
	if got := why(d); got != "the command failed\nexit status 9" {
		t.Errorf("%q", got)
	}
}

// TestBrokenBy: of a gate in error only what is in error is to be mended.
func TestBrokenBy(t *testing.T) {
	for want, d := range map[string]*ledger.Decision{
		"feature nan":             {Reasons: []string{"feature a: pass", "feature nan: error", "feature b: fail"}},
		`rule "tg": nothing came`: {Rules: []ledger.Rule{{Name: "lat", Role: "rule", Verdict: verdict.Pass}, {Name: "tg", Role: "rule", Verdict: verdict.Error, Reasons: []string{"nothing came"}}}, Reasons: []string{"tg: error"}},
		"step exec make broke":    {Kind: "gate", Reasons: []string{"step exec make broke"}},
		"level smoke: no answer":  {Levels: []ledger.Level{{Name: "smoke", Verdict: verdict.Error, Reasons: []string{"no answer"}}, {Name: "kernels", Verdict: verdict.Fail}}},
	} {
		if d.Verdict = verdict.Error; brokenBy(d) != want {
			t.Errorf("%q, want %q", brokenBy(d), want)
		}
	}
}
