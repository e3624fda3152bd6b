package imported

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// llama-bench writes one entry a test: n_gen = 0 is prefill, n_prompt = 0 is
// decode, n_depth the context before it, which is prefilled apart and not timed.
// There is no server, no network and no sampling in it. std has divisor n − 1.

const (
	llamaPP = "Prompt tokens over the time to process them, the context before them not counted; without a server, sampling or network."
	llamaTG = "Generated tokens over the time to generate them from nothing, or after the context of @ d; tokens are random, none is sampled."
	llamaPG = "Prompt and generated tokens over the time of both together."
)

// llamaTest is one test, whatever format it was written in.
type llamaTest struct {
	prompt, gen, depth int
	what               map[string]string
	// mean and std of tokens a second, with the values behind them.
	mean, std float64
	values    []float64
}

func (t llamaTest) cell() Cell {
	name, means := "", llamaPP
	if t.prompt > 0 {
		name = fmt.Sprintf("pp%d", t.prompt)
	}
	switch {
	case t.gen > 0 && t.prompt > 0:
		name, means = fmt.Sprintf("pp%d_tg%d", t.prompt, t.gen), llamaPG
	case t.gen > 0:
		name, means = fmt.Sprintf("tg%d", t.gen), llamaTG
	}
	if t.depth > 0 {
		name += fmt.Sprintf("_d%d", t.depth)
	}
	m := definition{"tok/s", higher, means}.metric("ts", map[string]float64{"mean": t.mean, "std": t.std})
	if len(t.values) > 0 {
		m = m.withValues(t.values)
	}
	return Cell{Name: name, What: t.what, Metrics: []Metric{m}}
}

func (f *File) llamaNotes() {
	f.note("std is of the sample (divisor n − 1), over repetitions within one process")
}

func isLlamaBench(n node) bool {
	first := n
	if list, err := n.list(); err == nil && len(list) > 0 {
		first = list[0]
	}
	return first.has("build_commit", "n_prompt", "n_gen")
}

func readLlamaBench(f *File, all []node) error {
	f.llamaNotes()
	if _, isList := all[0].value.([]any); isList {
		if len(all) > 1 {
			return all[1].wrong("a second document follows the list")
		}
		var err error
		if all, err = all[0].list(); err != nil {
			return err
		}
	}
	for _, n := range all {
		t, err := llamaEntry(n)
		if err != nil {
			return err
		}
		f.llamaHead(t)
		f.Cells = append(f.Cells, t.cell())
	}
	return nil
}

// llamaHead takes what the whole file has from its tests.
func (f *File) llamaHead(t llamaTest) {
	model := t.what["model_type"]
	switch {
	case f.Model == "":
		f.Model, f.Version, f.Date = model, t.what["build_commit"], t.what["test_time"]
	case f.Model != model:
		f.note("results of several models are in the file")
	}
}

func llamaEntry(n node) (t llamaTest, err error) {
	object, ok := n.value.(map[string]any)
	if !ok {
		return t, n.wrong("it is %s, and should be a test of llama-bench", kind(n.value))
	}
	for _, c := range []struct {
		name string
		into *int
		may  bool
	}{{"n_prompt", &t.prompt, false}, {"n_gen", &t.gen, false}, {"n_depth", &t.depth, true}} {
		if c.may && !n.has(c.name) {
			continue // before depths were known
		}
		if *c.into, err = n.member(c.name).whole(); err != nil {
			return t, err
		}
	}
	if t.prompt == 0 && t.gen == 0 {
		return t, n.wrong("n_prompt and n_gen are both 0, so nothing was measured")
	}
	for _, c := range []struct {
		name string
		into *float64
	}{{"avg_ts", &t.mean}, {"stddev_ts", &t.std}} {
		x, ok, err := n.member(c.name).amount()
		if err != nil {
			return t, err
		}
		if !ok {
			return t, n.member(c.name).wrong("it is missing")
		}
		*c.into = x
	}
	if t.values, err = n.member("samples_ts").numbers(); err != nil {
		return t, err
	}
	// The tool writes samples with fewer digits than their mean.
	if len(t.values) > 0 && !agreesWithin(t.mean, t.values, 0.001) {
		return t, n.wrong("avg_ts is %v, and not the mean of its samples_ts: the file was changed, or is damaged", t.mean)
	}
	t.what = map[string]string{}
	for name := range object {
		switch name {
		case "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts":
			continue
		}
		if text := n.member(name).text(); text != "" {
			t.what[name] = text
		}
	}
	return t, nil
}

// readLlamaBenchCSV reads -o csv: the names of the columns, then a test a line.
func readLlamaBenchCSV(f *File, file string, data []byte) error {
	f.llamaNotes()
	r := csv.NewReader(bytes.NewReader(data))
	head, err := r.Read()
	if err != nil {
		return csvError(file, err)
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return csvError(file, err)
		}
		line, _ := r.FieldPos(0)
		if err := f.llamaRow(file, line, head, row); err != nil {
			return err
		}
	}
}

func csvError(file string, err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return &Error{File: file, Line: p.Line, Says: p.Err.Error()}
	}
	return &Error{File: file, Says: err.Error()}
}

