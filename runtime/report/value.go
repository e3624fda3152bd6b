package report

import (
	"cmp"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// Value is a column's in a row: New, with its change from Old, what the row is compared with.
type Value struct {
	Comparison
	// Root is the change from the baseline, if that is not Old: "≈" before it if no session
	// measured both.
	Root string `json:"root,omitempty"`
	// Word is set for what is no number. Marked is set if it does not count.
	Word   string `json:"word,omitempty"`
	Marked bool   `json:"marked,omitempty"`
	// alone is set if the column is a change, saved if it is how much less a gain is.
	alone, saved bool
	// planned is set if New is a number of the plan.
	planned bool
}

// doesNotCount marks a value.
const doesNotCount = "❌ "

// Has reports whether there is a value.
func (v Value) Has() bool { return v.Word != "" || v.New.N() > 0 }

// between is how launches differ from others, within rounds if these ran on several places.
func between(own, base []float64, rounds bool) stats.Comparison {
	c, err := stats.Compare(own, base, rounds && len(own) == len(base))
	if err != nil {
		return stats.Comparison{}
	}
	return c
}

// relate makes the value what a relation asks for.
func (v *Value) relate(to plans.Relation) {
	switch to {
	case plans.Base:
		v.New, v.Change = v.Old, nil
	case plans.Gain, plans.Change, plans.Delta:
		if v.alone = true; v.Change == nil {
			v.New = Sample{}
			return
		}
		if to == plans.Delta && !v.Absolute {
			d, err := stats.Differ(v.New.Values, v.Old.Values, false, false)
			if err != nil {
				v.Change = nil
				return
			}
			v.Absolute, v.Change, v.Low, v.High = true, &d.Estimate, nil, nil
			if d.Bounded {
				v.Low, v.High = &d.Low, &d.High
			}
		}
		if to == plans.Gain && v.Better == measure.Lower {
			v.saved, v.Better, v.Change, v.Low, v.High = true, measure.Higher, minus(v.Change),
				minus(v.High), minus(v.Low)
		}
	}
}

func minus(x *float64) *float64 {
	if x == nil {
		return nil
	}
	y := -*x
	return &y
}

// Text is what a table shows: the mean ± its standard deviation, and below it the change; with
// times, how many times better it is.
func (v Value) Text(times bool) string {
	text, change := cmp.Or(v.Word, v.Number()), v.bounded(times, v.saved)
	if v.alone {
		text, change = cmp.Or(change, v.Word, "–"), ""
	}
	text = v.marked(text)
	if change != "" {
		text += "\n" + change
	}
	return text
}

// marked is a text of the value with a mark if it does not count.
func (v Value) marked(text string) string {
	if v.Marked && v.Has() {
		return doesNotCount + text
	}
	return text
}

// Changed is the change with its bounds, "–" without one.
func (v Value) Changed() string { return cmp.Or(v.bounded(false, v.saved), "–") }

// Number is the mean ± the standard deviation, in the unit of the column's head.
func (v Value) Number() string {
	switch {
	case v.planned:
		number, _, _ := strings.Cut(strings.TrimSuffix(verdict.Planned(v.New.Mean, v.Unit), "%"), " ")
		return number
	case v.Unit != "share":
		return v.New.Bare()
	}
	s := v.New
	s.Mean, s.SD = 100*s.Mean, 100*s.SD
	return s.Bare()
}

// bounded is a change with its bounds; empty without one. With times it is how many times
// better, also of a gain that is how much was saved.
func (d Comparison) bounded(times, saved bool) string {
	if d.Change == nil || *d.Change == 0 && d.Low == nil {
		return "" // both sides always had the same
	}
	// of rounds: an estimate to the nearest, a bound away from what lies between.
	format := func(x float64, of func(float64, string) string) string {
		if text := of(x, "ratio"); *d.Change < 3 || strings.HasSuffix(text, "×") {
			return text
		}
		return of(1+x, "times") // as the estimate
	}
	switch {
	case d.Absolute:
		format = func(x float64, of func(float64, string) string) string {
			return map[bool]string{true: "+"}[x > 0] + of(x, d.Unit)
		}
	case times && d.Better != measure.Neither && d.Better != "":
		format = func(x float64, of func(float64, string) string) string {
			switch {
			case saved:
				return of(1/(1-x), "times")
			case d.Better == measure.Lower:
				return of(1/(1+x), "times")
			}
			return of(1+x, "times")
		}
	}
	text, least, most, fell := d.less(saved)
	if fell = fell && !times; !fell {
		text = format(*d.Change, verdict.Number)
	}
	if low, high := d.Low, d.High; low != nil && high != nil {
		if times && !d.Absolute && d.Better == measure.Lower {
			low, high = high, low
		}
		if !fell {
			least, most = format(*low, verdict.AtLeast), format(*high, verdict.AtMost)
		}
		open, end := " (", ")"
		if d.Decided > 0 {
			open, end = " [", "]"
		}
		text += open + least + " to " + most + end
	}
	if !fell && (!times || d.Absolute || d.Low != nil && !d.Significant()) {
		text = d.judged(text) // else more than 1 is better, and less time
	}
	return text + d.by(", ")
}

// less is a change of a time that fell, "76% less time", with its bounds.
func (d Comparison) less(saved bool) (text, least, most string, fell bool) {
	if d.Change == nil || d.Absolute {
		return "", "", "", false
	}
	if saved {
		return verdict.Less(-*d.Change, minus(d.High), minus(d.Low), d.Unit)
	}
	return verdict.Less(*d.Change, d.Low, d.High, d.Unit)
}
