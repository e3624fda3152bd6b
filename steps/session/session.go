package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/variant"
)

// member is one candidate of a session, with what is launched for it.
type member struct {
	decide.Member
	// variants are the parent and the candidate, root the baseline if it is an arm of its
	// own. Only that one may drop out.
	variants []*variant.Variant
	root     *variant.Variant
	// broken is the first of its launches that did not end well.
	broken *ledger.Launch
	// invalid is why its launches do not count, as far as checked.
	invalid verdict.Reason
	// told is the state of its tests as last reported.
	told *runtime.Look
}

func newMember(p *plans.Plan, f *plans.Feature, a launch.Arms, vs []*variant.Variant) *member {
	var keys []string
	for _, v := range vs {
		keys = append(keys, v.Key)
	}
	m := &member{Member: decide.NewMember(p, f, a.Keyed(), keys), variants: vs[:2]}
	if len(vs) > 2 {
		m.root = vs[2]
	}
	return m
}

// launched are the variants launched for it, the parent first.
func (m *member) launched() []*variant.Variant {
	if m.root == nil || !m.Has(m.root.Key) {
		return m.variants
	}
	return append(slices.Clone(m.variants), m.root)
}

// member returns what one feature needs of a session.
func (l *Lab) member(s *runtime.Scope, f *plans.Feature) (*member, error) {
	vs, a, err := (&benchmark{lab: l, feature: f}).arms(s)
	if err != nil {
		return nil, err
	}
	return newMember(l.Plan, f, a, vs), nil
}

