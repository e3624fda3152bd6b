package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/levels/agreement"
	"github.com/mxflow/mxflow/steps/record/validity"
	"github.com/mxflow/mxflow/steps/variant"
)

// probesAnswers reports whether a parent is asked about the answers of the benchmark's launches.
func (b *benchmark) probesAnswers() bool {
	return !b.protocol().Answers().Unchecked && len(b.workloads()) > 0
}

// probedLaunches returns the launches of a session's parent that were asked about its answers.
func (l *Lab) probedLaunches(id string) []*ledger.Launch {
	if l.Launches.Store == nil || id == "" {
		return nil
	}
	return l.Launches.Store.Launches(store.LaunchFilter{Session: Agreement(id)})
}

// Agreement is the session of the launches that were asked about another's answers.
func Agreement(session string) string { return session + "." + ledger.ForAgreement }

// latestProbes is what the latest such launch was asked; nil if none answered.
func (s *session) latestProbes() (*agreement.Probes, *ledger.Launch, error) {
	for _, l := range slices.Backward(s.proofs) {
		if l.OK && l.Left[agreement.File] != "" {
			asked := &agreement.Probes{}
			return asked, l, s.lab.Launches.Store.ReadArtifact(l, agreement.File, asked)
		}
	}
	return nil, nil, nil
}

// question is what the parent must be asked before members are decided, by the launches on
// record alone: about the answers of all that nothing else speaks against. Nil if it was,
// or need not be.
func (s *session) question() (*agreement.Question, error) {
	asked, _, err := s.latestProbes()
	if err != nil {
		return nil, err
	}
	q, open := &agreement.Question{Others: map[string][]string{}, Least: map[string]float64{}}, false
	var launches []*ledger.Launch
	for _, m := range s.members {
		declared := m.answers
		used := launchesOf(m.DecidingLaunches(s.all), m.pair())
		_, crashed := decide.CrashedAgain(m.Arms.Candidate, m.Arms.Parent, s.all)
		if declared == nil || declared.Unchecked || len(used) == 0 || m.variants[1].Command != nil ||
			m.broken != nil || !m.invalid.IsZero() || !crashed.IsZero() {
			continue
		}
		if v, _, err := s.comparable(m, m.pair()); err != nil || v != verdict.Pass {
			if err != nil {
				return nil, err
			}
			continue
		}
		name := m.variants[1].Name
		if declared.Least != nil {
			q.Least[name] = *declared.Least
		}
		for _, l := range used {
			open = open || asked == nil || !slices.Contains(asked.Launches, l.ID)
			switch {
			case slices.Contains(launches, l):
				continue
			case l.VariantKey == m.Arms.Parent.Key:
				q.Own = append(q.Own, l.ID)
			default:
				q.Others[name] = append(q.Others[name], l.ID)
			}
			launches = append(launches, l)
		}
	}
	if !open {
		return nil, nil
	}
	for _, l := range launches {
		answers, err := agreement.Of(s.lab.Launches.Store, s.lab.Variants.Plan, l)
		if err != nil {
			return nil, err
		}
		q.Answers = append(q.Answers, answers...)
		for _, c := range l.Cells {
			if !slices.Contains(q.Cells, c.Of()) {
				q.Cells = append(q.Cells, c.Of())
			}
		}
	}
	return q, nil
}

// probeAnswers launches the parent once more, when everything else is on record, to probe
// the answers of both arms before members are decided. It is not measured.
func (s *session) probeAnswers(ctx context.Context) error {
	for before := len(s.proofs); ; {
		q, err := s.question()
		if q == nil || err != nil {
			return err
		}
		if made := s.proofs[before:]; len(made) > 0 && !decide.Replaced(made) {
			return nil
		}
		parent, n, group := s.members[0].variants[0], len(s.proofs)+1, Agreement(s.id)
		record := &ledger.Launch{
			ID: fmt.Sprintf("%s.%d", group, n), Session: group, Purpose: ledger.ForAgreement,
			Ordinal: n, Order: n, OK: true, Draw: s.lab.Launches.Draws.Next(),
		}
		ev := runtime.Event{
			Variant: parent.Name, Level: ledger.ForAgreement, Launch: n, Launches: n,
			LaunchID: record.ID,
		}
		err = s.lab.Launches.Report(s.scope, ev, parent, record, func() error {
			_, err := asks.Make(ctx, s.lab, s.lab.Launches, s.scope, parent, record, *q)
			return err
		})
		if err != nil {
			return err
		}
		s.proofs = append(s.proofs, record)
	}
}

// asks launches a parent to be asked about answers.
var asks = launch.Function[*Lab, agreement.Question, struct{}]{Kind: ledger.ForAgreement, Here: probeHere}

func probeHere(ctx context.Context, lab *Lab, s *runtime.Scope, v *variant.Variant, rec *ledger.Launch,
	q agreement.Question,
) (none struct{}, err error) {
	return none, lab.Launches.Use(ctx, s, v, rec, func(st *launch.Started) error {
		asked, err := q.Ask(ctx, st, rec.Draw.Seed)
		if err != nil {
			return err
		}
		return st.LeaveArtifact(agreement.File, asked)
	})
}

// addAgreement adds to the level of a member whether it did its parent's work, and its answers
// are shown to be its parent's model's.
func (s *session) addAgreement(m *member, used []*ledger.Launch, out *ledger.Decision, level *ledger.Level) error {
	protocol := s.lab.Variants.Plan.Protocol(m.Feature.Protocol)
	declared := m.answers
	asked, of, err := s.latestProbes()
	if err != nil {
		return err
	}
	compared := slices.DeleteFunc(slices.Clone(m.pair()), func(v *variant.Variant) bool { return !m.Has(v.Key) })
	v, reasons, err := s.lab.Validity.SameWork(used, compared, s.ws, asked)
	switch {
	case err != nil:
		return err
	case v != verdict.Pass:
		level.Verdict, level.Reasons = v, reasons
		return nil
	}
	level.Reasons = append(level.Reasons, reasons...)
	switch {
	case declared == nil || m.variants[1].Command != nil:
		return nil // nobody asks, or it answered nothing
	case declared.Unchecked:
		level.Reasons = append(level.Reasons, verdict.New(code.Unchecked).On(m.Arms.Candidate.Name))
		return nil
	case asked == nil:
		v, reasons = verdict.Error,
			[]verdict.Reason{verdict.New(code.NotAsked, verdict.Text("other", m.Arms.Parent.Name)).
				On(m.Arms.Candidate.Name)}
		if len(s.proofs) > 0 {
			last := s.proofs[len(s.proofs)-1]
			reasons[0], out.LogTail, out.Exit = reasons[0].From(last.Error), last.LogTail, last.Exit
		}
	default:
		out.Launches = append(out.Launches, of.ID)
		v, reasons = validity.AnswerAgreement(asked, m.variants[0], m.variants[1], used, *declared)
	}
	if level.Verdict = v; v == verdict.Pass {
		level.Reasons = append(level.Reasons, reasons...)
	} else {
		level.Of, level.Reasons = levels.Correctness, reasons
	}
	if protocol.Level(levels.Correctness) != nil && levels.ComparedBy(protocol) != levels.Correctness {
		out.Levels = append(out.Levels, ledger.Level{Name: levels.Correctness, Verdict: v, Reasons: reasons})
	}
	return nil
}
