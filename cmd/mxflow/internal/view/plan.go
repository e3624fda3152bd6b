// Package view prints what is on record, and what an apply would do: a plan before it is
// applied, the status, a run, the explanation of a decision, a comparison of two commands, a
// replay. It decides nothing.
package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/steps/apply"
)

// Preview is what an apply would do.
type Preview struct {
	Plan     *plans.Plan
	States   []*runtime.State
	Estimate apply.Estimate
	// Changes are those of the plan since the last apply, and Baseline what starts it.
	Changes  []plans.Difference
	Baseline engine.Spec

	defaults map[string]string // the baseline's knobs
}

// planned is a node for programs.
type planned struct {
	Node    string         `json:"node"`
	Action  string         `json:"action"`
	Because verdict.Reason `json:"because,omitzero"`
	// Verdict is the recorded one if it is reused, else the outcome if that is certain.
	Verdict string         `json:"verdict,omitempty"`
	If      string         `json:"if,omitempty"`
	Locked  verdict.Reason `json:"locked,omitzero"`
	// Overruled is the effect of a waiver on the recorded verdict.
	Overruled verdict.Reason   `json:"overruled,omitzero"`
	Launches  []runtime.Launch `json:"launches,omitempty"`
	// Least is the minimum of launches, and Notes what they can show.
	Least int              `json:"least_launches,omitempty"`
	Notes []verdict.Reason `json:"notes,omitempty"`
	// Sends is what each launch sends.
	Sends *apply.SentLoad `json:"sends,omitempty"`
}

// JSON is the preview for programs, which see every node.
func (v *Preview) JSON() map[string]any {
	nodes := []planned{}
	for _, st := range v.States {
		r := planRow{st}
		j := planned{
			Node: st.Node.ID, Action: r.action(), Because: st.Why, If: st.If, Locked: st.Locked,
			Overruled: st.Overruled,
			Launches:  st.Launches, Least: sure(st.Launches), Notes: st.Notes,
		}
		if st.Decision != nil {
			j.Verdict = string(st.Decision.Verdict)
		}
		if s := apply.SentLoadOf(v.Plan, st.Node); s.Cells > 0 && len(st.Launches) > 0 {
			j.Sends = &s
		}
		nodes = append(nodes, j)
	}
	e := v.Estimate
	return map[string]any{
		"changed": append([]plans.Difference{}, v.Changes...), "nodes": nodes, "launches": e.Launches,
		"least_launches": e.Least,
		"seconds":        e.High, "least_seconds": e.Low,
		"estimate_from_recorded_launches": e.High > 0 || e.Launches == 0,
	}
}

// planRow are the nodes that people see as one: those of a feature with its alternatives
// and confirmations, of which the last decides, or another node alone.
type planRow []*runtime.State

func (r planRow) own() *runtime.State { return r[len(r)-1] }

// action is what an apply would do: keep what is recorded, decide it by what is or will be
// on record, or do work for it.
func (r planRow) action() string {
	switch own := r.own(); {
	case !own.Locked.IsZero():
		return "locked"
	case slices.ContainsFunc(r, (*runtime.State).HasWork):
		return "measure"
	case own.Recorded:
		return "reuse"
	}
	return "decide"
}

// doing is action in words, with the launches of each kind of work on a line of its own.
func (r planRow) doing() (words, launches string) {
	if r.action() != "measure" {
		return r.action(), ""
	}
	work := map[string][]runtime.Launch{}
	var order []string
	for _, st := range r {
		if !st.HasWork() {
			continue
		}
		word := string(st.Node.Kind)
		if st.Node.Kind == runtime.KindStep {
			word = "run"
		}
		if !slices.Contains(order, word) {
			order = append(order, word)
		}
		work[word] = append(work[word], st.Launches...)
	}
	counts := make([]string, len(order))
	for i, word := range order {
		counts[i] = verdict.Upto(sure(work[word]), len(work[word]))
	}
	return strings.Join(order, "\n"), strings.TrimRight(strings.Join(counts, "\n"), "\n")
}

// folded are rows with those that say the same of several steps, or of several that one cause locks, as one.
func folded(rows [][]string) (out [][]string) {
	for from, to := 0, 0; from < len(rows); from = to {
		row := slices.Clone(rows[from])
		kind, _, step := strings.Cut(row[0], " ")
		for to = from + 1; to < len(rows) && row[2] == "" && (step || row[1] == "locked") &&
			slices.Equal(rows[to][1:], row[1:]); to++ {
			if own, _, is := strings.Cut(rows[to][0], " "); is != step || row[1] != "locked" && own != kind {
				break
			}
		}
		if n := to - from - 1; n > 0 {
			row[0] += fmt.Sprintf(" and %d more", n)
		}
		out = append(out, row)
	}
	return out
}

// rows are the rows in the order in which an apply comes to them.
func (v *Preview) rows() (rows []planRow) {
	at := map[string]int{}
	for _, st := range v.States {
		of := st.Node.ID
		if f := st.Node.FeatureBlock; f != nil {
			of = runtime.FeatureID(cmp.Or(f.Of, f.Name))
		}
		i, there := at[of]
		if !there {
			i, at[of] = len(rows), len(rows)
			rows = append(rows, nil)
		}
		rows[i] = append(rows[i], st)
	}
	return rows
}

