// Package bench measures a server that runs already: what is asked of it, what was found,
// how that is written (tables, Markdown, CSV, plots, a page), and an earlier result beside
// it. It decides nothing: it sees one start of a server.
package bench

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/gonum/stat"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/report/page"
	"github.com/mxflow/mxflow/steps/record"
)

// Result is what mxflow bench found, as --format json prints it.
type Result struct {
	Tool    string    `json:"tool"`
	Started time.Time `json:"started"`
	URL     string    `json:"url"`
	Engine  string    `json:"engine"`
	Model   string    `json:"model"`
	Seed    int       `json:"seed"`
	// Correction is the latency mode; numbers of different ones do not compare.
	Correction string            `json:"latency_mode"`
	SLO        map[string]string `json:"slo,omitempty"`
	Dataset    *Dataset          `json:"dataset,omitempty"`
	// Runs are those that are whole.
	Runs  int    `json:"runs"`
	Cells []Cell `json:"cells"`
	// Interrupted says how much is missing; it is the zero value where all is there.
	Interrupted Cut `json:"interrupted,omitzero"`
	// Invalid are causes for which the numbers do not count.
	Invalid []verdict.Reason `json:"invalid,omitempty"`
	// Disturbed says that all of these causes lie in this machine, at that moment.
	Disturbed bool                 `json:"disturbed,omitempty"`
	Notes     []verdict.Reason     `json:"notes,omitempty"`
	Client    *measure.Calibration `json:"client,omitempty"`

	// done are the measurements of cells that were added.
	done int
}

// Cut is a measurement that was interrupted: of so many cells, over all runs, these are
// missing.
type Cut struct {
	Missing int `json:"missing"`
	Of      int `json:"of"`
}

func (c Cut) String() string {
	return fmt.Sprintf("interrupted: %d of %d measurements of cells are missing", c.Missing, c.Of)
}

// Dataset is the file that prompts came from.
type Dataset struct {
	File string `json:"file"`
	// Digest is the SHA-256 of its content in hexadecimal.
	Digest string `json:"sha256"`
	Rows   int    `json:"rows"`
}

// Cell is one cell over all runs.
type Cell struct {
	// Label is the field's name of the cell: "pp2048 tg32 @ d4096 c4".
	Label string `json:"label"`
	// Prompt and Output are tokens; 0 where each row of a dataset has its own.
	Prompt      int     `json:"prompt_tokens"`
	Output      int     `json:"output_tokens"`
	Depth       int     `json:"depth"`
	Concurrency int     `json:"concurrency,omitempty"`
	Rate        float64 `json:"rate,omitempty"`
	// Prompts says how the prompts got their length.
	Prompts measure.PromptsMade `json:"prompts"`
	// Metrics by name.
	Metrics map[string]*Metric `json:"metrics"`
}

// Metric is one metric over the runs of a cell.
type Metric struct {
	Unit   string         `json:"unit"`
	Better measure.Better `json:"better,omitempty"`
	// Mean and Std (sample) are over the runs' values, Low and High the 95%
	// interval of the mean; absent where one run, or no spread, gives none.
	Mean float64  `json:"mean"`
	Std  *float64 `json:"std,omitempty"`
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Values are the medians of the runs, N the values within each, and Stats
	// their statistics: "median", "p99", … A statistic that a run has too few
	// values for is absent.
	Values []float64            `json:"values"`
	N      []int                `json:"n"`
	Stats  []map[string]float64 `json:"stats"`
}

// Cut notes that no more comes, of so many measurements of cells.
func (r *Result) Cut(planned int) { r.Interrupted = Cut{planned - r.done, planned} }

