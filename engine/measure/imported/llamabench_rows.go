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
		if *c.into < 0 {
			return &Error{File: file, Line: line, Path: c.name, Says: fmt.Sprintf(negative, *c.into)}
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
