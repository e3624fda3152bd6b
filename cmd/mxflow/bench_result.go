package main

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
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/record"
)

// benchResult is what `mxflow bench` found, as --format json prints it.
type benchResult struct {
	Tool    string    `json:"tool"`
	Started time.Time `json:"started"`
	URL     string    `json:"url"`
	Engine  string    `json:"engine"`
	Model   string    `json:"model"`
	Seed    int       `json:"seed"`
	// Correction is the latency mode; numbers of different ones do not compare.
	Correction string            `json:"latency_mode"`
	SLO        map[string]string `json:"slo,omitempty"`
	Dataset    *benchDataset     `json:"dataset,omitempty"`
	Runs       int               `json:"runs"`
	Cells      []benchCell       `json:"cells"`
	// Invalid are causes for which the numbers do not count.
	Invalid []verdict.Reason     `json:"invalid,omitempty"`
	Notes   []verdict.Reason     `json:"notes,omitempty"`
	Client  *measure.Calibration `json:"client,omitempty"`
}

// benchDataset is the file that prompts came from.
type benchDataset struct {
	File string `json:"file"`
	// Digest is the SHA-256 of its content in hexadecimal.
	Digest string `json:"sha256"`
	Rows   int    `json:"rows"`
}

// benchCell is one cell over all runs.
type benchCell struct {
	// Label is the field's name of the cell: "pp2048 tg32 @ d4096 c4".
	Label string `json:"label"`
	// Prompt and Output are tokens; 0 where each row of a dataset has its own.
	Prompt      int     `json:"prompt_tokens"`
	Output      int     `json:"output_tokens"`
	Depth       int     `json:"depth"`
	Concurrency int     `json:"concurrency,omitempty"`
	Rate        float64 `json:"rate,omitempty"`
	// Prompts says how the prompts got their length.
	Prompts record.PromptsMade `json:"prompts"`
	// Metrics by name.
	Metrics map[string]*benchMetric `json:"metrics"`
}

