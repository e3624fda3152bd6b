package gates

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

const (
	// leastWorse is how much worse a metric must get to be worth a line.
	leastWorse = 0.01
	// farWorse is the same with fewer launches than decide a rule: more than the gap
	// between the two speeds at which engines have been seen to start.
	farWorse = 0.1
	// sameChange is the part of another metric's change from which one tells the same.
	sameChange = 0.8
	// mostWorse limits how many such metrics are shown with a verdict.
	mostWorse = 5
	// findingRate is the false positive rate of what is compared whether a rule asks or not,
	// whatever a plan allows its rules.
	findingRate = 0.01
	// contradictionRate is the chance, at one look, that a statement about one number of a
	// contradiction is wrong: it takes two of them, and a cell has eight.
	contradictionRate = findingRate / 8
	// leastPart is the part of a gain that must show in the whole.
	leastPart = 0.5
	// mostTail is the factor by which a tail may grow behind a median that improves.
	mostTail = 2
	// leastShorter is how much shorter answers are worth noticing, mostLeftOut the share of
	// requests by which a median may rest on fewer of the candidate's, leastLeftOut the least
	// of those by which a tail may.
	leastShorter, mostLeftOut, leastLeftOut = 0.02, 0.1, 0.01
	// tail is the statistic that shows how the slowest tokens and requests fare.
	tail = "p99"
	// ownText is where a gain in the first text has to show: otherwise it is not known to
	// be one.
	ownText = "ttft_own"
)

// wholes maps a metric to the numbers that contain it, in which its gain must show. Where
// it does not, the time was moved out of the part: before the first token, behind the
// median gap, or into an opening that could be sent without computing it. Level is the
// chance that either number is beyond its bounds.
var wholes = map[string]struct {
	metric string
	level  float64
}{
	"tg":  {"e2e", contradictionRate},
	"itl": {"e2e", contradictionRate},
	// What is known beforehand costs nothing to send, so less certainty is enough.
	"ttft":        {ownText, 0.05},
	"ttft_answer": {"e2e", contradictionRate},
}

// machines maps the memory of an engine's processes to that of the machine, which also sees what
// no process holds, such as a memfd on its way through a socket.
func machines(cell, metric string) (machine, name string) {
	switch {
	case cell == "" && metric == "memory_gb", metric == "engine_memory_gb":
		return "host", "memory_gb"
	case cell == "gpu" && metric == "process_memory_gb":
		return "gpu", "memory_in_use_gb"
	}
	return "", ""
}

// tails are the metrics whose p99 shows how the slowest tokens and requests fare when the
// median of a metric improves.
var tails = map[string]string{"tg": "tpot", "itl": "itl", "ttft": "ttft", "e2e": "e2e"}

// shift is how a metric of a workload differs between a candidate and another arm, in one
// statistic: a single look at all launches that ran side by side, by the test of rules.
type shift struct {
	in    *plans.Input
	facet facet
	// logs is set if gain and se are in logs; else they have the metric's unit.
	logs bool
	// gain is how much better the candidate is, with its standard error and degrees of
	// freedom. With two launches per arm se is 0: they do not show how certain it is.
	gain, se, df float64
	// pairs are the launches, own and base the means of the two arms.
	pairs     pairs
	own, base float64
	// level is the p at which a look decides, first the fewest launches per arm for one
	// that does, and n those there are.
	level    float64
	first, n int
}

// facet is what a metric tells about a cell; its tail is a facet of its own.
type facet struct {
	cell string
	of   measure.Facet
	tail bool
}

// facetOf is the facet of a metric in a cell; each metric that a command prints has its
// own.
func facetOf(cell, metric, stat string) facet {
	of := measure.Facet(metric)
	if !measure.OfCommand(cell) {
		m, _ := measure.LookupIn(metric, measure.PerRequest, measure.PerCell)
		of = m.Facet
	}
	return facet{cell, of, measure.StatOf(stat).P > 0.5 || stat == "max"}
}

