package report

import (
	"cmp"
	"slices"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// JSON is what status and report print for programs, with the tables of results that a plan describes.
func (s *Summary) JSON() map[string]any {
	type comparison struct {
		Node   string `json:"node"`
		Tables []Grid `json:"tables"`
	}
	comparisons, decisions, gone := []comparison{}, []ledger.Decided{}, []ledger.Decided{}
	overruled, claims, locked, undecided := []Overruled{}, []Claim{}, []Row{}, []Row{}
	for _, r := range s.Rows {
		switch d := r.Decided; {
		case r.Gone:
			gone = append(gone, *d)
		case !r.Locked.IsZero():
			locked = append(locked, r)
		case d == nil:
			undecided = append(undecided, r)
		default:
			if decisions = append(decisions, *d); len(d.Rows) > 0 {
				comparisons = append(comparisons, comparison{d.Node, s.Compared(d.Decision)})
			}
			if r.Overruled.State != "" {
				overruled = append(overruled, r.Overruled)
			}
			if h := d.Hypothesis; h != nil && d.Kind == ledger.KindFeature {
				c := Claim{Feature: d.Feature, Hypothesis: *h, Verdict: d.Verdict}
				c.Outcome, c.Test = cmp.Or(h.Outcome, "open"), nil
				claims = append(claims, c)
			}
		}
	}
	type port struct {
		Variant string  `json:"variant"`
		Parent  string  `json:"parent,omitempty"`
		Session string  `json:"session"`
		Values  []Value `json:"values"`
	}
	ports := []port{}
	all := slices.Clone(s.uncounted)
	for _, name := range s.Measured() {
		all = append(all, s.ports[name])
	}
	for _, of := range all {
		p := port{Variant: of.Variant, Session: of.Session}
		if of.Parent != nil {
			p.Parent = of.Parent.Variant
		}
		_, p.Values = s.own(of, true)
		ports = append(ports, p)
	}
	return map[string]any{
		"reproduction": s.Reproduction,

		"results": s.Results(), "comparisons": comparisons, "ports": ports,

		"runs": s.Store.Runs(), "decisions": decisions, "locked": locked, "overruled": overruled,
		"waivers": s.Store.Waivers(), "stack": s.Stack, "stack_against_baseline": s.Ends, "targets": s.Targets,
		"hypotheses": claims, "undecided": undecided, "not_in_plan": gone, "nights": append([]Night{}, s.Nights...),
	}
}
