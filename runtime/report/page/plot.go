package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// Plot is a metric of launches by round, or a quantity over the time of one launch. On paper and
// screen a place is a percentage of the width and a pixel of the height, so that text keeps its
// size.
type Plot struct {
	Name, Unit, X string
	Lines         []Line
	XTicks        []Tick
	YTicks        []Tick
	// Need is the level that a rule needs, and Room the width of the labels on its left.
	Need *Tick
	Room int
	// Lost has a line for each launch that does not count.
	Lost []string

	need *float64
	more bool
}

// Line is one arm, a parent (Base) or a candidate.
type Line struct {
	Arm  string
	Base bool
	At   []Point
}

// Point is a number and its place. Why is set if it does not count, Tip says what it is, and Of of
// what, if not of a launch by its round.
type Point struct {
	X, Y         float64
	Why, Of, Tip string
}

// Joined and Marked are whether lines go from point to point, and whether each has a mark.
func (p *Plot) Joined() bool { return p.X != "req/s" }
func (p *Plot) Marked() bool { return p.X != "seconds" }

// Path joins the points that count.
func (l Line) Path() string {
	var b strings.Builder
	for _, p := range l.At {
		if p.Why == "" {
			fmt.Fprintf(&b, "%g,%g ", p.X, p.Y)
		}
	}
	return b.String()
}

// top and bottom are the places of the largest and the smallest value, in pixels, left and right
// those of the first and the last, in percent.
const (
	top, bottom = 10, 140
	left, right = 3, 97
)

// figure places the numbers of a plot, and has those of it, or of few, in a table.
func (p *Plot) figure(title string, few *Plot) Figure {
	f := Figure{Title: title, Plot: p}
	name := p.Name
	if p.Unit != "" && p.Unit != "count" {
		name += ", " + p.Unit
	}
	f.Numbers.Head = []string{p.X, "arm", name}
	of := p
	if few != nil {
		of = few
	}
	for _, l := range of.Lines {
		for _, at := range l.At {
			text := verdict.Number(at.Y, "")
			if at.Why != "" {
				text += ", does not count: " + at.Why
			}
			f.Numbers.Rows = append(f.Numbers.Rows, []string{verdict.Number(at.X, ""), l.Arm, text})
		}
	}
	if p.need != nil {
		f.Numbers.Rows = append(f.Numbers.Rows,
			[]string{"", map[bool]string{true: "needed", false: "allowed"}[p.more], verdict.Number(*p.need, "")})
	}
	p.place()
	return f
}

// place turns numbers into places, and adds ticks.
func (p *Plot) place() {
	var xs, ys []float64
	for _, l := range p.Lines {
		for _, at := range l.At {
			xs, ys = append(xs, at.X), append(ys, at.Y)
		}
	}
	if p.need != nil {
		ys = append(ys, *p.need)
	}
	if len(xs) == 0 {
		return
	}
	y, ticks := scale(slices.Min(ys), slices.Max(ys), p.X == "round", bottom, top, 4)
	for _, t := range ticks {
		p.YTicks = append(p.YTicks, Tick{y(t), verdict.Short(t, "")})
		p.Room = max(p.Room, 12+7*len(p.YTicks[len(p.YTicks)-1].Label))
	}
	x := func(x float64) float64 {
		return left + (right-left)*(x-slices.Min(xs))/(slices.Max(xs)-slices.Min(xs))
	}
	if slices.Min(xs) == slices.Max(xs) {
		x = func(float64) float64 { return 50 }
	}
	_, ticks = scale(slices.Min(xs), slices.Max(xs), false, left, right, 4)
	if p.X == "round" {
		ticks = slices.Compact(slices.Sorted(slices.Values(xs)))
		every := (len(ticks) + 7) / 8
		kept := ticks[:0]
		for i := 0; i < len(ticks); i += every {
			kept = append(kept, ticks[i])
		}
		ticks = kept
	}
	for _, t := range ticks {
		if at := x(t); at >= 0 && at <= 100 {
			p.XTicks = append(p.XTicks, Tick{round(at), verdict.Short(t, "")})
		}
	}
	for i := range p.Lines {
		l := &p.Lines[i]
		for j := range l.At {
			at := &l.At[j]
			is, of := verdict.Number(at.X, ""), verdict.Number(at.Y, p.Unit)
			at.Tip = fmt.Sprintf("%s, %s %s: %s", l.Arm, p.X, is, of)
			if at.Of != "" {
				at.Tip += ", " + at.Of
			}
			if at.Why != "" {
				at.Tip += ", does not count: " + at.Why
			}
			at.X, at.Y = round(x(at.X)), round(y(at.Y))
		}
	}
	if p.need != nil {
		word := map[bool]string{true: "needed ≥ ", false: "allowed ≤ "}[p.more]
		p.Need = &Tick{round(y(*p.need)), word + verdict.Short(*p.need, p.Unit)}
	}
}

func round(x float64) float64 { return math.Round(10*x) / 10 }

// scale is the place of a number between from and to, and at most so many round numbers with about
// equal distances. It is logarithmic where it may be and the largest is more than eight times the
// smallest.
func scale(low, high float64, log bool, from, to float64, most int) (at func(float64) float64, ticks []float64) {
	if low == high {
		pad := cmp.Or(math.Abs(low)/20, 1)
		low, high = low-pad, high+pad
	}
	if log && low > 0 && high/low > 8 {
		for _, of := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
			ticks = nil
			for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
				for _, m := range of {
					if x := m * math.Pow(10, e); x >= low && x <= high {
						ticks = append(ticks, x)
					}
				}
			}
			if len(ticks) <= most+1 {
				break
			}
		}
		return func(x float64) float64 {
			return from + (to-from)*math.Log(x/low)/math.Log(high/low)
		}, ticks
	}
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/float64(most))))
	for _, m := range []float64{1, 2, 5, 10} {
		if (high-low)/(m*unit) > float64(most) {
			continue
		}
		for i := math.Ceil(low / (m * unit)); i*m*unit <= high; i++ {
			ticks = append(ticks, i*m*unit)
		}
		break
	}
	return func(x float64) float64 { return from + (to-from)*(x-low)/(high-low) }, ticks
}

// Data are the numbers of every launch of a benchmark, as a page gives them out.
type Data struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
}

// dataOf is a row for each, in the order in which they were made, and a column for each metric.
// Those that do not count say why.
func dataOf(launches []*ledger.Launch) (d Data) {
	if len(launches) == 0 {
		return d
	}
	d.Columns = []string{"started", "session", "launch", "variant", "round", "does not count"}
	columns := report.Columns(launches)
	for _, l := range launches {
		for address, of := range sorted.All(l.Metrics) {
			c := report.Column{Stat: "median"}
			c.Cell, c.Metric = measure.SplitAddress(address)
			if _, has := of.Stats[c.Stat]; !has {
				c.Stat = "mean"
			}
			if !slices.ContainsFunc(columns, func(o report.Column) bool { return o.Name() == c.Name() }) {
				columns = append(columns, c)
			}
		}
	}
	for _, c := range columns {
		d.Columns = append(d.Columns, c.Name())
	}
	for _, l := range launches {
		row := []any{l.Started.UTC().Format(time.RFC3339), l.Session, l.ID, l.Variant, l.Ordinal, uncounted(l)}
		for _, c := range columns {
			of, _ := c.Of(l)
			if x, has := of.Stats[c.Stat]; has && !math.IsNaN(x) && !math.IsInf(x, 0) {
				row = append(row, x)
			} else {
				row = append(row, nil)
			}
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}
