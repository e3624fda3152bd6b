package measure

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/mxflow/mxflow/engine/measure/capacity"
)

// Recording is everything that one launch recorded for deriving metrics. Evaluate is a
// pure function of it, so every stored metric can be recomputed from stored recordings.
type Recording struct {
	// Cells are the cells in the order in which they were sent.
	Cells []CellRun
	// Samples are all requests, warm-ups and contexts included.
	Samples []Sample
	// Series are the readings sampled at the same time.
	Series []Series
	// Windows are when a command, which is sent nothing, worked; empty if there are
	// cells.
	Windows []Window
}

type Window struct {
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
}

// exists is false for the windows of recordings that do not say when a cell was
// measured.
func (w Window) exists() bool { return w.From >= 0 && w.To > w.From }

func (w Window) seconds() float64 { return (w.To - w.From).Seconds() }

func (w Window) holds(at time.Duration) bool { return at >= w.From && at <= w.To }

// union is the same time in order, overlapping stretches merged.
func union(all []Window) (out []Window) {
	slices.SortFunc(all, func(a, b Window) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for _, w := range all {
		if n := len(out); n > 0 && w.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, w.To)
			continue
		}
		out = append(out, w)
	}
	return out
}

// Dimensions are what tells the cells of a workload apart.
type Dimensions struct {
	// Prompt, Output and Depth are the requested tokens; 0 if lengths are drawn.
	Prompt int `json:"prompt,omitempty"`
	Output int `json:"output,omitempty"`
	Depth  int `json:"depth,omitempty"`
	// Concurrency is how many requests a closed loop keeps in flight, at least 1; in an
	// open loop it is the cap, 0 for none. Rate is an open loop's requests per second, 0
	// in a closed loop.
	Concurrency int     `json:"concurrency,omitempty"`
	Rate        float64 `json:"rate,omitempty"`
}

// CellRun is one cell as sent within one launch: what was requested, and the time in
// which it was measured, on the recording's monotonic clock.
type CellRun struct {
	Cell string `json:"cell"`
	// From is when the first measured request was due, To when the last one had
	// ended.
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
	Dimensions
	// SLO are the limits in ms for a good request, by metric.
	SLO map[string]float64 `json:"slo,omitempty"`
	// ExactOutput is set if the length of answers was enforced.
	ExactOutput bool `json:"exact_output,omitempty"`
	// ByEvents is set if the output tokens of at least one answer are stream events
	// counted by the client, because the engine did not count: one may hold many.
	ByEvents bool `json:"by_events,omitempty"`
	// UniqueContext is set if what preceded each prompt was its own, sent once and never
	// cached. Only then are the tokens of a context known to have been computed if the
	// engine does not report how many were cached.
	UniqueContext bool `json:"unique_context,omitempty"`
	// Unread is set if its answers are declared not to be text: how they read says
	// nothing about the engine.
	Unread bool `json:"unread,omitempty"`
	// Limit is what the machine allows; nil if machine or model are unknown.
	Limit *Limit `json:"limit,omitempty"`
	// Trace is what it was sent of recorded traffic; nil of none.
	Trace *TraceRun `json:"trace,omitempty"`
	// Prompts is how its prompts were made.
	Prompts PromptLengths `json:"prompts,omitzero"`
	// Requests were to be measured, Warmup requests were sent before them, with Sampling; for
	// readers, as samples show what was sent.
	Requests int      `json:"requests,omitempty"`
	Warmup   int      `json:"warmup,omitempty"`
	Sampling Sampling `json:"sampling,omitzero"`
	// Probe is set if it was sent to find the capacity of a cell of the workload.
	Probe *Probe `json:"probe,omitempty"`
}

// Sampling are the parameters that requests were sent with. Those that are 0 and not sent have no
// entry.
type Sampling struct {
	API               string  `json:"api,omitempty"`
	Temperature       float64 `json:"temperature"`
	TopP              float64 `json:"top_p,omitempty"`
	TopK              int     `json:"top_k,omitempty"`
	MinP              float64 `json:"min_p,omitempty"`
	RepetitionPenalty float64 `json:"repetition_penalty,omitempty"`
	Seed              int     `json:"seed"`
}

// PromptLengths is how a cell's prompts got their length, for judging answers.
type PromptLengths struct {
	Method string `json:"method"`
	// Verified is set if the engine counted as many tokens as expected, and Own if its
	// own tokenizer made them.
	Verified bool `json:"verified"`
	Own      bool `json:"own,omitempty"`
	// Template is how many tokens all of them share.
	Template int `json:"template,omitempty"`
}

func (c CellRun) window() Window { return Window{c.From, c.To} }

