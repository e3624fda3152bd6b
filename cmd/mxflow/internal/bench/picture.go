package bench

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"path/filepath"
	"strconv"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// panels are the plots, one below the other.
var panels = []struct{ title, metric, corrected string }{
	{"prefill, tokens per second of a request", "pp", "pp_corrected"},
	{"decode, tokens per second of a request", "tg", ""},
	{"decode, tokens per second in total", "tg_total", ""},
	{"time to first token, ms", "ttft", "ttft_corrected"},
}

// The size of a panel and of the margins for its axes, in pixels.
const (
	leastWidth, panelHeight  = 680, 230
	marginLeft, marginRight  = 70, 20
	marginTop, marginBottom  = 30, 30
	ringRadius, plusArm      = 3, 6
	letterWidth, letterAbove = 7, 4 // of basicfont, and of a monospaced font of 12 px
)

// canvas is a drawing surface. Text is positioned at x by anchor: 0 starts there, 0.5 is
// centred, 1 ends there.
type canvas interface {
	line(x0, y0, x1, y1 int, shade uint8)
	ring(x, y int)
	text(x, y int, anchor float64, s string)
}

// plot draws one panel per speed: a ring per run, a plus at the mean. It returns the
// number of panels, and draws none without a canvas.
func (r *Result) plot(on canvas) (n int) {
	for _, p := range panels {
		metric, title := p.metric, p.title
		if r.Correction != "none" && p.corrected != "" {
			metric, title = p.corrected, title+" (latency subtracted: "+r.Correction+")"
		}
		top := 0.0
		for _, c := range r.Cells {
			if m := c.Metrics[metric]; m != nil {
				for _, v := range append([]float64{m.Mean}, m.Values...) {
					top = max(top, v)
				}
			}
		}
		if top == 0 {
			continue
		}
		if on != nil {
			r.panel(on, n*panelHeight, title, metric, top)
		}
		n++
	}
	return n
}

// width is that of the panels: wide enough for the cells' names side by side.
func (r *Result) width() int {
	longest := 0
	for _, c := range r.Cells {
		longest = max(longest, len(c.short())+2)
	}
	return max(leastWidth, marginLeft+marginRight+len(r.Cells)*longest*letterWidth)
}

func (r *Result) panel(on canvas, at int, title, metric string, top float64) {
	left, right, base := marginLeft, r.width()-marginRight, at+panelHeight-marginBottom
	step := tickStep(top / 4)
	ticks := math.Ceil(top / step)
	y := func(v float64) int {
		return base - int(math.Round(v/(ticks*step)*(panelHeight-marginTop-marginBottom)))
	}
	on.text((left+right)/2, at+marginTop-10, 0.5, title)
	for i := 0.0; i <= ticks; i++ {
		on.line(left, y(i*step), right, y(i*step), 210)
		on.text(left-8, y(i*step)+letterAbove, 1, strconv.FormatFloat(i*step, 'g', 6, 64))
	}
	on.line(left, base, right, base, 0)
	on.line(left, base, left, y(ticks*step), 0)
	for i, c := range r.Cells {
		x := left + (2*i+1)*(right-left)/(2*len(r.Cells))
		on.text(x, base+18, 0.5, c.short())
		m := c.Metrics[metric]
		if m == nil {
			continue
		}
		for _, v := range m.Values {
			on.ring(x, y(v))
		}
		on.line(x-plusArm, y(m.Mean), x+plusArm, y(m.Mean), 0)
		on.line(x, y(m.Mean)-plusArm, x, y(m.Mean)+plusArm, 0)
	}
}

// tickStep is the smallest of 1, 2, 5, 10 … not below a distance.
func tickStep(least float64) float64 {
	ten := math.Pow(10, math.Floor(math.Log10(least)))
	for _, f := range []float64{1, 2, 5} {
		if f*ten >= least {
			return f * ten
		}
	}
	return 10 * ten
}

// short names a cell below an axis.
func (c Cell) short() string {
	text := fmt.Sprintf("p%s o%s", tokensLabel(c.Prompt), tokensLabel(c.Output))
	if c.Depth > 0 {
		text += fmt.Sprintf(" d%d", c.Depth)
	}
	switch {
	case c.Rate > 0:
		text += fmt.Sprintf(" %g/s", c.Rate)
	case c.Concurrency > 1:
		text += fmt.Sprintf(" c%d", c.Concurrency)
	}
	return text
}

var errNoPlots = errors.New("nothing was measured that could be plotted")

// Picture is the plots in the format of a file's extension.
func (r *Result) Picture(path string) ([]byte, error) {
	n := r.plot(nil)
	if n == 0 {
		return nil, errNoPlots
	}
	var out bytes.Buffer
	if filepath.Ext(path) == ".png" {
		on := pixels{image.NewRGBA(image.Rect(0, 0, r.width(), n*panelHeight))}
		draw.Draw(on, on.Bounds(), image.White, image.Point{}, draw.Src)
		r.plot(on)
		err := png.Encode(&out, on)
		return out.Bytes(), err
	}
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0%[1]d %d\" font-family=\"monospace\" font-size=\"12\" role=\"img\" aria-label=\"speeds and latencies of each cell\">\n", r.width(), n*panelHeight, n*panelHeight)
	r.plot(vectors{&out})
	out.WriteString("</svg>\n")
	return out.Bytes(), nil
}

// vectors draws SVG.
type vectors struct{ *bytes.Buffer }

func (w vectors) line(x0, y0, x1, y1 int, shade uint8) {
	fmt.Fprintf(w, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"currentColor\" stroke-opacity=\"%.2f\"/>\n", x0, y0, x1, y1, 1-float64(shade)/255)
}

func (w vectors) ring(x, y int) {
	fmt.Fprintf(w, "<circle cx=\"%d\" cy=\"%d\" r=\"%d\" fill=\"none\" stroke=\"currentColor\"/>\n", x, y, ringRadius)
}

func (w vectors) text(x, y int, anchor float64, s string) {
	where := map[float64]string{0: "start", 0.5: "middle", 1: "end"}[anchor]
	fmt.Fprintf(w, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" fill=\"currentColor\">%s</text>\n", x, y, where, html.EscapeString(s))
}

// pixels draws an image; its lines are horizontal or vertical.
type pixels struct{ *image.RGBA }

func (p pixels) line(x0, y0, x1, y1 int, shade uint8) {
	area := image.Rect(x0, y0, x1, y1) // sorted, whichever end comes first
	area.Max = area.Max.Add(image.Pt(1, 1))
	draw.Draw(p, area, image.NewUniform(color.Gray{Y: shade}), image.Point{}, draw.Src)
}

func (p pixels) ring(x, y int) {
	for a := range 32 {
		sin, cos := math.Sincos(2 * math.Pi * float64(a) / 32)
		p.Set(x+int(math.Round(ringRadius*cos)), y+int(math.Round(ringRadius*sin)), color.Black)
	}
}

func (p pixels) text(x, y int, anchor float64, s string) {
	d := font.Drawer{Dst: p, Src: image.Black, Face: basicfont.Face7x13}
	d.Dot = fixed.P(x-int(anchor*letterWidth*float64(len(s))), y)
	d.DrawString(s)
}
