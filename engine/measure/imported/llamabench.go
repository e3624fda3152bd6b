package imported

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// llama-bench writes one entry a test: n_gen = 0 is prefill, n_prompt = 0 is
// decode, n_depth the context before it, which is prefilled apart and not timed.
// There is no server, no network and no sampling in it. std has divisor n − 1.

const (
	llamaPP = "Prompt tokens over the time to process them, excluding the context before them; without server, sampling or network."
	llamaTG = "Generated tokens over the time to generate them from an empty context, or after the context of @ d; tokens are random, not sampled."
	llamaPG = "Prompt and generated tokens over the total time of both."
)

func isLlamaBench(n node) bool {
	if list, _ := n.value.([]any); len(list) > 0 {
		n = n.list()[0]
	}
	return n.has("build_commit", "n_prompt", "n_gen")
}

func readLlamaBench(f *File, all []node) {
	if _, isList := all[0].value.([]any); isList {
		if len(all) > 1 {
			all[1].wrong("the file has another document after the list")
			return
		}
		all = all[0].list()
	}
	for _, n := range all {
		f.llamaTest(n)
	}
}

// llamaResults are the columns of a test that are not its parameters.
var llamaResults = []string{"avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts"}

// llamaTest adds one test, whatever format it was written in.
func (f *File) llamaTest(n node) {
	f.note("std is the sample standard deviation (divisor n − 1), over repetitions within one process")
	object, ok := n.value.(map[string]any)
	if !ok {
		n.wrong("it is %s, not a llama-bench test", kind(n.value))
	}
	prompt, gen, depth := n.member("n_prompt").whole(), n.member("n_gen").whole(), 0
	if n.has("n_depth") { // older files have none
		depth = n.member("n_depth").whole()
	}
	if prompt == 0 && gen == 0 {
		n.wrong("n_prompt and n_gen are both 0, so nothing was measured")
	}
	mean, std, values := n.member("avg_ts").needed(), n.member("stddev_ts").needed(), n.member("samples_ts").numbers()
	// The tool writes samples with fewer digits than their mean.
	if !agrees(mean, values, 0.001) {
		n.wrong("avg_ts is %v, which is not the mean of its samples_ts: the file was edited or is damaged", mean)
	}
	c := Cell{Name: fmt.Sprintf("pp%d", prompt), What: map[string]string{}}
	means := llamaPP
	switch {
	case gen > 0 && prompt > 0:
		c.Name, means = fmt.Sprintf("pp%d_tg%d", prompt, gen), llamaPG
	case gen > 0:
		c.Name, means = fmt.Sprintf("tg%d", gen), llamaTG
	}
	if depth > 0 {
		c.Name += fmt.Sprintf("_d%d", depth)
	}
	for name := range object {
		if text := n.member(name).text(); text != "" && !slices.Contains(llamaResults, name) {
			c.What[name] = text
		}
	}
	m := definition{"tok/s", higher, means}.metric("ts", map[string]float64{"mean": mean, "std": std})
	if len(values) > 0 {
		m = m.withValues(values)
	}
	c.Metrics = []Metric{m}
	f.of(c.What["model_type"], c.What["build_commit"], c.What["test_time"])
	f.Cells = append(f.Cells, c)
}

// llamaNumbers are the columns with numbers.
var llamaNumbers = []string{"n_prompt", "n_gen", "n_depth", "avg_ts", "stddev_ts"}

// llamaRow adds a test written as columns.
func (f *File) llamaRow(s *source, line int, head, row []string) {
	object := map[string]any{}
	for i, name := range head {
		object[name] = row[i]
		if slices.Contains(llamaNumbers, name) {
			object[name] = json.Number(row[i])
		}
	}
	f.llamaTest(node{from: s, line: line, value: object})
}

// readLlamaBenchCSV reads -o csv: the names of the columns, then a test a line.
func readLlamaBenchCSV(f *File, s *source, data []byte) {
	r := csv.NewReader(bytes.NewReader(data))
	head, err := r.Read()
	for err == nil {
		var row []string
		if row, err = r.Read(); err == nil {
			line, _ := r.FieldPos(0)
			f.llamaRow(s, line, head, row)
		}
	}
	var p *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
	case errors.As(err, &p):
		s.wrong(p.Line, "", "%v", p.Err)
	default:
		s.wrong(0, "", "%v", err)
	}
}

