package tree

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// port writes the page of one feature.
func (t *writer) port(f *plans.Feature) {
	path, s := t.names[f.Name], t.states[f.Name]
	t.line("# Feature: %s\n", f.Name)
	if f.Summary != "" {
		t.line("%s\n", f.Summary)
	}
	on := string(f.BuildsOn.Kind)
	if f.BuildsOn.Feature != "" {
		on = f.BuildsOn.Feature
	}
	t.line("Status: **%s**. Phase %s, builds on %s, output %s.\n", s.word, f.Phase, on, s.output)
	if f.SupersededBy != "" {
		t.line("Superseded by %s.\n", t.link(f.SupersededBy, path))
	}
	for _, b := range f.BlockedBy {
		t.line("Blocked by: %s\n", b)
	}
	t.line("## Hypothesis\n")
	t.hypothesis(f, s)
	t.line("## Success criteria\n")
	t.criteria(f, s)
	t.line("## Source files changed\n")
	t.sources(f)
	t.line("## Variables, flags and images\n")
	sets := t.sets(f)
	for _, row := range sets {
		if summary := t.plan.Knob(row[0]).Summary; summary != "" {
			row[0] += ": " + summary
		}
	}
	t.table([]string{"Knob", "Value", "Changes"}, sets)
	t.line("## Implementation notes\n")
	t.list(f.Notes)
	t.keep("notes")
	t.line("## Areas for improvement\n")
	t.list(f.Improve)
	t.keep("improve")
	if s.decided != nil {
		t.evaluation(s.decided.Decision)
		t.line("## Benchmark results\n")
		t.parts(report.Side(s.decided.Decision))
	}
	t.line("## Links\n")
	t.line("- [All results](../%s)\n- [All features](../FEATURE_MATRIX.md)", raw(results))
	if s.decided != nil {
		if session := s.decided.Session; slices.ContainsFunc(t.arms, func(a *report.Arm) bool { return a.Session == session }) {
			t.line("- [Log of session %s](../%s)", session, raw(logOf(session)))
		}
		t.line("- Run `%s`; why it was decided so: `mxflow explain feature.%s`", raw(s.decided.Run), raw(f.Name))
	}
	t.line("- Reproduce: `mxflow env %s`", raw(f.Name))
}

func (t *writer) hypothesis(f *plans.Feature, s state) {
	if f.Hypothesis == nil {
		t.line("None was made.\n")
		return
	}
	h := f.Hypothesis
	t.line("%s %s, because %s.\n", h.Metric, h.Expect, strings.TrimSuffix(h.Because, "."))
	if s.decided == nil || s.decided.Hypothesis == nil {
		return
	}
	for _, c := range t.claims {
		if c.Feature == f.Name {
			t.line("Outcome: %s. Measured: %s.\n", c.Words(), cmp.Or(c.Tested, c.Measured.String(), "–"))
		}
	}
}

// criteria writes a row per number that a criterion reads.
func (t *writer) criteria(f *plans.Feature, s state) {
	rules := map[string]verdict.Rule{}
	if s.decided != nil {
		for _, r := range s.decided.Rules {
			rules[r.Name] = r
		}
	}
	var rows [][]string
	for _, c := range f.Criteria {
		r, decided := rules[c.Name]
		if !decided {
			rows = append(rows, []string{c.Name, "–", "`" + c.Expr + "`", "–", "not decided"})
			continue
		}
		for _, in := range r.Inputs {
			e, unit, of, actual := r.Estimate(in), in.Unit, in.Unit, "–"
			if verdict.RelativePath(in.Path) {
				unit, of = "ratio", "" // the launches have their own
			}
			own, theirs := in.PerLaunch[:min(e.N, len(in.PerLaunch))], in.BasePerLaunch[:min(e.BaseN, len(in.BasePerLaunch))]
			base := meanOf(theirs, of)
			switch {
			case e.Value != nil && len(theirs) > 0:
				actual = meanOf(own, of) + ", " + e.In(unit)
			case e.Value != nil:
				actual = e.In(unit)
			case in.Text != nil:
				actual = *in.Text
			}
			if !in.Missing.IsZero() {
				actual = in.Absence().String()
			}
			rows = append(rows, []string{c.Name + ": " + in.Path, base, "`" + r.Expr + "`", actual, string(r.Verdict)})
		}
		if len(r.Inputs) == 0 {
			rows = append(rows, []string{c.Name, "–", "`" + r.Expr + "`", verdict.Semicolons(r.Reasons), string(r.Verdict)})
		}
	}
	t.table([]string{"Criterion", "Baseline", "Target", "Actual", "Verdict"}, rows)
}

func meanOf(values []float64, unit string) string {
	mean, err := stats.Mean(values)
	if err != nil {
		return "–"
	}
	return verdict.Number(mean, unit)
}

// evaluation writes the outcome of each criterion and level, and why.
func (t *writer) evaluation(d *ledger.Decision) {
	t.line("## Evaluation\n")
	var rows [][]string
	for _, r := range d.Rules {
		name := r.Name
		if !r.Decides {
			name += " (recorded only)"
		}
		rows = append(rows, []string{name, string(r.Verdict), strings.Join(verdict.Lines(r.Reasons), "\n")})
	}
	t.table([]string{"Criterion", "Verdict", "Notes"}, rows)
	rows = nil
	for _, l := range d.Levels {
		rows = append(rows, []string{l.Name, string(l.Verdict), strings.Join(verdict.Lines(l.Reasons), "\n")})
	}
	t.table([]string{"Level", "Verdict", "Notes"}, rows)
	for _, line := range verdict.Lines(d.Findings) {
		t.line("- %s", line)
	}
	if len(d.Findings) > 0 {
		t.line("")
	}
}

