// Package outcome shows the result of an apply on one screen: what was accepted, rejected,
// locked or not run, by which number, and what to do next. It decides nothing, and starts
// nothing.
package outcome

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/progress"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/decide"
)

// Print prints a run: each node that people decide by with all its reasons and tables, or,
// if that is longer than the screen, in brief. Its commands name the plan as the user did,
// which may be empty.
func Print(to table.Screen, res *apply.Result, took, plan string) {
	v := view{res: res, took: took, plan: plan, lines: to.Lines}
	var page bytes.Buffer
	v.Screen = to.On(&page)
	if v.brief = len(res.Summary.Rows) > 4*to.Lines; !v.brief {
		v.print()
		v.brief = bytes.Count(page.Bytes(), []byte("\n")) >= to.Lines
	}
	if v.brief {
		page.Reset()
		v.print()
	}
	_, _ = to.Write(page.Bytes())
}

// view is a run on a screen of some lines. In brief, there is one line for each feature and
// for what did not pass, by the rule that decided it, and no more of each verdict than have
// room.
type view struct {
	table.Screen
	brief      bool
	lines      int
	res        *apply.Result
	took, plan string
}

// aroundRows is how many lines a brief view needs beside its rows.
const aroundRows = 12

func (v *view) print() {
	fmt.Fprintln(v)
	if reused := v.res.Basis.String(); reused != "" {
		fmt.Fprintf(v, "%s\n\n", reused)
	}
	v.Table([]string{"verdict", "decision", "why"}, v.rows())
	if !v.brief {
		for i, share := range report.Limits(armsOf(v.res)...) {
			if i == 0 {
				fmt.Fprintln(v)
			}
			v.Sentence(share.String())
		}
		for _, r := range v.res.Summary.Rows {
			if r.Decision != nil {
				Comparison(v.Screen, r.Decision)
			}
		}
	}
	Logs(v, v.res.Summary)
	fmt.Fprintln(v)
	v.stack()
	v.closing()
	v.next()
}

// row is one line of the table, with its node.
type row struct {
	*runtime.State
	word, name string
}

// rows are grouped by verdict: what is in error first, as all else may follow from it,
// then what was accepted. Many nodes that one cause locked are one row.
func (v *view) rows() (cells [][]string) {
	var shown []row
	nodes, listed := map[string]int{}, map[string]int{} // by what locked them
	for _, r := range v.res.Summary.Rows {
		if word(r) == "locked" {
			nodes[r.Locked.Key()]++
		}
		if v.shows(r) {
			listed[r.Locked.Key()]++
			shown = append(shown, row{State: r, word: word(r), name: label(r.Node)})
		}
	}
	for i, r := range shown {
		if why := r.Locked.Key(); r.word == "locked" && listed[why] > progress.MostLocked {
			shown[i].name = verdict.Count(nodes[why], "node")
		}
	}
	slices.SortStableFunc(shown, func(a, b row) int {
		return cmp.Or(place(a.word)-place(b.word), strings.Compare(a.word, b.word), strings.Compare(a.Locked.Key(), b.Locked.Key()))
	})
	shown = slices.CompactFunc(shown, func(a, b row) bool { return a.word == "locked" && a.name == b.name && a.Locked.Equal(b.Locked) })
	told, of := &verdict.Page{}, map[string]int{}
	for _, r := range shown {
		of[r.word]++
	}
	most := len(shown)
	if v.brief {
		most = max(1, (v.lines-aroundRows)/max(1, len(of))-1)
	}
	made, name := 0, 0
	for i, r := range shown {
		if made++; i == 0 || shown[i-1].word != r.word {
			made = 1
		}
		switch {
		case made <= most:
			cells = append(cells, []string{r.word, r.name, strings.Join(v.why(r.State, told), "\n")})
			name = max(name, len(r.word)+len(r.name))
		case made == most+1:
			cells = append(cells, []string{r.word, fmt.Sprintf("and %d more", of[r.word]-most), ""})
		}
	}
	for _, row := range cells {
		if v.brief {
			row[2], _, _ = strings.Cut(row[2], "\n")
			row[2] = table.Fit(row[2], max(table.LeastColumn, cmp.Or(v.Width, 2*table.MaxColumn)-name-6))
		}
	}
	return cells
}

