package report

import (
	"cmp"
	"maps"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Stack is what was accepted so far.
type Stack struct {
	// Features are in the order in which they are applied.
	Features []Accepted `json:"features"`
	// Baseline is the value of every knob without them, Knobs with them.
	Baseline map[string]string `json:"baseline,omitempty"`
	Knobs    map[string]string `json:"knobs,omitempty"`
}

// Accepted is one feature of the stack.
type Accepted struct {
	Feature string `json:"feature"`
	Phase   string `json:"phase,omitempty"`
	// On is what it was measured on: "baseline", a feature, or those accepted then,
	// "cache + spec[short]"; "accepted" if these are no longer known.
	On string `json:"on,omitempty"`
	// Set is what it changes, by knob, and Chosen the alternative, for a feature that
	// chooses.
	Set     map[string]string `json:"set"`
	Chosen  string            `json:"chosen,omitempty"`
	Gains   []Gain            `json:"gains"`
	Verdict verdict.Verdict   `json:"verdict"`
	// Gate is the outcome of its phase's gate, with a waiver if there is one.
	Gate string    `json:"gate,omitempty"`
	Time time.Time `json:"time"`
	Run  string    `json:"run"`
	// Record is the position of the decision in the ledger, from 0.
	Record   int `json:"record"`
	decision *ledger.Decision
	// lead is the metric by which it was accepted.
	lead Value
}

// stack is the one by the standing decisions. The order is the plan's, as an
// apply applies the features, whichever of them was decided again last.
func (s *Summary) stack() Stack {
	all := Stack{Features: []Accepted{}}
	if d, _, ok := s.Store.Latest(ledger.Baseline); ok {
		all.Baseline = d.Variant
	}
	all.Knobs = maps.Clone(all.Baseline)
	for _, d := range s.InForce() {
		if !inStack(d.Decision) {
			continue
		}
		a := Accepted{
			Feature: d.Feature, Phase: d.Phase, Gains: gainsOf(d.Decision), Verdict: d.Verdict, Time: d.Time,
			Run: d.Run, Record: d.Record, decision: d.Decision, lead: s.Lead(d.Decision),
		}
		if g := s.Rows.At("phase." + d.Phase); g.InForce() && g.Decided.Kind == ledger.KindGate {
			a.Gate = strings.TrimSuffix(g.Word()+", "+g.Overruled.Note(), ", ")
		}
		a.On, a.Set, a.Chosen = changes(s.Store, d.Decision, all)
		if all.Knobs == nil {
			all.Knobs = map[string]string{}
		}
		maps.Copy(all.Knobs, a.Set)
		all.Features = append(all.Features, a)
	}
	return all
}

// inStack reports whether a decision put a feature into the stack.
func inStack(d *ledger.Decision) bool {
	return d.Kind == ledger.KindFeature && d.Accepted && d.Verdict.Unlocks()
}

// Gain is one number by which a feature was accepted.
type Gain struct {
	// Criterion is the rule, What the address that it read: "chat.tg.gain".
	Criterion string `json:"criterion"`
	What      string `json:"what"`
	// Value is the number, and Low and High the bounds of the decision's test: if more is
	// wanted, Low is the largest threshold that would have passed, if less is, High.
	// Ratio is set if all three are relative.
	Value float64  `json:"value"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	Unit  string   `json:"unit,omitempty"`
	Ratio bool     `json:"ratio,omitempty"`
	// Launches are of the candidate and of what it was compared with, as far as Value
	// covers them: up to the look that decided.
	Launches int `json:"launches,omitempty"`
	Against  int `json:"against,omitempty"`
}

// gainsOf are the numbers of the deciding criteria, as their tests have them.
func gainsOf(d *ledger.Decision) []Gain {
	gains := []Gain{}
	for _, r := range d.Rules {
		for _, in := range r.Inputs {
			if !r.Decides || in.Value == nil || in.N == 0 || strings.HasSuffix(in.Path, ".n") ||
				strings.HasSuffix(in.Path, ".n_requests") {
				continue
			}
			e := r.Estimate(in)
			g := Gain{
				Criterion: r.Name, What: in.Path, Value: *e.Value, Unit: in.Unit,
				Ratio: verdict.RelativePath(in.Path), Launches: e.N, Against: e.BaseN,
			}
			if e.Decided {
				g.Low, g.High = e.Low, e.High
			}
			gains = append(gains, g)
		}
	}
	return gains
}

// stackVariant is the stack's name as an arm.
const stackVariant = "accepted"

// changes is what a feature sets: the knobs in which its candidate differs from the
// variant that it was measured on, by that one's launches; if no launch shows it, from
// the baseline. A feature that chooses sets what its winner does. s are those below it.
func changes(st *store.Store, d *ledger.Decision, s Stack) (on string, set map[string]string, chosen string) {
	under := s.Baseline
	for _, id := range EvidenceOf(d).Parent.IDs() {
		if l, ok := st.LaunchByID(id); ok {
			if on = s.named(l); l.Knobs != nil {
				under = l.Knobs
			}
			break
		}
	}
	for _, a := range d.Alternatives {
		if a.Chosen {
			return on, maps.Clone(a.Set), a.Name
		}
	}
	set = map[string]string{}
	for knob, value := range d.Variant {
		if under[knob] != value {
			set[knob] = value
		}
	}
	return on, set, ""
}

// named identifies the variant of a launch that others were measured against. What was
// accepted then is identified by its knobs, as decisions may have been made again.
func (s Stack) named(l *ledger.Launch) string {
	if l.Variant != stackVariant || l.Knobs == nil {
		return l.Variant
	}
	knobs, names := maps.Clone(s.Baseline), []string(nil)
	for _, f := range s.Features {
		both := maps.Clone(l.Knobs)
		if maps.Copy(both, f.Set); len(f.Set) == 0 || !maps.Equal(both, l.Knobs) {
			continue // the variant does not have all its knob values
		}
		if knobs == nil {
			knobs = map[string]string{}
		}
		maps.Copy(knobs, f.Set)
		names = append(names, f.Name())
	}
	switch {
	case !maps.Equal(knobs, l.Knobs):
		return l.Variant
	case len(names) == 0:
		return ledger.Baseline
	}
	return strings.Join(names, " + ")
}

// Name is the feature, or the alternative that it is.
func (f Accepted) Name() string {
	return cmp.Or(f.Chosen, f.Feature)
}

// Sum is the stack in one line: "baseline + kv_cache + moe".
func (s Stack) Sum() string {
	text := ledger.Baseline
	for _, f := range s.Features {
		text += " + " + f.Feature
	}
	return text
}

// WriteStack is the accepted stack, each step by what decided it: "lm_head on baseline: decode +9%
// (29 → 34 tok/s)".
func (p *Writer) WriteStack() {
	if len(p.Stack.Features) == 0 {
		return
	}
	p.Line("## Accepted stack\n\n%s\n", p.Stack.Sum())
	for i, f := range p.Stack.Features {
		by := ""
		if r := Deciding(f.decision); r != nil {
			by = r.Brief()
		}
		if f.lead.Decided > 0 && f.lead.Significant() {
			by = f.lead.Step()
		}
		p.Line("%d. %s, %s on %s: %s", i+1, f.Time.UTC().Format(time.DateOnly), f.Name(),
			cmp.Or(f.On, "an earlier stack"), by)
	}
	p.Line("\nKnobs: %s.\n", verdict.Pairs(p.Stack.Knobs, " = ", ", "))
}
