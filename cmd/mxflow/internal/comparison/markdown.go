package comparison

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/engine/measure/imported"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/steps/ab"
)

// markdown prints a comparison for a pull request: what print shows, as far as others
// need it.
func (s *Show) markdown(r *ab.Result) {
	word := strings.ToUpper(string(r.Verdict))
	if word == "" {
		word = "OPEN"
	}
	line := func(format string, args ...any) { fmt.Fprintf(s.on, format+"\n", args...) }
	if reused := tell.Reused(r.Basis.Words()); reused != "" {
		line("%s\n", reused)
	}
	line("**%s** %s\n", word, report.Inert(r.Said))
	if r.A.Value != nil && r.B.Value != nil && r.Change != nil {
		change := tell.Interval(*r.Change, r.Low, r.High, "ratio")
		if r.Low != nil {
			change += " (decision bounds)"
		}
		line("%s: A %s, B %s, %s. Claim: %s.\n", s.Question.Label(), tell.Number(*r.A.Value, r.Unit), tell.Number(*r.B.Value, r.Unit), change, r.Claim)
	}
	list := func(texts []string) {
		for _, text := range texts {
			line("- %s", report.Inert(imported.Printable(strings.ReplaceAll(text, "\n", " "))))
		}
		if len(texts) > 0 {
			line("")
		}
	}
	list(tell.Lines(r.Reasons))
	machine, _ := report.Environments(r.A.Counted, r.B.Counted)
	if deltas := report.Deltas(r.A.Counted, r.B.Counted, len(machine) == 0, report.TestsBy(r.Test)); len(deltas) > 0 {
		fmt.Fprint(s.on, report.DeltaTable(deltas, "A", "B").Markdown())
		list(report.DeltaNotes(deltas))
	}
	rows := [][]string{}
	for _, pair := range [][2]string{
		{"A", inCode(s.Question.Arms[0].Text)},
		{"B", inCode(s.Question.Arms[1].Text)},
		{"load", sentWords(s.Question)},
		{"both", sharedWords(r, s.Question)},
		{"machine", imported.Printable(machineWords(append(r.A.All[:len(r.A.All):len(r.A.All)], r.B.All...)))},
		{"test", testWords(r.Test)},
		{"reproduce", inCode(s.Question.CommandLine)},
	} {
		if pair[1] != "" {
			rows = append(rows, pair[:])
		}
	}
	fmt.Fprint(s.on, report.Table{Head: []string{"", ""}, Rows: rows}.Markdown())
	rows = nil
	for _, d := range r.Differs {
		intended := d.Intended
		if intended == "" {
			intended = "not declared"
		}
		rows = append(rows, []string{d.What, imported.Printable(d.A), imported.Printable(d.B), intended})
	}
	if len(rows) > 0 {
		fmt.Fprint(s.on, report.Table{Head: []string{"What differs", "A", "B", "Intended"}, Rows: rows}.Markdown())
	}
	list(toKnow(r))
}

// inCode is a command escaped for Markdown.
func inCode(command string) string {
	return "`" + strings.ReplaceAll(oneLine(command), "`", "'") + "`"
}
