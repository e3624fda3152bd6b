package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/questions/arms"
	"github.com/mxflow/mxflow/steps/questions/bisect"
)

// Bisect shows a search: the question, a line for each candidate, and the answer, which is
// also kept as a page in Markdown.
type Bisect struct {
	Job *bisect.Job
	// Screen is called each time: loading a plan adds the redaction of its secrets.
	Screen func() table.Screen
	// JSON prints findings and the answer for programs; nil for people.
	JSON func(any)
	// File is where the page is kept.
	File string

	parent, child int
	// done are the comparisons that ended, and took the seconds of those that were made now.
	done int
	took float64
}

// Ask prints the question, before anything is started; one is what its first comparison takes.
func (b *Bisect) Ask(one apply.Estimate) {
	j, on := b.Job, b.Screen()
	good, bad := j.Candidates[0], j.Candidates[j.Bad()]
	fmt.Fprintf(on, "%s from %s to %s\n", verdict.Count(j.Bad(), "candidate"), good.ID, bad.ID)
	fmt.Fprintf(on, "bad breaks %s\n", j.Rule)
	// The good one is qualified once.
	most := bisect.Most(len(j.Candidates))
	takes := fmt.Sprintf("at most %s with %s", verdict.Count(most, "comparison"),
		verdict.Launches(one.Launches+(most-1)*(one.Launches-1)))
	if one.High > 0 {
		takes += " in " + verdict.Lasting(one.High*float64(most))
	}
	if good.Image == "" {
		takes += ", and a build of each candidate"
	}
	fmt.Fprintf(on, "%s; more if candidates are skipped\n\n", takes)
	b.parent, b.child = 0, j.Bad()
}

// Watch shows the launches of one comparison, with the time left of the whole search.
func (b *Bisect) Watch(on apply.Observer) apply.Observer { return &comparing{Observer: on, of: b} }

// comparing names candidates by what they are, and leaves what a comparison decides to Finding.
type comparing struct {
	apply.Observer
	of   *Bisect
	took float64
}

func (c *comparing) End(r *apply.Result) {
	c.Observer.End(r)
	c.of.took += c.took
}

func (c *comparing) Event(ev runtime.Event) {
	if c.of.JSON == nil {
		if rest := bisect.Most(len(c.of.Job.Candidates)) - c.of.done; ev.ETAMost > 0 {
			ev.ETAMost += (ev.Elapsed + ev.ETAMost) * float64(max(rest-1, 0))
		}
		c.took = ev.Elapsed
		ev.Elapsed += c.of.took
		ev.Variant = c.of.name(ev.Variant)
		ev.Phase, ev.Feature, ev.Node = "", "", "bisect"
		if strings.HasPrefix(ev.Type, "node_") {
			ev.Type = ""
		}
	}
	c.Observer.Event(ev)
}

// name is a candidate's for people, by that of its variant.
func (b *Bisect) name(variant string) string {
	switch variant {
	case ledger.Baseline:
		return b.Job.Candidates[0].ID
	case bisect.StepFeature:
		return b.Job.Candidates[b.child].ID
	}
	for _, c := range b.Job.Candidates {
		if c.Name == variant {
			return c.ID
		}
	}
	return variant
}

// Finding prints the finding of a candidate.
func (b *Bisect) Finding(i int, f bisect.Finding) {
	b.done++
	switch f.State {
	case bisect.LikeGood:
		b.parent = i
	case bisect.LikeBad:
		b.child = i
	}
	if b.JSON != nil {
		b.JSON(map[string]any{"type": "bisect_finding", "candidate": b.Job.Candidates[i], "finding": f})
		return
	}
	on := b.Screen()
	line := table.Fit(f.Brief, table.MaxColumn)
	if left := b.child - b.parent; left > 1 && i != b.Job.Bad() {
		line += fmt.Sprintf(" · %d left", left)
	}
	as := verdict.Inconclusive
	switch {
	case f.State != bisect.Skipped && f.Verdict == verdict.Inconclusive:
	case f.State == bisect.LikeGood:
		as = verdict.Pass
	case f.State == bisect.LikeBad:
		as = verdict.Fail
	}
	fmt.Fprintf(on, "%-8s  %s  %s\n", foreign.Line(b.Job.Candidates[i].ID),
		table.Coloured(fmt.Sprintf("%-10s", b.word(i, f)), string(as), on.Colour), foreign.Line(line))
}

// word is what a candidate was found to be.
func (b *Bisect) word(i int, f bisect.Finding) string {
	switch {
	case i == b.Job.Bad() && f.State == bisect.LikeBad:
		return "bad"
	case f.Verdict == verdict.Inconclusive && f.State != bisect.Skipped:
		return strings.Replace(string(f.State), "like", "leans", 1)
	}
	return string(f.State)
}

