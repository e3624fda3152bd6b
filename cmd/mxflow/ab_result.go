package main

import (
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
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

// reason is one of a decision as who has no plan understands it, with the launches of
// the session named as the progress did.
func (r *abResult) reason(of verdict.Reason) verdict.Reason { return abReason(of, r.named) }

func (r *abResult) reasons(list []verdict.Reason) (own []verdict.Reason) {
	for _, of := range list {
		own = append(own, r.reason(of))
	}
	return own
}

// abReason is a reason as who has no plan understands it: A stands for the baseline, a
// metric without the workload that is the only one, a launch under its name, where it
// has one, and a flag for what a plan would declare. What a plan's owner could do is
// said as advice, in flags too.
func abReason(r verdict.Reason, launches map[string]string) verdict.Reason {
	rename := func(text string) string {
		if name, ok := launches[text]; ok {
			return name
		}
		if metric, ok := strings.CutPrefix(text, "bench."); ok && !strings.Contains(metric, " ") {
			return strings.TrimSuffix(metric, ".gain")
		}
		return armName(text)
	}
	r = r.From(r.Causes...)
	for i, c := range r.Causes {
		r.Causes[i] = abReason(c, launches)
	}
	args := verdict.Args{}
	for name, v := range r.Args {
		if name != "recorded" { // by which it is looked up
			v.Text, v.List = rename(v.Text), slices.Clone(v.List)
			for i := range v.List {
				v.List[i] = rename(v.List[i])
			}
		}
		args[name] = v
	}
	switch r.Code {
	case code.DiffersUntested:
		delete(args, "knobs")
	case code.EnvironmentChanged, code.EnvironmentApart:
		args["advised"] = verdict.Value{Text: "yes"}
	case code.WokenLate:
		args["flag"] = verdict.Value{Text: "--max-lag"}
	}
	if r.Subject, r.Args = rename(r.Subject), args; len(args) == 0 {
		r.Args = nil
	}
	return r
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
