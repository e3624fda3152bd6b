package cases

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/lint"
	"github.com/mxflow/mxflow/plans/rules"
)

// mostGiven limits the launches of an arm in a case.
const mostGiven = 200

// armNames are the arms of a case, and madeFrom the arm that one is derived from.
var (
	armNames = []string{"base", "candidate", string(plans.Root)}
	madeFrom = []string{"gain", "change", "delta"}
)

// measurement is one metric of a case as written.
type measurement struct {
	eval.Pair
	in *plans.Input
	// lists are the arms with explicit launches, means those with only a mean; made is
	// how the candidate is derived from the base.
	lists map[string][]*float64
	means map[string]float64
	made  string
	by    float64
	at    map[string]hcl.Range
	// spread and launches are nil if the case does not give them.
	spread   *float64
	launches *int
	requests int
}

// decodeLaunches decodes the measurements of each launch.
func (l *caseLoader) decodeLaunches(f *eval.Body, ft *plans.Feature) (list []GivenMetric) {
	before := len(l.Diags)
	var all []*measurement
	seen := map[string]string{}
	longest := 0
	for _, p := range f.Pairs("launches") {
		in := l.measured(p.Key, p.KeyAt, ft)
		if in == nil {
			continue
		}
		stat := in.Stat
		if stat == "p50" {
			stat = "median" // the same number by another name
		}
		key := in.LaunchAddress() + "." + stat
		if first, twice := seen[key]; twice {
			l.Fail(p.KeyAt, "given-twice", "Metric given twice", "%q is the same metric as %q. Remove one.", p.Key, first)
			continue
		}
		seen[key] = p.Key
		m := l.decodeMeasurement(p, in, ft)
		for _, list := range m.lists {
			longest = max(longest, len(list))
		}
		if m.launches != nil {
			longest = max(longest, *m.launches)
		}
		all = append(all, m)
	}
	l.shareRequests(all)
	if _, ok := f.Value("launches"); ok && len(all) == 0 && len(l.Diags) == before {
		l.Fail(f.At("launches"), "case-says-nothing", "Empty launches", `The map is empty. Add a metric, as in { "chat.tg" = { gain = 0.2 } }, or leave it out.`)
	}
	if len(l.Diags) > before && l.Diags[before:].HasErrors() {
		return nil
	}
	n := longest
	if n == 0 {
		_, most := l.plan.LaunchesUnder(ft.Protocol)
		n = min(plans.FirstLook, most)
	}
	for _, m := range all {
		if given, ok := l.make(m, n); ok {
			list = append(list, given)
		}
	}
	l.evenArms(all, list)
	return list
}

// decodeMeasurement decodes one metric of a case.
func (l *caseLoader) decodeMeasurement(p eval.Pair, in *plans.Input, ft *plans.Feature) *measurement {
	m := &measurement{Pair: p, in: in, lists: map[string][]*float64{}, means: map[string]float64{}, at: map[string]hcl.Range{}}
	m.requests = l.requestsOf(in)
	entries, ok := l.entries(p, "launches", "{ base = [31.6, 31.8], candidate = [38.4, 38.6] }")
	if !ok {
		return m
	}
	for _, e := range entries {
		m.at[e.Key] = e.At
		switch {
		case slices.Contains(armNames, e.Key):
			l.decodeArm(m, e)
		case slices.Contains(madeFrom, e.Key):
			if m.made != "" {
				l.Fail(e.KeyAt, "given-twice", "Candidate given twice", "%s already gives the candidate. Remove one.", m.made)
				continue
			}
			m.made = e.Key
			unit := plans.RatioUnit
			if plans.Relation(e.Key) == plans.Delta {
				unit = in.Unit
			}
			m.by, _ = l.numberIn(e.V, e.At, e.Key, unit)
		case e.Key == "spread":
			if n, ok := l.Scalar(plans.Attr{Name: e.Key, Type: plans.Number, MinSet: true, Max: 10}, e.V, e.At); ok {
				spread := n.(float64)
				m.spread = &spread
			}
		case e.Key == "launches":
			if n, ok := l.Scalar(plans.Attr{Name: e.Key, Type: plans.Int, Min: 1, MinSet: true, Max: mostGiven}, e.V, e.At); ok {
				launches := int(n.(float64))
				m.launches = &launches
			}
		case e.Key == "requests":
			if n, ok := l.Scalar(plans.Attr{Name: e.Key, Type: plans.Int, Min: 1, MinSet: true, Max: plans.MaxRequests}, e.V, e.At); ok {
				m.requests = int(n.(float64))
			}
		default:
			names := append(append([]string(nil), armNames...), append(madeFrom, "spread", "launches", "requests")...)
			l.Fail(e.KeyAt, "unknown-reference", "Unknown name in launches", "A metric in launches has no %q.%s", e.Key, l.DidYouMean(e.Key, names))
		}
	}
	l.checkMeasurement(m, ft)
	return m
}

