package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// mostTargets limits the tiles of targets, mostBelow the features beneath the stack.
const mostTargets, mostBelow = 3, 14

// first fills the first screen: what was measured on what, the stack's main metrics, the
// targets, and the stack from the baseline up.
func (b *builder) first() {
	ends, contests := b.Ends, b.Summary.Targets
	var accepted []string
	var compared []Feature
	for _, f := range b.Summary.Stack.Features {
		accepted = append(accepted, f.Feature)
		if card, _ := b.card(f.Feature); card.pair != nil {
			compared = append(compared, card)
		}
	}
	launches := b.Store.Launches(store.LaunchFilter{OK: true})
	switch n := len(compared); {
	case ends.Pair != nil:
		launches, b.Tiles = ends.Pair.New.Launches, tiles(ends.Pair.Metrics, nil, "")
		b.Measured = append(b.Measured, Table{
			"Baseline and accepted stack, in one session",
			report.ComparisonTable(ends.Pair.Metrics, "Baseline", "Accepted stack"),
		})
	case n > 0:
		launches = compared[n-1].pair.New.Launches
		if ends.Base != nil && ends.Top != nil {
			launches = ends.Top.Launches
			b.Tiles = tiles(report.Comparisons(ends.Base.Launches, launches, false, nil), nil, report.NotTogether)
		}
	case len(accepted) == 0 && b.decisive() != nil:
		card := b.decisive()
		launches, b.Tiles = card.pair.New.Launches, card.Moves
	case ends.Base != nil:
		launches = ends.Base.Launches
		b.Tiles = tiles(report.Comparisons(launches, launches, false, nil), nil, ledger.Baseline)
	}
	b.about(launches)
	b.blocks("", b.ReproductionBlocks())
	b.blocks("", b.TargetBlocks())
	b.blocks("", b.NightBlocks(0))
	for _, c := range contests[:min(mostTargets, len(contests))] {
		t := Tile{Name: "target " + c.Name, After: c.Standing, Note: c.Tool}
		if cell, metric := measure.SplitAddress(c.Address); c.Address != "" {
			t.Name, t.Before = t.Name+": "+report.MetricWord(metric)+", "+cell, verdict.Planned(c.Value, c.Unit)
		}
		if c.Ratio != nil {
			t.Change = verdict.Short(*c.Ratio, "times") + " as good"
		}
		for _, of := range b.plan.Targets {
			if of.Name == c.Name && of.Summary != "" {
				t.Note = strings.TrimSuffix(of.Summary, ".")
			}
		}
		if !c.Note.IsZero() {
			t.Note = verdict.Brief(c.Note)
		}
		b.Targets = append(b.Targets, t)
	}
	b.stack(compared)
	below := 0
	for _, r := range b.Rows {
		if len(accepted) == 0 || r.Feature == "" || r.Gone || slices.Contains(accepted, r.Feature) {
			continue
		}
		if below++; below <= mostBelow {
			_, link := b.card(r.Feature)
			b.Stack.Rows = append(b.Stack.Rows,
				Bar{Item: Item{Name: r.Feature, Link: link, Mark: markOf(r), Note: r.Short()}})
		}
	}
	if below > mostBelow {
		b.Stack.Rows = append(b.Stack.Rows, Bar{Item: Item{Note: fmt.Sprintf("and %d more", below-mostBelow)}})
	}
}

// decisive is the first port whose own numbers decided against it; nil without one.
func (b *builder) decisive() *Feature {
	for i, f := range b.Features {
		if f.pair != nil && report.DecidingTest(f.Decided.Decision) != nil {
			return &b.Features[i]
		}
	}
	return nil
}

// stack draws the accepted ports from the baseline up, in the metric that says how far the
// stack is, or by which the first was accepted, each by the launches that decided it.
func (b *builder) stack(features []Feature) {
	type step struct {
		name string
		c    report.Comparison
	}
	var steps []step
	head := b.Headline()
	for _, feature := range features {
		for _, c := range feature.pair.Metrics {
			if c.Change != nil && (head == nil || head.Column == c.Column) {
				steps = append(steps, step{feature.Feature, c})
				head = cmp.Or(head, &report.Comparison{Column: c.Column, Unit: c.Unit, Old: c.Old})
				break
			}
		}
	}
	if len(steps) == 0 {
		return
	}
	if head.Change != nil && len(steps) > 1 {
		steps = append(steps, step{"accepted stack", *head})
	}
	b.Stack.Rows = []Bar{{
		Item: Item{Name: ledger.Baseline, Text: verdict.Short(head.Old.Mean, head.Unit)}, Base: true,
		Dot: true, To: head.Old.Mean,
	}}
	for _, s := range steps {
		card, link := b.card(s.name)
		r := Bar{Item: Item{
			Name: s.name, Text: s.c.FromTo(), Mark: card.Mark, Link: link,
		}, To: s.c.New.Mean}
		r.Note, r.From = strings.Join(changed(s.c), ", "), s.c.Old.Mean
		if s.c.Low != nil && s.c.High != nil && !s.c.Absolute {
			r.Low, r.High = r.From*(1+*s.c.Low), r.From*(1+*s.c.High)
		}
		b.Stack.Rows = append(b.Stack.Rows, r)
	}
	for _, c := range b.Summary.Targets {
		if c.Address == head.Address() && c.Value > 0 {
			b.Stack.Lines = append(b.Stack.Lines, Tick{c.Value, c.Name + " " + verdict.Planned(c.Value, head.Unit)})
		}
	}
	b.Stack.What = strings.Replace(report.MetricWord(head.Metric)+", "+head.Unit+", log axis", ", count", "", 1)
	b.Stack.place(func(x float64) string { return verdict.Short(x, "") })
}

