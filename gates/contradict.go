package gates

import (
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// promise is a number that is part of another: a gain in the one has to show in the
// other, at least half of it. If it does not, the time was moved to where the first does
// not count it: before the first token, behind the median gap, between a first token, or an
// opening that could be sent uncomputed, and what follows.
type promise struct {
	// metric is what improves, whole what it is part of.
	metric, whole string
	// part is the time that metric covers, by the parent's means.
	part func(mean func(metric string) float64) float64
	// doubt is the chance that what is promised, or what shows, is beyond its bounds.
	doubt float64
}

var promises = []promise{
	{"tg", "e2e", decoding, doubt},
	{"itl", "e2e", decoding, doubt},
	// What is known beforehand costs nothing to send, so less certainty is enough to doubt.
	{"ttft", ownText, func(mean func(string) float64) float64 { return mean("ttft") }, 0.05},
}

// ownText is where a gain in the first text has to show: otherwise it is not known to be one.
const ownText = "ttft_own"

func decoding(mean func(string) float64) float64 { return mean("e2e") - mean("ttft") }

// tails are the percentiles that show how the worst tokens and requests fare when the
// median of a metric improves.
var tails = map[string]string{"tg": "tpot", "itl": "itl", "ttft": "ttft", "e2e": "e2e"}

const (
	// kept is the share of a promise that must show.
	kept = 0.5
	// doubled is the factor by which a tail may grow behind a median that improves.
	doubled = 2
	tail    = "p99"
)

// speaker is the metric that represents a metric in promises and tails: those of one
// facet are the same number in another form; "" if there is none.
func speaker(metric string) string {
	switch m, _ := measure.LookupIn(metric, measure.PerRequest); {
	case metric == "itl":
		return metric
	case metric == "ttfr", metric == ownText:
		return "" // a first event may be empty, and the first own token is behind what is promised
	case m.Facet == measure.OfDecode:
		return "tg"
	case m.Facet == measure.OfFirstText:
		return "ttft"
	case m.Facet == measure.OfWhole:
		return "e2e"
	}
	return ""
}

// contradiction is a metric that improved and another that contradicts it.
type contradiction struct {
	metric string
	// by lists the metrics, or percentiles of the metric, that a rule must read to accept
	// this as a trade-off.
	by []string
	// still reports whether the contradiction applies to a rule that asks for a negative
	// gain: that a metric did not get worse by more than this.
	still func(gain float64) bool
	// alone is set if only the means of two launches per arm show it, or it is only not
	// excluded: too little for a finding, enough to ask for more launches.
	alone  bool
	reason verdict.Reason
}

// contested names what is compared between two arms.
type contested struct {
	feature, cell string
	against       plans.Against
}

// contradictions returns those of a cell, computed once for all rules of a decision.
func (d *decider) contradictions(of contested) []contradiction {
	if found, known := d.contradicted[of]; known {
		return found
	}
	var found []contradiction
	f := d.ev.Features[of.feature]
	base := f.base(of.against)
	known := map[string]*versus{}
	look := func(metric, stat string) *versus {
		key := metric + "." + stat
		v, seen := known[key]
		if !seen {
			m, _ := measure.LookupIn(metric, measure.PerRequest)
			if got, ok := d.versus(f, base, metricOf(of.feature, of.cell, metric, stat, m.Better)); ok {
				v = &got
			}
			known[key] = v
		}
		return v
	}
	// The gaps between a stream's events also depend on client and network: they count
	// where a rule reads them.
	gaps := d.reads(of, func(in *plans.Input) bool { return in.Metric == "itl" })
	weighed := func(metric string, by []string) []verdict.Arg {
		if d.declared(of, contradiction{metric: metric, by: by}) {
			return []verdict.Arg{verdict.Text("weighed", "yes")}
		}
		return nil
	}
	for _, p := range promises {
		if p.metric != "itl" || gaps {
			found = append(found, p.broken(look, weighed)...)
		}
	}
	for _, metric := range []string{"tg", "itl", "ttft", "e2e"} {
		if metric != "itl" || gaps {
			found = append(found, grown(metric, look, weighed)...)
		}
	}
	if d.contradicted == nil {
		d.contradicted = map[contested][]contradiction{}
	}
	d.contradicted[of] = found
	return found
}

// broken is the contradiction if a promise is not kept. How much was promised follows
// from the lower bound of the metric's improvement, so a barely proven improvement
// promises hardly anything.
func (p promise) broken(look func(metric, stat string) *versus, weighed func(metric string, by []string) []verdict.Arg) []contradiction {
	v, whole := look(p.metric, "median"), look(p.whole, "median")
	if v == nil || whole == nil || !v.logs || !whole.logs || v.least(p.doubt) <= 0 {
		return nil
	}
	complete := true
	part := p.part(func(metric string) float64 {
		w := look(metric, "median")
		if complete = complete && w != nil; w == nil {
			return 0
		}
		return w.base
	})
	if !complete || !(part > 0) || part > whole.base {
		return nil
	}
	more := 1.0
	if p.whole == "e2e" {
		more = longer(look("output_tokens", "mean"))
	}
	// saves is what the whole gains, in logs, if the metric gains this much.
	saves := func(gain, share float64) float64 {
		return -math.Log1p(-share * part * (1 - more*math.Exp(-gain)) / whole.base)
	}
	want := saves(v.least(p.doubt), kept)
	lost := whole.most(p.doubt) < want
	if want <= 0 || !lost && (p.whole != ownText || whole.least(p.doubt) > 0) {
		return nil
	}
	if e2e := look("e2e", "median"); p.whole == ownText && e2e != nil && e2e.least(doubt) >= -math.Log1p(-kept*part*(1-math.Exp(-v.gain))/e2e.base) {
		return nil // the next token waits for a draft to be verified, yet whole answers are faster
	}
	by, why := []string{"e2e", p.whole}, code.PromiseUnshown
	if lost {
		why = code.PromiseBroken
	}
	return []contradiction{{
		metric: p.metric, by: by, alone: v.alone() || !lost,
		still: func(gain float64) bool { return whole.most(p.doubt) < saves(gain, 1) },
		reason: verdict.New(why, append(weighed(p.metric, by),
			verdict.Num("gain", gained(v, v.gain), plans.RatioUnit),
			verdict.Text("whole", whole.in.Path),
			verdict.Num("shows", gained(whole, whole.gain), plans.RatioUnit),
			verdict.Num("at_most", gained(whole, whole.most(p.doubt)), plans.RatioUnit),
			verdict.Num("promised", gained(whole, saves(v.gain, 1)), plans.RatioUnit))...).On(v.in.Path),
	}}
}

// longer is how many times as long the candidate's answers are, after the first token; 1
// if unknown.
func longer(tokens *versus) float64 {
	if tokens == nil || !(tokens.base > 1) || !(tokens.own > 1) {
		return 1
	}
	return (tokens.own - 1) / (tokens.base - 1)
}

// gained is a gain as rules write it.
func gained(v *versus, gain float64) float64 {
	if v.in.Better == string(measure.Lower) {
		return -math.Expm1(-gain)
	}
	return math.Expm1(gain)
}

// grown is the contradiction if the median of a metric improves while its worst hundredth
// at least doubles.
func grown(metric string, look func(metric, stat string) *versus, weighed func(metric string, by []string) []verdict.Arg) []contradiction {
	v, worst := look(metric, "median"), look(tails[metric], tail)
	if v == nil || worst == nil || !v.logs || !worst.logs || v.least(doubt) <= 0 || worst.gain > -math.Log(doubled) || worst.most(doubt) >= 0 {
		return nil
	}
	by := []string{tail}
	return []contradiction{{
		metric: metric, by: by, alone: v.alone(),
		still: func(float64) bool { return false },
		reason: verdict.New(code.TailGrew, append(weighed(metric, by),
			verdict.Num("gain", gained(v, v.gain), plans.RatioUnit),
			verdict.Text("tail", worst.in.Path),
			verdict.Num("change", worst.change(worst.gain), plans.RatioUnit))...).On(v.in.Path),
	}}
}

// doubt is the chance, at one look, that a statement about one number of a contradiction
// is wrong: it takes two of them, and a cell has eight.
const doubt = certain / 8

// refute withdraws a pass that rests on a metric which others of its cell contradict,
// unless a rule of the decision reads the contradicting metric: then the author has
// weighed it. Like a drift it is read from all launches; where more can tell, it asks for
// them.
func (c *ruling) refute(f *finding, leaf *plans.Compare) {
	in := leaf.Metric
	if f.Verdict != verdict.Pass || in.Cell == "" || in.Relation == plans.Base || !better(leaf) || !slices.Contains([]string{"", "median", "p50", "mean"}, in.Stat) {
		return
	}
	of := contested{in.Feature, in.Cell, in.Against}
	for _, x := range c.contradictions(of) {
		if x.metric != speaker(in.Metric) || c.declared(of, x) {
			continue
		}
		if gain := c.asks(leaf); gain < 0 && !x.still(gain) {
			continue
		}
		f.Verdict, f.open, f.Test.Note = verdict.Inconclusive, nil, x.reason
		if x.alone {
			f.open = []string{in.Feature}
		}
		return
	}
}

// better reports whether a claim is that a metric improved.
func better(c *plans.Compare) bool {
	switch {
	case c.Metric.Better == "":
		return false
	case c.Metric.Relation == plans.Gain:
		return c.AtLeast
	}
	return c.AtLeast == (c.Metric.Better == string(measure.Higher))
}

// asks is the gain over the parent that a claim asks for, in logs.
func (c *ruling) asks(claim *plans.Compare) float64 {
	in, r := claim.Metric, c.readings[claim.Metric]
	base, sign := 0.0, 1.0
	if in.Better == string(measure.Lower) {
		sign = -1
	}
	if f := c.feature(in); f != nil && !in.Ratio() {
		if t, lacks := collect(f.base(in.Against), in); lacks == nil {
			base = mean(t.values)
		}
	}
	ratio := 0.0 // of the candidate's number to the parent's
	switch {
	case r == nil:
		return 0
	case in.Relation == plans.Gain:
		ratio = 1 + sign*claim.Threshold
	case in.Relation == plans.Change:
		ratio = 1 + claim.Threshold
	case !(base > 0):
		return 0
	case in.Relation == plans.Delta:
		ratio = 1 + claim.Threshold/base
	default:
		ratio = claim.Threshold / base
	}
	if !(ratio > 0) {
		return 0
	}
	return sign * math.Log(ratio)
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

// declared reports whether a rule of the decision reads what contradicts a metric.
func (d *decider) declared(of contested, x contradiction) bool {
	return d.reads(of, func(in *plans.Input) bool {
		if x.by[0] == tail {
			return speaker(in.Metric) == x.metric && beyondMedian(in.Stat)
		}
		return slices.Contains(x.by, in.Metric)
	})
}

// reads reports whether a rule of the decision reads such a metric of a cell.
func (d *decider) reads(of contested, which func(*plans.Input) bool) bool {
	return slices.ContainsFunc(d.rules, func(r *plans.Rule) bool {
		return r != nil && slices.ContainsFunc(r.Inputs(), func(in *plans.Input) bool {
			return in.Kind == plans.InputMetric && in.Feature == of.feature && in.Cell == of.cell && which(in)
		})
	})
}

// beyondMedian reports whether a statistic is about the worst requests.
func beyondMedian(stat string) bool {
	p, _ := measure.Percentile(stat)
	return p > 0.5 || stat == "max"
}
