package session

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/variant"
)

// BenchmarkSchema is the schema of a benchmark block.
var BenchmarkSchema = plans.Schema{
	Doc: "Measures the candidate against its parent in fresh, interleaved launches. Each launch starts the engine, warms it up and sends every workload.",
	Example: `level "benchmark" {
  workloads = [workload.chat]
  launches  = 6
}`,
	Attrs: []plans.Attr{
		{Name: "workloads", Type: plans.Refs, Ref: "workload", Doc: "What is sent, in this order. Required for a server unless `suite` is given; an engine of kind `command` brings its own work and has neither."},
		{Name: "suite", Type: plans.Reference, Ref: "suite", Doc: "What is sent, as a suite of workloads. `--suite` on the command line overrides it."},
		{Name: "launches", Type: plans.Int, Unit: "launches per arm", Min: 1, MinSet: true, Doc: "Maximum launches per arm; without it, that of the `decision` block. Fewer are made once every rule is settled. With one, no number can pass a rule."},
	},
	Check: func(b *plans.Block) []plans.AttrError {
		w, listed := b.Attrs["workloads"].([]any)
		switch {
		case listed && len(w) == 0:
			return []plans.AttrError{{Attr: "workloads", Code: "empty-value", Summary: "Nothing to measure", Detail: "Name at least one workload, as in workloads = [workload.chat]."}}
		case listed && b.Attrs["suite"] != nil:
			return []plans.AttrError{{Attr: "suite", Code: "workload-contradiction", Summary: "Conflicting arguments", Detail: "A benchmark sends workloads or a suite of them. Remove one; --suite overrides either."}}
		}
		return nil
	},
}

// RegressionSchema is the schema of what must not get worse.
var RegressionSchema = plans.Schema{
	Doc: "Metrics that a feature must be shown not to worsen against its parent, decided from the benchmark's launches: each metric of `decisive` is a criterion of every feature under the protocol, besides its own, whatever `accept` names. Every other metric of every workload is listed if it demonstrably got worse, and decides nothing.",
	Example: `level "regression" {
  decisive               = ["chat.tg", "chat.ttft", "engine.memory_gb"]
  max_slowdown           = 0.03
  max_memory_increase_gb = 1
}`,
	Attrs: []plans.Attr{
		{Name: "decisive", Type: plans.Strings, Required: true, Doc: "Addresses of metrics, such as `chat.tg` or `chat.ttft.p99`."},
		{Name: "max_slowdown", Type: plans.Number, Default: 0.03, Min: 0, MinSet: true, Max: 1, Doc: "How much worse each of them may be, as a share: `0.03` is the criterion `chat.tg.gain >= -0.03`."},
		{Name: "max_memory_increase_gb", Type: plans.Number, Default: 1.0, Unit: "GB", Min: 0, MinSet: true, Doc: "How much memory metrics may grow: `engine.memory_gb.delta <= 1`."},
		{Name: "against", Type: plans.Strings, Doc: "What else the same limits apply against, besides the parent: `root`, the baseline, which is launched as an arm of the session: `chat.tg.root.gain >= -0.03`."},
	},
	Check: plans.Checked(func(b *plans.Block, r plans.Regression) (errs []plans.AttrError) {
		wrong := func(attr, summary, detail string) {
			errs = append(errs, plans.AttrError{Attr: attr, Code: "regression-parts", Summary: summary, Detail: detail})
		}
		seen := map[string]bool{}
		memory := false
		for _, metric := range r.Decisive {
			if memory = memory || plans.IsMemory(metric); seen[metric] {
				wrong("decisive", "Duplicate metric in decisive", fmt.Sprintf("%q is already in the list. Remove one.", metric))
			}
			seen[metric] = true
		}
		for i, against := range r.Against {
			if against != plans.Root {
				wrong("against", "Unknown arm", fmt.Sprintf("There is no %q. Besides the parent there is %s, the baseline.", against, plans.Root))
			} else if slices.Contains(r.Against[:i], against) {
				wrong("against", "Duplicate arm", fmt.Sprintf("%q is already in the list. Remove one.", against))
			}
		}
		if b.Written["max_memory_increase_gb"] && !memory {
			wrong("max_memory_increase_gb", "No memory is decisive", `max_memory_increase_gb bounds memory metrics in decisive, but there is none. Add "engine.memory_gb", or "gpu.memory_in_use_gb" on a machine with GPUs.`)
		}
		return errs
	}),
}

// benchmark measures a candidate and what it is compared with.
type benchmark struct {
	lab     *Lab
	feature *plans.Feature
}

