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
		for _, f := range ph.Features {
			for _, candidate := range slices.Concat(runtime.Candidates(f), f.Confirm) {
				goal := goalOf(Settings(p, candidate), demands(decisive(candidate)))
				if f.Choose != nil {
					goal.Prefer = f.Choose.Prefer
				}
				out[runtime.FeatureID(candidate.Name)] = goal
			}
		}
		if ph.Gate != nil {
			out[runtime.PhaseID(ph.Name)] = goalOf(SettingsOfGate(p, ph), demands(ph.Gate.Rules))
			continue
		}
		var all []ledger.Demand
		for _, f := range ph.Features {
			all = append(all, ledger.Demand{Text: "feature " + f.Name + " passes", Reads: []string{f.Name}})
		}
		out[runtime.PhaseID(ph.Name)] = ledger.Goal{Demands: all}
	}
	return out
}

func goalOf(s gates.Settings, demands []ledger.Demand) ledger.Goal {
	return ledger.Goal{Demands: demands, FalsePass: s.FalsePass, FalseFail: s.FalseFail, First: s.Min, Alternatives: max(1, s.Alternatives)}
}

func demands(rules []*plans.Rule) (out []ledger.Demand) {
	for _, r := range rules {
		if r.Program != nil {
			out = append(out, demand(r.Program.Logic))
		}
	}
	return out
}

// demand is a rule, or a part of one, in a form comparable with another.
func demand(l *plans.Logic) ledger.Demand {
	switch l.Op {
	case plans.LogicCompare:
		return compared(l.Leaf, l.Negated)
	case plans.LogicTruth:
		return ledger.Demand{Text: unless(l.Negated, l.Truth.Path), Reads: []string{l.Truth.Feature}}
	}
	var parts []ledger.Demand
	var texts, reads []string
	for _, arg := range l.Args {
		part := demand(arg)
		parts, texts, reads = append(parts, part), append(texts, part.Text), append(reads, part.Reads...)
	}
	d := ledger.Demand{Text: strings.Join(texts, " "+l.Op+" "), All: parts, Reads: reads}
	if l.Op == plans.LogicOr {
		d.All, d.Any = nil, parts
	}
	return d
}

func unless(negated bool, text string) string {
	if negated {
		return "not (" + text + ")"
	}
	return text
}

// compared is a comparison as a demand, on the number that it tests, if there is one.
func compared(leaf *plans.Leaf, negated bool) ledger.Demand {
	d := ledger.Demand{Text: unless(negated, leaf.Text)}
	for _, in := range leaf.Inputs() {
		if in.Kind == plans.InputTarget {
			d.Text += fmt.Sprintf(" (%s = %v)", in.Path, in.Number)
		} else {
			d.Reads = append(d.Reads, in.Feature)
		}
	}
	c := leaf.Claim
	switch {
	case c == nil:
	case c.Form == verdict.Exact:
		counted(&d, leaf, negated)
	default:
		d.Number, d.More, d.Limit = numberOf(c.Input), c.More, c.Threshold
		// A range has no noise; for a test, more than a limit is the same as at least it.
		d.Strict = c.Strict && c.Form == verdict.Range
		if c.Input.Ratio() {
			// A gain and a change are two names for one ratio.
			if c.Input.Relation == plans.Gain && c.Input.Better == string(measure.Lower) {
				d.More, d.Limit = !c.More, -c.Threshold
			}
		}
	}
	return d
}

// counted is an exact comparison of one number with one of the plan's.
func counted(d *ledger.Demand, leaf *plans.Leaf, negated bool) {
	op, own, limit := leaf.Op, leaf.Left, leaf.Right
	if own.Input == nil || !own.Input.Measured() {
		op, own, limit = plans.Turned(op), limit, own
	}
	if negated {
		op = plans.Denied[op]
	}
	if own.Input == nil || own.Input.Kind != plans.InputMetric && own.Input.Kind != plans.InputFound || slices.ContainsFunc(limit.Inputs(), func(in *plans.Input) bool { return in.Kind != plans.InputTarget }) {
		return
	}
	v, err := limit.Value(func(in *plans.Input) any { return in.Number })
	number, ok := v.(float64)
	if _, order := plans.Denied[op]; err != nil || !ok || !order {
		return
	}
	d.Number, d.Limit = numberOf(own.Input), number
	d.More, d.Strict = strings.HasPrefix(op, ">"), len(op) == 1
}

