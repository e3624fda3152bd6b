package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
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
	// Mean over launches, in JSON geomean if it is geometric, with its two-sided 95% interval, in
	// Unit. If a rule decided on this level, Decided is set: then they are that decision's
	// estimate and bounds.
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
	Note      verdict.Reason `json:"note,omitzero"`
	geometric bool
}

// MarshalJSON says which mean it is, as that of a Sample.
func (c Contest) MarshalJSON() ([]byte, error) {
	type plain Contest
	all := struct {
		plain
		Geomean *float64 `json:"geomean,omitempty"`
	}{plain: plain(c)}
	if c.geometric {
		all.Mean, all.Geomean = nil, all.Mean
	}
	return json.Marshal(all)
}

// targets are those of the newest run against the accepted stack, or the
// baseline while nothing is accepted; never nil.
func (s *Summary) targets() []Contest {
	all := []Contest{}
	if s.Run == nil || s.Run.Start == nil {
		return all
	}
	name, none := ledger.Baseline, verdict.New(code.NoLaunch)
	if n := len(s.Stack.Features); n > 0 {
		if name = stackVariant; n > 1 {
			none = verdict.New(code.NoLaunch, verdict.Int("features", n))
		}
	}
	arms := s.armsWith(s.Stack.Knobs)
	if top := s.Ends.Top; top != nil { // the one that stands for the stack everywhere
		arms = append([]*Arm{top}, arms...)
	}
	for _, t := range s.Run.Start.Targets {
		c := Contest{Target: t, Variant: name, Standing: Open}
		switch a, decided := s.newestOf(arms, t); {
		case !t.Why.IsZero():
			c.Note = t.Why
		case a == nil:
			c.Note = none.On(name)
		default:
			c.Session = a.Session
			c.decide(a, decided)
		}
		all = append(all, c)
	}
	return all
}

