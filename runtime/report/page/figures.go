package page

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/profile"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// Figures are the numbers of all plots, as the page's script reads them. Key order and
// names are those of page.js.
type Figures struct {
	Tests    []Test    `json:"tests"`
	Sessions []Session `json:"sessions"`
	Timeline []Decided `json:"timeline"`
	Spreads  []Spread  `json:"spreads"`
	Traces   []Trace   `json:"traces"`
	Kernels  []Kernels `json:"kernels"`
	Matrices []Matrix  `json:"matrices"`
}

// Test is one comparison with every launch that it read.
type Test struct {
	Metric    string   `json:"metric"`
	Unit      string   `json:"unit"`
	Own       string   `json:"own"` // unit of the threshold, the estimate and its bounds
	Relation  string   `json:"relation"`
	Arm       string   `json:"arm"`
	Against   string   `json:"against"`
	More      bool     `json:"more"`
	Threshold float64  `json:"threshold"`
	Estimate  *float64 `json:"estimate"`
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	Stop      string   `json:"stop"`
	// Values and Base are launches by round.
	Values []float64 `json:"values"`
	Base   []float64 `json:"base"`
	Rounds []int     `json:"rounds"`
}

// Session is the speed of every launch of an undecided session.
type Session struct {
	Session string       `json:"session"`
	Metric  string       `json:"metric"`
	Unit    string       `json:"unit"`
	Arms    []SessionArm `json:"arms"`
}