// llamaRow adds a test that is written as columns.
func (f *File) llamaRow(file string, line int, head, row []string) error {
	what := map[string]string{}
	for i, name := range head {
		what[name] = row[i]
	}
	t := llamaTest{what: what}
	var err error
	for _, c := range []struct {
		name string
		into *int
		may  bool
	}{{"n_prompt", &t.prompt, false}, {"n_gen", &t.gen, false}, {"n_depth", &t.depth, true}} {
		text, there := what[c.name]
		if !there && c.may {
			continue
		}
		if *c.into, err = strconv.Atoi(text); err != nil || *c.into < 0 {
			return &Error{File: file, Line: line, Path: c.name, Says: fmt.Sprintf("%q is no count", text)}
		}
	}
	for _, c := range []struct {
		name string
		into *float64
	}{{"avg_ts", &t.mean}, {"stddev_ts", &t.std}} {
		if *c.into, err = strconv.ParseFloat(what[c.name], 64); err != nil {
			return &Error{File: file, Line: line, Path: c.name, Says: fmt.Sprintf("%q is no number", what[c.name])}
		}
		if *c.into < 0 {
			return &Error{File: file, Line: line, Path: c.name, Says: fmt.Sprintf(negative, *c.into)}
		}
	}
	if t.prompt == 0 && t.gen == 0 {
		return &Error{File: file, Line: line, Says: "n_prompt and n_gen are both 0, so nothing was measured"}
	}
	for _, result := range []string{"avg_ns", "stddev_ns", "avg_ts", "stddev_ts"} {
		delete(what, result)
	}
	f.llamaHead(t)
	f.Cells = append(f.Cells, t.cell())
	return nil
}

var (
	insertHead = regexp.MustCompile(`(?i)^INSERT INTO llama_bench \(([^)]*)\) VALUES \((.*)\);?\s*$`)
	sqlValue   = regexp.MustCompile(`^\s*'((?:[^']|'')*)'\s*(,|$)`)
)

// readLlamaBenchSQL reads -o sql: a CREATE TABLE, then an INSERT a test.
func readLlamaBenchSQL(f *File, file, text string) error {
	f.llamaNotes()
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(strings.ToUpper(line), "INSERT") {
			continue
		}
		m := insertHead.FindStringSubmatch(line)
		if m == nil {
			return &Error{File: file, Line: number, Says: "this is no INSERT as llama-bench writes them; it may have been cut off"}
		}
		var head, row []string
		for name := range strings.SplitSeq(m[1], ",") {
			head = append(head, strings.TrimSpace(name))
		}
		for rest := m[2]; strings.TrimSpace(rest) != ""; {
			v := sqlValue.FindStringSubmatch(rest)
			if v == nil {
				return &Error{File: file, Line: number, Says: "its values cannot be told apart"}
			}
			row = append(row, strings.ReplaceAll(v[1], "''", "'"))
			rest = rest[len(v[0]):]
		}
		if len(row) != len(head) {
			return &Error{File: file, Line: number, Says: fmt.Sprintf("%d values for %d columns", len(row), len(head))}
		}
		if err := f.llamaRow(file, number, head, row); err != nil {
			return err
		}
	}
	return nil
}

// markdownHead is the line, from 0, of the head of a table as -o md prints it; -1
// where there is none.
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

// readLlamaBenchMarkdown reads -o md, the tool's default, with whatever stands
// around the table.
func readLlamaBenchMarkdown(f *File, file, text string) error {
	f.llamaNotes()
	start, number := markdownHead(text), 0
	var head []string
	for line := range strings.Lines(text) {
		number++
		cells := markdownCells(line)
		switch {
		case number <= start:
			continue
		case number == start+1:
			head = cells
			continue
		case cells == nil:
			if len(f.Cells) > 0 {
				return nil // the table has ended
			}
			return &Error{File: file, Line: number, Says: "the table ends before its first row"}
		case strings.Trim(strings.Join(cells, ""), "-: ") == "":
			continue
		case len(cells) != len(head):
			return &Error{File: file, Line: number, Says: fmt.Sprintf("%d columns, where the head of the table has %d", len(cells), len(head))}
		}
		if err := f.markdownRow(file, number, head, cells); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) markdownRow(file string, line int, head, cells []string) error {
	n := len(cells)
	test, speed := markdownTest.FindStringSubmatch(cells[n-2]), markdownSpeed.FindStringSubmatch(cells[n-1])
	if test == nil {
		return &Error{File: file, Line: line, Path: "test", Says: fmt.Sprintf("%q is no test such as pp512, tg128 or pp512 @ d4096", cells[n-2])}
	}
	if speed == nil {
		return &Error{File: file, Line: line, Path: "t/s", Says: fmt.Sprintf("%q is no speed such as 57.85 ± 0.21", cells[n-1])}
	}
	t := llamaTest{what: map[string]string{}}
	for i, into := range []*int{&t.prompt, &t.gen, &t.prompt, &t.gen, &t.depth} {
		if test[i+1] == "" {
			continue
		}
		var err error
		if *into, err = strconv.Atoi(test[i+1]); err != nil {
			return &Error{File: file, Line: line, Path: "test", Says: fmt.Sprintf("%q is too large a number", test[i+1])}
		}
	}
	var err1, err2 error
	t.mean, err1 = strconv.ParseFloat(speed[1], 64)
	t.std, err2 = strconv.ParseFloat(speed[2], 64)
	if err := errors.Join(err1, err2); err != nil || t.prompt+t.gen == 0 {
		return &Error{File: file, Line: line, Path: "t/s", Says: fmt.Sprintf("%q is no speed such as 57.85 ± 0.21", cells[n-1])}
	}
	for i, name := range head[:n-2] {
		t.what[name] = cells[i]
	}
	t.what["model_type"] = t.what["model"]
	f.llamaHead(t)
	f.note("a Markdown table rounds to two decimals; -o json keeps all")
	f.Cells = append(f.Cells, t.cell())
	return nil
}
