// Package export writes the contents of a state directory in the formats that other tools
// read. It exports launches that count: they are the replicates. It decides nothing.
package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// Launch is one launch that counts, with its headline numbers.
type Launch struct {
	*ledger.Launch
	Plan, Run string
	Values    []Value
}

// Value is one number of a launch, under the address that Column names.
type Value struct {
	report.Column
	Unit   string
	Better measure.Better
	Value  float64
}

var Formats = map[string]func(io.Writer, []Launch) error{"csv": writeCSV, "benchstat": benchstat}

// Launches are the measured launches that count, oldest first.
func Launches(s *report.Summary) ([]Launch, error) {
	stand := map[string]bool{}
	for _, a := range s.Arms {
		for _, l := range a.Launches {
			stand[l.ID] = true
		}
	}
	var all []Launch
	for _, info := range s.Store.Runs() {
		run, err := s.Store.Run(info.ID)
		if err != nil {
			return nil, err
		}
		for _, l := range run.Launches {
			if stand[l.ID] {
				all = append(all, Launch{Launch: l, Plan: info.Plan, Run: info.ID})
			}
		}
	}
	if len(all) == 0 {
		return nil,
			fmt.Errorf("no valid launch is recorded here, so there is nothing to export: %w", store.ErrApplyFirst)
	}
	raw := make([]*ledger.Launch, len(all))
	for i, l := range all {
		raw[i] = l.Launch
	}
	for _, c := range report.Columns(raw) {
		for i, l := range all {
			s, _ := c.Of(l.Launch)
			if v, has := s.Stats[c.Stat]; has {
				all[i].Values = append(all[i].Values, Value{c, s.Unit, s.Better, v})
			}
		}
	}
	return all, nil
}

// digits formats a number with all its digits, readable by every tool.
func digits(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// writeCSV writes a row per launch and a column per number, empty if a launch lacks it.
func writeCSV(w io.Writer, launches []Launch) error {
	head := []string{"time", "plan", "run", "session", "launch", "variant", "engine"}
	columns := map[string]int{}
	for _, l := range launches {
		for _, v := range l.Values {
			if _, known := columns[v.Name()]; !known {
				columns[v.Name()], head = len(head), append(head, v.Name())
			}
		}
	}
	out := csv.NewWriter(w)
	rows := [][]string{head}
	for _, l := range launches {
		row := append(make([]string, 0, len(head)), l.Started.UTC().Format(time.RFC3339Nano), l.Plan, l.Run, l.Session,
			l.ID, l.Variant, l.Block)
		row = append(row, make([]string, len(head)-len(row))...)
		for _, v := range l.Values {
			row[columns[v.Name()]] = digits(v.Value)
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

// benchstat writes Go benchmark text: a line per launch and cell, with all its numbers.
// Launches of different sessions were not interleaved, so the session is in the
// configuration, by which benchstat separates tables.
func benchstat(w io.Writer, launches []Launch) error {
	var b strings.Builder
	units := map[string]measure.Better{}
	unit := func(v Value) string {
		name := v.Metric
		if v.Stat != "median" && v.Stat != "mean" {
			name += "-" + v.Stat
		}
		if v.Unit != "" && v.Unit != "count" && !strings.HasSuffix(v.Metric, "_"+strings.ToLower(v.Unit)) {
			name += "-" + v.Unit
		}
		return strings.Join(strings.Fields(name), "-")
	}
	for _, l := range launches {
		for _, v := range l.Values {
			units[unit(v)] = v.Better
		}
	}
	for _, u := range slices.Sorted(maps.Keys(units)) {
		if better := units[u]; better != measure.Neither {
			fmt.Fprintf(&b, "Unit %s better=%s\n", u, better)
		}
	}
	config := map[string]string{}
	for _, l := range launches {
		for _, c := range [][2]string{{"plan", l.Plan}, {"engine", l.Block}, {"session", l.Session}} {
			if config[c[0]] != c[1] {
				fmt.Fprintf(&b, "%s: %s\n", c[0], oneWord(c[1]))
				config[c[0]] = c[1]
			}
		}
		for i, v := range l.Values {
			if i == 0 || l.Values[i-1].Cell != v.Cell {
				if i > 0 {
					b.WriteByte('\n')
				}
				fmt.Fprintf(&b, "BenchmarkMxflow/cell=%s/variant=%s 1", oneWord(v.Cell), oneWord(l.Variant))
			}
			fmt.Fprintf(&b, "\t%s %s", digits(v.Value), unit(v))
		}
		if len(l.Values) > 0 {
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// oneWord is a name in the form of a benchmark's: no space, and no slash.
func oneWord(name string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '/' {
			return '_'
		}
		return r
	}, name)
}
