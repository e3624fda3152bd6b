package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
)

// ComparisonTable formats metrics of two sides as benchstat does: name, both means, the change
// with its bounds, p, and the number of launches.
func ComparisonTable(all []Comparison, oldName, newName string) Table {
	t := Table{Head: []string{"metric", oldName, newName, "change", "p", "n"}}
	for _, d := range all {
		t.Rows = append(t.Rows, []string{d.name(), d.Old.Bare(), d.New.Bare(), d.ChangeText(), d.pText(), d.nText()})
	}
	return t
}

// name is "chat tg (tok/s)", with the statistic if that is not the usual one.
func (d Comparison) name() string {
	name := strings.TrimSpace(d.Cell + " " + d.Metric)
	if d.Stat != "median" && d.Stat != "mean" {
		name += " " + d.Stat
	}
	return head(name, d.Unit)
}

// ChangeText is the change with its bounds, which look different where a rule decided by
// them, prefixed by "~" if the launches do not show it.
func (d Comparison) ChangeText() string {
	if d.Change == nil {
		return "–"
	}
	unit := "ratio"
	if d.Absolute {
		unit = d.Unit
	}
	text, of := verdict.CI(*d.Change, d.Low, d.High, unit), ""
	if d.Decided > 0 {
		text = verdict.Interval(*d.Change, d.Low, d.High, unit)
	}
	if d.Decided > 0 && d.Decided < min(d.Old.N(), d.New.N()) {
		of = fmt.Sprintf(", by the first %d", d.Decided)
	}
	switch better, known := d.Improves(); {
	case d.Low != nil && !d.Shown():
		text = "~ " + text
	case !d.Shown() || !known:
	case better:
		text += " better"
	default:
		text += " worse"
	}
	return text + of
}

func (d Comparison) pText() string {
	if d.P == nil {
		return "–"
	}
	return verdict.P(*d.P)
}

func (d Comparison) nText() string {
	if d.Old.N() == d.New.N() {
		return strconv.Itoa(d.Old.N())
	}
	return fmt.Sprintf("%d+%d", d.Old.N(), d.New.N())
}

// ComparisonNotes are what the table leaves out, each cause once, and how to read it.
func ComparisonNotes(all []Comparison) (notes []string) {
	tested := 0
	for _, d := range all {
		if d.P != nil {
			tested++
		}
		if d.Why.IsZero() {
			continue
		}
		line := verdict.Sentence(d.Why)
		if d.Why.Subject == "" {
			line = fmt.Sprintf("%s not compared: %s.", d.name(), d.Why.String())
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
