package tree

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// mostColumns limits a matrix's metrics; all others are in the sections.
const mostColumns = 6

// results writes BENCHMARK_RESULTS.md.
func (t *writer) results() {
	t.Line("# Benchmark results of plan %s\n", t.plan.Name)
	if t.plan.Summary != "" {
		t.Line("%s\n", t.plan.Summary)
	}
	t.Line("Written by `mxflow report --dir`; text between keep marks is yours and is preserved.\n")
	t.keep("summary")
	t.Headline()
	t.Gates()
	t.Again()
	t.best()
	t.Line("## Comparison matrix\n")
	t.comparison()
	t.Targets()
	t.Comparisons()
	t.frameworks()
	t.accepted()
	t.Line("## Configurations\n")
	t.configuration(ledger.Baseline)
	for _, f := range t.plan.Features() {
		for _, name := range t.variants(f.Name) {
			t.configuration(name)
		}
	}
	t.Stack()
	t.Hypotheses()
	t.runs()
	t.keep("notes")
}

// variants are a feature's measurable variants: itself, or its alternatives.
func (t *writer) variants(feature string) (names []string) {
	f := t.plan.Feature(feature)
	if len(f.Alternatives) == 0 {
		return []string{feature}
	}
	for _, a := range f.Alternatives {
		names = append(names, a.Name)
	}
	return names
}