// decodeArm decodes the launches of one arm, or their mean.
func (l *caseLoader) decodeArm(m *measurement, e eval.Pair) {
	what, unit := fmt.Sprintf("%s of %s", e.Key, m.Key), m.in.Unit
	elems, isList := eval.Elements(l.ValueAt(e), e.V)
	if !isList {
		if n, ok := l.numberIn(e.V, e.At, what, unit); ok {
			m.means[e.Key] = n
			l.plausible(m.in, n, e.At)
		}
		return
	}
	if len(elems) == 0 || len(elems) > mostGiven {
		l.Fail(e.At, "case-says-nothing", "Empty launches", "An arm has 1 to %d launches, but this lists %d. Leave %s out if it was not launched.", mostGiven, len(elems), e.Key)
		return
	}
	list := make([]*float64, len(elems))
	for i, elem := range elems {
		if elem.V.IsNull() {
			continue
		}
		n, ok := l.numberIn(elem.V, elem.At, "A launch in "+what, unit)
		if !ok {
			return
		}
		list[i] = &n
		if i == 0 {
			l.plausible(m.in, n, elem.At)
		}
	}
	m.lists[e.Key] = list
}

func (l *caseLoader) plausible(in *plans.Input, n float64, at hcl.Range) {
	if why := lint.Implausible(in, n); why != "" {
		l.Warn(at, "implausible-value", "Implausible for the unit", "%s", why)
	}
}

// usualSpread is the default spread of launches: the standard deviation of their logs on
// a quiet machine.
const usualSpread = 0.005

// checkMeasurement finds inconsistencies in one metric.
func (l *caseLoader) checkMeasurement(m *measurement, ft *plans.Feature) {
	in := m.in
	for _, arm := range armNames {
		_, list := m.lists[arm]
		_, mean := m.means[arm]
		if arm == "candidate" && m.made != "" && (list || mean) {
			l.Fail(m.at[m.made], "given-twice", "Candidate given twice", "candidate and %s both give the candidate. Remove one.", m.made)
		}
		if arm == "root" && (list || mean) && ft.BuildsOn.Kind == plans.OnBaseline {
			l.Fail(m.at[arm], "given-twice", "Baseline given twice", "%s builds on the baseline, so base and root are the same launches. Remove root.", ft.Name)
		}
	}
	made := len(m.means) > 0 || m.made != ""
	for _, name := range []string{"spread", "launches"} {
		if at, written := m.at[name]; written && !made {
			l.Fail(at, "case-says-nothing", "Launches are listed already", "%s generates launches from a mean or a gain, but here all are listed. Remove it.", name)
		}
	}
	switch {
	case len(m.at) == 0:
		l.Fail(m.Pair.At, "case-says-nothing", "Empty launches", "%s has no values. Write { base = […], candidate = […] }, or { gain = 0.2 }.", m.Key)
	case !made && len(m.lists) == 0 && !l.Diags.HasErrors():
		l.Fail(m.Pair.At, "case-says-nothing", "Empty launches", "No arm has values of %s. Write base and candidate, or a gain, change or delta.", m.Key)
	case m.made == "gain" && in.Better == string(measure.Neither):
		l.Fail(m.at["gain"], "invalid-address", "No better direction", "%s has no better direction, so it has no gain; write change or delta.", m.Key)
	case m.made == "gain" && in.Better == string(measure.Lower) && m.by >= 1:
		l.Fail(m.at["gain"], "invalid-value", "Invalid gain", "Lower is better for %s, and a gain of %v leaves nothing of it. The gain must be less than 1.", m.Key, m.by)
	case (m.made == "gain" && in.Better == string(measure.Higher) || m.made == "change") && m.by <= -1:
		l.Fail(m.at[m.made], "invalid-value", "Invalid "+m.made, "A %s of %v leaves nothing of %s. It must be more than -1; -0.1 is 10%% less.", m.made, m.by, m.Key)
	}
	if at, written := m.at["requests"]; written && l.requestsOf(in) == 0 {
		l.Fail(at, "invalid-address", "One value per launch", "A launch has one %s, which does not depend on a number of requests. Remove requests.", m.Key)
	}
}

