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
	switch {
	case is == "" && wanted == "":
		return r.Name + Behind(": ", bounds)
	case wanted == "":
		return r.Name + " " + is
	case bounds != "":
		wanted += ", " + bounds
	}
	return fmt.Sprintf("%s %s (%s)", r.Name, is, wanted)
}

// Parts are what a rule measured, what it wanted and the bound that decided: "+34%", "≥ +10%" and
// "at least +31%". Without such a number there is only the last, its first reason.
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
	for digits := range 8 {
		is, wanted = short(*t.Estimate, unit, digits, math.Round), bare(Digits(t.Threshold, unit, digits))
		if unit == "ratio" && t.Threshold > 3 {
			wanted = short(t.Threshold, unit, digits, math.Round)
		}
		bounds = "undecided"
		if t.Bounded() && edge == nil {
			bounds = "between " + short(*t.Low, unit, digits, math.Floor) + " and " +
				short(*t.High, unit, digits, math.Ceil)
		}
		clear := *t.Estimate == t.Threshold || short(t.Threshold, unit, digits, math.Round) != is
		if edge != nil {
			toward := math.Floor
			if side == "at most" {
				toward = math.Ceil
			}
			bound := short(*edge, unit, digits, toward)
			bounds = side + " " + bound
		}
		if wanted = op + " " + wanted; clear {
			break
		}
	}
	return is, wanted, bounds
}

// exact are the parts of a rule that no estimate decided.
func (r Rule) exact() (is, wanted, why string) {
	decides := code.NotAsWanted
	if r.Verdict == Pass {
		decides = code.AsWanted
	}
	for _, why := range r.Reasons {
		is, want := formatDistinctValues(why.Values["is"], why.Values["wanted"])
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
func Faster(x float64) string { return short(x, "ratio", 0, math.Round) }

// AtLeast and AtMost are Faster of a bound, rounded away from what it claims.
func AtLeast(x float64) string { return short(x, "ratio", 0, math.Floor) }
func AtMost(x float64) string  { return short(x, "ratio", 0, math.Ceil) }

// FasterWithin is a relative change with its bounds, rounded away from what each claims, with the
// digits that tell the three apart, if four more do.
func FasterWithin(x, low, high float64) (is, least, most string) {
	for more := range 5 {
		is = short(x, "ratio", more, math.Round)
		least, most = short(low, "ratio", more, math.Floor), short(high, "ratio", more, math.Ceil)
		if is != least && is != most {
			break
		}
	}
	return is, least, most
}

// Short is a number in its unit with three digits.
func Short(x float64, unit string) string { return short(x, unit, 0, math.Round) }

// short prints a number with three digits and some more, rounded by toward: a bound is
// rounded away from the claim.
func short(x float64, unit string, more int, toward func(float64) float64) string {
	round := func(x float64, decimals int) float64 {
		scale := math.Pow10(decimals)
		y := toward(x*scale) / scale
		if near := math.Round(x*scale) / scale; math.Abs(near-x) <= 1e-9*math.Abs(x) {
			y = near // 0.1 times 100 is not quite 10
		}
		return y
	}
	switch a := math.Abs(x); {
	case unit == "ratio" && x > 3:
		decimals := more
		if x < 9 {
			decimals++
		}
		return thousands(fmt.Sprintf("%.*f", decimals, round(1+x, decimals))) + "×"
	case unit == "ratio":
		decimals := more
		if a < 0.0995 {
			decimals++
		}
		if 100*a >= 0.005 && round(100*x, decimals) == 0 {
			decimals++
		}
		if percent := round(100*x, decimals); percent != 0 {
			return fmt.Sprintf("%+.*f%%", decimals, percent)
		}
		return "0%"
	case unit == "GB" && a < 0.0995:
		return short(1000*x, "MB", more, toward)
	case x == 0 || unit == "duration" || unit == "p":
		return Number(x, unit)
	default:
		decimals := max(0, 2+more-int(math.Floor(math.Log10(a))))
		if unit == "MB" {
			decimals = min(decimals, 1+more)
		}
		return thousands(Number(round(x, decimals), unit))
	}
}

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
