package steps

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// observing is a launch that says this of itself.
func observingLaunch(id, arm string, seen map[string]any) *ledger.Launch {
	l := &ledger.Launch{ID: id, VariantKey: arm, OK: true, Observed: map[string]ledger.Observed{}}
	for name, value := range seen {
		l.Observed[name] = ledger.Observed{Value: value, Line: "INFO " + name + " is set"}
	}
	return l
}

func TestArmsHaveToAgree(t *testing.T) {
	kind := &kinds.Kind{Observe: []kinds.Pattern{
		{Name: "attention", Type: "string"},
		{Name: "graphs", Type: "bool"},
		{Name: "max_len", Type: "number"},
		{Name: "capacity", Type: "number", Varies: true},
		{Name: "dtype", Type: "string"},
	}}
	knob := &plans.Knob{Name: "moe", Default: "a", Values: []*plans.KnobValue{
		{Name: "a", MustSee: plans.Evidence{Log: []string{"*dtype is*"}}},
		{Name: "b", MustSee: plans.Evidence{Observed: map[string]any{"graphs": true}}},
	}}
	other := &plans.Knob{Name: "other", Default: "x", Values: []*plans.KnobValue{{Name: "x"}}, Changes: []string{"attention"}}
	lab := NewLab(&plans.Plan{Knobs: []*plans.Knob{knob, other}}, nil)
	vs := []*variant.Variant{
		{Name: "baseline", Key: "A", Knobs: map[string]string{"moe": "a", "other": "x"}, Spec: engine.Spec{Profile: kind}},
		{Name: "candidate", Key: "B", Knobs: map[string]string{"moe": "b", "other": "x"}, Spec: engine.Spec{Profile: kind}},
	}
	type said = map[string]any
	for name, c := range map[string]struct {
		a1, a2, b1, b2 said
		changes        []string
		want           string
	}{
		"equal":              {a1: said{"attention": "fa"}, a2: said{"attention": "fa"}, b1: said{"attention": "fa"}, b2: said{"attention": "fa"}},
		"nothing observed":   {},
		"word":               {a1: said{"attention": "fa"}, a2: said{"attention": "fa"}, b1: said{"attention": "fi"}, b2: said{"attention": "fi"}, want: `baseline and candidate differ in something the plan does not declare: attention is "fa" against "fi". If knob "moe" is meant to change it, add changes = ["attention"] there;`},
		"changed by a knob":  {a1: said{"attention": "fa"}, a2: said{"attention": "fa"}, b1: said{"attention": "fi"}, b2: said{"attention": "fi"}, changes: []string{"attention"}},
		"observed evidence":  {a1: said{"graphs": false}, a2: said{"graphs": false}, b1: said{"graphs": true}, b2: said{"graphs": true}},
		"line of evidence":   {a1: said{"dtype": "bf16"}, a2: said{"dtype": "bf16"}, b1: said{"dtype": "fp8"}, b2: said{"dtype": "fp8"}},
		"missing in one arm": {a1: said{"attention": "fa"}, a2: said{"attention": "fa"}, want: `attention is "fa" against not observed`},
		"limit":              {a1: said{"max_len": 1.0}, a2: said{"max_len": 1.0}, b1: said{"max_len": 2.0}, b2: said{"max_len": 2.0}, want: "max_len is 1 against 2"},
		"what varies":        {a1: said{"capacity": 1.0}, a2: said{"capacity": 2.0}, b1: said{"capacity": 3.0}, b2: said{}},
		"within an arm":      {a1: said{"attention": "fa"}, a2: said{"attention": "fi"}, b1: said{"attention": "fa"}, b2: said{"attention": "fa"}, changes: []string{"attention"}, want: `launches of baseline differ in attention: "fa" in launch a1, "fi" in launch a2`},
		"lost within an arm": {a1: said{"attention": "fa"}, a2: said{"attention": "fa"}, b1: said{"attention": "fa"}, b2: said{}, want: `launches of candidate differ in attention: "fa" in launch b1, not observed in launch b2`},
		"another type":       {a1: said{"attention": "true"}, a2: said{"attention": "true"}, b1: said{"attention": true}, b2: said{"attention": true}, want: `"true" against true`},
		"a knob that is set": {a1: said{"unknown": "x"}, a2: said{"unknown": "y"}}, // nobody looks for it any more
	} {
		t.Run(name, func(t *testing.T) {
			knob.Changes = c.changes
			got, err := lab.disagree([]*ledger.Launch{
				observingLaunch("a1", "A", c.a1), observingLaunch("b1", "B", c.b1), observingLaunch("b2", "B", c.b2), observingLaunch("a2", "A", c.a2),
			}, vs)
			if err != nil || got.IsZero() != (c.want == "") || !strings.Contains(tell.Line(got), c.want) {
				t.Errorf("%q, %v; want %q", tell.Line(got), err, c.want)
			}
		})
	}
}

