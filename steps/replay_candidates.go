package steps

import (
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// feature decides the criteria of a feature: of each alternative where it chooses,
// and on each engine that confirms it.
func (c *changed) feature(f *plans.Feature) WouldBe {
	node := runtime.FeatureID(f.Name)
	d, ok := c.standing(node)
	if !ok {
		return c.never(node, string(runtime.KindFeature))
	}
	w := WouldBe{Node: node, Kind: string(runtime.KindFeature), Recorded: c.recorded(node)}
	var replayed Replayed
	ev, err := c.Replay.evidence(&replayed, d.Evidence)
	if err != nil {
		w.WouldBe, w.Reasons = verdict.Error, []verdict.Reason{verdict.OfError(err)}
		return w
	}
	w.Reasons = c.doubts(node, replayed)
	var all []*alternative
	for _, candidate := range runtime.Candidates(f) {
		kept := ev.Features[candidate.Name]
		if kept == nil {
			w.WouldBe, w.Unmeasured, w.Reasons = verdict.Inconclusive, true, []verdict.Reason{verdict.New(code.NeverMeasured).On(candidate.Name)}
			return w
		}
		all = append(all, c.candidate(f, candidate, kept, d))
		w.Unmeasured = w.Unmeasured || kept.Broken == verdict.Inconclusive && c.doubted[kept] == verdict.Inconclusive
		w.open = w.open || c.open(kept, all[len(all)-1].decision.Rules)
	}
	best := all[0]
	if w.WouldBe = best.decision.Verdict; f.Choose != nil {
		w.WouldBe, best = verdictOf(all), better(all)
		w.Reasons = append(w.Reasons, c.chosenBy(d, best, w.WouldBe))
	}
	w.Rules = best.decision.Rules
	w.Reasons = append(w.Reasons, best.decision.Reasons...)
	if w.WouldBe.Unlocks() {
		for _, confirm := range f.Confirm {
			v, why, open := c.confirmed(f, confirm)
			w.WouldBe, w.open = verdict.Join(w.WouldBe, v), w.open || open
			w.Reasons = append(w.Reasons, why)
		}
	}
	if w.Accepted = w.WouldBe == verdict.Pass; w.Accepted && f.BuildsOn.Feature != "" && !c.outcomes[f.BuildsOn.Feature].Accepted {
		w.Accepted = false
		w.Reasons = append(w.Reasons, verdict.New(code.WouldNotEnter).On(f.BuildsOn.Feature))
	}
	kept := ev.Features[best.feature.Name]
	if w.Accepted {
		c.entered = append(c.entered, enters(f, &ledger.Decision{Variant: kept.Knobs}))
	}
	kept.Outcome, kept.Accepted = w.WouldBe, w.Accepted
	c.evidence[f.Name] = kept
	return w
}

// candidate decides the criteria of one candidate of a feature on what was kept of
// it by decision d.
func (c *changed) candidate(f, candidate *plans.Feature, kept *gates.Feature, d store.Decided) *alternative {
	_, kept.Max = c.plan.LaunchesOf(f.Name)
	levels := d.Levels
	if len(d.Alternatives) > 0 {
		levels = levelsRead(kept)
	}
	doubt := c.doubt(candidate, kept, d.Run)
	if c.doubted[kept] = doubt.verdict; doubt.other {
		// What was measured is something else than this plan asks for.
		kept.Broken, kept.Cause = doubt.verdict, doubt.why
	}
	if doubt.other && doubt.verdict == verdict.Inconclusive {
		levels = nil // they would be run again with the rest
	}
	all := &gates.Evidence{Features: map[string]*gates.Feature{f.Name: kept}}
	out := &alternative{feature: candidate, decision: &ledger.Decision{Kind: string(runtime.KindFeature)}}
	c.lab.criteria(candidate, all, out.decision)
	out.decision.Verdict = verdict.Join(whole(out.decision, levels, out.decision.Rules), doubt.verdict)
	out.decision.Reasons = wouldSay(out.decision.Rules)
	if !doubt.why.IsZero() && !holds(out.decision.Reasons, doubt.why) {
		out.decision.Reasons = append(out.decision.Reasons, doubt.why)
	}
	for _, l := range levels {
		if l.Verdict != verdict.Pass {
			out.decision.Reasons = append(out.decision.Reasons, verdict.New(code.LevelRecorded).On(l.Name).Is(l.Verdict))
		}
	}
	out.gain = preferred(f.Choose, all, c.lab.settings(candidate))
	return out
}

// holds reports whether a fact is among some or what they follow from.
func holds(reasons []verdict.Reason, fact verdict.Reason) bool {
	return slices.ContainsFunc(reasons, func(r verdict.Reason) bool { return r.Equal(fact) || holds(r.Causes, fact) })
}

// chosenBy is which alternative would have won, and what follows from another
// winner than the recorded one.
func (c *changed) chosenBy(d store.Decided, best *alternative, v verdict.Verdict) verdict.Reason {
	if v != verdict.Pass {
		return verdict.New(code.NoneWouldPass)
	}
	for _, alt := range d.Alternatives {
		if alt.Chosen && alt.Name != best.feature.Name {
			return verdict.New(code.WouldWin, verdict.Text("over", alt.Name)).On(best.feature.Name)
		}
	}
	return verdict.New(code.WouldWin).On(best.feature.Name)
}

// open reports whether an apply would make launches for what rules decided, or may.
func (c *changed) open(kept *gates.Feature, rules []verdict.Rule) bool {
	return c.doubted[kept] != verdict.Pass || slices.ContainsFunc(rules, func(r verdict.Rule) bool { return len(r.Open) > 0 })
}

// confirmed decides the criteria of a confirmation. What is open of it, an apply
// would measure.
func (c *changed) confirmed(f, confirm *plans.Feature) (v verdict.Verdict, why verdict.Reason, open bool) {
	d, ok := c.standing(runtime.FeatureID(confirm.Name))
	if !ok {
		return verdict.Inconclusive, verdict.New(code.NeverOnEngine).On(confirm.Engine), true
	}
	var replayed Replayed
	ev, err := c.Replay.evidence(&replayed, d.Evidence)
	if err != nil {
		return verdict.Error, verdict.OfError(err), true
	}
	kept := ev.Features[f.Name]
	if kept == nil {
		return verdict.Inconclusive, verdict.New(code.NothingOnEngine).On(confirm.Engine), true
	}
	out := c.candidate(f, confirm, kept, d).decision
	return out.Verdict, verdict.New(code.OnEngine).On(confirm.Engine).Is(out.Verdict).From(out.Reasons...), c.open(kept, out.Rules)
}

// wouldSay is why rules came out as they did: those that did not pass, or all.
func wouldSay(rules []verdict.Rule) (reasons []verdict.Reason) {
	worst := slices.ContainsFunc(rules, func(r verdict.Rule) bool { return r.Verdict != verdict.Pass })
	for _, r := range rules {
		if worst && r.Verdict == verdict.Pass {
			continue
		}
		why := unnamed(r)
		if n, most := madeOf(r); len(r.Open) > 0 && n > 0 {
			why.Causes = append(why.Causes, verdict.New(code.MoreNeeded, verdict.Int("n", n), verdict.Int("most", most)))
		}
		reasons = append(reasons, why)
	}
	return reasons
}

// madeOf is how many launches an arm an open rule rests on, and how many it may.
func madeOf(r verdict.Rule) (n, most int) {
	for _, c := range r.Comparisons {
		if t := c.Test; t != nil && t.Stop == verdict.StopOpen {
			n = len(t.Values)
			if len(t.Plan) > 0 {
				most = max(most, t.Plan[len(t.Plan)-1])
			}
		}
	}
	return n, most
}