// shows reports whether a node has a row: measurements below a feature appear in its
// reasons, and of many nodes only those that did not pass are shown beside features.
func (v *view) shows(r *runtime.State) bool {
	n := r.Node
	switch {
	case n.Kind == runtime.KindBenchmark, n.Kind == runtime.KindQualify && n.ID != runtime.BaselineID:
		return false
	case !v.brief, n.Kind == runtime.KindFeature:
		return true
	case r.Decision == nil:
		return n.Kind != runtime.KindStep && n.Kind != runtime.KindCriteria
	}
	switch n.Kind {
	case runtime.KindCriteria:
		return false
	case runtime.KindPhase: // whose steps and features have rows of their own
		return !r.Overruled.IsZero()
	}
	return len(r.Decision.Rows) > 0 || r.Decision.Verdict != verdict.Pass
}

// order is that of the groups, by the first word of each.
var order = []string{string(verdict.Error), "accepted", string(verdict.Pass), string(verdict.Fail), string(verdict.Inconclusive), string(verdict.Invalid), "locked", "not run"}

func place(word string) int {
	word, _, _ = strings.Cut(word, ",")
	return slices.Index(order, word)
}

// word is the outcome of a node.
func word(r *runtime.State) string {
	switch d := r.Decision; {
	case d != nil:
		text := string(d.Verdict)
		if d.Accepted && d.Verdict.Unlocks() && r.Node.Kind == runtime.KindFeature {
			text = "accepted"
		}
		if len(d.OnSeenData) > 0 {
			text += ", on seen data"
		}
		if r.Waiver != nil {
			text += ", waived"
		}
		return text
	case !r.Locked.IsZero():
		return Locked(r.Locked)
	}
	return "not run"
}

// Locked is the state of a node without an outcome.
func Locked(why verdict.Reason) string {
	if why.Kind == code.NotTargeted.Kind {
		return "not run"
	}
	return "locked"
}

func label(n *runtime.Node) string {
	switch n.Kind {
	case runtime.KindFeature:
		return n.Feature
	case runtime.KindCriteria:
		if n.FeatureBlock.Engine == "" {
			return n.Feature + ", first engine"
		}
		return n.FeatureBlock.Name
	case runtime.KindGate:
		return "gate " + n.Phase
	case runtime.KindPhase:
		return "phase " + n.Phase
	case runtime.KindStep:
		return "step " + n.StepBlock.Kind + " " + n.StepBlock.Name
	}
	return n.ID
}

// why is the explanation beside a node.
func (v *view) why(r *runtime.State, told *verdict.Page) (lines []string) {
	d := r.Decision
	switch {
	case d == nil && r.Locked.IsZero():
		if kept := keptOf(v.res.Left, r.Node); kept != "" {
			return []string{kept}
		}
		return nil
	case d == nil:
		return []string{r.Locked.String()}
	case v.brief:
		lines = report.Told(told, d, whyHere(decidedBy(d)))
	default:
		lines = report.Told(told, d, whyHere(d))
	}
	if best := report.Best(d.Rows); v.brief && len(best) > 0 {
		lines = append(lines, "best by "+best[0])
	}
	if r.Recorded && len(lines) > 0 && !v.brief {
		lines[0] = "(kept) " + lines[0]
	}
	if !r.Overruled.IsZero() {
		lines = append([]string{r.Overruled.String()}, lines...)
	}
	return lines
}

// decidedBy is a decision with the rule that decided it alone.
func decidedBy(d *ledger.Decision) *ledger.Decision {
	r := report.Deciding(d)
	if r == nil {
		return d
	}
	one := *d
	one.Rules, one.Levels = []ledger.Rule{*r}, nil
	for _, l := range d.Levels {
		if l.Verdict != verdict.Pass {
			one.Levels = append(one.Levels, l)
		}
	}
	return &one
}

// whyHere leaves out of a confirmed feature what the first engine's row shows.
func whyHere(d *ledger.Decision) []verdict.Reason {
	if len(d.Confirmations) == 0 {
		return Why(d)
	}
	var reasons []verdict.Reason
	for _, c := range d.Confirmations {
		reasons = append(reasons, c.Reason)
	}
	return append(reasons, verdict.Say("first_engine_above", "and on the first engine, see above"))
}