// numberOf names an input's number, however the plan addresses it.
func numberOf(in *plans.Input) string {
	relation := string(in.Relation)
	if in.Ratio() {
		relation = "ratio"
	}
	stat := in.Stat
	if stat == "p50" {
		stat = "median"
	}
	cell := in.Cell
	if in.Kind == plans.InputFound {
		cell = in.LaunchAddress()
	}
	return strings.Join([]string{in.Feature, cell, in.Metric, stat, string(in.Against), relation}, " ")
}

// goals are those of the view's plan.
func (v *View) goals() map[string]ledger.Goal {
	if v.Goals != nil {
		return v.Goals()
	}
	return Goals(v.Plan)
}

// Relaxed reports which requirements on a node were relaxed after launches that it rests
// on were seen: for each feature, compared with those of the run that launched them. None
// if today's are as strict, or if earlier launches passed rules that were: then nothing
// was fitted to these launches.
func Relaxed(records iter.Seq2[int, *ledger.Record], goals map[string]ledger.Goal, node string, evidence []ledger.Evidence) (why []verdict.Reason) {
	for _, ev := range evidence {
		then, there := seenBy(records, ev)
		if !there {
			continue
		}
		loosened := then.loosened(goals, node, ev)
		// That it passed then does not excuse picking it now.
		picked := verdict.Holds(loosened, code.AskedAfter) || verdict.Holds(loosened, code.PreferMoved)
		if len(loosened) == 0 || !picked && passedBefore(records, node, ev, then) {
			continue
		}
		for _, l := range loosened {
			if !slices.ContainsFunc(why, l.Equal) {
				why = append(why, l)
			}
		}
	}
	return why
}

func isPhase(node string) bool { return strings.HasPrefix(node, runtime.PhaseID("")) }

// loosened is what was relaxed since, compared with what was asked of a node then.
func (a asked) loosened(now map[string]ledger.Goal, node string, ev ledger.Evidence) []verdict.Reason {
	if isPhase(node) && a.goals != nil {
		return a.loosenedPhase(now, node, ev.Feature)
	}
	was, ok := a.goals[node]
	if !ok {
		was, ok = a.goals[runtime.FeatureID(a.variant)] // it had another name then
	}
	if !ok {
		return []verdict.Reason{verdict.New(code.GoalsUnrecorded).On(ev.Session)}
	}
	return loosenedGoal(was, now[node], was.Flat())
}

// loosenedPhase is what a phase, or one that is gone, no longer requires of a feature's
// launches: renaming a phase relaxes nothing.
func (a asked) loosenedPhase(now map[string]ledger.Goal, node, feature string) (loosened []verdict.Reason) {
	known := false
	for _, id := range slices.Sorted(maps.Keys(a.goals)) {
		if _, stays := now[id]; !isPhase(id) || id != node && stays {
			continue
		}
		var reading []ledger.Demand
		for _, d := range a.goals[id].Flat() {
			if _, there := a.goals[runtime.FeatureID(feature)]; !there {
				d = d.Renamed(a.feature(), feature)
			}
			if slices.ContainsFunc(d.Reads, func(read string) bool { return read == feature || plans.SameStep(read, feature) }) {
				reading = append(reading, d)
			}
		}
		if len(reading) > 0 {
			loosened, known = append(loosened, loosenedGoal(a.goals[id], now[node], reading)...), true
		}
	}
	if !known && plans.OfMatrix(feature) {
		// Naming a cell after all of them were seen is picking it.
		loosened = append(loosened, verdict.New(code.AskedAfter).On(feature))
	}
	return loosened
}

// feature is the name that the feature had.
func (a asked) feature() string {
	name, _, _ := strings.Cut(a.variant, "[")
	return name
}

