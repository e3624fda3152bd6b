package page

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Chart is a list of rows with one log axis: a place on it is a percentage of its width, so
// that it fits any screen, and is text without one.
type Chart struct {
	What  string // the axis in words
	Rows  []Bar
	Ticks []Tick
	// Lines are drawn through all rows: targets, or no change.
	Lines []Tick
}

// Bar is one row: a bar from From to To, or a dot at To, with bounds, and a threshold. What is
// 0 is not drawn.
type Bar struct {
	Item
	Base, Dot                      bool
	From, To, Low, High, Threshold float64
	// Was is set for a pair of bars, the parent's above To.
	Was float64
}

// Tick is a labelled place on the axis.
type Tick struct {
	At    float64
	Label string
}

// letter is the width of a character of a label in the narrowest drawing, in percent.
const letter = 2.9

// Anchor keeps a label inside the drawing.
func (t Tick) Anchor() string {
	half := letter / 2 * float64(utf8.RuneCountInString(t.Label))
	switch {
	case t.At < half:
		return "start"
	case t.At > 100-half:
		return "end"
	}
	return "middle"
}

// meets reports whether two labels have no space between them in the narrowest drawing.
func (t Tick) meets(o Tick) bool {
	edges := func(t Tick) (from, to float64) {
		wide := letter * float64(utf8.RuneCountInString(t.Label))
		switch t.Anchor() {
		case "start":
			return t.At, t.At + wide
		case "end":
			return t.At - wide, t.At
		}
		return t.At - wide/2, t.At + wide/2
	}
	from, to := edges(t)
	start, end := edges(o)
	return from < end+letter && start < to+letter
}

// Left and Wide are where a bar starts, and how long it is.
func (b Bar) Left() float64 { return min(b.From, b.To) }
func (b Bar) Wide() float64 { return max(0.4, math.Round(10*math.Abs(b.To-b.From))/10) }

// effects are rows of changes, as factors.
func (c *Chart) effects() {
	c.What, c.Lines = "change of the metric that decided, log axis: right is better", []Tick{{At: 1}}
	c.place(func(x float64) string { return strings.Replace(verdict.Faster(x-1), "+0.0%", "0%", 1) })
}

// place turns the numbers of a chart, all above zero, into places on its axis, and gives it
// round ticks.
func (c *Chart) place(label func(float64) string) {
	low, high := math.Inf(1), 0.0
	each := func(with func(x *float64)) {
		for i := range c.Rows {
			for _, x := range []*float64{
				&c.Rows[i].From, &c.Rows[i].To, &c.Rows[i].Low, &c.Rows[i].High,
				&c.Rows[i].Threshold,
			} {
				if *x > 0 {
					with(x)
				}
			}
		}
		for i := range c.Lines {
			with(&c.Lines[i].At)
		}
	}
	if !slices.ContainsFunc(c.Rows, func(b Bar) bool { return b.To > 0 }) {
		c.Lines = nil
		return
	}
	each(func(x *float64) { low, high = min(low, *x), max(high, *x) })
	margin := math.Pow(high/low, 0.04) * 1.02
	low, high = max(low, high/1e5)/margin, high*margin
	at := func(x float64) float64 {
		return math.Round(1000*min(1, max(0.001, math.Log(x/low)/math.Log(high/low)))) / 10
	}
	round := []float64{1, 2, 5}
	if high/low < 6 {
		round = []float64{1, 2, 5, 1.5, 3, 1.2, 1.1, 1.3, 1.75, 2.5, 4, 6, 7, 8, 9}
	}
	for _, m := range round {
		for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
			t := Tick{at(m * math.Pow(10, e)), label(m * math.Pow(10, e))}
			if x := m * math.Pow(10, e); x > low && x < high && !slices.ContainsFunc(c.Ticks, t.meets) {
				c.Ticks = append(c.Ticks, t)
			}
		}
	}
	each(func(x *float64) { *x = at(*x) })
}

// factor is how many times better a relative number of a test is; 0 for any other.
func factor(t *verdict.Test, x *float64) float64 {
	switch {
	case x == nil || !t.Relative():
		return 0
	case t.Relation == "gain" && t.Saved:
		return 1 / max(1-*x, 1e-3)
	case t.Relation == "change" && !t.More:
		return 1 / max(1+*x, 1e-3)
	}
	return max(1+*x, 1e-3)
}