// keptOf reports which launches of an undecided feature are on record.
func keptOf(left []*runtime.State, n *runtime.Node) string {
	for _, p := range left {
		if n.Kind == runtime.KindFeature && p.Node.ID == runtime.BenchmarkID(n.Feature) {
			for _, note := range p.Notes {
				if note.Kind == code.LaunchesKept.Kind {
					return note.String()
				}
			}
		}
	}
	return ""
}

// armsOf are the arms that a run's decisions rest on.
func armsOf(res *apply.Result) []*report.Arm {
	var decisions []*ledger.Decision
	for _, r := range res.Summary.Rows {
		if r.Decision != nil {
			decisions = append(decisions, r.Decision)
		}
	}
	return report.ArmsOf(res.Store, decisions...)
}

// Logs prints the end of the log of everything that broke in a run, once, below the node
// that it broke in.
func Logs(w io.Writer, s runtime.Summary) {
	printed := map[string]bool{}
	for _, r := range s.Rows {
		if r.Decision == nil || r.Recorded || len(r.Decision.LogTail) == 0 {
			continue
		}
		tail := "  | " + strings.Join(r.Decision.LogTail, "\n  | ")
		if !printed[tail] {
			printed[tail] = true
			fmt.Fprintf(w, "\nThe log of %s ended with:\n%s\n", r.Node.ID, tail)
		}
	}
}

// stack prints how far the accepted stack is from the baseline, by the metric that accepted
// its first part, if the session has it.
func (v *view) stack() {
	ends := report.EndsOf(v.res.Store)
	if ends.Command != "" {
		v.Sentence(report.Apart)
		fmt.Fprintf(v, "  %s\n", ends.Command)
	}
	if ends.Pair == nil || len(ends.Pair.Metrics) == 0 {
		return
	}
	stack, shown := report.AcceptedStack(v.res.Store), ends.Pair.Metrics[0]
	for _, d := range ends.Pair.Metrics {
		if gains := stack.Features[0].Gains; len(gains) > 0 && strings.HasPrefix(gains[0].What, d.Cell+"."+d.Metric+".") {
			shown = d
			break
		}
	}
	v.Sentence(fmt.Sprintf("Stack of %s: %s.%s %s, baseline %s: %s.", verdict.Count(len(stack.Features), "feature"),
		shown.Cell, shown.Metric, shown.New.Text(), shown.Old.Text(), shown.ChangeText()))
}

// exits is the meaning of apply's exit statuses beyond their line.
var exits = map[int]string{
	verdict.ExitFail: ": failed or invalid", verdict.ExitInconclusive: ": not decided", verdict.ExitBroken: ": an engine or mxflow failed",
}

// closing is the overall outcome, the time taken, and the meaning of the exit status.
func (v *view) closing() {
	end, took := v.res.End, "after "+v.took
	made := 0
	if run, err := v.res.Store.Run(v.res.Run); err == nil {
		made = len(run.Launches)
	}
	if made > 0 {
		took += " and " + verdict.Launches(made)
	}
	switch {
	case end.Reason.Kind == code.Interrupted.Kind:
		v.Sentence(fmt.Sprintf("Interrupted %s. Progress is saved; run apply again to resume.", took))
	case end.Exit == verdict.ExitBroken && end.Reason.Kind != code.Finished.Kind:
		v.Sentence(fmt.Sprintf("Stopped %s: %s", took, end.Reason.String()))
	default:
		v.Sentence(fmt.Sprintf("%s %s (exit status %d%s).", gates(end.Verdict, v.res.Summary.Rows), took, end.Exit, exits[end.Exit]))
	}
}

