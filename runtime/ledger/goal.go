package ledger

import (
	"slices"
	"strings"
)

// Goal is what a plan required of a feature's launches, or of those behind a phase, when
// a run started. It proves that a rule existed before its launches, whatever the plan
// says today.
type Goal struct {
	// Demands must all hold.
	Demands []Demand `json:"demands,omitempty"`
	// FalsePass, FalseFail, First and Alternatives are how they were decided; First is
	// launches per arm at the first look.
	FalsePass    float64 `json:"false_pass,omitempty"`
	FalseFail    float64 `json:"false_fail,omitempty"`
	First        int     `json:"first,omitempty"`
	Alternatives int     `json:"alternatives,omitempty"`
	// Prefer is the metric by which one of the alternatives is chosen.
	Prefer string `json:"prefer,omitempty"`
}

// FirstMoved reports whether the first look was moved from one number of launches per arm
// to another. A look at two precedes the one at three and takes nothing of its levels, so
// these are equal.
func FirstMoved(was, is int) bool { return was != is && (min(was, is) != 2 || max(was, is) != 3) }

// Demand is a rule, or a part of one, in a form that can be compared with another.
type Demand struct {
	// Text is how it was written, with the plan's numbers if it reads any.
	Text string `json:"text"`
	// All and Any are the parts of which all, or one, must hold; neither for a
	// comparison.
	All []Demand `json:"all,omitempty"`
	Any []Demand `json:"any,omitempty"`
	// Reads are the features that it reads.
	Reads []string `json:"reads,omitempty"`
	// Number is what is compared with a limit, under a canonical name, however the
	// comparison was written; empty if only the text identifies it.
	Number string `json:"number,omitempty"`
	// More is set if more than Limit is wanted, Strict if equality is not enough for a
	// value without noise.
	More   bool    `json:"more,omitempty"`
	Strict bool    `json:"strict,omitempty"`
	Limit  float64 `json:"limit,omitempty"`
}

// Implies reports whether whatever fulfils d fulfils o too, at levels that are no easier.
// It is false if that cannot be determined.
func (d Demand) Implies(o Demand) bool {
	implies := func(part Demand) bool { return d.Implies(part) }
	switch {
	case len(o.All) > 0:
		return !slices.ContainsFunc(o.All, func(part Demand) bool { return !implies(part) })
	case len(d.All) > 0:
		return slices.ContainsFunc(d.All, func(part Demand) bool { return part.Implies(o) })
	case len(d.Any) > 0 || len(o.Any) > 0:
		// Parts of which one is enough share the false pass rate: with fewer of them,
		// each gets more.
		return len(d.Any) >= len(o.Any) && len(o.Any) > 0 && !slices.ContainsFunc(d.Any, func(part Demand) bool {
			return !slices.ContainsFunc(o.Any, part.Implies)
		})
	case d.Number == "" || o.Number == "":
		return d.Number == o.Number && d.Text == o.Text
	case d.Number != o.Number || d.More != o.More:
		return false
	case d.Limit == o.Limit:
		return d.Strict || !o.Strict
	}
	return d.Limit > o.Limit == d.More
}

// Find returns the demand, or part of one, that compares the same number on the same
// side.
func (d Demand) Find(o Demand) (found Demand, ok bool) {
	if d.Number != "" && d.Number == o.Number && d.More == o.More {
		return d, true
	}
	for _, part := range slices.Concat(d.All, d.Any) {
		if found, ok = part.Find(o); ok {
			return found, true
		}
	}
	return found, false
}

// Renamed is the demand after a feature was renamed.
func (d Demand) Renamed(from, to string) Demand {
	if !slices.Contains(d.Reads, from) {
		return d
	}
	d.Text, d.Reads = strings.ReplaceAll(d.Text, from, to), slices.Clone(d.Reads)
	for i, name := range d.Reads {
		if name == from {
			d.Reads[i] = to
		}
	}
	if rest, ok := strings.CutPrefix(d.Number, from+" "); ok {
		d.Number = to + " " + rest
	}
	d.All, d.Any = slices.Clone(d.All), slices.Clone(d.Any)
	for _, parts := range [][]Demand{d.All, d.Any} {
		for i := range parts {
			parts[i] = parts[i].Renamed(from, to)
		}
	}
	return d
}

// Flat are the demands with those split up of which all parts must hold.
func (g Goal) Flat() (flat []Demand) {
	for _, d := range g.Demands {
		flat = append(flat, Goal{Demands: d.All}.Flat()...)
		if len(d.All) == 0 {
			flat = append(flat, d)
		}
	}
	return flat
}
