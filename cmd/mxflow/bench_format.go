package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// printBench writes the result in the format that was asked for.
func (a *app) printBench(b bench, r *benchResult) error {
	var text bytes.Buffer
	err := r.write(&text, b.format, b.out == "" && colours(a.stdout))
	if err != nil {
		return err
	}
	if b.plot != "" {
		if err := r.plotFile(b.plot); err != nil {
			return b.wrong("plot", "%v", err)
		}
	}
	if b.out == "" {
		_, err = a.stdout.Write(text.Bytes())
		return err
	}
	if err := os.WriteFile(b.out, text.Bytes(), 0o644); err != nil {
		return b.wrong("out", "%v", err)
	}
	return nil
}

func (r *benchResult) write(w io.Writer, format string, colour bool) error {
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	case "csv":
		return r.csv(w)
	case "html":
		return r.html(w)
	case "md":
		r.markdown(w)
		return nil
	}
	var rows [][]string
	for _, row := range r.rows() {
		rows = append(rows, row.cells())
	}
	fmt.Fprintf(w, "%s at %s (%s)\n\n", r.Model, r.URL, r.Engine)
	writeTable(w, benchHead, rows, colour)
	fmt.Fprintln(w)
	for _, line := range r.words() {
		fmt.Fprintln(w, wrap(line, maxColumn))
	}
	return nil
}

// words are what has to be known to read the numbers.
func (r *benchResult) words() (lines []string) {
	if len(r.Invalid) > 0 {
		for _, why := range r.Invalid {
			lines = append(lines, "invalid: "+why)
		}
	}
	for _, n := range r.Notes {
		lines = append(lines, "note: "+n)
	}
	runs := fmt.Sprintf("%d runs of one server: mean ± sample standard deviation of the runs' medians.", r.Runs)
	if r.Runs == 1 {
		runs = "One run of one server: without more runs nothing is known of the spread."
	}
	lines = append(lines, runs)
	if r.Correction != "none" {
		lines = append(lines, fmt.Sprintf("pp and ttft are corrected by the latency that mode %q measured; the uncorrected numbers are in --format json.", r.Correction))
	}
	return lines
}

func (r *benchResult) markdown(w io.Writer) {
	fmt.Fprintf(w, "%s at %s (%s)\n\n", r.Model, r.URL, r.Engine)
	fmt.Fprintf(w, "| model | %s |\n|%s\n", strings.Join(benchHead, " | "), strings.Repeat(" --- |", len(benchHead)+1))
	for _, row := range r.rows() {
		fmt.Fprintf(w, "| %s | %s |\n", strings.ReplaceAll(r.Model, "|", `\|`), strings.Join(row.cells(), " | "))
	}
	fmt.Fprintln(w)
	for _, line := range r.words() {
		fmt.Fprintf(w, "%s\n\n", line)
	}
}

// csv has one line for each metric of each cell.
func (r *benchResult) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	number := func(x *float64) string {
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'g', -1, 64)
	}
	_ = c.Write([]string{"model", "engine", "prompt_tokens", "output_tokens", "depth", "concurrency", "rate", "latency_mode", "metric", "unit", "mean", "std", "low95", "high95", "runs", "valid"})
	for _, cell := range r.Cells {
		for _, name := range slices.Sorted(maps.Keys(cell.Metrics)) {
			m := cell.Metrics[name]
			_ = c.Write([]string{
				r.Model, r.Engine, strconv.Itoa(cell.Prompt), strconv.Itoa(cell.Output), strconv.Itoa(cell.Depth), strconv.Itoa(cell.Concurrency), number(&cell.Rate),
				r.Correction, name, m.Unit, number(&m.Mean), number(m.Std), number(m.Low), number(m.High), strconv.Itoa(len(m.Values)), strconv.FormatBool(len(r.Invalid) == 0),
			})
		}
	}
	c.Flush()
	return c.Error()
}
