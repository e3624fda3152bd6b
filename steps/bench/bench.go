// Package bench measures a running server: what is sent, what was measured, and how that
// is written (tables, Markdown, JSON). It decides nothing: it sees one start of a server.
package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/measure/capacity"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/record"
)

// Result is the result of mxflow bench, in the form of --json.
type Result struct {
	Tool    string            `json:"tool"`
	Started time.Time         `json:"started"`
	URL     string            `json:"url"`
	Engine  string            `json:"engine"`
	Model   string            `json:"model"`
	Seed    int               `json:"seed"`
	SLO     map[string]string `json:"slo,omitempty"`
	// Sampling are the workload's attributes that were set: "temperature", "top_k", …
	Sampling map[string]float64 `json:"sampling,omitempty"`
	// Coherence is "off" if answers need not be text.
	Coherence string `json:"coherence,omitempty"`
	// Runs are the complete ones.
	Runs  int    `json:"runs"`
	Cells []Cell `json:"cells"`
	// Interrupted is how much is missing; zero if nothing is.
	Interrupted Cut `json:"interrupted,omitzero"`
	// Invalid are reasons for the numbers not to count.
	Invalid []verdict.Reason `json:"invalid,omitempty"`
	// Disturbed is set if all of these reasons are this machine's, at that moment.
	Disturbed bool             `json:"disturbed,omitempty"`
	Notes     []verdict.Reason `json:"notes,omitempty"`

	// done are the cell measurements added.
	done int
}

// Cut is an interrupted measurement: of so many cells, over all runs, these are missing.
type Cut struct {
	Missing int `json:"missing"`
	Of      int `json:"of"`
}

func (c Cut) String() string {
	return fmt.Sprintf("interrupted: %d of %d measurements of cells are missing", c.Missing, c.Of)
}

// Cell is one cell over all runs.
type Cell struct {
	// Label is the field's name of the cell: "pp2048 tg32 @ d4096 c4".
	Label string `json:"label"`
	// Prompt and Output are in tokens.
	Prompt      int     `json:"prompt_tokens"`
	Output      int     `json:"output_tokens"`
	Depth       int     `json:"depth"`
	Concurrency int     `json:"concurrency,omitempty"`
	Rate        float64 `json:"rate,omitempty"`
	// Trace is what was sent of recorded traffic.
	Trace *measure.TraceRun `json:"trace,omitempty"`
	// Prompts is how the prompts got their length.
	Prompts measure.PromptLengths `json:"prompts"`
	// Metrics by name.
	Metrics map[string]*Metric `json:"metrics"`
	// Capacity is what the last run's search for it shows, and Probes its probes.
	Capacity *capacity.Result  `json:"capacity,omitempty"`
	Probes   []measure.CellRun `json:"probes,omitempty"`
}

// Metric is one metric over the runs of a cell.
type Metric struct {
	Unit   string         `json:"unit"`
	Better measure.Better `json:"better,omitempty"`
	// Mean and Std (sample) are over the runs' values, Low and High the 95% interval of
	// the mean; absent with one run, or without spread.
	Mean float64  `json:"mean"`
	Std  *float64 `json:"std,omitempty"`
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Values are the medians of the runs, N the number of values within each, and Stats
	// their statistics: "median", "p99", … A statistic for which a run has too few values
	// is absent.
	Values []float64            `json:"values"`
	N      []int                `json:"n"`
	Stats  []map[string]float64 `json:"stats"`
}

// Cut records that no more comes, of so many cell measurements.
func (r *Result) Cut(planned int) { r.Interrupted = Cut{planned - r.done, planned} }

