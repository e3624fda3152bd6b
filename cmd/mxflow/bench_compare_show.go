package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/measure/imported"
)

// comparedMetrics are shown where both results have them.
var comparedMetrics = []string{"tg", "pp", "ttft", "tpot", "e2e", "tg_total", "pp_total", "requests_per_s", "goodput", "power_w", "joules_per_token", "gpu_memory_gb"}

// ratios are the rows of the table. Which way is better they do not say: that would
// be a verdict, and single starts allow none.
func ratios(then, now *benchResult) (rows [][]string) {
	for _, pair := range shared(then, now) {
		cell := pair[1].Label
		for _, name := range comparedMetrics {
			x, y := pair[0].Metrics[name], pair[1].Metrics[name]
			if x == nil || y == nil || pair[1].Concurrency < 2 && pair[1].Rate == 0 && strings.HasSuffix(name, "_total") {
				continue
			}
			ratio := "–"
			switch {
			case x.Unit != y.Unit || name == "goodput" && fmt.Sprint(then.SLO) != fmt.Sprint(now.SLO):
				ratio = "not alike"
			case x.Mean > 0 && y.Mean > 0:
				ratio = strconv.FormatFloat(y.Mean/x.Mean, 'f', 3, 64) + "×"
			}
			rows = append(rows, []string{cell, imported.Printable(name + " " + y.Unit), spread(x), spread(y), ratio})
			cell = ""
		}
	}
	return rows
}

// unlike are the things in which the two measurements differ, as far as the
// files say.
func unlike(then, now *benchResult) (list []string) {
	differ := func(what, x, y string) {
		if x != y {
			list = append(list, fmt.Sprintf("%s: %s then, %s now", what, x, y))
		}
	}
	differ("the model", then.Model, now.Model)
	differ("the kind of server", then.Engine, now.Engine)
	differ("the address", then.URL, now.URL)
	differ("the tool", then.Tool, now.Tool)
	differ("the latency mode", then.Correction+" (the uncorrected numbers are compared)", now.Correction+" (the uncorrected numbers are compared)")
	differ("the prompts", fmt.Sprintf("those of --seed %d", then.Seed), fmt.Sprintf("those of --seed %d", now.Seed))
	differ("runs", fmt.Sprint(then.Runs), fmt.Sprint(now.Runs))
	for _, pair := range shared(then, now) {
		x, y := pair[0], pair[1]
		differ("how prompts of "+y.Label+" got their length", string(x.Prompts.Method), string(y.Prompts.Method))
		for _, tokens := range []string{"prompt_tokens", "output_tokens"} {
			m, n := x.Metrics[tokens], y.Metrics[tokens]
			if m != nil && n != nil && math.Abs(m.Mean-n.Mean) > 0.01*math.Max(m.Mean, n.Mean) {
				list = append(list, fmt.Sprintf("%s of %s: %s then, %s now: it was not the same work", strings.ReplaceAll(tokens, "_", " "), y.Label, digits(m.Mean, m.Mean), digits(n.Mean, n.Mean)))
			}
		}
		if m, n := x.Metrics["tg"], y.Metrics["tg"]; m != nil && n != nil && len(m.N) > 0 && len(n.N) > 0 && m.N[0] != n.N[0] {
			list = append(list, fmt.Sprintf("requests a run of %s: %d then, %d now", y.Label, m.N[0], n.N[0]))
		}
	}
	for _, c := range now.Cells {
		if !hasCell(then, c.Label) {
			list = append(list, c.Label+" was measured only now")
		}
	}
	for _, c := range then.Cells {
		if !hasCell(now, c.Label) {
			list = append(list, c.Label+" was measured only then")
		}
	}
	return append(list, "whether machine, driver, packages and flags of the server were the same stands in neither result")
}

func hasCell(r *benchResult, label string) bool {
	for _, c := range r.Cells {
		if c.Label == label {
			return true
		}
	}
	return false
}

// whatItShows is what can be said from two single starts, and what cannot.
func (a *app) whatItShows(then, now *benchResult) []string {
	starts := "One start of a server then, and one now."
	if then.URL == now.URL {
		starts = "One start of a server then, and one now, or even the same: the address is."
	}
	lines := []string{starts + " ± is between runs of one start, and two starts of the same server differ by more than that: a ratio here is no verdict, however far it is from 1."}
	cell := shared(then, now)[0][1]
	if n, ok := a.startNoise(cell); ok {
		lines = append(lines, fmt.Sprintf("Launches that are on record here vary by %s in tg of %s (%d launches, %d degrees of freedom): two starts of the same server are up to %s apart in 19 of 20 cases.",
			percent(n.sd), cell.Label, n.launches, n.df, percent(n.apart())))
	} else {
		lines = append(lines, "How far apart two starts of the same server are is not on record here.")
	}
	decide := fmt.Sprintf("To decide: mxflow ab --a 'command then' --b 'command now' --pp %d --tg %d", cell.Prompt, cell.Output)
	if cell.Depth > 0 {
		decide += fmt.Sprintf(" --depth %d", cell.Depth)
	}
	if cell.Concurrency > 1 {
		decide += fmt.Sprintf(" --concurrency %d", cell.Concurrency)
	}
	return append(lines, decide)
}

// besideForeign prints another tool's numbers below ours, without ratios: what
// two tools call alike is not alike.
func (a *app) besideForeign(e *benchEarlier, now *benchResult) {
	f := e.foreign
	fmt.Fprintf(a.stdout, "\nbeside %s\n", imported.Printable(e.file+": "+strings.TrimSpace(strings.Join([]string{f.Tool, f.Version, f.Model, f.Date}, " "))))
	var rows [][]string
	for _, c := range f.Cells {
		cell := imported.Printable(c.Name)
		for _, m := range c.Metrics {
			for _, stat := range []string{"mean", "median", "value"} {
				if v, ok := m.Stats[stat]; ok {
					rows = append(rows, []string{cell, imported.Printable(m.Name + " " + m.Unit), stat, digits(v, v)})
					cell = ""
					break
				}
			}
		}
	}
	fmt.Fprintln(a.stdout)
	a.printTable([]string{"its cell", "its metric", "statistic", "value"}, rows)
	lines := []string{
		"Two tools measure what they give one name in two ways, and each saw one start of a server. There is no ratio of their numbers.",
		"What it means by each name: mxflow import " + shellQuote(e.file) + " --definitions",
	}
	if len(now.Cells) > 0 {
		lines = append(lines, fmt.Sprintf("To decide between two servers: mxflow ab --a 'one command' --b 'the other' --pp %d --tg %d", now.Cells[0].Prompt, now.Cells[0].Output))
	}
	a.lines("what this shows", lines)
}