// decide compares an arm with the target, by the test that decided on it, if one did.
func (c *Contest) decide(a *Arm, t *verdict.Test) {
	cell, _ := measure.SplitAddress(c.Address)
	for _, l := range a.Launches {
		s, ok := l.Metrics[c.Address]
		_, has := s.Stats[c.Stat]
		lacking := verdict.Reason{}
		switch {
		case slices.ContainsFunc(l.Cells, func(run measure.CellRun) bool {
			return run.Cell == cell && c.Sent != nil && run.Dimensions != *c.Sent
		}):
			c.Note = verdict.Say("target.sent_else",
				"launch {subject} was sent {sent} in {cell}, which the plan no longer sends: apply it again",
				verdict.Text("sent", Sent([]*ledger.Launch{l}, cell)), verdict.Text("cell", cell)).On(l.ID)
			return
		case !ok:
			lacking = gates.Absent(l.Metrics, c.Address)
		case !has:
			lacking = gates.Lacks(s, c.Stat)
		case s.Unit != "" && c.Unit != "" && s.Unit != c.Unit:
			c.Note = verdict.Say("target.other_unit",
				"launch {subject} has {address} in {unit}, the target is in {target}",
				verdict.Text("address", c.Address), verdict.Text("unit", s.Unit),
				verdict.Text("target", c.Unit)).On(l.ID)
			return
		}
		if !has {
			c.Note = verdict.Say("target.launch_lacks",
				"launch {subject} has no {address} {stat}{causes?: {causes}}",
				verdict.Text("address", c.Address), verdict.Text("stat", c.Stat)).On(l.ID).From(lacking)
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
	c.Mean, c.Low, c.High, c.geometric = &v.Mean, v.Low, v.High, v.Geometric
	if t != nil {
		c.Mean, c.Low, c.High, c.Decided, c.geometric = t.Estimate, t.Low, t.High, true, t.Form == verdict.LogLevel
		c.Launches = t.Launches[:min(len(t.Launches), t.N())]
	}
	comparable := c.Value > 0 && *c.Mean > 0 && (c.Better == "higher" || c.Better == "lower")
	switch {
	case c.Low == nil:
		c.Note = verdict.Say("target.no_interval",
			"no interval: {launches=1?1 launch of at least 2}{launches=1!all {launches} launches have the same "+
				"value}",
			verdict.Int("launches", v.N()))
	case !comparable:
		c.Note = verdict.Say("target.no_ratio",
			"no ratio: it needs values above zero and a metric with a better direction")
	}
	if !comparable {
		return
	}
	better := func(x float64) *float64 {
		ratio := x / c.Value
		if c.Better == "lower" {
			ratio = c.Value / x
		}
		return &ratio
	}
	c.Ratio = better(*c.Mean)
	if c.Low == nil || !(*c.Low > 0) {
		return
	}
	if c.RatioLow, c.RatioHigh = better(*c.Low), better(*c.High); *c.RatioLow > *c.RatioHigh {
		c.RatioLow, c.RatioHigh = c.RatioHigh, c.RatioLow
	}
	switch {
	case *c.RatioLow > 1:
		c.Standing = Beaten
	case *c.RatioHigh < 1:
		c.Standing = NotYet
	}
}

// newestOf is the arm to compare with a target: the newest on whose level a rule decided,
// with its test, whatever number that asked for; or else the newest that was sent the workload,
// whatever came of it, as a feature's own protocol may send another; or else the newest. It is
// nil if there is none.
func (s *Summary) newestOf(arms []*Arm, target ledger.Target) (a *Arm, decided *verdict.Test) {
	if len(arms) == 0 {
		return nil, nil
	}
	for _, a := range arms {
		of := func(id string) bool {
			return slices.ContainsFunc(a.Launches, func(l *ledger.Launch) bool { return l.ID == id })
		}
		for _, d := range s.InForce() {
			for _, r := range d.Rules {
				for _, c := range r.Comparisons {
					t := c.Test
					onLevel := t.Bounded() && t.N() > 0 && t.Against == ""
					if onLevel && t.Metric == target.Address && t.Stat == target.Stat &&
						slices.ContainsFunc(t.Launches, of) {
						return a, t
					}
				}
			}
		}
	}
	cell, _ := measure.SplitAddress(target.Address)
	for _, a := range arms {
		for _, l := range a.Launches {
			_, has := l.Metrics[target.Address]
			if has || slices.ContainsFunc(l.Cells, func(run measure.CellRun) bool { return run.Cell == cell }) {
				return a, nil
			}
		}
	}
	return arms[0], nil
}

// contestTable has a row per number to beat.
func contestTable(all []Contest) Table {
	t := Table{Head: []string{"Target", "Metric", "To beat", "Measured", "Times better", "Standing"}}
	for _, c := range all {
		row := []string{
			fmt.Sprintf("%s (%s)", c.Name, cmp.Or(c.Tool, "not named")), c.Address,
			verdict.Planned(c.Value, c.Unit), "–", "–", c.Standing,
		}
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
			row[3] = fmt.Sprintf("%s\n%s of %s in session %s", shown(*c.Mean, c.Low, c.High, c.Unit),
				verdict.Launches(len(c.Launches)), c.Variant, c.Session)
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

// TargetBlocks are the numbers to beat, and how far they are; none without any.
func (s *Summary) TargetBlocks() []Block {
	if len(s.Targets) == 0 {
		return nil
	}
	b := Block{Title: "Targets", Table: contestTable(s.Targets), Notes: []string{
		"Targets were measured elsewhere, by the tool in brackets: two tools may measure different things under one " +
			"name; that they are the same is the plan's claim. The target itself has no interval here.",
	}}
	if slices.ContainsFunc(s.Targets, func(c Contest) bool { return c.Mean != nil }) {
		b.Notes = append(b.Notes, "[low, high] are the bounds of a rule's decision, 95% CI the interval of the mean "+
			"where no rule decided. Beaten: all of it is better than the target.")
	}
	return []Block{b}
}
