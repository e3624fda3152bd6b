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

func (b *benchmark) protocol() *plans.Protocol { return b.lab.Plan.Protocol(b.feature.Protocol) }

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
	decided := runtime.Digest(slices.Concat(decide.LaunchesKey(b.lab.Plan, b.feature), answersKey(ws), []any{b.protocol().Answers()}, b.lab.Freed(), b.lab.AcceptedParts(), b.proofs(vs))...)
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

// answersKey is how answers are judged, for the decision's key.
func answersKey(workloads []*plans.Workload) (parts []any) {
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
	run, own, fresh, err := b.session(s)
	if err != nil {
		return nil, nil, err
	}
	view := b.lab.View(s)
	if run.members = []*member{own}; !fresh {
		out.Session = run.id
	}
	if err := run.looks(); err != nil {
		return nil, nil, err
	}
	var launches []runtime.PlannedLaunch
	if own.Open {
		next, before := own.NextLook(view, run.id, run.work), b.launchedBefore(s)
		have := slices.DeleteFunc(slices.Clone(run.all), func(l *ledger.Launch) bool { return !own.Has(l.VariantKey) || !decide.Sound(l) })
		if len(have) > 0 {
			args := []verdict.Arg{verdict.Int("n", len(have)), verdict.Int("most", own.Most*len(own.Launched))}
			if next < own.Most {
				args = append(args, verdict.Int("least", next*len(own.Launched)))
			}
			out.Reasons = verdict.Because(code.LaunchesKept, args...)
		}
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
	level := ledger.Level{Name: plans.BenchmarkLevel}
	out := &ledger.Decision{Variant: maps.Clone(a.Candidate.Knobs)}
	switch q := s.Outcome(runtime.QualifyID(b.feature.Name)); {
	case q != nil && q.Verdict != verdict.Pass:
		v, cause := decide.Broken(q)
		level.Verdict, level.Reasons = v, []verdict.Reason{verdict.Say("session.not_measured", "not measured").From(cause)}
		out.Derived = true
	case a.Candidate.Key == a.Parent.Key:
		level.Verdict = verdict.Invalid
		level.Reasons = []verdict.Reason{nothingUnderTest(a)}
		out.Derived = true
	default:
		why, err := b.differ(s, vs)
		if err == nil && !why.IsZero() {
			level.Verdict, level.Reasons = verdict.Invalid, []verdict.Reason{verdict.Say("session.not_measured_apart",
				"not measured: {causes}").From(why)}
			out.Derived = true
		} else if err == nil {
			err = b.measure(ctx, s, out, &level)
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
func (b *benchmark) measure(ctx context.Context, s *runtime.Scope, out *ledger.Decision, level *ledger.Level) error {
	run, own, fresh, err := b.session(s)
	if err != nil {
		return err
	}
	if fresh {
		b.lab.begun = append(b.lab.begun, run.id)
	}
	if err := run.divide(ctx); err != nil {
		return err
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

// session is the one that the benchmark continues, or a fresh one, with its own member.
func (b *benchmark) session(s *runtime.Scope) (run *session, own *member, fresh bool, err error) {
	own, members, err := b.lab.sessionOf(s, b.feature)
	if err != nil {
		return nil, nil, false, err
	}
	ws := b.workloads()
	run = &session{lab: b.lab, scope: s, work: b.lab.WorkKey(ws), ws: ws}
	if run.id, err = b.lab.continues(s, own, run.work); err == nil && run.id == "" {
		fresh = true
		run.id, err = b.lab.newSession(s, run.work, members)
	}
	if err != nil {
		return nil, nil, false, err
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
	for _, m := range run.members { // the candidate broke earlier in this apply
		if l := b.lab.died[run.id+m.Arms.Candidate.Key]; l != nil {
			m.broken, m.Open = l, false
		}
	}
	return run, own, fresh, nil
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
	return none, lab.Use(ctx, s, v, rec, func(st *launch.Started) error {
		st.Crashed = len(with.Crashed)
		var before []string
		for _, c := range with.Crashed {
			if c.Session != rec.Session {
				before = append(before, c.ID)
			}
		}
		if len(before) > 0 {
			rec.Notes = append(rec.Notes, verdict.Say("session.counts_crashes",
				"includes earlier starts that crashed: {launches}",
				verdict.List("launches", before)))
		}
		return lab.Work(ctx, st, v, ws, func(request, requests int) {
			e := with.Event
			e.Type, e.Request, e.Requests = "request_done", request, requests
			s.Emit(e)
		})
	})
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
