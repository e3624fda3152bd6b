package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestChoices: which alternative wins, and what that makes of the feature.
func TestChoices(t *testing.T) {
	choose := viewOf(t, planstest.ChoosePlan, nil, nil).Plan.Feature("sized").Choose
	for _, c := range []struct {
		name  string
		of    string // verdict and gain in per cent of each, "-" where it is missing
		want  verdict.Verdict
		best  int
		words string
	}{
		{"one passes", "pass 31, fail 2", verdict.Pass, 0, "v0 wins +31% in w.tg over all launches; v1 fail +2.0%"},
		{
			"the better of two", "pass 12, pass 31", verdict.Pass, 1,
			"v1 wins +31% in w.tg over all launches; v0 pass +12%",
		},
		{"the first of equals", "pass 12, pass 12", verdict.Pass, 0, "v0 wins"},
		{
			"passing counts, not the gain", "inconclusive 80, pass 12", verdict.Pass, 1,
			"v1 wins +12% in w.tg over all launches; v0 inconclusive +80%",
		},
		{"a known gain before none", "pass -, pass 1", verdict.Pass, 1, "v1 wins"},
		{"no gain is known", "pass -, pass -", verdict.Pass, 0, "first in plan order"},
		{
			"all fail", "fail -3, fail 1", verdict.Fail, 1,
			"no alternative of size passes: v1 fail +1.0%, v0 fail -3.0% (w.tg over all launches); reported below: " +
				"sized[v1]",
		},
		{"one is open", "fail 9, inconclusive 4", verdict.Inconclusive, 1, "no alternative"},
		{"one drops out", "invalid -, fail 1", verdict.Fail, 1, "v0 invalid"},
		{
			"one drops out of three", "invalid -, fail 1, inconclusive 0", verdict.Inconclusive, 2,
			"v2 inconclusive 0%",
		},
		{"the other passes", "invalid -, pass 1", verdict.Pass, 1, "v0 invalid"},
		{"all drop out", "invalid -, invalid -", verdict.Invalid, 0, "no alternative"},
		{"one broke", "error -, fail 1", verdict.Error, 1, "v0 error"},
		{"one broke, one dropped out", "invalid -, error -", verdict.Error, 0, "no alternative"},
		{"one broke, another passes", "error -, pass 1", verdict.Pass, 1, "v0 error"},
		{"an unknown word", "great 9, fail 1", verdict.Error, 1, "no alternative"},
		{"which way a small one goes", "fail -0.01, fail -5", verdict.Fail, 0, "v0 fail -0.01%"},
	} {
		var all []*alternative
		for i, of := range strings.Split(c.of, ", ") {
			word, gain, _ := strings.Cut(of, " ")
			value := fmt.Sprint("v", i)
			x := &alternative{
				Feature: &plans.Feature{
					Name: "sized[" + value + "]", Of: "sized",
					Set: map[string]string{"size": value},
				},
				Decision: &ledger.Decision{Verdict: verdict.Verdict(word)},
			}
			if gain != "-" {
				var percent float64
				if _, err := fmt.Sscan(gain, &percent); err != nil {
					t.Fatal(err)
				}
				percent /= 100
				x.Gain = &percent
			}
			all = append(all, x)
		}
		got, best := verdictOfChoice(all), bestOf(all)
		if got != c.want || best != all[c.best] {
			t.Errorf("%s: %s by %s", c.name, got, best.Feature.Name)
		}
		must.Contain(t, c.name, chosen(choose, all, best, got).String(), c.words)
	}
}

