package decide

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Goals are the requirements of a plan on each candidate and phase, by node, as a run
// records them before it measures anything.
func Goals(p *plans.Plan) map[string]ledger.Goal {
	out := map[string]ledger.Goal{}
	for _, ph := range p.Phases {
		var passes []ledger.Compare
		for _, f := range ph.Features {
			for _, candidate := range slices.Concat(runtime.Candidates(f), f.Confirm) {
				goal := goalOf(Settings(p, candidate), decisive(candidate))
				if f.Choose != nil {
					goal.Prefer = f.Choose.Prefer
				}
				out[runtime.FeatureID(candidate.Name)] = goal
			}
			passes = append(passes, ledger.Compare{Text: "feature " + f.Name + " passes", Reads: []string{f.Name}})
		}
		out[runtime.PhaseID(ph.Name)] = ledger.Goal{Compares: passes}
		if ph.Gate != nil {
			out[runtime.PhaseID(ph.Name)] = goalOf(settingsOfGate(p, ph), ph.Gate.Rules)
		}
	}
	return out
}

func goalOf(s gates.Settings, rules []*plans.Rule) ledger.Goal {
	g := ledger.Goal{FalsePass: s.FalsePass, FalseFail: s.FalseFail, First: s.Min, Alternatives: max(1, s.Alternatives)}
	for _, r := range rules {
		if r.Cond == nil {
			continue
		}
		for _, part := range r.Cond.Parts() {
			g.Compares = append(g.Compares, required(part))
		}
	}
	return g
}

// required is a part of a rule as a run records it.
func required(part *plans.Cond) ledger.Compare {
	out := ledger.Compare{Text: textOf(part)}
	for _, in := range part.Inputs() {
		if in.Kind == plans.InputTarget {
			out.Text += fmt.Sprintf(" (%s = %v)", in.Path, in.Number)
		} else {
			out.Reads = append(out.Reads, in.Feature)
		}
	}
	c := part.Compare
	if c == nil || c.Metric == nil {
		return out
	}
	in := c.Metric.Quantity()
	// What is tested has no equality; a count and a range have.
	out.AtLeast, out.Threshold, out.Strict = c.AtLeast, c.Threshold, c.Strict && !c.Tested()
	if in.Relation == plans.Gain { // a gain and a change are two names for one ratio
		if in.Relation = plans.Change; in.Better == string(measure.Lower) {
			out.AtLeast, out.Threshold = !c.AtLeast, -c.Threshold
		}
	}
	out.Metric = strings.Join([]string{
		in.Feature, in.LaunchAddress(), in.Stat, string(in.Against),
		string(in.Relation),
	}, " ")
	return out
}

func textOf(c *plans.Cond) (text string) {
	negated := c.Negated
	switch {
	case c.Compare != nil:
		text, negated = c.Compare.Text, c.Compare.Negated
	case c.Truth != nil:
		text = c.Truth.Path
	default:
		parts := make([]string, len(c.Args))
		for i, arg := range c.Args {
			parts[i] = textOf(arg)
		}
		return "(" + strings.Join(parts, " "+c.Op+" ") + ")"
	}
	if negated {
		return "not (" + text + ")"
	}
	return text
}

// relaxed reports which requirements on a node are missing or easier than when launches
// that it rests on were seen: for each feature, compared with those of the run that
// launched them. None if earlier launches passed rules that were as strict: then nothing
// was fitted to these launches.
func (v *View) relaxed(node string, evidence []gates.Feature) (why []verdict.Reason) {
	for _, ev := range evidence {
		then := v.goalsAt(ev)
		if !then.recorded {
			continue
		}
		relaxed := relaxedSince(then.goals, v.Goals, node, ev, then.variant)
		// That it passed then does not excuse picking it now.
		picked := verdict.Holds(relaxed, code.AskedAfter.Kind) || verdict.Holds(relaxed, code.PreferMoved.Kind)
		if len(relaxed) == 0 || !picked && passedEarlier(v.records(), node, ev, then.variant) {
			continue
		}
		for _, r := range relaxed {
			if !slices.ContainsFunc(why, r.Equal) {
				why = append(why, r)
			}
		}
	}
	return why
}

func isPhase(node string) bool { return strings.HasPrefix(node, runtime.PhaseID("")) }