// about is what launches ran.
func (b *builder) about(launches []*ledger.Launch) {
	if len(launches) == 0 {
		return
	}
	l := launches[len(launches)-1]
	kind, label, _ := strings.Cut(l.Block, ".")
	machine, model := cmp.Or(l.Fingerprint["gpu"], l.Fingerprint["cpu"]), ""
	if n := l.Fingerprint["cores"]; l.Fingerprint["gpu"] == "" && machine != "" && n != "" {
		machine += ", " + n + " cores"
	}
	for _, e := range b.plan.Engines {
		if e.Kind == kind && e.Name == label {
			model = e.Model
		}
	}
	var sent []string
	for _, c := range l.Cells {
		if text := report.Sent(launches, c.Of()); !slices.Contains(sent, text) && len(sent) < mostTargets {
			sent = append(sent, text)
		}
	}
	b.About = []string{
		strings.TrimSpace(cmp.Or(l.Engine["kind"], kind) + " " + l.Fingerprint["engine_version"]), model,
		machine, strings.Join(sent, "; "),
	}
	for _, c := range report.Commits(l) {
		b.About = append(b.About, "commit "+c[:min(10, len(c))])
	}
	b.About = slices.DeleteFunc(b.About, func(s string) bool { return s == "" })
}

// tiles are the main metrics before and after; a note says why they are not compared.
func tiles(all []report.Comparison, t *verdict.Test, note string) (out []Tile) {
	for _, c := range report.Main(all, t) {
		tile := Tile{
			Name: report.MetricWord(c.Metric), Before: verdict.Short(c.Old.Mean, c.Unit),
			After: verdict.Short(c.New.Mean, c.Unit), Note: note,
		}
		if c.Stat != "median" && c.Stat != "mean" {
			tile.Name += " " + c.Stat
		}
		switch text := changed(c); {
		case note == ledger.Baseline:
			tile.Before = ""
		case note != "":
		case len(text) == 0:
			tile.Note = c.Why.String()
		default:
			tile.Change, tile.Note = text[0], strings.Join(text[1:], "")
		}
		out = append(out, tile)
	}
	return out
}

// changed is a change, and how large it is at least, or that launches do not show it.
func changed(c report.Comparison) []string {
	switch {
	case c.Change == nil || c.Absolute:
		return nil
	case c.Edge() == "":
		return []string{c.Amount()}
	case !c.Significant():
		return []string{c.Amount(), "within noise"}
	}
	return []string{c.Amount(), c.Edge()}
}

// forest adds a feature's row: its estimate with the bounds that decided, and the threshold.
func (b *builder) forest(r report.Row) {
	_, link := b.card(r.Feature)
	row := Bar{Item: Item{Name: r.Feature, Mark: markOf(r), Link: link, Text: r.Brief()}}
	if r.Decided != nil {
		row.effect(r.Decided.Decision)
	}
	b.Forest.Rows = append(b.Forest.Rows, row)
}

// effect is what a decision measured of the change that decided it.
func (b *Bar) effect(d *ledger.Decision) {
	if t := report.DecidingTest(d); t != nil && t.Relative() {
		low, high := factor(t, t.Low), factor(t, t.High)
		b.Dot, b.To, b.Low, b.High, b.Threshold = true, factor(t, t.Estimate), min(low, high), max(low, high),
			factor(t, &t.Threshold)
	} else if t != nil {
		b.Note = "a level, not a change"
	}
}

// attempts are the decisions on a feature, the newest last, if there are several.
func (b *builder) attempts(node string) []Figure {
	c := &Chart{}
	for _, of := range b.Store.History(node) {
		was := report.RowOf(of, nil, b.Now)
		row := Bar{Item: Item{Name: minute(of.Time), Mark: plain(of.Verdict), Text: cmp.Or(was.Short(), was.Brief())}}
		row.effect(of.Decision)
		c.Rows = append(c.Rows, row)
	}
	if len(c.Rows) < 2 {
		return nil
	}
	c.effects()
	return []Figure{{Title: "Attempts, the newest last", Bars: c}}
}
