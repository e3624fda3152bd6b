package decide

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

const interferingPlan = `plan "stacks" {}
engine "embedded" "tiny" {}
%s
workload "chat" {
  prompt_tokens = 32
  output_tokens = 8
  requests      = 2
}
protocol "quick" {
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.quick
}
phase "all" {
%s
}
`

// interfering is a plan with knobs a to d and what was recorded of it.
type interfering struct {
	t     *testing.T
	view  *View
	known ledgerOf
	works map[string]string
}

func newInterfering(t *testing.T, features string) *interfering {
	knobs := ""
	for _, k := range []string{"a", "b", "c", "d"} {
		knobs += fmt.Sprintf("knob %q {\n  default = \"off\"\n  value \"off\" {}\n  value \"on\" {}\n}\n", k)
	}
	i := &interfering{t: t, view: viewOf(t, fmt.Sprintf(interferingPlan, knobs, features), nil, nil), works: map[string]string{}}
	i.view.Launch = func(id string) (*ledger.Launch, bool) { return i.known.launch(id) }
	i.view.Outcome = func(node string) (d *ledger.Decision) {
		for _, r := range i.known {
			if r.Decision != nil && r.Decision.Node == node {
				d = r.Decision
			}
		}
		return d
	}
	return i
}

func (i *interfering) add(r *ledger.Record) { i.known = append(i.known, r) }

// arm are four launches of the baseline with the knobs in on switched on. Their
// logs lie around that of tg, 1% apart.
func (i *interfering) arm(session, on string, tg float64) gates.Arm {
	knobs := map[string]string{"a": "off", "b": "off", "c": "off", "d": "off"}
	for _, k := range on {
		knobs[string(k)] = "on"
	}
	arm := gates.Arm{Name: "x" + on}
	for n, off := range []float64{-0.015, -0.005, 0.005, 0.015} {
		id := fmt.Sprintf("%s.%s.%d", session, on, n)
		v := tg * math.Exp(off)
		i.add(&ledger.Record{Type: "launch", Launch: &ledger.Launch{
			ID: id, Session: session, Purpose: "benchmark", Variant: "x" + on, VariantKey: "key" + on, Block: "embedded.tiny", Knobs: maps.Clone(knobs),
			OK: true, Work: "work" + i.works[session],
			Metrics: map[string]measure.Summary{
				"chat.tg":   {N: 5, Stats: map[string]float64{"median": v}},
				"chat.ttft": {N: 5, Stats: map[string]float64{"median": 1 / v}},
			},
		}})
		arm.Launches = append(arm.Launches, gates.Launch{ID: id})
	}
	return arm
}

func (i *interfering) decide(name string, candidate, parent gates.Arm) {
	first, _ := i.known.launch(candidate.Launches[0].ID)
	ids := func(a gates.Arm) (arm ledger.Arm) {
		for _, l := range a.Launches {
			arm.Launches = append(arm.Launches, l.ID)
		}
		return arm
	}
	i.add(&ledger.Record{Type: "decision", Decision: &ledger.Decision{
		Node: "feature." + name, Kind: "feature", Feature: name, Attempt: 1, Verdict: verdict.Pass, Accepted: true, Variant: first.Knobs,
		Evidence: []ledger.Evidence{{Feature: name, Candidate: ids(candidate), Parent: ids(parent)}},
	}})
}

func (i *interfering) of(name string, ev *gates.Feature) []ledger.Interference {
	return interference(i.view, i.view.Plan.Feature(name), ev)
}

func feature(name, knob, on, rule string) string {
	return fmt.Sprintf("  feature %q {\n    set = { %s = \"on\" }\n    builds_on = %s\n    criterion \"r\" {\n      rule = %q\n    }\n  }\n", name, knob, on, rule)
}

const faster = "chat.tg.gain >= 0.01"

