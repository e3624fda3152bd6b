package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
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
	// Mean over launches with its two-sided 95% interval, in Unit. If a rule decided on
	// this level, Decided is set: then they are that decision's estimate and bounds.
	Mean    *float64 `json:"mean,omitempty"`
	Low     *float64 `json:"low,omitempty"`
	High    *float64 `json:"high,omitempty"`
	Decided bool     `json:"decided,omitempty"`
	// Ratio is how many times better than the target it is: above 1 is better for every
	// metric.
	Ratio     *float64 `json:"ratio,omitempty"`
	RatioLow  *float64 `json:"ratio_low,omitempty"`
	RatioHigh *float64 `json:"ratio_high,omitempty"`
	Standing  string   `json:"standing"`
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
	name := ledger.Baseline
	if len(stack.Features) > 0 {
		name = stackVariant
	}
	arms := stackArms(st, Arms(st), stack)
	for _, t := range targets {
		c := Contest{Target: t, Variant: name, Standing: Open}
		a, decided := newestOf(st, arms, t)
		switch {
		case !t.Why.IsZero():
			c.Note = t.Why
		case a == nil:
			c.Note = noLaunch(name, stack)
		default:
			c.Session = a.Session
			c.decide(a, decided)
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

// decide compares an arm with the target, by the test that decided on it, if one did.
func (c *Contest) decide(a *Arm, t *verdict.Test) {
	for _, l := range a.Launches {
		s, ok := l.Metrics[c.Address]
		_, has := s.Stats[c.Stat]
		switch why := c.sentElse(l); {
		case !why.IsZero():
			c.Note = why
		case !ok:
			c.Note = c.lacks(l, gates.Absent(l.Metrics, c.Address))
		case !has:
			c.Note = c.lacks(l, gates.Lacks(s, c.Stat))
		case s.Unit != "" && c.Unit != "" && s.Unit != c.Unit:
			c.Note = verdict.Say("target.other_unit",
				"launch {subject} has {address} in {unit}, the target is in {target}",
				verdict.Text("address", c.Address), verdict.Text("unit", s.Unit), verdict.Text("target", c.Unit)).On(l.ID)
		}
		if !c.Note.IsZero() {
			return
		}
		c.Launches = append(c.Launches, l.ID)
	}
	v, ok := a.Of(c.Address, c.Stat)
	if !ok {
		c.Note = verdict.Say("target.no_mean", "{subject}: {error}",
			verdict.Text("error", "a value is not a finite number")).On(c.Address)
		return
	}
	c.Mean, c.Low, c.High = &v.Mean, v.Low, v.High
	if t != nil {
		c.Mean, c.Low, c.High, c.Decided = t.Estimate, t.Low, t.High, true
		c.Launches = t.Launches[:min(len(t.Launches), t.N())]
	}
	switch {
	case c.Low == nil:
		c.Note = verdict.Say("target.no_interval",
			"no interval: {launches=1?1 launch of at least 2}{launches=1!all {launches} launches have the same "+
				"value}",
			verdict.Int("launches", v.N()))
	case !(c.Value > 0) || !(*c.Mean > 0) || c.Better != "higher" && c.Better != "lower":
		c.Note = verdict.Say("target.no_ratio",
			"no ratio: it needs values above zero and a metric with a better direction")
	}
	if c.Value > 0 && *c.Mean > 0 && (c.Better == "higher" || c.Better == "lower") {
		c.compare()
	}
}

func (c *Contest) lacks(l *ledger.Launch, why verdict.Reason) verdict.Reason {
	return verdict.Say("target.launch_lacks",
		"launch {subject} has no {address} {stat}{causes?: {causes}} (mxflow show {subject})",
		verdict.Text("address", c.Address), verdict.Text("stat", c.Stat)).On(l.ID).From(why)
}

// levelTest is the test by which a rule decided on the level of a metric of these launches,
// whatever number it asked for; nil if none did.
func levelTest(st *store.Store, a *Arm, address, stat string) *verdict.Test {
	for _, d := range Standing(st) {
		for _, r := range d.Rules {
			for _, c := range r.Comparisons {
				t := c.Test
				if t.Bounded() && t.N() > 0 && t.Against == "" && t.Metric == address && t.Stat == stat && slices.ContainsFunc(a.Launches, func(l *ledger.Launch) bool { return slices.Contains(t.Launches, l.ID) }) {
					return t
				}
			}
		}
	}
	return nil
}

// sentElse is why a launch measured another load than the target, under the same name; no
// fact if it did not.
func (c *Contest) sentElse(l *ledger.Launch) verdict.Reason {
	cell, _ := measure.SplitAddress(c.Address)
	for _, run := range l.Cells {
		sent := ledger.Sent{Prompt: run.Prompt, Output: run.Output, Depth: run.Depth, Concurrency: run.Concurrency, Rate: run.Rate}
		if run.Cell == cell && c.Sent != nil && sent != *c.Sent {
			return verdict.Say("target.sent_else",
				"launch {subject} was sent {sent} in {cell}, which the plan no longer sends: apply it again",
				verdict.Text("sent", Sent([]*ledger.Launch{l}, cell)), verdict.Text("cell", cell)).On(l.ID)
		}
	}
	return verdict.Reason{}
}

func (c *Contest) compare() {
	better := func(x float64) float64 {
		if c.Better == "lower" {
			return c.Value / x
		}
		return x / c.Value
	}
	ratio := better(*c.Mean)
	c.Ratio = &ratio
	if c.Low == nil || !(*c.Low > 0) {
		return
	}
	low, high := better(*c.Low), better(*c.High)
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

// stackArms are the arms that measured the stack, or the baseline while it is empty, on the
// baseline's engine, newest first: identified by the launch's knob values, whatever the
// arm's name.
func stackArms(st *store.Store, arms []*Arm, stack Stack) (out []*Arm) {
	block := baselineBlock(st)
	for _, a := range slices.Backward(arms) {
		if l := a.Launches[0]; l.Knobs != nil && maps.Equal(l.Knobs, stack.Knobs) && (block == "" || a.Block == block) {
			out = append(out, a)
		}
	}
	return out
}

// newestOf is the arm to compare with a target: the newest on whose level a rule decided,
// with its test; or else the newest that was sent the workload, whatever came of it, as a
// feature's own protocol may send another; or else the newest. It is nil if there is none.
func newestOf(st *store.Store, arms []*Arm, t ledger.Target) (a *Arm, decided *verdict.Test) {
	for _, a := range arms {
		if decided := levelTest(st, a, t.Address, t.Stat); decided != nil {
			return a, decided
		}
	}
	for _, a := range arms {
		if slices.ContainsFunc(a.Launches, func(l *ledger.Launch) bool { return measures(l, t.Address) }) {
			return a, nil
		}
	}
	if len(arms) > 0 {
		return arms[0], nil
	}
	return nil, nil
}

func measures(l *ledger.Launch, address string) bool {
	cell, _ := measure.SplitAddress(address)
	_, has := l.Metrics[address]
	return has || slices.ContainsFunc(l.Cells, func(run measure.CellRun) bool { return run.Cell == cell })
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
		row := []string{fmt.Sprintf("%s (%s)", c.Name, cmp.Or(c.Tool, "not named")), c.Address, verdict.Number(c.Value, c.Unit), "–", "–", c.Standing}
		if c.Address == "" {
			row[1] = c.Path
		}
		if c.Address == "" && c.Value == 0 {
			row[2] = "–" // an import names no number
		}
		if c.Stat != "" && c.Stat != "median" {
			row[1] += "." + c.Stat
		}
		shown := verdict.CI
		if c.Decided {
			shown = verdict.Interval
		}
		if c.Mean != nil {
			row[3] = fmt.Sprintf("%s\n%s of %s in session %s", shown(*c.Mean, c.Low, c.High, ""), verdict.Launches(len(c.Launches)), c.Variant, c.Session)
		}
		if c.Ratio != nil {
			row[4] = shown(*c.Ratio, c.RatioLow, c.RatioHigh, "times")
		}
		if !c.Note.IsZero() {
			row[5] += ": " + c.Note.String()
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// ContestNotes explain the numbers of the table.
func ContestNotes(all []Contest) []string {
	notes := []string{"Targets were measured elsewhere, by the tool in brackets: two tools may measure different things under one name; that they are the same is the plan's claim. The target itself has no interval here."}
	if slices.ContainsFunc(all, func(c Contest) bool { return c.Mean != nil }) {
		notes = append(notes, "[low, high] are the bounds of a rule's decision, 95% CI the interval of the mean where no rule decided. Beaten: all of it is better than the target.")
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
