package tree

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// port writes the page of one feature.
func (t *writer) port(f *plans.Feature) {
	path, s := t.names[f.Name], t.states[f.Name]
	t.Line("# Feature: %s\n", f.Name)
	if f.Summary != "" {
		t.Line("%s\n", f.Summary)
	}
	on := cmp.Or(f.BuildsOn.Feature, string(f.BuildsOn.Kind))
	t.Line("Status: **%s**. Phase %s, builds on %s, output %s.\n", s.word, f.Phase, on, s.output)
	if f.SupersededBy != "" {
		t.Line("Superseded by %s.\n", t.link(f.SupersededBy, path))
	}
	for _, b := range f.BlockedBy {
		t.Line("Blocked by: %s\n", b)
	}
	if h := f.Hypothesis; h != nil && s.decided == nil {
		t.Line("Hypothesis: %s %s, because %s.\n", h.Metric, h.Expect, strings.TrimSuffix(h.Because, "."))
	}
	t.Line("## Results\n")
	if s.decided != nil {
		if v := s.decided.Verdict; !v.Unlocks() {
			t.Line("%s: %s\n", verdict.Capital(string(v)), verdict.FullStop(report.Brief(s.decided.Decision)))
		}
		t.Rules(s.decided.Decision)
		for _, name := range t.variants(f) {
			if port := t.Port(name); port != nil {
				t.Table(t.Own(port, true))
			}
		}
		for _, c := range s.decided.Confirmations {
			t.Line("%s\n", verdict.Sentence(c.Reason))
			if port := t.Port(strings.TrimPrefix(c.Node, "feature.")); port != nil {
				t.Table(t.Own(port, false))
			}
		}
	} else {
		var rows [][]string
		for _, c := range f.Criteria {
			rows = append(rows, []string{c.Name, "`" + c.Expr + "`"})
		}
		t.table([]string{"Criterion", "Rule"}, rows)
	}
	if s.decided != nil {
		if said := report.SaidBy(t.Store, s.decided.Decision); said != nil {
			t.Line("## Answers\n\nTo one prompt of level %s.\n", said.Level)
			rows := [][]string{{"prompt", said.Prompt}, {"parent", said.Parent}, {f.Name, said.Own}}
			for i := range rows {
				rows[i][1] = cmp.Or(foreign.Short(rows[i][1]), "–")
			}
			t.table([]string{"", "Text"}, rows)
		}
	}
	t.Line("## Source files changed\n")
	t.sources(f)
	t.Line("## Variables, flags and images\n")
	var knobs [][]string
	for _, row := range t.sets(f) {
		k := t.Plan.Knob(row[0])
		options := strings.Join(k.ValueNames(), ", ")
		knobs = append(knobs,
			append(row, strings.Replace(options, k.Default, k.Default+" (default)", 1), cmp.Or(k.Summary, "–")))
	}
	t.table([]string{"Knob", "Value", "Changes", "Options", "Description"}, knobs)
	t.Line("## Implementation notes\n")
	t.notes(f.Notes, "notes")
	t.Line("## Areas for improvement\n")
	t.notes(f.Improve, "improve")
	t.Line("## Links\n")
	t.Line("- [All results](../%s)\n- [All features](../FEATURE_MATRIX.md)", report.Raw(results))
	if s.decided != nil {
		if session := s.decided.Session; slices.ContainsFunc(t.arms, func(a *report.Arm) bool {
			return a.Session == session
		}) {
			t.Line("- [Log of session %s](../%s)", session, report.Raw(logOf(session)))
		}
		t.Line("- Run `%s`; why it was decided so: `%s`", report.Raw(s.decided.Run),
			report.Raw(report.Reading(t.Store, t.Run, "explain", "feature."+f.Name)))
	}
	for _, name := range t.variants(f) {
		if path := t.profiles[name]; path != "" {
			t.Line("- [Profile of %s](../%s)", name, report.Raw(path))
		}
	}
	t.Line("- Reproduce: `%s`", report.Raw(report.Applied(t.Store, t.Run, "--rerun", "feature."+f.Name)))
}