// SessionArm is one arm of it, by round. Base is set here and below for what others are
// compared with.
type SessionArm struct {
	Arm    string    `json:"arm"`
	Base   bool      `json:"base"`
	Rounds []int     `json:"rounds"`
	Values []float64 `json:"values"`
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

// ArmSpread is a distribution over N values.
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

// Matrix is a comparison of engines or of knob values against its reference.
type Matrix struct {
	Title   string       `json:"title"`
	Columns []string     `json:"columns"`
	Rows    []MatrixLine `json:"rows"`
}

// MatrixLine has each metric's speed-up over the reference, null if unknown.
type MatrixLine struct {
	Name     string     `json:"name"`
	Verdict  string     `json:"verdict"`
	Speedups []*Speedup `json:"speedups"`
}

// Speedup is how many times better than the reference something is, with its 95%
// interval if launches varied.
type Speedup struct {
	At   float64  `json:"at"`
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Shown is whether several launches show it to differ from 1.
	Shown bool `json:"shown,omitempty"`
}

const (
	// mostRead limits the launches read for distributions and traces: the files of 5,000
	// take minutes and fill a page.
	mostRead = 240
	// quantiles and tracePoints are what a line on a screen can show.
	quantiles   = 41
	tracePoints = 160
	// mostDecided limits the decisions on the timeline to the newest.
	mostDecided = 2000
)

// accepted is the name of the accepted stack as an arm.
const accepted = "accepted"

// session adds the newest session of a run if nothing rests on it yet.
func (b *builder) session(v *store.RunView) {
	var name string
	for _, l := range v.Launches {
		if l.Purpose == ledger.ForBenchmark {
			name = l.Session
		}
	}
	if name == "" || slices.ContainsFunc(v.Decisions, func(d store.Decided) bool { return d.Session == name }) {
		return
	}
	launches := b.st.Launches(store.LaunchFilter{Session: name, Purpose: ledger.ForBenchmark, OK: true})
	s := Session{Session: name, Metric: speedOf(launches)}
	for _, l := range launches {
		m, ok := l.Metrics[s.Metric]
		value, has := m.Stats["median"]
		if !ok || !has || len(l.Invalid) > 0 {
			continue
		}
		i := slices.IndexFunc(s.Arms, func(a SessionArm) bool { return a.Arm == l.Variant })
		if i < 0 {
			i, s.Arms = len(s.Arms), append(s.Arms, SessionArm{Arm: l.Variant, Base: l.Variant == ledger.Baseline || l.Variant == accepted})
		}
		s.Unit = m.Unit
		s.Arms[i].Rounds, s.Arms[i].Values = append(s.Arms[i].Rounds, l.Ordinal), append(s.Arms[i].Values, value)
	}
	if len(s.Arms) > 0 {
		b.Figures.Sessions = []Session{s}
	}
}

// test adds the figure of a comparison of launches.
func (b *builder) test(title string, t *verdict.Test) (Figure, bool) {
	if t == nil || t.Form == verdict.Exact || len(t.Values) == 0 {
		return Figure{}, false
	}
	rounds := t.Rounds
	if len(rounds) != len(t.Values) {
		rounds = make([]int, max(len(t.Values), len(t.Base)))
		for i := range rounds {
			rounds[i] = i + 1
		}
	}
	b.Figures.Tests = append(b.Figures.Tests, Test{
		Metric: strings.Trim(t.Metric+" "+t.Stat, " "), Unit: t.Unit, Own: unitOf(t), Relation: t.Relation, Arm: t.Arm, Against: t.Against, More: t.More,
		Threshold: t.Threshold, Estimate: t.Estimate, Low: t.Low, High: t.High, Stop: string(t.Stop), Values: t.Values, Base: t.Base, Rounds: rounds,
	})
	return Figure{"tests", len(b.Figures.Tests) - 1, title}, true
}

// evidence adds the figures of a feature's launches.
func (b *builder) evidence(d *ledger.Decision) (out []Figure) {
	e := report.EvidenceOf(d)
	if n := b.reads[d.Node]; n > 0 {
		arms := []ledger.Arm{lastOf(e.Parent, n), lastOf(e.Candidate, n)}
		of := "all launches"
		if n < longest(e) {
			of = "the last " + tell.Launches(n)
		}
		out = append(out, b.spreads(arms, of)...)
		out = append(out, b.traces(arms)...)
	}
	return append(out, b.kernels(e)...)
}

// longest is the number of launches of the longer arm of a candidate and its parent.
func longest(e ledger.Evidence) int { return max(len(e.Parent.Launches), len(e.Candidate.Launches)) }

// lastOf is an arm with its last n launches.
func lastOf(a ledger.Arm, n int) ledger.Arm {
	a.Launches = a.Launches[max(0, len(a.Launches)-n):]
	return a
}

// share is how many launches of each arm are read for distributions and traces, by node:
// equally many of every feature, the last ones, and if there are more features than
// launches that may be read, one of those decided last.
func (b *builder) share(rows []report.Row) {
	var all []store.Decided
	var long []int
	for _, r := range rows {
		if d := r.Decided; d != nil && !r.Gone && d.Kind == ledger.KindFeature {
			all = append(all, *d)
		}
	}
	slices.SortStableFunc(all, func(a, b store.Decided) int { return b.Time.Compare(a.Time) })
	if n := mostRead / 2; len(all) > n {
		b.Left = append(b.Left, fmt.Sprintf("Distributions and traces: the last %d of %d decided features.", n, len(all)))
		all = all[:n]
	}
	for _, d := range all {
		long = append(long, longest(report.EvidenceOf(d.Decision)))
	}
	least := slices.Max(append(long, 0))
	for ; least > 1; least-- {
		read := 0
		for _, n := range long {
			read += 2 * min(n, least)
		}
		if read <= mostRead {
			break
		}
	}
	b.reads = map[string]int{}
	for i, d := range all {
		b.reads[d.Node] = min(long[i], least)
	}
	if slices.Max(append(long, 0)) > least {
		b.Left = append(b.Left, fmt.Sprintf("Distributions: the last %s of each arm. The page reads at most %d launches.", tell.Launches(least), mostRead))
	}
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
				spread.Arms = append(spread.Arms, ArmSpread{arm.Name, i == 0, len(xs), quantilesOf(xs)})
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

func quantilesOf(xs []float64) []float64 {
	slices.Sort(xs)
	out := make([]float64, quantiles)
	for i := range out {
		out[i] = short(measure.Quantile(xs, float64(i)/(quantiles-1)))
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
			found[s.Name].Lines = append(found[s.Name].Lines, thinned(ArmTrace{Arm: arm.Name, Base: i == 0, Source: s.Source}, s))
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

// thinned gives a line a series, as means of equal stretches.
func thinned(t ArmTrace, s measure.Series) ArmTrace {
	every := (len(s.At) + tracePoints - 1) / tracePoints
	for i := 0; i < len(s.At); i += every {
		end, sum := min(i+every, len(s.At)), 0.0
		for _, x := range s.Value[i:end] {
			sum += x
		}
		t.At = append(t.At, short(s.At[(i+end-1)/2].Seconds()))
		t.Value = append(t.Value, short(sum/float64(end-i)))
	}
	return t
}

// analysis is where a launch keeps the analysis of its profiles.
const analysis = "profile/analysis.json"

// kernels are the profiles of a candidate and of its parent, if both are on record.
func (b *builder) kernels(e ledger.Evidence) (out []Figure) {
	before, after := b.profile(e.Parent.Qualified), b.profile(e.Candidate.Qualified)
	if before == nil || after == nil {
		return nil
	}
	for _, p := range after.Parts {
		i := slices.IndexFunc(before.Parts, func(q profile.Part) bool { return q.Phase == p.Phase && q.Requests == p.Requests })
		if i < 0 {
			continue
		}
		k := Kernels{Part: p.Phase}
		for _, c := range p.Categories {
			x, known := p.Per(c.Total)
			j := slices.IndexFunc(before.Parts[i].Categories, func(d profile.Category) bool { return d.Name == c.Name })
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

// profile is a launch's analysis; nil if there is none that can be read.
func (b *builder) profile(launch string) *profile.Analysis {
	l, ok := b.st.LaunchByID(launch)
	if !ok || l.Left[analysis] == "" {
		return nil
	}
	text, err := b.st.Get(l.Left[analysis])
	if err != nil {
		return nil
	}
	a := &profile.Analysis{}
	if json.Unmarshal(text, a) != nil || a.Format != profile.Format {
		return nil
	}
	return a
}

func (b *builder) matrix(d *ledger.Decision) {
	m := Matrix{Title: d.Node}
	for _, r := range d.Rows {
		for _, c := range r.Cells {
			if c.Speedup != nil && !slices.Contains(m.Columns, c.Address) {
				m.Columns = append(m.Columns, c.Address)
			}
		}
	}
	if len(m.Columns) == 0 {
		return
	}
	for _, r := range d.Rows {
		line := MatrixLine{Name: r.Name, Verdict: string(r.Verdict), Speedups: make([]*Speedup, len(m.Columns))}
		for _, c := range r.Cells {
			switch i := slices.Index(m.Columns, c.Address); {
			case i >= 0 && r.Reference:
				line.Speedups[i] = &Speedup{At: 1}
			case i >= 0 && c.Speedup != nil:
				line.Speedups[i] = speedup(c, r.N)
			}
		}
		m.Rows = append(m.Rows, line)
	}
	b.Figures.Matrices = append(b.Figures.Matrices, m)
}

// speedup is that of a cell over n launches.
func speedup(c verdict.Cell, n int) *Speedup {
	s := &Speedup{At: *c.Speedup, Low: c.SpeedupLow, High: c.SpeedupHigh}
	if s.Low == nil || s.High == nil {
		s.Shown = n > 1 && s.At != 1 // nothing varied
	} else {
		s.Shown = *s.Low > 1 || *s.High < 1
	}
	return s
}

// figures adds those of all features together.
func (b *builder) figures() {
	for _, r := range b.st.Records() {
		if d := r.Decision; d != nil && (d.Kind == ledger.KindFeature || d.Kind == ledger.KindGate) {
			b.Figures.Timeline = append(b.Figures.Timeline, Decided{r.Time.UTC(), d.Node, string(d.Verdict), d.Attempt})
		}
	}
	if n := len(b.Figures.Timeline); n > mostDecided {
		b.Figures.Timeline = b.Figures.Timeline[n-mostDecided:]
	}
}

// speedOf is the decode speed of the first cell that has one.
func speedOf(launches []*ledger.Launch) string {
	for _, l := range launches {
		for _, c := range l.Cells {
			if _, ok := l.Metrics[c.Cell+".tg"].Stats["median"]; ok {
				return c.Cell + ".tg"
			}
		}
	}
	return ""
}