// loosenedGoal is which demands were dropped, and which error rates are now easier to
// keep.
func loosenedGoal(was, is ledger.Goal, demands []ledger.Demand) (loosened []verdict.Reason) {
	all := ledger.Demand{All: is.Flat()}
	for _, d := range demands {
		if slices.ContainsFunc(all.All, func(now ledger.Demand) bool { return now.Implies(d) }) {
			continue
		}
		args := []verdict.Arg{verdict.Text("was", d.Text)}
		if now, ok := all.Find(d); ok {
			args = append(args, verdict.Text("is", now.Text))
		}
		loosened = append(loosened, verdict.New(code.Loosened, args...))
	}
	if was.First == 0 || is.First == 0 {
		return loosened // of a phase without rules of its own
	}
	moved := func(easier bool, name string, was, is float64) {
		if easier {
			loosened = append(loosened, verdict.New(code.SettingMoved, verdict.Num("was", was, ""), verdict.Num("is", is, "")).On(name))
		}
	}
	moved(is.FalsePass > was.FalsePass, "false_pass", was.FalsePass, is.FalsePass)
	moved(is.FalseFail < was.FalseFail, "false_fail", was.FalseFail, is.FalseFail)
	if is.Alternatives < was.Alternatives {
		loosened = append(loosened, verdict.New(code.AlternativesMoved, verdict.Int("was", was.Alternatives), verdict.Int("is", is.Alternatives)))
	}
	if was.Prefer != "" && is.Prefer != was.Prefer {
		loosened = append(loosened, verdict.New(code.PreferMoved, verdict.Text("was", was.Prefer), verdict.Text("is", is.Prefer)))
	}
	if ledger.FirstMoved(was.First, is.First) {
		loosened = append(loosened, verdict.New(code.FirstLookMoved, verdict.Int("was", was.First), verdict.Int("is", is.First)))
	}
	return loosened
}

// asked is what a run that launched something required, and the candidate's name then.
type asked struct {
	goals   map[string]ledger.Goal
	variant string
}

// seenBy is the run that made the first launch of a candidate in its session, whether it
// counts or not; absent if no record says so.
func seenBy(records iter.Seq2[int, *ledger.Record], ev ledger.Evidence) (then asked, there bool) {
	launches := ev.Candidate.Launches
	if len(launches) == 0 {
		return then, false
	}
	goals := map[string]map[string]ledger.Goal{}
	first := map[string]asked{} // by variant
	for _, r := range records {
		switch l := r.Launch; {
		case r.RunStart != nil:
			goals[r.Run] = r.RunStart.Goals
		case l == nil || l.Session != ev.Session:
		default:
			if _, known := first[l.VariantKey]; !known {
				first[l.VariantKey] = asked{goals[r.Run], l.Variant}
			}
			if l.ID == launches[0] {
				return first[l.VariantKey], true
			}
		}
	}
	return then, false
}

// passedBefore reports whether launches of a session passed for a node before, without a
// person's override.
func passedBefore(records iter.Seq2[int, *ledger.Record], node string, ev ledger.Evidence, then asked) bool {
	began := false
	for _, r := range records {
		began = began || r.Launch != nil && r.Launch.Session == ev.Session
		d := r.Decision
		if d == nil || len(d.OnSeenData) > 0 || d.Retraction != nil {
			continue
		}
		if isPhase(node) {
			// A phase without a gate keeps no evidence.
			ungated := d.Kind == ledger.KindPhase && began
			if d.Node == node && d.Verdict == verdict.Pass && (ungated || slices.ContainsFunc(d.Evidence, func(e ledger.Evidence) bool {
				return e.Session == ev.Session && (e.Feature == ev.Feature || e.Feature == then.feature())
			})) {
				return true
			}
			continue
		}
		if d.Kind != ledger.KindFeature && d.Kind != ledger.KindCriteria || !slices.ContainsFunc(d.Evidence, func(e ledger.Evidence) bool {
			return e.Session == ev.Session && (e.Candidate.Name == ev.Candidate.Name || e.Candidate.Name == then.variant)
		}) {
			continue
		}
		came := d.Verdict
		for _, alt := range d.Alternatives {
			if alt.Name == ev.Candidate.Name || alt.Name == then.variant {
				came = alt.Verdict
			}
		}
		if came == verdict.Pass {
			return true
		}
	}
	return false
}

