package steps

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/gates/tell"
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
