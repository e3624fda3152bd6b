package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// mostColumns limits the metrics of a table whose columns nothing names.
const mostColumns = 5

// Grid is a table of results: a row for each configuration, a value for each column.
type Grid struct {
	// Title is the plan's, What are the rows.
	Title   string  `json:"title,omitempty"`
	What    string  `json:"-"`
	Columns []Shown `json:"columns"`
	// Missing are columns of the plan that no row has a value of.
	Missing []string `json:"missing,omitempty"`
	Rows    []Line   `json:"rows"`
	// Times is set if changes are how many times better than the reference a row is.
	Times bool `json:"-"`
}

// Line is a row of a Grid.
type Line struct {
	Name string `json:"name"`
	// Feature is set if the row is a feature, or an alternative or confirmation of one, and Of if
	// it is one of these.
	Feature string `json:"feature,omitempty"`
	Of      string `json:"of,omitempty"`
	// N is how many launches it has.
	N int `json:"n,omitempty"`
	// Status is what became of it.
	Status string  `json:"status,omitempty"`
	Values []Value `json:"values"`
}

// Shown is a column of a Grid.
type Shown struct {
	// Path is its address as the plan writes it, Heading what stands in its place.
	Path    string `json:"path"`
	Heading string `json:"heading,omitempty"`
	Column  `json:"-"`
	// Input is nil for a metric as it is.
	Input *plans.Input `json:"-"`
	Unit  string       `json:"unit,omitempty"`
}

// Title is the column's heading or address with its unit, unless the heading ends in one.
func (c Shown) Title() string {
	unit := c.Unit
	if unit == "share" {
		unit = "%"
	}
	if strings.HasSuffix(c.Heading, ")") {
		return c.Heading
	}
	return head(cmp.Or(c.Heading, c.Path), unit)
}

// Plain reports whether the column is a number that launches have, not a relation of two, a word,
// or what a level found once.
func (c Shown) Plain() bool {
	ofLaunches := !strings.HasPrefix(c.Address(), plans.FoundRoot)
	return ofLaunches && (c.Input == nil || c.Input.Type == plans.NumberInput && c.Input.Relation == plans.Own)
}