// End prints the answer and keeps the page.
func (b *Bisect) End(ctx context.Context, a *bisect.Answer, exit int) error {
	st, err := store.OpenReadOnly(b.Job.State)
	if err != nil {
		return err
	}
	defer st.Close()
	if b.JSON != nil {
		j := b.Job
		b.JSON(map[string]any{
			"type": "bisect_result", "outcome": a.Outcome, "exit": exit, "rule": j.Rule,
			"findings": a.Findings, "step": a.Step,
			"good": j.Candidates[0], "bad": j.Candidates[j.Bad()], "parent": j.Candidates[a.Parent],
			"child":      j.Candidates[a.Child],
			"candidates": len(j.Candidates), "state": j.State, "report": b.File,
		})
	} else {
		on := b.Screen()
		fmt.Fprintln(on)
		b.print(ctx, on, st, a, false)
		fmt.Fprintf(on, "\nreport    %s\nlaunches  %s\n", b.File, shell.Line("mxflow", "audit", "--state", b.Job.State))
	}
	var page strings.Builder
	fmt.Fprintf(&page, "# Bisect\n\nRule: `%s`\n\n", b.Job.Rule)
	b.print(ctx, table.Screen{Writer: &page}, st, a, true)
	return os.WriteFile(b.File, []byte(page.String()), 0o644)
}

// print writes the answer first, then what it rests on.
func (b *Bisect) print(ctx context.Context, on table.Screen, st *store.Store, a *bisect.Answer, md bool) {
	j := b.Job
	parent, child := j.Candidates[a.Parent], j.Candidates[a.Child]
	para := func(text string) {
		text = foreign.Line(text)
		if on.Width > 0 {
			text = table.Wrap(text, min(on.Width, table.MaxColumn))
		}
		fmt.Fprintln(on, text)
		if md {
			fmt.Fprintln(on)
		}
	}
	show := func(t report.Table) {
		if md {
			fmt.Fprint(on, t.Markdown())
			return
		}
		fmt.Fprintln(on)
		on.Table(t.Head, t.Rows)
	}
	para(a.Said(j, on.Command("noise")))
	for _, remark := range a.Remarks(j) {
		para(remark)
	}
	if a.Step != nil {
		if d := st.Journal().Latest(runtime.FeatureID(bisect.StepFeature)); d != nil &&
			j.Candidates[a.Child].Name != "" {
			if p := report.SummaryOf(st, nil, time.Now()).PortOf(d).Pair(); p != nil {
				show(report.ComparisonTable(p.Metrics, parent.ID, child.ID))
			}
		}
		b.changes(ctx, on, parent, child)
		if own, before, err := levels.FindProfile(st, child.Name); err == nil && before != nil {
			ProfileDiff(on, trace.DiffOf(before.Is, own.Is), parent.ID, child.ID, 5)
		}
	}
	if !md {
		return // its lines stand above
	}
	t := report.Table{Head: []string{"candidate", "is", "against " + j.Candidates[0].ID, "what it is"}}
	for i, c := range j.Candidates {
		if f, measured := a.Findings[i]; measured || i == 0 {
			word := cmp.Or(b.word(i, f), "good")
			t.Rows = append(t.Rows, []string{c.ID, word, cmp.Or(f.Brief, "–"), cmp.Or(c.Title, "–")})
		}
	}
	fmt.Fprintf(on, "## Measured\n\n")
	show(t)
}

// changes sums up the commits from parent to child.
func (b *Bisect) changes(ctx context.Context, on io.Writer, parent, child bisect.Candidate) {
	if child.Ref == "" {
		if child.Title != "" {
			fmt.Fprintf(on, "\n%s\n\n", child.Title)
		}
		return
	}
	r, err := arms.Repo(ctx, b.Job.Plan, b.Job.Source)
	if err != nil {
		return
	}
	log, err := r.Run(ctx, "log", "--first-parent", "--format=%h %an, %as: %s", parent.Ref+".."+child.Ref)
	stat, statErr := r.Run(ctx, "diff", "--stat=72", parent.Ref, child.Ref)
	if err = errors.Join(err, statErr); err != nil {
		fmt.Fprintf(on, "\nThe commits between them cannot be shown: %v\n", err)
		return
	}
	fmt.Fprintln(on)
	for line := range strings.Lines(log + "\n" + stat + "\n") {
		fmt.Fprintln(on, "    "+foreign.Line(strings.TrimRight(line, "\n")))
	}
	fmt.Fprintln(on)
}