func TestKnobsProvedByObservation(t *testing.T) {
	must := func(want map[string]any) []variant.Evidence {
		return []variant.Evidence{{Knob: "moe", Value: "b", MustObserve: want}}
	}
	mustNot := func(want map[string]any) []variant.Evidence {
		return []variant.Evidence{{Knob: "moe", Value: "b", MustNotObserve: want}}
	}
	seen := map[string]ledger.Observed{"kernel": {Value: "marlin", From: "log line 7"}, "graphs": {Value: false}, "n": {Value: 2.0}}
	not := map[string]verdict.Reason{"tactic": verdict.New(code.Unobserved, verdict.Text("why", "no line of the log says it"))}
	for name, c := range map[string]struct {
		wanted []variant.Evidence
		log    verdict.Verdict
		want   verdict.Verdict
		says   string
	}{
		"seen":                   {must(map[string]any{"kernel": "marlin", "n": 2.0}), "pass", "pass", `observed kernel "marlin" (log line 7)`},
		"another":                {must(map[string]any{"kernel": "gemm"}), "pass", "fail", `kernel must be "gemm" but the engine reports "marlin"`},
		"false is a value":       {must(map[string]any{"graphs": true}), "pass", "fail", "graphs must be true but the engine reports false"},
		"not observed":           {must(map[string]any{"tactic": "x"}), "pass", "inconclusive", "tactic was not observed: no line of the log says it"},
		"not looked for":         {must(map[string]any{"what": "x"}), "pass", "inconclusive", "this engine has no observation of that name"},
		"must not":               {mustNot(map[string]any{"kernel": "gemm"}), "pass", "pass", `observed kernel "marlin"`},
		"must not, but is":       {mustNot(map[string]any{"kernel": "marlin"}), "pass", "fail", "but the engine reports it"},
		"must not, not known":    {mustNot(map[string]any{"tactic": "x"}), "pass", "inconclusive", "tactic was not observed"},
		"the log speaks too":     {must(map[string]any{"kernel": "marlin"}), "fail", "fail", "reason of the log"},
		"both against":           {must(map[string]any{"tactic": "x"}), "fail", "fail", "reason of the log"},
		"nothing to be observed": {[]variant.Evidence{{Knob: "moe", Value: "b"}}, "pass", "pass", "reason of the log"},
	} {
		v, reasons := judgeObserved(c.wanted, seen, not, c.log, verdict.Because(code.Broken, verdict.Text("error", "reason of the log")))
		if v != c.want || !strings.Contains(tell.Joined(reasons), c.says) {
			t.Errorf("%s: %s, %q; want %s, %q", name, v, tell.Lines(reasons), c.want, c.says)
		}
	}
	if v, reasons, _ := judgeKernels(must(map[string]any{"kernel": "marlin"}), nil); v != verdict.Pass {
		t.Errorf("a knob with an observation as its evidence is not unproven: %s %q", v, tell.Lines(reasons))
	}
}

// A log whose middle is gone proves what it still shows, and nothing by silence.
func TestKernelsOverALogThatWasCut(t *testing.T) {
	wanted := []variant.Evidence{{Knob: "moe", Value: "b", MustSee: []string{"marlin"}, MustNotSee: []string{"cutlass"}}}
	for name, c := range map[string]struct {
		seen map[string]logscan.Match
		want verdict.Verdict
	}{
		"nothing":   {nil, verdict.Inconclusive},
		"must see":  {map[string]logscan.Match{"marlin": {Count: 1}}, verdict.Inconclusive},
		"must not":  {map[string]logscan.Match{"cutlass": {Count: 1}}, verdict.Fail},
		"both seen": {map[string]logscan.Match{"cutlass": {Count: 1}, "marlin": {Count: 1}}, verdict.Fail},
	} {
		v, reasons, _ := judgeKernels(wanted, c.seen)
		if v, _ = judgePartial(code.LogCut, wanted, c.seen, v, reasons); v != c.want {
			t.Errorf("%s: %s, want %s", name, v, c.want)
		}
	}
}
