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
	}
	if t.prompt == 0 && t.gen == 0 {
		return &Error{File: file, Line: line, Says: "n_prompt and n_gen are both 0, so that nothing was measured"}
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
