package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/gates/tell"
)

// printBench writes the result in the format that was asked for.
func (a *app) printBench(b bench, r *benchResult, files benchFiles) error {
	var text bytes.Buffer
	width := 0
	if b.out == "" {
		width = a.fits()
	}
	err := r.write(&text, b.format, width, width > 0 && colours(a.stdout))
	if err != nil {
		return err
	}
	if files.out != nil || b.format == "csv" {
		// Whoever looks at the terminal alone has to see that it does not count.
		for _, why := range r.Invalid {
			fmt.Fprintln(a.stderr, imported.Printable("invalid: "+tell.Line(why)))
		}
	}
	if files.out == nil {
		_, err = a.stdout.Write(text.Bytes())
	} else if err = files.out.write(text.Bytes()); err != nil {
		err = b.wrong("out", "%v", err)
	}
	if files.plot == nil {
		return err
	}
	picture, plotErr := r.picture(b.plot)
	if plotErr == nil {
		plotErr = files.plot.write(picture)
	}
	if plotErr != nil {
		plotErr = b.wrong("plot", "%v", plotErr)
	}
	return errors.Join(err, plotErr)
}

func (r *benchResult) write(w io.Writer, format string, width int, colour bool) error {
	switch format {
	case "json":
		data, err := tell.JSON(r)
		if err != nil {
			return err
		}
		var page bytes.Buffer
		if err := json.Indent(&page, data, "", "  "); err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, page.String())
		return err
	case "csv":
		return r.csv(w)
	case "html":
		return r.html(w)
	case "md":
		r.markdown(w)
		return nil
	}
	fmt.Fprintf(w, "%s at %s (%s)\n\n", imported.Printable(r.Model), r.URL, r.Engine)
	for _, t := range r.tables() {
		drawTable(w, t.Head, t.Rows, colour, width)
		fmt.Fprintln(w)
	}
	sentences := maxColumn
	if width > 0 {
		sentences = min(sentences, width)
	}
	for _, line := range r.words() {
		fmt.Fprintln(w, wrap(line, sentences))
	}
	return nil
}

// words are what has to be known to read the numbers.
func (r *benchResult) words() (lines []string) {
	for _, why := range r.Invalid {
		lines = append(lines, imported.Printable("invalid: "+tell.Line(why)))
	}
	for _, n := range r.Notes {
		lines = append(lines, imported.Printable("note: "+tell.Line(n)))
	}
	runs := fmt.Sprintf("%d runs of one server: mean ± sample standard deviation of the runs' medians.", r.Runs)
	if r.Runs == 1 {
		runs = "One run of one server: without more runs nothing is known of the spread."
	}
	lines = append(lines, runs, fmt.Sprintf("The prompts are those of --seed %d.", r.Seed))
	if r.Correction != "none" {
		lines = append(lines, fmt.Sprintf("pp and ttft are corrected by the latency that mode %q measured; the uncorrected numbers are in --format json.", r.Correction))
	}
	return lines
}

func (r *benchResult) markdown(w io.Writer) {
	model := strings.ReplaceAll(imported.Printable(r.Model), "|", `\|`)
	fmt.Fprintf(w, "%s at %s (%s)\n\n", model, r.URL, r.Engine)
	for _, t := range r.tables() {
		fmt.Fprintf(w, "| model | %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat(" --- |", len(t.Head)+1))
		for _, row := range t.Rows {
			fmt.Fprintf(w, "| %s | %s |\n", model, strings.Join(row, " | "))
		}
		fmt.Fprintln(w)
	}
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
	_ = c.Write([]string{"model", "engine", "prompt_tokens", "output_tokens", "depth", "concurrency", "rate", "latency_mode", "metric", "unit", "mean", "std", "low95", "high95", "runs", "seed", "valid"})
	for _, cell := range r.Cells {
		for _, name := range slices.Sorted(maps.Keys(cell.Metrics)) {
			m := cell.Metrics[name]
			_ = c.Write([]string{
				imported.Printable(r.Model), r.Engine, strconv.Itoa(cell.Prompt), strconv.Itoa(cell.Output), strconv.Itoa(cell.Depth), strconv.Itoa(cell.Concurrency), number(&cell.Rate),
				r.Correction, name, m.Unit, number(&m.Mean), number(m.Std), number(m.Low), number(m.High), strconv.Itoa(len(m.Values)), strconv.Itoa(r.Seed), strconv.FormatBool(len(r.Invalid) == 0),
			})
		}
	}
	c.Flush()
	return c.Error()
}
