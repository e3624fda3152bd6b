package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Brief is a rule by the number that decided it, for one line of a terminal or of a page:
// "decode +34% (≥ +10%, at least +31%)", or without bounds "same 100% (≥ 90%)". A rule without
// such a number is its name and its first reason.
func (r Rule) Brief() string {
	is, wanted, bounds := r.Parts()
	// A unit that is the rule's name stands there once: "launches 2 (≥ 2)".
	is, wanted = strings.TrimSuffix(is, " "+r.Name), strings.TrimSuffix(wanted, " "+r.Name)
	name := r.Name + " "
	if strings.Contains(r.Name, " ") { // a sentence, which the number would turn round: "did not regress -96%"
		name = r.Name + ": "
	}
	switch {
	case is == "" && wanted == "":
		return r.Name + Behind(": ", bounds)
	case wanted == "":
		return name + is
	case bounds != "":
		wanted += ", " + bounds
	}
	return fmt.Sprintf("%s%s (%s)", name, is, wanted)
}

// Parts are what a rule measured, what it wanted and the bound that decided: "+34%", "≥ +10%" and
// "at least +31%", with "by the first 4 of 6 launches" if it was decided before the others were made.
// Without such a number there is only the last, its first reason.
func (r Rule) Parts() (is, wanted, bounds string) {
	c := r.Deciding()
	if c == nil {
		return r.exact()
	}
	t := c.Test
	op, edge, side := "≥", t.Bound(), "at least"
	if !t.More {
		op, side = "≤", "at most"
	}
	switch {
	case c.Verdict == Fail && t.More:
		edge, side = t.High, "at most"
	case c.Verdict == Fail:
		edge, side = t.Low, "at least"
	case c.Verdict != Pass:
		edge, side = nil, ""
	}
	unit := t.OwnUnit()
	saved := t.Saved && timed(t.Unit) && t.More && min(*t.Estimate, t.Threshold) >= 0 &&
		(edge == nil || *edge >= 0) && (edge != nil || !t.Bounded() || *t.Low >= 0)
	for digits := range 8 {
		format := func(x float64, toward func(float64) float64) string {
			text := rounded(x, unit, digits, toward)
			if saved { // the sign would be that of a time that rises
				text = strings.TrimPrefix(text, "+")
			}
			return text
		}
		is, wanted, bounds = format(*t.Estimate, math.Round), Planned(t.Threshold, unit), "undecided"
		if saved {
			is, wanted = is+" less time", strings.TrimPrefix(wanted, "+")
		}
		if t.Bounded() && edge == nil {
			bounds = "between " + format(*t.Low, math.Floor) + " and " + format(*t.High, math.Ceil)
		}
		clear := *t.Estimate == t.Threshold ||
			rounded(t.Threshold, unit, digits, math.Round) != rounded(*t.Estimate, unit, digits, math.Round)
		if edge != nil {
			toward := math.Floor
			if side == "at most" {
				toward = math.Ceil
			}
			bounds = side + " " + format(*edge, toward)
		}
		if wanted = op + " " + wanted; clear {
			break
		}
	}
	return is, wanted, bounds + Behind(", ", t.by())
}

// exact are the parts of a rule that no estimate decided.
func (r Rule) exact() (is, wanted, why string) {
	decides := code.NotAsWanted
	if r.Verdict == Pass {
		decides = code.AsWanted
	}
	for _, why := range r.Reasons {
		is, want := isWanted(why.Values["is"], why.Values["wanted"])
		op, number := why.Values["op"].Text, why.Values["is"].Number != nil
		switch {
		case why.Kind != decides.Kind:
			continue
		case is == want && op == "==" && r.Verdict == Pass && !number:
			return "", "", ""
		case is == want && op == "==" && r.Verdict == Pass:
			return is, "as required", ""
		}
		required := wish(op, want, "", !why.Values["negated"].IsZero())
		if op == "==" && number {
			required = "required " + required
		}
		is += why.fill("{launch? in launch {launch} of {launches}}")
		return is, required, ""
	}
	if len(r.Reasons) == 0 {
		return "", "", ""
	}
	return "", "", Root(r.Reasons[0])
}

// Root is what a reason follows from in the end, on one line and without the examples that
// it names: "answers of wip to chat are worse than those of baseline (72 of 72)". Of a level
// that found several things it is the first.
func Root(r Reason) string {
	for len(r.Causes) == 1 || len(r.Causes) > 1 && r.Kind == code.Level.Kind {
		r = r.Causes[0]
	}
	return Brief(r.From())
}

// Deciding is the comparison with an estimate that has the rule's own verdict; nil without one.
func (r Rule) Deciding() *Comparison {
	for i, c := range r.Comparisons {
		if c.Verdict == r.Verdict && c.Test != nil && c.Test.Estimate != nil && !math.IsNaN(*c.Test.Estimate) {
			return &r.Comparisons[i]
		}
	}
	return nil
}

// Faster is a relative change for a line that people read: "+34%", "-2.5%", and above
// +300% how many times as much it is, "12×".
func Faster(x float64) string { return rounded(x, "ratio", 0, math.Round) }

// timed reports whether a unit is one of time.
func timed(unit string) bool { return unit == "ms" || unit == "s" || unit == "duration" }

// Less is how much less time something takes that changed by a share, "76% less time", and its
// bounds if both are below zero, "58%" and "86%"; false if it is no time, or did not fall.
func Less(change float64, low, high *float64, unit string) (text, least, most string, fell bool) {
	if !timed(unit) || change >= 0 || low != nil && *low >= 0 || high != nil && *high >= 0 {
		return "", "", "", false
	}
	share := func(x float64, toward func(float64) float64) string {
		return strings.TrimPrefix(rounded(-x, "ratio", 0, toward), "+")
	}
	if text = share(change, math.Round) + " less time"; low != nil && high != nil {
		least, most = share(*high, math.Floor), share(*low, math.Ceil)
	}
	return text, least, most, true
}

// FasterWithin is a relative change with its bounds, rounded away from what each claims, with the
// digits that tell the three apart, if four more do.
func FasterWithin(x, low, high float64) (is, least, most string) {
	for more := range 5 {
		is = rounded(x, "ratio", more, math.Round)
		least, most = rounded(low, "ratio", more, math.Floor), rounded(high, "ratio", more, math.Ceil)
		if is != least && is != most {
			break
		}
	}
	return is, least, most
}

// Short is Number for a cell of a table, where a count has separators too.
func Short(x float64, unit string) string { return thousands(Number(x, unit)) }

// thousands groups the digits of a number from 1000 on: "1,342 tok/s".
func thousands(text string) string {
	number, unit, _ := strings.Cut(text, " ")
	whole, rest, _ := strings.Cut(number, ".")
	if strings.Trim(whole, "-0123456789") != "" {
		return text
	}
	for at := len(whole) - 3; at > 0 && whole[at-1] != '-'; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	return whole + Behind(".", rest) + Behind(" ", unit)
}
