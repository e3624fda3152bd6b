package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/tell"
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
	// Reasons are the findings of the deciding criteria.
	Reasons []verdict.Reason `json:"-"`
	Verdict verdict.Verdict  `json:"verdict"`
	// OnSeenData is set if it was accepted by rules relaxed after their launches were
	// seen.
	OnSeenData bool `json:"on_seen_data,omitempty"`
	// Gate is the outcome of its phase's gate, with a waiver if there is one.
	Gate string    `json:"gate,omitempty"`
	Time time.Time `json:"time"`
	Run  string    `json:"run"`
	// Record is the position of the decision in the ledger, from 0.
	Record int `json:"record"`
}

// Stacks reports whether the plan stacks features on a baseline: one that only compares
// engines has neither.
func Stacks(st *store.Store) bool {
	_, _, ok := st.Latest(ledger.Baseline)
	return ok || slices.ContainsFunc(Rows(st), func(r Row) bool { return r.Decided != nil && r.Decided.Kind == ledger.KindFeature })
}

// AcceptedStack is the stack by the standing decisions. The order is the plan's, as an
// apply applies the features, whichever of them was decided again last.
func AcceptedStack(st *store.Store) Stack {
	s := Stack{Features: []Accepted{}}
	if d, _, ok := st.Latest(ledger.Baseline); ok {
		s.Baseline = d.Variant
	}
	s.Knobs = maps.Clone(s.Baseline)
	for _, d := range Standing(st) {
		if d.Kind != ledger.KindFeature || !d.Accepted || !d.Verdict.Unlocks() {
			continue
		}
		a := Accepted{
			Feature: d.Feature, Phase: d.Phase, Gains: gainsOf(d.Decision), Verdict: d.Verdict, OnSeenData: len(d.OnSeenData) > 0, Time: d.Time, Run: d.Run, Record: d.Record,
		}
		for _, r := range d.Rules {
			if r.Decides {
				a.Reasons = append(a.Reasons, r.Reasons...)
			}
		}
		a.Gate = gateOf(st, d.Phase)
		a.On, a.Set, a.Chosen = changes(st, d.Decision, s)
		if s.Knobs == nil {
			s.Knobs = map[string]string{}
		}
		maps.Copy(s.Knobs, a.Set)
		s.Features = append(s.Features, a)
	}
	return s
}

