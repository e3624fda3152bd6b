package tree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// results writes BENCHMARK_RESULTS.md: the answer, every configuration with the plan's columns,
// the best of all runs, how it came about, and what people found. What was sent to what, and each
// launch, is in TEST_LOGS.
func (t *writer) results() {
	t.Line("# Benchmark results of plan %s\n", t.Plan.Name)
	if t.Plan.Summary != "" {
		t.Line("%s\n", t.Plan.Summary)
	}
	t.WriteAnswer()
	t.keep("summary")
	t.Line("%s\n", t.Setup())
	t.Blocks("##", t.ReproductionBlocks())
	t.configurations()
	t.Blocks("##", t.TargetBlocks())
	t.Blocks("##", t.NightBlocks(0))
	for _, target := range t.Plan.Targets {
		if target.Summary != "" {
			t.Line("%s: %s\n", target.Name, verdict.FullStop(target.Summary))
		}
	}
	t.bests()
	t.WriteStack()
	t.Gates("## Gates")
	t.Comparisons("##", true)
	t.runs()
	t.variance()
	t.Line("## Findings\n")
	t.keep("notes")
	t.Line("Written by `mxflow report --dir`; text between keep marks is yours and is preserved. All features and " +
		"knobs are in")
	t.Line("[FEATURE_MATRIX.md](FEATURE_MATRIX.md), environments, workloads and launches in [TEST_LOGS](TEST_LOGS).")
}

// configurations are the tables of the plan, with links to features and what their answers were.
func (t *writer) configurations() {
	blocks := t.ResultBlocks()
	if len(blocks) > 0 {
		t.Line("## Results\n")
	}
	for i, g := range t.Results() {
		table := &blocks[i].Table
		at := slices.Index(table.Head, "n")
		if at < 0 {
			continue
		}
		table.Head = slices.Insert(table.Head, at, "Output")
		for i, r := range g.Rows {
			output := "–"
			if r.Feature != "" {
				output = t.states[r.Feature].output
			}
			switch d := t.states[r.Feature].decided; {
			case r.Feature != "" && r.Of == "":
				table.Rows[i][0] = string(t.link(r.Feature, results))
			case r.Of != "" && d != nil && r.Name != ledger.Baseline:
				output = t.output(d.Decision, r.Name)
			case r.Name == ledger.Baseline:
				if d, _, ok := t.Store.Latest(ledger.Baseline); ok {
					output = t.output(d, ledger.Baseline)
				}
			}
			table.Rows[i] = slices.Insert(table.Rows[i], at, output)
		}
	}
	t.Blocks("###", blocks)
}