// protocol is the feature's; nil in a comparison of engines, which has no parent.
func (b *benchmark) protocol() *plans.Protocol {
	if b.feature == nil {
		return nil
	}
	return b.lab.Plan.Protocol(b.feature.Protocol)
}

// workloads are what its launches send.
func (b *benchmark) workloads() (ws []*plans.Workload) {
	level := b.protocol().Level(plans.BenchmarkLevel)
	for _, name := range b.lab.Plan.Sent(level) {
		ws = append(ws, b.lab.Plan.Workload(name))
	}
	return ws
}

// arms lists the variants to launch. The baseline joins when a rule asks for it.
func (b *benchmark) arms(s *runtime.Scope) ([]*variant.Variant, launch.Arms, error) {
	a, err := b.lab.Arms(s, b.feature)
	if err != nil {
		return nil, a, err
	}
	return a.Distinct(decide.ReadsRoot(b.lab.Plan, b.feature)), a, nil
}

// Prepare implements runtime.Preparer: parent and candidate were qualified, but
// the baseline on another engine may be started here first. If its image is unavailable, its launch reports it.
func (b *benchmark) Prepare(ctx context.Context, s *runtime.Scope) error {
	vs, _, err := b.arms(s)
	if err != nil {
		return nil // Keys reports it
	}
	for _, v := range vs[2:] {
		_ = b.lab.Fetch(ctx, v)
	}
	return nil
}

// Keys: the number of launches affects the decision, not the measurement, so asking for
// more continues the same session, and so do rules that need more. An unqualified
// candidate has another key than a qualified one.
func (b *benchmark) Keys(s *runtime.Scope) (runtime.Keys, error) {
	vs, _, err := b.arms(s)
	if err != nil {
		return runtime.Keys{}, err
	}
	ws := b.workloads()
	q := s.Outcome(runtime.QualifyID(b.feature.Name))
	if q == nil {
		return runtime.Keys{}, runtime.ErrUndecided
	}
	measure := b.lab.BenchmarkKey(ws, vs)
	if q.Verdict != verdict.Pass {
		measure = runtime.Digest("unqualified", measure, decide.Identity(q))
	}
	decided := runtime.Digest(slices.Concat(decide.LaunchesKey(b.lab.Plan, b.feature), judged(ws), []any{b.protocol().Answers()}, b.lab.Freed(), b.lab.AcceptedParts(), b.proofs(vs))...)
	keys := runtime.Keys{Measure: measure, Decide: decided, Why: b.lab.TreesChanged(s, vs...)}
	if p := s.Previous; q.Verdict == verdict.Pass && (p == nil || p.MeasureKey == measure && p.DecisionKey != decided) {
		keys.Fresh, err = b.fresh(s, keys, ws)
	}
	return keys, err
}

// fresh is why the session that the benchmark would continue may not decide.
func (b *benchmark) fresh(s *runtime.Scope, keys runtime.Keys, ws []*plans.Workload) (verdict.Reason, error) {
	if b.lab.Store == nil {
		return verdict.Reason{}, nil
	}
	own, err := b.lab.member(s, b.feature)
	if err != nil {
		return verdict.Reason{}, err
	}
	with := *s
	with.Keys = keys
	all := b.lab.session(b.lab.sessionWith(&with, own, b.lab.WorkKey(ws)))
	view := b.lab.View(s)
	if closed := *own; !closed.CloseRetracted(view, all).IsZero() {
		return verdict.Reason{}, nil // by no rule would they count, nor is anything launched beside them
	}
	return own.Fresh(view, all)
}

// proofs is the evidence that launches are searched for, for the decision's key.
func (b *benchmark) proofs(vs []*variant.Variant) []any {
	parts := []any{"proofs", levels.Proves(b.lab.Plan.Protocol(b.feature.Protocol))}
	for _, v := range vs {
		parts = append(parts, b.lab.EvidenceKey(v.Knobs))
	}
	return parts
}

// differ reports how the arms differ in something not under test, by their qualification
// launches: no launch is spent on what would not count.
func (b *benchmark) differ(s *runtime.Scope, vs []*variant.Variant) (verdict.Reason, error) {
	nodes := []string{runtime.BaselineID, runtime.QualifyID(b.feature.Name)}
	if under := b.feature.BuildsOn.Feature; under != "" {
		nodes = append(nodes, runtime.QualifyID(under))
	}
	var launches []*ledger.Launch
	for _, node := range nodes {
		d := s.Outcome(node)
		if d == nil || d.Verdict != verdict.Pass || b.lab.Store == nil {
			continue
		}
		for _, id := range d.Launches {
			if launch, ok := b.lab.Store.LaunchByID(id); ok && launch.OK {
				launches = append(launches, launch)
			}
		}
	}
	return b.lab.Disagree(launches, vs)
}

