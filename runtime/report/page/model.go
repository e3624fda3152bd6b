package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// Model is what a page shows: the summary, and numbers for its figures.
type Model struct {
	*report.Summary
	Title   string
	Outcome Mark
	// About are engine, model, machine, workload and commit of what was measured.
	About          []string
	Tiles, Targets []Tile
	Stack, Forest  Chart
	Standing       []Standing
	Features       []Feature
	Graph          Graph
	Phases         []Item
	Measured       []Table
	Notes          []string
	Matrices       []*Matrix
	Data           Data
	// Revision is set on a page that follows a run: the state of the ledger it shows.
	Revision string
	// Waits is set before the first run, which has no summary: the command that begins one.
	Waits string
}

// Tile is a number before and after, with its change; Note qualifies it.
type Tile struct{ Name, Before, After, Change, Note string }

// Table has a caption for readers who cannot see its position.
type Table struct {
	Caption string
	report.Table
}

// Mark is a verdict, or a state in its place, as a shape and a word.
type Mark struct{ Shape, Word string }

// Shapes for states without a verdict.
const (
	locked = "locked"
	open   = "open"
)

// Item is something with a state, on one line: a rule, a feature, a phase.
type Item struct {
	Name, Link, Text, Code, Note string
	Mark                         Mark
	Why                          []string
}

// Feature is one port with its evidence.
type Feature struct {
	report.Row
	Parent string
	Mark   Mark
	// Moves are its main metrics before and after.
	Moves   []Tile
	Said    *report.Said
	Proofs  []verdict.Reason
	Rules   []Item
	Figures []Figure
	Arms    []Table
	pair    *report.Pair
}

// Of is the page of a plan, as far as that can be read. looks is the state of the tests of a run in
// progress, lock what it found locked so far.
func Of(s *report.Summary, looks []runtime.Event, lock map[string]verdict.Reason) *Model {
	view, underWay := s.Run, report.WorkOn(s.Store).State == report.UnderWay
	p := cmp.Or(s.Plan, &plans.Plan{})
	m := &Model{Summary: s, Title: cmp.Or(p.Summary, view.Plan)}
	b := &builder{
		Model: m, plan: p, launches: map[[2]string][]*ledger.Launch{},
	}
	made := s.Store.Launches(store.LaunchFilter{Purpose: ledger.ForBenchmark})
	m.Data = dataOf(made)
	for _, l := range made {
		at := [2]string{l.Session, l.Variant}
		b.launches[at] = append(b.launches[at], l)
	}
	for i := range s.Rows {
		if r := &s.Rows[i]; underWay && r.Decided == nil && r.Locked.IsZero() {
			r.Locked = lock[r.Node]
		}
	}
	for _, r := range s.Rows { // phases and features in the plan's order
		switch d := r.Decided; {
		case r.Gone:
		case r.Feature != "":
			if d != nil {
				b.feature(r)
			}
			if d != nil || !r.Locked.IsZero() {
				b.forest(r)
			}
		case r.Gate != "":
			item := Item{Name: r.Gate, Text: r.Short(), Mark: markOf(r)}
			if d != nil {
				item.Why = report.Why(&b.told, d.Decision, true)
			}
			if item.Text != "" {
				item.Text = r.Brief()
			}
			b.Phases = append(b.Phases, item)
		case d != nil && len(d.Rows) > 1:
			name := d.Node[strings.LastIndexByte(d.Node, '.')+1:]
			if of := matrix(name, d.Rows); of != nil {
				m.Matrices = append(m.Matrices, of)
			}
			b.blocks("Comparison "+name, s.CompareBlocks(d.Decision, true))
		}
	}
	m.Forest.effects()
	if underWay {
		b.standing(looks)
	}
	b.first()
	b.blocks("Results", s.ResultBlocks())
	m.Outcome = Mark{string(view.Verdict), string(view.Verdict)}
	switch {
	case underWay:
		m.Outcome = Mark{open, "under way"}
	case !view.Done:
		m.Outcome = Mark{string(verdict.Error), "did not finish"}
	case view.Verdict == "":
		m.Outcome = Mark{open, view.Reason.String()}
	case s.Answer.Stacked > 0 && view.Verdict != verdict.Pass: // the sentence says what became of the others
		m.Outcome = Mark{string(verdict.Pass), fmt.Sprintf("%d of %d accepted", s.Answer.Stacked, s.Answer.Ports)}
	}
	m.Graph = layout(m.Phases, p.Phases)
	return m
}