// TestStackAgainstProduct: two ports that are each worth something on the
// baseline, and less together.
func TestStackAgainstProduct(t *testing.T) {
	for _, rule := range []string{faster, "chat.ttft.gain >= 0.01"} {
		i := newInterfering(t, feature("fa", "a", "baseline", rule)+feature("fb", "b", "baseline", rule)+feature("fc", "c", "accepted", rule))
		base := i.arm("s1", "", 10)
		i.decide("fa", i.arm("s1", "a", 20), base)
		i.decide("fb", i.arm("s1", "b", 15), base)
		ev := &gates.Feature{References: rootOnly(i.arm("s2", "", 10.2)), Parent: i.arm("s2", "ab", 10.2*2.64), Candidate: i.arm("s2", "abc", 30)}
		all := i.of("fc", ev)
		if len(all) != 1 {
			t.Fatal(all)
		}
		f := all[0]
		// 2 · 1.5 = 3, and together 2.64: 12% less.
		if math.Abs(f.Stack-1.64) > 1e-9 || math.Abs(f.Product-2) > 1e-9 || math.Abs(f.Ratio+0.12) > 1e-9 || strings.Join(f.Parts, "+") != "fa+fb" {
			t.Errorf("%+v", f)
		}
		// The standard deviation of each arm, and weights of 1 for the stack, its
		// baseline and each candidate, and 2 for the baseline that both share.
		s := math.Sqrt((2*0.015*0.015 + 2*0.005*0.005) / 3)
		se := s / 2 * math.Sqrt(1+1+1+1+4)
		df := 8. * 8 / (4./3 + 16./3)
		width := (math.Log1p(*f.High) - math.Log1p(*f.Low)) / 2 / se
		if df != 9.6 || math.Abs(width-2.24149) > 1e-3 { // t(.025, 9.6)
			t.Errorf("half width is %v standard errors", width)
		}
		if says := tell.Line(f.Reason()); !strings.HasSuffix(says, "they interfere") || !strings.HasPrefix(says, "fa and fb together are 12.0% worse in chat.") {
			t.Error(says)
		}
	}
}

// TestNothingToCompare: where a comparison would say nothing, or compare what
// does not compare, nothing is reported.
func TestNothingToCompare(t *testing.T) {
	for name, c := range map[string]struct {
		fb     string
		onA    bool // fb was measured on fa
		change func(i *interfering, ev *gates.Feature)
	}{
		"by construction":          {feature("fb", "b", "accepted", faster), true, nil},
		"by construction, by name": {feature("fb", "b", "feature.fa", faster), true, nil},
		"without the baseline":     {feature("fb", "b", "baseline", faster), false, func(_ *interfering, ev *gates.Feature) { ev.References = nil }},
		"no metric in common":      {feature("fb", "b", "baseline", "chat.ttft.gain >= 0.01"), false, nil},
		"invalid":                  {feature("fb", "b", "baseline", faster), false, func(_ *interfering, ev *gates.Feature) { ev.Broken = verdict.Invalid }},
		"another load": {feature("fb", "b", "baseline", faster), false, func(i *interfering, ev *gates.Feature) {
			i.works["s3"] = "other"
			ev.References, ev.Parent = rootOnly(i.arm("s3", "", 10)), i.arm("s3", "ab", 26)
		}},
		"one knob more": {feature("fb", "b", "baseline", faster), false, func(i *interfering, ev *gates.Feature) { ev.Parent = i.arm("s2", "abd", 26) }},
		"a launch is gone": {feature("fb", "b", "baseline", faster), false, func(_ *interfering, ev *gates.Feature) {
			ev.Parent.Launches = append(ev.Parent.Launches, gates.Launch{ID: "gone"})
		}},
		"one launch": {feature("fb", "b", "baseline", faster), false, func(_ *interfering, ev *gates.Feature) { ev.Parent.Launches = ev.Parent.Launches[:1] }},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInterfering(t, feature("fa", "a", "baseline", faster)+c.fb+feature("fc", "c", "accepted", faster))
			base := i.arm("s1", "", 10)
			fa := i.arm("s1", "a", 20)
			i.decide("fa", fa, base)
			if c.onA {
				i.decide("fb", i.arm("s1", "ab", 26), fa)
			} else {
				i.decide("fb", i.arm("s1", "b", 15), base)
			}
			ev := &gates.Feature{References: rootOnly(i.arm("s2", "", 10)), Parent: i.arm("s2", "ab", 26), Candidate: i.arm("s2", "abc", 30)}
			if c.change != nil {
				c.change(i, ev)
			}
			if got := i.of("fc", ev); len(got) != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestCandidateAgainstTwin: a port on the stack whose knob another feature sets on
// the baseline is compared with that one's gain.
func TestCandidateAgainstTwin(t *testing.T) {
	i := newInterfering(t, feature("fa", "a", "baseline", faster)+feature("alone", "b", "baseline", faster)+feature("onto", "b", "feature.fa", faster))
	base := i.arm("s1", "", 10)
	i.decide("fa", i.arm("s1", "a", 20), base)
	i.decide("alone", i.arm("s1", "b", 15), base)
	ev := &gates.Feature{References: rootOnly(i.arm("s2", "", 10)), Parent: i.arm("s2", "a", 20), Candidate: i.arm("s2", "ab", 36)}
	all := i.of("onto", ev)
	if len(all) != 1 || strings.Join(all[0].Parts, "+") != "fa+alone" || math.Abs(all[0].Ratio-0.2) > 1e-9 || !strings.HasSuffix(tell.Line(all[0].Reason()), "they help each other") {
		t.Errorf("%+v", all)
	}
}

func rootOnly(a gates.Arm) map[plans.Against]*gates.Arm {
	return map[plans.Against]*gates.Arm{plans.Root: &a}
}
