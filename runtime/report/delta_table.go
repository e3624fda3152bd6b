package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
)

// DeltaTable formats metrics of two sides as benchstat does: name, both means, the change
// with its bounds, p, and the number of launches.
func DeltaTable(deltas []Delta, oldName, newName string) Table {
	t := Table{Head: []string{"metric", oldName, newName, "change [95%]", "p", "n"}}
	for _, d := range deltas {
		t.Rows = append(t.Rows, []string{d.name(), d.Old.text(), d.New.text(), d.ChangeText(), d.pText(), d.nText()})
	}
	return t
}

// name is "chat tg (tok/s)", with the statistic if that is not the usual one.
func (d Delta) name() string {
	name := strings.TrimSpace(d.Cell + " " + d.Metric)
	if d.Stat != "median" && d.Stat != "mean" {
		name += " " + d.Stat
	}
	return head(name, d.Unit)
}

func (m Mean) text() string {
	switch m.N() {
	case 0:
		return "–"
	case 1:
		return tell.Number(m.Mean, "")
	}
	return tell.PlusMinus(m.Mean, m.SD)
}

// ChangeText is the change with its bounds, prefixed by "~" if the launches do not show
// it.
func (d Delta) ChangeText() string {
	if d.Change == nil {
		return "–"
	}
	unit := "ratio"
	if d.Absolute {
		unit = d.Unit
	}
	text := tell.Interval(*d.Change, d.Low, d.High, unit)
	switch better, known := d.Improves(); {
	case d.P != nil && !d.Shown():
		return "~ " + text
	case !d.Shown() || !known:
		return text
	case better:
		return text + " better"
	}
	return text + " worse"
}

func (d Delta) pText() string {
	if d.P == nil {
		return "–"
	}
	return tell.P(*d.P)
}

func (d Delta) nText() string {
	if d.Old.N() == d.New.N() {
		return strconv.Itoa(d.Old.N())
	}
	return fmt.Sprintf("%d+%d", d.Old.N(), d.New.N())
}

// DeltaNotes are what the table leaves out, each cause once, and how to read it.
func DeltaNotes(deltas []Delta) (notes []string) {
	tested := 0
	for _, d := range deltas {
		if d.P != nil {
			tested++
		}
		if d.Why.IsZero() {
			continue
		}
		line := tell.Sentence(d.Why)
		if d.Why.Subject == "" {
			line = fmt.Sprintf("%s not compared: %s.", d.name(), tell.Line(d.Why))
		}
		if !slices.Contains(notes, line) {
			notes = append(notes, line)
		}
	}
	if tested > 0 {
		notes = append(notes, fmt.Sprintf("Welch's t-test on launches (logs), two-sided, each of the %d metrics by itself: one in 20 unchanged metrics has p ≤ 0.05. ± is the standard deviation over launches (of logs, times the mean). ~ marks changes that are not significant. No verdict is based on this table.", tested))
	}
	return notes
}

// DeltaCSV writes all digits, a line per metric; missing values are empty.
func DeltaCSV(w io.Writer, deltas []Delta) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"cell", "metric", "stat", "unit", "better", "old", "old_sd", "old_n", "new", "new_sd", "new_n", "change", "absolute", "low", "high", "p", "why"}}
	number := func(x *float64) string {
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'g', -1, 64)
	}
	side := func(m Mean) []string {
		if m.N() == 0 {
			return []string{"", "", "0"}
		}
		sd := &m.SD
		if m.N() < 2 {
			sd = nil
		}
		return []string{number(&m.Mean), number(sd), strconv.Itoa(m.N())}
	}
	for _, d := range deltas {
		row := slices.Concat([]string{d.Cell, d.Metric, d.Stat, d.Unit, string(d.Better)}, side(d.Old), side(d.New),
			[]string{number(d.Change), strconv.FormatBool(d.Absolute), number(d.Low), number(d.High), number(d.P), string(d.Why.Code)})
		rows = append(rows, row)
	}
	if err := out.WriteAll(rows); err != nil {
		return err
	}
	return out.Error()
}