// Add takes in a run, or of one that was interrupted the cells that it finished.
func (r *Result) Add(w *plans.Workload, taken record.Taken) {
	cells := w.Cells()
	finished := len(taken.Cells)
	r.done += finished
	if finished == len(cells) {
		r.Runs++
	}
	for i, cell := range cells[:finished] {
		if len(r.Cells) <= i {
			r.Cells = append(r.Cells, Cell{
				Label: cell.Label, Prompt: cell.Prompt, Output: cell.Output, Depth: cell.Depth, Concurrency: cell.Concurrency, Rate: cell.Rate,
				Metrics: map[string]*Metric{},
			})
		}
		r.Cells[i].Prompts = taken.Cells[i].Prompts
		for _, m := range measure.Catalogue() {
			s, ok := taken.Metrics[cell.Address+"."+m.Name]
			if !ok || m.Scope != measure.PerRequest && m.Scope != measure.PerCell {
				continue
			}
			r.Cells[i].add(m.Name, s)
		}
	}
	invalid, notes := unreadable(taken)
	sound := len(taken.Invalid)+len(invalid) == 0 || taken.Disturbed && len(invalid) == 0
	r.Disturbed = sound && (len(r.Invalid) == 0 || r.Disturbed) && (r.Disturbed || taken.Disturbed)
	r.Invalid = appendNew(r.Invalid, named(w, append(slices.Clone(taken.Invalid), invalid...)))
	r.Notes = appendNew(r.Notes, named(w, append(slices.Clone(taken.Notes), notes...)))
	if taken.Client != nil {
		r.Client = taken.Client
	}
}

// named has labels where reasons have the addresses of cells, which nobody who has no
// plan knows.
func named(w *plans.Workload, reasons []verdict.Reason) []verdict.Reason {
	cells := w.Cells()
	// The longest first: "bench.p32.o16" begins "bench.p32.o160".
	slices.SortFunc(cells, func(a, b plans.Cell) int { return len(b.Address) - len(a.Address) })
	out := make([]verdict.Reason, len(reasons))
	for i, r := range reasons {
		out[i] = r.Map(func(text string) string {
			for _, c := range cells {
				text = strings.ReplaceAll(text, c.Address, c.Label)
			}
			return text
		})
	}
	return out
}

func appendNew(list, more []verdict.Reason) []verdict.Reason {
	for _, r := range more {
		if !slices.ContainsFunc(list, r.Equal) {
			list = append(list, r)
		}
	}
	return list
}

// rows are two for each cell, prefill and decode: tests as llama-bench and llama-benchy
// have them, so that their users find their numbers.
func (r *Result) rows() (rows [][]string) {
	prompts, outputs := map[int]bool{}, map[int]bool{}
	for _, c := range r.Cells {
		prompts[c.Prompt], outputs[c.Output] = true, true
	}
	for _, c := range r.Cells {
		load, before, after := "", "", ""
		if len(outputs) > 1 {
			before = " + tg" + tokensLabel(c.Output)
		}
		if len(prompts) > 1 {
			after = " after pp" + tokensLabel(c.Prompt)
		}
		if c.Depth > 0 {
			load = fmt.Sprintf(" @ d%d", c.Depth)
		}
		switch {
		case c.Rate > 0:
			load += " (" + strconv.FormatFloat(c.Rate, 'g', -1, 64) + "/s)"
		case c.Concurrency > 1:
			load += fmt.Sprintf(" (c%d)", c.Concurrency)
		}
		pp, ttft := "pp", "ttft"
		if r.Correction != "none" {
			pp, ttft = "pp_corrected", "ttft_corrected"
		}
		rows = append(rows,
			c.row("pp"+tokensLabel(c.Prompt)+before+load, pp, "pp_total", "pp_total_prefilling", "", ttft, "", ""),
			c.row("tg"+tokensLabel(c.Output)+after+load, "tg", "tg_total", "tg_total_decoding", "tg_peak", "", "tpot", "e2e"))
	}
	return rows
}

// head are the columns of a row: the speed of one request with its interval, the total
// of all in flight over the whole window and over the phase alone, the best second, and
// times.
var head = []string{"test", "t/s", "95% interval", "window t/s", "phase t/s", "peak t/s", "ttft ms", "tpot ms", "e2e ms"}

// row shows metrics of a cell, the first of them with its interval.
func (c Cell) row(test string, metrics ...string) []string {
	row := []string{test}
	for i, name := range metrics {
		m := c.Metrics[name]
		if row = append(row, spread(m)); i == 0 {
			row = append(row, interval(m))
		}
	}
	return row
}

// spread is "57.85 ± 0.21"; empty where nothing was measured.
func spread(m *Metric) string {
	switch {
	case m == nil:
		return ""
	case m.Std == nil:
		return tell.Number(m.Mean, "")
	}
	return tell.PlusMinus(m.Mean, *m.Std)
}

