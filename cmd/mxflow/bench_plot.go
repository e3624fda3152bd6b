package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// panels are the plots, one below the other.
var panels = []struct{ title, metric, corrected string }{
	{"prefill, tokens a second of a request", "pp", "pp_corrected"},
	{"decode, tokens a second of a request", "tg", ""},
	{"decode, tokens a second in all", "tg_total", ""},
	{"time to first token, ms", "ttft", "ttft_corrected"},
}

const (
	panelWidth  = 18 * vg.Centimeter
	panelHeight = 6 * vg.Centimeter
)

// plots draws one panel for each speed: a point for each run, a line at the mean.
func (r *benchResult) plots() ([]*plot.Plot, error) {
	var all []*plot.Plot
	for _, panel := range panels {
		metric, title := panel.metric, panel.title
		if r.Correction != "none" && panel.corrected != "" {
			metric, title = panel.corrected, title+" (latency subtracted: "+r.Correction+")"
		}
		p, any, err := r.panel(title, metric)
		if err != nil {
			return nil, err
		}
		if any {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("nothing was measured that could be plotted")
	}
	return all, nil
}

func (r *benchResult) panel(title, metric string) (p *plot.Plot, any bool, err error) {
	p = plot.New()
	p.Title.Text, p.Y.Min = title, 0
	var names []string
	var points, means plotter.XYs
	for i, c := range r.Cells {
		names = append(names, c.short())
		m := c.Metrics[metric]
		if m == nil {
			continue
		}
		for _, v := range m.Values {
			points = append(points, plotter.XY{X: float64(i), Y: v})
		}
		means = append(means, plotter.XY{X: float64(i), Y: m.Mean})
	}
	if len(points) == 0 {
		return nil, false, nil
	}
	p.NominalX(names...)
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return nil, false, err
	}
	dots.GlyphStyle.Shape, dots.GlyphStyle.Radius = draw.RingGlyph{}, vg.Points(2.5)
	mean, err := plotter.NewScatter(means)
	if err != nil {
		return nil, false, err
	}
	mean.GlyphStyle.Shape, mean.GlyphStyle.Radius = draw.PlusGlyph{}, vg.Points(6)
	p.Add(plotter.NewGrid(), dots, mean)
	p.X.Min, p.X.Max = -0.5, float64(len(r.Cells))-0.5
	return p, true, nil
}

// short names a cell below an axis.
func (c benchCell) short() string {
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

// svg draws all panels as one picture.
func (r *benchResult) svg(w io.Writer) error {
	all, err := r.plots()
	if err != nil {
		return err
	}
	c := vgsvg.New(panelWidth, panelHeight*vg.Length(len(all)))
	stack(all, draw.New(c))
	_, err = c.WriteTo(w)
	return err
}

func (r *benchResult) png(w io.Writer) error {
	all, err := r.plots()
	if err != nil {
		return err
	}
	c := vgimg.New(panelWidth, panelHeight*vg.Length(len(all)))
	stack(all, draw.New(c))
	_, err = vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// stack draws plots below each other with their axes in line.
func stack(all []*plot.Plot, on draw.Canvas) {
	grid := make([][]*plot.Plot, len(all))
	for i, p := range all {
		grid[i] = []*plot.Plot{p}
	}
	tiles := draw.Tiles{Rows: len(all), Cols: 1, PadY: vg.Millimeter * 4, PadTop: vg.Millimeter * 2, PadBottom: vg.Millimeter * 2, PadLeft: vg.Millimeter * 2, PadRight: vg.Millimeter * 4}
	for i, row := range plot.Align(grid, tiles, on) {
		all[i].Draw(row[0])
	}
}

// picture is the plots in the format that the name of a file asks for.
func (r *benchResult) picture(path string) ([]byte, error) {
	var picture bytes.Buffer
	drawn := r.svg
	if filepath.Ext(path) == ".png" {
		drawn = r.png
	}
	err := drawn(&picture)
	return picture.Bytes(), err
}
