package report

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Standings: which targets are beaten.
const (
	Beaten = "beaten"  // the whole interval is better than the target
	NotYet = "not yet" // the whole interval is worse
	Open   = "open"    // the target is within, or there is no interval
)

// Contest is a number to beat and the measurement here.
type Contest struct {
	ledger.Target
	// Variant is "accepted" or "baseline", and Session the one whose launches
	// these are: the newest in which it was measured.
	Variant  string   `json:"variant"`
	Session  string   `json:"session,omitempty"`
	Launches []string `json:"launches,omitempty"`
	// Mean over launches with its two-sided 95% interval, in Unit.
	Mean *float64 `json:"mean,omitempty"`
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Ratio is how many times better than the target it is: above 1 is better for every
	// metric.
	Ratio     *float64 `json:"ratio,omitempty"`
	RatioLow  *float64 `json:"ratio_low,omitempty"`
	RatioHigh *float64 `json:"ratio_high,omitempty"`
	Standing  string   `json:"standing"`
	// Rulings are the outcomes of rules that read the target.
	Rulings []Ruling `json:"rulings,omitempty"`
	// Note is why there is no number, or what it lacks.
	Note verdict.Reason `json:"note,omitzero"`
}

// Contests are the targets of the newest run against the accepted stack, or the
// baseline while nothing is accepted; never nil.
func Contests(st *store.Store) []Contest {
	all := []Contest{}
	targets := targetsNow(st)
	if len(targets) == 0 {
		return all
	}
	stack := AcceptedStack(st)
	name, sessions := stackSessions(st, stack)
	block := baselineBlock(st)
	for _, t := range targets {
		c := Contest{Target: t, Variant: name, Standing: Open, Rulings: rulingsOn(st, t, stack.Knobs, block)}
		launches := newestOf(sessions, t.Address)
		switch {
		case !t.Why.IsZero():
			c.Note = t.Why
		case len(launches) == 0:
			c.Note = noLaunch(name, stack)
		default:
			c.Session = launches[0].Session
			c.decide(launches)
		}
		all = append(all, c)
	}
	return all
}

// targetsNow are those of the newest run.
func targetsNow(st *store.Store) []ledger.Target {
	view, err := st.Run("latest")
	if err != nil || view.Start == nil {
		return nil
	}
	return view.Start.Targets
}

func noLaunch(name string, stack Stack) verdict.Reason {
	if n := len(stack.Features); n > 1 {
		return verdict.New(code.NoLaunch, verdict.Int("features", n)).On(name)
	}
	return verdict.New(code.NoLaunch).On(name)
}

// decide compares the launches with the target.
func (c *Contest) decide(launches []*ledger.Launch) {
	var values []float64
	for _, l := range launches {
		if why := c.sentElse(l); !why.IsZero() {
			c.Note = why
			return
		}
		s, ok := l.Metrics[c.Address]
		v, has := s.Stats[c.Stat]
		if !ok || !has {
			c.Note = lacks(l, c.Address, c.Stat)
			return
		}
		if s.Unit != "" && c.Unit != "" && s.Unit != c.Unit {
			c.Note = verdict.New(code.OtherUnit, verdict.Text("address", c.Address), verdict.Text("unit", s.Unit), verdict.Text("target", c.Unit)).On(l.ID)
			return
		}
		values = append(values, v)
		c.Launches = append(c.Launches, l.ID)
	}
	in, err := stats.MeanInterval(values)
	if err != nil {
		c.Note = verdict.New(code.NoMean, verdict.Err(err)).On(c.Address)
		return
	}
	c.Mean = &in.Mean
	if in.Bounded {
		c.Low, c.High = &in.Low, &in.High
	} else {
		c.Note = verdict.New(code.NoInterval, verdict.Int("launches", len(values)))
	}
	if !(c.Value > 0) || !(in.Mean > 0) || c.Better != "higher" && c.Better != "lower" {
		if c.Note.IsZero() {
			c.Note = verdict.New(code.NoRatio)
		}
		return
	}
	c.compare(in)
}

