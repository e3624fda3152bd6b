package decide

import (
	"maps"
	"math"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Member is what of a session is decided together: a candidate with its parent. Members
// share the launches of their arms.
type Member struct {
	// Feature is what the candidate is; of a row of a table, one without criteria.
	Feature *plans.Feature
	Arms    Arms
	// Launched are the keys of the variants launched for it: of a candidate the parent,
	// itself, and the baseline if rules compare with it and it is neither.
	Launched []string
	// Alone is set for a row: it counts without its parent too, which has a row of its own.
	Alone bool
	// Lost is why arms dropped out, by key: the rest continues without them.
	Lost map[string]verdict.Reason
	// Least and Most are in launches per arm.
	Least, Most int
	// Rounds is how many rounds its decision rests on; Open is set while more are wanted.
	Rounds int
	Open   bool
	// Asked are the rules that the last look tested for whether launches could still
	// settle them, up to a set for which they could.
	Asked []verdict.Rule
}

// NewMember returns what one feature needs of a session.
func NewMember(p *plans.Plan, f *plans.Feature, a Arms, launched []string) Member {
	m := Member{Feature: f, Arms: a, Launched: launched, Lost: map[string]verdict.Reason{}, Open: true}
	m.Least, m.Most = p.LaunchesOf(ruleName(f))
	if ruleReads(p, f, func(in *plans.Input) bool { return in.Stat == "n" }) {
		m.Least = m.Most
	}
	return m
}

// NewRow returns what a row beside a reference, its parent, needs of a session. No rule needs more or fewer
// launches of it.
func NewRow(f *plans.Feature, a Arms, launched []string, launches int) Member {
	return Member{
		Feature: f, Arms: a, Alone: true, Launched: launched, Lost: map[string]verdict.Reason{},
		Least: launches, Most: launches, Open: true,
	}
}

// Has reports whether a variant is launched for it.
func (m *Member) Has(key string) bool { return slices.Contains(m.Launched, key) }

// DropArm drops an arm, with the reason; it reports false for one without which there is no
// comparison.
func (m *Member) DropArm(key string, why verdict.Reason) bool {
	lost := string(plans.Root)
	switch {
	case !m.Has(key), key == m.Arms.Candidate.Key, key == m.Arms.Parent.Key && !m.Alone:
		return false
	case key == m.Arms.Parent.Key:
		lost = m.Arms.Parent.Name
	}
	m.Lost = maps.Clone(m.Lost)
	m.Lost[key] = verdict.New(code.ReferenceLost).On(lost).From(why)
	m.Launched = slices.DeleteFunc(slices.Clone(m.Launched), func(k string) bool { return k == key })
	return true
}

// NotReplaced is the reason that a launch of a session does not count and is not replaced.
func NotReplaced(l *ledger.Launch, all []*ledger.Launch) verdict.Reason {
	_, why := NotCounted(l)
	return verdict.Say("session.launch_lost", "launch {number} ({variant})",
		verdict.Int("number", ledger.Numbers(all)[l.ID]), verdict.Text("variant", l.Variant)).On(l.ID).From(why...)
}

// Slots returns the launches of a variant by the round that they were made for.
func Slots(launches []*ledger.Launch, key string) [][]*ledger.Launch {
	slots := map[int][]*ledger.Launch{}
	for _, l := range launches {
		if l.VariantKey == key {
			slots[l.Ordinal] = append(slots[l.Ordinal], l)
		}
	}
	var out [][]*ledger.Launch
	for _, ordinal := range slices.Sorted(maps.Keys(slots)) {
		out = append(out, slots[ordinal])
	}
	return out
}

// DropLostArms drops the arms that by these launches get no more, as the session that made
// them did.
func (m *Member) DropLostArms(launches []*ledger.Launch) { *m = m.after(launches) }

// after is the member once these launches were made.
func (m Member) after(launches []*ledger.Launch) Member {
	for _, key := range m.Launched {
		for _, slot := range Slots(launches, key) {
			if !slices.ContainsFunc(slot, Usable) && !Replaced(slot) {
				m.DropArm(key, NotReplaced(slot[len(slot)-1], launches))
			}
		}
	}
	return m
}

// RoundsOf is how many rounds of these launches its decision rests on.
func (m Member) RoundsOf(launches []*ledger.Launch) int {
	return len(m.DecidingLaunches(launches)) / max(1, len(m.after(launches).Launched))
}

// DecidingLaunches returns the launches that its decision rests on: of every arm that did not
// drop out, those of the rounds in which all of these were launched.
func (m Member) DecidingLaunches(launches []*ledger.Launch) []*ledger.Launch {
	m = m.after(launches)
	rounds := map[int][]*ledger.Launch{}
	for _, launch := range launches {
		if m.Has(launch.VariantKey) && Usable(launch) {
			rounds[launch.Ordinal] = append(rounds[launch.Ordinal], launch)
		}
	}
	for n, round := range rounds {
		rounds[n] = Together(round, len(m.Launched))
	}
	return slices.DeleteFunc(slices.Clone(launches), func(launch *ledger.Launch) bool {
		return !slices.Contains(rounds[launch.Ordinal], launch)
	})
}

// Together returns a round's launches that ran on one place, the first on which all arms
// did: if a place was lost, its round started again on another. None if there is no such
// place.
func Together(round []*ledger.Launch, arms int) []*ledger.Launch {
	for _, first := range round {
		at := slices.DeleteFunc(slices.Clone(round), func(l *ledger.Launch) bool { return !l.Place.Same(first.Place) })
		if len(at) >= arms {
			return at
		}
	}
	return nil
}

// EarlyStop is how many launches each arm has, if a session ended before all were made.
func (m *Member) EarlyStop() verdict.Reason {
	args := []verdict.Arg{verdict.Int("n", m.Rounds)}
	if m.Rounds < m.Most {
		args = append(args, verdict.Int("most", m.Most))
	}
	return verdict.New(code.LaunchesPerArm, args...)
}

// Look updates a member by launches: which arms dropped out, its rounds, and whether the
// rules that read it need more.
func (m *Member) Look(v *View, launches []*ledger.Launch) error {
	m.DropLostArms(launches)
	used := m.DecidingLaunches(launches)
	m.Rounds = m.RoundsOf(launches)
	if m.Rounds == stats.TwoLaunches && m.Least < m.Most {
		_, m.Least = m.first(v, used[0].Session, used[0].Work)
	}
	if m.Rounds < m.Least || m.Rounds >= m.Most {
		m.Open = m.Rounds < m.Most
		return nil
	}
	var err error
	m.Open, m.Asked, err = openRules(v, m.Feature, m.evidence(v, used))
	return err
}

// evidence is what rules read of the launches so far.
func (m *Member) evidence(v *View, used []*ledger.Launch) gates.Feature {
	ev := evidenceOf(m.Feature, m.Arms)
	ev.Root.Lost = m.Lost[m.Arms.Root.Key]
	v.addLaunches(&ev, m.Arms, m.Feature, used)
	v.qualified(&ev, m.Arms, m.Feature)
	for _, id := range []string{runtime.QualifyID(m.Feature.Name), runtime.BenchmarkID(m.Feature.Name)} {
		if d := v.Outcome(id); d != nil {
			for _, level := range d.Levels {
				ev.Levels[level.Name] = level.Verdict
			}
		}
	}
	ev.Levels[plans.BenchmarkLevel] = verdict.Pass
	return ev
}

// openRules reports whether any set of rules that reads a feature could still be settled by
// more launches of it, and which rules it tested for that.
func openRules(v *View, f *plans.Feature, ev gates.Feature) (open bool, asked []verdict.Rule, err error) {
	name := ruleName(f)
	all := evidence(ev)
	ask := func(rules []*plans.Rule, s gates.Settings) bool {
		decided := gates.Decide(rules, all, s)
		asked = append(asked, decided...)
		return slices.Contains(gates.Open(decided), name)
	}
	if ask(decisive(f), Settings(v.Plan, f)) {
		return true, asked, nil
	}
	if f.Engine != "" {
		return false, asked, nil // gates read the first engine
	}
	for _, ph := range v.Plan.Phases {
		if ph.Gate == nil || !reads(ph.Gate.Rules, name) {
			continue
		}
		if err := v.readOtherFeatures(all, ph); err != nil {
			return false, asked, err
		}
		if ask(ph.Gate.Rules, settingsOfGate(v.Plan, ph)) {
			return true, asked, nil
		}
	}
	return false, asked, nil
}

// readOtherFeatures adds what a gate reads of other features, as far as they are decided.
func (v *View) readOtherFeatures(all gates.Evidence, ph *plans.Phase) error {
	for _, other := range gateFeatures(v.Plan, ph) {
		if all[other.Name] != nil || v.Outcome(runtime.FeatureID(other.Name)) == nil {
			continue
		}
		theirs, _, err := outcomeOf(v, other)
		if err != nil {
			return err
		}
		all[other.Name] = &theirs
	}
	for _, row := range rowsRead(ph) {
		if v.Outcome(stepOf(row)) == nil {
			continue
		}
		theirs, _, err := v.row(ph, row)
		if err != nil {
			return err
		}
		all[row.Key()] = &theirs
	}
	return nil
}

// NextLook is the number of launches per arm at which a rule may be settled next: first
// at two, for what is clear by recorded noise, and later if that is not known yet.
func (m Member) NextLook(v *View, session, work string) int {
	if m.Least >= m.Most {
		return m.Most
	}
	d := v.Plan.Decision
	first, least := m.first(v, session, work)
	design, err := stats.DesignFor(d.FalsePass, d.FalseFail, min(d.Min, m.Most), m.Most, first)
	if err != nil {
		return m.Most
	}
	for _, n := range design.Looks {
		if n > m.Rounds && n >= least {
			return n
		}
	}
	return m.Most
}

// first is the first look at rules on a member, by the noise known before its session, and
// the least launches per arm. Two settle only what is clear by that noise: without a rule
// that may be, the least is three.
func (m Member) first(v *View, session, work string) (first, least int) {
	noise := noiseOf(v, m.Feature, m.Arms, session, work)
	known := func(in *plans.Input) bool { return noise[gates.NoiseKey(in)].DF >= gates.LeastFreedom }
	if ruleReads(v.Plan, m.Feature, func(in *plans.Input) bool { return in.Ratio() && known(in) }) {
		return stats.TwoLaunches, m.Least
	}
	if least = m.Least; least == stats.TwoLaunches {
		least = min(stats.Recorded, m.Most)
	}
	if ruleReads(v.Plan, m.Feature, func(in *plans.Input) bool { return in.Kind == plans.InputMetric && !known(in) }) {
		return stats.Unrecorded, least
	}
	return stats.Recorded, least
}

// Resolvable reports what the launches of a member can show, given how much launches
// differed before, and warns of thresholds closer to no change than that.
func (m *Member) Resolvable(v *View, session, work string) (notes []verdict.Reason) {
	d := v.Plan.Decision
	falsePass, left := d.FalsePass, true
	if try := triesOf(v.records(), m.Feature.Name, m.Arms.Candidate.Key, m.Arms.Parent.Key, session, work); try > 1 {
		notes = append(notes, gates.TryNote(ruleName(m.Feature), try, d.FalsePass))
		falsePass, left = stats.AlphaForTry(d.FalsePass, try)
	}
	if !left || m.Most < 3 {
		return notes
	}
	design, err := stats.DesignFor(falsePass, d.FalseFail, min(d.Min, m.Most), m.Most, stats.TwoLaunches)
	if err != nil {
		return notes
	}
	noise := noiseOf(v, m.Feature, m.Arms, session, work)
	_, least := m.first(v, session, work)
	said := map[string]bool{}
	for _, r := range Reading(v.Plan, m.Feature) {
		for _, c := range r.Compares() {
			if c.Form != verdict.Ratio || c.Metric.Feature != ruleName(m.Feature) {
				continue
			}
			address := gates.NoiseKey(c.Metric)
			n := noise[address]
			if n.DF < gates.LeastFreedom {
				continue
			}
			resolves := resolving(n, design)
			if !said[address] {
				said[address] = true
				notes = append(notes, resolution(n, design, least, m.Most).On(address))
			}
			if margin := math.Abs(math.Log1p(c.Threshold)); margin > 0 && resolves(m.Most) > math.Expm1(margin) &&
				!said[c.Text] {
				said[c.Text] = true // a criterion and a rule of the gate often coincide
				notes = append(notes, verdict.Say("forecast.unresolved",
					"warning: {subject} is {margin:rough} away from no change, and {launches} launches per arm "+
						"resolve {resolves:rough}: expect inconclusive unless the effect is larger",
					verdict.Num("margin", math.Expm1(margin), "share"), verdict.Int("launches", m.Most),
					verdict.Num("resolves", resolves(m.Most), "share")).On(c.Text))
			}
		}
	}
	return notes
}
