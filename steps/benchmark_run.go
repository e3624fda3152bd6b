package steps

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
)

func (b *benchmark) Run(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	began := time.Now()
	vs, a, err := b.arms(s)
	if err != nil {
		return nil, err
	}
	ws := b.workloads()
	level := ledger.Level{Name: benchmarkLevel}
	out := &ledger.Decision{Variant: maps.Clone(a.Candidate.Knobs)}
	switch q := s.Outcome(runtime.QualifyID(b.feature.Name)); {
	case q != nil && q.Verdict != verdict.Pass:
		v, cause := decide.Broken(q)
		level.Verdict, level.Reasons = v, []verdict.Reason{verdict.New(code.NotMeasured).From(cause)}
		out.Derived = true
	case a.Candidate.Key == a.Parent.Key:
		level.Verdict = verdict.Invalid
		level.Reasons = []verdict.Reason{nothingUnderTest(a)}
		out.Derived = true
	default:
		why, err := b.differ(s, vs)
		if err == nil && !why.IsZero() {
			level.Verdict, level.Reasons = verdict.Invalid, []verdict.Reason{verdict.New(code.NotMeasuredApart).From(why)}
			out.Derived = true
		} else if err == nil {
			err = b.measure(ctx, s, ws, out, &level)
		}
		if err != nil {
			return nil, err
		}
	}
	level.Seconds = time.Since(began).Seconds()
	out.Levels = []ledger.Level{level}
	out.Verdict, out.Reasons = level.Verdict, level.Reasons
	return out, nil
}

// measure makes the launches that the session lacks, for all candidates that
// share it.
func (b *benchmark) measure(ctx context.Context, s *runtime.Scope, ws []*plans.Workload, out *ledger.Decision, level *ledger.Level) error {
	own, members, err := b.lab.sessionOf(s, b.feature)
	if err != nil {
		return err
	}
	run := &session{lab: b.lab, scope: s, work: b.lab.WorkKey(ws), ws: ws}
	if run.id, err = b.lab.continues(s, own, run.work); err != nil {
		return err
	}
	if run.id == "" {
		if run.id, err = b.newSession(s, run.work, members); err != nil {
			return err
		}
	}
	if run.all, err = b.lab.session(run.id); err != nil {
		return err
	}
	closed := own.CloseRetracted(b.lab.View(s), run.all)
	// Whoever is not part of a session that goes on has one of its own, unless it was
	// cut in its first round, before everybody's turn.
	cut := b.lab.cutAtOnce(run.all, members)
	for _, m := range members {
		if m == own || len(run.all) == 0 || cut || slices.ContainsFunc(run.all, func(l *ledger.Launch) bool { return l.VariantKey == m.Arms.Candidate.Key }) {
			run.members = append(run.members, m)
		}
	}
	run.dropDead()
	run.launch = func(ctx context.Context, sl slot, total int, tries []*ledger.Launch) (*ledger.Launch, error) {
		return b.one(ctx, s, run.id, sl, total, ws, tries)
	}
	if err := run.run(ctx); err != nil {
		return err
	}
	if n := run.planned - run.slots(); n > 0 {
		s.Emit(runtime.Event{Type: "launches_spared", Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature, Launches: n})
	}
	err = run.conclude(ctx, own, out, level)
	if !closed.IsZero() {
		level.Reasons = append(level.Reasons, closed)
	}
	return err
}

// cutAtOnce reports whether a session was cut in its first round: what is launched
// in it now stands beside the launches that are there. Where somebody's outcome
// rests on it that round was whole, and those who come later were not in it.
func (l *Lab) cutAtOnce(launches []*ledger.Launch, members []*member) bool {
	if !l.sameBoot(launches) || slices.ContainsFunc(launches, func(launch *ledger.Launch) bool { return launch.Ordinal > 1 }) {
		return false
	}
	for _, m := range members {
		for _, f := range l.Graph.Siblings(m.Feature) {
			for _, d := range l.Store.History(runtime.BenchmarkID(f.Name)) {
				if len(launches) > 0 && d.Session == launches[0].Session {
					return false
				}
			}
		}
	}
	return true
}

// newSession names a session that begins: by what is measured, and by the attempt.
// One that was cut before it had launches of all arms is gone on with.
func (b *benchmark) newSession(s *runtime.Scope, work string, members []*member) (string, error) {
	var keys []string
	for _, m := range members {
		keys = append(keys, m.Arms.Parent.Key, m.Arms.Candidate.Key)
	}
	for n := 0; ; n++ {
		id := "s-" + runtime.ShortID(work, keys, s.Node.ID, s.Attempt, n)
		have, err := b.lab.session(id)
		if err != nil {
			return "", err
		}
		if !b.lab.sameBoot(have) {
			continue
		}
		if b.lab.begun == nil {
			b.lab.begun = map[string]bool{}
		}
		b.lab.begun[id] = true
		return id, nil
	}
}

// one makes one launch: start, warm up, send every cell of every workload, stop.
func (b *benchmark) one(ctx context.Context, s *runtime.Scope, session string, sl slot, total int, ws []*plans.Workload, tries []*ledger.Launch) (*ledger.Launch, error) {
	ev := runtime.Event{
		Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature, Level: benchmarkLevel, Variant: sl.variant.Name,
		Launch: sl.number, Launches: total, Again: len(tries), LaunchID: launchID(session, sl, len(tries)),
	}
	started := ev
	started.Type = "launch_started"
	if n := len(tries); n > 0 {
		started.Why = verdict.New(code.LaunchAgain).On(tries[n-1].ID).From(whyNot(tries[n-1])...)
	}
	s.Emit(started)
	record := &ledger.Launch{ID: ev.LaunchID, Session: session, Purpose: ledger.ForBenchmark, Ordinal: sl.ordinal, Order: sl.order, OK: true, Work: b.lab.WorkKey(ws)}
	if n := len(tries); n > 0 {
		record.Replaces = tries[n-1].ID
	}
	st, err := b.lab.Launch(ctx, s, sl.variant, record)
	if err == nil {
		st.Crashed = len(sl.crashed)
		if note := countsCrashes(record, sl.crashed); !note.IsZero() {
			record.Notes = append(record.Notes, note)
		}
		err = b.lab.Work(ctx, st, sl.variant, sl.texts, ws, func(request, requests int) {
			e := ev
			e.Type, e.Request, e.Requests = "request_done", request, requests
			s.Emit(e)
		})
		switch {
		case err == nil:
			st.Observe(ctx, sl.variant)
		case ctx.Err() == nil:
			st.Broke(err)
		}
		st.Stop(s)
	} else if st == nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	// Whoever hears that a launch is done may rely on its being on record.
	if err := st.Keep(s); err != nil {
		return nil, err
	}
	ev.Type, ev.Seconds = "launch_done", record.Seconds
	if !record.OK {
		ev.Why = record.Error
	}
	s.Emit(ev)
	return record, nil
}
