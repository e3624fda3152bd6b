package page

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// Figures are the numbers of all plots, as the page's script reads them. Key order and
// names are those of page.js.
type Figures struct {
	// Tests are comparisons as they were decided, with every launch that they read.
	Tests    []verdict.Test `json:"tests"`
	Timeline []Decided      `json:"timeline"`
	Spreads  []Spread       `json:"spreads"`
	Traces   []Trace        `json:"traces"`
	Kernels  []Kernels      `json:"kernels"`
	Matrices []Matrix       `json:"matrices"`
}

// Decided is one decision on the timeline.
type Decided struct {
	At      time.Time `json:"at"`
	Node    string    `json:"node"`
	Verdict string    `json:"verdict"`
	Attempt int       `json:"attempt"`
}

// Spread is the distribution of a latency in each arm: Quantiles at equal steps from
// minimum to maximum.
type Spread struct {
	Metric string      `json:"metric"`
	Arms   []ArmSpread `json:"arms"`
}

// ArmSpread is a distribution over N values. Base is set here and below for what others are
// compared with.
type ArmSpread struct {
	Arm       string    `json:"arm"`
	Base      bool      `json:"base"`
	N         int       `json:"n"`
	Quantiles []float64 `json:"q"`
}

// Trace is one quantity over the time of one launch per arm.
type Trace struct {
	Name  string     `json:"name"`
	Unit  string     `json:"unit"`
	Lines []ArmTrace `json:"lines"`
}

// ArmTrace is one line of it: seconds since the launch's recording started.
type ArmTrace struct {
	Arm    string    `json:"arm"`
	Base   bool      `json:"base"`
	Source string    `json:"source"`
	At     []float64 `json:"at"`
	Value  []float64 `json:"value"`
}

// Kernels is the time of one phase of work by category, before and after, in µs per step,
// or per token of prefill.
type Kernels struct {
	Part   string    `json:"part"`
	Names  []string  `json:"names"`
	Before []float64 `json:"before"`
	After  []float64 `json:"after"`
}

// Matrix is a comparison of engines or of knob values with its reference, in the metrics
// that have a speed-up.
type Matrix struct {
	Title   string        `json:"title"`
	Columns []string      `json:"columns"`
	Rows    []verdict.Row `json:"rows"`
}

const (
	// mostRead limits the launches read for distributions and traces, the last of each arm:
	// the files of 5,000 take minutes and fill a page.
	mostRead = 240
	// quantiles and tracePoints are what a line on a screen can show.
	quantiles   = 41
	tracePoints = 160
	// mostDecided limits the decisions on the timeline to the newest.
	mostDecided = 2000
)

// test adds the figure of a comparison of launches: without what only explains it.
func (b *builder) test(title string, t *verdict.Test) (Figure, bool) {
	if t == nil || t.Form == verdict.Exact || len(t.Values) == 0 {
		return Figure{}, false
	}
	one := *t
	one.Share, one.Plan, one.Looks, one.Beside, one.Note, one.Launches, one.BaseLaunches = nil, nil, nil, nil, verdict.Reason{}, nil, nil
	if len(t.Rounds) != len(t.Values) {
		one.Rounds = nil // the page numbers them
	}
	b.Figures.Tests = append(b.Figures.Tests, one)
	return Figure{"tests", len(b.Figures.Tests) - 1, title}, true
}

// whose are the launches of a figure, by its first and last arm: one may have no data.
func whose(first, last string) string {
	if first == last {
		return first
	}
	return "each arm"
}