// shift compares a feature's candidate with an arm in one statistic of a metric; nil if a
// launch lacks it, or too few ran side by side to show anything.
func (d *decider) shift(feature, cell, metric, stat string, better measure.Better, base Arm) *shift {
	in := &plans.Input{
		Kind: plans.InputMetric, Feature: feature, Cell: cell, Metric: metric, Stat: stat, Better: string(better),
		Relation: plans.Gain, Type: plans.NumberInput,
	}
	if in.Path = in.LaunchAddress(); stat != "median" {
		in.Path += "." + stat
	}
	own, why := collect(d.ev[feature].Candidate, in)
	if why != nil {
		return nil
	}
	other, why := collect(base, in)
	if why != nil || own.incomparable(other, in) != nil {
		return nil
	}
	in.Unit = own.unit
	claim := &plans.Compare{Form: verdict.Ratio, Metric: in, AtLeast: true}
	zero := func(x float64) bool { return !(x > 0) }
	if in.MayBeZero() || slices.ContainsFunc(own.values, zero) || slices.ContainsFunc(other.values, zero) {
		claim.Form, claim.AtLeast = verdict.Difference, better != measure.Lower
	}
	q, err := d.question(claim, own, other)
	if err != nil || len(q.pairs.own) == 0 {
		return nil
	}
	s := &shift{
		in: in, facet: facetOf(cell, metric, stat), logs: q.scale.logs, pairs: q.pairs, n: len(q.pairs.own),
		first: stats.Unrecorded,
	}
	if q.recorded {
		s.first = stats.Recorded
	}
	most := d.most(in)
	design, err := stats.DesignFor(findingRate, d.settings.FalseFail, min(d.settings.Min, most), most, s.first)
	if err != nil {
		return nil
	}
	s.level = design.Pass
	q.test.Pass, q.test.Fail = findingRate, findingRate
	look, err := q.test.At(s.n)
	if err != nil || !(look.DF > 0) && s.n != stats.TwoLaunches {
		return nil
	}
	if s.gain, s.se, s.df = look.Estimate, look.SE, look.DF; s.n == stats.TwoLaunches {
		s.df = 1
	}
	mean := stats.ArithmeticMean
	if s.logs {
		mean = stats.Mean
	}
	s.own, _ = mean(q.pairs.own) // which the look has found to be finite
	s.base, _ = mean(q.pairs.base)
	return s
}

// least and most bound the gain from either side, each at a level.
func (s *shift) least(level float64) float64 { return s.gain - stats.Quantile(level, s.df)*s.se }
func (s *shift) most(level float64) float64  { return s.gain + stats.Quantile(level, s.df)*s.se }

// size is how far it moved, relative to before, in logs.
func (s *shift) size() float64 {
	switch {
	case s.logs:
		return math.Abs(s.gain)
	case s.base == 0:
		return math.Log(2)
	}
	return math.Log1p(math.Abs(s.gain / s.base))
}

// direction is 1 if a metric demonstrably got better, as one of n metrics, by enough to
// be worth a line, -1 if worse, else 0.
func (s *shift) direction(of int) int {
	least, level := leastWorse, s.level/float64(of)
	if s.n < s.first {
		least = farWorse
	}
	switch {
	case s.n == stats.TwoLaunches, s.size() < least:
	case s.least(level) > 0:
		return 1
	case s.most(level) < 0:
		return -1
	}
	return 0
}

// allShifts compares all metrics of a feature with its parent, cell by cell; none of a
// server that was already running.
func (d *decider) allShifts(feature string) (all []*shift) {
	f := d.ev[feature]
	if f == nil || f.Broken != "" || len(f.Candidate.Launches) == 0 || f.Candidate.stale() != "" ||
		f.Parent.stale() != "" {
		return nil
	}
	// in each what a command printed, if the plan says which way is better
	cells := map[string][]measure.Metric{}
	for address, s := range f.Candidate.Launches[0].Metrics { // a metric that any launch lacks is not compared
		cell, name := measure.SplitAddress(address)
		if ofMachine(address) || strings.HasPrefix(cell+".", plans.FoundRoot) {
			continue
		}
		metrics := cells[cell]
		if measure.OfCommand(cell) && s.Better != measure.Neither {
			metrics = append(metrics, measure.Metric{Name: name, Better: s.Better})
		}
		cells[cell] = metrics
	}
	for _, cell := range slices.Sorted(maps.Keys(cells)) {
		metrics := cells[cell]
		slices.SortFunc(metrics, func(a, b measure.Metric) int { return cmp.Compare(a.Name, b.Name) })
		if !measure.OfCommand(cell) {
			metrics = slices.DeleteFunc(measure.Catalogue(), func(m measure.Metric) bool { return m.Facet == "" })
		}
		for _, m := range metrics {
			all = append(all, d.shift(feature, cell, m.Name, "median", m.Better, f.Parent))
			if m.Scope == measure.PerRequest && m.Better == measure.Lower {
				all = append(all, d.shift(feature, cell, m.Name, tail, m.Better, f.Parent))
			}
		}
	}
	return slices.DeleteFunc(all, func(s *shift) bool { return s == nil })
}

