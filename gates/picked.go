package gates

import (
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// Picked is what was picked from the cells of a matrix: the best by a metric, or the
// effect of values on it.
type Picked struct {
	By plans.Row
	// Cells are those that were measured, reference first; Of counts the others, broken
	// ones included, and Left those never launched.
	Cells    []Arm
	Of, Left int
}

// Evidence is what rules read of it: the best cell against the reference, or the cells
// with the values against those without.
func (p *Picked) Evidence() *Feature {
	f := &Feature{Parent: p.Cells[0], Max: len(p.Cells[0].Launches), Picked: p}
	var why verdict.Reason
	if p.By.Pick == plans.PickEffect {
		f.Candidate, f.Parent, why = p.effect()
	} else {
		f.Candidate, why = p.best()
	}
	if !why.IsZero() {
		f.Broken, f.Cause = verdict.Inconclusive, why
	}
	return f
}

// best is the cell with the best mean.
func (p *Picked) best() (best Arm, why verdict.Reason) {
	most := math.Inf(-1)
	for _, c := range p.Cells[1:] {
		logs, s, ok := p.logs(c)
		if !ok {
			continue
		}
		mean, _ := stats.MeanSD(logs)
		if s.Better == measure.Lower {
			mean = -mean
		}
		if mean > most {
			best, most = c, mean
		}
	}
	if best.Name == "" {
		return best, verdict.New(code.NoCell, verdict.Text("metric", p.By.Address))
	}
	return best, verdict.Reason{}
}

// logs returns those of an arm's launches by round, and the summary of the last one.
func (p *Picked) logs(a Arm) (logs []float64, s measure.Summary, ok bool) {
	var values []float64
	for _, l := range a.Launches {
		s = l.Metrics[p.By.Address]
		v, there := s.Stats[p.By.Stat]
		if !there || s.N < measure.LeastToDecide(p.By.Stat) {
			return nil, s, false
		}
		values = append(values, v)
	}
	logs, ok = logsOf(values)
	return logs, s, ok && len(logs) > 0
}

// effect is the effect of values, as two arms whose ratio it is in each round: the cells
// for it and those against, weighted as by least squares on an additive model of
// ln(metric) over values; for two values, the four cells that have neither, one and both.
// No cell is in both arms, and nothing is assumed of how alike launches of different
// cells are. Values are at the reference's level.
func (p *Picked) effect() (with, without Arm, why verdict.Reason) {
	of, _ := plans.SetOf(p.By.Engine)
	with, without = Arm{Name: p.By.Engine}, p.Cells[0]
	without.Launches = nil
	var cells []Arm
	var logs [][]float64
	var sets []map[string]string
	var s measure.Summary
	rounds := len(p.Cells[0].Launches)
	for i, c := range p.Cells {
		set, _ := plans.SetOf(c.Name)
		if i == 0 {
			set = map[string]string{}
		}
		l, summary, ok := p.logs(c)
		if !ok {
			continue
		}
		cells, logs, sets, s = append(cells, c), append(logs, l), append(sets, set), summary
		rounds = min(rounds, len(l))
	}
	weights, ok := weightsOf(sets, of)
	if !ok || len(sets) == 0 || len(sets[0]) > 0 {
		return with, without, verdict.New(code.NoEffect, verdict.Text("metric", p.By.Address)).On(p.By.Engine)
	}
	shift, _ := stats.MeanSD(logs[0])
	for i, w := range weights {
		if mean, _ := stats.MeanSD(logs[i]); w < 0 {
			shift += w * mean // which puts those against it at the reference's level
		}
	}
	for r := range rounds {
		var above, below float64
		for i, w := range weights {
			if w > 0 {
				above += w * logs[i][r]
			} else {
				below -= w * logs[i][r]
			}
		}
		launch := func(a Arm, log float64) Launch {
			s := s
			s.Stats = map[string]float64{"median": math.Exp(log), p.By.Stat: math.Exp(log)}
			return Launch{ID: cells[0].Launches[r].ID + "/" + a.Name, Round: r + 1, Place: cells[0].Launches[r].Place, Metrics: map[string]measure.Summary{p.By.Address: s}}
		}
		with.Launches = append(with.Launches, launch(with, above+shift))
		without.Launches = append(without.Launches, launch(without, below+shift))
	}
	for _, c := range cells {
		if c.stale() != "" {
			with.Launches[0].Stale = true
		}
	}
	return with, without, why
}

// weightsOf is each cell's weight in an effect; false if the cells do not determine it.
func weightsOf(sets []map[string]string, of map[string]string) ([]float64, bool) {
	if len(of) == 2 {
		return contrast(sets, of)
	}
	var values []single
	for _, set := range sets {
		for knob, value := range set {
			if s := (single{knob, value}); !slices.Contains(values, s) && of[knob] != value {
				values = append(values, s)
			}
		}
	}
	var x [][]float64
	for _, set := range sets {
		row := []float64{1}
		for _, s := range values {
			row = append(row, indicates(set[s.knob] == s.value))
		}
		for knob, value := range of {
			row = append(row, indicates(set[knob] == value))
		}
		x = append(x, row)
	}
	return stats.Weights(x)
}

func indicates(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// contrast weights the cells that have neither, one and both of two values and nothing
// else.
func contrast(sets []map[string]string, of map[string]string) ([]float64, bool) {
	weights, there := make([]float64, len(sets)), 0
	for i, set := range sets {
		within := true
		for knob, value := range set {
			within = within && of[knob] == value
		}
		if within {
			there++
			weights[i] = []float64{1, -1, 1}[len(set)]
		}
	}
	return weights, there == 4
}

// overall decides a claim about the best cell as one about all. That some cell is this
// good passes if the best is shown to be, at a part of the level for each that it was
// picked from, and fails if each is shown not to be; that none is this good is the
// reverse.
func (c *ruling) overall(f *finding, leaf *plans.Leaf) error {
	picked := c.feature(leaf.Claim.Input).Picked
	settles := verdict.Fail
	if !some(leaf.Claim) {
		settles = verdict.Pass
	}
	if picked == nil || f.Verdict != settles {
		return nil
	}
	if all := picked.Of + picked.Left; settles == verdict.Pass && len(picked.Cells)-1 < all {
		// Unmeasured cells prove nothing.
		f.Verdict, f.open = verdict.Inconclusive, nil
		f.Test.Note = verdict.New(code.CellsUnmeasured, verdict.Int("n", all-len(picked.Cells)+1), verdict.Int("of", all))
		return nil
	}
	for _, cell := range picked.Cells[1:] {
		if cell.Name == f.Test.Arm {
			continue
		}
		r := read(leaf.Claim.Input, &Evidence{Features: map[string]*Feature{leaf.Claim.Input.Feature: {
			Candidate: cell, Parent: picked.Cells[0], Max: len(cell.Launches),
		}}})
		v := verdict.Inconclusive
		if r.absent == "" && r.stale == "" {
			var err error
			if v, _, err = c.ttest(leaf.Claim, r, c.shares[leaf]); err != nil {
				return err
			}
		}
		if v != settles {
			f.Verdict, f.open = verdict.Inconclusive, nil
			f.Test.Note = verdict.New(code.CellOpen).On(cell.Name)
			return nil
		}
	}
	return nil
}

// some reports whether a claim about the best cell is that some cell is this good, not
// that none is.
func some(c *plans.Claim) bool {
	lower := c.Input.Better == string(measure.Lower) && c.Input.Relation != plans.Gain
	return c.More != lower
}

// picks reports whether an input is of a matrix's best cell.
func picks(in *plans.Input) bool {
	return in != nil && in.Row != nil && in.Row.Pick == plans.PickBest
}
