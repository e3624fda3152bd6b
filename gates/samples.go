package gates

import (
	"cmp"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// sample is one statistic of every launch of an arm.
type sample struct {
	arm      Arm
	values   []float64
	requests int
	// unit is the same in all its launches.
	unit string
}

// collect takes one statistic from every launch of an arm. A launch without it makes the
// whole arm incomplete: the missing value might have been the bad one.
func collect(a Arm, in *plans.Input) (sample, *absence) {
	s := sample{arm: a}
	address := in.LaunchAddress()
	if !a.Lost.IsZero() {
		return s, unknown(a.Lost)
	}
	if len(a.Launches) == 0 {
		return s, &absence{
			verdict: verdict.Inconclusive, reason: verdict.New(code.Unmeasured).On(a.Name),
			unmeasured: in.Unsent == nil,
		}
	}
	s.unit = a.Launches[0].Metrics[address].Unit
	s.values = make([]float64, 0, len(a.Launches))
	for i := range a.Launches {
		l := &a.Launches[i]
		m := l.Metrics[address]
		v, why := valueOf(l, m, in)
		switch {
		case why != nil:
			return sample{arm: a}, why
		case m.Unit != s.unit:
			return sample{arm: a}, invalid(verdict.Say("launches.units_apart",
				"launch {subject} gives {metric} in {is:q}, earlier ones in {was:q}: measure all of them the "+
					"same way",
				verdict.Text("metric", address), verdict.Text("is", m.Unit), verdict.Text("was", s.unit)).On(l.ID))
		}
		s.values = append(s.values, v)
		s.requests += m.Requests
	}
	return s, nil
}

// valueOf is the statistic of one launch. Counts rest on the median: a launch without one
// measured nothing that could be counted.
func valueOf(l *Launch, s measure.Summary, in *plans.Input) (float64, *absence) {
	stat := in.Stat
	if in.Counts() || stat == "" {
		stat = "median"
	}
	if s.N == 0 {
		return 0, unknown(l.lacksMetric(in.LaunchAddress()))
	}
	v, ok := s.Stats[stat]
	switch least := measure.StatOf(stat).Decide; {
	case !ok && s.N >= least:
		return 0, unknown(verdict.Say("launches.stat_lacking",
			"not enough samples in launch {subject}: no {stat} of {samples}",
			verdict.Text("stat", stat), verdict.Int("samples", s.N)).On(l.ID))
	case s.N < least:
		return 0, unknown(verdict.Say("launches.samples_lacking",
			"not enough samples in launch {subject}: {samples} of at least {least}",
			verdict.Int("samples", s.N), verdict.Int("least", least)).On(l.ID))
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, unknown(verdict.Say("launches.stat_not_finite",
			"{metric}.{stat} of launch {subject} is not a finite number",
			verdict.Text("metric", in.LaunchAddress()), verdict.Text("stat", stat)).On(l.ID))
	case in.Stat == "n_requests" && s.Requests < 1:
		return 0, unknown(verdict.Say("launches.requests_unknown",
			"launch {subject} does not say how many requests {metric} comes from",
			verdict.Text("metric", in.LaunchAddress())).On(l.ID))
	}
	return v, nil
}

// incomparable says why two arms do not compare; nil if they do.
func (s sample) incomparable(base sample, in *plans.Input) *absence {
	if s.unit == base.unit {
		return nil
	}
	return invalid(verdict.Say("arms.units_apart",
		"launches of {subject} give {metric} in {is:q}, those of {against} in {was:q}: measure both the same "+
			"way",
		verdict.Text("metric", in.LaunchAddress()), verdict.Text("is", s.unit), verdict.Text("was", base.unit),
		verdict.Text("against", base.arm.Name)).On(s.arm.Name))
}

// digests adds those of the raw samples that the values rest on.
func (s sample) digests(list []string) []string {
	for i := range s.values {
		if sum := s.arm.Launches[i].Samples; sum != "" {
			list = append(list, sum)
		}
	}
	return list
}

// pairs are the launches that a test may look at, by round: those of one arm, or of two
// arms that ran side by side.
type pairs struct {
	own, base       []float64
	ownIDs, baseIDs []string
	rounds          []int
	places          []string
	// left are launches of a round that only one arm has.
	left []string
}

// pairUp sorts one arm's launches by round, or pairs those of two arms.
func pairUp(own, base sample, single bool) (p pairs, err error) {
	of, err := own.byRound()
	if err != nil {
		return p, err
	}
	others, err := base.byRound()
	if err != nil {
		return p, err
	}
	n := len(of)
	p.own, p.ownIDs, p.rounds, p.places = make([]float64, 0, n), make([]string, 0, n), make([]int, 0, n),
		make([]string, 0, n)
	if !single {
		p.base, p.baseIDs = make([]float64, 0, n), make([]string, 0, n)
	}
	var left []string // of the base
	for _, i := range of {
		l := &own.arm.Launches[i]
		for ; len(others) > 0 && base.arm.Launches[others[0]].Round < l.Round; others = others[1:] {
			left = append(left, base.arm.Launches[others[0]].ID)
		}
		if !single {
			if len(others) == 0 || base.arm.Launches[others[0]].Round != l.Round {
				p.left = append(p.left, l.ID)
				continue
			}
			o := &base.arm.Launches[others[0]]
			// One that has no place cannot be moved, and stood where there is one alone.
			if l.Place != o.Place && l.Place != "" && o.Place != "" {
				return p,
					fault(verdict.New(code.RoundApart, verdict.Int("round", l.Round),
						verdict.List("places", []string{l.Place, o.Place})).On(own.arm.Name))
			}
			p.base, p.baseIDs = append(p.base, base.values[others[0]]), append(p.baseIDs, o.ID)
			others = others[1:]
		}
		p.own, p.ownIDs = append(p.own, own.values[i]), append(p.ownIDs, l.ID)
		p.rounds, p.places = append(p.rounds, l.Round), append(p.places, l.Place)
	}
	for _, j := range others {
		left = append(left, base.arm.Launches[j].ID)
	}
	p.left = append(p.left, left...)
	return p, nil
}

// blocks are the places of the rounds as numbers; nil if there is only one.
func (p pairs) blocks() (out []int) {
	seen := distinct(p.places)
	if len(seen) < 2 {
		return nil
	}
	for _, place := range p.places {
		out = append(out, slices.Index(seen, place))
	}
	return out
}

func distinct(places []string) (names []string) {
	for _, on := range places {
		if !slices.Contains(names, on) {
			names = append(names, on)
		}
	}
	return names
}

// byRound are the indexes of an arm's launches by round. It returns an error if it has a
// round twice: then it is unknown which one ran in parallel with the other arm's.
func (s sample) byRound() ([]int, error) {
	all := s.arm.Launches
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(all[i].Round, all[j].Round) })
	for n := 1; n < len(order); n++ {
		if l, o := &all[order[n]], &all[order[n-1]]; l.Round == o.Round {
			return nil, fault(verdict.Say("launches.round_twice",
				"{subject} has two launches of round {round}, {launches:and}: unknown which one is paired with "+
					"the other arm's",
				verdict.Int("round", l.Round), verdict.List("launches", []string{o.ID, l.ID})).On(s.arm.Name))
		}
	}
	return order, nil
}

func (s sample) ids() (list []string) {
	for _, l := range s.arm.Launches {
		list = append(list, l.ID)
	}
	return list
}