func interval(m *Metric) string {
	if m == nil || m.Low == nil {
		return ""
	}
	return tell.Number(*m.Low, "") + " to " + tell.Number(*m.High, "")
}

// tokensLabel is a length; "*" where each prompt or answer has its own.
func tokensLabel(n int) string {
	if n == 0 {
		return "*"
	}
	return strconv.Itoa(n)
}

func (c *Cell) add(name string, s measure.Summary) {
	median, ok := s.Stats["median"]
	if !ok || !finite(median) {
		return
	}
	m := c.Metrics[name]
	if m == nil {
		m = &Metric{Unit: s.Unit, Better: s.Better}
		c.Metrics[name] = m
	}
	m.Values, m.N = append(m.Values, median), append(m.N, s.N)
	known := map[string]float64{}
	for stat, v := range s.Stats {
		if finite(v) { // JSON has no other numbers
			known[stat] = v
		}
	}
	m.Stats = append(m.Stats, known)
	m.settle()
}

// settle computes the statistics over the values that there are.
func (m *Metric) settle() {
	mean, err := stats.ArithmeticMean(m.Values)
	if err != nil {
		return // there are no values
	}
	m.Mean, m.Std, m.Low, m.High = mean, nil, nil, nil
	if len(m.Values) > 1 {
		std := stat.StdDev(m.Values, nil)
		m.Std = &std
	}
	if in, err := stats.MeanInterval(m.Values); err == nil && in.Bounded {
		m.Low, m.High = &in.Low, &in.High
	}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// moreColumns are metrics of a whole cell. Those that were measured stand in a
// second table: they need limits, speculation, a prefix cache, or GPUs that are
// watched.
var moreColumns = []struct{ metric, head string }{
	{"goodput", "goodput req/s"},
	{"slo_attainment", "slo_attainment"},
	{"accept_length", "accept_length"},
	{"accept_rate", "accept_rate"},
	{"prefix_hit_rate", "prefix_hit_rate"},
	{"power_w", "power W"},
	{"joules_per_token", "J/token"},
	{"gpu_memory_in_use_gb", "GPU memory GB"},
}

// more is the second table, empty where nothing of it was measured.
func (r *Result) more() (head []string, rows [][]string) {
	for _, column := range moreColumns {
		if !slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Metrics[column.metric] != nil }) {
			continue
		}
		if head == nil {
			head = []string{"cell"}
			for _, c := range r.Cells {
				rows = append(rows, []string{c.Label})
			}
		}
		head = append(head, column.head)
		for i, c := range r.Cells {
			rows[i] = append(rows[i], spread(c.Metrics[column.metric]))
		}
	}
	return head, rows
}

// drawn is one table of the result.
type drawn struct {
	Head []string
	Rows [][]string
}

// tables are those that there are something to say in.
func (r *Result) tables() []drawn {
	all := []drawn{{head, r.rows()}}
	if head, rows := r.more(); head != nil {
		all = append(all, drawn{head, rows})
	}
	return all
}

func (r *Result) Write(w io.Writer, format string, width int, colour bool) error {
	switch format {
	case "json":
		data, err := tell.JSON(r)
		if err != nil {
			return err
		}
		var page bytes.Buffer
		if err := json.Indent(&page, data, "", "  "); err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, page.String())
		return err
	case "csv":
		return r.csv(w)
	case "html":
		return r.html(w)
	case "md":
		r.markdown(w)
		return nil
	}
	fmt.Fprintf(w, "%s at %s (%s)\n\n", imported.Printable(r.Model), r.URL, r.Engine)
	for _, t := range r.tables() {
		table.Draw(w, t.Head, t.Rows, colour, width)
		fmt.Fprintln(w)
	}
	sentences := table.MaxColumn
	if width > 0 {
		sentences = min(sentences, width)
	}
	for _, line := range r.words() {
		fmt.Fprintln(w, table.Wrap(line, sentences))
	}
	return nil
}