// sources writes the source trees that the candidate ran from, and the files in which
// they differ from their commits.
func (t *writer) sources(f *plans.Feature) {
	var own, parent *ledger.Launch
	for _, name := range t.variants(f.Name) {
		if a := t.newest[name]; a != nil {
			own = a.Launches[0]
			for _, other := range t.arms {
				if other.Session == a.Session && other.Variant != name && parent == nil {
					parent = other.Launches[0]
				}
			}
		}
	}
	if own == nil {
		for _, l := range t.qualified["feature."+f.Name+".qualify"] {
			own = l
		}
	}
	if own == nil || len(own.Trees) == 0 {
		t.line("No source tree is recorded%s.\n", map[bool]string{true: "", false: ": not launched yet"}[own != nil])
		return
	}
	for _, name := range slices.Sorted(maps.Keys(own.Trees)) {
		tree := own.Trees[name]
		t.line("- %s at `%.12s`", name, raw(tree.Commit))
		if parent != nil {
			if was, ok := parent.Trees[name]; ok && was.Commit != tree.Commit {
				t.line("  - measured against `%.12s`: `git diff --stat %.12s %.12s`", raw(was.Commit), raw(was.Commit), raw(tree.Commit))
			}
		}
		for _, file := range t.diffed(tree.Diff) {
			t.line("  - `%s`, not committed", file)
		}
	}
	t.line("")
}

// diffed are the files that a recorded diff changes.
func (t *writer) diffed(sum string) (files []string) {
	if sum == "" {
		return nil
	}
	text, err := t.st.Get(sum)
	if err != nil {
		return []string{"the recorded diff is missing: " + err.Error()}
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), "diff --git ")
		if _, to, cut := strings.Cut(rest, " b/"); ok && cut {
			files = append(files, to)
		}
	}
	return files
}

// sets are what a feature's knob values change.
func (t *writer) sets(f *plans.Feature) (rows [][]string) {
	add := func(knob, value string) {
		k := t.plan.Knob(knob)
		if k == nil || k.Value(value) == nil {
			return
		}
		rows = append(rows, []string{knob, value, strings.Join(changesOf(k.Value(value)), "\n")})
	}
	for _, knob := range slices.Sorted(maps.Keys(f.Set)) {
		add(knob, f.Set[knob])
	}
	if f.Choose != nil {
		for _, value := range f.Choose.Values {
			add(f.Choose.Knob, value)
		}
	}
	return rows
}

// changesOf are what a knob value sets.
func changesOf(v *plans.KnobValue) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(v.Env)) {
		if v.Env[name] == nil {
			list = append(list, "unset `"+name+"`")
		} else {
			list = append(list, "`"+name+"="+*v.Env[name]+"`")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Settings)) {
		list = append(list, fmt.Sprintf("`%s = %v`", name, v.Settings[name]))
	}
	if len(v.Args) > 0 {
		list = append(list, "`"+strings.Join(v.Args, " ")+"`")
	}
	if len(v.Command) > 0 {
		list = append(list, "command `"+strings.Join(v.Command, " ")+"`")
	}
	if v.Image != "" {
		list = append(list, "image `"+v.Image+"`")
	}
	list = append(list, slices.Sorted(maps.Keys(v.Parts))...)
	if len(list) == 0 {
		list = []string{"–"}
	}
	return list
}

func (t *writer) list(texts []string) {
	for _, text := range texts {
		t.line("- %s", strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  "))
	}
	if len(texts) > 0 {
		t.line("")
	}
}

// matrix writes FEATURE_MATRIX.md.
func (t *writer) matrix() {
	t.line("# Features of plan %s\n", t.plan.Name)
	var rows [][]string
	for _, f := range t.plan.Features() {
		var set []string
		for _, row := range t.sets(f) {
			set = append(set, row[0]+" = "+row[1]+": "+row[2])
		}
		on := cmp.Or(f.BuildsOn.Feature, string(f.BuildsOn.Kind))
		rows = append(rows, []string{string(t.link(f.Name, results)), f.Phase, fmt.Sprint(f.Priority), on, strings.Join(set, "\n"), t.states[f.Name].output, t.states[f.Name].word})
	}
	t.table([]string{"Feature", "Phase", "Priority", "Builds on", "Sets", "Output", "Status"}, rows)
	t.line("## Knobs\n")
	rows = nil
	for _, k := range t.plan.Knobs {
		for _, v := range k.Values {
			name := v.Name
			if name == k.Default {
				name += " (default)"
			}
			rows = append(rows, []string{k.Name, name, strings.Join(changesOf(v), "\n"), strings.Join(v.MustSee.Log, "\n"), strings.Join(v.MustNotSee.Log, "\n")})
		}
	}
	t.table([]string{"Knob", "Value", "Changes", "Must see", "Must not see"}, rows)
	t.keep("notes")
}