// sentElse is why a launch measured another load than the target, under the same name; no
// fact if it did not.
func (c *Contest) sentElse(l *ledger.Launch) verdict.Reason {
	cell, _ := measure.SplitAddress(c.Address)
	for _, run := range l.Cells {
		sent := ledger.Sent{Prompt: run.Prompt, Output: run.Output, Depth: run.Depth, Concurrency: run.Concurrency, Rate: run.Rate}
		if run.Cell == cell && c.Sent != nil && sent != *c.Sent {
			return verdict.New(code.SentElse, verdict.Text("sent", Sent([]*ledger.Launch{l}, cell)), verdict.Text("cell", cell)).On(l.ID)
		}
	}
	return verdict.Reason{}
}

func (c *Contest) compare(in stats.Interval) {
	better := func(x float64) float64 {
		if c.Better == "lower" {
			return c.Value / x
		}
		return x / c.Value
	}
	ratio := better(in.Mean)
	c.Ratio = &ratio
	if !in.Bounded || !(in.Low > 0) {
		return
	}
	low, high := better(in.Low), better(in.High)
	if low > high {
		low, high = high, low
	}
	c.RatioLow, c.RatioHigh = &low, &high
	switch {
	case low > 1:
		c.Standing = Beaten
	case high < 1:
		c.Standing = NotYet
	}
}

// rounding is how much two equal numbers may differ, computed in two ways.
const rounding = 1e-9

// Ruling is the outcome of a rule that asks for more than a target: by launches of its
// own session, which need not be those of the standing table.
type Ruling struct {
	Node     string          `json:"node"`
	Rule     string          `json:"rule"`
	Verdict  verdict.Verdict `json:"verdict"`
	Sessions []string        `json:"sessions,omitempty"`
	// Asks is the rule's own number if that is not the target's, and Of the variant whose
	// launches decided it if that is not the table's.
	Asks *float64 `json:"asks,omitempty"`
	Of   string   `json:"of,omitempty"`
}

// rulingsOn are the standing rules that ask whether a target is beaten. knobs and block
// are those of the table's launches.
func rulingsOn(st *store.Store, t ledger.Target, knobs map[string]string, block string) (out []Ruling) {
	for _, d := range Standing(st) {
		for _, r := range d.Rules {
			for _, c := range r.Comparisons {
				if c.Test == nil || c.Test.Against != "" || c.Test.More != (t.Better == "higher") || !reads(c.Text, t.Path) {
					continue
				}
				by := Ruling{Node: d.Node, Rule: r.Name, Verdict: c.Verdict, Sessions: sessionsOf(st, c.Test.Launches)}
				if asks := c.Test.Threshold; math.Abs(asks-t.Value) > rounding*math.Abs(t.Value) {
					by.Asks = &asks
				}
				by.Of = otherThan(st, c.Test.Launches, knobs, block)
				out = append(out, by)
			}
		}
	}
	return out
}

// otherThan is the variant of these launches if one has other knobs or another engine;
// empty if none has.
func otherThan(st *store.Store, ids []string, knobs map[string]string, block string) string {
	for _, id := range ids {
		l, ok := st.LaunchByID(id)
		switch {
		case !ok || l.Knobs == nil:
		case block != "" && l.Block != block:
			return l.Variant + " on " + l.Block
		case !maps.Equal(l.Knobs, knobs):
			return l.Variant
		}
	}
	return ""
}

// reads reports whether a path is in a comparison, and not just as the prefix of a longer
// one.
func reads(text, path string) bool {
	return regexp.MustCompile(regexp.QuoteMeta(path) + `($|[^\w.\[])`).MatchString(text)
}

