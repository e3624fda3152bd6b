package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Column is a statistic of a metric of a cell: of a workload as it was sent, or of what a launch has
// once, of its engine and host ("engine"), of its GPUs, or of a command.
type Column struct {
	Cell   string `json:"cell"`
	Metric string `json:"metric"`
	Stat   string `json:"stat"`
}

// headline metrics of a workload are what people decide by, in this order. Those without
// always are left out if all launches have them at zero, as most workloads have no queue,
// cache or limits.
var headline = []struct {
	metric, stat string
	always       bool
}{
	{"tg", "median", true},
	{"tg_of_limit", "mean", true},
	{"pp", "median", true},
	{"pp_of_limit", "mean", true},
	{"ttft", "median", true},
	{"ttft_to_256", "median", true},
	{"ttft_to_1k", "median", true},
	{"ttft_to_4k", "median", true},
	{"ttft_to_16k", "median", true},
	{"ttft_longer", "median", true},
	{"itl", "p99", true},
	{"e2e", "median", true},
	{"tg_total", "mean", true},
	{"capacity", "mean", true},
	{"goodput", "mean", true},
	{"slo_attainment", "mean", true},
	{"queue", "median", false},
	{"accept_length", "mean", true},
	{"cached_tokens", "median", false},
	{"prefix_shared", "mean", false},
	{"prefix_found", "mean", false},
	{"tokens_per_joule", "mean", true},
	{"errors", "mean", false},
	{"retry_count", "mean", false},
}

// headlineOfLaunch are those that a launch has once.
var headlineOfLaunch = []string{
	"engine.startup_s", "engine.first_request_s", "engine.memory_gb", "engine.crashes", "host.cpu_share",
	"host.memory_gb", "gpu.idle_power_w", "gpu.power_w", "gpu.peak_power_w", "gpu.energy_j", "gpu.memory_in_use_gb",
	"gpu.clock_mhz", "gpu.temperature_c", "gpu.throttled_share", "gpu.power_capped_share",
}

// Columns are the metrics that people decide by, as far as launches have them: of workloads in
// sending order, a command's own, of the engine with its host, of the GPUs.
func Columns(launches []*ledger.Launch) (columns []Column) {
	add := func(address, stat string, always bool) {
		if _, there := unitOf(launches, address, !always); there {
			cell, metric := measure.SplitAddress(address)
			columns = append(columns, Column{cell, metric, stat})
		}
	}
	for _, cell := range cellsOf(launches) {
		for _, h := range headline {
			add(cell+"."+h.metric, h.stat, h.always)
		}
	}
	ofCommand := addressesBelow(launches, "command")
	slices.SortStableFunc(ofCommand, func(a, b string) int { // what it prints with labels first
		x, _ := measure.SplitAddress(a)
		y, _ := measure.SplitAddress(b)
		if (x == "command") != (y == "command") {
			return map[bool]int{true: 1, false: -1}[x == "command"]
		}
		return byNumbers(x, y)
	})
	for _, address := range slices.Concat(ofCommand, headlineOfLaunch) {
		add(address, "median", address != "engine.crashes")
	}
	return columns
}

