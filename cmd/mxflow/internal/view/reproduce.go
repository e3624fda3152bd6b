package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/steps/questions/reproduce"
)

// Reproduces prints what is to be made again, and what differs as far as it is known; accept are the words
// of --accept.
func Reproduces(on table.Screen, j *reproduce.Job, differs []decide.Condition, accept []string) {
	fmt.Fprintf(on, "Record of plan %s, run %s of %s: %s, tree hash %s.\n", j.Run.Plan, j.Run.ID,
		verdict.Second(j.Run.Started), verdict.Count(j.Of.Records, "record"), j.Of.Root)
	fmt.Fprintf(on, "To decide again: %s\n\n", strings.Join(j.Nodes(), ", "))
	if len(differs) == 0 {
		fmt.Fprintln(on, "Nothing is known to differ before the first launch.")
	} else {
		t := report.ConditionTable(differs)
		on.Table(t.Head, t.Rows)
	}
	for _, word := range accept {
		if !slices.ContainsFunc(differs, func(c decide.Condition) bool { return c.Named(word) }) {
			fmt.Fprintf(on, "--accept %s: nothing of that name differs before the first launch.\n", word)
		}
	}
	fmt.Fprintln(on)
}

// Reproduction prints both results side by side, and what follows.
func Reproduction(on table.Screen, r *decide.Reproduction, state, took string, exit int) {
	fmt.Fprintln(on)
	t := report.AgainTable(r)
	on.Table(t.Head, t.Rows)
	if t = report.ConditionTable(r.Differs); len(t.Rows) > 0 {
		fmt.Fprintln(on)
		on.Table(t.Head, t.Rows)
	}
	fmt.Fprintln(on)
	on.Sentence(report.ReproductionSentence(r))
	fmt.Fprintf(on, "%s, exit status %d\n", took, exit)
	on.Commands([][2]string{{shell.Line("mxflow", "report", "--state", state), "both results, as Markdown"}})
}
