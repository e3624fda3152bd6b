package tree

import (
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
)

// results writes BENCHMARK_RESULTS.md: the answer, the features, the targets, and what
// people found. What was sent to what, and each launch, is in TEST_LOGS.
func (t *writer) results() {
	t.Line("# Benchmark results of plan %s\n", t.plan.Name)
	if t.plan.Summary != "" {
		t.Line("%s\n", t.plan.Summary)
	}
	t.Answer()
	t.keep("summary")
	t.Line("%s\n", t.Ports().Setup())
	t.Line("## Features\n")
	t.features()
	t.Targets()
	for _, target := range t.plan.Targets {
		if target.Summary != "" {
			t.Line("%s: %s\n", target.Name, verdict.FullStop(target.Summary))
		}
	}
	t.Stack()
	t.Gates("## Gates")
	t.Comparisons()
	t.Line("## Findings\n")
	t.keep("notes")
	t.Line("Written by `mxflow report --dir`; text between keep marks is yours and is preserved. All features and knobs are in")
	t.Line("[FEATURE_MATRIX.md](FEATURE_MATRIX.md), environments, workloads, variance and launches in [TEST_LOGS](TEST_LOGS).")
}

// features writes a row per variant: the first metric before and after with its change from
// the parent and from the baseline, and others with their change from the parent.
func (t *writer) features() {
	ports, columns := t.Ports(), t.Ports().Columns()
	head := []string{"Feature"}
	for i, c := range columns {
		if head = append(head, c.Name()); i == 0 {
			head = append(head, "From the parent", "From the baseline")
		}
	}
	var rows [][]string
	for _, f := range t.plan.Features() {
		s := t.states[f.Name]
		for i, name := range t.variants(f) {
			link, output, word := string(t.link(f.Name, results)), s.output, s.word
			if why := report.Short(s.row); why != "" && s.decided != nil {
				word += ": " + why
			}
			if name != f.Name {
				link = name
				if s.decided != nil {
					output = t.output(s.decided.Decision, name)
				}
			}
			if i > 0 {
				word = "" // the verdict is the feature's
			}
			row := []string{link}
			for i, c := range columns {
				cells := []string{"–", "–", "–"}
				if port := ports.Of(name); port != nil {
					if m, has := port.Row(c); has {
						cells = []string{m.After(), m.Brief(), m.Root}
						if i == 0 {
							cells[0] = m.FromTo()
						}
					}
				}
				if i > 0 {
					cells = []string{strings.TrimSuffix(cells[0]+", "+cells[1], ", –")}
				}
				row = append(row, cells...)
			}
			rows = append(rows, append(row, output, word))
		}
	}
	t.table(append(head, "Output", "Verdict"), rows)
	t.Line("%s\n", report.Raw(report.Legend))
}
