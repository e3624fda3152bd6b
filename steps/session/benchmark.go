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
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/variant"
)

var BenchmarkSchema = plans.Schema{
	Doc: "Measures the candidate against its parent in fresh, interleaved launches. Each launch starts the engine, " +
		"warms it up and sends every workload.",
	Example: `level "benchmark" {
  workloads = [workload.chat]
  launches  = 6
}`,
	Attrs: []plans.Attr{
		{
			Name: "workloads", Type: plans.Refs, Ref: "workload", Filled: true,
			Doc: "Workloads to send, in this order. Required for a server unless `suite` is given; an engine of kind " +
				"`command` brings its own work and has neither.",
		},
		{
			Name: "suite", Type: plans.Reference, Ref: "suite", Excludes: []string{"workloads"},
			Doc: "Workloads to send, as a suite. `--suite` on the command line overrides it.",
		},
		{
			Name: "launches", Type: plans.Int, Unit: "launches per arm", Min: 1, MinSet: true,
			Doc: "Maximum launches per arm. Without it, that of the `decision` block. Fewer are made once every rule " +
				"is settled. With one, no number can pass a rule.",
		},
	},
}

// RegressionSchema is the schema of what must not get worse.
var RegressionSchema = plans.Schema{
	Doc: "Metrics that no feature may worsen against its parent. The benchmark's launches decide: each metric of " +
		"`decisive` is a criterion of every feature under the protocol, besides its own, whatever `accept` names. " +
		"Every other metric of every workload is listed if it demonstrably got worse, and decides nothing.",
	Example: `level "regression" {
  decisive               = ["chat.tg", "chat.ttft", "engine.memory_gb"]
  max_slowdown           = 0.03
  max_memory_increase_gb = 1
}`,
	Attrs: []plans.Attr{
		{
			Name: "decisive", Type: plans.Strings, Required: true, Unique: true,
			Doc: "Addresses of metrics, such as `chat.tg` or `chat.ttft.p99`.",
		},
		{
			Name: "max_slowdown", Type: plans.Number, Default: 0.03, Min: 0, MinSet: true, Max: 1,
			Doc: "How much worse each may be, as a share. `0.03` is the criterion `chat.tg.gain >= -0.03`.",
		},
		{
			Name: "max_memory_increase_gb", Type: plans.Number, Default: 1.0, Unit: "GB", Min: 0, MinSet: true,
			Doc: "How much memory metrics may grow: `engine.memory_gb.delta <= 1`.",
		},
		{
			Name: "against", Type: plans.Strings, OneOf: []string{string(plans.Root)}, Unique: true,
			Doc: "Other references of the same limits: `root`, the baseline. It is launched as an arm of the " +
				"session: `chat.tg.root.gain >= -0.03`.",
		},
	},
	Check: plans.Checked(func(b *plans.Block, r plans.Regression) (errs []plans.AttrError) {
		if b.Written["max_memory_increase_gb"] && !slices.ContainsFunc(r.Decisive, plans.IsMemory) {
			errs = append(errs, plans.AttrError{
				Attr: "max_memory_increase_gb", Code: "regression-parts", Summary: "No memory is decisive",
				Detail: `max_memory_increase_gb bounds memory metrics in decisive, but there is none. Add "engine.memory_gb", ` +
					`or "gpu.memory_in_use_gb" on a machine with GPUs.`,
			})
		}
		return errs
	}),
}

// benchmark measures a candidate and what it is compared with.
type benchmark struct {
	lab     *Lab
	feature *plans.Feature
	// vs and all are its arms, resolved once after Prepare.
	vs  []*variant.Variant
	all launch.Arms
}

func (b *benchmark) protocol() *plans.Protocol {
	return b.lab.Variants.Plan.Protocol(b.feature.Protocol)
}

func (b *benchmark) workloads() (ws []*plans.Workload) {
	level := b.protocol().Level(plans.BenchmarkLevel)
	for _, name := range b.lab.Variants.Plan.SentWorkloads(level) {
		ws = append(ws, b.lab.Variants.Plan.Workload(name))
	}
	return ws
}