// words are what has to be known to read the numbers.
func (r *Result) words() (lines []string) {
	for _, why := range r.Invalid {
		lines = append(lines, imported.Printable("invalid: "+tell.Line(why)))
	}
	for _, n := range r.Notes {
		lines = append(lines, imported.Printable("note: "+tell.Line(n)))
	}
	if r.Interrupted.Missing > 0 {
		lines = append(lines, r.Interrupted.String())
	}
	most := r.Runs // and the one that was interrupted
	for _, c := range r.Cells {
		for _, m := range c.Metrics {
			most = max(most, len(m.Values))
		}
	}
	runs := fmt.Sprintf("%d runs of one server: mean ± sample standard deviation of the runs' medians.", most)
	if most < 2 {
		runs = "One run of one server: without more runs nothing is known of the spread."
	}
	lines = append(lines, "window t/s: tokens of all requests over the time from the first send to the last end; phase t/s: from the first token on, of pp until the last first token (llama-benchy's total).", runs)
	lines = append(lines, fmt.Sprintf("The prompts are those of --seed %d.", r.Seed))
	if r.Correction != "none" {
		lines = append(lines, fmt.Sprintf("pp and ttft are corrected by the latency that mode %q measured; the uncorrected numbers are in --format json.", r.Correction))
	}
	return lines
}

func (r *Result) markdown(w io.Writer) {
	model := strings.ReplaceAll(report.Inert(imported.Printable(r.Model)), "|", `\|`)
	fmt.Fprintf(w, "%s at %s (%s)\n\n", model, report.Inert(r.URL), r.Engine)
	for _, t := range r.tables() {
		fmt.Fprintf(w, "| model | %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat(" --- |", len(t.Head)+1))
		for _, row := range t.Rows {
			fmt.Fprintf(w, "| %s | %s |\n", model, report.Inert(strings.Join(row, " | ")))
		}
		fmt.Fprintln(w)
	}
	for _, line := range r.words() {
		fmt.Fprintf(w, "%s\n\n", report.Inert(line))
	}
}

// text is a text in CSV as no spreadsheet takes it for a formula.
func text(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		cell = "'" + cell
	}
	return imported.Printable(cell)
}

// csv has one line for each metric of each cell.
func (r *Result) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	number := func(x *float64) string {
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'g', -1, 64)
	}
	_ = c.Write([]string{"model", "engine", "prompt_tokens", "output_tokens", "depth", "concurrency", "rate", "latency_mode", "metric", "unit", "mean", "std", "low95", "high95", "runs", "seed", "valid"})
	for _, cell := range r.Cells {
		for _, name := range slices.Sorted(maps.Keys(cell.Metrics)) {
			m := cell.Metrics[name]
			_ = c.Write([]string{
				text(r.Model), text(r.Engine), strconv.Itoa(cell.Prompt), strconv.Itoa(cell.Output), strconv.Itoa(cell.Depth), strconv.Itoa(cell.Concurrency), number(&cell.Rate),
				text(r.Correction), text(name), text(m.Unit), number(&m.Mean), number(m.Std), number(m.Low), number(m.High), strconv.Itoa(len(m.Values)), strconv.Itoa(r.Seed), strconv.FormatBool(len(r.Invalid) == 0),
			})
		}
	}
	c.Flush()
	return c.Error()
}

// panels are the plots, one below the other.
var panels = []struct{ title, metric, corrected string }{
	{"prefill, tokens a second of a request", "pp", "pp_corrected"},
	{"decode, tokens a second of a request", "tg", ""},
	{"decode, tokens a second in all", "tg_total", ""},
	{"time to first token, ms", "ttft", "ttft_corrected"},
}

// The size of a panel and of the space around its axes, in pixels.
const (
	leastWidth, panelHeight  = 680, 230
	marginLeft, marginRight  = 70, 20
	marginTop, marginBottom  = 30, 30
	ringRadius, plusArm      = 3, 6
	letterWidth, letterAbove = 7, 4 // of basicfont, and of a monospaced font of 12 px
)

// canvas is what a picture is drawn on. Text stands around x as anchor says: 0 from
// it on, 0.5 in its middle, 1 up to it.
type canvas interface {
	line(x0, y0, x1, y1 int, shade uint8)
	ring(x, y int)
	text(x, y int, anchor float64, s string)
}