// sessionsOf are the sessions in which launches were made, each once.
func sessionsOf(st *store.Store, ids []string) (sessions []string) {
	for _, id := range ids {
		if l, ok := st.LaunchByID(id); ok && !slices.Contains(sessions, l.Session) {
			sessions = append(sessions, l.Session)
		}
	}
	return sessions
}

// otherwise is why rules came out differently from the table, if they did.
func (c *Contest) otherwise() (notes []string) {
	same := map[verdict.Verdict]string{verdict.Pass: Beaten, verdict.Fail: NotYet, verdict.Inconclusive: Open}
	for _, r := range c.Rulings {
		if c.Mean == nil || same[r.Verdict] == c.Standing || same[r.Verdict] == "" {
			continue
		}
		notes = append(notes, fmt.Sprintf("Rule %q of %s is %s, but %s is %s here: %s.", r.Rule, r.Node, r.Verdict, c.Name, c.Standing, c.why(r)))
	}
	return notes
}

// why is what decided a rule that came out differently, if the table does not show it:
// another number, another variant, or else other launches of the same.
func (c *Contest) why(r Ruling) string {
	var causes []string
	if r.Asks != nil && c.harder(*r.Asks) == c.worse(r.Verdict) {
		word := "more"
		if c.Better == "lower" {
			word = "less"
		}
		causes = append(causes, fmt.Sprintf("the rule requires %s than %s, but the target is %s", word, tell.Number(*r.Asks, c.Unit), tell.Number(c.Value, c.Unit)))
	}
	if r.Of != "" {
		causes = append(causes, fmt.Sprintf("it was decided on launches of %s, but this table uses those of %s", r.Of, c.Variant))
	}
	if len(causes) > 0 {
		return strings.Join(causes, "; ")
	}
	own := "of its session"
	if len(r.Sessions) > 0 {
		own = "of session " + verdict.And(r.Sessions)
	}
	return fmt.Sprintf("the rule was decided on the launches %s up to the deciding look, at the plan's error rates; this table uses all of session %s, with plain 95%% intervals", own, c.Session)
}

// harder reports whether a number is harder to beat than the target's.
func (c *Contest) harder(asks float64) bool { return asks > c.Value == (c.Better == "higher") }

// worse reports whether a rule came out worse than the table.
func (c *Contest) worse(v verdict.Verdict) bool {
	return v == verdict.Fail || v == verdict.Inconclusive && c.Standing == Beaten
}

// stackSessions are the launches that measured the stack, or the baseline while it is
// empty, on the baseline's engine, by session, newest first: identified by the launch's
// knob values, whatever the arm's name.
func stackSessions(st *store.Store, stack Stack) (name string, sessions [][]*ledger.Launch) {
	name = stackVariant
	if len(stack.Features) == 0 {
		name = ledger.Baseline
	}
	block := baselineBlock(st)
	bySession := map[string][]*ledger.Launch{}
	var order []string
	for _, l := range st.Launches(store.LaunchFilter{Purpose: ledger.ForBenchmark, OK: true}) {
		if l.Knobs == nil || !maps.Equal(l.Knobs, stack.Knobs) || len(l.Invalid) > 0 || block != "" && l.Block != block {
			continue
		}
		bySession[l.Session] = append(bySession[l.Session], l)
		order = append(order, l.Session)
	}
	// By position in the ledger, not by clock, which may be set back.
	for _, session := range slices.Backward(order) {
		if launches := bySession[session]; launches != nil {
			sessions = append(sessions, launches)
			delete(bySession, session)
		}
	}
	return name, sessions
}

// newestOf are the launches of the newest session that measured something. One that was
// sent the workload counts, whatever came of it; a feature's own protocol may send
// another. If none was, it is the newest.
func newestOf(sessions [][]*ledger.Launch, address string) []*ledger.Launch {
	for _, launches := range sessions {
		if slices.ContainsFunc(launches, func(l *ledger.Launch) bool { return measures(l, address) }) {
			return launches
		}
	}
	if len(sessions) > 0 {
		return sessions[0]
	}
	return nil
}

