package cases

import (
	"cmp"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
)

type Outcome struct {
	Case    *Case           `json:"-"`
	Verdict verdict.Verdict `json:"verdict"`
	Rules   []verdict.Rule  `json:"rules"`
	// Unexpected are the deviations from what the case expects; empty if there are none.
	Unexpected []Unexpected `json:"unexpected,omitempty"`
}

// Unexpected is a verdict that a case did not expect: of a rule, or without one of the
// whole.
type Unexpected struct {
	Rule string          `json:"rule,omitempty"`
	Want verdict.Verdict `json:"want"`
	Got  verdict.Verdict `json:"got"`
}

func (o *Outcome) OK() bool { return len(o.Unexpected) == 0 }

// Decide decides a case by the values that it sets.
func Decide(p *plans.Plan, c *Case) *Outcome {
	out := &Outcome{Case: c}
	ev, levels := evidence(p, c)
	if f := p.Feature(c.Feature); f != nil {
		out.Rules = decide.Criteria(p, f, ev)
		out.Verdict = decide.JoinVerdicts(string(runtime.KindFeature), levels[f.Name], out.Rules)
	} else {
		ph := p.Phase(c.Phase)
		out.Rules = gates.Decide(ph.Gate.Rules, ev, decide.SettingsOfGate(p, ph))
		out.Verdict = decide.JoinVerdicts(string(runtime.KindGate), nil, out.Rules)
	}
	if c.Expect != "" && c.Expect != out.Verdict {
		out.Unexpected = append(out.Unexpected, Unexpected{Want: c.Expect, Got: out.Verdict})
	}
	for _, r := range out.Rules {
		if want := c.ExpectRules[r.Name]; want != "" && want != r.Verdict {
			out.Unexpected = append(out.Unexpected, Unexpected{Rule: r.Name, Want: want, Got: r.Verdict})
		}
	}
	return out
}

// evidence is what rules read of a case, and the levels that it sets by feature.
func evidence(p *plans.Plan, c *Case) (*gates.Evidence, map[string][]ledger.Level) {
	ev, levels := &gates.Evidence{Features: map[string]*gates.Feature{}, Set: c.Set}, map[string][]ledger.Level{}
	for _, r := range c.rules(p) {
		for _, in := range r.Inputs() {
			value, set := c.Set[in]
			if !set {
				continue
			}
			f := ev.Features[in.Feature]
			if f == nil {
				f = &gates.Feature{Levels: map[string]verdict.Verdict{}, Knobs: map[string]string{}}
				ev.Features[in.Feature] = f
			}
			word, _ := value.(string)
			switch in.Kind {
			case plans.InputKnob:
				f.Knobs[in.Name] = word
			case plans.InputLevel:
				if _, known := f.Levels[in.Name]; !known {
					levels[in.Feature] = append(levels[in.Feature], ledger.Level{Name: in.Name, Verdict: verdict.Verdict(word)})
				}
				f.Levels[in.Name] = verdict.Verdict(word)
			case plans.InputFeature:
				f.Accepted = f.Accepted || in.Name == "accepted" && value == true
				f.Outcome = cmp.Or(verdict.Verdict(word), f.Outcome, verdict.Pass) // a verdict that is not set is not read
			}
		}
	}
	for name, list := range levels {
		var all []verdict.Verdict
		for _, l := range list {
			all = append(all, l.Verdict)
		}
		if v := verdict.Join(all...); v != verdict.Pass {
			ev.Features[name].Broken, ev.Features[name].Cause = decide.Broken(&ledger.Decision{Node: name, Verdict: v, Levels: list})
		}
	}
	return ev, levels
}