// benchMetric is one metric over the runs of a cell.
type benchMetric struct {
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

// add takes in a run.
func (r *benchResult) add(w *plans.Workload, taken record.Taken) {
	r.Runs++
	for i, cell := range w.Cells() {
		if len(r.Cells) <= i {
			r.Cells = append(r.Cells, benchCell{
				Label: cell.Label, Prompt: cell.Prompt, Output: cell.Output, Depth: cell.Depth, Concurrency: cell.Concurrency, Rate: cell.Rate,
				Metrics: map[string]*benchMetric{},
			})
		}
		r.Cells[i].Prompts = taken.Prompts[cell.Address]
		for _, m := range measure.Catalogue() {
			s, ok := taken.Metrics[cell.Address+"."+m.Name]
			if !ok || m.Scope != measure.PerRequest && m.Scope != measure.PerCell {
				continue
			}
			r.Cells[i].add(m.Name, s)
		}
	}
	invalid, notes := unreadable(taken)
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

// benchRow is one line of the table: a test as llama-bench and llama-benchy have
// them, so that their users find their numbers.
type benchRow struct {
	test string
	// speed is tokens a second of one request, total of all requests in flight,
	// peak the best second, first and whole times in ms; nil where there is none.
	speed, total, peak, first, per, whole *benchMetric
}

// rows are two for each cell: prefill and decode.
func (r *benchResult) rows() (rows []benchRow) {
	outputs := map[int]bool{}
	for _, c := range r.Cells {
		outputs[c.Output] = true
	}
	for _, c := range r.Cells {
		load, before := "", ""
		if len(outputs) > 1 {
			before = " + tg" + tokensLabel(c.Output)
		}
		switch {
		case c.Rate > 0:
			load = " (" + strconv.FormatFloat(c.Rate, 'g', -1, 64) + "/s)"
		case c.Concurrency > 1:
			load = fmt.Sprintf(" (c%d)", c.Concurrency)
		}
		depth := ""
		if c.Depth > 0 {
			depth = fmt.Sprintf(" @ d%d", c.Depth)
		}
		pp, ttft := "pp", "ttft"
		if r.Correction != "none" {
			pp, ttft = "pp_corrected", "ttft_corrected"
		}
		rows = append(rows,
			benchRow{test: fmt.Sprintf("pp%s%s%s%s", tokensLabel(c.Prompt), before, depth, load), speed: c.Metrics[pp], total: c.Metrics["pp_total"], first: c.Metrics[ttft]},
			benchRow{test: fmt.Sprintf("tg%s%s%s", tokensLabel(c.Output), depth, load), speed: c.Metrics["tg"], total: c.Metrics["tg_total"], peak: c.Metrics["tg_peak"], per: c.Metrics["tpot"], whole: c.Metrics["e2e"]},
		)
	}
	return rows
}

var benchHead = []string{"test", "t/s", "95% interval", "total t/s", "peak t/s", "ttft ms", "tpot ms", "e2e ms"}

func (r benchRow) cells() []string {
	return []string{r.test, spread(r.speed), interval(r.speed), spread(r.total), spread(r.peak), spread(r.first), spread(r.per), spread(r.whole)}
}

// spread is "57.85 ± 0.21"; empty where nothing was measured.
func spread(m *benchMetric) string {
	switch {
	case m == nil:
		return ""
	case m.Std == nil:
		return digits(m.Mean, m.Mean)
	}
	return digits(m.Mean, m.Mean) + " ± " + digits(*m.Std, m.Mean)
}

func interval(m *benchMetric) string {
	if m == nil || m.Low == nil {
		return ""
	}
	return digits(*m.Low, m.Mean) + " to " + digits(*m.High, m.Mean)
}

// digits writes x with the decimals that give a number like that four significant
// digits. What they would show as zero and is not gets two of its own.
func digits(x, like float64) string {
	size := math.Abs(like)
	switch {
	case x == 0:
		return "0"
	case size == 0:
		size = math.Abs(x)
	}
	if size < 1e-3 || math.Abs(x) >= 1e7 {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	text := strconv.FormatFloat(x, 'f', max(0, 3-int(math.Floor(math.Log10(size)))), 64)
	if !strings.ContainsAny(text, "123456789") {
		return strconv.FormatFloat(x, 'g', 2, 64)
	}
	return text
}

// tokensLabel is a length; "*" where each prompt or answer has its own.
func tokensLabel(n int) string {
	if n == 0 {
		return "*"
	}
	return strconv.Itoa(n)
}

func (c *benchCell) add(name string, s measure.Summary) {
	median, ok := s.Stats["median"]
	if !ok || !finite(median) {
		return
	}
	m := c.Metrics[name]
	if m == nil {
		m = &benchMetric{Unit: s.Unit, Better: s.Better}
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
func (m *benchMetric) settle() {
	mean, err := stats.ArithmeticMean(m.Values)
	if err != nil {
		return // there are no values
	}
	m.Mean, m.Std, m.Low, m.High = mean, nil, nil, nil
	if n := len(m.Values); n > 1 {
		sum := 0.0
		for _, v := range m.Values {
			sum += (v - mean) * (v - mean)
		}
		std := math.Sqrt(sum / float64(n-1))
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
	{"gpu_memory_gb", "GPU memory GB"},
}

// more is the second table, empty where nothing of it was measured.
func (r *benchResult) more() (head []string, rows [][]string) {
	for _, column := range moreColumns {
		measured := false
		for _, c := range r.Cells {
			measured = measured || c.Metrics[column.metric] != nil
		}
		if !measured {
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

// benchTable is one table of the result.
type benchTable struct {
	Head []string
	Rows [][]string
}

// tables are those that there are something to say in.
func (r *benchResult) tables() []benchTable {
	first := benchTable{Head: benchHead}
	for _, row := range r.rows() {
		first.Rows = append(first.Rows, row.cells())
	}
	all := []benchTable{first}
	if head, rows := r.more(); head != nil {
		all = append(all, benchTable{head, rows})
	}
	return all
}

// outFile is a file that is opened before something long begins and written
// after it: whole or not at all, and an older one stays until then.
type outFile struct {
	// path is where it belongs, file what is written to: a file beside it that
	// takes its name, or it itself where it is no regular one, such as /dev/stdout.
	path   string
	file   *os.File
	beside bool
}

// openOut sees that path can be written and does not change it yet.
func openOut(path string) (*outFile, error) {
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		path = whole // a link stays one
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		// What may not be written is not replaced either.
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return &outFile{path: path, file: f}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".mxflow-bench-*")
	if err != nil {
		return nil, err
	}
	return &outFile{path: path, file: f, beside: true}, nil
}

// write puts the content in its place. It is called once, and close after it does
// nothing.
func (o *outFile) write(content []byte) error {
	f := o.file
	o.file = nil
	_, err := f.Write(content)
	if !o.beside {
		return errors.Join(err, f.Close())
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), o.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// close gives up what was not written. Of a nil outFile it does nothing.
func (o *outFile) close() {
	if o == nil || o.file == nil {
		return
	}
	_ = o.file.Close()
	if o.beside {
		_ = os.Remove(o.file.Name())
	}
	o.file = nil
}

// benchFiles are those of --out and --plot, nil where they were not asked for.
type benchFiles struct{ out, plot *outFile }

func (b bench) openFiles() (f benchFiles, err error) {
	if b.out != "" && sameFile(b.out, b.plot) {
		return f, b.wrong("plot", "%s is the file of --out as well: choose another", b.plot)
	}
	if b.out != "" {
		if f.out, err = openOut(b.out); err != nil {
			return f, b.wrong("out", "%s cannot be written: %v", b.out, bareReason(err))
		}
	}
	if b.plot != "" {
		if f.plot, err = openOut(b.plot); err != nil {
			f.close()
			return f, b.wrong("plot", "%s cannot be written: %v", b.plot, bareReason(err))
		}
	}
	return f, b.openRaw()
}

func (f benchFiles) close() {
	f.out.close()
	f.plot.close()
}

func sameFile(a, b string) bool {
	whole := func(path string) string {
		if p, err := filepath.Abs(path); err == nil {
			path = p
		}
		return path
	}
	return b != "" && whole(a) == whole(b)
}

// bareReason is an error without the name of the file that it is about, which may
// be one that nobody asked for.
func bareReason(err error) error {
	var about *fs.PathError
	if errors.As(err, &about) {
		return about.Err
	}
	return err
}

// printBench writes the result in the format that was asked for.
func (a *app) printBench(b bench, r *benchResult, files benchFiles) error {
	var text bytes.Buffer
	width := 0
	if b.out == "" {
		width = a.fits()
	}
	err := r.write(&text, b.format, width, width > 0 && colours(a.stdout))
	if err != nil {
		return err
	}
	if files.out != nil || b.format == "csv" {
		// Whoever looks at the terminal alone has to see that it does not count.
		for _, why := range r.Invalid {
			fmt.Fprintln(a.stderr, imported.Printable("invalid: "+tell.Line(why)))
		}
	}
	if files.out == nil {
		_, err = a.stdout.Write(text.Bytes())
	} else if err = files.out.write(text.Bytes()); err != nil {
		err = b.wrong("out", "%v", err)
	}
	if files.plot == nil {
		return err
	}
	picture, plotErr := r.picture(b.plot)
	if plotErr == nil {
		plotErr = files.plot.write(picture)
	}
	if plotErr != nil {
		plotErr = b.wrong("plot", "%v", plotErr)
	}
	return errors.Join(err, plotErr)
}

func (r *benchResult) write(w io.Writer, format string, width int, colour bool) error {
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
func (r *benchResult) words() (lines []string) {
	for _, why := range r.Invalid {
		lines = append(lines, imported.Printable("invalid: "+tell.Line(why)))
	}
	for _, n := range r.Notes {
		lines = append(lines, imported.Printable("note: "+tell.Line(n)))
	}
	runs := fmt.Sprintf("%d runs of one server: mean ± sample standard deviation of the runs' medians.", r.Runs)
	if r.Runs == 1 {
		runs = "One run of one server: without more runs nothing is known of the spread."
	}
	lines = append(lines, runs, fmt.Sprintf("The prompts are those of --seed %d.", r.Seed))
	if r.Correction != "none" {
		lines = append(lines, fmt.Sprintf("pp and ttft are corrected by the latency that mode %q measured; the uncorrected numbers are in --format json.", r.Correction))
	}
	return lines
}

func (r *benchResult) markdown(w io.Writer) {
	model := strings.ReplaceAll(imported.Printable(r.Model), "|", `\|`)
	fmt.Fprintf(w, "%s at %s (%s)\n\n", model, r.URL, r.Engine)
	for _, t := range r.tables() {
		fmt.Fprintf(w, "| model | %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat(" --- |", len(t.Head)+1))
		for _, row := range t.Rows {
			fmt.Fprintf(w, "| %s | %s |\n", model, strings.Join(row, " | "))
		}
		fmt.Fprintln(w)
	}
	for _, line := range r.words() {
		fmt.Fprintf(w, "%s\n\n", line)
	}
}

// csv has one line for each metric of each cell.
func (r *benchResult) csv(w io.Writer) error {
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
				imported.Printable(r.Model), r.Engine, strconv.Itoa(cell.Prompt), strconv.Itoa(cell.Output), strconv.Itoa(cell.Depth), strconv.Itoa(cell.Concurrency), number(&cell.Rate),
				r.Correction, name, m.Unit, number(&m.Mean), number(m.Std), number(m.Low), number(m.High), strconv.Itoa(len(m.Values)), strconv.Itoa(r.Seed), strconv.FormatBool(len(r.Invalid) == 0),
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
	panelWidth, panelHeight  = 680, 230
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
func (r *benchResult) plot(on canvas) (n int) {
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

func (r *benchResult) panel(on canvas, at int, title, metric string, top float64) {
	left, right, base := marginLeft, panelWidth-marginRight, at+panelHeight-marginBottom
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

var errNoPlots = errors.New("nothing was measured that could be plotted")

// picture is the plots in the format that the name of a file asks for.
func (r *benchResult) picture(path string) ([]byte, error) {
	n := r.plot(nil)
	if n == 0 {
		return nil, errNoPlots
	}
	var out bytes.Buffer
	if filepath.Ext(path) == ".png" {
		on := pixels{image.NewRGBA(image.Rect(0, 0, panelWidth, n*panelHeight))}
		draw.Draw(on, on.Bounds(), image.White, image.Point{}, draw.Src)
		r.plot(on)
		err := png.Encode(&out, on)
		return out.Bytes(), err
	}
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0%[1]d %d\" font-family=\"monospace\" font-size=\"12\">\n", panelWidth, n*panelHeight, n*panelHeight)
	r.plot(vectors{&out})
	out.WriteString("</svg>\n")
	return out.Bytes(), nil
}

// vectors draws SVG.
type vectors struct{ *bytes.Buffer }

func (w vectors) line(x0, y0, x1, y1 int, shade uint8) {
	fmt.Fprintf(w, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"rgb(%[5]d,%[5]d,%[5]d)\"/>\n", x0, y0, x1, y1, shade)
}

func (w vectors) ring(x, y int) {
	fmt.Fprintf(w, "<circle cx=\"%d\" cy=\"%d\" r=\"%d\" fill=\"none\" stroke=\"black\"/>\n", x, y, ringRadius)
}

func (w vectors) text(x, y int, anchor float64, s string) {
	where := map[float64]string{0: "start", 0.5: "middle", 1: "end"}[anchor]
	fmt.Fprintf(w, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y, where, html.EscapeString(s))
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
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff }
table { border-collapse: collapse; width: 100% }
th, td { text-align: right; padding: .35rem .6rem; border-bottom: 1px solid #ddd; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
.invalid { color: #a40000; font-weight: 600 }
svg { max-width: 100%; height: auto }
</style>
</head>
<body>
<h1>{{.Model}}</h1>
<p>{{.URL}} ({{.Engine}}), {{.Started.Format "2006-01-02 15:04 MST"}}, {{.Tool}}, seed {{.Seed}}</p>
{{range .Tables}}<table>
<thead><tr>{{range .Head}}<th>{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
{{end}}{{range .Words}}<p{{if and (ge (len .) 8) (eq (slice . 0 8) "invalid:")}} class="invalid"{{end}}>{{.}}</p>
{{end}}{{.Plots}}
</body>
</html>
`))

func (r *benchResult) html(w io.Writer) error {
	page := struct {
		*benchResult
		Tables []benchTable
		Words  []string
		Plots  template.HTML
	}{benchResult: r, Tables: r.tables(), Words: r.words()}
	if picture, err := r.picture(".svg"); err == nil {
		page.Plots = template.HTML(picture)
	}
	return benchPage.Execute(w, page)
}