// onSeen withdraws a pass if rules were relaxed after their launches were seen, unless a
// person lets them decide: then the decision says so.
func (v *View) onSeen(node string, out *ledger.Decision, evidence []ledger.Evidence) {
	if out.Verdict != verdict.Pass || len(evidence) == 0 {
		return
	}
	loosened := Relaxed(v.records(), v.goals(), node, evidence)
	if len(loosened) == 0 {
		return
	}
	why := verdict.New(code.Relaxed).From(loosened...)
	if v.OnSeenData {
		out.OnSeenData = append(out.OnSeenData, why)
		out.Reasons = append([]verdict.Reason{verdict.New(code.OnSeenData).From(why)}, out.Reasons...)
		return
	}
	out.Verdict = verdict.Inconclusive
	out.Reasons = append([]verdict.Reason{verdict.New(code.Withheld).From(why)}, out.Reasons...)
}

// restsOnSeen marks a pass that rests on features decided on seen data, unless it has a
// mark of its own.
func (v *View) restsOnSeen(out *ledger.Decision, features []*plans.Feature) {
	if out.Verdict != verdict.Pass || len(out.OnSeenData) > 0 {
		return
	}
	for _, f := range features {
		id := runtime.FeatureID(f.Name)
		if d := v.Outcome(id); d != nil && len(d.OnSeenData) > 0 {
			why := verdict.New(code.RestsOnSeenData).On(id)
			out.OnSeenData, out.Reasons = append(out.OnSeenData, why), append([]verdict.Reason{why}, out.Reasons...)
		}
	}
}

// Fresh is why a member's launches may no longer decide and new ones must be made: a rule
// was relaxed after they were seen, and on them it would pass, or might with more of
// them. No fact if they may decide.
func (m *Member) Fresh(v *View, launches []*ledger.Launch) (verdict.Reason, error) {
	seen := ledger.Evidence{Feature: ReadAs(m.Feature), Candidate: ledger.Arm{Name: m.Feature.Name}}
	for _, l := range launches {
		if seen.Session = l.Session; l.VariantKey == m.Arms.Candidate.Key {
			seen.Candidate.Launches = append(seen.Candidate.Launches, l.ID)
		}
	}
	if v.OnSeenData || len(seen.Candidate.Launches) == 0 {
		return verdict.Reason{}, nil
	}
	relaxed := func(node string) verdict.Reason {
		if loosened := Relaxed(v.records(), v.goals(), node, []ledger.Evidence{seen}); len(loosened) > 0 {
			return verdict.New(code.Relaxed).From(loosened...)
		}
		return verdict.Reason{}
	}
	all := &gates.Evidence{Features: map[string]*gates.Feature{seen.Feature: m.evidence(v, m.Took(launches))}}
	own := gates.Decide(decisive(m.Feature), all, Settings(v.Plan, m.Feature))
	if why := relaxed(runtime.FeatureID(m.Feature.Name)); !why.IsZero() && m.mayPass(own, launches) {
		return why, nil
	}
	for _, ph := range v.Plan.Phases {
		if m.Feature.Engine != "" {
			break // phases read the first engine
		}
		read := own
		if ph.Gate == nil {
			if !slices.ContainsFunc(ph.Features, func(f *plans.Feature) bool { return f.Name == seen.Feature }) {
				continue
			}
		} else {
			if !slices.ContainsFunc(GateFeatures(v.Plan, ph), func(f *plans.Feature) bool { return f.Name == seen.Feature }) {
				continue
			}
			if err := v.beside(all, ph); err != nil {
				return verdict.Reason{}, err
			}
			read = gates.Decide(ph.Gate.Rules, all, SettingsOfGate(v.Plan, ph))
		}
		if why := relaxed(runtime.PhaseID(ph.Name)); !why.IsZero() && m.mayPass(read, launches) {
			return why, nil
		}
	}
	return verdict.Reason{}, nil
}

// mayPass reports whether rules pass on launches, or might with more, or with what is not
// decided yet.
func (m *Member) mayPass(rules []verdict.Rule, launches []*ledger.Launch) bool {
	taken := m.Took(launches)
	few := len(taken)/len(m.Launched) < m.Least
	return !slices.ContainsFunc(rules, func(r verdict.Rule) bool {
		missing := slices.ContainsFunc(r.Inputs, func(in verdict.Input) bool { return !in.Missing.IsZero() })
		return r.Verdict == verdict.Fail || r.Verdict != verdict.Pass && len(r.Open) == 0 && !missing && !few
	})
}