// plot draws one panel for each speed: a ring for each run, a plus at the mean. It
// returns how many panels there are, and draws none where there is no canvas.
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

// width is that of the panels: as wide as it takes for the cells' names to stand beside
// each other.
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

// tickStep is the least of 1, 2, 5, 10 … that is no less than a distance.
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

// picture is the plots in the format that the name of a file asks for.
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

// pixels draws an image; its lines are level or upright.
type pixels struct{ *image.RGBA }

func (p pixels) line(x0, y0, x1, y1 int, shade uint8) {
	area := image.Rect(x0, y0, x1, y1) // in order, whichever end comes first
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

// benchPage stands by itself: no script, no font and no picture from elsewhere.
var benchPage = template.Must(template.New("bench").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{{.Model}}: mxflow bench</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
{{.Style}}
td, th { white-space: nowrap; text-align: right }
th:first-child, td:first-child { text-align: left }
.invalid { font-weight: 600 }
.scroll, body > p { margin-top: .8rem }
</style>
</head>
<body>
<h1>{{.Model}}</h1>
<p>{{.URL}} ({{.Engine}}), {{.Started.Format "2006-01-02 15:04 MST"}}, {{.Tool}}, seed {{.Seed}}</p>
{{range .Tables}}<div class="scroll" tabindex="0" role="region" aria-label="Results"><table>
<thead><tr>{{range .Head}}<th>{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table></div>
{{end}}{{range .Words}}<p{{if and (ge (len .) 8) (eq (slice . 0 8) "invalid:")}} class="invalid"{{end}}>{{.}}</p>
{{end}}{{with .Plots}}<div class="scroll" tabindex="0" role="region" aria-label="Plots">{{.}}</div>
{{end}}</body>
</html>
`))

func (r *Result) html(w io.Writer) error {
	shown := struct {
		*Result
		Tables []drawn
		Words  []string
		Plots  template.HTML
		Style  template.CSS
	}{Result: r, Style: page.Style, Tables: r.tables(), Words: r.words()}
	if picture, err := r.Picture(".svg"); err == nil {
		shown.Plots = template.HTML(picture)
	}
	return benchPage.Execute(w, shown)
}

// unreadable looks for answers that do not read as text. An answer that ended by
// itself has to; one that was forced on past its end may repeat itself rightly,
// but when most of a cell's do so, its speed is that of garbage. Nothing else can
// be said without a parent's answers to the same prompts, which a plan has.
func unreadable(t record.Taken) (invalid, notes []verdict.Reason) {
	for _, run := range t.Cells {
		var found []verdict.Reason
		for _, garbage := range t.Incoherent {
			if garbage.Subject == run.Cell {
				found = append(found, garbage.On(""))
			}
		}
		answers := 0
		for _, s := range t.Samples {
			if s.Workload == run.Cell && s.Measured() && s.Err == "" {
				answers++
			}
		}
		if len(found) == 0 {
			continue
		}
		counted := []verdict.Arg{verdict.Int("answers", len(found)), verdict.Int("of", answers)}
		if run.ExactOutput && 2*len(found) <= answers {
			notes = append(notes, verdict.New(code.SomeUnreadable, counted...).On(run.Cell).From(found[0]))
			continue
		}
		invalid = append(invalid, verdict.New(code.Unreadable, counted...).On(run.Cell).From(found[0]))
	}
	return invalid, notes
}

// whole reports what a result file lacks: it may have been edited, or cut.
func (r *Result) Whole() error {
	if len(r.Cells) == 0 {
		return errors.New("it holds no cell")
	}
	for i, c := range r.Cells {
		if c.Label == "" || slices.ContainsFunc(r.Cells[:i], func(d Cell) bool { return d.Label == c.Label }) {
			return fmt.Errorf("its cell %d has no name of its own", i+1)
		}
		for _, name := range slices.Sorted(maps.Keys(c.Metrics)) {
			if m := c.Metrics[name]; m == nil || math.IsNaN(m.Mean) || math.IsInf(m.Mean, 0) || len(m.Values) == 0 {
				return fmt.Errorf("its metric %s of %s has no values", name, c.Label)
			}
		}
	}
	return nil
}