// Evaluate derives every metric of a launch that the recording has evidence for, by
// address without statistic: "chat.o32.tg", "gpu.power_w". It is a pure function, and on
// one architecture the same recording gives the same bits: sums are in a fixed order, and
// products are rounded before they are added, so no architecture fuses what others do in
// two steps.
//
// A cell that was sent twice has no metrics: which of its samples belong to which window
// is unknown.
func Evaluate(r Recording) map[string]Summary {
	out, series := map[string]Summary{}, newSeriesSet(r.Series)
	sent, times := map[string][]Sample{}, map[string]int{}
	var first time.Duration
	started := false // by the first request, warm-ups and contexts included
	for _, s := range r.Samples {
		sent[s.Workload] = append(sent[s.Workload], s)
		if s.recorded() && (!started || s.Start < first) {
			first, started = s.Start, true
		}
	}
	for _, c := range r.Cells {
		times[c.Cell]++
	}
	for _, c := range r.Cells {
		if times[c.Cell] > 1 {
			continue
		}
		if c.Probe != nil {
			continue // arms are sent other rates: their numbers are no metrics of the workload
		}
		answers := answersOf(sent[c.Cell], c)
		for name, s := range summarize(answers) {
			out[c.Cell+"."+name] = s
		}
		one := single{out: out, prefix: c.Cell + ".", scope: PerCell}
		tokens, counted := one.cell(c, answers)
		one.engine(c.window(), sent[c.Cell], series)
		one.resources(c.window(), series, tokens, counted)
		one.limit(c, answers)
	}
	for _, of := range r.Searched() {
		for name, s := range summarize(r.pooled(of)) {
			if slices.Contains(amounts, name) {
				out[of+"."+name] = s
			}
		}
		found := capacity.Estimate(r.probes(of))
		single{out: out, prefix: of + ".", scope: PerCell}.put("capacity", found.Rate, found.Known())
	}
	// All measured times; none if one is unknown: what is left out might have been the
	// bad one.
	var windows []Window
	for _, w := range r.measured() {
		if !w.exists() {
			windows = nil
			break
		}
		windows = append(windows, w.Window)
	}
	windows = union(windows)
	gpus := single{out: out, prefix: "gpu.", scope: PerGPU}
	gpus.gpu(windows, series)
	if started {
		idle, known := series.idle(first)
		gpus.put("idle_power_w", idle, known)
	}
	single{out: out, prefix: "host.", scope: PerHost}.host(windows, series)
	return out
}

// cellWindow is a window with the address of the cell that was sent in it.
type cellWindow struct {
	Window
	cell string
}

// commandCell replaces a cell if nothing was sent.
const commandCell = "command"

// OfCommand reports whether a cell is a command's output, by its address.
func OfCommand(cell string) bool { return cell == commandCell }

// measured are the windows of all cells, or of a command.
func (r Recording) measured() (all []cellWindow) {
	for _, c := range r.Cells {
		all = append(all, cellWindow{c.window(), c.Cell})
	}
	for _, w := range r.Windows {
		all = append(all, cellWindow{w, commandCell})
	}
	return all
}

// Agreement is how stored metrics compare with the same recording evaluated again.
type Agreement struct {
	// Evaluated are the metrics of the recording, now.
	Evaluated map[string]Summary
	// Numbers counts the statistics and counts compared.
	Numbers int
	// Differ are the numbers that came out differently.
	Differ []Difference
}

// Difference is one number that a recomputation did not reproduce.
type Difference struct {
	Address string
	// What is a statistic, or a field of the summary such as "n" or "unit".
	What string
	// Stored and Again are exact; "absent" if there is none.
	Stored string
	Again  string
}

// Gives reports whether a metric of that address comes from the recording, as
// engine.startup_s does not.
func (r Recording) Gives(address string) bool {
	where, _ := SplitAddress(address)
	return where == string(PerGPU) || where == string(PerHost) ||
		slices.ContainsFunc(r.Cells, func(c CellRun) bool { return c.Cell == where || c.searches(where) })
}

// Agree evaluates a recording and compares the result with what was stored. A tolerance
// of 0 requires every bit to be equal; else it is relative, for statistics only.
func Agree(r Recording, stored map[string]Summary, tolerance float64) Agreement {
	a := Agreement{Evaluated: Evaluate(r)}
	a.probes(r, tolerance)
	for _, address := range slices.Sorted(maps.Keys(stored)) {
		if !r.Gives(address) {
			continue
		}
		now, there := a.Evaluated[address]
		if !there {
			a.Numbers++
			a.Differ = append(a.Differ,
				Difference{address, "metric", fmt.Sprintf("%d values", stored[address].N), "absent"})
			continue
		}
		was, is := stored[address].numbers(), now.numbers()
		for what := range was {
			is[what] = cmp.Or(is[what], "absent")
		}
		for _, what := range slices.Sorted(maps.Keys(is)) {
			x, y := cmp.Or(was[what], "absent"), cmp.Or(is[what], "absent")
			a.compare(Difference{address, what, x, y}, tolerance)
		}
	}
	return a
}

func (a *Agreement) compare(d Difference, tolerance float64) {
	if a.Numbers++; d.Stored != d.Again && !(tolerance > 0 && equalWithin(d.Stored, d.Again, tolerance)) {
		a.Differ = append(a.Differ, d)
	}
}

// numbers are what a summary says, exactly.
func (s Summary) numbers() map[string]string {
	out := map[string]string{
		"unit": s.Unit, "better": string(s.Better), "n": strconv.Itoa(s.N), "requests": strconv.Itoa(s.Requests),
	}
	for name, x := range s.Stats {
		out[name] = strconv.FormatFloat(x, 'g', -1, 64)
	}
	return out
}

// equalWithin reports whether two numbers are equal within a relative tolerance.
func equalWithin(a, b string, tolerance float64) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && math.Abs(x-y) <= tolerance*max(math.Abs(x), math.Abs(y))
}