// gates is the outcome of the gates, most important first: "1 of 9 gates failed, 1
// locked".
func gates(worst verdict.Verdict, rows []*runtime.State) string {
	switch {
	case len(rows) == 0:
		return "Nothing to decide in this plan"
	case worst == verdict.Pass && !slices.ContainsFunc(rows, func(r *runtime.State) bool { return runtime.Waivable(r.Node.Kind) }):
		return "No gate in this plan: the baseline passed"
	case worst == verdict.Pass:
		text, seen := "Every gate passed", 0
		for _, r := range rows {
			if r.Decision != nil && runtime.Waivable(r.Node.Kind) && len(r.Decision.OnSeenData) > 0 {
				seen++
			}
		}
		if seen > 0 {
			text += fmt.Sprintf(", %d on seen data,", seen)
		}
		return text
	case worst == verdict.Waived:
		return "Every gate passed or is waived"
	}
	all, of := 0, map[string]int{}
	for _, r := range rows {
		if !runtime.Waivable(r.Node.Kind) {
			continue
		}
		all++
		switch {
		case r.Locked.Kind == code.NotTargeted.Kind:
			of["left out by --target"]++
		case r.Decision == nil:
			of["locked"]++
		case r.Waiver != nil:
			of["waived"]++
		default:
			of[string(r.Decision.Verdict)]++
		}
	}
	parts := []string{}
	for _, what := range []string{"error", "invalid", "fail", "inconclusive", "locked", "left out by --target", "waived"} {
		if n := of[what]; n > 0 {
			number := fmt.Sprint(n)
			if len(parts) == 0 {
				number += " of " + verdict.Count(all, "gate")
			}
			parts = append(parts, number+" "+cmp.Or(map[string]string{"error": "in error", "fail": "failed"}[what], what))
		}
	}
	if text := strings.Join(parts, ", "); of[string(worst)] > 0 {
		return text
	} else if text != "" {
		return verdict.Capital(string(worst)) + ": " + text
	}
	return verdict.Capital(string(worst))
}

// next prints what to do: what would decide what is open, and the commands that explain
// what did not pass.
func (v *view) next() {
	rows := v.res.Summary.Rows
	if !v.brief {
		v.undecided()
		if slices.ContainsFunc(rows, func(r *runtime.State) bool { return r.Recorded && !r.Decision.Verdict.Unlocks() }) {
			v.Sentence("(kept): inputs unchanged; --rerun NAME measures again.")
		}
	}
	var list [][2]string
	for _, r := range rows {
		d := r.Decision
		if d == nil || d.Verdict.Unlocks() || r.Waiver != nil || r.Node.Kind == runtime.KindQualify && r.Node.ID != runtime.BaselineID || r.Node.Kind == runtime.KindBenchmark {
			continue
		}
		list = append(list, [2]string{"explain " + named(r.Node), "why: data, test, what would change it"})
		break
	}
	switch end := v.res.End; {
	case end.Reason.Kind == code.Interrupted.Kind:
		list = [][2]string{{"apply", "resumes"}}
	case end.Verdict.Unlocks():
		list = append(list, [2]string{"report", "the page for a team, as Markdown"})
	}
	list = append(list, [2]string{"show latest", "every decision and launch of this run"})
	width := 0
	for i := range list {
		if list[i][0] = "mxflow " + list[i][0]; v.plan != "" {
			list[i][0] += " " + shell.Quote(v.plan)
		}
		width = max(width, len(list[i][0]))
	}
	for _, l := range list {
		line := fmt.Sprintf("  %-*s  %s", width, l[0], l[1])
		if v.Width > 0 && len(line) > v.Width {
			line = "  " + l[0]
		}
		fmt.Fprintln(v, line)
	}
}

// named is a node in the form that commands take.
func named(n *runtime.Node) string {
	if runtime.Waivable(n.Kind) {
		return n.Phase
	}
	return cmp.Or(n.Feature, n.ID)
}

// undecided prints what would decide what is inconclusive: features, and gates that the
// features do not explain.
func (v *view) undecided() {
	said := map[string]bool{}
	for _, r := range v.res.Summary.Rows {
		d := r.Decision
		if d == nil || d.Verdict != verdict.Inconclusive || r.Node.Kind != runtime.KindFeature && (r.Node.Kind != runtime.KindGate || said[r.Node.Phase]) {
			continue
		}
		said[r.Node.Phase] = true
		for _, line := range verdict.Lines(decide.Next(d)) {
			v.Sentence(cmp.Or(r.Node.Feature, label(r.Node)) + ": " + line + ".")
		}
	}
}