// Add adds a run or, of an interrupted one, the cells that it finished.
func (r *Result) Add(w *plans.Workload, taken record.Measurement) {
	cells := w.Cells()
	finished := len(taken.Cells)
	if w.Capacity != nil {
		finished = len(taken.Searched())
	}
	r.done += finished
	if finished == len(cells) {
		r.Runs++
	}
	for i, cell := range cells[:finished] {
		if len(r.Cells) <= i {
			r.Cells = append(r.Cells, Cell{
				Label: cell.Label, Prompt: cell.Prompt, Output: cell.Output, Depth: cell.Depth,
				Concurrency: cell.Concurrency, Rate: cell.Rate, Trace: taken.Cells[i].Trace,
				Metrics: map[string]*Metric{},
			})
		}
		sent := slices.DeleteFunc(slices.Clone(taken.Cells), func(c measure.CellRun) bool {
			return c.Of() != cell.Address
		})
		r.Cells[i].Prompts = sent[0].Prompts
		if w.Capacity != nil {
			found := measure.Capacity(taken.Cells, cell.Address)
			r.Cells[i].Capacity, r.Cells[i].Probes = &found, sent
		}
		for _, m := range measure.Catalogue() {
			s, ok := taken.Metrics[cell.Address+"."+m.Name]
			if !ok || m.Scope != measure.PerRequest && m.Scope != measure.PerCell {
				continue
			}
			r.Cells[i].add(m.Name, s)
		}
	}
	invalid, notes := []verdict.Reason(nil), verdict.Because(code.Unlooked)
	if r.Coherence != "off" {
		invalid, notes = unreadable(taken)
	}
	sound := len(taken.Invalid)+len(invalid) == 0 || taken.Disturbed && len(invalid) == 0
	r.Disturbed = sound && (len(r.Invalid) == 0 || r.Disturbed) && (r.Disturbed || taken.Disturbed)
	r.Invalid = appendNew(r.Invalid, named(w, append(slices.Clone(taken.Invalid), invalid...)))
	r.Notes = appendNew(r.Notes, named(w, append(slices.Clone(taken.Notes), notes...)))
}

// named replaces the addresses of cells in reasons by labels, as addresses mean nothing
// without a plan, and what a workload declares by a flag.
func named(w *plans.Workload, reasons []verdict.Reason) []verdict.Reason {
	cells := w.Cells()
	// Longest first: "bench.p32.o16" is a prefix of "bench.p32.o160".
	slices.SortFunc(cells, func(a, b plans.Cell) int { return len(b.Address) - len(a.Address) })
	out := make([]verdict.Reason, len(reasons))
	for i, r := range reasons {
		out[i] = r.Map(func(text string) string {
			for _, c := range cells {
				text = strings.ReplaceAll(text, c.Address, c.Label)
			}
			return text
		})
		if r.Kind == code.WokenLate.Kind {
			out[i].Values["flag"] = verdict.Value{Text: "--max-lag"}
		}
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

// settle computes the statistics over the existing values.
func (m *Metric) settle() {
	mean, err := stats.ArithmeticMean(m.Values)
	if err != nil {
		return // there are no values
	}
	m.Mean, m.Std, m.Low, m.High = mean, nil, nil, nil
	if len(m.Values) > 1 {
		std := math.Sqrt(stats.Variance(m.Values))
		m.Std = &std
	}
	if s, err := stats.SampleOf(m.Values); err == nil {
		m.Low, m.High = s.Low, s.High
	}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// unreadable looks for answers that do not read as text. An answer that ended by itself
// must; one that was forced past its end may repeat itself legitimately, but if most of a
// cell's do, its speed is that of garbage. More would need a parent's answers to the same
// prompts, which a plan has.
func unreadable(t record.Measurement) (invalid, notes []verdict.Reason) {
	of := map[string]string{} // the probes of a search are one
	for _, run := range t.Cells {
		of[run.Cell] = run.Of()
	}
	told := map[string]bool{}
	for _, run := range t.Cells {
		var found []verdict.Reason
		for _, garbage := range t.Incoherent {
			if of[garbage.Subject] == run.Of() {
				found = append(found, garbage.On(""))
			}
		}
		answers := 0
		for s := range measure.Answered(t.Samples) {
			if of[s.Workload] == run.Of() {
				answers++
			}
		}
		if len(found) == 0 || told[run.Of()] {
			continue
		}
		told[run.Of()] = true
		counted := []verdict.Arg{verdict.Int("answers", len(found)), verdict.Int("of", answers)}
		if run.ExactOutput && 2*len(found) <= answers {
			notes = append(notes, verdict.Say("answers.some_unreadable",
				"{answers} of {of} answers of {subject} are not readable text, e.g. {causes}",
				counted...).On(run.Of()).From(found[0]))
			continue
		}
		invalid = append(invalid, verdict.Say("answers.unreadable",
			"{answers} of {of} answers of {subject} are not readable text, e.g. {causes}: speeds of such a "+
				"server are meaningless",
			counted...).On(run.Of()).From(found[0]))
	}
	return invalid, notes
}