// arms lists the variants to launch. The baseline joins when a rule asks for it.
func (b *benchmark) arms(s *runtime.Scope) ([]*variant.Variant, launch.Arms, error) {
	if b.vs == nil {
		a, err := b.lab.Launches.Arms(s, b.feature)
		if err != nil {
			return nil, a, err
		}
		b.vs, b.all = a.Distinct(decide.ReadsRoot(b.lab.Variants.Plan, b.feature)), a
	}
	return b.vs, b.all, nil
}

// member is what the candidate needs of a session.
func (b *benchmark) member(s *runtime.Scope) (*member, error) {
	vs, a, err := b.arms(s)
	if err != nil {
		return nil, err
	}
	return newMember(b.lab.Variants.Plan, b.feature, a, vs), nil
}

// Prepare implements runtime.Preparer: parent and candidate were qualified, but
// the baseline on another engine may be started here first. If its image is unavailable, its launch reports it.
func (b *benchmark) Prepare(ctx context.Context, s *runtime.Scope) error {
	vs, _, err := b.arms(s)
	if err != nil {
		return nil // Derive reports it
	}
	b.vs = nil // what is fetched identifies them
	for _, v := range vs[2:] {
		_ = b.lab.Launches.Fetch(ctx, v)
	}
	return nil
}

// recorded is the outcome on record, if it counts: with the reason, for a benchmark that
// is not measured; otherwise, if its launches are of the same work and rules need no more
// of them. The number of launches is not part of the identity, so asking for more
// continues the same session, and so do rules that need more.
func (b *benchmark) recorded(s *runtime.Scope) (*runtime.Derived, error) {
	vs, a, err := b.arms(s)
	if err != nil {
		return nil, err
	}
	q, ws := s.Outcome(runtime.QualifyID(b.feature.Name)), b.workloads()
	if q == nil {
		return nil, runtime.ErrUndecided
	}
	judged := slices.Concat(answersKey(ws), []any{b.protocol().Answers()},
		b.lab.Validity.FreeObservations(), b.lab.Validity.AcceptedParts(), b.evidenceKeys(vs))
	s = s.With(b.lab.Variants.BenchmarkKey(ws, vs), runtime.Digest(judged...))
	out := &runtime.Derived{Key: s.Key, RulesKey: s.RulesKey, Variant: a.Candidate.Knobs}
	unmeasured := func(v verdict.Verdict, why verdict.Reason) (*runtime.Derived, error) {
		level := ledger.Level{Name: plans.BenchmarkLevel, Verdict: v, Reasons: []verdict.Reason{why}}
		out.Outcome = &ledger.Decision{
			Variant: out.Variant, Verdict: v, Reasons: level.Reasons,
			Levels: []ledger.Level{level}, Derived: true,
		}
		return out, nil
	}
	if q.Verdict != verdict.Pass {
		v, cause := decide.Broken(q)
		return unmeasured(v, verdict.Say("session.not_measured", "not measured").From(cause))
	}
	if a.Candidate.Key == a.Parent.Key {
		return unmeasured(verdict.Invalid, nothingUnderTest(a))
	}
	if why, err := b.undeclaredDifference(s, vs); err != nil {
		return out, err
	} else if !why.IsZero() {
		return unmeasured(verdict.Invalid,
			verdict.Say("session.not_measured_apart", "not measured{causes?: {causes}}").From(why))
	}
	p, why := s.Recorded(s.Key, changed(s, b.lab.Launches.WhatChanged(s, vs...), out.Variant))
	own, err := b.member(s)
	if err != nil {
		return nil, err
	}
	switch out.Outcome, out.Why = p, why; {
	case p == nil && s.Previous == nil:
		relaxed, err := own.NeedsFreshLaunches(b.lab.Launches.View(s),
			b.lab.session(b.lab.sessionWith(s, own, b.lab.Variants.WorkKey(ws))))
		out.Why = why.From(relaxed)
		return out, err
	case p == nil, p.Session == "", !why.IsZero(): // it counts by a person's word
		return out, nil
	}
	run := &session{
		lab: b.lab, view: b.lab.Launches.View(s), scope: s, id: p.Session, work: b.lab.Variants.WorkKey(ws), ws: ws,
		members: []*member{own},
	}
	run.all, run.proofs = b.lab.session(run.id), b.lab.probedLaunches(run.id)
	if relaxed, err := own.NeedsFreshLaunches(run.view, run.all); err != nil || !relaxed.IsZero() {
		out.Outcome, out.Why = nil, relaxed
		return out, err
	}
	if err := run.lookAtMembers(); err != nil {
		return out, err
	}
	if own.Open || p.DecisionKey != s.RulesKey {
		out.Outcome, out.Why = nil, verdict.Say("rules_changed", "rules changed")
	}
	return out, nil
}