var (
	insertHead = regexp.MustCompile(`(?i)^INSERT INTO llama_bench \(([^)]*)\) VALUES \((.*)\);?\s*$`)
	sqlValue   = regexp.MustCompile(`^\s*'((?:[^']|'')*)'\s*(,|$)`)
)

// readLlamaBenchSQL reads -o sql: a CREATE TABLE, then an INSERT a test.
func readLlamaBenchSQL(f *File, s *source, data []byte) {
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(strings.ToUpper(line), "INSERT") {
			continue
		}
		m := insertHead.FindStringSubmatch(line)
		if m == nil {
			s.wrong(number, "", "this is not an INSERT of llama-bench; it may be truncated")
			return
		}
		var head, row []string
		for name := range strings.SplitSeq(m[1], ",") {
			head = append(head, strings.TrimSpace(name))
		}
		for rest := m[2]; strings.TrimSpace(rest) != ""; {
			v := sqlValue.FindStringSubmatch(rest)
			if v == nil {
				s.wrong(number, "", "cannot separate its values")
				return
			}
			row = append(row, strings.ReplaceAll(v[1], "''", "'"))
			rest = rest[len(v[0]):]
		}
		if len(row) != len(head) {
			s.wrong(number, "", "%d values for %d columns", len(row), len(head))
			return
		}
		f.llamaRow(s, number, head, row)
	}
}

// markdownHead is the line, from 0, of the head of a table as -o md prints it; -1 if
// there is none.
func markdownHead(text string) int {
	number := 0
	for line := range strings.Lines(text) {
		cells := markdownCells(line)
		if len(cells) > 2 && cells[0] == "model" && cells[len(cells)-1] == "t/s" && cells[len(cells)-2] == "test" {
			return number
		}
		number++
	}
	return -1
}

func markdownCells(line string) []string {
	line = strings.TrimSpace(line)
	if len(line) < 2 || line[0] != '|' || line[len(line)-1] != '|' {
		return nil
	}
	cells := strings.Split(line[1:len(line)-1], "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

var (
	markdownTest  = regexp.MustCompile(`^(?:pp([0-9]+)|tg([0-9]+)|pp([0-9]+)\+tg([0-9]+))(?: @ d([0-9]+))?$`)
	markdownSpeed = regexp.MustCompile(`^([0-9.]+) ± ([0-9.]+)$`)
)

// readLlamaBenchMarkdown reads -o md, the tool's default, with any text around the table.
func readLlamaBenchMarkdown(f *File, s *source, data []byte) {
	f.note("a Markdown table rounds to two decimals; -o json keeps them all")
	start, number := markdownHead(string(data)), 0
	var head []string
	for line := range strings.Lines(string(data)) {
		number++
		cells := markdownCells(line)
		switch {
		case number <= start:
		case number == start+1:
			head = cells
		case cells == nil:
			if len(f.Cells) == 0 {
				s.wrong(number, "", "the table ends before its first row")
			}
			return
		case strings.Trim(strings.Join(cells, ""), "-: ") == "":
		case len(cells) != len(head):
			s.wrong(number, "", "%d columns, but the table header has %d", len(cells), len(head))
		default:
			f.markdownRow(s, number, head, cells)
		}
	}
}

func (f *File) markdownRow(s *source, line int, head, cells []string) {
	n := len(cells)
	test, speed := markdownTest.FindStringSubmatch(cells[n-2]), markdownSpeed.FindStringSubmatch(cells[n-1])
	if test == nil {
		s.wrong(line, "test", "%q is not a test such as pp512, tg128 or pp512 @ d4096", cells[n-2])
		return
	}
	if speed == nil {
		s.wrong(line, "t/s", "%q is not a speed such as 57.85 ± 0.21", cells[n-1])
		return
	}
	names, row := slices.Clone(head[:n-2]), slices.Clone(cells[:n-2])
	add := func(name, value string) { names, row = append(names, name), append(row, value) }
	add("model_type", cells[slices.Index(head, "model")])
	add("n_prompt", cmp.Or(test[1], test[3], "0"))
	add("n_gen", cmp.Or(test[2], test[4], "0"))
	add("n_depth", cmp.Or(test[5], "0"))
	add("avg_ts", speed[1])
	add("stddev_ts", speed[2])
	f.llamaRow(s, line, names, row)
}
