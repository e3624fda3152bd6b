package main

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// result gathers how a run came out from what is on record.
func (q *ab) result(st *store.Store, s runtime.Summary, end *ledger.End, at abPlace) *abResult {
	r := &abResult{
		Type: "ab_result", Verdict: end.Verdict, Exit: end.Exit, Metric: q.claim.Metric.Name, Unit: q.claim.Metric.Unit,
		Claim: "B " + q.claim.says(q.label()), Gain: q.claim.Gain, Most: q.most(), State: at.state, Plan: at.plan,
		A: abSide{Command: q.arms[0].Text, Kind: q.kind.Name}, B: abSide{Command: q.arms[1].Text, Kind: q.kind.Name},
	}
	decided := map[string]*ledger.Decision{}
	for _, row := range s.Rows {
		if row.Decision != nil {
			decided[row.Node.ID] = row.Decision
		}
	}
	r.gather(st, decided, q.claim.Metric.Name)
	r.estimate(q.claim, decided[runtime.FeatureID("B")])
	r.causes(decided)
	r.beforeMeasuring(decided)
	r.byNumber(r.Reasons)
	r.byNumber(r.Notes)
	if history := st.History(runtime.FeatureID("B")); decided[runtime.FeatureID("B")] != nil && len(history) > 0 {
		r.Moved = report.DecidedAgain(st, history[len(history)-1])
	}
	r.differences(q)
	return r
}

// gather sorts the launches of the newest session by arm; those of the
// qualification stand in where nothing was measured.
func (r *abResult) gather(st *store.Store, decided map[string]*ledger.Decision, metric string) {
	measured := st.Launches(store.LaunchFilter{Purpose: ledger.ForBenchmark})
	session := ""
	if d := decided[runtime.BenchmarkID("B")]; d != nil {
		session = d.Session
	}
	if session == "" && decided[runtime.BenchmarkID("B")] == nil && len(measured) > 0 {
		session = measured[len(measured)-1].Session // interrupted in it
	}
	r.number(st, session)
	for _, side := range []struct {
		*abSide
		variant, node string
	}{{&r.A, "baseline", runtime.BaselineID}, {&r.B, "B", runtime.QualifyID("B")}} {
		for _, l := range measured {
			if l.Variant != side.variant || l.Session != session || session == "" {
				continue
			}
			if again(l, measured) {
				side.Replaced++
				if !l.OK {
					side.Broke++
				}
				continue
			}
			side.all = append(side.all, l)
			if s, ok := l.Metrics["bench."+metric]; ok && l.OK && len(l.Invalid) == 0 && s.Stats["median"] > 0 {
				side.Launches = append(side.Launches, abLaunch{l.ID, r.numbers[l.ID], l.Order, s.Stats["median"]})
			}
		}
		if d := decided[side.node]; len(side.all) == 0 && d != nil {
			for _, id := range d.Launches {
				if l, ok := st.LaunchByID(id); ok {
					side.all = append(side.all, l)
				}
			}
		}
		slices.SortFunc(side.Launches, func(x, y abLaunch) int { return x.Order - y.Order })
	}
}

// again reports whether another launch was made in the place of one that does not
// count.
func again(l *ledger.Launch, all []*ledger.Launch) bool {
	return slices.ContainsFunc(all, func(other *ledger.Launch) bool { return other.Replaces == l.ID })
}

// planFix is what a reason tells the owner of a plan to do; the advice says the
// same in flags.
var planFix = regexp.MustCompile(` If that is what knob .*$| ?Make them the same and measure again, or list what may differ in accept_fingerprint of the baseline`)

// ruleMetric is a metric as the rule addresses it.
var ruleMetric = regexp.MustCompile(`\bbench\.(\w+)(?:\.gain)?\b`)

func abReason(who, reason string) string {
	reason = ruleMetric.ReplaceAllString(planFix.ReplaceAllString(reason, ""), "$1")
	return who + armNames(strings.TrimSpace(byFlags(reason)))
}

// byFlags says what a plan would declare as the flag that does it.
func byFlags(text string) string {
	return strings.ReplaceAll(text, "or declare a wider max_lag", "or allow more with --max-lag")
}

func values(launches []abLaunch) (list []float64) {
	for _, l := range launches {
		list = append(list, l.Value)
	}
	return list
}

// estimate fills in how far B is from A, with the bounds of the decision.
func (r *abResult) estimate(c abClaim, d *ledger.Decision) {
	for _, side := range []*abSide{&r.A, &r.B} {
		if m, err := stats.Mean(values(side.Launches)); err == nil {
			side.Value = &m
		}
	}
	if r.A.Value != nil && r.B.Value != nil && *r.A.Value > 0 {
		change := *r.B.Value / *r.A.Value - 1
		r.Change = &change
	}
	if d == nil || len(d.Rules) == 0 {
		return
	}
	r.rates = d.Statistics
	for _, cmp := range d.Rules[0].Comparisons {
		if r.test = cmp.Test; r.test == nil {
			continue
		}
		r.Stopped = r.test.Stop
		for _, bound := range []*float64{r.test.Low, r.test.High} {
			if bound == nil || math.IsNaN(*bound) || math.IsInf(*bound, 0) {
				return
			}
		}
		low, high := c.change(*r.test.Low), c.change(*r.test.High)
		if low > high {
			low, high = high, low
		}
		r.Low, r.High = &low, &high
		return
	}
}