// relaxedSince lists the requirements on a node's launches that are weaker now than then.
// For a phase these are its own, or those of one that is gone: renaming a phase relaxes
// nothing. variant is the name that the candidate had then.
func relaxedSince(then, now map[string]ledger.Goal, node string, ev gates.Feature,
	variant string,
) (why []verdict.Reason) {
	names := map[string]string{}
	if old, name := featureOf(variant), featureOf(ev.Candidate.Name); old != name {
		names[old], names[variant] = name, ev.Candidate.Name
	}
	for _, id := range []string{runtime.FeatureID(variant), node} {
		if was := then[id]; !isPhase(node) && len(was.Compares) > 0 {
			return easierCompares(was, now[node], renamed(was.Compares, names))
		}
	}
	if !isPhase(node) || then == nil {
		return []verdict.Reason{verdict.Say("relaxed.unrecorded",
			"the requirements at the start of session {subject} are not on record").On(ev.Session)}
	}
	known := false
	reads := func(id string) []ledger.Compare {
		return renamed(slices.DeleteFunc(slices.Clone(then[id].Compares), func(c ledger.Compare) bool {
			return !slices.ContainsFunc(c.Reads, func(read string) bool {
				return read == ev.Name || read == featureOf(variant) || plans.SameStep(read, ev.Name)
			})
		}), names)
	}
	for _, id := range slices.Sorted(maps.Keys(then)) {
		reading := reads(id)
		if other, stays := now[id]; !isPhase(id) || id != node && stays && len(reads(node)) > 0 {
			continue
		} else if id != node && stays { // it may have handed its feature over
			reading = slices.DeleteFunc(reading, func(c ledger.Compare) bool {
				return slices.ContainsFunc(other.Compares, func(o ledger.Compare) bool { return o.Covers(c) })
			})
		}
		if len(reading) > 0 {
			why, known = append(why, easierCompares(then[id], now[node], reading)...), true
		}
	}
	if !known && plans.OfMatrix(ev.Name) {
		// Naming a cell after all of them were seen is picking it.
		why = append(why, verdict.New(code.AskedAfter).On(ev.Name))
	}
	return why
}

// renamed are comparisons under the names that features have now.
func renamed(compares []ledger.Compare, names map[string]string) []ledger.Compare {
	out := slices.Clone(compares)
	for i, c := range out {
		if old, metric, ok := strings.Cut(c.Metric, " "); ok && names[old] != "" {
			out[i].Metric = names[old] + " " + metric
		}
	}
	return out
}

// easierCompares is which comparisons are missing or easier, and which error rates are now easier
// to keep.
func easierCompares(was, is ledger.Goal, compares []ledger.Compare) (why []verdict.Reason) {
	for _, c := range compares {
		if slices.ContainsFunc(is.Compares, func(now ledger.Compare) bool { return now.Covers(c) }) {
			continue
		}
		args := []verdict.Arg{verdict.Text("was", c.Text)}
		if i := slices.IndexFunc(is.Compares, func(now ledger.Compare) bool {
			return c.Metric != "" && now.Metric == c.Metric && now.AtLeast == c.AtLeast
		}); i >= 0 {
			args = append(args, verdict.Text("is", is.Compares[i].Text))
		}
		why = append(why, verdict.Say("relaxed.demand", "{was} → {is?{is}}{is!no longer required}", args...))
	}
	if was.First == 0 || is.First == 0 {
		return why // of a phase without rules of its own
	}
	if is.FalsePass > was.FalsePass {
		why = append(why, verdict.New(code.SettingMoved, verdict.Num("was", was.FalsePass, ""),
			verdict.Num("is", is.FalsePass, "")).On("false_pass"))
	}
	if is.FalseFail < was.FalseFail {
		why = append(why, verdict.New(code.SettingMoved, verdict.Num("was", was.FalseFail, ""),
			verdict.Num("is", is.FalseFail, "")).On("false_fail"))
	}
	if is.Alternatives < was.Alternatives {
		why = append(why, verdict.Say("again.alternatives_moved", "it was one of {was} alternatives, now one of {is}",
			verdict.Int("was", was.Alternatives), verdict.Int("is", is.Alternatives)))
	}
	if was.Prefer != "" && is.Prefer != was.Prefer {
		why = append(why, verdict.New(code.PreferMoved, verdict.Text("was", was.Prefer), verdict.Text("is", is.Prefer)))
	}
	if ledger.FirstMoved(was.First, is.First) {
		why = append(why, verdict.Say("again.first_look_moved",
			"the first look was at {was} launches per arm, now at {is}",
			verdict.Int("was", was.First), verdict.Int("is", is.First)))
	}
	return why
}

// launchGoals are what a run required that made the first launch of a candidate in its session, whether it
// counts or not, and the candidate's name then; not recorded if no record says so.
type launchGoals struct {
	goals    map[string]ledger.Goal
	variant  string
	recorded bool
}

// goalsAt is what was required of a candidate when it was first launched.
func (v *View) goalsAt(ev gates.Feature) launchGoals {
	if len(ev.Candidate.Launches) == 0 { // numbers that a level or a step found
		ev.Candidate.Launches = []gates.Launch{ev.Candidate.Qualified}
	}
	launch := ev.Candidate.Launches[0].ID
	return remember(v.Cache.goals, [2]string{ev.Session, launch}, func() launchGoals {
		goals := map[string]map[string]ledger.Goal{}
		first := map[string]*ledger.Record{} // by variant
		for _, r := range v.records() {
			switch l := r.Launch; {
			case r.RunStart != nil:
				goals[r.Run] = r.RunStart.Goals
			case l == nil || l.Session != ev.Session && l.ID != launch:
			default:
				if _, known := first[l.VariantKey]; !known {
					first[l.VariantKey] = r
				}
				if l.ID == launch {
					of := first[l.VariantKey]
					return launchGoals{goals[of.Run], of.Launch.Variant, true}
				}
			}
		}
		return launchGoals{}
	})
}