// reads reports whether a rule of the decision reads such a metric of a cell.
func (d *decider) reads(feature, cell string, which func(*plans.Input) bool) bool {
	return slices.ContainsFunc(d.rules, func(r *plans.Rule) bool {
		return slices.ContainsFunc(r.Inputs(), func(in *plans.Input) bool {
			return in.Kind == plans.InputMetric && in.Feature == feature && in.Cell == cell && which(in)
		})
	})
}

// contradiction is why a pass does not count: it rests on a metric that others of its cell
// contradict, and no rule of the decision reads the contradicting metric, by which the
// author would have weighed it. Like a drift it is read from all launches; open is set
// where more can tell.
func (c *ruling) contradiction(f *finding, leaf *plans.Compare) (why verdict.Reason, open bool) {
	in := leaf.Metric
	better := in.Better != "" && leaf.AtLeast == (in.Relation == plans.Gain || in.Better == string(measure.Higher))
	central := slices.Contains([]string{"", "median", "p50", "mean"}, in.Stat)
	if f.Verdict != verdict.Pass || in.Relation == plans.Base || !better {
		return why, false
	}
	if machine, name := machines(in.Cell, in.Metric); machine != "" && central {
		return c.unseenMemory(leaf, machine, name)
	}
	if in.Cell == "" {
		return why, false
	}
	if why = c.leftOut(in); !why.IsZero() {
		return why, false
	}
	of := func(metric, stat string) *shift {
		key := strings.Join([]string{in.Feature, in.Cell, metric, stat, string(in.Against)}, " ")
		s, done := c.shifts[key]
		if !done {
			m, _ := measure.LookupIn(metric, measure.PerRequest, measure.PerCell)
			s = c.shift(in.Feature, in.Cell, metric, stat, m.Better, c.feature(in).base(in.Against))
			if c.shifts == nil {
				c.shifts = map[string]*shift{}
			}
			c.shifts[key] = s
		}
		return s
	}
	required, metric := c.requiredGain(leaf), representative(in.Metric)
	if why = c.shorter(of, in, required); !why.IsZero() {
		return why, false
	}
	if in.Metric == "goodput" || in.Metric == "slo_attainment" { // what is within limits may be moved there
		for _, part := range []string{"tg", "itl", "ttft"} {
			if v := of(part, "median"); v != nil && v.logs && why.IsZero() {
				why, open = c.missingGain(of, v, part, 0)
			}
		}
		return why, open
	}
	// Other text may have been called reasoning.
	if first, answer := of("ttft", "median"), of("ttft_answer", "median"); in.Metric == "ttft_answer" &&
		first != nil && answer != nil && answer.base > first.base {
		metric = in.Metric
	}
	v := of(metric, "median")
	if v == nil || !v.logs {
		return why, false
	}
	if why, open = c.missingGain(of, v, metric, required); !why.IsZero() || !central {
		return why, open
	}
	// Else the median of the metric may improve while its worst hundredth at least doubles.
	worst := of(tails[metric], tail)
	declared := func(in *plans.Input) bool {
		return representative(in.Metric) == metric && facetOf(in.Cell, in.Metric, in.Stat).tail
	}
	switch {
	case worst == nil || !worst.logs || worst.gain > -math.Log(mostTail) || worst.most(contradictionRate) >= 0:
		return why, false
	case required < 0 || v.least(contradictionRate) <= 0 || c.reads(in.Feature, in.Cell, declared):
		return why, false
	}
	return verdict.Say("finding.tail_grew",
		"only the median improves: {subject}.gain {gain}, while {tail} changed by {change}: the slowest requests "+
			"pay for it; a rule on {tail} would decide this trade-off",
		verdict.Num("gain", gainOf(v, v.gain), plans.RatioUnit),
		verdict.Text("tail", worst.in.Path),
		verdict.Num("change", math.Expm1(-worst.gain), plans.RatioUnit)).On(v.in.Path), v.n == stats.TwoLaunches
}

