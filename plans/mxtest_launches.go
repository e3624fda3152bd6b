package plans

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// mostGiven is how many launches of an arm a case may give.
const mostGiven = 200

// armNames are the arms of a case, and madeFrom what one may be made from.
var (
	armNames = []string{"base", "candidate", "root"}
	madeFrom = []string{"gain", "change", "delta"}
)

// measurement is one metric of a case as it is written.
type measurement struct {
	pair
	in *Input
	// lists are the arms whose launches are written out, means those of which only
	// the mean is; made is how the candidate is made from the base.
	lists map[string][]*float64
	means map[string]float64
	made  string
	by    float64
	at    map[string]hcl.Range
	// spread and launches are nil where the case does not say them.
	spread   *float64
	launches *int
	requests int
}

// decodeLaunches reads what each launch measured.
func (l *caseLoader) decodeLaunches(f *body, ft *Feature) (list []GivenMetric) {
	before := len(l.diags)
	var all []*measurement
	seen := map[string]string{}
	longest := 0
	for _, p := range f.pairs("launches") {
		in := l.measured(p.key, p.keyAt, ft)
		if in == nil {
			continue
		}
		stat := in.Stat
		if stat == "p50" {
			stat = "median" // the same number by another name
		}
		key := in.launchAddress() + "." + stat
		if first, twice := seen[key]; twice {
			l.fail(p.keyAt, "Metric given twice", "%q is what %q says already. Remove one.", p.key, first)
			continue
		}
		seen[key] = p.key
		m := l.decodeMeasurement(f, p, in, ft)
		for _, list := range m.lists {
			longest = max(longest, len(list))
		}
		if m.launches != nil {
			longest = max(longest, *m.launches)
		}
		all = append(all, m)
	}
	l.shareRequests(all)
	if _, ok := f.value("launches"); ok && len(all) == 0 && len(l.diags) == before {
		l.fail(f.at("launches"), "Empty launches", `The map is empty, and without launches nothing is measured. Write a metric, as in { "chat.tg" = { gain = 0.2 } }, or leave it out.`)
	}
	if len(l.diags) > before && l.diags[before:].HasErrors() {
		return nil
	}
	n := longest
	if n == 0 {
		_, most := l.plan.launchesUnder(ft.Protocol)
		n = min(firstLook, most)
	}
	for _, m := range all {
		if given, ok := l.make(m, n); ok {
			list = append(list, given)
		}
	}
	l.evenArms(all, list)
	return list
}

// decodeMeasurement reads what a case says of one metric.
func (l *caseLoader) decodeMeasurement(f *body, p pair, in *Input, ft *Feature) *measurement {
	m := &measurement{pair: p, in: in, lists: map[string][]*float64{}, means: map[string]float64{}, at: map[string]hcl.Range{}}
	m.requests = l.requestsOf(in)
	entries, ok := l.entries(p, "launches", "{ base = [31.6, 31.8], candidate = [38.4, 38.6] }")
	if !ok {
		return m
	}
	for _, e := range entries {
		m.at[e.key] = e.at
		switch {
		case slices.Contains(armNames, e.key):
			l.decodeArm(m, e)
		case slices.Contains(madeFrom, e.key):
			if m.made != "" {
				l.fail(e.keyAt, "Candidate given twice", "%s says already what the candidate is. Remove one.", m.made)
				continue
			}
			m.made = e.key
			unit := RatioUnit
			if Relation(e.key) == Delta {
				unit = in.Unit
			}
			m.by, _ = l.numberIn(e.v, e.at, e.key, unit)
		case e.key == "spread":
			if n, ok := f.asNumber(e.v, e.at, "spread", 0, 10); ok {
				m.spread = &n
			}
		case e.key == "launches":
			if n, ok := f.asWhole(e.v, e.at, "launches", 1, mostGiven); ok {
				m.launches = &n
			}
		case e.key == "requests":
			if n, ok := f.asWhole(e.v, e.at, "requests", 1, maxRequests); ok {
				m.requests = n
			}
		default:
			names := append(append([]string(nil), armNames...), append(madeFrom, "spread", "launches", "requests")...)
			l.fail(e.keyAt, "Unknown name in launches", "A metric of launches has no %q.%s", e.key, l.didYouMean(e.key, names))
		}
	}
	l.checkMeasurement(m, ft)
	return m
}

// decodeArm reads the launches of one arm, or their mean.
func (l *caseLoader) decodeArm(m *measurement, e pair) {
	what, unit := fmt.Sprintf("%s of %s", e.key, m.key), m.in.Unit
	elems, isList := l.elements(l.valueAt(e), e.v)
	if !isList {
		if n, ok := l.numberIn(e.v, e.at, what, unit); ok {
			m.means[e.key] = n
			l.plausible(m.in, n, e.at)
		}
		return
	}
	if len(elems) == 0 || len(elems) > mostGiven {
		l.fail(e.at, "Empty launches", "An arm has 1 to %d launches, and this lists %d. Leave %s out where nothing was launched.", mostGiven, len(elems), e.key)
		return
	}
	list := make([]*float64, len(elems))
	for i, elem := range elems {
		if elem.v.IsNull() {
			continue
		}
		n, ok := l.numberIn(elem.v, elem.at, "A launch in "+what, unit)
		if !ok {
			return
		}
		list[i] = &n
		if i == 0 {
			l.plausible(m.in, n, elem.at)
		}
	}
	m.lists[e.key] = list
}

func (l *caseLoader) plausible(in *Input, n float64, at hcl.Range) {
	if why := implausible(in, n); why != "" {
		l.warn(at, "Implausible for the unit", "%s", why)
	}
}