// judged is how answers are judged, for the decision's key.
func judged(workloads []*plans.Workload) (parts []any) {
	for _, w := range workloads {
		parts = append(parts, w.Name, w.Coherence)
	}
	return parts
}

// Foresee implements runtime.Foreseer: the launches that the session lacks, at most, or
// its outcome if it lacks none. Launches of a parent shared by siblings belong to the
// first sibling.
func (b *benchmark) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	_, a, err := b.arms(s)
	if err != nil {
		return nil, nil, err
	}
	out := &ledger.Decision{Variant: a.Candidate.Knobs}
	switch q := s.Outcome(runtime.QualifyID(b.feature.Name)); {
	case q == nil:
		return out, nil, nil
	case q.Verdict != verdict.Pass:
		out.Verdict, _ = decide.Broken(q)
		return out, nil, nil
	}
	view := b.lab.View(s)
	own, members, err := b.lab.sessionOf(s, b.feature)
	if err != nil {
		return nil, nil, err
	}
	ws := b.workloads()
	run := &session{rounds: rounds{lab: b.lab, scope: s}, work: b.lab.WorkKey(ws), ws: ws, members: []*member{own}}
	if run.id, err = b.lab.continues(s, own, run.work); err != nil {
		return nil, nil, err
	}
	run.all, run.proofs = b.lab.session(run.id), b.lab.asked(run.id)
	out.Session = run.id
	own.CloseRetracted(view, run.all)
	if len(run.all) > 0 {
		if err := run.looks(); err != nil {
			return nil, nil, err
		}
	}
	var launches []runtime.PlannedLaunch
	if own.Open {
		next, before := own.NextLook(view, run.id, run.work), b.launchedBefore(s)
		have := run.all
		if run.id == "" { // one cut before all arms were launched is resumed, too
			id, err := b.newSession(s, run.work, members)
			if err != nil {
				return nil, nil, err
			}
			have = b.lab.session(id)
		}
		have = slices.DeleteFunc(slices.Clone(have), func(l *ledger.Launch) bool { return !own.Has(l.VariantKey) || !decide.Sound(l) })
		out.Reasons = kept(own, have, next)
		for round := own.Rounds + 1; round <= own.Most; round++ {
			for _, v := range own.launched() {
				made := slices.ContainsFunc(have, func(l *ledger.Launch) bool { return l.VariantKey == v.Key && l.Ordinal == round })
				if made || before && v.Key != own.Arms.Candidate.Key {
					continue
				}
				l := planned(v, ledger.ForBenchmark, run.work)
				l.Sure = round <= next
				launches = append(launches, l)
			}
		}
		if b.asks() && !before {
			launches = append(launches, planned(a.Parent, ledger.ForAgreement, ""))
		}
	} else if asks, err := run.question(); err != nil {
		return nil, nil, err
	} else if asks != nil {
		launches = append(launches, planned(a.Parent, ledger.ForAgreement, ""))
	} else {
		level := ledger.Level{Name: plans.BenchmarkLevel}
		if err := run.conclude(runtime.ContextOf(s), own, out, &level); err != nil {
			return nil, nil, err
		}
		out.Verdict, out.Levels = level.Verdict, append([]ledger.Level{level}, out.Levels...)
	}
	out.Reasons = append(out.Reasons, own.Resolvable(view, run.id, run.work)...)
	if why := b.lab.attainable(b.feature, a.Parent); own.Open && !why.IsZero() {
		out.Reasons = append(out.Reasons, why)
	}
	return out, b.lab.alone(launches, own.launched()), nil
}

// kept reports how many launches of a resumed session are on record.
func kept(m *member, have []*ledger.Launch, next int) []verdict.Reason {
	if len(have) == 0 {
		return nil
	}
	args := []verdict.Arg{verdict.Int("n", len(have)), verdict.Int("most", m.Most*len(m.Launched))}
	if next < m.Most {
		args = append(args, verdict.Int("least", next*len(m.Launched)))
	}
	return verdict.Because(code.LaunchesKept, args...)
}

// launchedBefore reports whether an earlier sibling launches the parent for this one too.
func (b *benchmark) launchedBefore(s *runtime.Scope) bool {
	for _, other := range b.lab.Graph.Siblings(b.feature) {
		if other.Name == b.feature.Name {
			return false
		}
		if s.Assumed(runtime.BenchmarkID(other.Name)) {
			return true
		}
	}
	return false
}

