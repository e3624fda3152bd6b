package plans

import (
	"math"

	"github.com/mxflow/mxflow/engine/measure"
)

// usualSpread is how launches differ where a case does not say: the standard
// deviation of their logs on a quiet machine.
const usualSpread = 0.005

// checkMeasurement finds what of one metric does not go together.
func (l *caseLoader) checkMeasurement(m *measurement, ft *Feature) {
	in := m.in
	for _, arm := range armNames {
		_, list := m.lists[arm]
		_, mean := m.means[arm]
		if arm == "candidate" && m.made != "" && (list || mean) {
			l.fail(m.at[m.made], "Candidate given twice", "candidate and %s both say what the candidate is. Remove one.", m.made)
		}
		if arm == "root" && (list || mean) && ft.BuildsOn.Kind == OnBaseline {
			l.fail(m.at[arm], "Baseline given twice", "%s builds on the baseline, so that base and root are the same launches. Remove root.", ft.Name)
		}
	}
	made := len(m.means) > 0 || m.made != ""
	for _, name := range []string{"spread", "launches"} {
		if at, written := m.at[name]; written && !made {
			l.fail(at, "Nothing is made here", "%s says how launches are made from a mean or a gain, and here each is written out. Remove it.", name)
		}
	}
	switch {
	case len(m.at) == 0:
		l.fail(m.pair.at, "Empty launches", "Nothing is said of %s. Write { base = […], candidate = […] }, or { gain = 0.2 }.", m.key)
	case !made && len(m.lists) == 0 && !l.diags.HasErrors():
		l.fail(m.pair.at, "Empty launches", "No arm has %s here. Write base and candidate, or a gain, change or delta.", m.key)
	case m.made == "gain" && in.Better == string(measure.Neither):
		l.fail(m.at["gain"], "No better direction", "%s has no better direction, so there is no gain; write change or delta.", m.key)
	case m.made == "gain" && in.Better == string(measure.Lower) && m.by >= 1:
		l.fail(m.at["gain"], "Invalid gain", "Of %s less is better, and a gain of %v would leave nothing of it. A gain is less than 1.", m.key, m.by)
	case (m.made == "gain" && in.Better == string(measure.Higher) || m.made == "change") && m.by <= -1:
		l.fail(m.at[m.made], "Invalid "+m.made, "A %s of %v leaves nothing of %s. It is more than -1; -0.1 is 10 %% less.", m.made, m.by, m.key)
	}
	if at, written := m.at["requests"]; written && l.requestsOf(in) == 0 {
		l.fail(at, "One value a launch", "A launch has one %s, which comes from no number of requests. Remove requests.", m.key)
	}
}

// make writes out the launches of a metric: n of an arm unless it says otherwise.
func (l *caseLoader) make(m *measurement, n int) (out GivenMetric, ok bool) {
	in := m.in
	out = GivenMetric{Address: in.launchAddress(), Stat: in.Stat, Unit: in.Unit, Better: in.Better, Requests: m.requests, Values: max(1, m.requests)}
	if c := l.cellOf(in); c != nil && in.Metric == "itl" {
		out.Values = max(1, m.requests*max(1, c.Output-1)) // one a token but the first
	}
	if m.launches != nil {
		n = *m.launches
	}
	level := func(arm string) (float64, bool) {
		if v, ok := m.means[arm]; ok {
			return v, true
		}
		return meanOf(m.lists[arm], in.positive())
	}
	arm := func(name string) []*float64 {
		if list, ok := m.lists[name]; ok {
			return list
		}
		if mean, ok := m.means[name]; ok {
			return spreadOut(mean, m.spreadOf(), n, in.positive())
		}
		return nil
	}
	out.Base, out.Candidate, out.Root = arm("base"), arm("candidate"), arm("root")
	if m.made == "" {
		return out, true
	}
	base, given := level("base")
	if !given {
		base = usualLevel(in)
		out.Base = spreadOut(base, m.spreadOf(), n, in.positive())
	} else if m.launches == nil && len(out.Base) > 0 {
		n = len(out.Base)
	}
	candidate := base + m.by
	if m.made != "delta" {
		if !(base > 0) {
			l.fail(m.at[m.made], "Base is not above zero", "There is no %s against a base of %v. Write delta, or candidate.", m.made, base)
			return out, false
		}
		if candidate = base * (1 + m.by); m.made == "gain" && in.Better == string(measure.Lower) {
			candidate = base * (1 - m.by)
		}
	}
	out.Candidate = spreadOut(candidate, m.spreadOf(), n, in.positive())
	return out, true
}

// spreadOf is how launches differ: what the case says, or nothing for what hardly
// varies and what is counted.
func (m *measurement) spreadOf() float64 {
	switch {
	case m.spread != nil:
		return *m.spread
	case m.in.once(), m.in.occurs():
		return 0
	}
	return usualSpread
}

// usualLevel stands for a base of which a case says nothing.
func usualLevel(in *Input) float64 {
	if in.Unit == "share" {
		return 0.5
	}
	return 100
}

// spreadOut makes n launches of a mean: above and below it by turns, so that any
// even number of the first has that mean too. The spread is the standard deviation
// of their logs, and mean the geometric one, where the metric has logs; otherwise
// it is that share of the mean.
func spreadOut(mean, spread float64, n int, logs bool) []*float64 {
	step := spread
	if n%2 == 0 {
		step *= math.Sqrt(float64(n-1) / float64(n))
	}
	list := make([]*float64, n)
	for i := range list {
		sign := 1 - 2*float64(i%2)
		if n%2 == 1 && i == n-1 {
			sign = 0
		}
		v := mean * (1 + sign*step)
		if logs {
			v = mean * math.Exp(sign*step)
		}
		list[i] = &v
	}
	return list
}

// meanOf is the mean of launches, in logs where there are.
func meanOf(list []*float64, logs bool) (mean float64, ok bool) {
	n := 0
	for _, v := range list {
		if v == nil {
			continue
		}
		if logs && !(*v > 0) {
			return *v, true // of which nothing can be a gain
		}
		if n++; logs {
			mean += math.Log(*v)
		} else {
			mean += *v
		}
	}
	if n == 0 {
		return 0, false
	}
	if mean /= float64(n); logs {
		mean = math.Exp(mean)
	}
	return mean, true
}