// Print prints the preview.
func (v *Preview) Print(on table.Screen) {
	if len(v.Changes) > 0 {
		fmt.Fprintln(on, "changed since the last apply:")
		for _, c := range v.Changes {
			line := "~ " + c.Path + " " + c.Was + " -> " + c.Is
			switch {
			case c.Was == "":
				line = "+ " + c.Path + verdict.Behind(" = ", strings.TrimSuffix(c.Is, "{…}"))
			case c.Is == "":
				line = "- " + c.Path
			}
			fmt.Fprintln(on, "  "+line)
		}
		fmt.Fprintln(on)
	}
	if v.Estimate.Launches > 0 {
		v.head(on)
	}
	var cells [][]string
	kept, waits, phase, rows := 0, "", "", v.rows()
	for _, r := range rows {
		own := r.own()
		if len(rows) > pageRows && r.action() == "reuse" && own.Overruled.IsZero() && own.Decision.Verdict.Unlocks() {
			kept++
			continue
		}
		word, count := r.doing()
		row := []string{nodeName(own.Node.ID), word, count, ""}
		if !own.Locked.IsZero() {
			row[1] = report.LockedWord(own.Locked)
		}
		var what []string
		if r[0].If != waits && own.Node.Phase != phase {
			what = append(what, "if "+r[0].If)
		}
		waits, phase = r[0].If, own.Node.Phase
		what = append(what, r.why()...)
		if own.Locked.IsZero() && own.Decision == nil {
			what = append(what, v.content(own.Node, count != "")...)
		}
		for _, st := range r {
			what = append(what, verdict.Lines(st.Notes)...)
		}
		row[3] = strings.Join(slices.DeleteFunc(what, func(line string) bool { return line == "" }), "\n")
		cells = append(cells, row)
	}
	if kept > 0 {
		cells = append(cells, []string{verdict.Count(kept, "node"), "reuse", "", "unchanged, all pass"})
	}
	cells = folded(cells)
	if e := v.Estimate; e.Launches > 0 {
		on.Below([]string{"node", "action", "launches", "what"}, cells)
		fmt.Fprintln(on)
		text := verdict.Count(e.Launches, "launch")
		if e.Least < e.Launches {
			text = fmt.Sprintf("%d to %s", e.Least, text)
		}
		if text += " if every gate passes"; e.High == 0 {
			text += ". No time estimate yet: this workload has not been measured."
		} else {
			text += ": " + verdict.Between(e.Low, e.High) + ", going by recorded launches."
		}
		on.Sentence(text)
		return
	}
	for i := range cells {
		cells[i] = slices.Delete(cells[i], 2, 3)
	}
	on.Below([]string{"node", "action", "what"}, cells)
	fmt.Fprintln(on, "\nNothing to measure.")
}

// head prints what every launch starts and is sent.
func (v *Preview) head(on table.Screen) {
	p, lines := v.Plan, [][2]string(nil)
	if p.Baseline != nil {
		lines = append(lines, [2]string{
			"baseline",
			p.Baseline.Engine + verdict.Behind(", ", verdict.Pairs(p.DefaultKnobs(), " = ", ", ")),
		})
	}
	switch spec := v.Baseline; {
	case spec.Endpoint != nil:
		lines = append(lines, [2]string{"starts", "nothing: it runs at " + spec.Endpoint.URL})
	case len(spec.Command) > 0:
		text := strings.Join(spec.Command, " ")
		if spec.Docker != nil {
			text = "docker " + spec.Docker.Image + ": " + text
		}
		lines = append(lines, [2]string{"starts", text})
	}
	var sent, guards []string
	for _, st := range v.States {
		if f := st.Node.FeatureBlock; f != nil && len(st.Launches) > 0 && p.Protocol(f.Protocol) != nil {
			if level := p.Protocol(f.Protocol).Level(plans.BenchmarkLevel); level != nil {
				sent = append(sent, p.SentWorkloads(level)...)
			}
			for _, r := range f.Criteria {
				if r.Bound != nil && !slices.Contains(guards, r.Expr) {
					guards = append(guards, r.Expr)
				}
			}
		}
	}
	name := "sends"
	for i, w := range sent {
		if load := p.Workload(w); load != nil && slices.Index(sent, w) == i {
			lines, name = append(lines, [2]string{name, w + ": " + loadWords(load)}), ""
		}
	}
	if len(guards) > 0 {
		lines = append(lines, [2]string{"keeps", strings.Join(guards, ", ")})
	}
	for _, l := range lines {
		fmt.Fprintf(on, "%-10s%s\n", l[0],
			strings.ReplaceAll(table.Wrap(l[1], max(table.LeastColumn, cmp.Or(on.Width, 2*table.MaxColumn)-10)), "\n",
				"\n          "))
	}
	if len(lines) > 0 {
		fmt.Fprintln(on)
	}
}

