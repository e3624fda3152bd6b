package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
)

// argued is where an explanation argues something: the number and name of the
// rule, and the comparison.
type argued struct {
	number     int
	rule, text string
}

// told is what an explanation has said so far. Rules of a gate mostly read the same
// launches: they are printed once, and referred to where they are read again.
type told struct {
	tables []toldTable
	levels map[string]argued
	// replicates and flatters are set once the reader knows.
	replicates, flatters bool
	tell.Page
}

// toldTable is a table of launches and where it stands.
type toldTable struct {
	at     argued
	series string
	data   []datum
}

// from is where what was said stands, as it is called further below.
func (at argued) from(here argued) string {
	if at.number == here.number {
		return "as for " + at.text + " above"
	}
	return fmt.Sprintf("as in rule %d above (%s)", at.number, at.rule)
}

// launches says where the launches of an argument stand already; empty where they
// have to be printed.
func (t *told) launches(here argued, c argument) string {
	arms := armsOfData(c.Data)
	for _, table := range t.tables {
		if table.series != c.series {
			continue
		}
		theirs := slices.DeleteFunc(slices.Clone(table.data), func(d datum) bool { return !slices.Contains(arms, d.Arm) })
		if !slices.Equal(theirs, c.Data) {
			continue
		}
		text := "Launches: " + table.at.from(here)
		if len(theirs) < len(table.data) {
			text += ", those of " + verdict.And(arms) + " alone"
		}
		return text + "."
	}
	t.tables = append(t.tables, toldTable{here, c.series, c.Data})
	return ""
}

func armsOfData(data []datum) (arms []string) {
	for _, d := range data {
		if !slices.Contains(arms, d.Arm) {
			arms = append(arms, d.Arm)
		}
	}
	return arms
}

// how is the name of a test, with what to know of all of them the first time.
func (t *told) how(c argument) string {
	if t.replicates && c.shortHow != "" {
		return c.shortHow
	}
	t.replicates = t.replicates || c.shortHow != ""
	return c.How
}

// said are the sentences of an argument without what was said before.
func (t *told) said(here argued, c argument) (said []string) {
	said = slices.Clone(c.Said)
	if c.interval != "" {
		if t.flatters {
			said[c.intervalAt] = c.plain
		}
		t.flatters = t.flatters || c.interval != c.plain
	}
	if len(c.levels) == 0 {
		return said
	}
	key := strings.Join(c.levels, " ")
	if at, known := t.levels[key]; known {
		said = slices.Replace(said, c.levelsAt, c.levelsAt+len(c.levels), "Levels and looks "+at.from(here)+".")
	} else if t.levels == nil {
		t.levels = map[string]argued{key: here}
	} else {
		t.levels[key] = here
	}
	return said
}

func (a *app) printArgument(here argued, r ruleArgument, c argument, told *told) {
	if len(r.Compared) > 1 || here.text != r.Expr {
		fmt.Fprintf(a.stdout, "\n   %s", here.text)
		if c.Verdict != "" {
			fmt.Fprintf(a.stdout, ": %s", c.Verdict)
		}
		fmt.Fprintln(a.stdout)
	}
	fmt.Fprintln(a.stdout)
	if c.Claim != "" {
		a.paragraph("   ", "Claim: "+c.Claim)
	}
	if c.How != "" {
		a.paragraph("   ", "Test: "+told.how(c))
	}
	if len(c.Data) > 0 {
		if before := told.launches(here, c); before != "" {
			a.paragraph("   ", before)
		} else {
			a.printData(c)
		}
	}
	if len(c.Looks) > 0 {
		a.printLooks(c.Looks)
	}
	if len(c.Data)+len(c.Looks) > 0 && len(c.Said) > 0 {
		fmt.Fprintln(a.stdout)
	}
	a.paragraphs("   ", told.said(here, c))
}

func (a *app) printData(c argument) {
	var rows [][]string
	for _, d := range c.Data {
		rows = append(rows, []string{fmt.Sprint(d.Number), fmt.Sprint(d.Round), d.Arm, d.Launch, report.Digits(d.Value)})
	}
	a.indentedTable([]string{"number", "round", "arm", "launch", strings.TrimSpace("value " + inUnit(c.Unit))}, rows)
}

func (a *app) printLooks(looks []look) {
	var rows [][]string
	for _, l := range looks {
		row := []string{fmt.Sprint(l.N), l.Change, "–", "–", "–", "–", "–", l.Came}
		if l.DF > 0 {
			row = []string{fmt.Sprint(l.N), l.Change, fmt.Sprintf("%.3g", l.SE), fmt.Sprintf("%.2f", l.DF), tText(l.T), tell.P(l.PPass), tell.P(l.PFail), l.Came}
		}
		rows = append(rows, row)
	}
	a.indentedTable([]string{"look at", "estimate", "SE", "df", "T", "p pass", "p fail", ""}, rows)
}

// tText writes a statistic; of launches that tie it may be of any size.
func tText(t float64) string {
	if math.Abs(t) >= 1e4 {
		return fmt.Sprintf("%+.2g", t)
	}
	return fmt.Sprintf("%+.2f", t)
}