// alone marks a node's launches, none of which can run beside another, because one of its
// variants exists only once.
func (l *Lab) alone(launches []runtime.PlannedLaunch, vs []*variant.Variant) []runtime.PlannedLaunch {
	for i := range launches {
		launches[i].Alone = l.OnePlace(vs)
	}
	return launches
}

func planned(v *variant.Variant, purpose, work string) runtime.PlannedLaunch {
	model := variant.ModelOf(v.Spec, nil)
	return runtime.PlannedLaunch{Variant: v.Name, VariantKey: v.Key, Engine: v.Spec.Kind, Model: model, Purpose: purpose, Work: work, Sure: true}
}

// qualifying is the launch that runs the levels of a protocol.
func qualifying(v *variant.Variant, p *plans.Protocol) runtime.PlannedLaunch {
	l := planned(v, ledger.ForQualification, "")
	l.Paced = levels.Paced(p).Seconds()
	return l
}

func (b *benchmark) Run(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	began := time.Now()
	vs, a, err := b.arms(s)
	if err != nil {
		return nil, err
	}
	ws := b.workloads()
	level := ledger.Level{Name: plans.BenchmarkLevel}
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
	out.Levels = append([]ledger.Level{level}, out.Levels...)
	out.Verdict, out.Reasons = level.Verdict, level.Reasons
	return out, nil
}

// measure makes the launches that the session lacks, for all candidates that share it.
func (b *benchmark) measure(ctx context.Context, s *runtime.Scope, ws []*plans.Workload, out *ledger.Decision, level *ledger.Level) error {
	run, own, err := b.session(s, ws)
	if err != nil {
		return err
	}
	if err := run.divide(ctx, run.variants()); err != nil {
		return err
	}
	run.launch = func(ctx context.Context, sl slot, total int, tries []*ledger.Launch) (*ledger.Launch, error) {
		return b.one(ctx, s, run.id, sl, total, ws, tries)
	}
	if err := run.run(ctx); err != nil {
		return err
	}
	if err := run.ask(ctx); err != nil {
		return err
	}
	if n := run.planned - run.slots(); n > 0 {
		s.Emit(runtime.Event{Type: "launches_spared", Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature, Launches: n})
	}
	return run.conclude(ctx, own, out, level)
}

// session is the one that the benchmark continues or starts, with its own member.
func (b *benchmark) session(s *runtime.Scope, ws []*plans.Workload) (*session, *member, error) {
	own, members, err := b.lab.sessionOf(s, b.feature)
	if err != nil {
		return nil, nil, err
	}
	run := &session{rounds: rounds{lab: b.lab, scope: s}, work: b.lab.WorkKey(ws), ws: ws}
	if run.id, err = b.lab.continues(s, own, run.work); err != nil {
		return nil, nil, err
	}
	if run.id == "" {
		if run.id, err = b.newSession(s, run.work, members); err != nil {
			return nil, nil, err
		}
		if b.lab.begun == nil {
			b.lab.begun = map[string]bool{}
		}
		b.lab.begun[run.id] = true
	}
	run.all, run.proofs = b.lab.session(run.id), b.lab.asked(run.id)
	run.closed = own.CloseRetracted(b.lab.View(s), run.all)
	// A candidate that is not part of a resumed session has its own, unless the session
	// was cut in its first round, before every arm had its turn.
	cut := b.lab.cutAtOnce(run.all, members)
	for _, m := range members {
		if m == own || len(run.all) == 0 || cut || slices.ContainsFunc(run.all, func(l *ledger.Launch) bool { return l.VariantKey == m.Arms.Candidate.Key }) {
			run.members = append(run.members, m)
		}
	}
	run.dropDead()
	return run, own, nil
}

// cutAtOnce reports whether a session was cut in its first round: what is launched in it
// now is beside the launches that are there. If a candidate's outcome rests on it, that
// round was complete, and later candidates were not in it.
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

// newSession names a new session: by what is measured, and by the attempt. One that was
// cut before it had launches of all arms is resumed.
func (b *benchmark) newSession(s *runtime.Scope, work string, members []*member) (string, error) {
	var keys []string
	for _, m := range members {
		keys = append(keys, m.Arms.Parent.Key, m.Arms.Candidate.Key)
	}
	for n := 0; ; n++ {
		id := "s-" + runtime.ShortID(work, keys, s.Node.ID, s.Attempt, n)
		have := b.lab.session(id)
		if !b.lab.sameBoot(have) {
			continue
		}
		if why, err := members[0].Fresh(b.lab.View(s), have); err != nil || !why.IsZero() {
			if err != nil {
				return "", err
			}
			continue
		}
		return id, nil
	}
}

