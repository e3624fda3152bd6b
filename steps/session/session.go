package session

import (
	"context"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/record/validity"
	"github.com/mxflow/mxflow/steps/variant"
)

// member is a feature or row that the session decides together with others, with the
// variants launched for it.
type member struct {
	decide.Member
	// variants are all arms: the parent, unless it is a reference's row, the candidate, and the baseline if
	// that is an arm of its own.
	variants []*variant.Variant
	// answers is what is declared of measured answers, about which the parent is asked; nil if it is not.
	answers *plans.Answers
	// broken is the first launch that did not end well of an arm without which there is
	// no comparison.
	broken *ledger.Launch
	// invalid is why its launches do not count, as far as checked.
	invalid verdict.Reason
	// reported is the state of its tests as last reported.
	reported *runtime.Look
}

func newMember(p *plans.Plan, f *plans.Feature, a launch.Arms, vs []*variant.Variant) *member {
	answers := p.Protocol(f.Protocol).Answers()
	return &member{Member: decide.NewMember(p, f, a.ArmKeys(), keysOf(vs)), variants: vs, answers: &answers}
}

func keysOf(vs []*variant.Variant) (keys []string) {
	for _, v := range vs {
		keys = append(keys, v.Key)
	}
	return keys
}

// launchedVariants are the variants launched for it, the parent first.
func (m *member) launchedVariants() []*variant.Variant {
	return slices.DeleteFunc(slices.Clone(m.variants), func(v *variant.Variant) bool { return !m.Has(v.Key) })
}

// pair is the parent, if there is one, and the candidate.
func (m *member) pair() []*variant.Variant { return m.variants[:min(2, len(m.variants))] }

// own are the arms that it answers for: of a row itself, as the reference has one of its own.
func (m *member) own() []*variant.Variant {
	if m.Alone {
		return []*variant.Variant{m.variant()}
	}
	return m.pair()
}

func (m *member) variant() *variant.Variant {
	return plans.Find(m.variants, func(v *variant.Variant) bool { return v.Key == m.Arms.Candidate.Key })
}

// sessionOf returns the candidate as a member and all that are measured together with it,
// itself included, in graph order: its siblings that are qualified and must be measured too.
func (b *benchmark) sessionOf(s *runtime.Scope) (own *member, all []*member, err error) {
	if own, err = b.member(s); err != nil {
		return nil, nil, err
	}
	for _, f := range b.lab.Launches.Graph.Siblings(b.feature) {
		if f.Name == b.feature.Name {
			all = append(all, own)
			continue
		}
		other := &benchmark{lab: b.lab, feature: f}
		wanted, err := other.needsMeasuring(s)
		if err != nil {
			return nil, nil, err
		}
		if !wanted {
			continue
		}
		m, err := other.member(s)
		if err != nil {
			return nil, nil, err
		}
		// A sibling whose parent resolved to another variant has its own session.
		if m.Arms.Parent.Key == own.Arms.Parent.Key && m.Arms.Candidate.Key != m.Arms.Parent.Key {
			all = append(all, m)
		}
	}
	return own, all, nil
}

// needsMeasuring reports whether an apply still has to measure a sibling.
func (b *benchmark) needsMeasuring(s *runtime.Scope) (bool, error) {
	n := b.lab.Launches.Graph.Node(runtime.BenchmarkID(b.feature.Name))
	if n == nil || s.Outcome(n.ID) != nil || !s.LockedBy(n.ID).IsZero() {
		return false, nil
	}
	if q := s.Outcome(runtime.QualifyID(b.feature.Name)); q == nil || q.Verdict != verdict.Pass {
		return false, nil
	}
	d, err := b.recorded(s.At(n))
	return err == nil && d.Outcome == nil, err
}

// reportLooks reports the state of members' tests, if it changed.
func (s *session) reportLooks() {
	for _, m := range s.members {
		if len(decide.Reading(s.lab.Variants.Plan, m.Feature)) == 0 {
			continue // there is no test
		}
		now := &runtime.Look{Launches: m.Rounds, Most: m.Most, Rules: m.Asked}
		if m.Open {
			now.Next = m.NextLook(s.view, s.id, s.work)
		}
		if m.reported != nil && m.reported.Launches == now.Launches && m.reported.Next == now.Next {
			continue
		}
		m.reported = now
		ev := runtime.Event{
			Type: "looked", Node: s.scope.Node.ID, Phase: s.scope.Node.Phase, Feature: m.Feature.Name,
			Level: plans.BenchmarkLevel, Look: now, Why: m.invalid,
		}
		if ev.Why.IsZero() && m.broken != nil {
			ev.Why = m.broken.Error
		}
		s.scope.Emit(ev)
	}
}