// gateOf is the outcome of a phase's gate, with people's overrides.
func gateOf(st *store.Store, phase string) string {
	d, _, ok := st.Latest("phase." + phase)
	if !ok || d.Kind != ledger.KindGate {
		return ""
	}
	o := OverruledOf(d, st.Waiver(d.Node), time.Now())
	return strings.TrimSuffix(o.Word()+", "+o.Note(), ", ")
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

// gainsOf are the numbers of the deciding criteria.
func gainsOf(d *ledger.Decision) []Gain {
	gains := []Gain{}
	for _, r := range d.Rules {
		if !r.Decides {
			continue
		}
		for _, in := range r.Inputs {
			if in.Value == nil || in.N == 0 || counts(in.Path) {
				continue
			}
			g := Gain{
				Criterion: r.Name, What: in.Path, Value: *in.Value, Low: in.Low, High: in.High, Unit: in.Unit,
				Ratio: relative(in.Path), Launches: in.N, Against: in.BaseN,
			}
			if t := testOf(r, in); t != nil {
				g.tested(t)
			}
			gains = append(gains, g)
		}
	}
	return gains
}

// tested takes the number and its bounds from one look: launches after the deciding look
// were made for other comparisons.
func (g *Gain) tested(t *verdict.Test) {
	g.Low, g.High = t.Low, t.High
	g.Launches, g.Against = len(t.Values), len(t.Base)
	if len(t.Looks) == 0 || t.Estimate == nil {
		return
	}
	g.Value = *t.Estimate
	last := t.Looks[len(t.Looks)-1].N
	g.Launches, g.Against = min(g.Launches, last), min(g.Against, last)
}

// testOf is the test of the comparison that read an input: the one of the same launches,
// as a path can be written in several ways; of several the one in which it appears
// unmodified, as a gain and a change have opposite signs. A test relative to the other
// arm does not bound a difference, and one of a single arm does not bound a comparison.
func testOf(r ledger.Rule, in ledger.Input) *verdict.Test {
	stands := func(c ledger.Comparison) int {
		if strings.Contains(c.Text, in.Path) {
			return 0
		}
		return 1
	}
	comparisons := slices.Clone(r.Comparisons)
	slices.SortStableFunc(comparisons, func(a, b ledger.Comparison) int { return stands(a) - stands(b) })
	for _, c := range comparisons {
		t := c.Test
		if t == nil || parts(t) != relative(in.Path) || len(t.Base) == 0 && len(in.BasePerLaunch) > 0 {
			continue
		}
		if len(t.Values) == 0 || len(in.PerLaunch) < len(t.Values) || len(in.BasePerLaunch) < len(t.Base) {
			continue
		}
		if slices.Equal(t.Values, in.PerLaunch[:len(t.Values)]) && slices.Equal(t.Base, in.BasePerLaunch[:len(t.Base)]) {
			return t
		}
	}
	return nil
}

// counts reports whether a path counts launches or requests rather than what they
// measured.
func counts(path string) bool {
	return strings.HasSuffix(path, ".n") || strings.HasSuffix(path, ".n_requests")
}

// parts reports whether a test's numbers are relative to the other arm.
func parts(t *verdict.Test) bool {
	return t.Form == verdict.Ratio || t.Form == verdict.Range && t.Relative()
}

func relative(path string) bool {
	return strings.HasSuffix(path, ".gain") || strings.HasSuffix(path, ".change")
}

// stackVariant is the stack's name as an arm.
const stackVariant = "accepted"

// changes is what a feature sets: the knobs in which its candidate differs from the
// variant that it was measured on, by that one's launches; if no launch shows it, from
// the baseline. A feature that chooses sets what its winner does. s are those below it.
func changes(st *store.Store, d *ledger.Decision, s Stack) (on string, set map[string]string, chosen string) {
	under := s.Baseline
	if l := parentOf(st, d); l != nil {
		on = s.named(l)
		if l.Knobs != nil {
			under = l.Knobs
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
		if !within(f.Set, l.Knobs) {
			continue
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

// within reports whether a variant has all these knob values.
func within(set, knobs map[string]string) bool {
	for knob, value := range set {
		if has, ok := knobs[knob]; !ok || has != value {
			return false
		}
	}
	return len(set) > 0
}

// parentOf is a launch of the variant that a feature was measured on; nil if none is on
// record.
func parentOf(st *store.Store, d *ledger.Decision) *ledger.Launch {
	for _, e := range d.Evidence {
		if e.Feature != d.Feature || len(e.Parent.Launches) == 0 {
			continue
		}
		if l, ok := st.LaunchByID(e.Parent.Launches[0]); ok {
			return l
		}
	}
	return nil
}

// StackTable has a row per accepted feature, in order. when formats a time.
func StackTable(s Stack, when func(time.Time) string) Table {
	t := Table{Head: []string{"Feature", "On", "Sets", "Accepted by", "Verdict", "Gate", "Decided"}}
	for _, f := range s.Features {
		t.Rows = append(t.Rows, []string{f.Name(), cmp.Or(f.On, "–"), tell.Pairs(f.Set, " = ", ", "), strings.Join(tell.Lines(f.Reasons), "\n"), verdictWord(f.Verdict, f.OnSeenData), cmp.Or(f.Gate, "–"), when(f.Time)})
	}
	return t
}

// Name is the feature, or the alternative that it is.
func (f Accepted) Name() string {
	return cmp.Or(f.Chosen, f.Feature)
}

// Sum is the stack in one line: "baseline + kv_cache + moe".
func (s Stack) Sum() string {
	text := ledger.Baseline
	for _, f := range s.Features {
		if text += " + " + f.Feature; f.OnSeenData {
			text += " (on seen data)"
		}
	}
	return text
}

// stack writes the accepted stack, and how its parts combine.
func (p *page) stack() {
	if !Stacks(p.st) {
		return
	}
	p.para("## Accepted stack")
	s := AcceptedStack(p.st)
	if len(s.Features) == 0 {
		p.para("Nothing was accepted.")
		return
	}
	p.para("%s", s.Sum())
	p.table(StackTable(s, func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }))
	if len(s.Knobs) > 0 {
		p.para("Knobs: %s.", tell.Pairs(s.Knobs, " = ", ", "))
	}
}
