package main

import (
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps"
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
	Prompts steps.PromptsMade `json:"prompts"`
	// Metrics by name.
	Metrics map[string]*benchMetric `json:"metrics"`
}

// benchMetric is one metric over the runs of a cell.
type benchMetric struct {
	Unit   string         `json:"unit"`
	Better measure.Better `json:"better,omitempty"`
	// Mean and Std (sample) are over the runs' values, Low and High the 95 %
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
func (r *benchResult) add(w *plans.Workload, taken steps.Taken) {
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
