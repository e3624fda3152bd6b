package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// benchRow is one line of the table: a test as llama-bench and llama-benchy have
// them, so that their users find their numbers.
type benchRow struct {
	test string
	// speed is tokens a second of one request, total of all requests in flight,
	// peak the best second, first and whole times in ms; nil where there is none.
	speed, total, peak, first, per, whole *benchMetric
}

// rows are two for each cell: prefill and decode.
func (r *benchResult) rows() (rows []benchRow) {
	outputs := map[int]bool{}
	for _, c := range r.Cells {
		outputs[c.Output] = true
	}
	for _, c := range r.Cells {
		load, before := "", ""
		if len(outputs) > 1 {
			before = " + tg" + tokensLabel(c.Output)
		}
		switch {
		case c.Rate > 0:
			load = " (" + strconv.FormatFloat(c.Rate, 'g', -1, 64) + "/s)"
		case c.Concurrency > 1:
			load = fmt.Sprintf(" (c%d)", c.Concurrency)
		}
		depth := ""
		if c.Depth > 0 {
			depth = fmt.Sprintf(" @ d%d", c.Depth)
		}
		pp, ttft := "pp", "ttft"
		if r.Correction != "none" {
			pp, ttft = "pp_corrected", "ttft_corrected"
		}
		rows = append(rows,
			benchRow{test: fmt.Sprintf("pp%s%s%s%s", tokensLabel(c.Prompt), before, depth, load), speed: c.Metrics[pp], total: c.Metrics["pp_total"], first: c.Metrics[ttft]},
			benchRow{test: fmt.Sprintf("tg%s%s%s", tokensLabel(c.Output), depth, load), speed: c.Metrics["tg"], total: c.Metrics["tg_total"], peak: c.Metrics["tg_peak"], per: c.Metrics["tpot"], whole: c.Metrics["e2e"]},
		)
	}
	return rows
}

var benchHead = []string{"test", "t/s", "95 % interval", "total t/s", "peak t/s", "ttft ms", "tpot ms", "e2e ms"}

func (r benchRow) cells() []string {
	return []string{r.test, spread(r.speed), interval(r.speed), spread(r.total), spread(r.peak), spread(r.first), spread(r.per), spread(r.whole)}
}

// spread is "57.85 ± 0.21"; empty where nothing was measured.
func spread(m *benchMetric) string {
	switch {
	case m == nil:
		return ""
	case m.Std == nil:
		return digits(m.Mean, m.Mean)
	}
	return digits(m.Mean, m.Mean) + " ± " + digits(*m.Std, m.Mean)
}

func interval(m *benchMetric) string {
	if m == nil || m.Low == nil {
		return ""
	}
	return digits(*m.Low, m.Mean) + " to " + digits(*m.High, m.Mean)
}

// digits writes x with the decimals that give a number like that four significant
// digits. What they would show as zero and is not gets two of its own.
func digits(x, like float64) string {
	size := math.Abs(like)
	switch {
	case x == 0:
		return "0"
	case size == 0:
		size = math.Abs(x)
	}
	if size < 1e-3 || math.Abs(x) >= 1e7 {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	text := strconv.FormatFloat(x, 'f', max(0, 3-int(math.Floor(math.Log10(size)))), 64)
	if !strings.ContainsAny(text, "123456789") {
		return strconv.FormatFloat(x, 'g', 2, 64)
	}
	return text
}

// tokensLabel is a length; "*" where each prompt or answer has its own.
func tokensLabel(n int) string {
	if n == 0 {
		return "*"
	}
	return strconv.Itoa(n)
}
