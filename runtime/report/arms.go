package report

import (
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Arm is a variant in one session: its measured launches that count, in the order of
// their records.
type Arm struct {
	Session, Variant, Block string
	Launches                []*ledger.Launch
}

// Arms are those of all sessions, in the order in which they started.
func Arms(st *store.Store) (arms []*Arm) {
	type key struct{ session, variant, block string }
	at := map[key]*Arm{}
	for _, l := range st.Launches(store.LaunchFilter{Purpose: ledger.ForBenchmark, OK: true}) {
		if !l.Counts() {
			continue
		}
		k := key{l.Session, l.Variant, l.Block}
		if at[k] == nil {
			at[k] = &Arm{Session: l.Session, Variant: l.Variant, Block: l.Block}
			arms = append(arms, at[k])
		}
		at[k].Launches = append(at[k].Launches, l)
	}
	return arms
}

// Value is one metric of an arm over its launches.
type Value struct {
	Address string         `json:"address"`
	Stat    string         `json:"stat"`
	Unit    string         `json:"unit,omitempty"`
	Better  measure.Better `json:"better,omitempty"`
	// PerLaunch are the values behind Mean, a mean in logs for values above zero. Std is
	// their standard deviation, in logs times Mean where that is one of logs; 0 for one
	// launch.
	PerLaunch []float64 `json:"per_launch"`
	Mean      float64   `json:"mean"`
	Std       float64   `json:"std"`
	// Low and High are the plain 95% interval of the mean; absent if there is none. That
	// of a share ends at 0 and 1, unless a launch shows that this one may exceed 1.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// Of is a metric of the arm; false if a launch lacks it, as a mean over some of the
// launches is another mean.
func (a *Arm) Of(address, statistic string) (v Value, ok bool) {
	v = Value{Address: address, Stat: statistic}
	for _, l := range a.Launches {
		s, has := l.Metrics[address]
		x, given := s.Stats[statistic]
		if !has || !given {
			return Value{}, false
		}
		v.Unit, v.Better = s.Unit, s.Better
		v.PerLaunch = append(v.PerLaunch, x)
	}
	in, err := stats.MeanInterval(v.PerLaunch)
	if err != nil {
		return Value{}, false
	}
	v.Mean, v.Std = in.Mean, in.SD
	if v.Unit == "share" {
		in.Low, in.High = max(0, in.Low), min(in.High, max(1, slices.Max(v.PerLaunch)))
	}
	if in.Bounded {
		v.Low, v.High = &in.Low, &in.High
	}
	return v, true
}

// CV is the standard deviation relative to the mean; false if that is meaningless.
func (v Value) CV() (cv float64, ok bool) {
	return v.Std / math.Abs(v.Mean), len(v.PerLaunch) > 1 && v.Mean != 0
}

// Change is v relative to base; false if base is not above zero.
func (v Value) Change(base Value) (change float64, ok bool) {
	return v.Mean/base.Mean - 1, base.Mean > 0
}

// BetterThan reports whether v is better than another value of its metric.
func (v Value) BetterThan(o Value) bool {
	if v.Better == measure.Lower {
		return v.Mean < o.Mean
	}
	return v.Mean > o.Mean
}

// Peak is the best value of a metric, beside the baseline's.
type Peak struct {
	// Arm has the best value of all runs; the baseline if nothing is better than the
	// baseline of its session, or its newest where that has none. Now is the newest arm of the
	// accepted stack, or of the baseline while nothing is accepted; nil if that was not
	// measured.
	Arm *Arm
	Value
	Now      *Arm
	NowValue Value
	// Base is the baseline's value in the session of Arm, or else its newest, and NowBase
	// that in the session of Now; with 0 launches if there is none.
	Base, NowBase Value
}

// Peaks are the metrics that people decide by, of each cell, in the order of tables, on
// the engine under test: a rival measured beside it is not a configuration of it. A
// metric without a better direction has no best.
func Peaks(st *store.Store) (peaks []Peak) {
	arms := Arms(st)
	if block := baselineBlock(st); block != "" {
		arms = slices.DeleteFunc(arms, func(a *Arm) bool { return a.Block != block })
	}
	var all []*ledger.Launch
	baseline := map[string]*Arm{}
	var newest *Arm
	for _, a := range arms {
		all = append(all, a.Launches...)
		if a.Variant == ledger.Baseline {
			baseline[a.Session], newest = a, a
		}
	}
	name, sessions := stackSessions(st, AcceptedStack(st))
	base := func(a *Arm, address, stat string) (v Value) {
		if of := baseline[a.Session]; of != nil {
			v, _ = of.Of(address, stat)
		} else if newest != nil {
			v, _ = newest.Of(address, stat)
		}
		return v
	}
	for _, m := range decidedBy(all) {
		var b Peak
		for _, a := range arms {
			v, ok := a.Of(m.address, m.stat)
			if !ok || v.Better == "" || v.Better == "neither" {
				continue
			}
			of, last := a.Variant == ledger.Baseline, b.Arm != nil && b.Arm.Variant == ledger.Baseline
			if beside := base(a, m.address, m.stat); !of && len(beside.PerLaunch) > 0 && !v.BetterThan(beside) {
				continue
			}
			if b.Arm == nil || last && !of || of == last && v.BetterThan(b.Value) {
				b.Arm, b.Value = a, v
			}
		}
		if b.Arm == nil {
			continue
		}
		b.Base = base(b.Arm, m.address, m.stat)
		for _, launches := range sessions {
			now := &Arm{Session: launches[0].Session, Variant: name, Block: launches[0].Block, Launches: launches}
			if v, ok := now.Of(m.address, m.stat); ok {
				b.Now, b.NowValue, b.NowBase = now, v, base(now, m.address, m.stat)
				break
			}
		}
		peaks = append(peaks, b)
	}
	return peaks
}

type addressed struct{ address, stat string }

// decidedBy are the metrics of the tables of launches by their address.
func decidedBy(launches []*ledger.Launch) (out []addressed) {
	for _, g := range Groups(launches) {
		for _, cell := range g.Cells {
			for _, c := range g.Columns {
				at := addressed{c.Address(cell), c.Stat}
				if !slices.Contains(out, at) {
					out = append(out, at)
				}
			}
		}
	}
	return out
}

// Address is the column's address for one cell of its group.
func (c Column) Address(cell string) string {
	if c.Cell != "" {
		cell = c.Cell
	}
	return cell + "." + c.Metric
}
