package report

import (
	"cmp"
	"maps"
	"slices"
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
	Set    map[string]string `json:"set"`
	Chosen string            `json:"chosen,omitempty"`
	Gains  []Gain            `json:"gains"`
	// Reasons are the findings of the deciding criteria, those of the one that decided the
	// verdict first.
	Reasons []verdict.Reason `json:"-"`
	Verdict verdict.Verdict  `json:"verdict"`
	// Gate is the outcome of its phase's gate, with a waiver if there is one.
	Gate string    `json:"gate,omitempty"`
	Time time.Time `json:"time"`
	Run  string    `json:"run"`
	// Record is the position of the decision in the ledger, from 0.
	Record int `json:"record"`
}

// AcceptedStack is the stack by the standing decisions. The order is the plan's, as an
// apply applies the features, whichever of them was decided again last.
func AcceptedStack(st *store.Store) Stack {
	s := Stack{Features: []Accepted{}}
	if d, _, ok := st.Latest(ledger.Baseline); ok {
		s.Baseline = d.Variant
	}
	s.Knobs = maps.Clone(s.Baseline)
	for _, d := range DecisionsInForce(st) {
		if !inStack(d.Decision) {
			continue
		}
		a := Accepted{
			Feature: d.Feature, Phase: d.Phase, Gains: gainsOf(d.Decision), Verdict: d.Verdict, Time: d.Time,
			Run: d.Run, Record: d.Record,
		}
		deciding := Deciding(d.Decision)
		for i, r := range d.Rules {
			switch {
			case &d.Rules[i] == deciding:
				a.Reasons = slices.Concat(r.Reasons, a.Reasons)
			case r.Decides:
				a.Reasons = append(a.Reasons, r.Reasons...)
			}
		}
		if g, _, ok := st.Latest("phase." + d.Phase); ok && g.Kind == ledger.KindGate {
			o := OverruledOf(g, st.Waiver(g.Node), time.Now())
			a.Gate = strings.TrimSuffix(o.Word()+", "+o.Note(), ", ")
		}
		a.On, a.Set, a.Chosen = changes(st, d.Decision, s)
		if s.Knobs == nil {
			s.Knobs = map[string]string{}
		}
		maps.Copy(s.Knobs, a.Set)
		s.Features = append(s.Features, a)
	}
	return s
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

// Stack is the accepted stack, each step by what decided it: "lm_head on baseline: decode +9%
// (29 → 34 tok/s)".
func (p *Writer) Stack() {
	s := AcceptedStack(p.st)
	if len(s.Features) == 0 {
		return
	}
	p.Line("## Accepted stack\n\n%s\n", s.Sum())
	for i, f := range s.Features {
		by := verdict.Semicolons(f.Reasons)
		if d, _, ok := p.st.Latest("feature." + f.Feature); ok {
			if r := Deciding(d); r != nil {
				by = r.Brief()
			}
			if port := p.Ports().For(d); port != nil {
				if m, has := port.Lead(d); has && m.Decided > 0 && m.Significant() {
					by = m.Step()
				}
			}
		}
		p.Line("%d. %s, %s on %s: %s", i+1, f.Time.UTC().Format(time.DateOnly), f.Name(),
			cmp.Or(f.On, "an earlier stack"), by)
	}
	p.Line("\nKnobs: %s.\n", verdict.Pairs(s.Knobs, " = ", ", "))
}