// Table is the grid as text.
func (g Grid) Table() Table {
	t := Table{Head: []string{g.What}}
	status := slices.ContainsFunc(g.Rows, func(r Line) bool { return r.Status != "" })
	if status {
		t.Head = append(t.Head, "Outcome")
	}
	t.Head = append(t.Head, "n")
	for _, c := range g.Columns {
		t.Head = append(t.Head, c.Title())
	}
	for _, r := range g.Rows {
		row, n := []string{r.Name}, "–"
		if r.N > 0 || g.Times { // each row of a comparison is launched, or was to be
			n = fmt.Sprint(r.N)
		}
		if status {
			row = append(row, r.Status)
		}
		row = append(row, n)
		for i, v := range r.Values {
			text := v.Text(g.Times)
			if i == 0 && v.Root != "" {
				text += "\n" + v.Root + " from the baseline"
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// lacking says which columns no row has a value of; empty without any.
func (g Grid) lacking() string {
	if len(g.Missing) == 0 {
		return ""
	}
	return "No row has a value of " + verdict.And(g.Missing) + "."
}

// What the legends of tables share: which means they have, what bounds are, and what signs and words are.
const (
	meansAre  = "Means over launches (geometric for speeds, times and sizes) ± their standard deviation"
	boundsAre = "with the bounds by which a rule decided in [ ], or else its 95% interval in ( ), rounded outward"
	wordsAre  = "Better and worse: the bounds exclude no change; ~: they do not. ≈ multiplies the steps from the " +
		"baseline, each measured in its own session."
	marked = ". " + doesNotCount + "does not count."
)

// gridLegend explains the values, rowLegend those of a comparison.
const (
	gridLegend = meansAre + ", and below them the change from the parent: " + boundsAre + ". " + wordsAre + " " +
		doesNotCount + "does not count."
	rowLegend = meansAre + "; × is the improvement over the reference, " + boundsAre + ": for every metric, more " +
		"than 1 is better" + marked + " Tokens are counted by each engine's own tokenizer."
)

// shownOf is a column of the plan.
func shownOf(c *plans.Column) Shown {
	s := Shown{Path: c.Path, Heading: c.Heading, Input: c.Input}
	s.Cell, s.Metric = measure.SplitAddress(c.Input.LaunchAddress())
	if s.Stat = c.Input.Stat; s.Stat == "" {
		s.Stat = "median"
	}
	if !c.Input.Ratio() {
		s.Unit = c.Input.Unit
	}
	return s
}

func shownAs(c Column, unit string) Shown { return Shown{Path: c.Name(), Column: c, Unit: unit} }

// addColumns adds columns that are not there yet.
func addColumns(columns []Shown, more ...Shown) []Shown {
	for _, c := range more {
		if !slices.ContainsFunc(columns, func(o Shown) bool {
			return o.Column.same(c.Column) && (o.Input == nil || o.Input.Relation == plans.Own)
		}) {
			columns = append(columns, c)
		}
	}
	return columns
}

// same reports whether two columns are one number, whatever they are called.
func (c Column) same(o Column) bool {
	stat := func(of string) string {
		if of == "p50" || of == "mean" {
			return "median"
		}
		return of
	}
	return c.Address() == o.Address() && stat(c.Stat) == stat(o.Stat)
}

// Columns are those of all tables of the plan, each once; without any, those that are read. Headings
// of several tables say nothing without their titles.
func (s *Summary) Columns() (columns []Shown) {
	if s.Plan == nil {
		return nil
	}
	for _, t := range s.Plan.Tables {
		for _, c := range t.Columns {
			shown := shownOf(c)
			if len(s.Plan.Tables) > 1 {
				shown.Heading = ""
			}
			columns = addColumns(columns, shown)
		}
	}
	if s.Plan.Tables == nil {
		for _, c := range s.Plan.Reads {
			columns = append(columns, shownOf(c))
		}
	}
	return columns
}

// grids are the tables of rows: those of the plan, or one with the columns that are read, then
// others that somebody may want, as far as a row has a value of them.
func (s *Summary) grids(rows []row, what string, times bool, others []Shown) (out []Grid) {
	fill := func(title string, columns []Shown) Grid {
		g := Grid{Title: title, What: what, Columns: columns, Times: times}
		for _, r := range rows {
			line := r.Line
			if r.own != nil {
				line.N = len(r.own.Launches)
			}
			for _, c := range columns {
				line.Values = append(line.Values, r.value(c, s))
			}
			g.Rows = append(g.Rows, line)
		}
		for i := len(columns) - 1; i >= 0; i-- {
			if slices.ContainsFunc(g.Rows, func(r Line) bool { return r.Values[i].Has() }) {
				continue
			}
			g.Missing = slices.Insert(g.Missing, 0, columns[i].Path)
			g.Columns = slices.Delete(g.Columns, i, i+1)
			for j := range g.Rows {
				g.Rows[j].Values = slices.Delete(g.Rows[j].Values, i, i+1)
			}
		}
		return g
	}
	if len(rows) == 0 {
		return nil
	}
	if s.Plan != nil && s.Plan.Tables != nil {
		for _, t := range s.Plan.Tables {
			var columns []Shown
			for _, c := range t.Columns {
				columns = append(columns, shownOf(c))
			}
			out = append(out, fill(t.Name, columns))
		}
		return out
	}
	all := addColumns(s.Columns(), others...)
	if len(all) == 0 {
		var launches []*ledger.Launch
		for _, r := range rows {
			if r.own != nil {
				launches = append(launches, r.own.Launches...)
			}
		}
		for _, c := range Headlines(launches) {
			unit, _ := unitOf(launches, c.Address(), false)
			all = append(all, shownAs(c, unit))
		}
		all = all[:min(mostColumns, len(all))]
	}
	g := fill("", all)
	if g.Missing = nil; len(g.Columns) == 0 { // nobody asked for them
		return nil
	}
	return []Grid{g}
}

// Results are the baseline, each feature with its alternatives and with the engines that confirm it,
// the accepted stack, and the numbers to beat.
func (s *Summary) Results() []Grid {
	var rows []row
	if p := s.Port(ledger.Baseline); p != nil {
		rows = append(rows, s.portRow(p, Line{Name: p.Variant, Status: "reference"}))
	}
	for _, r := range s.Features() {
		for _, v := range r.variants() {
			line, port := Line{Name: v.name, Feature: r.Feature, Status: v.status}, s.Port(v.name)
			if v.name != r.Feature {
				line.Of = r.Feature
			}
			if at := strings.LastIndexByte(v.name, '@'); at >= 0 && port != nil && port.Parent != nil {
				rows = append(rows, s.portRow(&Port{Arm: port.Parent, of: s}, Line{
					Name: port.Parent.Variant + v.name[at:], Feature: r.Feature, Of: r.Feature, Status: "reference",
				}))
			}
			rows = append(rows, s.portRow(port, line))
		}
	}
	if top := s.stackRow(); top != nil {
		rows = append(rows, *top)
	}
	return s.grids(append(rows, s.targetRows()...), "Configuration", false, nil)
}

// variant is what is measured of a feature, and what became of it.
type variant struct {
	name, status string
	verdict      verdict.Verdict
}

// variants are a feature's alternatives, or else itself, and what confirms it on other engines.
func (r Row) variants() (all []variant) {
	if r.Decided == nil {
		return []variant{{r.Feature, r.Status(), ""}}
	}
	d := r.Decided
	for _, a := range d.Alternatives {
		v := variant{a.Name, r.Status(), a.Verdict}
		if !a.Chosen {
			own := *r.Decided
			own.Decision = OfAlternative(d.Decision, a)
			if v.status = (Row{Decided: &own}).Status(); a.Verdict == verdict.Pass {
				v.status += ", not chosen"
			}
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		all = []variant{{r.Feature, r.Status(), d.Verdict}}
	}
	for _, c := range d.Confirmations {
		all = append(all, variant{
			strings.TrimPrefix(c.Node, "feature."), cmp.Or(string(c.Verdict), "not tried"), d.Verdict,
		})
	}
	return all
}

// OfAlternative is what came of one value that a feature chose from, by its own rules.
func OfAlternative(d *ledger.Decision, a ledger.Alternative) *ledger.Decision {
	return &ledger.Decision{
		Kind: d.Kind, Feature: a.Name, Verdict: a.Verdict, Reasons: a.Reasons, Rules: a.Rules, Notes: a.Notes,
		Evidence: d.Evidence, Launches: d.Launches, Statistics: d.Statistics,
	}
}

// addUncounted adds what was launched of invalid variants, such as those whose answers are garbage.
func (s *Summary) addUncounted() {
	for _, r := range s.Features() {
		for _, v := range r.variants() {
			if v.verdict != verdict.Invalid || s.ports[v.name] != nil {
				continue
			}
			if a := s.launched(r.Decided.Decision, v.name); a != nil {
				a.Uncounted = r.Status()
				s.uncounted = append(s.uncounted, &Port{Arm: a, of: s})
			}
		}
	}
}

// launched is a variant by all launches of a decision that worked and that the machine did not
// disturb; nil without any.
func (s *Summary) launched(d *ledger.Decision, variant string) *Arm {
	a := &Arm{Session: d.Session, Variant: variant}
	for _, id := range d.Launches {
		l, ok := s.Store.LaunchByID(id)
		worked := ok && l.OK && !l.Disturbed && l.Purpose == ledger.ForBenchmark
		if worked && (l.Variant == variant || l.Block == variant) {
			a.Launches, a.Block, a.Session = append(a.Launches, l), l.Block, l.Session
		}
	}
	if len(a.Launches) == 0 {
		return nil
	}
	return a
}

// invalid reports whether the launches of an arm were found to be invalid by what their session decided.
func (s *Summary) invalid(a *Arm) (is bool) {
	for _, r := range s.Store.Records() {
		d := r.Decision
		if d == nil || d.Kind != ledger.KindFeature || !slices.Contains(d.Launches, a.Launches[0].ID) {
			continue
		}
		for _, v := range (Row{Feature: d.Feature, Decided: &ledger.Decided{Decision: d}}).variants() {
			if v.name == a.Variant {
				is = v.verdict == verdict.Invalid
			}
		}
	}
	return is
}

func (s *Summary) portRow(p *Port, line Line) row {
	if p == nil {
		return row{Line: line}
	}
	r := row{Line: line, own: p.Arm, base: p.Parent, port: p}
	if r.levels = qualifiedArm(s.Store, p.Arm); p.Parent != nil {
		r.baseLevels = qualifiedArm(s.Store, p.Parent)
	}
	return r
}

// qualifiedArm is the launch in which levels found an arm's numbers; nil without one.
func qualifiedArm(st *store.Store, a *Arm) *ledger.Launch {
	return qualified(st, gates.ArmOf(a.Variant, a.Launches[0].ID), nil)
}

// stackRow is the accepted stack of at least two features by its newest launches, beside the
// baseline if a session launched both; nil without any.
func (s *Summary) stackRow() *row {
	stack, top := s.Stack, s.Ends.Top
	if len(stack.Features) < 2 || top == nil {
		return nil
	}
	line := Line{Name: "accepted stack", Status: strings.TrimPrefix(stack.Sum(), ledger.Baseline+" + ")}
	r := row{Line: line, own: top, levels: qualifiedArm(s.Store, top)}
	if pair := s.Ends.Pair; pair != nil {
		r.own, r.base = &Arm{Session: pair.New.Session, Launches: pair.New.Launches}, s.Ends.Base
		return &r
	}
	for _, name := range s.Measured() { // the feature that was measured with all others below it
		if p := s.ports[name]; p.Block == top.Block && maps.Equal(p.Launches[0].Knobs, stack.Knobs) &&
			p.Parent != nil {
			r.port = p
		}
	}
	return &r
}

// Alone are tables of arms by themselves, a row each.
func (s *Summary) Alone(arms []*Arm) []Block {
	var rows []row
	for _, a := range arms {
		switch {
		case slices.ContainsFunc(a.Launches, func(l *ledger.Launch) bool { return len(l.Garbage()) > 0 }):
			a.Uncounted = "answers garbage"
		case s.invalid(a):
			a.Uncounted = string(verdict.Invalid)
		}
		rows = append(rows, row{Line: Line{Name: a.Variant}, own: a, levels: qualifiedArm(s.Store, a)})
	}
	return blocksOf(s.grids(rows, "Variant", false, nil), meansAre+marked)
}

// targetRows are the numbers to beat, which others measured.
func (s *Summary) targetRows() (rows []row) {
	for _, contest := range s.Targets {
		t := contest.Target
		i := slices.IndexFunc(rows, func(r row) bool { return r.Name == t.Name })
		if i < 0 {
			i, rows = len(rows), append(rows, row{numbers: map[Column]ledger.Target{}})
			rows[i].Line = Line{Name: t.Name, Status: "to beat" + verdict.Behind(", by ", t.Tool)}
		}
		cell, metric := measure.SplitAddress(t.Address)
		rows[i].numbers[Column{Cell: cell, Metric: metric, Stat: t.Stat}] = t
	}
	return rows
}

// Compared are the tables of a comparison of engines, or of a matrix. What its rows have beside the
// columns that are read comes after them.
func (s *Summary) Compared(d *ledger.Decision) []Grid {
	var rows []row
	var others []Shown
	what := "Engine"
	arms := map[string]*Arm{}
	for _, a := range ArmsOf(s.Store, d) {
		arms[a.Variant] = a
	}
	var reference *row
	for _, r := range d.Rows {
		if r.Reference && r.Name == ledger.Baseline {
			what = "Cell"
		}
		line := row{
			Line: Line{Name: r.Name}, own: arms[r.Name], cells: r.Cells, rounds: len(r.Places) > 0,
			words: map[string]string{},
		}
		if r.Verdict != verdict.Pass {
			line.Status = string(r.Verdict)
			if line.own = s.launched(d, r.Name); line.own != nil {
				line.own.Uncounted = line.Status
			}
		}
		for _, l := range d.Levels {
			if level, own := strings.CutPrefix(l.Name, r.Name+"/"); own {
				line.words[plans.FoundRoot+level] = string(l.Verdict)
				if of, ok := s.Store.LaunchByID(l.Launch); ok {
					line.levels = of
				}
			}
		}
		rows = append(rows, line)
		if r.Reference {
			rows[len(rows)-1].Name += " (reference)"
			rows[len(rows)-1].reference, reference = true, &line
		}
	}
	for i, r := range d.Rows {
		if reference != nil && !r.Reference {
			rows[i].base, rows[i].baseLevels, rows[i].baseCells = reference.own, reference.levels, reference.cells
		}
	}
	for _, c := range columnsOf(d.Rows) {
		of := Column{Stat: "median"}
		of.Cell, of.Metric = measure.SplitAddress(c.Address)
		others = append(others, shownAs(of, c.Unit))
	}
	return s.grids(rows, what, true, others)
}

// In is a column's value in an arm, compared with nothing.
func (s *Summary) In(a *Arm, c Shown) Value {
	return s.portRow(&Port{Arm: a, of: s}, Line{}).value(c, s)
}

// Best is the arm with the best mean of a column in all sessions on the baseline's engine, beside the
// baseline of its session; nil if none has it. The baseline is best only if nothing is better.
func (s *Summary) Best(c Shown) (best *Arm, v Value) {
	for _, a := range s.Arms {
		if s.engine != "" && a.Block != s.engine {
			continue
		}
		r := row{own: a}
		if p := s.Port(a.Variant); p != nil && p.Session == a.Session {
			r.port = p
		}
		if i := slices.IndexFunc(s.Arms, func(o *Arm) bool {
			return o != a && o.Variant == ledger.Baseline && o.Session == a.Session && o.Block == a.Block
		}); i >= 0 && a.Variant != ledger.Baseline {
			r.base = s.Arms[i]
		}
		own := r.value(c, s)
		if own.New.N() == 0 || own.Better != measure.Higher && own.Better != measure.Lower {
			continue
		}
		if best == nil || own.New.Mean != v.New.Mean && own.New.Mean > v.New.Mean == (own.Better == measure.Higher) {
			best, v = a, own
		}
	}
	if base := s.Port(ledger.Baseline); best != nil && v.Old.N() == 0 && base != nil {
		v.Old = s.In(base.Arm, c).New // of another session, so it is not compared
	}
	return best, v
}
