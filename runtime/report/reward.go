package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// spend adds a launch to a cost.
func spend(c *runtime.Cost, l *ledger.Launch) {
	c.Launches, c.Seconds = c.Launches+1, c.Seconds+l.Seconds
	if l.Crashed() {
		c.Crashed++
	}
	for address, m := range sorted.All(l.Metrics) {
		if _, metric := measure.SplitAddress(address); metric == "output_tokens" {
			c.Tokens += int(math.Round(float64(m.N) * m.Stats["mean"]))
		}
	}
}

// RewardOf is the reward of a run that has ended, from the record up to its end; nil for any other,
// which pays nothing.
func RewardOf(st *store.Store, run string) *runtime.Reward {
	r := &runtime.Reward{Ports: []runtime.Payment{}}
	r.Spent.Decided, r.Before.Decided = map[verdict.Verdict]int{}, map[verdict.Verdict]int{}
	rules := map[string]string{} // by run
	for _, rec := range st.Records() {
		if start := rec.RunStart; start != nil && !start.Aside {
			rules[rec.Run] = cmp.Or(start.Seal, start.Rules)
			if rec.Run == run {
				r.Rules, r.Sealed = rules[run], start.Seal != ""
			}
		}
	}
	costs := func(of string) *runtime.Cost {
		if of == run {
			return &r.Spent
		}
		return &r.Before
	}
	var nodes, open []string // of the plan, and those decided since a run by these rules ended
	starts := map[string]runtime.Starts{}
	newest, paid, variants := map[string]decidedIn{}, map[string]float64{}, map[string]bool{}
	for _, rec := range st.Records() {
		switch {
		case rec.RunStart != nil:
			if costs(rec.Run).Runs++; rec.Run == run {
				nodes = rec.RunStart.Nodes
			}
		case rec.Launch != nil:
			spend(costs(rec.Run), rec.Launch)
			variant, _, _ := strings.Cut(rec.Launch.Variant, "[") // of an alternative
			of := starts[variant]
			if of.Of++; rec.Launch.Crashed() {
				of.Crashed++
			}
			starts[variant] = of
		case rec.Decision != nil && rec.Decision.Kind == ledger.KindFeature:
			node := rec.Decision.Node
			costs(rec.Run).Decided[rec.Decision.Verdict]++
			newest[node] = decidedIn{rec.Decision, rec.Run}
			if !slices.Contains(open, node) {
				open = append(open, node)
			}
		}
		if rec.End == nil || r.Rules == "" || rules[rec.Run] != r.Rules {
			if rec.End != nil && rec.Run == run { // nobody can tell by what it judged
				return nil
			}
			continue
		}
		pays, left := map[string]float64{}, []string(nil)
		for _, node := range open {
			d := newest[node]
			if _, locked := rec.End.Locked[node]; locked {
				left = append(left, node)
			} else if gain, variant := d.proved(st); gain > 0 && !variants[variant] && rules[d.run] == r.Rules {
				pays[node], variants[variant] = gain, true
				paid[node] += gain
			}
		}
		if open = left; rec.Run != run {
			continue
		}
		for _, node := range nodes {
			d, decided := newest[node]
			if _, locked := rec.End.Locked[node]; decided && !locked {
				p := d.payment(starts)
				p.Pays, p.Paid = pays[node], paid[node]
				r.Ports = append(r.Ports, p)
			}
		}
		return r
	}
	return nil
}

// decidedIn is a decision about a feature and the run that made it.
type decidedIn struct {
	*ledger.Decision
	run string
}

// evidence is what the rules read of the candidate that was taken.
func (d decidedIn) evidence() (of gates.Feature) {
	name := d.Feature
	for _, a := range d.Alternatives {
		if a.Chosen {
			name = a.Name
		}
	}
	for _, ev := range d.Evidence {
		if ev.Candidate.Name == name {
			return ev
		}
	}
	return of
}

// proved is the least of the gains over its parent that a port claims and its launches prove, and
// which variant of what that is; 0 if it did not pass, or claims none. That something loses no more
// than a bound is no claim of a gain.
func (d decidedIn) proved(st *store.Store) (gain float64, variant string) {
	ev := d.evidence()
	if d.Verdict != verdict.Pass || len(ev.Candidate.Launches) == 0 || len(ev.Parent.Launches) == 0 {
		return 0, ""
	}
	own, ok := st.LaunchByID(ev.Candidate.Launches[0].ID)
	base, known := st.LaunchByID(ev.Parent.Launches[0].ID)
	if !ok || !known {
		return 0, ""
	}
	least := math.Inf(1)
	for _, r := range d.Rules {
		for _, c := range r.Comparisons {
			t := c.Test
			if !r.Decides || c.Verdict != verdict.Pass || t == nil || !t.Relative() || t.Arm != ev.Candidate.Name ||
				t.Against != ev.Parent.Name {
				continue
			}
			bound := t.Bound()
			switch better := own.Metrics[t.Metric].Better; {
			case bound == nil:
				return 0, ""
			case t.More && t.Threshold >= 0 && (t.Relation == "gain" || better == measure.Higher):
				least = min(least, *bound)
			case !t.More && t.Threshold <= 0 && t.Relation == "change" && better == measure.Lower:
				least = min(least, -*bound)
			}
		}
	}
	if math.IsInf(least, 0) || math.IsNaN(least) {
		return 0, ""
	}
	return max(0, least), own.VariantKey + " " + base.VariantKey
}

// payment is all of a payment but what is paid; starts are those of each variant.
func (d decidedIn) payment(starts map[string]runtime.Starts) runtime.Payment {
	ev := d.evidence()
	p := runtime.Payment{
		Feature: d.Feature, Verdict: d.Verdict, Why: Brief(d.Decision), Run: d.run,
		Attempt: d.Attempt, Claims: []runtime.Proof{},
		Crashes: starts[d.Feature], ParentCrashes: starts[ev.Parent.Name],
	}
	if len(ev.Candidate.Launches) > 0 {
		p.Try = max(1, ev.Try)
	}
	for _, r := range d.Rules {
		for _, c := range r.Comparisons {
			if !r.Decides {
				continue
			}
			claim := runtime.Proof{Rule: r.Name, Text: c.Text, Verdict: c.Verdict}
			if t := c.Test; t != nil {
				claim.Bound, claim.Threshold, claim.Unit, claim.Level = t.Bound(), &t.Threshold, t.OwnUnit(), t.Pass
			}
			p.Claims = append(p.Claims, claim)
		}
	}
	return p
}
