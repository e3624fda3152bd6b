package steps

import (
	"context"
	"maps"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func (b *benchmark) Run(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	began := time.Now()
	vs, a, err := b.arms(s)
	if err != nil {
		return nil, err
	}
	c, ws, err := b.config()
	if err != nil {
		return nil, err
	}
	level := ledger.Level{Name: benchmarkLevel}
	out := &ledger.Decision{Variant: maps.Clone(a.candidate.knobs)}
	switch q := s.Outcome(runtime.QualifyID(b.feature.Name)); {
	case q != nil && q.Verdict != verdict.Pass:
		v, cause := broken(q)
		level.Verdict, level.Reasons = v, reason("not measured: %s", cause)
		out.Derived = true
	case a.candidate.key == a.parent.key:
		level.Verdict = verdict.Invalid
		level.Reasons = reason("the candidate is the same variant as %s, so there is nothing under test", a.parent.name)
		out.Derived = true
	default:
		if err := b.measure(ctx, s, vs, ws, c, out, &level); err != nil {
			return nil, err
		}
	}
	level.Seconds = time.Since(began).Seconds()
	out.Levels = []ledger.Level{level}
	out.Verdict, out.Reasons = level.Verdict, level.Reasons
	return out, nil
}

// measure makes the launches that the session lacks, in order.
func (b *benchmark) measure(ctx context.Context, s *runtime.Scope, vs []*variant, ws []*plans.Workload, c benchmarkConfig, out *ledger.Decision, level *ledger.Level) error {
	slots := interleave(vs, c.Launches)
	session, err := b.lab.sessionID(s, len(slots))
	if err != nil {
		return err
	}
	out.Session = session
	have, err := b.lab.session(session)
	if err != nil {
		return err
	}
	var used []*ledger.Launch
	for _, sl := range slots {
		launch := existing(have, sl)
		if launch == nil {
			if launch, err = b.one(ctx, s, session, sl, len(slots), ws); err != nil {
				return err
			}
		}
		used = append(used, launch)
		out.Launches = append(out.Launches, launch.ID)
		if !launch.OK {
			level.Verdict = verdict.Error
			level.Reasons = reason("launch %d of %d (%s): %s", sl.order, len(slots), sl.variant.name, launch.Error)
			out.LogTail, out.Exit = launch.LogTail, launch.Exit
			return nil
		}
		if why := b.lab.otherEnvironment(used, vs); why != "" {
			level.Verdict, level.Reasons = verdict.Invalid, []string{why}
			return nil
		}
	}
	if level.Verdict, level.Reasons = b.lab.movedTrees(ctx, used, vs, s.Outcome(runtime.QualifyID(b.feature.Name))); level.Verdict != "" {
		return nil
	}
	level.Verdict, level.Reasons, err = b.lab.valid(used, vs, ws, c.Launches)
	if err != nil {
		return err
	}
	why, err := b.lab.disagree(used, vs)
	if why != "" && level.Verdict == verdict.Pass {
		level.Verdict, level.Reasons = verdict.Invalid, []string{why}
	}
	return err
}

// one makes one launch: start, warm up, send every cell of every workload, stop.
func (b *benchmark) one(ctx context.Context, s *runtime.Scope, session string, sl slot, total int, ws []*plans.Workload) (*ledger.Launch, error) {
	ev := runtime.Event{
		Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature, Level: benchmarkLevel, Variant: sl.variant.name,
		Launch: sl.order, Launches: total, LaunchID: launchID(session, sl),
	}
	started := ev
	started.Type = "launch_started"
	s.Emit(started)
	record := &ledger.Launch{ID: ev.LaunchID, Session: session, Purpose: "benchmark", Ordinal: sl.ordinal, Order: sl.order, OK: true}
	st, err := b.lab.launch(ctx, s, sl.variant, record)
	if err == nil {
		err = st.work(ctx, sl.variant, ws, func(request, requests int) {
			e := ev
			e.Type, e.Request, e.Requests = "request_done", request, requests
			s.Emit(e)
		})
		switch {
		case err == nil:
			st.observe(ctx, sl.variant)
		case ctx.Err() == nil:
			st.broke(err)
		}
		st.stop(s)
	} else if st == nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	// Whoever hears that a launch is done may rely on its being on record.
	if err := st.keep(s); err != nil {
		return nil, err
	}
	ev.Type, ev.Seconds = "launch_done", record.Seconds
	if !record.OK {
		ev.Message = record.Error
	}
	s.Emit(ev)
	return record, nil
}