// make generates the launches of a metric: n per arm unless it says otherwise.
func (l *caseLoader) make(m *measurement, n int) (out GivenMetric, ok bool) {
	in := m.in
	out = GivenMetric{Address: in.LaunchAddress(), Stat: in.Stat, Unit: in.Unit, Better: in.Better, Requests: m.requests, Values: max(1, m.requests)}
	if c := l.cellOf(in); c != nil && in.Metric == "itl" {
		out.Values = max(1, m.requests*max(1, c.Output-1)) // one per token but the first
	}
	if m.launches != nil {
		n = *m.launches
	}
	level := func(arm string) (float64, bool) {
		if v, ok := m.means[arm]; ok {
			return v, true
		}
		return meanOf(m.lists[arm], in.Positive())
	}
	arm := func(name string) []*float64 {
		if list, ok := m.lists[name]; ok {
			return list
		}
		if mean, ok := m.means[name]; ok {
			return spreadOut(mean, m.spreadOf(), n, in.Positive())
		}
		return nil
	}
	out.Base, out.Candidate, out.Root = arm("base"), arm("candidate"), arm(string(plans.Root))
	if m.made == "" {
		return out, true
	}
	base, given := level("base")
	if !given {
		base = usualLevel(in)
		out.Base = spreadOut(base, m.spreadOf(), n, in.Positive())
	} else if m.launches == nil && len(out.Base) > 0 {
		n = len(out.Base)
	}
	candidate := base + m.by
	if m.made != "delta" {
		if !(base > 0) {
			l.Fail(m.at[m.made], "not-measured-so", "Base is not above zero", "%s is undefined for a base of %v. Write delta, or candidate.", m.made, base)
			return out, false
		}
		if candidate = base * (1 + m.by); m.made == "gain" && in.Better == string(measure.Lower) {
			candidate = base * (1 - m.by)
		}
	}
	out.Candidate = spreadOut(candidate, m.spreadOf(), n, in.Positive())
	return out, true
}

// spreadOf is the spread of launches: the case's, or zero for values that hardly vary and
// counts.
func (m *measurement) spreadOf() float64 {
	switch {
	case m.spread != nil:
		return *m.spread
	case m.in.Once(), m.in.Occurs():
		return 0
	}
	return usualSpread
}

// usualLevel is the default for a base.
func usualLevel(in *plans.Input) float64 {
	if in.Unit == "share" {
		return 0.5
	}
	return 100
}

// spreadOut makes n launches with a mean: alternately above and below it, so any even
// number of the first has that mean too. The spread is the standard deviation of their
// logs, and mean the geometric one, if the metric has logs; otherwise it is that share of
// the mean.
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