// TestConfirmed: a feature passes only where it passes on all engines, and says
// where it did not.
func TestConfirmed(t *testing.T) {
	src := strings.Replace(planstest.ChoosePlan, "confirm { engine = engine.embedded.wide }",
		"confirm { engine = engine.embedded.wide }\n    confirm { engine = engine.embedded.third }",
		1) + "\nengine \"embedded\" \"third\" { settings = { threads = 3 } }\n"
	for _, c := range []struct {
		name                string
		first, wide, third  verdict.Verdict
		want                verdict.Verdict
		says                string // codes with their engine and its verdict
		lockedByOtherReason bool
	}{
		{
			"everywhere", "pass", "pass", "pass", "pass", "confirmed embedded.wide pass|confirmed embedded.third pass",
			false,
		},
		{
			"not on the first", "fail", "", "", "fail",
			"confirmation.not_tried embedded.wide fail|confirmation.not_tried embedded.third fail", false,
		},
		{
			"not on the second", "pass", "fail", "", "fail",
			"not_confirmed embedded.wide fail too slow|confirmation.not_tried embedded.third fail", false,
		},
		{
			"open on the third", "pass", "pass", "inconclusive", "inconclusive",
			"confirmed embedded.wide pass|not_confirmed embedded.third inconclusive too slow", false,
		},
		{
			"broken on the third", "pass", "pass", "error", "error",
			"confirmed embedded.wide pass|not_confirmed embedded.third error too slow", false,
		},
		{
			"locked for another reason", "pass", "", "pass", "invalid",
			"confirmation.not_run embedded.wide invalid its port is taken|confirmed embedded.third pass", true,
		},
		{
			"not even open", "inconclusive", "", "", "inconclusive",
			"confirmation.not_tried embedded.wide inconclusive|confirmation.not_tried embedded.third inconclusive",
			false,
		},
	} {
		outcomes := map[string]*ledger.Decision{
			"feature.sized.first": {
				Node: "feature.sized.first", Verdict: c.first,
				Variant: map[string]string{"size": "large"}, Rules: []verdict.Rule{{Name: "c"}},
				Reasons: []verdict.Reason{fact("it is so")},
			},
		}
		locked := map[string]verdict.Reason{}
		for id, v := range map[string]verdict.Verdict{"feature.sized@wide": c.wide, "feature.sized@third": c.third} {
			if v == "" {
				locked[id] = verdict.New(code.Outcome).On("feature.sized.first").Is(c.first)
				if c.lockedByOtherReason {
					locked[id] = fact("its port is taken")
				}
				continue
			}
			outcomes[id] = &ledger.Decision{
				Node: id, Verdict: v,
				Reasons:  []verdict.Reason{verdict.New(code.Rule).On("quality").Is(verdict.Pass), fact("too slow")},
				Accepted: true,
			}
		}
		v := viewOf(t, src, outcomes, locked)
		got, err := confirmed(v, v.Plan.Feature("sized"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.Verdict != c.want || got.Accepted != (c.want == verdict.Pass) || got.Variant["size"] != "large" ||
			len(got.Rules) != 1 {
			t.Errorf("%s: %+v", c.name, got)
		}
		var says []string
		for _, r := range got.Reasons[:len(got.Reasons)-1] {
			line := string(r.Kind) + " " + r.Subject + " " + string(r.Verdict) + r.Values["without"].Text
			for _, cause := range r.Causes {
				line += " " + cause.Values["error"].Text
			}
			says = append(says, line)
		}
		must.Equal(t, c.name, strings.Join(says, "|"), c.says)
		if !got.Reasons[len(got.Reasons)-1].Equal(fact("it is so")) {
			t.Errorf("%s: the reasons of the first engine are lost: %+v", c.name, got.Reasons)
		}
		if outcomes["feature.sized.first"].Verdict != c.first || outcomes["feature.sized.first"].Accepted {
			t.Errorf("%s: the first decision was changed", c.name)
		}
	}
	v := viewOf(t, src, nil, nil)
	if !maps.Equal(stackValues(v.Plan.Feature("sized"),
		&ledger.Decision{Variant: map[string]string{"size": "small", "b": "x"}}),
		map[string]string{"a": "on", "size": "small"}) {
		t.Error("what enters the stack is not what was chosen")
	}
}

// TestNotAdmitted: what builds on something that is not in the stack is not in it
// either, and says so once.
func TestNotAdmitted(t *testing.T) {
	out := &ledger.Decision{Verdict: verdict.Pass}
	v := viewOf(t, planstest.ChoosePlan, map[string]*ledger.Decision{"feature.sized": {Verdict: "fail"}}, nil)
	child := v.Plan.Feature("child")
	admit(v, child, out)
	admit(v, child, out)
	if out.Accepted || len(out.Notes) != 1 ||
		!out.Notes[0].Equal(verdict.Say("feature.parent_not_accepted", "").On("sized")) {
		t.Errorf("%+v", out)
	}
	v = viewOf(t, planstest.ChoosePlan, map[string]*ledger.Decision{"feature.sized": {Verdict: "pass", Accepted: true}},
		nil)
	if admit(v, child, out); !out.Accepted {
		t.Error("what builds on the stack does not enter it")
	}
	// A trial that passes enters no stack, and says so.
	trial := *child
	trial.Trial, out = true, &ledger.Decision{Verdict: verdict.Pass}
	admit(v, &trial, out)
	if admit(v, &trial, out); out.Accepted || len(out.Notes) != 1 ||
		!out.Notes[0].Equal(verdict.Say("feature.trial", "")) {
		t.Errorf("a trial: %+v", out)
	}
}

// TestEvidenceTakesEveryLaunch: a feature is decided on all launches that its
// benchmark made, and not on fewer because one is not on record.
func TestEvidenceTakesEveryLaunch(t *testing.T) {
	outcomes := map[string]*ledger.Decision{}
	v := viewOf(t, planstest.ChoosePlan, outcomes, nil)
	var known ledgerOf
	v.Record = &known
	f := v.Plan.Feature("sized").Alternatives[0]
	bench := &ledger.Decision{
		Node: runtime.BenchmarkID(f.Name), Kind: string(runtime.KindBenchmark),
		Verdict: verdict.Pass, Session: "s-1",
	}
	outcomes[runtime.QualifyID(f.Name)], outcomes[bench.Node] = &ledger.Decision{Verdict: verdict.Pass}, bench
	a, err := v.Identities.Arms(f)
	must.Do(t, err)
	for i, arm := range []Arm{a.Parent, a.Candidate, a.Candidate, a.Parent} {
		id := fmt.Sprintf("s-1.%d", i+1)
		bench.Launches = append(bench.Launches, id)
		if _, err := v.measured(f); verdict.OfError(err).Kind != code.LaunchUnrecorded.Kind ||
			verdict.OfError(err).Subject != id {
			t.Errorf("without launch %s: %v", id, err)
		}
		known = append(known, &ledger.Record{Launch: &ledger.Launch{
			ID: id, Session: "s-1", Purpose: "benchmark", VariantKey: arm.Key, Ordinal: 1 + i/2, Order: i + 1,
			OK: true, Work: "w",
		}})
	}
	found, err := v.measured(f)
	must.Do(t, err)
	ev := found.Evidence[0]
	if ev.Broken != "" || len(ev.Candidate.Launches) != 2 || len(ev.Parent.Launches) != 2 || found.Session != "s-1" {
		t.Errorf("%+v", found)
	}
}

// TestStepsOfAPhase: a phase without a gate passes when its steps did, and a step
// that was not run is none that passed.
func TestStepsOfAPhase(t *testing.T) {
	ph := &plans.Phase{Name: "build", Steps: []*plans.Block{{Kind: "exec", Name: "one"}, {Kind: "exec", Name: "two"}}}
	one, two := runtime.StepID("build", "exec", "one"), runtime.StepID("build", "exec", "two")
	was := func(v verdict.Verdict) *ledger.Decision { return &ledger.Decision{Verdict: v, Attempt: 1} }
	for _, c := range []struct {
		name     string
		outcomes map[string]*ledger.Decision
		locked   map[string]verdict.Reason
		want     verdict.Verdict
		why      verdict.Reason
	}{
		{
			"both passed",
			map[string]*ledger.Decision{one: was(verdict.Pass), two: was(verdict.Pass)},
			nil, verdict.Pass,
			verdict.New(code.Step).On("exec two").Is(verdict.Pass),
		},
		{
			"one failed",
			map[string]*ledger.Decision{one: was(verdict.Fail)},
			map[string]verdict.Reason{two: verdict.New(code.Outcome).On(one).Is(verdict.Fail)},
			verdict.Fail,
			verdict.Say("step.alone", "").On("exec one").Is(verdict.Fail),
		},
		{
			"one broke",
			map[string]*ledger.Decision{one: was(verdict.Pass), two: was(verdict.Error)},
			nil, verdict.Error,
			verdict.Say("step.alone", "").On("exec two").Is(verdict.Error),
		},
		{
			"one is locked",
			map[string]*ledger.Decision{one: was(verdict.Pass)},
			map[string]verdict.Reason{two: fact("its branch is gone")},
			verdict.Invalid,
			verdict.New(code.StepNotRun).On("exec two").From(fact("its branch is gone")),
		},
		{"none was run", nil, nil, verdict.Invalid, verdict.New(code.StepNotRun).On("exec one")},
	} {
		v, n := viewOf(t, "", c.outcomes, c.locked), &runtime.Node{Kind: runtime.KindPhase, PhaseBlock: ph}
		d, err := Node(v, n)
		if err != nil || d.Verdict != c.want || !slices.ContainsFunc(d.Reasons, c.why.Equal) {
			t.Errorf("%s: %+v, %v; want %s because %+v", c.name, d, err, c.want, c.why)
		}
	}
}

// TestLaunchesOfAnother: where the launches of a benchmark ran something else than its arms are now,
// they are not missing, and what changed is named.
func TestLaunchesOfAnother(t *testing.T) {
	for _, changed := range []bool{false, true} {
		outcomes := map[string]*ledger.Decision{}
		v := viewOf(t, planstest.ChoosePlan, outcomes, nil)
		f := v.Plan.Feature("sized").Alternatives[0]
		outcomes[runtime.QualifyID(f.Name)] = &ledger.Decision{Verdict: verdict.Pass}
		outcomes[runtime.BenchmarkID(f.Name)] = &ledger.Decision{
			Verdict: verdict.Pass, Session: "s",
			Launches: []string{"s.fast.1", "s.baseline.1"},
		}
		a, err := v.Identities.Arms(f)
		must.Do(t, err)
		key := map[string]string{"s.fast.1": a.Candidate.Key, "s.baseline.1": a.Parent.Key}
		var known ledgerOf
		for id, key := range key {
			l := &ledger.Launch{ID: id, Session: "s", VariantKey: key, Purpose: ledger.ForBenchmark, OK: true}
			if changed {
				l.VariantKey = "of before"
			}
			known = append(known, &ledger.Record{Launch: l})
		}
		v.Record, v.Identities = known, identities{v, fact("later.py")}
		got, err := v.measured(f)
		must.Do(t, err)
		ev := got.Evidence[0]
		if named := verdict.Holds([]verdict.Reason{ev.Cause}, "broken"); named != changed ||
			(ev.Broken == verdict.Invalid) != changed {
			t.Errorf("changed %v: %s, %v", changed, ev.Broken, ev.Cause)
		}
	}
}