// one makes one launch: start, warm up, send every cell of every workload, stop.
func (b *benchmark) one(ctx context.Context, s *runtime.Scope, session string, sl slot, total int, ws []*plans.Workload, tries []*ledger.Launch) (*ledger.Launch, error) {
	ev := runtime.Event{
		Node: s.Node.ID, Phase: s.Node.Phase, Feature: s.Node.Feature, Level: plans.BenchmarkLevel, Variant: sl.variant.Name,
		Launch: sl.number, Launches: total, LaunchesLeast: sl.least, Again: len(tries), LaunchID: launchID(session, sl, len(tries)),
	}
	started := ev
	started.Type = "launch_started"
	if n := len(tries); n > 0 {
		why := decide.WhyNot(tries[n-1])
		if decide.Sound(tries[n-1]) {
			why = []verdict.Reason{verdict.New(code.PlaceLeft).On(tries[n-1].On())}
		}
		started.Why = verdict.New(code.LaunchAgain).On(tries[n-1].ID).From(why...)
	}
	s.Emit(started)
	record := &ledger.Launch{ID: ev.LaunchID, Session: session, Purpose: ledger.ForBenchmark, Ordinal: sl.ordinal, Order: sl.order, OK: true, Work: b.lab.WorkKey(ws), Draw: sl.draw, Place: sl.place, Prompts: sl.prompts}
	if record.Body = sl.body; record.Body == "" {
		record.Body = record.Draw.Seed
	}
	if !slices.ContainsFunc(ws, func(w *plans.Workload) bool { return w.SameTexts }) {
		record.Body = ""
	}
	if n := len(tries); n > 0 {
		record.Replaces = tries[n-1].ID
	}
	with := measuring{Crashed: sl.crashed, Event: ev}
	for _, w := range ws {
		with.Workloads = append(with.Workloads, w.Name)
	}
	if _, err := measures.Make(ctx, b.lab, &b.lab.Lab, s, sl.variant, record, with); err != nil {
		return nil, err
	}
	// When a launch is reported as done, it is on record.
	if err := b.lab.Keep(s, record); err != nil {
		return nil, err
	}
	ev.Type, ev.Seconds = "launch_done", record.Seconds
	if !record.OK {
		ev.Why = record.Error
	}
	s.Emit(ev)
	return record, nil
}

// measuring is the work of a benchmark launch.
type measuring struct {
	Workloads []string `json:"workloads"`
	// Crashed are the starts that it counts.
	Crashed []*ledger.Launch `json:"crashed,omitempty"`
	// Event is emitted again with each answer.
	Event runtime.Event `json:"event"`
}

// measures sends every cell of every workload to one launch.
var measures = launch.Function[*Lab, measuring, struct{}]{Kind: ledger.ForBenchmark, Here: measureHere}

func measureHere(ctx context.Context, lab *Lab, s *runtime.Scope, v *variant.Variant, rec *ledger.Launch, with measuring) (none struct{}, err error) {
	var ws []*plans.Workload
	for _, name := range with.Workloads {
		ws = append(ws, lab.Plan.Workload(name))
	}
	st, err := lab.Launch(ctx, s, v, rec)
	if err == nil {
		st.Crashed = len(with.Crashed)
		if note := countsCrashes(rec, with.Crashed); !note.IsZero() {
			rec.Notes = append(rec.Notes, note)
		}
		err = lab.Work(ctx, st, v, ws, func(request, requests int) {
			e := with.Event
			e.Type, e.Request, e.Requests = "request_done", request, requests
			s.Emit(e)
		})
		switch {
		case err == nil:
			st.Observe(ctx, v)
		case ctx.Err() == nil:
			st.Broke(err)
		}
		st.Stop(s)
	} else if st == nil {
		return none, err
	}
	return none, ctx.Err()
}

// Carry executes an order from another machine.
func (l *Lab) Carry(ctx context.Context, s *runtime.Scope, o *launch.Order) (json.RawMessage, error) {
	v, err := l.Variant(s, o.Variant)
	if err != nil {
		return nil, err
	}
	switch o.Kind {
	case measures.Kind:
		return measures.Carry(ctx, l, s, v, o)
	case asks.Kind:
		return asks.Carry(ctx, l, s, v, o)
	}
	return levels.Carry(ctx, s, &l.Lab, v, o)
}