// evidenceKeys is the evidence that launches are searched for, for the decision's key.
func (b *benchmark) evidenceKeys(vs []*variant.Variant) []any {
	parts := []any{"proofs", levels.RequiresKernels(b.lab.Variants.Plan.Protocol(b.feature.Protocol))}
	for _, v := range vs {
		parts = append(parts, b.lab.Variants.EvidenceKey(v.Knobs))
	}
	return parts
}

// undeclaredDifference reports how the arms differ in something not under test, by their qualification
// launches: no launch is spent on what would not count.
func (b *benchmark) undeclaredDifference(s *runtime.Scope, vs []*variant.Variant) (verdict.Reason, error) {
	nodes := []string{runtime.BaselineID, runtime.QualifyID(b.feature.Name)}
	if under := b.feature.BuildsOn.Feature; under != "" {
		nodes = append(nodes, runtime.QualifyID(under))
	}
	var launches []*ledger.Launch
	for _, node := range nodes {
		d := s.Outcome(node)
		if d == nil || d.Verdict != verdict.Pass || b.lab.Launches.Store == nil {
			continue
		}
		for _, id := range d.Launches {
			if launch, ok := b.lab.Launches.Store.LaunchByID(id); ok && launch.OK {
				launches = append(launches, launch)
			}
		}
	}
	return b.lab.Validity.IncomparableObservations(launches, vs)
}

// answersKey is how answers are judged, for the decision's key.
func answersKey(workloads []*plans.Workload) (parts []any) {
	for _, w := range workloads {
		parts = append(parts, w.Name, w.Coherence)
	}
	return parts
}

// Derive implements runtime.Step: the outcome on record or, if it does not count, that of
// the launches on record, or the launches that the session lacks, at most. Launches of a
// parent shared by siblings belong to the first sibling.
func (b *benchmark) Derive(s *runtime.Scope) (*runtime.Derived, error) {
	out, err := b.recorded(s)
	if err == nil && out.Outcome == nil {
		err = b.addMissingLaunches(s.With(out.Key, out.RulesKey), out)
	}
	if err != nil && out != nil { // what its launches left cannot be read
		out.Outcome = &ledger.Decision{
			Variant: out.Variant, Verdict: verdict.Error,
			Reasons: []verdict.Reason{verdict.OfError(err)},
		}
		err = nil
	}
	return out, err
}