// notes are those of the plan, and a region for others.
func (t *writer) notes(texts []string, region string) {
	var items []string
	for _, text := range texts {
		items = append(items, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  "))
	}
	t.List(items)
	t.keep(region)
}

// variants are a feature's measurable variants: itself, or its alternatives.
func (t *writer) variants(f *plans.Feature) (names []string) {
	for _, a := range f.Alternatives {
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		names = []string{f.Name}
	}
	return names
}

// mostFiles limits the changed files of a port that are named.
const mostFiles = 30

// sources writes the source trees that the candidate ran from, and the files in which
// they differ from their commits.
func (t *writer) sources(f *plans.Feature) {
	var own, parent *ledger.Launch
	for _, name := range t.variants(f) {
		if port := t.Port(name); port != nil {
			if own = port.Launches[0]; port.Parent != nil {
				parent = port.Parent.Launches[0]
			}
		}
	}
	if of := t.qualified["feature."+f.Name+".qualify"]; own == nil && len(of) > 0 {
		own = of[len(of)-1]
	}
	if own == nil || len(own.Trees) == 0 {
		t.Line("No source tree is recorded%s.\n", map[bool]string{true: "", false: ": not launched yet"}[own != nil])
		return
	}
	for _, name := range slices.Sorted(maps.Keys(own.Trees)) {
		tree := own.Trees[name]
		t.Line("- %s at `%.12s`", name, report.Raw(tree.Commit))
		if parent != nil {
			if was, ok := parent.Trees[name]; ok && was.Commit != tree.Commit {
				t.Line("  - measured against `%.12s`: `git diff --stat %.12s %.12s`", report.Raw(was.Commit),
					report.Raw(was.Commit), report.Raw(tree.Commit))
				shown, more := report.First(t.changed(tree.Path, was.Commit, tree.Commit), mostFiles)
				for _, file := range shown {
					t.Line("  - `%s`", file)
				}
				if len(more) > 0 {
					t.Line("  - and %d more", len(more))
				}
			}
		}
		if tree.Diff == "" {
			continue
		}
		text, err := t.Store.Get(tree.Diff)
		if err != nil {
			t.Line("  - `%s`, not committed", "the recorded diff is missing: "+err.Error())
		}
		for line := range strings.Lines(string(text)) {
			rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "diff --git ")
			if _, to, cut := strings.Cut(rest, " b/"); ok && cut {
				t.Line("  - `%s`, not committed", to)
			}
		}
	}
	t.Line("")
}

// sets are what a feature's knob values change.
func (t *writer) sets(f *plans.Feature) (rows [][]string) {
	add := func(knob, value string) {
		k := t.Plan.Knob(knob)
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

// evidenceOf is what must, or must not, be there, in code spans, as the plan has it.
func evidenceOf(e plans.Evidence) string {
	var list []string
	for _, glob := range e.Log {
		list = append(list, "`"+glob+"`")
	}
	for name, value := range sorted.All(e.Observed) {
		list = append(list, fmt.Sprintf("`%s = %v`", name, value))
	}
	for _, kernel := range e.Trace {
		list = append(list, "`trace = "+kernel+"`")
	}
	return strings.Join(list, "\n")
}

// matrix writes FEATURE_MATRIX.md.
func (t *writer) matrix() {
	t.Line("# Features of plan %s\n", t.Plan.Name)
	var rows [][]string
	for _, f := range t.Plan.Features() {
		var set []string
		for _, row := range t.sets(f) {
			set = append(set, row[0]+" = "+row[1]+": "+row[2])
		}
		on := cmp.Or(f.BuildsOn.Feature, string(f.BuildsOn.Kind))
		rows = append(rows, []string{
			string(t.link(f.Name, results)), t.states[f.Name].word, f.Phase, fmt.Sprint(f.Priority), on,
			strings.Join(set, "\n"), t.states[f.Name].output,
		})
	}
	t.table([]string{"Feature", "Status", "Phase", "Priority", "Builds on", "Sets", "Output"}, rows)
	t.Line("## Knobs\n")
	rows = nil
	for _, k := range t.Plan.Knobs {
		for _, v := range k.Values {
			name := v.Name
			if name == k.Default {
				name += " (default)"
			}
			row := []string{k.Name, name, strings.Join(changesOf(v), "\n"), k.Summary}
			rows = append(rows, append(row, evidenceOf(v.MustSee), evidenceOf(v.MustNotSee)))
		}
	}
	t.table([]string{"Knob", "Value", "Changes", "Description", "Must see", "Must not see"}, rows)
	t.keep("notes")
}
