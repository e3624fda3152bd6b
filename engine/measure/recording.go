package measure

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Recording is everything that one launch recorded for deriving metrics. Evaluate is a
// pure function of it, so every stored metric can be recomputed from stored recordings.
type Recording struct {
	// Cells are the cells in the order in which they were sent.
	Cells []CellRun
	// Samples are all requests, warm-ups and contexts included.
	Samples []Sample
	// Series are what was sampled beside them.
	Series []Series
	// Windows are when a command, which is sent nothing, worked; empty if there are
	// cells.
	Windows []Window
}

// Window is a stretch of a recording's time.
type Window struct {
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
}

// CellRun is one cell as sent within one launch: what was requested, and the time in
// which it was measured, on the recording's monotonic clock.
type CellRun struct {
	Cell string `json:"cell"`
	// From is when the first measured request was due, To when the last one had
	// ended.
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
	// Prompt, Output and Depth are the requested tokens; 0 if lengths differ.
	Prompt int `json:"prompt,omitempty"`
	Output int `json:"output,omitempty"`
	Depth  int `json:"depth,omitempty"`
	// Concurrency is how many requests a closed loop kept in flight; for an open loop it
	// is the cap, 0 for none, and Rate its requests per second.
	Concurrency int     `json:"concurrency,omitempty"`
	Rate        float64 `json:"rate,omitempty"`
	// SLO are the limits in ms for a good request, by metric.
	SLO map[string]float64 `json:"slo,omitempty"`
	// Correction is how Latency was measured: "none", "api" or "generation", as in
	// llama-benchy. Latency is subtracted in the metrics that say so.
	Correction string        `json:"correction,omitempty"`
	Latency    time.Duration `json:"latency_ns,omitempty"`
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
	// Prompts is how its prompts were made; zero in older records.
	Prompts PromptsMade `json:"prompts,omitzero"`
}

// PromptsMade is how a cell's prompts got their length, for judging answers.
type PromptsMade struct {
	Method string `json:"method"`
	// Verified is set if the engine counted as many tokens as expected, and Own if its
	// own tokenizer made them.
	Verified bool `json:"verified"`
	Own      bool `json:"own,omitempty"`
	// Template is how many tokens all of them share.
	Template int `json:"template,omitempty"`
}

// Evaluate derives every metric of a launch that the recording has evidence for, by
// address without statistic: "chat.o32.tg", "gpu.power_w". It is a pure function, and on
// one architecture the same recording gives the same bits: sums are in a fixed order, and
// products are rounded before they are added, so no architecture fuses what others do in
// two steps.
func Evaluate(r Recording) map[string]Summary {
	out := map[string]Summary{}
	samples := bySent(r)
	watched := newWatched(r.Series)
	for _, c := range r.Cells {
		sent, once := samples[c.Cell]
		if !once {
			continue
		}
		answers := answersOf(sent, c)
		for name, s := range summarize(answers, c) {
			out[c.Cell+"."+name] = s
		}
		one := single{out: out, prefix: c.Cell + ".", scope: PerCell}
		totals := one.cell(c, answers)
		one.engine(c.window(), sent, watched)
		one.resources(c.window(), watched, totals)
		one.limit(c, answers)
	}
	windows := r.windows()
	gpus := single{out: out, prefix: "gpu.", scope: PerGPU}
	gpus.gpu(windows, watched)
	if first, sent := firstSend(r.Samples); sent {
		idle, known := watched.idle(first)
		gpus.put("idle_power_w", idle, known)
	}
	single{out: out, prefix: "host.", scope: PerHost}.host(windows, watched)
	return out
}

// bySent are the samples of each cell. A cell that was sent twice is left out: which of
// its samples belong to which window is unknown.
func bySent(r Recording) map[string][]Sample {
	out, seen := map[string][]Sample{}, map[string]int{}
	for _, c := range r.Cells {
		out[c.Cell] = nil
		seen[c.Cell]++
	}
	for _, s := range r.Samples {
		if seen[s.Workload] == 1 {
			out[s.Workload] = append(out[s.Workload], s)
		}
	}
	for cell, n := range seen {
		if n > 1 {
			delete(out, cell)
		}
	}
	return out
}

// maxGap is how far apart readings may be for the time between them to count as watched.
// Telemetry reads ten times a second, and an engine's page four times.
const maxGap = 2 * time.Second

// window is a stretch of the recording's time.
type window struct{ from, to time.Duration }

func (c CellRun) window() window { return window{c.From, c.To} }

// corrects reports whether a latency is to be subtracted.
func (c CellRun) corrects() bool {
	return c.Correction != "" && c.Correction != "none" && c.Latency > 0
}

// exists is false for the windows of recordings that do not say when a cell was
// measured.
func (w window) exists() bool { return w.from >= 0 && w.to > w.from }

func (w window) seconds() float64 { return (w.to - w.from).Seconds() }

func (w window) holds(at time.Duration) bool { return at >= w.from && at <= w.to }

// cellWindow is a window with the address of the cell that was sent in it.
type cellWindow struct {
	window
	cell string
}