// shorter is the reason if whole answers are only faster because they are shorter: at the
// parent's length they would not gain what a rule asks.
func (c *ruling) shorter(of func(metric, stat string) *shift, in *plans.Input, required float64) (why verdict.Reason) {
	length := func(in *plans.Input) bool { return in.Metric == "output_tokens" || in.Metric == "shortfall" }
	ofWhole := slices.Contains([]string{"e2e", "requests_per_s", "goodput", "energy_j"}, in.Metric)
	if !ofWhole || c.reads(in.Feature, in.Cell, length) {
		return why
	}
	v, e2e, first, tokens := of(in.Metric, "median"), of("e2e", "median"), of("ttft", "median"),
		of("output_tokens", "mean")
	switch {
	case v == nil || !v.logs || e2e == nil || first == nil || tokens == nil || !(tokens.base > 1):
		return why
	case !(tokens.own < (1-leastShorter)*tokens.base) || tokens.most(wholes["ttft"].level) >= 0: // clearly
		return why
	}
	saved := -math.Log1p(-(1 - first.base/e2e.base) * (1 - tokens.own/tokens.base))
	if v.least(contradictionRate)-saved >= required {
		return why
	}
	return verdict.Say("finding.shorter",
		"{subject}.gain {gain}, but answers have {tokens} tokens instead of {other_tokens}, which alone would give "+
			"{alone}: enforce their length (ignore_eos), or declare by a rule on {cell}.output_tokens how short they "+
			"may be",
		verdict.Num("gain", gainOf(v, v.gain), plans.RatioUnit),
		verdict.Num("tokens", tokens.own, "count"), verdict.Num("other_tokens", tokens.base, "count"),
		verdict.Num("alone", gainOf(v, saved), plans.RatioUnit), verdict.Text("cell", in.Cell)).On(v.in.Path)
}

// leftOut is the reason if a statistic rests on fewer of the candidate's requests than of the
// other arm's: those without the metric, or with contradictory counts, may be the slow ones.
func (c *ruling) leftOut(in *plans.Input) (why verdict.Reason) {
	errors := func(in *plans.Input) bool { return in.Metric == "errors" || in.Metric == "error_rate" }
	m, ok := measure.LookupIn(in.Metric, measure.PerRequest)
	if !ok || m.Facet == "" || c.reads(in.Feature, in.Cell, errors) {
		return why
	}
	rests := func(a Arm) (of, sent float64) {
		for _, l := range a.Launches {
			of += float64(l.Metrics[in.LaunchAddress()].Requests)
			sent += float64(l.Metrics[in.Cell+".e2e"].Requests) + l.Metrics[in.Cell+".errors"].Stats["median"]
		}
		return of, sent
	}
	f := c.feature(in)
	of, sent := rests(f.Candidate)
	others, otherSent := rests(f.base(in.Against))
	most := mostLeftOut
	if p := measure.StatOf(in.Stat).P; p > 0.5 || in.Stat == "max" {
		most = max((1-p)/2, leastLeftOut)
		if in.Stat == "max" {
			most = leastLeftOut
		}
	}
	if !(sent > 0 && otherSent > 0) || others/otherSent-of/sent <= most {
		return why
	}
	return verdict.Say("finding.left_out",
		"{subject} rests on {of} of {sent} requests, that of the other arm on {others} of {other_sent}: those without "+
			"it may be the slow ones",
		verdict.Int("of", int(of)), verdict.Int("sent", int(sent)),
		verdict.Int("others", int(others)), verdict.Int("other_sent", int(otherSent))).On(in.LaunchAddress())
}