// dropArm drops the arm of a launch that nothing replaces, with the members that need it.
func (s *session) dropArm(launch *ledger.Launch) {
	if !launch.OK {
		if s.lab.died == nil {
			s.lab.died = map[string]*ledger.Launch{}
		}
		s.lab.died[s.id+launch.VariantKey] = launch
	}
	for _, m := range s.members {
		if m.Open && m.Has(launch.VariantKey) && !m.DropArm(launch.VariantKey, decide.NotReplaced(launch, s.all)) {
			m.broken, m.Open = launch, false
		}
	}
}

// checkKnobEvidence closes members for which a launch just made does not prove the knobs of its
// variant: more launches would fix nothing.
func (s *session) checkKnobEvidence(launch *ledger.Launch, v *variant.Variant) error {
	for _, m := range s.members {
		if !m.Open || !m.Has(v.Key) {
			continue
		}
		why, err := s.lab.Validity.LaunchWithoutEvidence([]*ledger.Launch{launch}, v, m.Feature.Protocol)
		if err != nil {
			return err
		}
		if !why.IsZero() && !m.DropArm(v.Key, why) {
			m.invalid, m.Open = why, false
		}
	}
	return nil
}

// checkBaseline drops the baseline if it is not comparable with a member's parent, which
// the candidate is compared with, too.
func (s *session) checkBaseline(m *member) error {
	m.DropLostArms(s.all)
	used := m.DecidingLaunches(s.all)
	if m.Rounds == 0 {
		return nil
	}
	if len(m.launchedVariants()) > 2 {
		vs := []*variant.Variant{m.variants[0], m.variants[2]}
		why := s.lab.Validity.OtherEnvironment(launchesOf(used, vs), vs)
		if why.IsZero() && m.Rounds >= m.Least {
			v, reasons, err := s.comparable(m, vs)
			if err != nil {
				return err
			}
			if v != verdict.Pass {
				why = reasons[0]
			}
		}
		if !why.IsZero() {
			m.DropArm(m.variants[2].Key, why)
		}
	}
	m.Rounds = m.RoundsOf(s.all)
	return nil
}

// lookAtMembers checks for every member whether it needs more launches: what does not count is not
// worth more.
func (s *session) lookAtMembers() error {
	for _, m := range s.members {
		if !m.Open {
			continue
		}
		before := m.Rounds
		if err := m.Look(s.view, s.all); err != nil {
			return err
		}
		if m.Rounds > 0 && s.stopReason(m) != stopCrashed {
			if err := s.checkBaseline(m); err != nil {
				return err
			}
			m.invalid = s.lab.Validity.OtherEnvironment(launchesOf(m.DecidingLaunches(s.all), m.pair()), m.pair())
			if m.invalid.IsZero() && m.Rounds > before && m.Rounds >= m.Least && m.Open {
				v, reasons, err := s.comparable(m, m.pair())
				if err != nil {
					return err
				}
				if v != verdict.Pass {
					m.invalid = reasons[0]
				}
			}
		}
		m.Open = s.stopReason(m) == notStopped
	}
	return nil
}

// comparable reports whether the launches of two arms of a member count beside each other.
func (s *session) comparable(m *member, vs []*variant.Variant) (verdict.Verdict, []verdict.Reason, error) {
	used := launchesOf(m.DecidingLaunches(s.all), vs)
	v, reasons, err := s.lab.Validity.Valid(used, vs, s.ws, m.Rounds)
	if err != nil || v != verdict.Pass {
		return v, reasons, err
	}
	if m.Alone {
		vs = m.own() // what a row sets may change what its engine reports, declared or not
	}
	why, err := s.lab.Validity.SelfContradiction(used, vs, m.Feature.Protocol)
	if err == nil && !why.IsZero() {
		return verdict.Invalid, []verdict.Reason{why}, nil
	}
	return v, reasons, err
}

