package gates

import (
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// wholes are the numbers in which a gain has to show, by the metric that is a part of
// them. If it does not, the time was moved to where the part does not count it: before the
// first token, behind the median gap, between a first token, or an opening that could be
// sent uncomputed, and what follows. Level is the chance that either number is beyond its
// bounds.
var wholes = map[string]struct {
	metric string
	level  float64
}{
	"tg":  {"e2e", contradicts},
	"itl": {"e2e", contradicts},
	// What is known beforehand costs nothing to send, so less certainty is enough.
	"ttft": {ownText, 0.05},
}

// ownText is where a gain in the first text has to show: otherwise it is not known to be one.
const ownText = "ttft_own"

// tails are the metrics whose p99 shows how the slowest tokens and requests fare when the
// median of a metric improves.
var tails = map[string]string{"tg": "tpot", "itl": "itl", "ttft": "ttft", "e2e": "e2e"}

const (
	// leastPart is the part of a gain that must show in the whole.
	leastPart = 0.5
	// mostTail is the factor by which a tail may grow behind a median that improves.
	mostTail = 2
	// contradicts is the chance, at one look, that a statement about one number of a
	// contradiction is wrong: it takes two of them, and a cell has eight.
	contradicts = certain / 8
)

// refute withdraws a pass that rests on a metric which others of its cell contradict,
// unless a rule of the decision reads the contradicting metric: then the author has
// weighed it. Like a drift it is read from all launches; where more can tell, it asks for
// them.
func (c *ruling) refute(f *finding, leaf *plans.Compare) {
	in := leaf.Metric
	central := slices.Contains([]string{"", "median", "p50", "mean"}, in.Stat)
	if f.Verdict != verdict.Pass || in.Cell == "" || in.Relation == plans.Base || !better(leaf) || !central {
		return
	}
	cell := cellShifts{c.decider, in, c.feature(in).base(in.Against)}
	required, metric := c.required(leaf), represented(in.Metric)
	v := cell.of(metric, "median")
	if v == nil || !v.logs {
		return
	}
	why, open := cell.missingGain(v, metric, required)
	if why.IsZero() {
		why, open = cell.slowTail(v, metric, required)
	}
	if why.IsZero() {
		return
	}
	if f.Verdict, f.open, f.Test.Note = verdict.Inconclusive, nil, why; open {
		f.open = []string{in.Feature}
	}
}

// cellShifts compares metrics of the cell of an input between the same arms.
type cellShifts struct {
	*decider
	in   *plans.Input
	base Arm
}

func (c cellShifts) of(metric, stat string) *shift {
	key := strings.Join([]string{c.in.Feature, c.in.Cell, metric, stat, string(c.in.Against)}, " ")
	s, done := c.cache[key]
	if !done {
		m, _ := measure.LookupIn(metric, measure.PerRequest)
		s = c.shift(c.in.Feature, c.in.Cell, metric, stat, m.Better, c.base)
		if c.cache == nil {
			c.cache = map[string]*shift{}
		}
		c.cache[key] = s
	}
	return s
}

// missingGain is the reason if too little of a gain shows in the whole; open is set if more
// launches can tell. How much must show follows from the lower bound of the gain, so a
// barely proven one asks for hardly anything. A rule that only asks the metric not to get
// worse is contradicted if the whole got worse by more than that.
func (c cellShifts) missingGain(v *shift, metric string, required float64) (why verdict.Reason, open bool) {
	w, part := wholes[metric]
	if !part || v.least(w.level) <= 0 || c.reads(c.in.Feature, c.in.Cell, func(in *plans.Input) bool { return in.Metric == "e2e" || in.Metric == w.metric }) {
		return why, false
	}
	whole := c.of(w.metric, "median")
	if whole == nil || !whole.logs {
		return why, false
	}
	// time is what of the whole the metric covers, by the parent's means; longer how many
	// times as long the candidate's answers are, after the first token.
	time, longer := v.base, 1.0
	if w.metric == "e2e" {
		first := c.of("ttft", "median")
		if first == nil {
			return why, false
		}
		time = whole.base - first.base
		if tokens := c.of("output_tokens", "mean"); tokens != nil && tokens.base > 1 && tokens.own > 1 {
			longer = (tokens.own - 1) / (tokens.base - 1)
		}
	}
	if !(time > 0) || time > whole.base {
		return why, false
	}
	// saves is what the whole gains, in logs, if this part of a gain shows.
	saves := func(gain, part float64) float64 {
		return -math.Log1p(-part * time * (1 - longer*math.Exp(-gain)) / whole.base)
	}
	least := saves(v.least(w.level), leastPart)
	lost := whole.most(w.level) < least
	switch e2e := c.of("e2e", "median"); {
	case least <= 0, !lost && (w.metric != ownText || whole.least(w.level) > 0):
		return why, false
	case w.metric == ownText && e2e != nil && e2e.least(contradicts) >= -math.Log1p(-leastPart*time*(1-math.Exp(-v.gain))/e2e.base):
		return why, false // the next token waits for a draft to be verified, yet whole answers are faster
	case required < 0 && whole.most(w.level) >= saves(required, 1):
		return why, false
	}
	is := code.Of("finding.promise_unshown",
		"{subject}.gain {gain} alone would give {whole}.gain {promised}, but that is {shows}, which may be none: "+
			"more launches, or a quieter machine, can show it")
	if lost {
		is = code.Of("finding.promise_broken",
			"{subject}.gain {gain} alone would give {whole}.gain {promised}, but that is {shows} (upper bound "+
				"{at_most}): the gain is lost elsewhere; a rule on {whole} would decide this trade-off")
	}
	return verdict.New(is,
		verdict.Num("gain", gainOf(v, v.gain), plans.RatioUnit),
		verdict.Text("whole", whole.in.Path),
		verdict.Num("shows", gainOf(whole, whole.gain), plans.RatioUnit),
		verdict.Num("at_most", gainOf(whole, whole.most(w.level)), plans.RatioUnit),
		verdict.Num("promised", gainOf(whole, saves(v.gain, 1)), plans.RatioUnit)).On(v.in.Path), !lost || v.n == stats.Clear
}

// slowTail is the reason if the median of a metric improves while its worst hundredth at least
// doubles.
func (c cellShifts) slowTail(v *shift, metric string, required float64) (why verdict.Reason, open bool) {
	declared := func(in *plans.Input) bool {
		return represented(in.Metric) == metric && facetOf(in.Cell, in.Metric, in.Stat).tail
	}
	if required < 0 || v.least(contradicts) <= 0 || c.reads(c.in.Feature, c.in.Cell, declared) {
		return why, false
	}
	worst := c.of(tails[metric], tail)
	if worst == nil || !worst.logs || worst.gain > -math.Log(mostTail) || worst.most(contradicts) >= 0 {
		return why, false
	}
	return verdict.Say("finding.tail_grew",
		"only the median improves: {subject}.gain {gain}, while {tail} changed by {change}: the slowest requests "+
			"pay for it; a rule on {tail} would decide this trade-off",
		verdict.Num("gain", gainOf(v, v.gain), plans.RatioUnit),
		verdict.Text("tail", worst.in.Path),
		verdict.Num("change", math.Expm1(-worst.gain), plans.RatioUnit)).On(v.in.Path), v.n == stats.Clear
}

// gainOf is a gain in logs as rules write it.
func gainOf(s *shift, gain float64) float64 {
	if saving(s.in) {
		gain = -gain
	}
	return ratio(s.in, gain)
}

// represented is the metric by which a metric is compared: those of one facet are the same
// number in another form; "" if there is none.
func represented(metric string) string {
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

// required is the gain over the other arm that a claim asks for, in logs; 0 if unknown.
func (c *ruling) required(claim *plans.Compare) float64 {
	in, sign := claim.Metric, 1.0
	if in.Better == string(measure.Lower) {
		sign = -1
	}
	base := math.NaN()
	if f := c.feature(in); f != nil && !in.Ratio() {
		if s, lacks := collect(f.base(in.Against), in); lacks == nil {
			base, _ = stats.ArithmeticMean(s.values)
		}
	}
	ratio := claim.Threshold / base // of the candidate's number to the other's
	switch in.Relation {
	case plans.Gain:
		ratio = 1 + sign*claim.Threshold
	case plans.Change:
		ratio = 1 + claim.Threshold
	case plans.Delta:
		ratio++
	}
	if !(ratio > 0) || math.IsInf(ratio, 0) {
		return 0
	}
	return sign * math.Log(ratio)
}