// meanOf is the mean of launches, in logs if they have any.
func meanOf(list []*float64, logs bool) (mean float64, ok bool) {
	n := 0
	for _, v := range list {
		if v == nil {
			continue
		}
		if logs && !(*v > 0) {
			return *v, true // which nothing can be a gain over
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

// measured is the launch metric at an address; nil if there is none, which has been
// reported.
func (l *caseLoader) measured(address string, at hcl.Range, ft *plans.Feature) *plans.Input {
	refuse := func(e *rules.Error) *plans.Input {
		l.Fail(at, e.Code, e.Summary, "%s", e.Detail)
		return nil
	}
	elements := strings.Split(address, ".")
	if slices.Contains(elements, "") {
		return refuse(rules.Wrong("invalid-expectation", "Invalid metric address", "%q is not an address. Write a workload and a metric, such as \"chat.tg\".", address))
	}
	in, err := l.ns.OfFeature(&plans.Input{Path: address, Type: plans.NumberInput}, elements, ft)
	switch {
	case err != nil && err.About == rules.AboutName:
		roots := append(rules.WorkloadNames(l.plan), "engine", "gpu", "host")
		if l.plan.CommandEngine() != nil {
			roots = append(roots, plans.CommandKind)
		}
		return refuse(rules.Wrong("invalid-expectation", "Invalid metric address", "%q is neither a workload nor one of engine, gpu, host.%s", elements[0], l.DidYouMean(elements[0], roots)))
	case err != nil:
		return refuse(err)
	case in.Kind == plans.InputLevel:
		return refuse(rules.Wrong("not-measured-so", "Not a metric", "%s is the verdict of a level. Write levels = { %s = \"pass\" }.", address, in.Name))
	case in.Kind == plans.InputObserved:
		return refuse(rules.Wrong("not-measured-so", "Not a metric", "%s is a word or a boolean. Write observed = { %s = … }.", address, in.Name))
	case in.Kind == plans.InputKnob:
		return refuse(rules.Wrong("not-measured-so", "Not a metric", "%s is the value of a knob. Write knobs = { %s = \"…\" }.", address, in.Name))
	case in.Kind != plans.InputMetric && in.Kind != plans.InputFound:
		return refuse(rules.Wrong("not-measured-so", "Not a metric", "%q is not a metric of launches. Write a workload and a metric, such as \"chat.tg\".", address))
	case in.Relation != plans.Own:
		metric := in.LaunchAddress()
		if in.Stat != "median" {
			metric += "." + in.Stat
		}
		return refuse(rules.Wrong("not-measured-so", "Not measured by one launch", "%s compares two arms; a launch measures %s. Write %q = { base = […], candidate = […] }, or { gain = 0.2 }.", address, metric, metric))
	case in.Counts():
		return refuse(rules.Wrong("not-measured-so", "Not measured by one launch", "%s is counted from the launches of the case and their requests. Remove it.", address))
	}
	return in
}

// notNumber says what to write where a number is required.
func notNumber(v cty.Value, what, unit string) string {
	in := ""
	if unit != "" && unit != plans.RatioUnit {
		in = " in " + unit
	}
	if v.IsNull() || v.Type() != cty.String {
		return fmt.Sprintf("%s must be a number%s, not %s.", what, in, lang.Describe(v))
	}
	text := strings.TrimSpace(v.AsString())
	if n, percent, ok := rules.NumberIn(text); ok && percent && !rules.IsShare(unit) {
		return fmt.Sprintf("%s must be a number%s, not the text %q. Write the number itself, without quotes, or a change from the base as { gain = %g }.", what, in, text, n)
	} else if ok && percent {
		return fmt.Sprintf("%s must be a number%s, not the text %q. Ratios are fractions: write %g, without quotes.", what, in, text, n)
	}
	number, word, _ := strings.Cut(text, " ")
	if _, err := strconv.ParseFloat(number, 64); err == nil && word != "" {
		return fmt.Sprintf("%s must be a plain number%s, not the text %q. Write it without unit and quotes.", what, in, text)
	}
	switch strings.ToLower(strings.TrimLeft(text, "+-.")) {
	case "nan", "inf", "infinity":
		return fmt.Sprintf("%s must be a number%s, not %q. Write null for a launch without the metric.", what, in, text)
	}
	return fmt.Sprintf("%s must be a number%s, not the text %q. Write it without quotes.", what, in, text)
}

// requestsOf is the plan's number of requests behind a launch's number; 0 for a value
// that a launch has once.
func (l *caseLoader) requestsOf(in *plans.Input) int {
	if _, ok := measure.LookupIn(in.Metric, measure.PerRequest); !ok {
		return 0
	}
	if c := l.cellOf(in); c != nil {
		return max(1, c.Requests)
	}
	return 0
}

// cellOf is an input's cell of a workload; nil if it has none.
func (l *caseLoader) cellOf(in *plans.Input) *plans.Cell {
	cells := l.ns.Cells[strings.Split(in.Cell, ".")[0]]
	for i := range cells {
		if cells[i].Address == in.Cell {
			return &cells[i]
		}
	}
	return nil
}

// evenArms rejects lists of different lengths: which launch is missing would be a guess.
func (l *caseLoader) evenArms(all []*measurement, list []GivenMetric) {
	if len(all) != len(list) {
		return // reported
	}
	var first string
	n := 0
	for i, g := range list {
		for _, arm := range armNames {
			values := g.of(arm)
			what := fmt.Sprintf("%s of %s", arm, all[i].Key)
			switch {
			case len(values) == 0:
			case n == 0:
				first, n = what, len(values)
			case len(values) != n:
				at, ok := all[i].at[arm]
				if !ok {
					at = all[i].Pair.At
				}
				l.Fail(at, "unequal-launches", "Unequal launches", "%s has %d launches, but %s has %d. Launches at the same position ran in the same round: write null for one that was not made or lacks the metric.", first, n, what, len(values))
				return
			}
		}
	}
}

// shareRequests gives all statistics of one metric the number of requests given for one
// of them: they come from the same requests of a launch. Otherwise a p95 of 58 requests
// would count as one of as many as the workload sends, because the median is given too.
func (l *caseLoader) shareRequests(all []*measurement) {
	said := map[string]*measurement{}
	for _, m := range all {
		at, written := m.at["requests"]
		if !written {
			continue
		}
		first := said[m.in.LaunchAddress()]
		switch {
		case first == nil:
			said[m.in.LaunchAddress()] = m
		case first.requests != m.requests:
			l.Fail(at, "given-twice", "Metric given twice", "%s has %d requests, but %s has %d. Statistics of one metric come from the same requests of a launch: write one number.", m.Key, m.requests, first.Key, first.requests)
		}
	}
	for _, m := range all {
		if first := said[m.in.LaunchAddress()]; first != nil && m.requests > 0 {
			m.requests = first.requests
		}
	}
}
