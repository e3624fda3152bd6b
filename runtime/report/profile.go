package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// ProfileOf is the analysis of a launch's profiles; nil if there is none that can be read,
// which mxflow audit reports.
func ProfileOf(st *store.Store, l *ledger.Launch) *trace.Analysis {
	sum := l.Left["profile/analysis.json"]
	if sum == "" {
		return nil
	}
	text, err := st.Get(sum)
	a := &trace.Analysis{}
	if err != nil || json.Unmarshal(text, a) != nil || a.Format != trace.Format {
		return nil
	}
	return a
}

// mostThreads is how many threads of the host are listed.
const mostThreads = 8

// ProfileTables are where the time of a part of a profile goes, with so many kernels, 0 for
// all: GPU time by category and by kernel, causes of waiting and host threads, each if the
// profile shows it.
func ProfileTables(p *trace.Part, kernels int) (tables []Table) {
	name, per := unitOfPart(p)
	add := func(head []string, rows [][]string) {
		if len(rows) > 0 {
			tables = append(tables, Table{head, rows})
		}
	}
	work := func(name string, total float64, count int) []string {
		return []string{name, Tenths(per(total)), shareOf(total, p.GPU), each(p, count)}
	}
	var rows [][]string
	for _, c := range p.Categories {
		rows = append(rows, work(trace.Words(c.Name), c.Total, c.Count))
	}
	rows = append(rows, work("all", p.GPU, p.Count()))
	if us, count := p.Conversions(); count > 0 {
		rows = append(rows, work("of that, conversions of formats", us, count))
	}
	add([]string{"category", name, "share", "launches"}, rows)
	rows = nil
	for _, l := range p.Layers {
		rows = append(rows, work(l.Name, l.Total, l.Count))
	}
	add([]string{"layer", name, "share", "launches"}, rows)
	rows = nil
	shown, rest := First(p.Kernels, kernels)
	for _, k := range shown {
		rows = append(rows, work(k.Short, k.Total, k.Count))
	}
	if len(rest) > 0 {
		sum, count := 0.0, 0
		for _, k := range rest {
			sum, count = sum+k.Total, count+k.Count
		}
		rows = append(rows, work(fmt.Sprintf("(%d more)", len(rest)), sum, count))
	}
	add([]string{"kernel", name, "share", "launches"}, rows)
	rows = nil
	for _, w := range p.Waits {
		rows = append(rows, []string{trace.Words(w.Cause), Tenths(per(w.Total)), shareOf(w.Total, p.Wall)})
	}
	add([]string{"the GPU waits while", name, "of the time"}, rows)
	rows = nil
	threads, _ := First(p.Threads, mostThreads)
	for _, t := range threads {
		rows = append(rows, []string{t.Name, Tenths(per(t.Total)), shareOf(t.Total, p.Wall)})
	}
	add([]string{"host thread at work", name, "of the time"}, rows)
	return tables
}

// PartTitle is what part of a profile it is, how long a step of it takes and how busy the
// GPU is.
func PartTitle(p *trace.Part) string {
	title := PartName(p.Phase, p.Requests)
	if p.GPUs > 1 {
		title += ", " + verdict.Count(p.GPUs, "GPU")
	}
	if p.Steps > 0 {
		title += ": " + verdict.Count(p.Steps, "step")
	}
	if name, per := unitOfPart(p); p.Wall > 0 {
		title += fmt.Sprintf(", %s %s: GPU busy %.0f%%, waiting %.0f%%", Tenths(per(p.Wall)), name, 100*p.Busy/p.Wall,
			100*(1-p.Busy/p.Wall))
	}
	return title
}

// PartName is "decode, 1 request".
func PartName(phase string, requests int) string {
	if phase == trace.Whole {
		phase = "whole profile"
	}
	if requests > 0 {
		phase += ", " + verdict.Count(requests, "request")
	}
	return phase
}

// unitOfPart is what a part's times are divided by, and its name.
func unitOfPart(p *trace.Part) (name string, per func(float64) float64) {
	in := func(us float64) float64 { x, _ := p.Per(us); return x }
	switch _, known := p.Per(1); {
	case !known:
		return "ms", func(us float64) float64 { return us / 1e3 }
	case p.Phase == trace.Prefill, p.Phase == trace.Decode && p.Requests == 1 && p.Tokens == p.Steps:
		return "µs/token", in
	}
	return "µs/step", in
}

// First splits a list after so many; 0 is all of it.
func First[T any](all []T, most int) (shown, rest []T) {
	if most <= 0 || most > len(all) {
		most = len(all)
	}
	return all[:most], all[most:]
}

// each is how many times something ran per step or token; in total if neither is known.
func each(p *trace.Part, n int) string {
	if per, ok := p.Per(float64(n)); ok {
		return strings.TrimSuffix(Tenths(per), ".0")
	}
	return strconv.Itoa(n)
}

// Tenths is a time with one decimal.
func Tenths(x float64) string {
	if math.Abs(x) < 0.05 {
		x = 0 // no -0.0
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// shareOf is a part as a percentage of all.
func shareOf(part, all float64) string {
	if all <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*part/all)
}