// best writes the best of all runs beside the baseline of its session; of the baseline
// itself if nothing is better.
func (t *writer) best() {
	t.Line("## Best results\n")
	var rows [][]string
	for _, c := range t.metrics {
		var best *report.Arm
		var value report.Sample
		for _, a := range t.own {
			v, ok := a.Of(c.Address(""), c.Stat)
			if !ok {
				continue
			}
			of := a.Variant == ledger.Baseline
			if base := t.inSession(a, ledger.Baseline); !of && base != nil {
				if beside, ok := base.Of(c.Address(""), c.Stat); ok && !v.BetterThan(beside) {
					continue
				}
			}
			was := best != nil && best.Variant == ledger.Baseline
			if best == nil || was && !of || of == was && v.BetterThan(value) {
				best, value = a, v
			}
		}
		if best == nil {
			continue
		}
		row := []string{c.Name(), "–", value.Text(), report.NotTogether, best.Variant, date(best.Launches[0].Started)}
		if base := t.inSession(best, ledger.Baseline); best.Variant == ledger.Baseline {
			row[1], row[3] = value.Text(), "nothing is better"
		} else if base != nil {
			d := report.Compare(best, base, c, t.tests)
			row[1], row[3] = d.Old.Text(), d.ChangeText()
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		t.Line("Nothing was measured yet.\n")
		return
	}
	t.table([]string{"Metric", "Baseline", "Best of all runs", "Change", "Configuration", "Date"}, rows)
	t.Line("The baseline and the change are of the best's session. The best of many runs is optimistic on average: the gates have the")
	t.Line("demonstrated results. ± is the standard deviation over launches: of their logs, times the mean, where the mean is of logs (no value")
	t.Line("is zero).\n")
}

func (t *writer) comparison() {
	head := []string{"Configuration"}
	columns := t.metrics[:min(mostColumns, len(t.metrics))]
	for _, c := range columns {
		title := c.Name()
		if _, unit, has := strings.Cut(c.Head, " ("); has {
			title += " (" + unit
		}
		head = append(head, title)
	}
	values := func(name string) (row []string) {
		for _, c := range columns {
			text := "–"
			if a := t.newest[name]; a != nil {
				if v, ok := a.Of(c.Address(""), c.Stat); ok {
					text = v.Bare()
				}
			}
			row = append(row, text)
		}
		return row
	}
	output := "–"
	if d, _, ok := t.st.Latest(ledger.Baseline); ok {
		output = t.output(d, ledger.Baseline)
	}
	rows := [][]string{append(append([]string{ledger.Baseline}, values(ledger.Baseline)...), output, "reference")}
	for _, f := range t.plan.Features() {
		s := t.states[f.Name]
		for _, name := range t.variants(f.Name) {
			row := append([]string{string(t.link(f.Name, results))}, values(name)...)
			output := s.output
			if name != f.Name {
				row[0] = name
				if s.decided != nil {
					output = t.output(s.decided.Decision, name)
				}
			}
			rows = append(rows, append(row, output, s.word))
		}
	}
	for _, target := range t.plan.Targets {
		row := []string{target.Name}
		for _, c := range columns {
			text := "–"
			if x, ok := target.Metrics[c.Cell][c.Metric]; ok && c.Stat == "median" {
				text = verdict.Number(x, "")
			}
			row = append(row, text)
		}
		rows = append(rows, append(row, "–", "target, measured elsewhere"))
	}
	t.table(append(head, "Output", "Status"), rows)
}

// accepted writes the accepted features, each with its gain.
func (t *writer) accepted() {
	t.Line("## Accepted features\n")
	stack := report.AcceptedStack(t.st)
	for i, a := range stack.Features {
		brought := strings.Join(verdict.Lines(a.Reasons), "; ")
		t.Line("%d. %s, %s on %s: %s", i+1, date(a.Time), t.link(a.Feature, results), a.On, brought)
	}
	if len(stack.Features) == 0 {
		t.Line("Nothing was accepted yet.")
	}
	t.Line("")
}

// configuration writes the section of one variant.
func (t *writer) configuration(name string) {
	a := t.newest[name]
	if a == nil {
		return
	}
	first := a.Launches[0]
	t.Line("### %s\n", name)
	t.Line("%s of session [%s](%s), %s, on %s.\n", verdict.Launches(len(a.Launches)), a.Session, report.Raw(logOf(a.Session)), date(first.Started), a.Block)
	env := first.Fingerprint
	if base := t.newest[ledger.Baseline]; base != nil && base != a {
		env = maps.Clone(env)
		maps.DeleteFunc(env, func(name, value string) bool { return base.Launches[0].Fingerprint[name] == value })
		t.Line("Environment: as the baseline's%s\n", map[bool]string{true: ".", false: ", but:"}[len(env) == 0])
	} else {
		t.Line("Environment:\n")
	}
	if len(env) > 0 {
		t.settings(env)
	}
	t.Line("Engine:\n")
	engine := maps.Clone(first.Engine)
	if engine == nil {
		engine = map[string]string{}
	}
	for knob, value := range first.Knobs {
		engine["knob "+knob] = value
	}
	t.settings(engine)
	if seen := observed(a); len(seen) > 0 {
		t.Line("Observed at run time:\n")
		t.settings(seen)
	}
	var sent, results [][]string
	for _, c := range first.Cells {
		sent = append(sent, []string{c.Cell, report.Sent(a.Launches, c.Cell)})
	}
	t.table([]string{"Workload", "Sent"}, sent)
	base := t.reference(a)
	for _, c := range t.metrics {
		v, ok := a.Of(c.Address(""), c.Stat)
		if !ok {
			continue
		}
		row := []string{c.Name(), v.Text(), "–"}
		if v.Low != nil {
			unit := ""
			if v.Unit == "share" { // percent, as the mean beside it
				unit = v.Unit
			}
			row[2] = fmt.Sprintf("%s to %s", verdict.Number(*v.Low, unit), verdict.Number(*v.High, unit))
		}
		if base != nil {
			row = append(row, report.Compare(a, base, c, t.tests).ChangeText())
		}
		results = append(results, row)
	}
	head := []string{"Metric", "Mean ± std", "95% CI"}
	if base != nil {
		head = append(head, "Change from "+base.Variant)
	}
	t.table(head, results)
}

// observed are what an arm's launches saw of themselves, for YAML: a single word has no
// quotes of its own there.
func observed(a *report.Arm) map[string]string {
	seen := map[string]string{}
	for _, l := range a.Launches {
		for name := range l.Observed {
			seen[name] = ledger.ObservedValues(a.Launches, name)
			if text, err := strconv.Unquote(seen[name]); err == nil {
				seen[name] = text
			}
		}
	}
	return seen
}

// inSession is another arm of an arm's session and engine; nil if it has none.
func (t *writer) inSession(a *report.Arm, variant string) *report.Arm {
	i := slices.IndexFunc(t.arms, func(o *report.Arm) bool { return o.Session == a.Session && o.Block == a.Block && o.Variant == variant })
	if i < 0 {
		return nil
	}
	return t.arms[i]
}

// reference is what an arm is compared with: the baseline of its session, or else its
// parent, the first of those there; nil for a baseline.
func (t *writer) reference(a *report.Arm) *report.Arm {
	if base := t.inSession(a, ledger.Baseline); base != nil || a.Variant == ledger.Baseline {
		if base == a {
			return nil
		}
		return base
	}
	i := slices.IndexFunc(t.arms, func(o *report.Arm) bool { return o.Session == a.Session })
	if t.arms[i] == a {
		return nil
	}
	return t.arms[i]
}

// runs is the log of sessions, the newest first.
func (t *writer) runs() {
	t.Line("## Run log\n")
	var order []string
	of := map[string][]string{}
	on := map[string]string{}
	for _, a := range t.arms {
		if of[a.Session] == nil {
			order = append(order, a.Session)
			on[a.Session] = date(a.Launches[0].Started)
		}
		of[a.Session] = append(of[a.Session], fmt.Sprintf("%s (%d)", a.Variant, len(a.Launches)))
	}
	var rows [][]string
	for _, session := range slices.Backward(order) {
		rows = append(rows, []string{fmt.Sprintf("[%s](%s)", session, logOf(session)), on[session], strings.Join(of[session], ", ")})
	}
	t.table([]string{"Session", "Date", "Configurations (launches)"}, rows)
}
