package gates

import (
	"math"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// damages are ways to remove what one input depends on. An input that a damage does not
// touch keeps its value.
var damages = map[string]func(f *Feature, in *plans.Input){
	"removed": func(f *Feature, in *plans.Input) {
		switch in.Kind {
		case plans.InputLevel:
			delete(f.Levels, in.Name)
		case plans.InputKnob:
			delete(f.Knobs, in.Name)
		case plans.InputFeature:
			f.Outcome, f.Accepted = "", false
		case plans.InputMetric:
			for _, a := range arms(f) {
				drop(a, 0, in.LaunchAddress())
			}
		}
	},
	"skipped": func(f *Feature, in *plans.Input) {
		switch in.Kind {
		case plans.InputLevel:
			f.Levels[in.Name] = verdict.Invalid
		case plans.InputFeature:
			f.Outcome, f.Accepted = verdict.Invalid, false
		case plans.InputMetric:
			f.Broken, f.Cause = verdict.Invalid, died("a level before it failed")
		case plans.InputKnob:
			f.Knobs = nil
		}
	},
	"not a number": func(f *Feature, in *plans.Input) {
		damageStats(f, in, func(s measure.Summary) {
			for name := range s.Stats {
				s.Stats[name] = math.NaN()
			}
		})
	},
	"infinite": func(f *Feature, in *plans.Input) {
		damageStats(f, in, func(s measure.Summary) {
			for name := range s.Stats {
				s.Stats[name] = math.Inf(-1)
			}
		})
	},
	"without statistics": func(f *Feature, in *plans.Input) {
		damageStats(f, in, func(s measure.Summary) { clear(s.Stats) })
	},
	"one launch": func(f *Feature, in *plans.Input) {
		if in.Kind != plans.InputMetric {
			damageWord(f, in)
			return
		}
		for _, a := range arms(f) {
			a.Launches = a.Launches[:1]
		}
	},
}

func arms(f *Feature) []*Arm { return []*Arm{&f.Candidate, &f.Parent, f.Root} }

func damageStats(f *Feature, in *plans.Input, change func(measure.Summary)) {
	if in.Kind != plans.InputMetric {
		damageWord(f, in)
		return
	}
	for _, a := range arms(f) {
		change(a.Launches[1].Metrics[in.LaunchAddress()])
	}
}

// damageWord damages inputs that are not numbers, in place of damages for numbers only.
func damageWord(f *Feature, in *plans.Input) {
	switch in.Kind {
	case plans.InputLevel:
		f.Levels[in.Name] = "passed"
	case plans.InputFeature:
		f.Outcome = "passed"
	case plans.InputKnob:
		f.Knobs = map[string]string{"other": "x"}
	}
}

// checkFailsClosed damages each input of a rule in turn: the rule must not pass.
func checkFailsClosed(t *testing.T, rule *plans.Rule) {
	t.Helper()
	for _, ev := range []*Evidence{nil, {}, {Features: map[string]*Feature{"f": {}}}} {
		if got := decided(rule, ev); got.Verdict.Unlocks() || !got.Verdict.Known() {
			t.Errorf("%s is %s without evidence", rule.Expr, got.Verdict)
		}
	}
	for _, in := range rule.Inputs() {
		if in.Kind == plans.InputTarget {
			continue
		}
		for name, damage := range damages {
			ev := with(func(f *Feature) { damage(f, in) })
			got := decided(rule, ev)
			if name == "one launch" && in.Kind == plans.InputMetric {
				checkUndecided(t, rule, in, got)
				continue
			}
			if got.Verdict.Unlocks() || got.Verdict == verdict.Fail || len(got.Reasons) == 0 {
				t.Errorf("%s is %s with %s %s: %v", rule.Expr, got.Verdict, in.Path, name, got.Reasons)
			}
		}
	}
	if got := decided(rule, full()); !got.Verdict.Known() || len(got.Reasons) == 0 {
		t.Errorf("%s: %+v", rule.Expr, got)
	}
}

// checkUndecided: one launch is not absence, so the rest of a rule may settle it, but
// nothing that reads the input is decided.
func checkUndecided(t *testing.T, rule *plans.Rule, in *plans.Input, got verdict.Rule) {
	t.Helper()
	for i, c := range got.Comparisons {
		leaf := rule.Compares()[i]
		if slices.Contains(leaf.Inputs(), in) && c.Verdict != verdict.Inconclusive {
			t.Errorf("%s: %s is %s with one launch", rule.Expr, c.Text, c.Verdict)
		}
	}
}

var honest = []string{
	"chat.tg.gain >= 0.10 and levels.kernels == 'pass'",
	"not (chat.tg < 0.95)",
	"not (chat.tg.gain < 0.10) or levels.kernels != 'fail'",
	"levels.kernels != 'fail' or levels.smoke not in ['fail', 'inconclusive']",
	`not feature["f"].accepted or not feature["f"].decided or chat.tg > 0`,
	`feature["f"].verdict != 'fail' and knob.moe != 'all'`,
	"chat.tg.n >= 1 or chat.tg.n_requests < 1000 or chat.tg.root.n > 0",
	"chat.tg.root.gain > 0.1 or chat.tg.delta > -1e9",
	"engine.crashes == 0 and engine.startup_s.change < 10 and engine.memory_gb.base >= 0",
	"-2 * chat.ttft.delta <= 1e9 and chat.tg.p50 * 0.5 > -1 and chat.tg >= 0.97 * chat.tg.base",
	"chat.tg >= target.other.chat.tg or 0 < chat.tg.cv < 1 or chat.tg.std * -1 < 1",
	"chat.output_tokens.min == 8 && !(chat.output_tokens.base.max in [1, 2])",
}

func TestRulesFailClosed(t *testing.T) {
	for _, rule := range honest {
		checkFailsClosed(t, compiled(t, rule))
	}
}

// FuzzRule checks the same for any text that compiles.
func FuzzRule(f *testing.F) {
	for _, rule := range honest {
		f.Add(rule)
	}
	f.Fuzz(func(t *testing.T, text string) {
		res := loaded(text)
		gate := res.Plan.Phases
		if !res.OK() || len(gate) == 0 {
			return
		}
		checkFailsClosed(t, gate[0].Gate.Rules[0])
	})
}
