package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Arm is a variant as one session measured it: the launches that stand for it there, by
// round.
type Arm struct {
	Session, Variant, Block string
	Launches                []*ledger.Launch
}

// ArmsOf are the arms of what was decided, the one that others are compared with first:
// of each the launches that the decision read. They are of the session that decided, and
// what was replaced, is invalid or was withdrawn is not among them, so whoever averages
// over launches gets them here: the other launches that a decision names, and those that a
// variant has besides, are there to be looked at.
func ArmsOf(st *store.Store, decisions ...*ledger.Decision) (arms []*Arm) {
	type key struct{ session, variant, block, launch string }
	known := map[key]*Arm{}
	add := func(variant string, ids []string, of func(*ledger.Launch) bool) {
		for _, id := range ids {
			l, ok := st.LaunchByID(id)
			if !ok || of != nil && !of(l) {
				continue
			}
			arm, launch := key{l.Session, variant, l.Block, ""}, key{l.Session, variant, l.Block, id}
			a := known[arm]
			if a == nil {
				a = &Arm{Session: l.Session, Variant: variant, Block: l.Block}
				known[arm], arms = a, append(arms, a)
			}
			if known[launch] == nil {
				known[launch], a.Launches = a, append(a.Launches, l)
			}
		}
	}
	for _, d := range decisions {
		for _, e := range d.Evidence {
			if d.Kind == ledger.KindFeature || d.Kind == ledger.KindCriteria {
				add(e.Parent.Name, e.Parent.Launches, nil)
				add(e.Candidate.Name, e.Candidate.Launches, nil)
				add(e.Root.Name, e.Root.Launches, nil)
			}
		}
		for _, reference := range []bool{true, false} {
			for _, r := range d.Rows {
				if r.Reference == reference && r.Verdict == verdict.Pass {
					add(r.Name, d.Launches, func(l *ledger.Launch) bool {
						return l.Purpose == ledger.ForBenchmark && l.OK && len(l.Invalid) == 0 && (l.Variant == r.Name || l.Block == r.Name)
					})
				}
			}
		}
	}
	for _, a := range arms {
		slices.SortStableFunc(a.Launches, func(x, y *ledger.Launch) int { return x.Ordinal - y.Ordinal })
	}
	return arms
}

// compared are the decisions on record that still say something about a session: of each
// node the newest, unless it was withdrawn. The oldest comes first.
func compared(st *store.Store) (out []*ledger.Decision) {
	newest := map[[2]string]int{}
	for i, r := range st.Records() {
		if d := r.Decision; d != nil {
			newest[[2]string{d.Node, d.Session}] = i
		}
	}
	for i, r := range st.Records() {
		if d := r.Decision; d != nil && d.Retraction == nil && newest[[2]string{d.Node, d.Session}] == i {
			out = append(out, d)
		}
	}
	return out
}

// Arms are those of all sessions, in the order in which they were decided.
func Arms(st *store.Store) []*Arm { return ArmsOf(st, compared(st)...) }

// Beside are the launches of two arms of a session that ran side by side: those of the
// rounds that both have.
func Beside(a, b *Arm) (own, base []*ledger.Launch) {
	in := func(l *ledger.Launch, of *Arm) bool {
		return slices.ContainsFunc(of.Launches, func(o *ledger.Launch) bool { return o.Ordinal == l.Ordinal })
	}
	own = slices.DeleteFunc(slices.Clone(a.Launches), func(l *ledger.Launch) bool { return !in(l, b) })
	base = slices.DeleteFunc(slices.Clone(b.Launches), func(l *ledger.Launch) bool { return !in(l, a) })
	return own, base
}

// with is the arm of a session that has these knobs on this engine; nil if it has none.
func with(arms []*Arm, session, block string, knobs map[string]string) *Arm {
	for _, a := range arms {
		if l := a.Launches[0]; a.Session == session && (block == "" || a.Block == block) && l.Knobs != nil && maps.Equal(l.Knobs, knobs) {
			return a
		}
	}
	return nil
}

// Value is one metric over launches.
type Value struct {
	Unit   string
	Better measure.Better
	Mean
	// Low and High are the 95% interval of the mean; absent if there is none. That of a
	// share ends at 0 and 1, unless a launch shows that this one may exceed 1.
	Low, High *float64
}

// Mean is a metric over the launches of one side: the mean of logs if every value is
// above zero.
type Mean struct {
	Mean float64 `json:"mean"`
	// SD is the standard deviation over launches, of logs times Mean where that is one of
	// logs; 0 for one launch.
	SD     float64   `json:"sd"`
	Values []float64 `json:"values"`
}

// N is how many launches there are.
func (m Mean) N() int { return len(m.Values) }

// Of is a metric of the arm; false if a launch lacks it, as a mean over some of the
// launches is another mean.
func (a *Arm) Of(address, statistic string) (Value, bool) {
	return valueOf(a.Launches, address, statistic)
}

func valueOf(launches []*ledger.Launch, address, statistic string) (v Value, ok bool) {
	for _, l := range launches {
		s := l.Metrics[address]
		x, given := s.Stats[statistic]
		if !given {
			return Value{}, false
		}
		v.Unit, v.Better = s.Unit, s.Better
		v.Values = append(v.Values, x)
	}
	in, err := stats.MeanInterval(v.Values)
	if err != nil {
		return Value{}, false
	}
	v.Mean.Mean, v.SD = in.Mean, in.SD
	if v.Unit == "share" {
		in.Low, in.High = max(0, in.Low), min(in.High, max(1, slices.Max(v.Values)))
	}
	if in.Bounded {
		v.Low, v.High = &in.Low, &in.High
	}
	return v, true
}

// BetterThan reports whether v is better than another value of its metric.
func (v Value) BetterThan(o Value) bool {
	if v.Better == measure.Lower {
		return v.Mean.Mean < o.Mean.Mean
	}
	return v.Mean.Mean > o.Mean.Mean
}

// Headlines are the metrics that people decide by, of each cell, in the order of tables. A
// metric without a better direction is none.
func Headlines(arms []*Arm) (out []Column) {
	var all []*ledger.Launch
	for _, a := range arms {
		all = append(all, a.Launches...)
	}
	for _, g := range Groups(all) {
		for _, cell := range g.Cells {
			for _, c := range g.Columns {
				c.Cell = cmp.Or(c.Cell, cell)
				directed := func(l *ledger.Launch) bool {
					s, has := c.Of(l, "")
					return has && s.Better != "" && s.Better != measure.Neither
				}
				if !slices.ContainsFunc(out, func(o Column) bool { return o.Address("") == c.Address("") && o.Stat == c.Stat }) && slices.ContainsFunc(all, directed) {
					out = append(out, c)
				}
			}
		}
	}
	return out
}
