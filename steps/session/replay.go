package session

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/variant"
)

// Evaluator decides the outcomes of sessions and the levels of qualifications again, for
// runtime/replay. What was live then (processes, source trees on disk) is not checked.
type Evaluator struct {
	levels.Evaluator
	labs map[*plans.Plan]*Lab
}

// lab is a lab of a recorded plan that can start nothing.
func (j *Evaluator) lab(p *plans.Plan) (*Lab, error) {
	if l := j.labs[p]; l != nil {
		return l, nil
	}
	g, err := runtime.NewGraph(p)
	if err != nil {
		return nil, err
	}
	l := NewLab(p, g)
	l.Launches.Store, l.Launches.Redact = j.Store, redact.New(p.Secrets())
	if j.labs == nil {
		j.labs = map[*plans.Plan]*Lab{}
	}
	j.labs[p] = l
	return l, nil
}

// Counts returns a launch with what its samples show about whether it counts, and the
// reasons not to that no sample shows, which stay as recorded. It reports false if too
// little is kept of it.
func (j *Evaluator) Counts(p *plans.Plan, l *ledger.Launch, kept measure.Recording) (again *ledger.Launch,
	alone []verdict.Reason, known bool,
) {
	lab, err := j.lab(p)
	if err != nil {
		return nil, nil, false
	}
	v, err := lab.Variants.Recorded(l.Variant, l.Block, l.VariantKey, l.Knobs)
	if err != nil {
		return nil, nil, false
	}
	judged, known := record.Reassess(p, variant.KindOf(v.Spec), l, kept)
	own := *l
	if v.Command != nil {
		var printed map[string]measure.Summary
		text, err := j.Store.Get(l.Output)
		if err == nil {
			printed, err = v.Command.ReadMetrics(context.Background(), text)
		}
		if own.Metrics = maps.Clone(l.Metrics); err != nil {
			return nil, nil, false
		}
		maps.DeleteFunc(own.Metrics, func(address string, _ measure.Summary) bool {
			return strings.HasPrefix(address, "command.")
		})
		maps.Copy(own.Metrics, printed)
	}
	own.Invalid, own.Incoherent, own.Disturbed = judged.Invalid, judged.Incoherent, judged.Disturbed
	for _, why := range l.Invalid {
		if !record.OfSamples(why) {
			alone = append(alone, why)
		}
	}
	if len(alone) > 0 {
		own.Invalid, own.Disturbed = append(own.Invalid, alone...), false
	}
	return &own, alone, known
}

