package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Group is what one table covers: the cells of one workload, or what a launch has once,
// of its engine and host or of its GPUs.
type Group struct {
	// Name is the workload's; "engine", "gpu" or "command" for the others.
	Name string
	// Cells are addresses in the order in which they were sent.
	Cells   []string
	Columns []Column
}

// Column is a statistic of a metric in a table.
type Column struct {
	// Cell is the address above the metric; empty in a workload's table, which has one
	// row per cell.
	Cell   string `json:"cell"`
	Metric string `json:"metric"`
	Stat   string `json:"stat"`
	// Head is the column's title, with the unit.
	Head string `json:"-"`
}

// headline metrics of a workload are what people decide by, in this order. Those without
// always are left out if all launches have them at zero, as most workloads have no queue,
// cache or limits.
var headline = []struct {
	metric, stat, title string
	always              bool
}{
	{"tg", "median", "tg", true},
	{"tg_of_limit", "mean", "tg_of_limit", true},
	{"pp", "median", "pp", true},
	{"pp_of_limit", "mean", "pp_of_limit", true},
	{"ttft", "median", "ttft", true},
	{"itl", "p99", "itl p99", true},
	{"e2e", "median", "e2e", true},
	{"tg_total", "mean", "tg_total", true},
	{"goodput", "mean", "goodput", true},
	{"slo_attainment", "mean", "slo_attainment", true},
	{"queue", "median", "queue", false},
	{"accept_length", "mean", "accept_length", true},
	{"cached_tokens", "median", "cached_tokens", false},
	{"tokens_per_joule", "mean", "tokens_per_joule", true},
	{"errors", "mean", "errors", false},
	{"retry_count", "mean", "retry_count", false},
}

// headlineOfLaunch are those that a launch has once.
var headlineOfLaunch = map[string][]string{
	"engine": {
		"engine.startup_s", "engine.first_request_s", "engine.memory_gb", "engine.crashes", "host.cpu_share",
		"host.memory_gb",
	},
	"gpu": {
		"gpu.idle_power_w", "gpu.power_w", "gpu.peak_power_w", "gpu.energy_j", "gpu.memory_in_use_gb", "gpu.clock_mhz",
		"gpu.temperature_c",
		"gpu.throttled_share", "gpu.power_capped_share",
	},
}

// Groups are the tables of launches: workloads as they were sent, a command's
// own metrics, the engine with its host, the GPUs.
func Groups(launches []*ledger.Launch) (groups []Group) {
	for _, cell := range cellsOf(launches) {
		name, _, _ := strings.Cut(cell, ".")
		i := slices.IndexFunc(groups, func(g Group) bool { return g.Name == name })
		if i < 0 {
			i, groups = len(groups), append(groups, Group{Name: name})
		}
		groups[i].Cells = append(groups[i].Cells, cell)
	}
	for i, g := range groups {
		for _, h := range headline {
			for _, cell := range g.Cells {
				if unit, there := unitOf(launches, cell+"."+h.metric, !h.always); there {
					groups[i].Columns = append(groups[i].Columns,
						Column{Metric: h.metric, Stat: h.stat, Head: head(h.title, unit)})
					break
				}
			}
		}
	}
	// What a command prints with labels is a table, one row per combination.
	labelled := Group{Name: "command"}
	for _, address := range addressesBelow(launches, labelled.Name) {
		cell, metric := measure.SplitAddress(address)
		if cell == labelled.Name {
			continue
		}
		if !slices.Contains(labelled.Cells, cell) {
			labelled.Cells = append(labelled.Cells, cell)
		}
		unit, _ := unitOf(launches, address, false)
		if !slices.ContainsFunc(labelled.Columns, func(c Column) bool { return c.Metric == metric }) {
			labelled.Columns = append(labelled.Columns,
				Column{Metric: metric, Stat: "median", Head: head(metric, unit)})
		}
	}
	slices.SortFunc(labelled.Cells, byNumbers)
	slices.SortFunc(labelled.Columns, func(a, b Column) int { return strings.Compare(a.Metric, b.Metric) })
	if len(labelled.Cells) > 0 {
		groups = append(groups, labelled)
	}
	for _, name := range []string{"command", "engine", "gpu"} {
		addresses := headlineOfLaunch[name]
		if name == "command" {
			addresses = slices.DeleteFunc(addressesBelow(launches, name), func(a string) bool {
				cell, _ := measure.SplitAddress(a)
				return cell != name
			})
		}
		g := Group{Name: name, Cells: []string{name}}
		for _, address := range addresses {
			if unit, there := unitOf(launches, address, address == "engine.crashes"); there {
				cell, metric := measure.SplitAddress(address)
				g.Columns = append(g.Columns, Column{
					Cell: cell, Metric: metric, Stat: "median",
					Head: head(strings.TrimPrefix(address, name+"."), unit),
				})
			}
		}
		if len(g.Columns) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
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

// ByCell reports whether the table has a row per cell, as a workload's has.
func (g Group) ByCell() bool { return len(g.Columns) == 0 || g.Columns[0].Cell == "" }

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
			add(c.Cell)
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

// Address is the column's address for one cell of its group.
func (c Column) Address(cell string) string { return cmp.Or(c.Cell, cell) + "." + c.Metric }

// Name is its address in rules, with the statistic if that is not the usual one: "chat.itl.p99".
func (c Column) Name() string {
	if c.Stat == "median" || c.Stat == "mean" {
		return c.Address("")
	}
	return c.Address("") + "." + c.Stat
}

// Of is a column's summary in one launch, for one cell of its group.
func (c Column) Of(l *ledger.Launch, cell string) (measure.Summary, bool) {
	s, ok := l.Metrics[c.Address(cell)]
	return s, ok
}

// Sent is what was sent in a cell, in field notation: "pp2048 tg32 @ d4096, c16". Lengths
// that differ between requests are "pp~512", by the engine's count.
func Sent(launches []*ledger.Launch, cell string) string {
	for _, l := range launches {
		for _, c := range l.Cells {
			if c.Cell != cell {
				continue
			}
			text := length("pp", c.Prompt, l, cell+".prompt_tokens") + " " +
				length("tg", c.Output, l, cell+".output_tokens")
			if c.Depth > 0 {
				text += fmt.Sprintf(" @ d%d", c.Depth)
			}
			switch {
			case c.Rate > 0:
				text += fmt.Sprintf(", %g req/s", c.Rate)
			case c.Concurrency > 1:
				text += fmt.Sprintf(", c%d", c.Concurrency)
			}
			return text
		}
	}
	return "–"
}

// Workload is what was sent in a cell, how often and with what sampling, on one line.
func Workload(l *ledger.Launch, c measure.CellRun) string {
	text := c.Cell + ": " + Sent([]*ledger.Launch{l}, c.Cell)
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
