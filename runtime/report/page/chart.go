package page

import (
	"math"
	"slices"

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
}

// Tick is a labelled place on the axis.
type Tick struct {
	At    float64
	Label string
}

// Anchor keeps a label inside the drawing.
func (t Tick) Anchor() string {
	edge := float64(2 * len(t.Label))
	switch {
	case t.At < edge:
		return "start"
	case t.At > 100-edge:
		return "end"
	}
	return "middle"
}

// Left and Wide are where a bar starts, and how long it is.
func (b Bar) Left() float64 { return min(b.From, b.To) }
func (b Bar) Wide() float64 { return max(0.4, math.Round(10*math.Abs(b.To-b.From))/10) }

// closest is the distance of labels, in percent.
const closest = 15

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
			near := func(o Tick) bool { return math.Abs(o.At-t.At) < closest }
			if x := m * math.Pow(10, e); x > low && x < high && !slices.ContainsFunc(c.Ticks, near) {
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