// Benchmark is the outcome of a session's launches for a feature: its level, and the
// launches that it rests on. An error means that it cannot be known.
func (j *Evaluator) Benchmark(v *decide.View, f *plans.Feature, id string, all []*ledger.Launch) (*ledger.Decision,
	error,
) {
	lab, err := j.lab(v.Plan)
	if err != nil {
		return nil, err
	}
	var proofs []*ledger.Launch
	for _, l := range all {
		if l.Purpose == ledger.ForAgreement {
			proofs = append(proofs, l)
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(l *ledger.Launch) bool { return l.Purpose == ledger.ForAgreement })
	m, err := lab.memberOf(v, f)
	if err != nil {
		return nil, err
	}
	b := &benchmark{lab: lab, feature: f}
	s := &session{lab: lab, view: v, id: id, all: all, ws: b.workloads(), members: []*member{m}, proofs: proofs}
	if err := s.ended(); err != nil {
		return nil, err
	}
	out, level := &ledger.Decision{}, ledger.Level{Name: plans.BenchmarkLevel}
	if err := s.conclude(context.Background(), m, out, &level); err != nil {
		return nil, err
	}
	out.Verdict, out.Reasons = level.Verdict, level.Reasons
	return out, nil
}

// memberOf is a feature with the variants of its recorded launches. A candidate or parent that was
// never launched is an error; the baseline without a launch dropped out before.
func (l *Lab) memberOf(v *decide.View, f *plans.Feature) (*member, error) {
	on, err := v.Identities.Arms(f)
	if err != nil {
		return nil, err
	}
	recorded := func(arm decide.Arm) (*variant.Variant, error) {
		if arm.Key == "" {
			return nil, &verdict.Fault{Reason: verdict.Say("replay.arm_unrecorded",
				"no launch of the session is of {subject}").On(arm.Name)}
		}
		return l.Variants.Recorded(arm.Name, arm.Engine, arm.Key, arm.Knobs)
	}
	var arms launch.Arms
	if arms.Candidate, err = recorded(on.Candidate); err != nil {
		return nil, err
	}
	if arms.Parent, err = recorded(on.Parent); err != nil {
		return nil, err
	}
	if root, err := recorded(on.Root); err == nil {
		arms.Root = root
	}
	return newMember(l.Variants.Plan, f, arms, arms.Distinct(decide.ReadsRoot(l.Variants.Plan, f))), nil
}

// gaveUp is the launch of a member's candidate or parent that does not count and was not
// repeated; nil if there is none. Launches of later rounds show that it was launched again.
func gaveUp(m *member, all []*ledger.Launch) *ledger.Launch {
	for _, v := range m.pair() {
		slots := decide.Slots(all, v.Key)
		if !m.Alone || m.Rounds >= m.Most { // else that they ran side by side
			slots = slots[max(0, len(slots)-1):]
		}
		for _, slot := range slots {
			if m.Has(v.Key) && !slices.ContainsFunc(slot, decide.Usable) {
				return slot[len(slot)-1]
			}
		}
	}
	return nil
}

// ended makes members what they were when the session ended, by its launches: what broke was not repeated.
func (s *session) ended() error {
	usable := slices.DeleteFunc(slices.Clone(s.all), func(l *ledger.Launch) bool { return !decide.Usable(l) })
	for _, m := range s.members {
		m.DropLostArms(s.all)
		if reference := m.variants[0]; m.Alone {
			why, err := s.lab.Validity.LaunchWithoutEvidence(launchesOf(usable, m.variants[:1]), reference,
				m.Feature.Protocol)
			if err != nil {
				return err
			} else if !why.IsZero() {
				m.DropArm(reference.Key, why)
			}
		}
		m.Rounds = m.RoundsOf(s.all)
		m.broken = gaveUp(m, s.all)
		m.invalid = s.lab.Validity.OtherEnvironment(launchesOf(m.DecidingLaunches(s.all), m.pair()), m.pair())
	}
	return nil
}

// Rows is the outcome of a step that measured rows, by the launches of its session and the levels that its
// decision names. Nothing was launched for unknown rows, whose verdicts stay as recorded.
func (j *Evaluator) Rows(
	v *decide.View, b *plans.Block, d *ledger.Decision, all []*ledger.Launch,
) (out *ledger.Decision, unknown []string, err error) {
	lab, err := j.lab(v.Plan)
	if err != nil {
		return nil, nil, err
	}
	step, s := &rows{lab: lab, block: b}, &session{lab: lab, view: v, id: d.Session, all: all}
	t, err := step.tableOf(s, func(a arm) (*variant.Variant, error) {
		key := "never launched: " + a.name
		if i := slices.IndexFunc(all, func(l *ledger.Launch) bool { return l.Variant == a.name }); i >= 0 {
			key = all[i].VariantKey
		}
		return lab.Variants.Recorded(a.name, a.engine, key, a.knobs)
	})
	if err != nil {
		return nil, nil, err
	}
	for _, r := range t.rows {
		own := levelsOf(d, r.entry.Name)
		for _, l := range own {
			if launch, ok := j.Store.LaunchByID(l.Launch); ok {
				r.crashed = r.crashed || launch.Crashed()
			}
		}
		t.qualified(r, own, nil)
		if !r.dropped() && !t.launched(r.variant()) {
			broken, why := verdict.Invalid, verdict.Reason{}
			for _, was := range d.Rows {
				if was.Name == r.entry.Name && was.Verdict != verdict.Pass {
					broken, why, unknown = was.Verdict, was.Why, append(unknown, was.Name)
				}
			}
			t.drop(r, broken, why)
		}
	}
	out = &ledger.Decision{}
	if err := t.decide(context.Background(), out); err != nil {
		return nil, nil, err
	}
	return out, unknown, nil
}

// levelsOf are the levels of one row, by their own names.
func levelsOf(d *ledger.Decision, row string) (own []ledger.Level) {
	for _, l := range d.Levels {
		if name, ok := strings.CutPrefix(l.Name, row+"/"); ok {
			l.Name = name
			own = append(own, l)
		}
	}
	return own
}