// loadWords are what a launch sends of a workload: "pp16 tg64, 4 requests + 1 warm-up".
func loadWords(w *plans.Workload) string {
	cells := w.Cells()
	first, last := cells[0], cells[len(cells)-1]
	text := first.Label
	if len(cells) > 1 {
		text = fmt.Sprintf("%d cells, %s to %s", len(cells), first.Label, last.Label)
	}
	if c := w.Capacity; c != nil {
		return text + fmt.Sprintf(", capacity by %d probes of %s + %s, about %s a launch, at most %s",
			c.Probes, c.Warmup, c.Probe, c.Usual(), c.Longest())
	}
	text += fmt.Sprintf(", %s + %d warm-up", verdict.Count(first.Requests, "request"), first.Warmup)
	if last.Requests != first.Requests {
		text += fmt.Sprintf(" to %d + %d", last.Requests, last.Warmup)
	}
	if t := w.Recorded(); t != nil {
		return fmt.Sprintf("%s, %d warm-up + %s", first.Label, first.Warmup, report.Traffic(t))
	}
	if w.Duration > 0 {
		text += ", for " + w.Duration.String()
	}
	return text
}

// why is why an apply would do it, or what is on record.
func (r planRow) why() (lines []string) {
	own := r.own()
	d := own.Decision
	switch {
	case !own.Locked.IsZero():
		return []string{own.Locked.String()}
	case r.action() == "reuse":
		text := report.Word(d, false)
		switch rule := report.Deciding(d); {
		case !own.Why.IsZero():
			text += ", " + own.Why.String()
		case own.Node.Kind == runtime.KindFeature && rule != nil:
			text += ": " + rule.Brief()
		case !d.Verdict.Unlocks():
			text += verdict.Behind(": ", report.Brief(d))
		}
		return []string{text + verdict.Behind("; ", own.Overruled.String())}
	}
	for _, st := range r {
		text := st.Why.String()
		certain := st.HasWork() || d != nil && r.action() == "decide" // else it waits for what is measured
		if certain && !st.Recorded && text != "" && !st.Why.Equal(verdict.New(code.First)) &&
			!slices.Contains(lines, text) {
			lines = append(lines, text)
		}
	}
	if d != nil {
		text := report.Word(d, false)
		if rule := report.Deciding(d); rule != nil && d.Verdict != verdict.Pass {
			text += ": " + rule.Brief()
		}
		lines = append(lines, strings.TrimPrefix(strings.Join(lines, "; ")+"; "+text, "; "))[len(lines):]
	}
	return lines
}

// content is what is under test: with launches, the knobs that a feature sets, and what
// the plan wants of it.
func (v *Preview) content(n *runtime.Node, launches bool) (lines []string) {
	rules := func(rules []*plans.Rule) {
		for _, r := range rules {
			if r.Bound == nil {
				lines = append(lines, r.Name+": "+r.Expr)
			}
		}
	}
	switch f := n.FeatureBlock; {
	case n.Kind == runtime.KindGate && n.PhaseBlock != nil && n.PhaseBlock.Gate != nil:
		rules(n.PhaseBlock.Gate.Rules)
	case f != nil && launches && n.ID != runtime.BaselineID:
		var over []string
		for _, k := range v.Plan.Knobs {
			if value, set := f.Set[k.Name]; set {
				if under := v.under(f, n, k.Name); value != under {
					over = append(over, fmt.Sprintf("%s %s → %s", k.Name, under, value))
				}
			}
		}
		if c := f.Choose; c != nil {
			over = append(over,
				fmt.Sprintf("%s %s → one of %s", c.Knob, v.under(f, n, c.Knob), strings.Join(c.Values, ", ")))
		}
		lines = append(lines, strings.Join(over, ", "))
		rules(f.Criteria)
		for _, c := range f.Confirm {
			lines = append(lines, "then on "+c.Engine)
		}
		if h := f.Hypothesis; h != nil {
			lines = append(lines, fmt.Sprintf("expected: %s %s", h.Metric, h.Expect))
		}
	}
	return lines
}

// under is the value of a knob below a feature, as far as an apply knows before it has
// measured: of the stack, or of the feature that it builds on.
func (v *Preview) under(f *plans.Feature, n *runtime.Node, knob string) string {
	switch f.BuildsOn.Kind {
	case plans.OnFeature:
		if parent := v.Plan.Feature(f.BuildsOn.Feature); parent != nil {
			if value, set := parent.Set[knob]; set {
				return value
			}
			return v.under(parent, n, knob)
		}
	case plans.OnAccepted:
		for _, st := range slices.Backward(v.States) {
			if st.Node.Kind != runtime.KindFeature || st.Node.Order >= n.Order || st.Node.FeatureBlock.Trial ||
				st.Decision != nil && !st.Decision.Accepted {
				continue
			}
			if value, set := st.Node.FeatureBlock.Set[knob]; set {
				return value
			}
		}
	}
	if v.defaults == nil {
		v.defaults = v.Plan.DefaultKnobs()
	}
	return v.defaults[knob]
}

// sure is the minimum of launches.
func sure(launches []runtime.Launch) (n int) {
	for _, l := range launches {
		if l.Sure {
			n++
		}
	}
	return n
}