// byNumbers orders addresses as people count: tp2 before tp10.
func byNumbers(a, b string) int {
	digits := func(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
	for a != "" && b != "" {
		if n, m := digits(a), digits(b); n > 0 && m > 0 {
			if c := cmp.Or(cmp.Compare(n, m), strings.Compare(a[:n], b[:m])); c != 0 {
				return c
			}
			a, b = a[n:], b[m:]
			continue
		}
		if c := cmp.Compare(a[0], b[0]); c != 0 {
			return c
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// unitOf is a metric's unit, if any launch has it; with nonzero, at a value other than
// zero.
func unitOf(launches []*ledger.Launch, address string, nonzero bool) (unit string, there bool) {
	for _, l := range launches {
		if s, ok := l.Metrics[address]; ok && (!nonzero || s.Stats["max"] != 0) {
			return s.Unit, true
		}
	}
	return "", false
}

// head is a column's title with the unit, unless the name says it.
func head(title, unit string) string {
	if unit == "" || unit == "count" || slices.Contains([]string{"s", "gb", "w", "j", "mhz", "c", "tokens"},
		title[1+strings.LastIndexByte(title, '_'):]) {
		return title
	}
	return fmt.Sprintf("%s (%s)", title, unit)
}

// cellsOf are the addresses of all cells, in sending order; for a record without cells,
// by name.
func cellsOf(launches []*ledger.Launch) (cells []string) {
	add := func(cell string) {
		if !slices.Contains(cells, cell) {
			cells = append(cells, cell)
		}
	}
	for _, l := range launches {
		for _, c := range l.Cells {
			add(c.Of())
		}
	}
	for _, l := range launches {
		for _, address := range addressesBelow([]*ledger.Launch{l}, "") {
			cell, _ := measure.SplitAddress(address)
			ofLaunch := slices.Contains([]string{"engine", "gpu", "host"}, cell) || measure.OfCommand(cell)
			if len(l.Cells) == 0 && !ofLaunch {
				add(cell)
			}
		}
	}
	return cells
}

// addressesBelow are the metrics of launches below an address, or all, sorted.
func addressesBelow(launches []*ledger.Launch, cell string) (addresses []string) {
	for _, l := range launches {
		for address := range l.Metrics {
			if cell == "" || strings.HasPrefix(address, cell+".") {
				addresses = append(addresses, address)
			}
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

// Address is the metric's in launches.
func (c Column) Address() string { return c.Cell + "." + c.Metric }

// Name is its address in rules, with the statistic if that is not the usual one: "chat.itl.p99".
func (c Column) Name() string {
	if c.Stat == "median" || c.Stat == "mean" {
		return c.Address()
	}
	return c.Address() + "." + c.Stat
}

// Of is a column's summary in one launch.
func (c Column) Of(l *ledger.Launch) (measure.Summary, bool) {
	s, ok := l.Metrics[c.Address()]
	return s, ok
}

// Sent is what was sent in a cell, in field notation: "pp2048 tg32 @ d4096, c16". Lengths
// that differ between requests are "pp~512", by the engine's count.
func Sent(launches []*ledger.Launch, cell string) string {
	for _, l := range launches {
		for _, c := range l.Cells {
			if c.Cell != cell && c.Of() != cell {
				continue
			}
			text := length("pp", c.Prompt, l, cell+".prompt_tokens") + " " +
				length("tg", c.Output, l, cell+".output_tokens")
			if c.Depth > 0 {
				text += fmt.Sprintf(" @ d%d", c.Depth)
			}
			switch {
			case c.Trace != nil:
				text += ", " + c.Trace.File
			case c.Cell != cell:
				text += ", rates in search of the capacity"
			case c.Rate > 0:
				text += fmt.Sprintf(", %.4g req/s", c.Rate)
			case c.Concurrency > 1:
				text += fmt.Sprintf(", c%d", c.Concurrency)
			}
			return text
		}
	}
	return "–"
}

// StartedAs is the variables, the command and the image of a launch, as recorded.
func StartedAs(l *ledger.Launch) string {
	if l.Engine["command"] == "" {
		return ""
	}
	var words []string
	for _, key := range slices.Sorted(maps.Keys(l.Engine)) {
		if name, is := strings.CutPrefix(key, "env."); is {
			words = append(words, name+"="+shell.Quote(l.Engine[key]))
		}
	}
	return strings.Join(append(words, l.Engine["command"]), " ") + verdict.Behind(" in ", l.Engine["image"])
}

// Workload is what was sent in a cell, how often and with what sampling, on one line.
func Workload(l *ledger.Launch, c measure.CellRun) string {
	text := c.Cell + ": " + Sent([]*ledger.Launch{l}, c.Cell)
	if c.Trace != nil {
		text += ", " + Traffic(c.Trace)
	}
	if c.Requests == 0 {
		return text // it was recorded before the rest was
	}
	s := c.Sampling
	text += fmt.Sprintf(", %s after %s, temperature %g", verdict.Count(c.Requests, "request"),
		verdict.Count(c.Warmup, "warm-up"), s.Temperature)
	for _, p := range []struct {
		name  string
		value float64
	}{{"top_p", s.TopP}, {"top_k", float64(s.TopK)}, {"min_p", s.MinP}, {"repetition_penalty", s.RepetitionPenalty}} {
		if p.value != 0 {
			text += fmt.Sprintf(", %s %g", p.name, p.value)
		}
	}
	return text + fmt.Sprintf(", seed %d", s.Seed)
}

func length(what string, asked int, l *ledger.Launch, counted string) string {
	if asked > 0 {
		return fmt.Sprintf("%s%d", what, asked)
	}
	if n, known := l.Metrics[counted].Stats["median"]; known {
		return fmt.Sprintf("%s~%.0f", what, n)
	}
	return strings.TrimSpace(what + "*")
}