// conclude is the benchmark level of the member asked about.
func (s *session) conclude(ctx context.Context, m *member, out *ledger.Decision, level *ledger.Level) error {
	out.Session = s.id
	if err := s.checkBaseline(m); err != nil {
		return err
	}
	used := m.DecidingLaunches(s.all)
	for _, launch := range used {
		out.Launches = append(out.Launches, launch.ID)
	}
	switch s.stopReason(m) {
	case stopCrashed:
		died, why := decide.CrashedAgain(m.Arms.Candidate, m.Arms.Parent, s.all)
		for _, launch := range died {
			out.Launches = append(out.Launches, launch.ID)
			out.LogTail, out.Exit = launch.LogTail, launch.Exit
		}
		level.Verdict, level.Reasons = verdict.Fail, []verdict.Reason{why}
		return nil
	case stopBroken, stopDisturbed:
		l := m.broken
		out.Launches = append(out.Launches, l.ID)
		level.Verdict, _ = decide.NotCounted(l)
		level.Reasons = []verdict.Reason{decide.NotReplaced(l, s.all)}
		if !l.OK {
			out.LogTail, out.Exit = l.LogTail, l.Exit
		}
		return nil
	case stopIncomparable:
		level.Verdict, level.Reasons = verdict.Invalid, []verdict.Reason{m.invalid}
		return nil
	}
	qualified := s.view.Outcome(runtime.QualifyID(m.Feature.Name))
	if why := s.lab.Launches.Moved(ctx, launchesOf(used, m.own()), m.own(), qualified); !why.IsZero() {
		level.Verdict, level.Reasons = verdict.Invalid, []verdict.Reason{why}
		return nil
	}
	var err error
	if level.Verdict, level.Reasons, err = s.comparable(m, m.pair()); err == nil && level.Verdict == verdict.Pass {
		err = s.addAgreement(m, used, out, level)
	}
	if err == nil && level.Verdict == verdict.Pass {
		level.Reasons = slices.Insert(level.Reasons, 1, validity.NotesOf(launchesOf(used, m.own()))...)
	}
	cut, often := decide.CutOff(s.view, m.Arms.Candidate, m.Arms.Parent, s.all)
	if err == nil && level.Verdict == verdict.Pass && often {
		level.Verdict, level.Reasons = verdict.Inconclusive, []verdict.Reason{cut}
	}
	if err == nil && level.Verdict == verdict.Pass {
		for _, note := range []verdict.Reason{
			cut,
			decide.ParentSlower(s.view, m.Arms.Candidate, m.Arms.Parent, used),
		} {
			if !note.IsZero() {
				level.Reasons = append(level.Reasons, note)
			}
		}
		for i, r := range level.Reasons {
			if r.Kind == code.LaunchesPerArm.Kind {
				level.Reasons[i] = m.EarlyStop()
			}
		}
		level.Reasons = append(level.Reasons, s.replaced(m)...)
		for _, why := range sorted.All(m.Lost) {
			level.Reasons = append(level.Reasons, why)
		}
	}
	return err
}

// manyReplaced is how many more launches of one arm than of the other must be replaced to
// be worth a note; so is more than a third of an arm's.
const manyReplaced = 3

// replaced names launches that do not count, and why, and counts them by arm.
func (s *session) replaced(m *member) (notes []verdict.Reason) {
	n, of := map[string]int{}, map[string]int{}
	for _, launch := range s.all {
		key := launch.VariantKey
		if !m.Has(key) || launch.Ordinal > m.Rounds {
			continue
		}
		if of[key]++; !decide.Usable(launch) {
			n[key]++
			notes = append(notes, verdict.New(code.LaunchReplaced).On(launch.ID).From(decide.WhyNot(launch)...))
		}
	}
	if len(notes) == 0 {
		return nil
	}
	own, other := m.Arms.Candidate.Key, m.Arms.Parent.Key
	if other == "" {
		return notes
	}
	args := []verdict.Arg{
		verdict.Int("n", n[own]), verdict.Int("of", of[own]),
		verdict.Text("other", m.Arms.Parent.Name), verdict.Int("other_n", n[other]), verdict.Int("other_of", of[other]),
	}
	if max(n[own]-n[other], n[other]-n[own]) >= manyReplaced || 3*n[own] > of[own] || 3*n[other] > of[other] {
		args = append(args, verdict.Text("many", "yes"))
	}
	return append(notes, verdict.New(code.LaunchesReplaced, args...).On(m.Arms.Candidate.Name))
}