// spreads are the times to the first token and between tokens of those launches, the
// reference first.
// Unreadable data have no figure.
func (b *builder) spreads(arms []ledger.Arm, of string) (out []Figure) {
	values := map[string][2][]float64{}
	for i, arm := range arms {
		for _, id := range arm.Launches {
			l, ok := b.st.LaunchByID(id)
			if !ok || !l.OK || l.Samples == "" {
				continue
			}
			samples, err := b.st.ReadSamples(l)
			if err != nil {
				continue
			}
			for _, s := range samples {
				derived, err := measure.Derive(s)
				if err != nil || !s.Measured() || s.Err != "" {
					continue
				}
				for _, metric := range []string{"ttft", "itl"} {
					key := s.Workload + "." + metric
					both := values[key]
					both[i] = append(both[i], derived[metric]...)
					values[key] = both
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		spread := Spread{Metric: key}
		for i, arm := range arms {
			if xs := values[key][i]; len(xs) > 1 {
				slices.Sort(xs)
				of := ArmSpread{Arm: arm.Name, Base: i == 0, N: len(xs)}
				for q := range quantiles {
					of.Quantiles = append(of.Quantiles, short(measure.Quantile(xs, float64(q)/(quantiles-1))))
				}
				spread.Arms = append(spread.Arms, of)
			}
		}
		if len(spread.Arms) == 0 {
			continue
		}
		b.Figures.Spreads = append(b.Figures.Spreads, spread)
		out = append(out, Figure{"spreads", len(b.Figures.Spreads) - 1, key + ": distribution in " + of + " of " + whose(spread.Arms[0].Arm, spread.Arms[len(spread.Arms)-1].Arm)})
	}
	return out
}

// short keeps the digits that a screen can show.
func short(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	scale := math.Pow(10, 5-math.Ceil(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}

// traced are the series to draw; the host's if there is no GPU.
var traced = [][]string{{measure.GPUPower, measure.GPUClock, measure.GPUTemperature}, {measure.HostCPU, measure.EngineMemory}}

// traces are those of the last launch of each arm, the reference first.
func (b *builder) traces(arms []ledger.Arm) (out []Figure) {
	found := map[string]*Trace{}
	for i, arm := range arms {
		if len(arm.Launches) == 0 {
			continue
		}
		l, ok := b.st.LaunchByID(arm.Launches[len(arm.Launches)-1])
		if !ok || l.Series == "" {
			continue
		}
		series, err := b.st.ReadSeries(l)
		if err != nil {
			continue
		}
		for _, s := range series {
			if len(s.At) < 3 {
				continue
			}
			if found[s.Name] == nil {
				found[s.Name] = &Trace{Name: s.Name, Unit: s.Unit}
			}
			// A line is the means of equal stretches.
			line, every := ArmTrace{Arm: arm.Name, Base: i == 0, Source: s.Source}, (len(s.At)+tracePoints-1)/tracePoints
			for from := 0; from < len(s.At); from += every {
				end, sum := min(from+every, len(s.At)), 0.0
				for _, x := range s.Value[from:end] {
					sum += x
				}
				line.At = append(line.At, short(s.At[(from+end-1)/2].Seconds()))
				line.Value = append(line.Value, short(sum/float64(end-from)))
			}
			found[s.Name].Lines = append(found[s.Name].Lines, line)
		}
	}
	for _, names := range traced {
		for _, name := range names {
			if t := found[name]; t != nil {
				b.Figures.Traces = append(b.Figures.Traces, *t)
				out = append(out, Figure{"traces", len(b.Figures.Traces) - 1, name + " over the last launch of " + whose(t.Lines[0].Arm, t.Lines[len(t.Lines)-1].Arm)})
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return out
}

// kernels are the profiles of a candidate and of its parent, if both are on record.
func (b *builder) kernels(e ledger.Evidence) (out []Figure) {
	was, had := b.st.LaunchByID(e.Parent.Qualified)
	is, has := b.st.LaunchByID(e.Candidate.Qualified)
	if !had || !has {
		return nil
	}
	before, after := report.ProfileOf(b.st, was), report.ProfileOf(b.st, is)
	if before == nil || after == nil {
		return nil
	}
	for _, p := range after.Parts {
		i := slices.IndexFunc(before.Parts, func(q trace.Part) bool { return q.Phase == p.Phase && q.Requests == p.Requests })
		if i < 0 {
			continue
		}
		k := Kernels{Part: p.Phase}
		for _, c := range p.Categories {
			x, known := p.Per(c.Total)
			j := slices.IndexFunc(before.Parts[i].Categories, func(d trace.Category) bool { return d.Name == c.Name })
			if !known || j < 0 {
				continue
			}
			y, known := before.Parts[i].Per(before.Parts[i].Categories[j].Total)
			if known && x+y > 0 {
				k.Names, k.Before, k.After = append(k.Names, c.Name), append(k.Before, short(y)), append(k.After, short(x))
			}
		}
		if len(k.Names) > 0 {
			b.Figures.Kernels = append(b.Figures.Kernels, k)
			out = append(out, Figure{"kernels", len(b.Figures.Kernels) - 1, "Kernel time by category in " + p.Phase + ", before and after"})
		}
	}
	return out
}
