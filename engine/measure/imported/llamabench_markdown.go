package imported

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

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