// bests are the best of all runs in each column, beside the baseline of its session.
func (t *writer) bests() {
	var rows [][]string
	for _, c := range t.Columns() {
		best, v := t.Best(c)
		if best == nil || !c.Plain() {
			continue
		}
		was := v
		was.New = v.Old
		row := []string{c.Title(), was.Number(), v.Number(), v.Changed(), best.Variant, date(best.Launches[0].Started)}
		switch {
		case best.Variant == ledger.Baseline:
			row[1], row[3] = row[2], "nothing is better"
		case v.Change == nil && v.Root != "":
			row[3] = v.Root
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return
	}
	t.Line("## Best of all runs\n")
	t.table([]string{"Metric", "Baseline", "Best", "Change", "By", "Date"}, rows)
	t.Line("A change is of the best's session, or ≈ the product of the steps from the baseline. The best of many is " +
		"optimistic on")
	t.Line("average: the gates have what was demonstrated.\n")
}

// mostRuns limits the run log before its older entries are folded in.
const mostRuns = 12

// runs is the run log, the newest first: a row for each configuration that a session measured.
func (t *writer) runs() {
	runs := map[string]string{} // by session
	for _, r := range t.Store.Records() {
		if r.Launch != nil && runs[r.Launch.Session] == "" {
			runs[r.Launch.Session] = r.Run
		}
	}
	columns := t.Columns()
	head := []string{"Run", "Date", "Configuration"}
	if len(columns) > 0 {
		head = append(head, columns[0].Title())
	}
	head = append(head, "Links")
	of := map[string]int{}
	for _, a := range t.arms {
		of[a.Session]++
	}
	var rows [][]string
	arms := slices.Clone(t.arms)
	slices.SortStableFunc(arms, func(a, b *report.Arm) int {
		return b.Launches[0].Started.Compare(a.Launches[0].Started)
	})
	for _, a := range arms {
		if of[a.Session] > 1 && (a.Variant == ledger.Baseline || a.Variant == "accepted") {
			continue // it is what the others were measured beside
		}
		row := []string{"`" + runs[a.Session] + "`", date(a.Launches[0].Started), a.Variant}
		if len(columns) > 0 {
			row = append(row, t.In(a, columns[0]).Text(false))
		}
		links := []string{fmt.Sprintf("[log](%s)", logOf(a.Session))}
		feature, _, _ := strings.Cut(strings.ReplaceAll(a.Variant, "@", "["), "[")
		if t.names[feature] != "" {
			links = append([]string{fmt.Sprintf("[page](%s)", t.names[feature])}, links...)
		}
		if path := t.profiles[a.Variant]; path != "" {
			links = append(links, fmt.Sprintf("[profile](%s)", path))
		}
		rows = append(rows, append(row, strings.Join(links, " ")))
	}
	if len(rows) == 0 {
		return
	}
	t.Line("## Run log\n")
	shown, older := report.First(rows, mostRuns)
	t.table(head, shown)
	if len(older) > 0 {
		t.Line("<details><summary>%d older</summary>\n", len(older))
		t.table(head, older)
		t.Line("</details>\n")
	}
}

// variance is how much launches of each configuration differ in each column, with where its
// environment, command and workload are.
func (t *writer) variance() {
	var rows [][]string
	columns := slices.DeleteFunc(t.Columns(), func(c report.Shown) bool { return !c.Plain() })
	head := []string{"Configuration", "n"}
	for _, c := range columns {
		head = append(head, c.Title())
	}
	for _, name := range t.Measured() {
		port := t.Port(name)
		row := []string{name, fmt.Sprint(len(port.Launches))}
		for _, c := range columns {
			text := "–"
			if v := t.In(port.Arm, c); v.New.N() > 0 {
				if text = v.Number(); v.New.Mean > 0 && v.New.SD > 0 {
					text += ", " + verdict.Number(v.New.SD/v.New.Mean, "spread")
				}
			}
			row = append(row, text)
		}
		rows = append(rows, append(row, fmt.Sprintf("[%s](%s)", port.Session, logOf(port.Session))))
	}
	if len(rows) == 0 {
		return
	}
	t.Line("## Variance and environments\n")
	t.Line("<details><summary>Mean ± standard deviation over n launches and coefficient of variation; environment, " +
		"command, " +
		"observations and workload by link</summary>\n")
	t.table(append(head, "Environment"), rows)
	t.Line("</details>\n")
}

// profile writes where the time of a launch went, and returns the path of the file; empty if it
// was not profiled.
func (t *writer) profile(variant string, l *ledger.Launch) (path string) {
	analysis := report.ProfileOf(t.Store, l)
	if analysis == nil {
		return ""
	}
	t.Writer = &report.Writer{Summary: t.Summary, Links: within}
	t.Line("# Profile of %s\n", variant)
	t.Line("Launch `%s` of %s.\n", report.Raw(l.ID), date(l.Started))
	for i := range analysis.Parts {
		part := &analysis.Parts[i]
		t.Line("## %s\n", report.PartTitle(part))
		for _, table := range report.ProfileTables(part, mostKernels) {
			t.Table(table)
		}
	}
	t.Line("## Analysis\n")
	t.keep("analysis")
	path = "perf_artifacts/" + odd.ReplaceAllString(variant, "_") + ".md"
	t.files = append(t.files, File{Path: path, Text: t.String()})
	return path
}

// mostKernels limits those of a committed profile; mxflow profile has all.
const mostKernels = 12