// sessionOf returns f as a member and all that are measured together with it, f included,
// in graph order: its siblings that are qualified and must be measured too.
func (l *Lab) sessionOf(s *runtime.Scope, f *plans.Feature) (own *member, all []*member, err error) {
	if own, err = l.member(s, f); err != nil {
		return nil, nil, err
	}
	for _, other := range l.Graph.Siblings(f) {
		if other.Name == f.Name {
			all = append(all, own)
			continue
		}
		wanted, err := l.toMeasure(s, other)
		if err != nil {
			return nil, nil, err
		}
		if !wanted {
			continue
		}
		m, err := l.member(s, other)
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

// toMeasure reports whether an apply still has to measure a sibling.
func (l *Lab) toMeasure(s *runtime.Scope, f *plans.Feature) (bool, error) {
	id := runtime.BenchmarkID(f.Name)
	n := l.Graph.Node(id)
	if n == nil || s.Outcome(id) != nil || !s.LockedBy(id).IsZero() {
		return false, nil
	}
	if q := s.Outcome(runtime.QualifyID(f.Name)); q == nil || q.Verdict != verdict.Pass {
		return false, nil
	}
	sibling := *s
	sibling.Node = n
	if l.Store != nil {
		sibling.Previous, _, _ = l.Store.Latest(id)
	}
	keys, err := (&benchmark{lab: l, feature: f}).Keys(&sibling)
	if err != nil {
		return false, err
	}
	return s.Chosen != nil && s.Chosen(n, keys).Action != runtime.Reuse, nil
}

// session is the interleaved launches of one parent and one or more candidates.
type session struct {
	rounds
	work    string
	ws      []*plans.Workload
	members []*member
	// proofs are the launches in which the parent was asked about the answers.
	proofs []*ledger.Launch

	// planned is the maximum number of launches when it was resumed.
	planned int
	// closed is why it gets no more launches: a person retracted what rests on it.
	closed verdict.Reason
}

// run makes launches, round by round, until no rule of a member could still be settled by
// more. A member with a broken launch drops out, and the others continue; if it was their
// parent's, all drop out.
func (s *session) run(ctx context.Context) error {
	s.by = s
	return s.rounds.run(ctx, s.begin())
}

// last implements demand: rounds beyond the next look are made if there is room for them,
// which would be idle otherwise.
func (s *session) last(round int) (int, error) {
	if err := s.looks(); err != nil {
		return 0, err
	}
	s.tell()
	if s.planned == 0 {
		s.planned = s.total()
	}
	if !s.open() {
		return 0, nil
	}
	if round > s.cut+s.total() {
		return 0, fmt.Errorf("session %s does not end; this is a bug in mxflow", s.id)
	}
	last := round
	for _, m := range s.members {
		if m.Open {
			last = max(last, m.Most)
		}
	}
	return last, nil
}

// tell reports the state of members' tests, if it changed.
func (s *session) tell() {
	view := s.lab.View(s.scope)
	for _, m := range s.members {
		now := &runtime.Look{Launches: m.Rounds, Most: m.Most, Rules: m.Asked}
		if m.Open {
			now.Next = m.NextLook(view, s.id, s.work)
		}
		if m.told != nil && m.told.Launches == now.Launches && m.told.Next == now.Next {
			continue
		}
		m.told = now
		ev := runtime.Event{Type: "looked", Node: s.scope.Node.ID, Phase: s.scope.Node.Phase, Feature: m.Feature.Name, Level: plans.BenchmarkLevel, Look: now, Why: m.invalid}
		if ev.Why.IsZero() && m.broken != nil {
			ev.Why = m.broken.Error
		}
		s.scope.Emit(ev)
	}
}

// begin is the round in which launches resume: the last one if it was cut, and with it
// those that ran beside it.
func (s *session) begin() int {
	last := 0
	for _, launch := range s.all {
		last = max(last, launch.Ordinal)
	}
	s.cut = max(1, last)
	return max(1, s.cut-s.sideBySide()+1)
}

// joins reports whether a member takes part in a round. In one started before, only
// members that were in it then: a launch of its parent made without it did not run beside
// its own.
func (s *session) joins(m *member, round int) bool {
	if !m.Open || round > s.cut || len(s.all) == 0 {
		return m.Open
	}
	own := 0
	for _, launch := range s.all {
		if launch.VariantKey == m.Arms.Candidate.Key {
			own = max(own, launch.Ordinal)
		}
	}
	return own >= round-s.sideBySide()
}

// arms are the variants that a round launches, the parent first.
func (s *session) arms(round int) (vs []*variant.Variant) {
	for _, m := range s.members {
		if !s.joins(m, round) {
			continue
		}
		for _, v := range m.launched() {
			if !slices.ContainsFunc(vs, func(o *variant.Variant) bool { return o.Key == v.Key }) {
				vs = append(vs, v)
			}
		}
	}
	return vs
}

// variants are all that it may launch.
func (s *session) variants() (vs []*variant.Variant) {
	for _, m := range s.members {
		vs = append(vs, m.launched()...)
	}
	return vs
}

// wants reports whether a member still needs a variant: its member may have dropped out
// in this round.
func (s *session) wants(v *variant.Variant) bool {
	return slices.ContainsFunc(s.members, func(m *member) bool { return m.Open && m.Has(v.Key) })
}

func (s *session) open() bool {
	return slices.ContainsFunc(s.members, func(m *member) bool { return m.Open })
}

// needs implements demand.
func (s *session) needs(_ context.Context, sl slot) (bool, error) { return s.wants(sl.variant), nil }

// fill implements demand.
func (s *session) fill(sl *slot, tries []*ledger.Launch) (total int) {
	if sl.number == 0 {
		sl.number, sl.least = s.slots()+s.under+1, s.least()
		if len(tries) > 0 {
			sl.number = ledger.Numbers(s.all)[tries[0].ID]
		}
	}
	sl.order, sl.crashed, sl.draw = len(s.all)+s.under+1, s.crashes(sl.variant), s.lab.Draws.Next()
	if i := slices.IndexFunc(s.all, func(l *ledger.Launch) bool { return l.Ordinal == sl.ordinal }); i >= 0 {
		sl.body = s.all[i].Draw.Seed
	}
	return s.total()
}

// again implements demand.
func (s *session) again(*ledger.Launch) bool { return s.mayCrashAgain() }

// done implements demand: members drop out because of a launch that nothing replaces.
func (s *session) done(sl slot, launch *ledger.Launch) error {
	if decide.Sound(launch) {
		return s.prove(launch, sl.variant)
	}
	if !launch.OK {
		s.died(launch)
	}
	for _, m := range s.members {
		if m.Open && m.Has(launch.VariantKey) && !m.Lose(launch.VariantKey, decide.GaveUp(launch, s.all)) {
			m.broken, m.Open = launch, false
		}
	}
	return nil
}

// mayCrashAgain reports whether the latest launch crashed and is repeated because that
// would decide a member.
func (s *session) mayCrashAgain() bool {
	return slices.ContainsFunc(s.members, func(m *member) bool {
		return m.Open && decide.MayCrashAgain(m.Arms.Candidate, m.Arms.Parent, s.all)
	})
}

// prove closes members for which a launch just made does not prove the knobs of its
// variant: more launches would fix nothing.
func (s *session) prove(launch *ledger.Launch, v *variant.Variant) error {
	for _, m := range s.members {
		if !m.Open || !m.Has(v.Key) {
			continue
		}
		why, err := s.lab.Unproved([]*ledger.Launch{launch}, v, m.Feature.Protocol)
		if err != nil {
			return err
		}
		if !why.IsZero() && !m.Lose(v.Key, why) {
			m.invalid, m.Open = why, false
		}
	}
	return nil
}

// part drops the baseline if it is not comparable with a member's parent, which the
// candidate is compared with, too.
func (s *session) part(m *member) error {
	used := m.Took(s.all)
	if m.Rounds == 0 {
		return nil
	}
	if m.root != nil && m.Has(m.root.Key) {
		vs := []*variant.Variant{m.variants[0], m.root}
		own := of(used, vs)
		why := s.lab.OtherEnvironment(own, vs)
		if why.IsZero() && m.Rounds >= m.Least {
			got, reasons, err := s.lab.Valid(own, vs, s.ws, m.Rounds)
			if err != nil {
				return err
			}
			if got == verdict.Pass {
				why, err = s.lab.Contradicted(own, vs, m.Feature.Protocol)
			} else {
				why = reasons[0]
			}
			if err != nil {
				return err
			}
		}
		if !why.IsZero() {
			m.Lose(m.root.Key, why)
		}
	}
	m.Rounds = len(m.Took(s.all)) / len(m.Launched)
	return nil
}

// of returns the launches of some variants.
func of(launches []*ledger.Launch, vs []*variant.Variant) []*ledger.Launch {
	return slices.DeleteFunc(slices.Clone(launches), func(l *ledger.Launch) bool {
		return !slices.ContainsFunc(vs, func(v *variant.Variant) bool { return v.Key == l.VariantKey })
	})
}

// looks checks for every member whether it needs more.
func (s *session) looks() error {
	for _, m := range s.members {
		if !m.Open {
			continue
		}
		before := m.Rounds
		if err := m.Look(s.lab.View(s.scope), s.all); err != nil {
			return err
		}
		if _, why := decide.CrashedAgain(m.Arms.Candidate, m.Arms.Parent, s.all); !why.IsZero() {
			m.Open = false
			continue
		}
		if m.Rounds == 0 {
			m.Open = true
			continue
		}
		if err := s.part(m); err != nil {
			return err
		}
		if why := s.lab.OtherEnvironment(of(m.Took(s.all), m.variants), m.variants); !why.IsZero() {
			m.invalid, m.Open = why, false
			continue
		}
		if m.Rounds > before && m.Rounds >= m.Least && m.Open {
			// What does not count is not worth more launches.
			v, reasons, err := s.judged(m)
			if err != nil {
				return err
			}
			if v != verdict.Pass {
				m.invalid, m.Open = reasons[0], false
			}
		}
	}
	return nil
}

// made is how many launches of each variant replace no other.
func (s *session) made() map[string]int {
	made := map[string]int{}
	for i, launch := range s.all {
		if !slices.ContainsFunc(s.all[:i], func(o *ledger.Launch) bool {
			return o.VariantKey == launch.VariantKey && o.Ordinal == launch.Ordinal
		}) {
			made[launch.VariantKey]++
		}
	}
	return made
}

// slots is their total over all variants.
func (s *session) slots() (n int) {
	for _, made := range s.made() {
		n += made
	}
	return n
}

// total is the maximum number of launches of the session, with those of members that
// dropped out or came before.
func (s *session) total() int { return s.launches(func(m *member) int { return m.Most }) }

// least is the number of launches before a rule may be settled.
func (s *session) least() int {
	view := s.lab.View(s.scope)
	return s.launches(func(m *member) int { return m.NextLook(view, s.id, s.work) })
}

func (s *session) launches(open func(*member) int) int {
	most := s.made()
	for _, m := range s.members {
		want := m.Rounds
		if m.Open {
			want = open(m)
		}
		for _, v := range m.launched() {
			most[v.Key] = max(most[v.Key], want)
		}
	}
	n := 0
	for _, rounds := range most {
		n += rounds
	}
	return n
}

func (s *session) crashes(v *variant.Variant) []*ledger.Launch {
	candidate := slices.ContainsFunc(s.members, func(m *member) bool { return m.Arms.Candidate.Key == v.Key })
	return s.lab.crashes(v.Key, s.id, candidate)
}

// crashes are the starts of a variant on this machine that crashed since its last launch
// that counts; with candidate set, of a variant that is a candidate in the session.
func (l *Lab) crashes(key, session string, candidate bool) []*ledger.Launch {
	if l.Store == nil {
		return nil
	}
	elsewhere := func(r *ledger.RunStart) bool { return variant.MachineKey(r.Environment, l.Plan) != l.MachineKey }
	return decide.Crashes(l.Store.Records(), key, session, candidate, elsewhere)
}

// crashedSince reports whether a candidate crashed when it was qualified again after all
// the launches of its session, and a rule reads crashes: then no launch counts that
// crash, and none will.
func (l *Lab) crashedSince(m *member, session string) bool {
	return decide.ReadsCrashes(l.Plan, m.Feature) && slices.ContainsFunc(l.crashes(m.Arms.Candidate.Key, session, true), func(launch *ledger.Launch) bool {
		return launch.Purpose == ledger.ForQualification
	})
}

// countsCrashes reports which starts from before a session's own a launch counts; no fact
// if there are none.
func countsCrashes(launch *ledger.Launch, before []*ledger.Launch) verdict.Reason {
	var ids []string
	for _, c := range before {
		if c.Session != launch.Session {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return verdict.Reason{}
	}
	return verdict.New(code.CountsCrashes, verdict.List("launches", ids))
}

// died records that a launch broke: the nodes of other candidates in the session do not
// silently retry it before the user sees it. The next apply does.
func (s *session) died(launch *ledger.Launch) {
	if s.lab.died == nil {
		s.lab.died = map[string]*ledger.Launch{}
	}
	s.lab.died[s.id+launch.VariantKey] = launch
}

// dropDead drops members whose candidate broke earlier in this apply.
func (s *session) dropDead() {
	for _, m := range s.members {
		if l := s.lab.died[s.id+m.Arms.Candidate.Key]; l != nil {
			m.broken, m.Open = l, false
		}
	}
}

// judged reports whether a member's launches count.
func (s *session) judged(m *member) (verdict.Verdict, []verdict.Reason, error) {
	used := of(m.Took(s.all), m.variants)
	v, reasons, err := s.lab.Valid(used, m.variants, s.ws, m.Rounds)
	if err != nil || v != verdict.Pass {
		return v, reasons, err
	}
	why, err := s.lab.Contradicted(used, m.variants, m.Feature.Protocol)
	if err != nil {
		return "", nil, err
	}
	if !why.IsZero() {
		return verdict.Invalid, []verdict.Reason{why}, nil
	}
	notes, err := s.lab.Consequences(used, m.variants)
	return v, append(reasons, notes...), err
}

// conclude is the benchmark level of the member asked about.
func (s *session) conclude(ctx context.Context, m *member, out *ledger.Decision, level *ledger.Level) error {
	out.Session = s.id
	if !s.closed.IsZero() {
		defer func() { level.Reasons = append(level.Reasons, s.closed) }()
	}
	if err := s.part(m); err != nil {
		return err
	}
	used := m.Took(s.all)
	for _, launch := range used {
		out.Launches = append(out.Launches, launch.ID)
	}
	if died, why := decide.CrashedAgain(m.Arms.Candidate, m.Arms.Parent, s.all); !why.IsZero() {
		for _, launch := range died {
			out.Launches = append(out.Launches, launch.ID)
			out.LogTail, out.Exit = launch.LogTail, launch.Exit
		}
		level.Verdict, level.Reasons = verdict.Fail, []verdict.Reason{why}
		return nil
	}
	if l := m.broken; l != nil {
		out.Launches = append(out.Launches, l.ID)
		level.Verdict, _ = decide.NotCounted(l)
		level.Reasons = []verdict.Reason{decide.GaveUp(l, s.all)}
		if !l.OK {
			out.LogTail, out.Exit = l.LogTail, l.Exit
		}
		return nil
	}
	if !m.invalid.IsZero() {
		level.Verdict, level.Reasons = verdict.Invalid, []verdict.Reason{m.invalid}
		return nil
	}
	if why := s.lab.MovedTrees(ctx, of(used, m.variants), m.variants, s.scope.Outcome(runtime.QualifyID(m.Feature.Name))); !why.IsZero() {
		level.Verdict, level.Reasons = verdict.Invalid, []verdict.Reason{why}
		return nil
	}
	var err error
	if level.Verdict, level.Reasons, err = s.judged(m); err == nil && level.Verdict == verdict.Pass {
		err = s.agreed(m, used, out, level)
	}
	if err == nil && level.Verdict == verdict.Pass {
		for i, r := range level.Reasons {
			if r.Code == code.LaunchesPerArm {
				level.Reasons[i] = m.Spared()
			}
		}
		level.Reasons = append(level.Reasons, s.replaced(m)...)
		if !m.Lost.IsZero() {
			level.Reasons = append(level.Reasons, m.Lost)
		}
	}
	return err
}

// replaced names launches that do not count, and why.
func (s *session) replaced(m *member) (notes []verdict.Reason) {
	for _, launch := range s.all {
		if m.Has(launch.VariantKey) && !decide.Sound(launch) && launch.Ordinal <= m.Rounds {
			notes = append(notes, verdict.New(code.LaunchReplaced).On(launch.ID).From(decide.WhyNot(launch)...))
		}
	}
	if len(notes) > 0 {
		notes = append(notes, s.replacedOf(m))
	}
	return notes
}

// manyReplaced is how many more launches of one arm than of the other must be replaced to
// be worth a note; so is more than a third of an arm's.
const manyReplaced = 3

// replacedOf counts the replaced launches of a member's arms.
func (s *session) replacedOf(m *member) verdict.Reason {
	count := func(key string) (n, of int) {
		for _, launch := range s.all {
			if launch.VariantKey != key || launch.Ordinal > m.Rounds {
				continue
			}
			if of++; !decide.Sound(launch) {
				n++
			}
		}
		return n, of
	}
	n, of := count(m.Arms.Candidate.Key)
	others, ofOthers := count(m.Arms.Parent.Key)
	args := []verdict.Arg{verdict.Int("n", n), verdict.Int("of", of), verdict.Text("other", m.Arms.Parent.Name), verdict.Int("other_n", others), verdict.Int("other_of", ofOthers)}
	if n-others >= manyReplaced || others-n >= manyReplaced || 3*n > of || 3*others > ofOthers {
		args = append(args, verdict.Text("many", "yes"))
	}
	return verdict.New(code.ReplacedOf, args...).On(m.Arms.Candidate.Name)
}

// session returns the launches of a session, in order.
func (l *Lab) session(id string) []*ledger.Launch {
	if id == "" || l.Store == nil {
		return nil
	}
	return l.Store.Launches(store.LaunchFilter{Session: id})
}

// continues finds the session that a member's benchmark continues: the newest that holds
// launches of its arms with this work. It is empty if a new one must start: because there
// is none, a person wants to measure again, the machine was rebooted before it was
// complete (before and after that it is not the same arm), its launches did not count for
// a reason that is in none of them and that the plan judges as before, the candidate
// crashed since in a new qualification, or a rule was relaxed after they were seen.
func (l *Lab) continues(s *runtime.Scope, m *member, work string) (string, error) {
	if l.Store == nil {
		return "", nil
	}
	id := l.sessionWith(s, m, work)
	if id == "" || l.begun[id] {
		return id, nil
	}
	if !s.Keys.Fresh.IsZero() {
		return "", nil
	}
	all := l.session(id)
	mended := slices.ContainsFunc(all, func(launch *ledger.Launch) bool { return m.Has(launch.VariantKey) && !decide.Sound(launch) })
	p := s.Previous
	switch {
	case s.Why == runtime.Rerun:
		return "", nil
	case p != nil && p.MeasureKey == s.Keys.Measure && p.DecisionKey == s.Keys.Decide && p.Verdict == verdict.Invalid && !p.Derived && p.Session == id && !mended:
		return "", nil
	}
	goesOn, again := l.sameBoot(all), l.crashedSince(m, id)
	if goesOn && !again {
		return id, nil
	}
	complete := *m
	if err := complete.Look(l.View(s), all); err != nil {
		return "", err
	}
	if complete.Open {
		again = !goesOn // the session it continues counts the crash
	} else if again {
		again = complete.CloseRetracted(l.View(s), all).IsZero()
	}
	if again {
		return "", nil
	}
	return id, nil
}

// sessionWith is the newest session that holds launches of a member's parent and of its
// candidate with this work; or the one that its outcome rests on if this apply started
// none, even if a later one had these arms too. Empty if there is none.
func (l *Lab) sessionWith(s *runtime.Scope, m *member, work string) (id string) {
	// A candidate that entered the stack is the parent of others, in their sessions.
	beside := map[string]bool{}
	for _, launch := range l.Store.Launches(store.LaunchFilter{VariantKey: m.Arms.Parent.Key, Purpose: ledger.ForBenchmark}) {
		beside[launch.Session] = beside[launch.Session] || launch.Work == work
	}
	decided, p := "", s.Previous
	for _, launch := range l.Store.Launches(store.LaunchFilter{VariantKey: m.Arms.Candidate.Key, Purpose: ledger.ForBenchmark}) {
		if launch.Work != work || !beside[launch.Session] {
			continue
		}
		id = launch.Session
		if p != nil && p.MeasureKey == s.Keys.Measure && p.Session == id {
			decided = id
		}
	}
	if decided != "" && !l.begun[id] {
		return decided
	}
	return id
}

// sameBoot reports whether launches were made since the last boot: before and after that
// it is not the same arm.
func (l *Lab) sameBoot(launches []*ledger.Launch) bool {
	return !slices.ContainsFunc(launches, func(launch *ledger.Launch) bool { return launch.BootID != l.Boot })
}
