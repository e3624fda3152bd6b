package rules_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/planstest"
)

// FuzzCompile checks that no text makes the compiler panic, hang or compile something
// that does not declare what it reads.
func FuzzCompile(f *testing.F) {
	for _, rule := range []string{
		"chat.tg.gain >= 0.10 and levels.kernels == 'pass'",
		`feature["second"].accepted or not (feature.third.verdict in ["pass", 'fail'])`,
		"0 < 2 * chat.tg < 1e3 or lens.p128.tg32.root.change != 1",
		"1 / (chat.tg | abs()) <= 0x1F * -target.llamacpp.chat.tg",
		"let a = $env; all([chat.tg], # > a?.b ?? nil) ? {a: 1} : [2][0]",
		"0.97 * chat.tg.base <= chat.tg and not (-3 * chat.ttft < 5) or chat.tg.delta > 1e308 * target.llamacpp.chat.tg",
		"abs(chat.tg.change) <= 0.02 or chat.tg == 5 or min(chat.pp, chat.tg / 0) in [1, 2] or gpu.memory_gb.gain >= 1",
		"if chat.tg > 1 { true } else { false }; ::max(1..2)",
	} {
		f.Add(rule)
	}
	r := newRules(f)
	f.Fuzz(func(t *testing.T, rule string) {
		for place := range r.places {
			start := time.Now()
			p, errs := r.compile(rule, place)
			if took := time.Since(start); took > planstest.Hang {
				t.Fatalf("took %v", took)
			}
			if (p == nil) != (len(errs) > 0) {
				t.Fatalf("program %v, errors %v", p, errs)
			}
			for _, e := range errs {
				if e.Summary == "" || e.Detail == "" {
					t.Errorf("an error without words: %+v", e)
				}
			}
			if p != nil {
				checkProgram(t, p, r, place)
			}
		}
	})
}

// checkProgram compares what a program reads with what it declares.
func checkProgram(t *testing.T, p *plans.Cond, r ruleSet, place string) {
	if !slices.ContainsFunc(p.Inputs(), (*plans.Input).Measured) {
		t.Error("nothing that it reads is measured")
	}
	checkLogic(t, p, "")
	for _, l := range p.Compares() {
		if l.Metric != nil && (math.IsNaN(l.Threshold) || math.IsInf(l.Threshold, 0) || l.Form == verdict.LogLevel && l.Threshold <= 0) {
			t.Errorf("%s is decided as %s", l.Text, planstest.CompareText(l))
		}
		// A leaf stands for itself: what reasons show can be written as a rule.
		again, errs := r.compile(l.Text, place)
		if len(errs) == 1 && errs[0].Summary == "Rule reads nothing" {
			continue // a knob, beside something measured
		}
		if len(errs) > 0 || len(again.Compares()) != 1 || again.Compares()[0].Text != l.Text {
			t.Errorf("%s cannot be read again: %v", l.Text, errs)
		}
	}
}