// missingGain is the reason if too little of a gain shows in the whole; open is set if more
// launches can tell. How much must show follows from the lower bound of the gain, so a
// barely proven one asks for hardly anything. A rule that only asks the metric not to get
// worse is contradicted if the whole got worse by more than that.
func (c *ruling) missingGain(
	of func(metric, stat string) *shift, v *shift, metric string, required float64,
) (why verdict.Reason, open bool) {
	w, part := wholes[metric]
	declared := func(in *plans.Input) bool { return in.Metric == "e2e" || in.Metric == w.metric }
	if !part || v.gain <= 0 || c.reads(v.in.Feature, v.in.Cell, declared) {
		return why, false
	}
	whole := of(w.metric, "median")
	if whole == nil || !whole.logs {
		return why, false
	}
	// time is what of the whole the metric covers, by the parent's means; longer how many
	// times as long the candidate's answers are, after the first token.
	time, longer := v.base, 1.0
	if w.metric == "e2e" && metric != "ttft_answer" {
		first := of("ttft", "median")
		if first == nil {
			return why, false
		}
		time = whole.base - first.base
		if tokens := of("output_tokens", "mean"); tokens != nil && tokens.base > 1 && tokens.own > 1 {
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
	// Quantiles are what takes time here, and most gains show whatever they are.
	if w.metric != ownText && whole.gain >= saves(v.gain, leastPart) || v.least(w.level) <= 0 {
		return why, false
	}
	least := saves(v.least(w.level), leastPart)
	lost := whole.most(w.level) < least
	switch e2e := of("e2e", "median"); {
	// An engine can make its whole answers differ between launches, so that nothing is certain of them.
	case least <= 0, !lost && whole.least(wholes["ttft"].level) > 0,
		!lost && w.metric != ownText && whole.gain >= saves(v.gain, leastPart/2):
		return why, false
	case w.metric == ownText && e2e != nil &&
		e2e.least(contradictionRate) >= -math.Log1p(-leastPart*time*(1-math.Exp(-v.gain))/e2e.base):
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
			verdict.Num("promised", gainOf(whole, saves(v.gain, 1)), plans.RatioUnit)).On(v.in.Path), !lost ||
			v.n == stats.TwoLaunches
}

// unseenMemory is the reason if memory that an engine's processes gained is not shown to be free on
// the machine: at least half of what is proven of it. A rule that only asks for no more memory than
// before is not contradicted.
func (c *ruling) unseenMemory(leaf *plans.Compare, machine, name string) (why verdict.Reason, open bool) {
	in, declared := leaf.Metric, func(in *plans.Input) bool { return in.Metric == name }
	if c.requiredGain(leaf) < 0 || c.reads(in.Feature, machine, declared) {
		return why, false
	}
	base := c.feature(in).base(in.Against)
	own := c.shift(in.Feature, in.Cell, in.Metric, "median", measure.Lower, base)
	if own == nil || !own.logs || own.gain <= 0 {
		return why, false
	}
	all := c.shift(in.Feature, machine, name, "median", measure.Lower, base)
	args := []verdict.Arg{
		verdict.Num("gain", own.base-own.own, "GB"), verdict.Text("whole", machine+"."+name),
	}
	seen := false
	if all != nil && all.logs {
		const level = 0.05
		least := leastPart * own.base * -math.Expm1(-max(own.least(level), 0))
		freed := func(gain float64) float64 { return all.base * -math.Expm1(-gain) }
		seen = freed(all.gain) >= least && all.least(level) > 0
		args = append(args, verdict.Num("shows", freed(all.gain), "GB"),
			verdict.Num("least", freed(all.least(level)), "GB"))
	}
	if seen {
		return why, false
	}
	return verdict.Say("finding.memory_unseen",
		"{subject} is {gain} lower, but {whole} {shows?by {shows} (at least {least})}{shows!is not known}: memory "+
			"that "+
			"no process holds counts in {whole} alone, and files of a disk that it maps in {subject} alone; a quieter "+
			"machine shows smaller gains, and a rule on {whole} would decide this",
		args...).On(in.LaunchAddress()), own.n < c.most(in)
}

// gainOf is a gain in logs as rules write it.
func gainOf(s *shift, gain float64) float64 {
	if isGainOfLowerBetter(s.in) {
		gain = -gain
	}
	return ratio(s.in, gain)
}

// representative is the metric by which a metric is compared: those of one facet are the same
// number in another form; "" if there is none.
func representative(metric string) string {
	switch m, _ := measure.LookupIn(metric, measure.PerRequest); {
	case metric == "itl":
		return metric
	case metric == "tg_of_limit":
		return "tg"
	case metric == "pp_of_limit":
		return "ttft"
	case metric == "ttfr", metric == ownText:
		return "" // a first event may be empty, and the first own token follows a promised opening
	case m.Facet == measure.OfDecode:
		return "tg"
	case m.Facet == measure.OfFirstText:
		return "ttft"
	case m.Facet == measure.OfWhole:
		return "e2e"
	}
	return ""
}

// requiredGain is the gain over the other arm that a claim asks for, in logs; 0 if unknown.
func (c *ruling) requiredGain(claim *plans.Compare) float64 {
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

// Findings returns what no rule reads but a reader of the verdicts should know: of the
// features that rules read, the metrics that got demonstrably worse, worst first. Of those
// that tell the same it is the first in the catalogue, unless another got far worse, and
// none where a rule reads one. They change no verdict.
func Findings(rules []*plans.Rule, decided []verdict.Rule, ev Evidence, s Settings) (found []verdict.Reason) {
	d := &decider{rules: rules, ev: ev, settings: s}
	var features []string
	for _, r := range rules {
		for _, in := range r.Inputs() {
			if in.Kind == plans.InputMetric && !slices.Contains(features, in.Feature) {
				features = append(features, in.Feature)
			}
		}
	}
	var all, worse []*shift
	worst := map[facet]*shift{}
	for _, feature := range features {
		of := d.allShifts(feature)
		for _, s := range of {
			if s.direction(len(of)) >= 0 {
				continue
			}
			all = append(all, s)
			if o := worst[s.facet]; o == nil || sameChange*s.size() > o.size() {
				worst[s.facet] = s
			}
		}
	}
	for _, s := range all {
		rest := s.facet
		rest.tail = false
		tells := func(in *plans.Input) bool { return facetOf(s.in.Cell, in.Metric, in.Stat) == s.facet }
		switch o := worst[rest]; {
		case worst[s.facet] != s:
		case s.facet.tail && o != nil && sameChange*s.size() <= o.size(): // a tail that is no worse than the rest
		case !d.reads(s.in.Feature, s.in.Cell, tells):
			worse = append(worse, s)
		}
	}
	slices.SortStableFunc(worse, func(a, b *shift) int { return cmp.Compare(b.size(), a.size()) })
	for _, s := range worse[:min(len(worse), mostWorse)] {
		m := s.metricChange()
		args := []verdict.Arg{verdict.Num("was", m.Parent, m.Unit), verdict.Num("is", m.Own, m.Unit)}
		if m.Change != nil {
			args = []verdict.Arg{verdict.Num("change", *m.Change, plans.RatioUnit)}
		}
		if m.Low != nil {
			args = append(args, verdict.Span("bounds", *m.Low, *m.High, plans.RatioUnit))
		}
		found = append(found, verdict.Say("finding.worse",
			"also worse: {subject} {change?{change}{bounds? (95% CI {bounds:outward})}}{change!{was} to {is}}",
			args...).On(m.Metric))
	}
	// Two launches per arm that decided a rule are too few to show that a metric got worse.
	two := func(c verdict.Comparison) bool {
		return c.Test != nil && c.Verdict != verdict.Inconclusive && c.Test.ByRecordedNoise() &&
			len(c.Test.Values) == stats.TwoLaunches
	}
	if slices.ContainsFunc(decided, func(r verdict.Rule) bool { return slices.ContainsFunc(r.Comparisons, two) }) {
		found = append(found, verdict.Say("finding.not_compared",
			"other metrics not compared: that takes 3 launches per arm, and 2 were enough to decide"))
	}
	// Of workloads whose answers a plan declares not to be text, only the speed is known.
	for _, name := range slices.Sorted(maps.Keys(ev)) {
		for _, l := range ev[name].Candidate.Launches {
			for _, w := range l.Unread {
				if r := verdict.New(code.Unlooked).On(w); !slices.ContainsFunc(found, r.Equal) {
					found = append(found, r)
				}
			}
		}
	}
	return found
}

// Movement is a metric of a workload that a candidate demonstrably changed.
type Movement struct {
	// Metric is its address, with the statistic if that is not the median.
	Metric string  `json:"metric"`
	Unit   string  `json:"unit,omitempty"`
	Parent float64 `json:"parent"`
	Own    float64 `json:"candidate"`
	Better bool    `json:"better"`
	// Comparison is relative, absent for a number that may be zero. If a rule decided by
	// this gain, Decided is set, and estimate and bounds are that decision's.
	stats.Comparison
	Decided bool `json:"decided,omitempty"`
}

func (s *shift) metricChange() Movement {
	m := Movement{Metric: s.in.Path, Unit: s.in.Unit, Parent: s.base, Own: s.own, Better: s.gain > 0}
	if c, err := stats.Compare(s.pairs.own, s.pairs.base, s.pairs.blocks() != nil); err == nil && s.logs {
		m.Change, m.Low, m.High = c.Change, c.Low, c.High
	}
	return m
}

// ChangedMetrics returns all workload metrics in which a feature's candidate demonstrably differs
// from its parent, for better or worse, whether rules read them or not.
func ChangedMetrics(name string, f *Feature, s Settings) (list []Movement) {
	d := &decider{ev: Evidence{name: f}, settings: s}
	all := d.allShifts(name)
	for _, s := range all {
		if s.direction(len(all)) != 0 {
			list = append(list, s.metricChange())
		}
	}
	return list
}
