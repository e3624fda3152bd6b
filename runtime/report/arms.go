package report

import (
	"encoding/json"
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
	// Uncounted is why the launches do not count; empty if they do.
	Uncounted string
}

// ArmsOf are the arms of what was decided, the one that others are compared with first:
// of each the launches that the decision read. They are of the session that decided, and
// what was replaced or is invalid is not among them, so whoever averages over launches gets
// them here: the other launches that a decision names, and those that a variant has
// besides, are there to be looked at.
func ArmsOf(st *store.Store, decisions ...*ledger.Decision) (arms []*Arm) {
	type key struct{ session, variant, block string }
	known := map[key]*Arm{}
	add := func(variant string, ids []string, of func(*ledger.Launch) bool) {
		for _, id := range ids {
			l, ok := st.LaunchByID(id)
			if !ok || of != nil && !of(l) {
				continue
			}
			at := key{l.Session, variant, l.Block}
			if known[at] == nil {
				known[at] = &Arm{Session: l.Session, Variant: variant, Block: l.Block}
				arms = append(arms, known[at])
			}
			if a := known[at]; !slices.Contains(a.Launches, l) {
				a.Launches = append(a.Launches, l)
			}
		}
	}
	for _, d := range decisions {
		for _, e := range d.Evidence {
			if d.Kind == ledger.KindFeature || d.Kind == ledger.KindCriteria {
				add(e.Parent.Name, e.Parent.IDs(), nil)
				add(e.Candidate.Name, e.Candidate.IDs(), nil)
				add(e.Root.Name, e.Root.IDs(), nil)
			}
		}
		for _, reference := range []bool{true, false} {
			for _, r := range d.Rows {
				if r.Reference == reference && r.Verdict == verdict.Pass {
					add(r.Name, d.Launches, func(l *ledger.Launch) bool {
						return l.Purpose == ledger.ForBenchmark && l.OK && len(l.Invalid) == 0 &&
							(l.Variant == r.Name || l.Block == r.Name)
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
// node the newest, of the plan's own applies. The oldest comes first.
func compared(st *store.Store) (out []*ledger.Decision) {
	newest := map[[2]string]int{}
	for i, r := range st.Records() {
		if d := r.Decision; d != nil {
			newest[[2]string{d.Node, d.Session}] = i
		}
	}
	for i, r := range st.Records() {
		if d := r.Decision; d != nil && !st.Aside(r.Run) && newest[[2]string{d.Node, d.Session}] == i {
			out = append(out, d)
		}
	}
	return out
}

// pairedLaunches are the launches of two arms of a session that ran side by side: those of the
// rounds that both have.
func pairedLaunches(a, b *Arm) (own, base []*ledger.Launch) {
	in := func(l *ledger.Launch, of *Arm) bool {
		return slices.ContainsFunc(of.Launches, func(o *ledger.Launch) bool { return o.Ordinal == l.Ordinal })
	}
	own = slices.DeleteFunc(slices.Clone(a.Launches), func(l *ledger.Launch) bool { return !in(l, b) })
	base = slices.DeleteFunc(slices.Clone(b.Launches), func(l *ledger.Launch) bool { return !in(l, a) })
	return own, base
}

// Sample is a statistic of a metric over launches.
type Sample struct {
	Unit   string         `json:"-"`
	Better measure.Better `json:"-"`
	stats.Sample
	inLogs bool
}

// Of is a metric of the arm; false if a launch lacks it, as a mean over some of the
// launches is another mean.
func (a *Arm) Of(address, statistic string) (Sample, bool) {
	return sampleOf(a.Launches, address, statistic)
}

// sampleOf is of the launches that have it; whole is false if one does not, or if there is
// no mean. The interval of a share ends at 0 and 1, unless a launch shows that this one may
// exceed 1.
func sampleOf(launches []*ledger.Launch, address, statistic string) (s Sample, whole bool) {
	for _, l := range launches {
		m := l.Metrics[address]
		if x, has := m.Stats[statistic]; has {
			s.Unit, s.Better = m.Unit, m.Better
			s.Values = append(s.Values, x)
		}
	}
	cell, metric := measure.SplitAddress(address)
	if cell == "engine" {
		cell = "" // as rules have it
	}
	of := stats.ArithmeticSampleOf
	if s.inLogs = measure.InLogs(cell, metric, statistic, s.Unit, s.Better); s.inLogs {
		of = stats.SampleOf
	}
	sample, err := of(s.Values)
	if err != nil {
		return s, false
	}
	if s.Sample = sample; s.Unit == "share" && s.Low != nil {
		*s.Low, *s.High = max(0, *s.Low), min(*s.High, max(1, slices.Max(s.Values)))
	}
	return s, len(s.Values) == len(launches)
}

// N is how many launches have it.
func (s Sample) N() int { return len(s.Values) }

// first is the sample of the first launches alone; of all without their number.
func (s Sample) first(n int) Sample {
	if n == 0 {
		return s
	}
	of := stats.ArithmeticSampleOf
	if s.inLogs {
		of = stats.SampleOf
	}
	s.Sample, _ = of(s.Values[:min(n, s.N())])
	return s
}

// MarshalJSON says which mean it is: geomean of speeds, times and sizes, or mean.
func (s Sample) MarshalJSON() ([]byte, error) {
	all := struct {
		Values  []float64 `json:"values,omitempty"`
		Mean    *float64  `json:"mean,omitempty"`
		Geomean *float64  `json:"geomean,omitempty"`
		SD      float64   `json:"sd,omitempty"`
		Low     *float64  `json:"low,omitempty"`
		High    *float64  `json:"high,omitempty"`
	}{s.Values, &s.Mean, nil, s.SD, s.Low, s.High}
	if s.Geometric {
		all.Mean, all.Geomean = nil, all.Mean
	}
	return json.Marshal(all)
}

// Text is the mean with the standard deviation over launches, and its unit.
func (s Sample) Text() string {
	switch text := s.Bare(); {
	case s.N() == 0, s.Unit == "", s.Unit == "count":
		return text
	case s.N() == 1:
		return verdict.Number(s.Mean, s.Unit)
	case s.Unit == "share":
		return verdict.PlusMinus(100*s.Mean, 100*s.SD) + "%"
	default:
		return text + " " + s.Unit
	}
}

// Brief is the mean with three digits, "–" without one.
func (s Sample) Brief() string {
	if s.N() == 0 {
		return "–"
	}
	return verdict.Short(s.Mean, s.Unit)
}

// Bare is Text without the unit, where that is in the head of its column.
func (s Sample) Bare() string {
	switch {
	case s.N() == 0:
		return "–"
	case s.N() == 1, s.SD == 0:
		return verdict.Short(s.Mean, "")
	}
	return verdict.PlusMinus(s.Mean, s.SD)
}

// Headlines are the columns of launches that have a better direction.
func Headlines(launches []*ledger.Launch) []Column {
	return slices.DeleteFunc(Columns(launches), func(c Column) bool {
		return !slices.ContainsFunc(launches, func(l *ledger.Launch) bool {
			s, has := c.Of(l)
			return has && s.Better != "" && s.Better != measure.Neither
		})
	})
}

func launchesOf(arms []*Arm) (all []*ledger.Launch) {
	for _, a := range arms {
		all = append(all, a.Launches...)
	}
	return all
}

// Limits are the share of the machine's limit that arms reached, per cell. There are none
// if machine or model are unknown.
func Limits(arms ...*Arm) (shares []verdict.Reason) {
	for _, cell := range cellsOf(launchesOf(arms)) {
		for _, a := range arms {
			share, known := a.Of(cell+".tg_of_limit", "mean")
			if !known {
				continue
			}
			tg, _ := a.Of(cell+".tg", "median")
			args := []verdict.Arg{
				verdict.Text("variant", a.Variant), verdict.Num("tg", tg.Mean, "tok/s"),
				verdict.Num("share", share.Mean, "share"),
			}
			for _, c := range a.Launches[0].Cells {
				if c.Cell == cell && c.Limit != nil {
					args = append(args, verdict.Num("bandwidth", c.Limit.BandwidthGBs, "GB/s"),
						verdict.Num("rate", c.Limit.TFLOPs, "TFLOP/s"))
				}
			}
			pp, measured := a.Of(cell+".pp", "median")
			if share, known := a.Of(cell+".pp_of_limit", "mean"); measured && known {
				args = append(args, verdict.Num("pp", pp.Mean, "tok/s"), verdict.Num("pp_share", share.Mean, "share"))
			}
			shares = append(shares, verdict.Say("work.of_limit",
				"{subject}, {variant}: tg {tg:3}, {share:2} of what {bandwidth:4} allows{pp?; pp {pp:3}, "+
					"{pp_share:2} of "+
					"what {rate:4} allows}", args...).On(cell))
		}
	}
	return shares
}