func measures(l *ledger.Launch, address string) bool {
	cell, _ := measure.SplitAddress(address)
	_, has := l.Metrics[address]
	return has || slices.ContainsFunc(l.Cells, func(run measure.CellRun) bool { return run.Cell == cell })
}

// lacks is the reason that a launch lacks a statistic.
func lacks(l *ledger.Launch, address, stat string) verdict.Reason {
	why := gates.Absent(l.Metrics, address)
	if s, has := l.Metrics[address]; has {
		why = gates.Lacks(s, stat)
	}
	return verdict.New(code.LaunchLacks, verdict.Text("address", address), verdict.Text("stat", stat)).On(l.ID).From(why)
}

// baselineBlock is the engine on which the baseline was last qualified.
func baselineBlock(st *store.Store) (block string) {
	for _, l := range st.Launches(store.LaunchFilter{Node: ledger.Baseline}) {
		if l.Block != "" {
			block = l.Block
		}
	}
	return block
}

// ContestTable has a row per number to beat.
func ContestTable(all []Contest) Table {
	t := Table{Head: []string{"Target", "Metric", "To beat", "Measured", "Times better", "Standing"}}
	for _, c := range all {
		row := []string{c.Name, c.Address, tell.Number(c.Value, c.Unit), "–", "–", c.Standing}
		if c.Address == "" {
			row[1] = c.Path
		}
		if c.Address == "" && c.Value == 0 {
			row[2] = "–" // an import names no number
		}
		if c.Stat != "" && c.Stat != "median" {
			row[1] += "." + c.Stat
		}
		if c.Mean != nil {
			row[3] = tell.Interval(*c.Mean, c.Low, c.High, "")
		}
		if c.Ratio != nil {
			row[4] = tell.Interval(*c.Ratio, c.RatioLow, c.RatioHigh, "times")
		}
		if !c.Note.IsZero() {
			row[5] += ": " + tell.Line(c.Note)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// measuredIn is the source of the launches: "accepted in session s-1, 6 launches", and
// which metrics, if sessions measured different ones.
func measuredIn(all []Contest) string {
	var order []string
	of := map[string][]string{}
	for _, c := range all {
		if c.Mean == nil {
			continue
		}
		where := fmt.Sprintf("%s in session %s, %s", c.Variant, c.Session, tell.Launches(len(c.Launches)))
		if of[where] == nil {
			order = append(order, where)
		}
		if !slices.Contains(of[where], c.Address) {
			of[where] = append(of[where], c.Address)
		}
	}
	if len(order) == 1 {
		return order[0]
	}
	for i, where := range order {
		order[i] = verdict.And(of[where]) + " of " + where
	}
	return strings.Join(order, "; ")
}

// ContestNotes are the source of the launches, and what such numbers cannot show.
func ContestNotes(all []Contest) (notes []string) {
	if measured := measuredIn(all); measured != "" {
		notes = append(notes, "Measured: "+measured+"; means over launches with their 95% intervals. Beaten: the whole interval is better than the target.")
	}
	for _, c := range all {
		notes = append(notes, c.otherwise()...)
	}
	var tools []string
	for _, c := range all {
		tool := c.Tool
		if tool == "" {
			tool = "a tool not named in the plan"
		}
		if text := fmt.Sprintf("%s by %s", c.Name, tool); !slices.Contains(tools, text) {
			tools = append(tools, text)
		}
	}
	if len(tools) > 0 {
		notes = append(notes, "The targets were measured elsewhere: "+strings.Join(tools, ", ")+". Two tools may measure different things under one name; that they are the same is the plan's claim. The target itself has no interval here.")
	}
	return notes
}

// targets writes the standing table.
func (p *page) targets() {
	all := Contests(p.st)
	if len(all) == 0 {
		return
	}
	p.para("## Targets")
	p.table(ContestTable(all))
	for _, n := range ContestNotes(all) {
		p.para("%s", n)
	}
}