// commandCell replaces a cell if nothing was sent.
const commandCell = "command"

// OfCommand reports whether a cell's address is that of a command's output, with labels
// or without.
func OfCommand(cell string) bool {
	return cell == commandCell || strings.HasPrefix(cell, commandCell+".")
}

// measured are the windows of all cells, or of a command.
func (r Recording) measured() (all []cellWindow) {
	for _, c := range r.Cells {
		all = append(all, cellWindow{c.window(), c.Cell})
	}
	for _, w := range r.Windows {
		all = append(all, cellWindow{window{w.From, w.To}, commandCell})
	}
	return all
}

// windows are all measured times in order, overlapping ones merged. There are none if one
// is unknown: what is left out might have been the bad one.
func (r Recording) windows() []window {
	var all []window
	for _, w := range r.measured() {
		if !w.exists() {
			return nil
		}
		all = append(all, w.window)
	}
	return union(all)
}

func totalSeconds(windows []window) float64 {
	var sum time.Duration
	for _, w := range windows {
		sum += w.to - w.from
	}
	return sum.Seconds()
}

// firstSend is when the first request of a recording was sent, warm-ups and
// contexts included.
func firstSend(samples []Sample) (first time.Duration, known bool) {
	for _, s := range samples {
		if s.recorded() && (!known || s.Start < first) {
			first, known = s.Start, true
		}
	}
	return first, known
}

// flown is when requests of a cell were in flight within its window, as ordered, disjoint
// stretches: warm-ups and contexts included, since the engine works on them like on
// others. For a request without an event the time in flight is unknown.
func flown(w window, sent []Sample) []window {
	var all []window
	for _, s := range sent {
		if !s.recorded() || len(s.Events) == 0 {
			continue
		}
		one := window{max(s.Start, w.from), min(s.Start+s.Events[len(s.Events)-1].At, w.to)}
		if one.exists() {
			all = append(all, one)
		}
	}
	return union(all)
}

// union is the same time in order, overlapping stretches merged.
func union(all []window) (out []window) {
	slices.SortFunc(all, func(a, b window) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for _, w := range all {
		if n := len(out); n > 0 && w.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, w.to)
			continue
		}
		out = append(out, w)
	}
	return out
}

// Agreement is how stored metrics compare with the same recording evaluated again.
type Agreement struct {
	// Metrics counts those compared, Numbers their statistics and counts.
	Metrics, Numbers int
	// Differ are the numbers that came out differently.
	Differ []Difference
	// Elsewhere are stored metrics that do not come from the recording
	// (engine.startup_s).
	Elsewhere []string
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

// Agree evaluates a recording and compares the result with what was stored. A tolerance
// of 0 requires every bit to be equal; else it is relative, for statistics only.
func Agree(r Recording, stored map[string]Summary, tolerance float64) Agreement {
	var a Agreement
	again := Evaluate(r)
	for _, address := range slices.Sorted(maps.Keys(stored)) {
		if !r.gives(address) {
			a.Elsewhere = append(a.Elsewhere, address)
			continue
		}
		a.Metrics++
		now, there := again[address]
		if !there {
			a.Numbers++
			a.Differ = append(a.Differ, Difference{address, "metric", fmt.Sprintf("%d values", stored[address].N), "absent"})
			continue
		}
		a.compare(address, stored[address], now, tolerance)
	}
	return a
}

// gives reports whether a metric of that address comes from the recording.
func (r Recording) gives(address string) bool {
	where, _ := SplitAddress(address)
	return where == string(PerGPU) || where == string(PerHost) || slices.ContainsFunc(r.Cells, func(c CellRun) bool { return c.Cell == where })
}

func (a *Agreement) compare(address string, stored, again Summary, tolerance float64) {
	differ := func(what, x, y string) {
		a.Numbers++
		if x != y {
			a.Differ = append(a.Differ, Difference{address, what, x, y})
		}
	}
	differ("unit", stored.Unit, again.Unit)
	differ("better", string(stored.Better), string(again.Better))
	differ("correction", stored.Correction, again.Correction)
	differ("n", strconv.Itoa(stored.N), strconv.Itoa(again.N))
	differ("requests", strconv.Itoa(stored.Requests), strconv.Itoa(again.Requests))
	names := slices.Concat(slices.Collect(maps.Keys(stored.Stats)), slices.Collect(maps.Keys(again.Stats)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		x, hasX := stored.Stats[name]
		y, hasY := again.Stats[name]
		if name == Drift && !hasX {
			continue // recorded before this existed
		}
		a.Numbers++
		if !hasX || !hasY || !same(x, y, tolerance) {
			a.Differ = append(a.Differ, Difference{address, name, exact(x, hasX), exact(y, hasY)})
		}
	}
}

// same compares bits, or within a relative tolerance.
func same(x, y, tolerance float64) bool {
	if math.Float64bits(x) == math.Float64bits(y) {
		return true
	}
	return tolerance > 0 && math.Abs(x-y) <= tolerance*max(math.Abs(x), math.Abs(y))
}

func exact(x float64, there bool) string {
	if !there {
		return "absent"
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