// featureOf is the feature of a candidate, which may be one of several alternatives.
func featureOf(variant string) string {
	name, _, _ := strings.Cut(variant, "[")
	return name
}

// passedEarlier reports whether launches of a session passed for a node before.
func passedEarlier(records iter.Seq2[int, *ledger.Record], node string, ev gates.Feature, variant string) bool {
	own := func(name string) bool { return name == ev.Candidate.Name || name == variant }
	began := false
	for _, r := range records {
		began = began || r.Launch != nil && r.Launch.Session == ev.Session
		d := r.Decision
		if d == nil {
			continue
		}
		rests := slices.ContainsFunc(d.Evidence, func(e gates.Feature) bool {
			return e.Session == ev.Session &&
				(len(ev.Candidate.Launches) > 0 || e.Candidate.Qualified.ID == ev.Candidate.Qualified.ID) &&
				(own(e.Candidate.Name) || isPhase(node) && (e.Name == ev.Name || e.Name == featureOf(variant)))
		})
		came := d.Verdict
		for _, alt := range d.Alternatives {
			if own(alt.Name) {
				came = alt.Verdict
			}
		}
		// A phase without a gate keeps no evidence.
		of := d.Node == node && (rests || d.Kind == ledger.KindPhase && began)
		if !isPhase(node) {
			of = rests && (d.Kind == ledger.KindFeature || d.Kind == ledger.KindCriteria)
		}
		if of && came == verdict.Pass {
			return true
		}
	}
	return false
}

// withholdRelaxed withdraws a pass if rules were relaxed after their launches were seen.
func (v *View) withholdRelaxed(node string, out *ledger.Decision, evidence []gates.Feature) {
	if out.Verdict != verdict.Pass || len(evidence) == 0 {
		return
	}
	if loosened := v.relaxed(node, evidence); len(loosened) > 0 {
		out.Verdict = verdict.Inconclusive
		out.Reasons = append([]verdict.Reason{
			verdict.New(code.Withheld).From(verdict.New(code.Relaxed).From(loosened...)),
		}, out.Reasons...)
	}
}

// NeedsFreshLaunches is why a member's launches may no longer decide and new ones must be made: a rule
// was relaxed after they were seen, and on them it would pass, or might with more of
// them. No fact if they may decide.
func (m *Member) NeedsFreshLaunches(v *View, launches []*ledger.Launch) (verdict.Reason, error) {
	seen := gates.Feature{Name: ruleName(m.Feature), Candidate: gates.Arm{Name: m.Feature.Name}}
	for _, l := range launches {
		if seen.Session = l.Session; l.VariantKey == m.Arms.Candidate.Key {
			seen.Candidate.Launches = append(seen.Candidate.Launches, gates.Launch{ID: l.ID})
		}
	}
	if len(seen.Candidate.Launches) == 0 {
		return verdict.Reason{}, nil
	}
	relaxed := func(node string) verdict.Reason {
		loosened := v.relaxed(node, []gates.Feature{seen})
		// Among what was measured another preference picks without launches.
		loosened = slices.DeleteFunc(loosened, func(r verdict.Reason) bool { return r.Kind == code.PreferMoved.Kind })
		if len(loosened) == 0 {
			return verdict.Reason{}
		}
		return verdict.New(code.Relaxed).From(loosened...)
	}
	now := m.after(launches)
	all := evidence(now.evidence(v, now.DecidingLaunches(launches)))
	own := gates.Decide(decisive(m.Feature), all, Settings(v.Plan, m.Feature))
	if why := relaxed(runtime.FeatureID(m.Feature.Name)); !why.IsZero() && m.mayPass(own, launches) {
		return why, nil
	}
	for _, ph := range v.Plan.Phases {
		features, rules := ph.Features, own
		if ph.Gate != nil {
			features = gateFeatures(v.Plan, ph)
		}
		if m.Feature.Engine != "" ||
			!slices.ContainsFunc(features, func(f *plans.Feature) bool { return f.Name == seen.Name }) {
			continue // phases read the first engine
		}
		why := relaxed(runtime.PhaseID(ph.Name))
		if why.IsZero() {
			continue
		}
		if ph.Gate != nil {
			if err := v.readOtherFeatures(all, ph); err != nil {
				return verdict.Reason{}, err
			}
			rules = gates.Decide(ph.Gate.Rules, all, settingsOfGate(v.Plan, ph))
		}
		if m.mayPass(rules, launches) {
			return why, nil
		}
	}
	return verdict.Reason{}, nil
}

// mayPass reports whether rules pass on launches, or might with more, or with what is not
// decided yet.
func (m *Member) mayPass(rules []verdict.Rule, launches []*ledger.Launch) bool {
	few := m.RoundsOf(launches) < m.Least
	return !slices.ContainsFunc(rules, func(r verdict.Rule) bool {
		missing := slices.ContainsFunc(r.Inputs, func(in verdict.Input) bool { return !in.Missing.IsZero() })
		return r.Verdict == verdict.Fail || r.Verdict != verdict.Pass && len(r.Open) == 0 && !missing && !few
	})
}