// addMissingLaunches adds the launches that the session lacks, or its outcome if it lacks none.
func (b *benchmark) addMissingLaunches(s *runtime.Scope, out *runtime.Derived) error {
	run, own, fresh, err := b.session(s)
	if err != nil {
		return err
	}
	run.members = []*member{own}
	if err := run.lookAtMembers(); err != nil {
		return err
	}
	parent := own.variants[0]
	switch q, err := run.question(); {
	case err != nil:
		return err
	case own.Open:
		next, before := own.NextLook(run.view, run.id, run.work), b.parentLaunchedEarlier(s)
		have := slices.DeleteFunc(slices.Clone(run.all), func(l *ledger.Launch) bool {
			return !own.Has(l.VariantKey) || !decide.Usable(l)
		})
		if len(have) > 0 {
			args := []verdict.Arg{verdict.Int("n", len(have)), verdict.Int("most", own.Most*len(own.Launched))}
			if next < own.Most {
				args = append(args, verdict.Int("least", next*len(own.Launched)))
			}
			out.Notes = verdict.Because(code.LaunchesKept, args...)
		}
		out.Launches = slices.DeleteFunc(run.missing(), func(l runtime.Launch) bool {
			return before && l.VariantKey != own.Arms.Candidate.Key
		})
		if b.probesAnswers() && !before {
			out.Launches = append(out.Launches, plannedLaunch(parent, ledger.ForAgreement, ""))
		}
		if why := b.lab.attainable(b.feature, parent); !why.IsZero() {
			defer func() { out.Notes = append(out.Notes, why) }()
		}
	case q != nil:
		out.Launches = append(out.Launches, plannedLaunch(parent, ledger.ForAgreement, ""))
	case !fresh:
		out.Outcome = &ledger.Decision{Variant: out.Variant}
		level := ledger.Level{Name: plans.BenchmarkLevel}
		if err := run.conclude(runtime.ContextOf(s), own, out.Outcome, &level); err != nil {
			return err
		}
		joinLevel(out.Outcome, level)
	}
	out.Notes = append(out.Notes, own.Resolvable(run.view, run.id, run.work)...)
	out.Launches = b.lab.markExclusive(out.Launches, own.launchedVariants())
	return nil
}

func joinLevel(out *ledger.Decision, level ledger.Level) {
	out.Levels = append([]ledger.Level{level}, out.Levels...)
	out.Verdict, out.Reasons = level.Verdict, level.Reasons
}

// parentLaunchedEarlier reports whether an earlier sibling launches the parent for this one too.
func (b *benchmark) parentLaunchedEarlier(s *runtime.Scope) bool {
	for _, other := range b.lab.Launches.Graph.Siblings(b.feature) {
		if other.Name == b.feature.Name {
			return false
		}
		if s.Assumed(runtime.BenchmarkID(other.Name)) {
			return true
		}
	}
	return false
}

// markExclusive marks a node's launches, none of which can run in parallel with another, because one of its
// variants exists only once.
func (l *Lab) markExclusive(launches []runtime.Launch, vs []*variant.Variant) []runtime.Launch {
	for i := range launches {
		launches[i].Alone = l.Launches.OnePlace(vs)
	}
	return launches
}

func plannedLaunch(v *variant.Variant, purpose, work string) runtime.Launch {
	model := variant.ModelOf(v.Spec, nil)
	return runtime.Launch{
		Variant: v.Name, VariantKey: v.Key, Engine: v.Spec.Kind, Model: model, Purpose: purpose,
		Work: work, Sure: true,
	}
}

// qualifying is the launch that runs the levels of a protocol.
func qualifying(v *variant.Variant, p *plans.Protocol) runtime.Launch {
	l := plannedLaunch(v, ledger.ForQualification, "")
	l.Paced = levels.Paced(p).Seconds()
	return l
}

// Do implements runtime.Step: it makes the launches that the session lacks, for all
// candidates that share it.
func (b *benchmark) Do(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	began := time.Now()
	run, own, fresh, err := b.session(s)
	if err != nil {
		return nil, err
	}
	if fresh {
		b.lab.begun = append(b.lab.begun, run.id)
	}
	if err := run.divide(ctx); err != nil {
		return nil, err
	}
	if err := run.run(ctx); err != nil {
		return nil, err
	}
	if err := run.probeAnswers(ctx); err != nil {
		return nil, err
	}
	if n := run.planned - run.slots(); n > 0 {
		s.Emit(runtime.Event{
			Type: "launches_spared", Node: s.Node.ID, Phase: s.Node.Phase,
			Feature: s.Node.Feature, Launches: n,
		})
	}
	out, level := &ledger.Decision{Variant: own.variants[1].Knobs}, ledger.Level{Name: plans.BenchmarkLevel}
	if err := run.conclude(ctx, own, out, &level); err != nil {
		return nil, err
	}
	level.Seconds = time.Since(began).Seconds()
	joinLevel(out, level)
	return out, nil
}