// Again is the command that repeats the run.
func (m *Model) Again() string { return report.Applied(m.Store, m.Run) }

// blocks adds tables to what was measured, and notes on them that are not there yet.
func (b *builder) blocks(caption string, blocks []report.Block) {
	for _, of := range blocks {
		if len(of.Rows) > 0 {
			text := strings.TrimSuffix(caption+": "+of.Title, ": ")
			b.Measured = append(b.Measured, Table{strings.TrimPrefix(text, ": "), of.Table})
		}
		for _, n := range of.Notes {
			if !slices.Contains(b.Notes, n) {
				b.Notes = append(b.Notes, n)
			}
		}
	}
}

func minute(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 MST") }

type builder struct {
	*Model
	plan *plans.Plan // of nothing if it cannot be read
	told verdict.Page
	// launches are those of benchmarks, by session and variant.
	launches map[[2]string][]*ledger.Launch
}

// card is what the page has of a feature, and its anchor; an empty one if there is none.
func (b *builder) card(feature string) (f Feature, link string) {
	i := slices.IndexFunc(b.Features, func(f Feature) bool { return f.Feature == feature })
	if i < 0 {
		return f, ""
	}
	return b.Features[i], "feature-" + feature
}

// markOf is the state of a node, with people's overrides.
func markOf(r report.Row) Mark {
	m := Mark{Shape: open, Word: r.Word()}
	switch {
	case r.Overruled.State == report.Waived:
		m.Shape = string(verdict.Waived)
	case r.Decided != nil:
		m.Shape = string(r.Decided.Verdict)
	case !r.Locked.IsZero():
		m.Shape = locked
	}
	return m
}

func plain(v verdict.Verdict) Mark {
	v = cmp.Or(v, "not tried")
	return Mark{string(v), string(v)}
}

func (b *builder) feature(r report.Row) {
	d := r.Decided.Decision
	e, t := report.EvidenceOf(d), report.DecidingTest(d)
	f := Feature{
		Row: r, Parent: e.Parent.Name, Mark: markOf(r), Said: report.SaidBy(b.Store, d),
		Proofs: report.Proofs(b.Store, d),
	}
	if f.Said != nil && f.Said.Level == "smoke" {
		f.Said.Prompt = b.smoke()
	}
	port := b.PortOf(d)
	if f.pair = port.Pair(); f.pair != nil {
		f.Moves = tiles(f.pair.Metrics, t, "")
	}
	for _, r := range d.Rules {
		item := Item{Name: r.Name, Code: r.Expr, Mark: plain(r.Verdict), Why: report.ReasonLines(&b.told, d, r.Reasons)}
		if !r.Decides {
			item.Note = "(recorded only)"
		}
		f.Rules = append(f.Rules, item)
	}
	f.Figures = slices.Concat(b.rounds(d.Session, d.Feature, e.Parent.Name, t),
		b.curves(d.Session, d.Feature, e.Parent.Name), b.attempts(d.Node), b.kernels(e), b.traces(f.pair),
		b.traffic(port))
	if port != nil {
		f.Arms = []Table{{"Measurements of " + d.Feature, b.Own(port, true)}}
	}
	b.Features = append(b.Features, f)
}

// briefly is by what an alternative came out as it did.
func briefly(a ledger.Alternative) string {
	return report.Brief(&ledger.Decision{
		Kind: ledger.KindFeature, Verdict: a.Verdict, Rules: a.Rules, Reasons: a.Reasons,
	})
}

// smoke is the prompt of the level smoke, if all protocols have the same.
func (b *builder) smoke() string {
	var prompts []string
	for _, p := range b.plan.Protocols {
		if l := p.Level("smoke"); l != nil {
			prompts = append(prompts, fmt.Sprint(l.Attrs["prompt"]))
		}
	}
	if prompts = slices.Compact(prompts); len(prompts) != 1 {
		return ""
	}
	return prompts[0]
}