// session is the one that the benchmark continues, or a fresh one, with its own member.
func (b *benchmark) session(s *runtime.Scope) (run *session, own *member, fresh bool, err error) {
	own, members, err := b.sessionOf(s)
	if err != nil {
		return nil, nil, false, err
	}
	ws := b.workloads()
	run = &session{lab: b.lab, view: b.lab.Launches.View(s), scope: s, work: b.lab.Variants.WorkKey(ws), ws: ws}
	if run.id, err = b.lab.sessionToResume(s, own, run.work); err == nil && run.id == "" {
		fresh = true
		run.id, err = b.lab.newSession(s, run.work, members)
	}
	if err != nil {
		return nil, nil, false, err
	}
	run.all, run.proofs = b.lab.session(run.id), b.lab.probedLaunches(run.id)
	// A candidate that is not part of a resumed session has its own, unless the session
	// was cut in its first round, before every arm had its turn.
	cut := b.lab.cutInFirstRound(run.all, members)
	for _, m := range members {
		if m == own || len(run.all) == 0 || cut ||
			slices.ContainsFunc(run.all, func(l *ledger.Launch) bool { return l.VariantKey == m.Arms.Candidate.Key }) {
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

type measuring struct {
	Workloads []string `json:"workloads"`
	// Crashed are the starts that it counts.
	Crashed []*ledger.Launch `json:"crashed,omitempty"`
	// Event is emitted again with each answer.
	Event runtime.Event `json:"event"`
}

// measures sends every cell of every workload to one launch.
var measures = launch.Function[*Lab, measuring, struct{}]{Kind: ledger.ForBenchmark, Here: measureHere}

func measureHere(ctx context.Context, lab *Lab, s *runtime.Scope, v *variant.Variant, rec *ledger.Launch,
	with measuring,
) (none struct{}, err error) {
	var ws []*plans.Workload
	for _, name := range with.Workloads {
		ws = append(ws, lab.Variants.Plan.Workload(name))
	}
	return none, lab.Launches.Use(ctx, s, v, rec, func(st *launch.Started) error {
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
		return lab.Sender.Work(ctx, st, v, ws, func(request, requests int) {
			e := with.Event
			e.Type, e.Request, e.Requests = "request_done", request, requests
			s.Emit(e)
		})
	})
}

func (l *Lab) Carry(ctx context.Context, s *runtime.Scope, o *launch.Order) (json.RawMessage, error) {
	v, err := l.Launches.Variant(s, o.Variant)
	if err != nil {
		return nil, err
	}
	switch o.Kind {
	case measures.Kind:
		return measures.Carry(ctx, l, s, v, o)
	case asks.Kind:
		return asks.Carry(ctx, l, s, v, o)
	}
	return levels.Carry(ctx, s, l.Launches, v, o)
}

// changed is what is another than when the node was last measured: files or, of its
// candidate, a knob's value, as where another port is in the stack, or would be.
func changed(s *runtime.Scope, files verdict.Reason, knobs map[string]string) verdict.Reason {
	if !files.IsZero() || s.Previous == nil {
		return files
	}
	var others []string
	for _, knob := range slices.Sorted(maps.Keys(knobs)) {
		if was, known := s.Previous.Variant[knob]; known && was != knobs[knob] {
			others = append(others, fmt.Sprintf("%s %s → %s", knob, was, knobs[knob]))
		}
	}
	if len(others) == 0 {
		return verdict.Reason{}
	}
	return verdict.Say("knobs_changed", "{knobs:and}", verdict.List("knobs", others))
}
